//! The small fixed part of a filter's state.

use xxhash_rust::xxh3::Xxh3;

use super::Verdict;
use crate::bytes::{read_u64, write_u64};
use crate::rng::Generator;

const GENERATOR: usize = 0;
const OBSERVATIONS: usize = 1;
const NEW: usize = 2;
const OCCUPIED: usize = 3;
const OWN: usize = 8;

/// Sixty-four words: the generator, the counts, and 56 words of the filter's own.
///
/// | word | what |
/// |---|---|
/// | 0 | state of the generator |
/// | 1 | observations so far |
/// | 2 | of which New |
/// | 3 | cells in use |
/// | 4–7 | zero |
/// | 8–63 | the filter's own |
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Registers {
    words: [u64; Registers::WORDS],
}

impl Registers {
    /// How many words there are.
    pub const WORDS: usize = 64;
    /// Their length as bytes.
    pub const BYTES: usize = 8 * Registers::WORDS;
    /// How many of them a filter may use as it likes.
    pub const OWN_WORDS: usize = Registers::WORDS - OWN;

    /// The registers of a filter that has observed nothing.
    pub fn new(seed: u64) -> Self {
        let mut words = [0; Registers::WORDS];
        words[GENERATOR] = Generator::from_seed(seed).state();
        Registers { words }
    }

    /// Observations so far.
    pub fn observations(&self) -> u64 {
        self.words[OBSERVATIONS]
    }

    /// Observations whose verdict was New.
    pub fn new_count(&self) -> u64 {
        self.words[NEW]
    }

    /// Observations whose verdict was Seen.
    pub fn seen_count(&self) -> u64 {
        self.observations().saturating_sub(self.new_count())
    }

    /// Cells in use.
    pub fn occupied(&self) -> u64 {
        self.words[OCCUPIED]
    }

    #[inline]
    pub(super) fn occupied_mut(&mut self) -> &mut u64 {
        &mut self.words[OCCUPIED]
    }

    #[inline]
    pub(super) fn own(&self) -> &[u64] {
        &self.words[OWN..]
    }

    #[inline]
    pub(super) fn own_mut(&mut self) -> &mut [u64] {
        &mut self.words[OWN..]
    }

    #[inline]
    pub(super) fn generator(&self) -> Generator {
        Generator::from_state(self.words[GENERATOR])
    }

    /// Counts an observation and moves the generator past its draws.
    #[inline]
    pub(super) fn count(&mut self, verdict: Verdict, after: Generator) {
        self.count_observation();
        self.count_new(u64::from(verdict == Verdict::New), after);
    }

    /// Counts an observation: filters may ask how many came before theirs.
    #[inline]
    pub(super) fn count_observation(&mut self) {
        self.words[OBSERVATIONS] += 1;
    }

    /// Counts those of the observations counted that were New, and moves the generator
    /// past the draws of all.
    #[inline]
    pub(super) fn count_new(&mut self, new: u64, after: Generator) {
        self.words[NEW] += new;
        self.words[GENERATOR] = after.state();
    }

    /// Counts Seen observations that left no other trace, and moves the generator past
    /// their draws.
    #[inline]
    pub(super) fn count_without_trace(&mut self, count: u32, draws: u64) {
        let after = self.generator().ahead(u64::from(count) * draws);
        self.words[GENERATOR] = after.state();
        self.words[OBSERVATIONS] += u64::from(count);
    }

    /// Counts what another filter has met.
    pub(super) fn count_others(&mut self, other: &Registers) {
        self.words[OBSERVATIONS] += other.words[OBSERVATIONS];
        self.words[NEW] += other.words[NEW];
    }

    /// The registers as bytes.
    pub fn to_bytes(&self) -> [u8; Registers::BYTES] {
        let mut bytes = [0; Registers::BYTES];
        for (i, &word) in self.words.iter().enumerate() {
            write_u64(&mut bytes, 8 * i, word);
        }
        bytes
    }

    /// The registers of [`to_bytes`](Registers::to_bytes).
    pub fn from_bytes(bytes: &[u8; Registers::BYTES]) -> Self {
        Registers {
            words: std::array::from_fn(|i| read_u64(bytes, 8 * i)),
        }
    }
}

/// One number for a whole state: XXH3-64 of the registers' bytes followed by the region.
pub fn state_digest(region: &[u8], registers: &Registers) -> u64 {
    let mut hasher = Xxh3::new();
    hasher.update(&registers.to_bytes());
    hasher.update(region);
    hasher.digest()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_round_trip() {
        let mut registers = Registers::new(3);
        registers.count(Verdict::New, registers.generator().ahead(2));
        registers.own_mut()[Registers::OWN_WORDS - 1] = u64::MAX;
        assert_eq!(Registers::from_bytes(&registers.to_bytes()), registers);
    }

    #[test]
    fn the_digest_sees_every_part() {
        let fresh = Registers::new(0);
        let mut counted = fresh.clone();
        counted.count(Verdict::Seen, fresh.generator());
        let digests = [
            state_digest(&[0; 64], &fresh),
            state_digest(&[1; 64], &fresh),
            state_digest(&[0; 65], &fresh),
            state_digest(&[0; 64], &counted),
        ];
        for (i, a) in digests.iter().enumerate() {
            assert!(digests[..i].iter().all(|b| a != b));
        }
    }
}
