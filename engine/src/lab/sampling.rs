//! Selects a part of a long log.
//!
//! Lines must not be chosen at random one by one: two lines of a key would rarely both be chosen,
//! so repeats would disappear. Either all lines of some keys are chosen, or the first lines of the
//! log. If one key in c is chosen, every repeat is there at 1/c of its distance, and a filter with
//! 1/c of the memory has the same error rates.

use crate::fingerprint::Fingerprint;
use crate::rng::Generator;

/// The part of a log that is used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Sampling {
    /// The whole log.
    #[default]
    All,
    /// Every line of one key in this many.
    OneKeyIn(u64),
    /// This many lines from the beginning.
    FirstLines(u64),
}

impl Sampling {
    /// Returns whether the lines of a key are included.
    #[inline]
    pub fn includes(self, fingerprint: Fingerprint) -> bool {
        match self {
            Sampling::OneKeyIn(keys) if keys > 1 => {
                // Not the draw that the gap meter and the adviser use for their samples: these
                // must be independent of this one.
                Generator::from_state(fingerprint.0)
                    .draw(2)
                    .is_multiple_of(keys)
            }
            _ => true,
        }
    }

    /// Returns whether no line after the first `lines` is included.
    #[inline]
    pub fn ends_after(self, lines: u64) -> bool {
        matches!(self, Sampling::FirstLines(max) if lines >= max)
    }

    /// Returns c if one key in c is included.
    pub fn one_key_in(self) -> u64 {
        match self {
            Sampling::OneKeyIn(keys) => keys.max(1),
            _ => 1,
        }
    }

    /// Returns the memory in which a filter has the same error rates on the part as in
    /// `memory_bits` on the whole log.
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
        let mut simulation = Simulation::new(1, Truth::for_fingerprints());
        let filter = filter.parse().expect("a filter");
        simulation
            .add_filter(&filter, sampling.memory_bits(1 << 20))
            .expect("enough memory");
        while let Some((key, _)) = keys.next_key() {
            let fingerprint = hasher.fingerprint(key);
            if sampling.includes(fingerprint) {
                simulation.push_fingerprint(fingerprint, &NoClock);
            }
        }
        simulation.flush(&NoClock);
        let scoreboard = simulation.runs()[0].scoreboard();
        let (fpr, fnr) = (scoreboard.fpr(), scoreboard.fnr());
        (
            simulation.count(),
            fpr.expect("new keys"),
            fnr.expect("repeats"),
        )
    }

    /// The sample has about 30,000 new keys and 20,000 repeats, so rates of several percent have
    /// relative standard errors of 2 % to 4 %.
    #[test]
    fn one_key_in_eight_with_an_eighth_of_the_memory_has_the_same_error_rates() {
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
    fn the_first_lines_end_after_their_number() {
        let beginning = Sampling::FirstLines(10);
        assert!(!beginning.ends_after(9) && beginning.ends_after(10));
        assert!(!Sampling::OneKeyIn(4).ends_after(u64::MAX));
        assert_eq!(beginning.memory_bits(4096), 4096);
        assert_eq!(Sampling::OneKeyIn(4).memory_bits(4096), 1024);
        assert_eq!(Sampling::OneKeyIn(0).memory_bits(4096), 4096);
    }
}
