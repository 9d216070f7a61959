//! A filter in horizontal slices, and how many timers of a key are equal.
//!
//! A hash of the key chooses one of the slices, each of which is a filter of its own with a hash
//! function of its own. The paper on distributed filtering divides its filters in this way, or
//! vertically: then each slice holds a part of the cells of one filter, which changes no verdict,
//! so one slice stands for any number of vertical ones.

use super::RunError;
use crate::filter::{AnyFilter, FilterSpec, Observation, Verdict};
use crate::fingerprint::{KeyHasher, reduce};
use crate::seen_set::{SeenSet, SeenSetBuilder};

/// The most timers of a key of which the equal ones are counted.
pub(super) const MAX_EQUAL: usize = 8;

/// A filter in horizontal slices.
pub(super) struct HorizontalSlices {
    slices: Vec<SeenSet>,
    chooser: KeyHasher,
    /// The same timers, if two, three and so on of a key must be equal.
    stricter: Vec<AnyFilter>,
}

impl HorizontalSlices {
    /// Creates empty slices of equal memory. Slices of `window` need a clock in seconds: all of them
    /// must see the same time.
    pub fn new(
        spec: &FilterSpec,
        slices: u64,
        memory_bits: u64,
        seed: u64,
    ) -> Result<Self, RunError> {
        let memory_bits = memory_bits / slices;
        let slice = |index: u64| {
            let seed = seed.wrapping_add(index << 32);
            SeenSetBuilder::new(spec)
                .memory_bits(memory_bits)
                .seed(seed)
        };
        let slices: Result<Vec<SeenSet>, _> = (0..slices).map(|it| slice(it).build()).collect();
        Ok(HorizontalSlices {
            slices: slices?,
            chooser: KeyHasher::new(!seed),
            stricter: stricter(spec, memory_bits)?,
        })
    }

    /// The filter of each slice.
    pub fn filter(&self) -> Option<&AnyFilter> {
        self.slices.first().map(SeenSet::filter)
    }

    /// Observes a key. If the verdict is Seen, also returns how many of its timers are equal;
    /// 0 if the filter has no timers, or does not count on them.
    pub fn observe(&mut self, key: &[u8], tick: u32) -> (Verdict, usize) {
        let choice = self.chooser.fingerprint(key).0;
        let index = reduce(choice, self.slices.len() as u64) as usize;
        let slice = &mut self.slices[index];
        let fingerprint = slice.hasher().fingerprint(key);
        let verdict = slice.observe_one(Observation {
            tick,
            ..fingerprint.into()
        });
        if verdict.is_new() || self.stricter.is_empty() {
            return (verdict, 0);
        }
        // A Seen verdict has changed nothing.
        let (region, registers) = (slice.region(), slice.registers());
        let passed = |filter: &&AnyFilter| {
            let strict = filter.contains(region, registers, fingerprint);
            strict.is_seen()
        };
        (verdict, 1 + self.stricter.iter().take_while(passed).count())
    }
}

/// Returns the filters that require 2, 3 and so on equal timers, for a filter that requires none.
fn stricter(spec: &FilterSpec, memory_bits: u64) -> Result<Vec<AnyFilter>, RunError> {
    if spec.descriptor().name != "window" || spec.integer("equal") != 1 {
        return Ok(Vec::new());
    }
    let most = spec.integer("k").min(MAX_EQUAL as u64);
    let strict = |equal: u64| -> Result<AnyFilter, RunError> {
        let spec = spec.with("equal", &equal.to_string())?;
        Ok(AnyFilter::build(&spec, memory_bits).map_err(crate::seen_set::CreateError::from)?)
    };
    (2..=most).map(strict).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sliced(filter: &str, slices: u64, memory_bits: u64) -> HorizontalSlices {
        let spec = filter.parse().expect("a filter");
        HorizontalSlices::new(&spec, slices, memory_bits, 1).expect("enough memory")
    }

    #[test]
    fn slices_share_the_memory_and_the_keys() {
        let mut filter = sliced("window:k=8,span=1000,step=1", 40, 60_000);
        assert_eq!(filter.filter().map(AnyFilter::cells), Some(150));
        for key in 0..4000u32 {
            filter.observe(&key.to_le_bytes(), 0);
        }
        let keys = |slice: &SeenSet| slice.registers().observations();
        let most = filter.slices.iter().map(keys).max();
        let least = filter.slices.iter().map(keys).min();
        // 100 keys per slice, with a standard deviation of 10.
        assert!(least > Some(60) && most < Some(140), "{least:?}, {most:?}");
        assert_eq!(filter.slices.iter().map(keys).sum::<u64>(), 4000);
    }

    #[test]
    fn one_slice_is_the_filter_itself() {
        let spec: FilterSpec = "window:k=4,span=100".parse().expect("a filter");
        let mut one = sliced("window:k=4,span=100", 1, 4000);
        let set = SeenSetBuilder::new(&spec).memory_bits(4000).seed(1);
        let mut set = set.build().expect("small");
        for i in 0..3000u32 {
            let key = (i * i % 701).to_le_bytes();
            let expected = set.observe_at(key, i.into());
            assert_eq!(one.observe(&key, i).0, expected);
        }
    }

    #[test]
    fn the_timers_of_a_repeat_are_equal_until_others_set_them() {
        let mut filter = sliced("window:k=8,span=1000,step=1", 1, 2000);
        assert_eq!(filter.observe(b"a", 1), (Verdict::New, 0));
        assert_eq!(filter.observe(b"a", 2), (Verdict::Seen, 8));
        for tick in 3..60u32 {
            filter.observe(&tick.to_le_bytes(), tick);
        }
        let (verdict, equal) = filter.observe(b"a", 61);
        assert!(verdict.is_seen() && (1..8).contains(&equal), "{equal}");
        // Filters without timers, and those that already require equal ones, count nothing.
        for other in ["bloom:k=8", "window:k=8,equal=2,span=1000,step=1"] {
            let mut filter = sliced(other, 1, 2000);
            filter.observe(b"a", 1);
            assert_eq!(filter.observe(b"a", 2), (Verdict::Seen, 0), "{other}");
        }
    }
}
