//! Finds the memory with which a filter makes few enough mistakes on a stream, by running it.

use super::sample::Sample;
use crate::filter::{FilterSpec, MIN_MEMORY_BITS};
use crate::lab::{NoClock, Simulation, Truth};
use crate::seen_set::CreateError;

/// Memory is found to this factor.
const PRECISION: f64 = 1.02;
/// The search starts with this many bits per key.
const FIRST_BITS_PER_KEY: f64 = 8.0;
/// More bits per key are not tried.
const MOST_BITS_PER_KEY: f64 = 512.0;

/// What a filter does with the least memory that is enough.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RequiredMemory {
    /// The memory for the whole stream.
    pub memory_bits: u64,
    /// The share of wrong verdicts.
    pub error: f64,
    /// The share of new keys that are reported as Seen.
    pub fpr: f64,
    /// The share of repeats that are reported as New.
    pub fnr: f64,
}

/// Runs filters over a sample of a stream. One key in c is in the sample, and a filter gets 1/c of
/// its memory.
#[derive(Debug)]
pub struct MemorySearch<'a> {
    sample: &'a Sample,
    first: Vec<bool>,
    seed: u64,
}

impl<'a> MemorySearch<'a> {
    /// Prepares searches with one seed.
    pub fn new(sample: &'a Sample, seed: u64) -> Self {
        MemorySearch {
            first: sample.first_occurrences(),
            sample,
            seed,
        }
    }

    /// Returns the least memory with which at most this share of the verdicts is wrong; None if
    /// no memory is enough, as for a filter that forgets at any size.
    ///
    /// # Errors
    /// If the system has less memory than the filter needs.
    pub fn least(
        &self,
        filter: &FilterSpec,
        max_error: f64,
    ) -> Result<Option<RequiredMemory>, CreateError> {
        self.least_where(filter, |found| found.error <= max_error)
    }

    /// Returns the least memory with which the rates are good enough; None if no memory is enough.
    ///
    /// # Errors
    /// If the system has less memory than the filter needs.
    pub fn least_where(
        &self,
        filter: &FilterSpec,
        is_enough: impl Fn(&RequiredMemory) -> bool,
    ) -> Result<Option<RequiredMemory>, CreateError> {
        let is_enough = |found: &Option<RequiredMemory>| found.as_ref().is_some_and(&is_enough);
        let keys = self.first.iter().filter(|&&first| first).count().max(1) as f64;
        let least = MIN_MEMORY_BITS as f64;
        let most = (keys * MOST_BITS_PER_KEY).max(least);
        let mut bits = (keys * FIRST_BITS_PER_KEY).clamp(least, most);
        let mut not_enough = least;
        let mut found = self.run(filter, bits)?;
        while !is_enough(&found) {
            if bits >= most {
                return Ok(None);
            }
            not_enough = bits;
            bits = (bits * 2.0).min(most);
            found = self.run(filter, bits)?;
        }
        while not_enough == least && bits > least {
            let below = (bits / 2.0).max(least);
            let tried = self.run(filter, below)?;
            if !is_enough(&tried) {
                not_enough = below;
                break;
            }
            (bits, found) = (below, tried);
        }
        while bits / not_enough > PRECISION {
            let middle = libm::sqrt(bits * not_enough);
            let tried = self.run(filter, middle)?;
            match is_enough(&tried) {
                true => (bits, found) = (middle, tried),
                false => not_enough = middle,
            }
        }
        Ok(found)
    }

    /// Returns None if the filter cannot be built in this memory.
    fn run(&self, filter: &FilterSpec, bits: f64) -> Result<Option<RequiredMemory>, CreateError> {
        // Whole bytes.
        let bits = (bits as u64).next_multiple_of(8);
        let mut simulation = Simulation::new(self.seed, Truth::for_fingerprints());
        match simulation.add_filter(filter, bits) {
            Ok(()) => {}
            Err(CreateError::Build(_)) => return Ok(None),
            Err(error) => return Err(error),
        }
        for (observation, &first) in self.sample.observations().iter().zip(&self.first) {
            simulation.push_with_truth(observation.fingerprint, first, &NoClock);
        }
        simulation.flush(&NoClock);
        let summary = simulation.measurements("").into_iter().next();
        Ok(summary.map(|summary| RequiredMemory {
            memory_bits: bits * self.sample.one_in(),
            error: summary.fpr_n.unwrap_or(0.0) + summary.fnr_n.unwrap_or(0.0),
            fpr: summary.fpr.unwrap_or(0.0),
            fnr: summary.fnr.unwrap_or(0.0),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fingerprint::KeyHasher;
    use crate::lab::StreamSpec;

    fn sample(max: usize) -> Sample {
        let mut sample = Sample::bounded(max);
        let hasher = KeyHasher::new(1);
        let spec: StreamSpec = "uniform:40".parse().expect("a stream");
        let mut stream = spec.open(50_000, 1);
        while let Some((key, _)) = stream.next_key() {
            sample.record(hasher.fingerprint(key));
        }
        sample
    }

    #[test]
    fn a_little_less_memory_is_not_enough() {
        let sample = sample(1 << 20);
        let search = MemorySearch::new(&sample, 1);
        for filter in ["bloom:k=6", "blocked:k=6,cap=100", "rlbsbf:k=2"] {
            let spec: FilterSpec = filter.parse().expect("a filter");
            let found = search.least(&spec, 0.01).expect("memory").expect("enough");
            assert!(found.error <= 0.01, "{filter}: {found:?}");
            let less = search
                .run(&spec, found.memory_bits as f64 * 0.93)
                .expect("memory");
            assert!(less.is_some_and(|it| it.error > 0.01), "{filter}: {less:?}");
        }
    }

    /// One key in several gives nearly the same memory.
    #[test]
    fn a_sample_gives_nearly_the_same_memory() {
        let (all, part) = (sample(1 << 20), sample(20_000));
        assert!(part.one_in() > 1);
        let spec: FilterSpec = "bloom:k=5".parse().expect("a filter");
        let of = |sample: &Sample| {
            let found = MemorySearch::new(sample, 1).least(&spec, 0.01);
            found.expect("memory").expect("enough").memory_bits as f64
        };
        let ratio = of(&part) / of(&all);
        assert!((ratio - 1.0).abs() < 0.1, "{ratio}");
    }

    #[test]
    fn a_filter_that_always_forgets_needs_more_than_any_memory() {
        let sample = sample(1 << 20);
        let spec: FilterSpec = "stable:k=2,p=4,max=1".parse().expect("a filter");
        let found = MemorySearch::new(&sample, 1).least(&spec, 1e-6);
        assert_eq!(found.expect("memory"), None);
    }
}
