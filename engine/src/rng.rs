//! The generator inside filters: portable, one word of state, readable ahead.
//!
//! The state lives in a filter's [registers](crate::filter::Registers), so it is saved,
//! copied and replayed with everything else. The algorithm is SplitMix64 (Steele, Lea
//! and Flood, "Fast splittable pseudorandom number generators", 2014): its state moves
//! by a constant, so the draw that a filter will make ten observations from now can be
//! computed today, and the memory it will touch fetched in time. That look ahead is
//! why this is not one of rand's own generators; it speaks rand's traits all the same.
//!
//! **Invariant:** an observation consumes a fixed number of draws, whatever its verdict.

use std::convert::Infallible;

use rand::TryRng;

const GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

/// A SplitMix64 generator whose state is one public word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Generator {
    state: u64,
}

impl Generator {
    /// A generator for a store's seed, unrelated to the hash of the same seed.
    pub fn from_seed(seed: u64) -> Self {
        Generator {
            state: mix(seed ^ 0x6465_6475_7073_746f),
        }
    }

    /// Takes up where [`state`](Generator::state) left off.
    pub fn from_state(state: u64) -> Self {
        Generator { state }
    }

    /// All there is to save.
    pub fn state(self) -> u64 {
        self.state
    }

    /// The draw `index` places ahead (0 is the next one), without taking it.
    #[inline]
    pub fn draw(self, index: u64) -> u64 {
        mix(self
            .state
            .wrapping_add(GAMMA.wrapping_mul(index.wrapping_add(1))))
    }

    /// The generator after `count` more draws.
    #[inline]
    pub fn ahead(self, count: u64) -> Self {
        Generator {
            state: self.state.wrapping_add(GAMMA.wrapping_mul(count)),
        }
    }
}

#[inline]
fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl TryRng for Generator {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        self.try_next_u64().map(|draw| (draw >> 32) as u32)
    }

    #[inline]
    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        let draw = self.draw(0);
        *self = self.ahead(1);
        Ok(draw)
    }

    fn try_fill_bytes(&mut self, destination: &mut [u8]) -> Result<(), Infallible> {
        for chunk in destination.chunks_mut(8) {
            let draw = self.try_next_u64()?.to_le_bytes();
            chunk.copy_from_slice(&draw[..chunk.len()]);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use rand::{Rng, SeedableRng};
    use rand_xoshiro::SplitMix64;

    use super::*;

    #[test]
    fn it_is_splitmix64() {
        let mut ours = Generator::from_state(1234);
        let mut reference = SplitMix64::from_seed(1234u64.to_le_bytes());
        for _ in 0..1000 {
            assert_eq!(ours.next_u64(), reference.next_u64());
        }
    }

    #[test]
    fn looking_ahead_sees_what_will_be_drawn() {
        let mut generator = Generator::from_seed(7);
        let foreseen: Vec<u64> = (0..10).map(|i| generator.draw(i)).collect();
        assert_eq!(generator.ahead(3).draw(2), foreseen[5]);
        let drawn: Vec<u64> = (0..10).map(|_| generator.next_u64()).collect();
        assert_eq!(foreseen, drawn);
    }

    #[test]
    fn a_saved_state_goes_on_where_it_was() {
        let mut generator = Generator::from_seed(9);
        generator.next_u64();
        let mut resumed = Generator::from_state(generator.state());
        assert_eq!(resumed.next_u64(), generator.next_u64());
    }
}
