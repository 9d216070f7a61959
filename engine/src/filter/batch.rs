//! The loops over a batch of observations, with prefetching.

use super::sample_mask::SampleMask;
use super::{Filter, LoggedObservations, Observation, Registers, Verdict};
use crate::prefetch;
use crate::region::Region;
use crate::simd::{LineVectors, VectorWork, Vectors, match_vectors};

/// How many observations ahead memory is prefetched: far enough that as many requests are in flight
/// as the processor can wait for, near enough that the cache line is still in the second-level cache
/// when it is used, or in the first-level cache if the memory is small. On an AMD EPYC (Zen 5),
/// `blocked` takes 7.7 ns per key in 256 MiB with 32, 5.7 with 64, and 5.1 with 96 and with 128. In WebAssembly a prefetch is a real read, which has
/// finished when the program continues.
pub(super) const LOOKAHEAD: usize = if cfg!(target_family = "wasm") { 0 } else { 96 };
/// How many observations ahead dependent memory is prefetched.
const DEPENDENT_LOOKAHEAD: usize = LOOKAHEAD / 2;

/// Returns for how many observations in a row memory is prefetched in WebAssembly. A prefetch
/// instruction works wherever it stands. The reads that replace it in WebAssembly must stand
/// together, so that the processor can execute many of them at once.
fn prefetch_burst(filter: &impl Filter) -> usize {
    (64 / filter.cache_lines_touched() as usize).max(1)
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
    if filter.uses_vectors() {
        match_vectors!(
            Vectors::detected(),
            Portable => {},
            vectors => return vectors.run(WithVectors { filter, batch }),
        );
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
struct WithVectors<'a, F, B> {
    filter: &'a F,
    batch: B,
}

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
    let mask = sample.mask();
    if worthwhile {
        for (i, key) in observations.iter().take(LOOKAHEAD).enumerate() {
            filter.prefetch(region.bytes(), generator_at(i), key.fingerprint);
        }
    }
    // Dependent memory of the first keys is not prefetched: what it depends on has not arrived.
    let mut new = 0;
    let mut first = 0;
    while first < observations.len() {
        let segment = Segment::starting_at(filter, observations, first);
        if segment.prefetch_before && worthwhile {
            for (i, key) in (first..).zip(segment.keys) {
                filter.prefetch(region.bytes(), generator_at(i), key.fingerprint);
            }
            for (i, key) in (first..).zip(segment.keys) {
                let generator = generator_at(i);
                filter.prefetch_dependent(region.bytes(), registers, generator, key.fingerprint);
            }
        }
        let ahead = segment.later.iter().zip(segment.soon);
        let verdicts = &mut verdicts[first..];
        let keys = segment.keys.iter().zip(verdicts).zip(ahead);
        for (i, ((&observation, known), (later, soon))) in (first..).zip(keys) {
            if !segment.prefetch_before && worthwhile {
                let generator = generator_at(i + LOOKAHEAD);
                filter.prefetch(region.bytes(), generator, later.fingerprint);
                let generator = generator_at(i + DEPENDENT_LOOKAHEAD);
                filter.prefetch_dependent(region.bytes(), registers, generator, soon.fingerprint);
            }
            let verdict = filter.observe(region, registers, generator_at(i), observation);
            *known = verdict;
            registers.count_observation();
            if observation.fingerprint.0 & mask == 0 {
                sample.collect(i);
            }
            new += u64::from(verdict == Verdict::New);
        }
        first += segment.keys.len();
    }
    registers.count_new(new, generator_at(observations.len()));
    shared.clone_from(registers);
}

/// Observations in a row, with those for which memory is prefetched meanwhile. There is one for
/// each, so that the loop needs no test for the end of the batch.
struct Segment<'a> {
    keys: &'a [Observation],
    later: &'a [Observation],
    soon: &'a [Observation],
    /// Memory for the keys themselves is prefetched, before the first of them.
    prefetch_before: bool,
}

impl<'a> Segment<'a> {
    #[inline(always)]
    fn starting_at(filter: &impl Filter, batch: &'a [Observation], first: usize) -> Self {
        let prefetch_before = cfg!(target_family = "wasm");
        let end = match batch.len().saturating_sub(LOOKAHEAD) {
            _ if prefetch_before => batch.len().min(first + prefetch_burst(filter)),
            end if end > first => end,
            _ => batch.len(),
        };
        let keys = &batch[first..end];
        let later = match end + LOOKAHEAD <= batch.len() {
            true => &batch[first + LOOKAHEAD..end + LOOKAHEAD],
            // Past the end of the batch, there is nothing to prefetch: these are there already.
            false => keys,
        };
        let soon = match end + DEPENDENT_LOOKAHEAD <= batch.len() {
            true => &batch[first + DEPENDENT_LOOKAHEAD..end + DEPENDENT_LOOKAHEAD],
            false => keys,
        };
        Segment {
            keys,
            later,
            soon,
            prefetch_before,
        }
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
