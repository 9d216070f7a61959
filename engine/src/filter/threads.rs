//! Observes one batch with several threads.
//!
//! The threads divide the rows of a [row-local](super::rows) filter, not the keys of the batch.
//! Each one observes its own keys in the order of the stream, so the result is that of one thread.

use super::batch::{self, BatchLoop, LOOKAHEAD, specialized};
use super::hashed_keys::hash;
use super::row_parts::{OwnKeys, Part, PartWork};
use super::{AnyFilter, Filter, Observation, Registers, Rows, SampleMask, Verdict};
use crate::fingerprint::{Fingerprint, KeyHasher, reduce};
use crate::prefetch::prefetch;
use crate::simd::Vectors;
use crate::workers::Workers;

/// Below this length of a batch, waking a thread costs more than it saves.
const SHORTEST_BATCH: usize = 2048;
/// After so many keys, the threads wait for each other, which takes as long as many keys.
const LONGEST_BATCH: usize = 1 << 20;
/// A thread looks for its own keys among so many at a time, which stay in its second-level cache.
/// In shorter blocks it would wait more often for the first keys, which nothing has prefetched.
const BLOCK: usize = 1 << 13;
/// How many keys are observed one by one before trying again whether the filter is row-local.
const KEYS_IN_A_ROW: usize = 64;

/// Threads that observe batches together.
#[derive(Debug)]
#[doc(hidden)]
pub struct Threads {
    workers: Workers,
    work: Vec<PartWork>,
}

impl Threads {
    /// Starts `count` − 1 threads besides the caller's. None if there would be only one.
    pub fn start(count: usize) -> Option<Self> {
        let workers = Workers::start(count);
        let work = (0..workers.count()).map(|_| PartWork::default()).collect();
        (workers.count() > 1).then_some(Threads { workers, work })
    }

    /// Hashes keys. Each thread takes a part of them, if there are enough.
    pub(super) fn hash<K: AsRef<[u8]> + Sync>(
        &self,
        hasher: KeyHasher,
        keys: &[K],
        observations: &mut [Observation],
    ) {
        if keys.len() < SHORTEST_BATCH {
            return hash(hasher, keys, observations);
        }
        let part = keys.len().div_ceil(self.workers.count());
        let parts = keys.chunks(part).zip(observations.chunks_mut(part));
        self.workers.run(parts, |(keys, observations)| {
            hash(hasher, keys, observations)
        });
    }
}

impl AnyFilter {
    /// Whether several threads can observe one batch.
    pub fn is_divisible(&self) -> bool {
        dispatch!(self, f => f.row_layout().is_some())
    }

    /// Does the same as [`observe_sampled`](AnyFilter::observe_sampled), with several threads if
    /// the filter and the length of the batch allow it.
    pub(crate) fn observe_divided(
        &self,
        threads: &mut Threads,
        region: &mut [u8],
        registers: &mut Registers,
        observations: &[Observation],
        verdicts: &mut [Verdict],
        sample: &mut SampleMask,
    ) {
        assert_eq!(observations.len(), verdicts.len());
        dispatch!(self, f => observe(f, threads, region, registers, observations, verdicts, sample));
    }
}

fn observe<F: Filter + Sync>(
    filter: &F,
    threads: &mut Threads,
    region: &mut [u8],
    registers: &mut Registers,
    observations: &[Observation],
    verdicts: &mut [Verdict],
    sample: &mut SampleMask,
) {
    let mut from = 0;
    while from < observations.len() {
        let left = observations.len() - from;
        let divisible = left >= SHORTEST_BATCH && filter.row_layout().is_some();
        let in_parts = divisible && filter.is_row_local(registers);
        let length = match (divisible, in_parts) {
            (true, true) => left.min(LONGEST_BATCH),
            (true, false) => KEYS_IN_A_ROW,
            (false, _) => left,
        };
        let batch = &observations[from..from + length];
        let verdicts = &mut verdicts[from..from + length];
        sample.set_offset(from);
        match in_parts {
            true => observe_in_parts(filter, threads, region, registers, batch, verdicts, sample),
            false => batch::observe(filter, region, registers, batch, verdicts, sample),
        }
        from += length;
    }
}

