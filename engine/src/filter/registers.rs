//! The small part of a filter's state that has a fixed size.

use xxhash_rust::xxh3::Xxh3;

use super::Verdict;
use crate::bytes::{read_u64, write_u64};
use crate::rng::Generator;

const GENERATOR: usize = 0;
const OBSERVATIONS: usize = 1;
const NEW: usize = 2;
const OCCUPIED: usize = 3;
const CLOCK: usize = 4;
const FORGOTTEN: usize = 5;
const OWN: usize = 8;

/// 64 words: the generator, the counts, and 56 words that the filter itself defines.
///
/// | word | content |
/// |---|---|
/// | 0 | state of the generator |
/// | 1 | observations |
/// | 2 | observations with the verdict New |
/// | 3 | cells in use |
/// | 4 | the present step, if the filter has a window that is measured in seconds |
/// | 5 | keys taken out |
/// | 6–7 | zero |
/// | 8–63 | defined by the filter |
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Registers {
    words: [u64; Registers::WORDS],
}

impl Registers {
    /// The number of words.
    pub const WORDS: usize = 64;
    /// The size in bytes.
    pub const BYTES: usize = 8 * Registers::WORDS;
    /// The number of words that the filter itself defines.
    pub const OWN_WORDS: usize = Registers::WORDS - OWN;

    /// Returns the registers of a filter that has observed nothing.
    pub fn new(seed: u64) -> Self {
        let mut words = [0; Registers::WORDS];
        words[GENERATOR] = Generator::from_seed(seed).state();
        Registers { words }
    }

    /// Returns the number of observations.
    pub fn observations(&self) -> u64 {
        self.words[OBSERVATIONS]
    }

    /// Returns the number of observations with the verdict New.
    pub fn new_count(&self) -> u64 {
        self.words[NEW]
    }

    /// Returns the number of observations with the verdict Seen.
    pub fn seen_count(&self) -> u64 {
        self.observations().saturating_sub(self.new_count())
    }

    /// Returns the number of keys that were taken out.
    pub fn forgotten(&self) -> u64 {
        self.words[FORGOTTEN]
    }

    /// Returns the number of changes that a log records: observations, and keys taken out.
    pub fn sequence(&self) -> u64 {
        self.observations().saturating_add(self.forgotten())
    }

    /// Returns the number of cells in use.
    pub fn occupied(&self) -> u64 {
        self.words[OCCUPIED]
    }

    /// Returns the number of cells in use, for the filter to update.
    #[inline]
    pub fn occupied_mut(&mut self) -> &mut u64 {
        &mut self.words[OCCUPIED]
    }

    /// Returns the present step of the clock; 0 before the first.
    #[inline]
    pub fn clock(&self) -> u64 {
        self.words[CLOCK]
    }

    /// Moves the clock to a step. It never moves backwards.
    #[inline]
    pub(crate) fn advance_clock(&mut self, step: u64) {
        self.words[CLOCK] = self.words[CLOCK].max(step);
    }

    /// Returns the words that the filter defines.
    #[inline]
    pub fn own(&self) -> &[u64] {
        &self.words[OWN..]
    }

    /// Returns the words that the filter defines, for the filter to update.
    #[inline]
    pub fn own_mut(&mut self) -> &mut [u64] {
        &mut self.words[OWN..]
    }

    /// Returns the generator of the next observation's draws.
    #[inline]
    pub(crate) fn generator(&self) -> Generator {
        Generator::from_state(self.words[GENERATOR])
    }

    /// Counts an observation and stores the generator after its draws.
    #[inline]
    pub(super) fn count(&mut self, verdict: Verdict, after: Generator) {
        self.count_observation();
        self.count_new(u64::from(verdict == Verdict::New), after);
    }

    /// Counts an observation. Some filters depend on the number of observations so far.
    #[inline]
    pub(super) fn count_observation(&mut self) {
        self.words[OBSERVATIONS] += 1;
    }

    /// Counts how many of the observations already counted were New, and stores the generator
    /// after the draws of all of them.
    #[inline]
    pub(super) fn count_new(&mut self, new: u64, after: Generator) {
        self.words[NEW] += new;
        self.words[GENERATOR] = after.state();
    }

    /// Counts Seen observations that left the state unchanged, and moves the generator past
    /// their draws.
    #[inline]
    pub(super) fn count_skipped(&mut self, count: u32, draws: u64) {
        let after = self.generator().ahead(u64::from(count) * draws);
        self.words[GENERATOR] = after.state();
        self.words[OBSERVATIONS] += u64::from(count);
    }

    /// Counts a block of observations, of which so many were New, and moves the generator past
    /// their draws.
    pub(crate) fn count_block(&mut self, observations: u64, new: u64, draws: u64) {
        self.words[OBSERVATIONS] += observations;
        self.count_new(
            new,
            self.generator().ahead(observations.wrapping_mul(draws)),
        );
    }

    /// Sets the number of observations with the verdict New.
    pub(crate) fn set_new_count(&mut self, new: u64) {
        self.words[NEW] = new;
    }

    /// Counts a key that was taken out.
    pub(super) fn count_forgotten(&mut self) {
        self.words[FORGOTTEN] += 1;
    }

    /// Adds the counts of another filter.
    pub(super) fn count_others(&mut self, other: &Registers) {
        for count in [OBSERVATIONS, NEW, FORGOTTEN] {
            self.words[count] += other.words[count];
        }
    }

    /// Encodes the registers.
    pub fn to_bytes(&self) -> [u8; Registers::BYTES] {
        let mut bytes = [0; Registers::BYTES];
        for (i, &word) in self.words.iter().enumerate() {
            write_u64(&mut bytes, 8 * i, word);
        }
        bytes
    }

    /// Decodes the registers from [`to_bytes`](Registers::to_bytes).
    pub fn from_bytes(bytes: &[u8; Registers::BYTES]) -> Self {
        Registers {
            words: std::array::from_fn(|i| read_u64(bytes, 8 * i)),
        }
    }
}

/// Returns a digest of the whole state: XXH3-64 of the encoded registers followed by the region.
pub fn state_digest(region: &[u8], registers: &Registers) -> u64 {
    digest_of_parts(&[region], registers)
}

/// Returns a digest of the registers and of parts of the region.
pub(crate) fn digest_of_parts(parts: &[&[u8]], registers: &Registers) -> u64 {
    let mut hasher = Xxh3::new();
    hasher.update(&registers.to_bytes());
    for part in parts {
        hasher.update(part);
    }
    hasher.digest()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encoding_round_trips() {
        let mut registers = Registers::new(3);
        registers.count(Verdict::New, registers.generator().ahead(2));
        registers.own_mut()[Registers::OWN_WORDS - 1] = u64::MAX;
        assert_eq!(Registers::from_bytes(&registers.to_bytes()), registers);
    }

    #[test]
    fn the_digest_depends_on_every_part() {
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
