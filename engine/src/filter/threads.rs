//! Observes one batch with several threads.
//!
//! The threads divide the rows of a [row-local](super::rows) filter, not the keys of the batch.
//! Each one observes its own keys in the order of the stream, so the result is that of one thread.

use super::batch::{self, LOOKAHEAD, specialized};
use super::row_parts::{Part, PartWork};
use super::{AnyFilter, Filter, Observation, Registers, Rows, SampleMask, Verdict};
use crate::fingerprint::reduce;
use crate::prefetch::prefetch;
use crate::workers::Workers;

/// Below this length of a batch, waking a thread costs more than it saves.
const SHORTEST_BATCH: usize = 2048;
/// A batch is divided so that what a thread writes down about it stays in its cache.
const LONGEST_BATCH: usize = 1 << 15;
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
    let mut copies = vec![before.clone(); used];
    let mask = sample.mask();
    let tasks = parts.into_iter().zip(&mut copies).zip(&mut *work);
    workers.run(tasks.collect::<Vec<_>>(), |((part, registers), work)| {
        observe_part(filter, rows, part, registers, observations, mask, work);
    });
    verdicts.fill(Verdict::Seen);
    let mut new = 0;
    for (work, after) in work[..used].iter().zip(&copies) {
        work.add_verdicts(verdicts);
        registers.add_changes(&before, after);
        new += work.new;
    }
    sample.collect_all(
        work[..used]
            .iter()
            .flat_map(|it| it.sampled.iter().copied()),
    );
    registers.count_block(observations.len() as u64, new, filter.draws());
    filter.after_rows(region, registers, new);
}

/// Observes the keys of a batch that belong to one part of the rows. The registers are the
/// thread's own copy of those before the batch.
fn observe_part<F: Filter>(
    filter: &F,
    rows: Rows,
    part: Part<'_>,
    registers: &mut Registers,
    observations: &[Observation],
    sample_mask: u64,
    work: &mut PartWork,
) {
    work.select(&part.fingerprints, observations);
    specialized!(filter => observe_selected(filter, rows, part, registers, observations, sample_mask, work));
}

#[inline(always)]
fn observe_selected<F: Filter>(
    filter: &F,
    rows: Rows,
    part: Part<'_>,
    registers: &mut Registers,
    observations: &[Observation],
    sample_mask: u64,
    work: &mut PartWork,
) {
    let Part {
        first_row, bytes, ..
    } = part;
    let start = registers.generator();
    let ask = |bytes: &[u8], position: Option<&u32>| {
        if let Some(&position) = position {
            let fingerprint = observations[position as usize].fingerprint;
            let row = reduce(fingerprint.0, rows.count);
            prefetch(bytes, rows.byte_of(row, first_row));
        }
    };
    let ahead = work.own.get(LOOKAHEAD..).unwrap_or_default();
    (work.own.iter().take(LOOKAHEAD)).for_each(|position| ask(bytes, Some(position)));
    let mut ahead = ahead.iter();
    for &position in &work.own {
        ask(bytes, ahead.next());
        let position = position as usize;
        let observation = observations[position];
        let generator = start.ahead(position as u64 * filter.draws());
        let verdict = filter.observe_in_rows(bytes, first_row, registers, generator, observation);
        work.verdicts[position] = verdict;
        work.new += u64::from(verdict == Verdict::New);
        if observation.fingerprint.0 & sample_mask == 0 {
            work.sampled.push(position);
        }
    }
}