fn observe_in_parts<F: Filter + Sync>(
    filter: &F,
    threads: &mut Threads,
    region: &mut [u8],
    registers: &mut Registers,
    observations: &[Observation],
    verdicts: &mut [Verdict],
    sample: &mut SampleMask,
) {
    let Some(rows) = filter.row_layout() else {
        return;
    };
    let Threads { workers, work } = threads;
    let before = registers.clone();
    let parts = rows.divide(region, work.len());
    let used = parts.len();
    let mask = sample.mask();
    // The first thread is the caller's, which writes its verdicts to their place.
    let mut own_verdicts = Some(&mut *verdicts);
    let tasks = parts.into_iter().zip(&mut *work).map(|(part, work)| {
        work.start(&before);
        (part, &mut work.own, &mut work.verdicts, own_verdicts.take())
    });
    workers.run(tasks.collect::<Vec<_>>(), |(part, own, other, verdicts)| {
        let verdicts = match verdicts {
            Some(verdicts) => {
                verdicts.fill(Verdict::Seen);
                verdicts
            }
            None => other.start(observations.len()),
        };
        observe_part(filter, rows, part, observations, mask, own, verdicts);
    });
    let work = &work[..used];
    for other in &work[1..] {
        other.verdicts.add_to(verdicts);
    }
    for part in work {
        registers.add_changes(&before, &part.own.registers);
    }
    let new = work.iter().map(|part| part.own.new).sum::<u64>();
    let sampled = work
        .iter()
        .flat_map(|part| part.own.sampled.iter().copied());
    sample.collect_all(sampled);
    registers.count_block(observations.len() as u64, new, filter.draws());
    filter.after_rows(region, registers, new);
}

/// Observes the keys of a batch that belong to one part of the rows. All verdicts are Seen before.
fn observe_part<F: Filter>(
    filter: &F,
    rows: Rows,
    part: Part<'_>,
    observations: &[Observation],
    sample_mask: u64,
    own: &mut OwnKeys,
    verdicts: &mut [Verdict],
) {
    // On the stack, so that threads do not write to one cache line.
    let mut local = std::mem::take(own);
    let batch = ObserveOwn {
        rows,
        part,
        observations,
        sample_mask,
        own: &mut local,
        verdicts,
    };
    specialized(filter, batch);
    *own = local;
}

/// The loop over the keys of one part.
struct ObserveOwn<'a, 'b> {
    rows: Rows,
    part: Part<'b>,
    observations: &'a [Observation],
    sample_mask: u64,
    own: &'a mut OwnKeys,
    verdicts: &'a mut [Verdict],
}

impl<F: Filter> BatchLoop<F> for ObserveOwn<'_, '_> {
    #[inline(always)]
    fn run(self, filter: &F) {
        let ObserveOwn {
            rows,
            part,
            observations,
            sample_mask,
            own,
            verdicts,
        } = self;
        observe_own(filter, rows, part, observations, sample_mask, own, verdicts);
    }
}

#[inline(always)]
fn observe_own<F: Filter>(
    filter: &F,
    rows: Rows,
    part: Part<'_>,
    observations: &[Observation],
    sample_mask: u64,
    own: &mut OwnKeys,
    verdicts: &mut [Verdict],
) {
    let Part {
        first_row,
        fingerprints,
        bytes,
    } = part;
    let OwnKeys {
        chosen,
        registers: before,
        sampled,
        new: all_new,
    } = own;
    let mut new = 0;
    // A copy of which no one else knows, as in `batch.rs`.
    let registers = &mut before.clone();
    let start = registers.generator();
    let vectors = Vectors::detected();
    // A byte of the key's row, found without the row itself.
    let (all_bytes, first_byte) = (rows.bytes_of(rows.count), rows.bytes_of(first_row));
    let blocks = observations.chunks(BLOCK).zip(verdicts.chunks_mut(BLOCK));
    for (index, (block, verdicts)) in blocks.enumerate() {
        let offset = index * BLOCK;
        chosen.choose(vectors, block, |it| it.fingerprint.0, fingerprints);
        let (numbers, positions) = chosen.get();
        let ask = |bytes: &[u8], fingerprint: u64| {
            let byte = reduce(fingerprint, all_bytes).wrapping_sub(first_byte);
            prefetch(bytes, byte as usize);
        };
        let first = numbers.iter().take(LOOKAHEAD);
        first.for_each(|&fingerprint| ask(bytes, fingerprint));
        let mut ahead = numbers.get(LOOKAHEAD..).unwrap_or_default().iter();
        for (&fingerprint, &position) in numbers.iter().zip(positions) {
            if let Some(&later) = ahead.next() {
                ask(bytes, later);
            }
            let position = position as usize;
            let observation = Observation {
                fingerprint: Fingerprint(fingerprint),
                ..block[position]
            };
            let at = offset + position;
            let generator = start.ahead(at as u64 * filter.draws());
            let verdict =
                filter.observe_in_rows(bytes, first_row, registers, generator, observation);
            verdicts[position] = verdict;
            new += u64::from(verdict == Verdict::New);
            if observation.fingerprint.0 & sample_mask == 0 {
                sampled.push(at);
            }
        }
    }
    *all_new = new;
    before.clone_from(registers);
}
