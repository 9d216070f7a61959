//! Which part of a long log is looked at.
//!
//! A part taken by chance, line by line, would lie: two lines of a key are both in it far
//! more seldom than one, so repeats would vanish. So either all lines of some keys are taken
//! (of one key in c, every repeat is there at a c-th of its distance, and a filter in a c-th
//! of the memory meets the same stream in small), or the log's beginning, whole.

use crate::fingerprint::Fingerprint;
use crate::rng::Generator;

/// The part of a log that is looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Sampling {
    /// All of it.
    #[default]
    All,
    /// Every line of one key in so many.
    OneKeyIn(u64),
    /// So many lines from the beginning.
    FirstLines(u64),
}

impl Sampling {
    /// Whether the lines of a key are in it.
    #[inline]
    pub fn takes(self, fingerprint: Fingerprint) -> bool {
        match self {
            Sampling::OneKeyIn(keys) if keys > 1 => {
                // Another draw than those by which gaps and the adviser thin out: theirs
                // would find a sample of theirs thinned out already.
                Generator::from_state(fingerprint.0)
                    .draw(2)
                    .is_multiple_of(keys)
            }
            _ => true,
        }
    }

    /// Whether nothing of the log is wanted beyond so many lines.
    #[inline]
    pub fn is_over_after(self, lines: u64) -> bool {
        matches!(self, Sampling::FirstLines(most) if lines >= most)
    }

    /// How many keys of the log stand behind one of these.
    pub fn one_key_in(self) -> u64 {
        match self {
            Sampling::OneKeyIn(keys) => keys.max(1),
            _ => 1,
        }
    }

    /// The memory in which a filter errs on the part as it would in `memory_bits` on all.
    pub fn memory_bits(self, memory_bits: u64) -> u64 {
        memory_bits / self.one_key_in()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fingerprint::KeyHasher;
    use crate::lab::{NoClock, Simulation, StreamSpec, Truth};

    fn rates(filter: &str, stream: &str, sampling: Sampling) -> (u64, f64, f64) {
        let spec: StreamSpec = stream.parse().expect("a stream");
        let mut keys = spec.open(400_000, 3);
        let hasher = KeyHasher::new(1);
        let mut race = Simulation::new(1, Truth::for_fingerprints());
        let filter = filter.parse().expect("a filter");
        race.enter(&filter, sampling.memory_bits(1 << 20))
            .expect("room");
        while let Some((key, _)) = keys.next_key() {
            let fingerprint = hasher.fingerprint(key);
            if sampling.takes(fingerprint) {
                race.push_fingerprint(fingerprint, &NoClock);
            }
        }
        race.flush(&NoClock);
        let board = race.contestants()[0].board();
        let (fpr, fnr) = (board.fpr(), board.fnr());
        (race.count(), fpr.expect("new keys"), fnr.expect("repeats"))
    }

    /// Some 30,000 new keys and 20,000 repeats in the sample: rates of several hundredths
    /// have standard errors of 2 to 4 in a hundred of themselves.
    #[test]
    fn one_key_in_eight_in_an_eighth_of_the_memory_errs_as_often() {
        for filter in ["bloom:k=2", "stable", "rlbsbf", "blocked", "slot"] {
            let (all, fpr, fnr) = rates(filter, "shuffle:60", Sampling::All);
            let (some, fpr_some, fnr_some) = rates(filter, "shuffle:60", Sampling::OneKeyIn(8));
            let share = some as f64 / all as f64;
            assert!((0.119..0.131).contains(&share), "{filter}: {share}");
            for (name, whole, part) in [("FPR", fpr, fpr_some), ("FNR", fnr, fnr_some)] {
                let off = (part - whole).abs();
                assert!(
                    off < 0.12 * whole + 0.002,
                    "{filter} {name}: {whole} {part}"
                );
            }
        }
    }

    #[test]
    fn the_beginning_is_over_after_its_lines() {
        let beginning = Sampling::FirstLines(10);
        assert!(!beginning.is_over_after(9) && beginning.is_over_after(10));
        assert!(!Sampling::OneKeyIn(4).is_over_after(u64::MAX));
        assert_eq!(beginning.memory_bits(4096), 4096);
        assert_eq!(Sampling::OneKeyIn(4).memory_bits(4096), 1024);
        assert_eq!(Sampling::OneKeyIn(0).memory_bits(4096), 4096);
    }
}
