//! The loops over a batch of observations, with prefetching.

use super::sample_mask::SampleMask;
use super::{Filter, LoggedObservations, Observation, Registers, Verdict};
use crate::prefetch;
use crate::region::Region;
use crate::rng::Generator;
#[cfg(target_arch = "x86_64")]
use crate::simd::{LineVectors, VectorWork, Vectors};

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
fn prefetch_burst(filter: &impl Filter) -> usize {
    match cfg!(target_family = "wasm") {
        true => (64 / filter.cache_lines_touched() as usize).max(1),
        false => 1,
    }
}

/// A loop over a batch for any filter of a type.
pub(super) trait BatchLoop<F> {
    /// Runs the loop. Implementations must be `inline(always)`, so that the loop is compiled for
    /// the constants and instructions of its caller.
    fn run(self, filter: &F);
}

/// Runs a loop for the filter with [constant parameters](Filter::usual), if it has common ones,
/// and else for the filter as it is. A filter that computes with [vectors](Filter::uses_vectors)
/// gets the widest that the processor has.
#[inline(always)]
pub(super) fn specialized<F: Filter>(filter: &F, batch: impl BatchLoop<F>) {
    #[cfg(target_arch = "x86_64")]
    if filter.uses_vectors() {
        match Vectors::detected() {
            Vectors::Portable => {}
            Vectors::Avx2(vectors) => return vectors.run(WithVectors { filter, batch }),
            Vectors::Avx512(vectors) => return vectors.run(WithVectors { filter, batch }),
        }
    }
    with_constants(filter, batch);
}

#[inline(always)]
fn with_constants<F: Filter>(filter: &F, batch: impl BatchLoop<F>) {
    match &filter.usual() {
        [Some(filter), _] => batch.run(filter),
        [_, Some(filter)] => batch.run(filter),
        _ => batch.run(filter),
    }
}

/// A loop over a batch that is compiled for vectors. Constants are chosen inside: constants outside
/// of the function for the instructions would be variables in it.
#[cfg(target_arch = "x86_64")]
struct WithVectors<'a, F, B> {
    filter: &'a F,
    batch: B,
}

#[cfg(target_arch = "x86_64")]
impl<F: Filter, B: BatchLoop<F>, V: LineVectors> VectorWork<V> for WithVectors<'_, F, B> {
    #[inline(always)]
    fn run(self, vectors: V) {
        with_constants(&self.filter.with_vectors(vectors.into()), self.batch);
    }
}

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
    let batch = ObserveAll {
        region,
        registers,
        observations,
        verdicts,
        sample,
    };
    specialized(filter, batch);
}

/// The loop over observations.
struct ObserveAll<'a, R: ?Sized> {
    region: &'a mut R,
    registers: &'a mut Registers,
    observations: &'a [Observation],
    verdicts: &'a mut [Verdict],
    sample: &'a mut SampleMask,
}

impl<F: Filter, R: Region + ?Sized> BatchLoop<F> for ObserveAll<'_, R> {
    #[inline(always)]
    fn run(self, filter: &F) {
        let ObserveAll {
            region,
            registers,
            observations,
            verdicts,
            sample,
        } = self;
        observe_all(filter, region, registers, observations, verdicts, sample);
    }
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
    // A copy of which no one else knows: its counters stay in registers of the processor. In
    // memory, each key would wait until the counts of the one before are stored.
    let shared = registers;
    let registers = &mut shared.clone();
    let start = registers.generator();
    let generator_at = |index: usize| start.ahead(index as u64 * filter.draws());
    let worthwhile = prefetch::is_worthwhile(region.bytes().len());
    let later = |index: usize| observations.get(index).filter(|_| worthwhile);
    let first = observations.iter().take(LOOKAHEAD);
    for (i, observation) in first.filter(|_| worthwhile).enumerate() {
        prefetch_for(filter, region, generator_at(i), Some(observation));
    }
    // Dependent memory of the first keys is not prefetched: what it depends on has not arrived.
    let burst = prefetch_burst(filter);
    let mut new = 0;
    let mut first = 0;
    while first < observations.len() {
        for i in first..first + burst {
            let index = i + LOOKAHEAD;
            prefetch_for(filter, region, generator_at(index), later(index));
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
    shared.clone_from(registers);
}

/// Prefetches memory for an observation. A closure would not be inlined if the filter computes much
/// for it, and not be compiled for the instructions of the loop.
#[inline(always)]
fn prefetch_for<F: Filter, R: Region + ?Sized>(
    filter: &F,
    region: &R,
    generator: Generator,
    observation: Option<&Observation>,
) {
    if let Some(it) = observation {
        filter.prefetch(region.bytes(), generator, it.fingerprint);
    }
}

/// Observes what a log recorded.
pub(super) fn replay<F: Filter, R: Region + ?Sized>(
    filter: &F,
    region: &mut R,
    registers: &mut Registers,
    logged: &LoggedObservations,
    verdicts: &mut [Verdict],
) {
    let batch = ReplayAll {
        region,
        registers,
        logged,
        verdicts,
    };
    specialized(filter, batch);
}

/// The loop over logged observations.
struct ReplayAll<'a, R: ?Sized> {
    region: &'a mut R,
    registers: &'a mut Registers,
    logged: &'a LoggedObservations,
    verdicts: &'a mut [Verdict],
}

impl<F: Filter, R: Region + ?Sized> BatchLoop<F> for ReplayAll<'_, R> {
    #[inline(always)]
    fn run(self, filter: &F) {
        replay_all(
            filter,
            self.region,
            self.registers,
            self.logged,
            self.verdicts,
        );
    }
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
