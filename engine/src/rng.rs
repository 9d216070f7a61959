//! The random number generator of filters: portable, with one word of state and random access.
//!
//! The state is in a filter's [registers](crate::filter::Registers), so it is saved, copied and
//! replayed with the rest. The algorithm is SplitMix64 (Steele, Lea and Flood, "Fast splittable
//! pseudorandom number generators", 2014). Its state advances by a constant, so the draws of a
//! later observation can be computed in advance and the memory that they select can be prefetched.
//! The generators of the rand crate cannot do this; this one implements rand's traits.
//!
//! **Invariant:** an observation consumes a fixed number of draws, whatever its verdict.

use std::convert::Infallible;

use rand::TryRng;

const GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

/// A SplitMix64 generator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Generator {
    state: u64,
}

impl Generator {
    /// Returns the generator of a seed, independent of the hash with the same seed.
    pub fn from_seed(seed: u64) -> Self {
        Generator {
            state: mix(seed ^ 0x6465_6475_7073_746f),
        }
    }

    /// Returns the generator with a state from [`state`](Generator::state).
    pub fn from_state(state: u64) -> Self {
        Generator { state }
    }

    /// Returns the state.
    pub fn state(self) -> u64 {
        self.state
    }

    /// Returns a later draw without consuming it; index 0 is the next draw.
    #[inline]
    pub fn draw(self, index: u64) -> u64 {
        mix(self
            .state
            .wrapping_add(GAMMA.wrapping_mul(index.wrapping_add(1))))
    }

    /// Returns the generator after `count` more draws.
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
    fn later_draws_are_computed_correctly() {
        let mut generator = Generator::from_seed(7);
        let computed: Vec<u64> = (0..10).map(|i| generator.draw(i)).collect();
        assert_eq!(generator.ahead(3).draw(2), computed[5]);
        let drawn: Vec<u64> = (0..10).map(|_| generator.next_u64()).collect();
        assert_eq!(computed, drawn);
    }

    #[test]
    fn a_restored_state_continues_the_sequence() {
        let mut generator = Generator::from_seed(9);
        generator.next_u64();
        let mut resumed = Generator::from_state(generator.state());
        assert_eq!(resumed.next_u64(), generator.next_u64());
    }
}
