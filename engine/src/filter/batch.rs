//! The loops over a batch of observations, with prefetching.

use super::sample_mask::SampleMask;
use super::{Filter, LoggedObservations, Observation, Registers, Verdict};
use crate::prefetch;
use crate::region::Region;

/// How many observations ahead memory is prefetched: far enough to hide the latency of main
/// memory while many requests are in flight, near enough that the cache line is still in the
/// second-level cache when it is used. In WebAssembly a prefetch is a real read, which has
/// finished when the program continues.
pub(super) const LOOKAHEAD: usize = if cfg!(target_family = "wasm") { 0 } else { 32 };
/// How many observations ahead dependent memory is prefetched.
const DEPENDENT_LOOKAHEAD: usize = LOOKAHEAD / 2;

/// Returns for how many observations in a row memory is prefetched. A prefetch instruction
/// works wherever it stands. The reads that replace it in WebAssembly must stand together, so
/// that the processor can execute many of them at once.
fn prefetch_burst<F: Filter>(filter: &F) -> usize {
    match cfg!(target_family = "wasm") {
        true => (64 / filter.cache_lines_touched() as usize).max(1),
        false => F::PREFETCH_BURST,
    }
}

/// Evaluates a call for the filter with [constant parameters](Filter::usual), if it has common
/// ones, and else for the filter as it is. A filter of the type `F` that computes with
/// [vectors](Filter::USES_VECTORS) gets the widest that the processor has. Constants are chosen
/// inside `run`, which is a function of its own: constants outside of it would be variables there.
macro_rules! specialized {
    ($filter:ident => $call:expr) => {
        if const { F::USES_VECTORS } {
            match $crate::simd::Vectors::detected() {
                $crate::simd::Vectors::Portable => specialized!(constants $filter => $call),
                #[cfg(target_arch = "x86_64")]
                $crate::simd::Vectors::Avx2(vectors) => vectors.run(|| {
                    let found = $filter.with_vectors($crate::simd::Vectors::Avx2(vectors));
                    let $filter = found.as_ref().unwrap_or($filter);
                    specialized!(constants $filter => $call)
                }),
                #[cfg(target_arch = "x86_64")]
                $crate::simd::Vectors::Avx512(vectors) => vectors.run(|| {
                    let found = $filter.with_vectors($crate::simd::Vectors::Avx512(vectors));
                    let $filter = found.as_ref().unwrap_or($filter);
                    specialized!(constants $filter => $call)
                }),
            }
        } else {
            specialized!(constants $filter => $call)
        }
    };
    (constants $filter:ident => $call:expr) => {
        match &$filter.usual() {
            [Some($filter), _] => $call,
            [_, Some($filter)] => $call,
            _ => $call,
        }
    };
}

#[cfg(not(target_family = "wasm"))]
pub(super) use specialized;

/// Observes one key and counts it.
#[inline(always)]
pub(crate) fn observe_one<F: Filter, R: Region + ?Sized>(
    filter: &F,
    region: &mut R,
    registers: &mut Registers,
    observation: Observation,
) -> Verdict {
    let generator = registers.generator();
    let verdict = filter.observe(region, registers, generator, observation);
    registers.count(verdict, generator.ahead(filter.draws()));
    verdict
}

/// Observes a batch.
// Browsers are slow to optimise one function that contains every filter.
#[cfg_attr(target_family = "wasm", inline(never))]
pub(super) fn observe<F: Filter, R: Region + ?Sized>(
    filter: &F,
    region: &mut R,
    registers: &mut Registers,
    observations: &[Observation],
    verdicts: &mut [Verdict],
    sample: &mut SampleMask,
) {
    specialized!(filter => observe_all(filter, region, registers, observations, verdicts, sample));
}

#[inline(always)]
fn observe_all<F: Filter, R: Region + ?Sized>(
    filter: &F,
    region: &mut R,
    registers: &mut Registers,
    observations: &[Observation],
    verdicts: &mut [Verdict],
    sample: &mut SampleMask,
) {
    let start = registers.generator();
    let generator_at = |index: usize| start.ahead(index as u64 * filter.draws());
    let worthwhile = prefetch::is_worthwhile(region.bytes().len());
    let later = |index: usize| observations.get(index).filter(|_| worthwhile);
    let ask = |region: &R, index: usize| {
        if let Some(later) = later(index) {
            filter.prefetch(region.bytes(), generator_at(index), later.fingerprint);
        }
    };
    // Past the end of the batch, there is nothing to prefetch.
    (0..LOOKAHEAD).for_each(|i| ask(region, i));
    // Dependent memory of the first keys is not prefetched: what it depends on has not arrived.
    let burst = prefetch_burst(filter);
    let mut new = 0;
    let mut first = 0;
    while first < observations.len() {
        for i in first..first + burst {
            ask(region, i + LOOKAHEAD);
        }
        for i in first..first + burst {
            if let Some(soon) = later(i + DEPENDENT_LOOKAHEAD) {
                let generator = generator_at(i + DEPENDENT_LOOKAHEAD);
                filter.prefetch_dependent(region.bytes(), registers, generator, soon.fingerprint);
            }
        }
        for i in first..(first + burst).min(observations.len()) {
            let observation = observations[i];
            let verdict = filter.observe(region, registers, generator_at(i), observation);
            verdicts[i] = verdict;
            registers.count_observation();
            sample.check(i, observation.fingerprint);
            new += u64::from(verdict == Verdict::New);
        }
        first += burst;
    }
    registers.count_new(new, generator_at(observations.len()));
}

/// Observes what a log recorded.
pub(super) fn replay<F: Filter, R: Region + ?Sized>(
    filter: &F,
    region: &mut R,
    registers: &mut Registers,
    logged: &LoggedObservations,
    verdicts: &mut [Verdict],
) {
    specialized!(filter => replay_all(filter, region, registers, logged, verdicts));
}

#[inline(always)]
fn replay_all<F: Filter, R: Region + ?Sized>(
    filter: &F,
    region: &mut R,
    registers: &mut Registers,
    logged: &LoggedObservations,
    verdicts: &mut [Verdict],
) {
    let LoggedObservations {
        step: _,
        forgotten: _,
        observations,
        skipped_before,
        skipped_after,
    } = logged;
    let draws = filter.draws();
    let start = registers.generator();
    // The number of observations, skipped ones included, before each.
    let mut counted = 0;
    let known = observations
        .iter()
        .zip(skipped_before)
        .map(move |(observation, &skipped)| {
            let before = counted + u64::from(skipped);
            counted = before + 1;
            (observation.fingerprint, start.ahead(before * draws))
        });
    let (mut later, mut soon) = (known.clone(), known.skip(DEPENDENT_LOOKAHEAD));
    let mut prefetch = |region: &R| {
        if let Some((fingerprint, generator)) = later.next() {
            filter.prefetch(region.bytes(), generator, fingerprint);
        }
    };
    let mut prefetch_dependent = |region: &R, registers: &Registers| {
        if let Some((fingerprint, generator)) = soon.next() {
            filter.prefetch_dependent(region.bytes(), registers, generator, fingerprint);
        }
    };
    (0..LOOKAHEAD).for_each(|_| prefetch(region));
    let known = observations.iter().zip(skipped_before);
    for ((observation, &skipped), verdict) in known.zip(verdicts) {
        prefetch(region);
        prefetch_dependent(region, registers);
        registers.count_skipped(skipped, draws);
        *verdict = observe_one(filter, region, registers, *observation);
    }
    registers.count_skipped(*skipped_after, draws);
}
