//! Figures 10 and 11 of Koloniari, Ntarmos, Pitoura, Souravlias, 2011: filters of timers that grow
//! and shrink with a burst.
//!
//! The paper plots the number of filters over time (Figure 10) and the false positive rate (Figure
//! 11), for growth by density and by cardinality, for windows of 100, 500 and 1,000 time slots, and
//! for bursts of 2 and 5 times the rate in the middle third. It gives neither the rate nor the
//! size of a filter, so this is a comparison of shapes. What the text says can be checked:
//!
//! - "additional filters are temporarily created to handle the peaks";
//! - "the cardinality-based method exhibits larger fluctuations in the number of additional created
//!   filters";
//! - "the larger the window size, the more extra filters are created during the burst period and
//!   the longer they live".

use super::{Cell, CellPosition, Contender, Metric, Run, Source};
use crate::filter::{FilterSpec, Verdict};
use crate::lab::stream::Stream;
use crate::lab::window_truth::WindowTruth;
use crate::seen_set::{SeenSet, SeenSetBuilder};

const ID: &str = "001";
const COUNT: u64 = 100_000;
/// As in Figure 5.
const DISTINCT_PERCENT: f64 = 16.85;
/// Not printed in the paper.
const KEYS_PER_SLOT: f64 = 5.0;
/// The timers of a filter: the keys of the shortest window fill three fifths of it. Not printed in
/// the paper.
const PART_CELLS: u64 = 7000;
/// Enough for sixteen filters of timers with ten bits.
const MEMORY_BITS: u64 = 16 * 8 * 256 + 16 * (10 * PART_CELLS + 512);

const WINDOWS: [u64; 3] = [100, 500, 1000];
const BURSTS: [f64; 2] = [2.0, 5.0];
const RULES: [&str; 2] = ["density", "cardinality"];
/// The thirds of the keys.
pub(super) const THIRDS: usize = 3;
const COLUMNS: [&str; THIRDS] = ["before the burst", "during the burst", "after the burst"];

const NOTE: &str = "a comparison of shapes: the paper prints curves without numbers, and neither the rate of events \
     nor the size of a filter; the stream of 5 keys per time slot and the filters of 7,000 timers \
     with k = 4 and P = .02 are ours";

pub(super) fn cells() -> Vec<Cell> {
    let mut cells = Vec::new();
    for rule in RULES {
        for window in WINDOWS {
            for burst in BURSTS {
                let row = format!("{rule}, w = {window}, ×{burst}");
                let run = run(rule, window, burst);
                for (third, column) in COLUMNS.into_iter().enumerate() {
                    let cell = |table: &'static str, metric: Metric| {
                        let position = CellPosition {
                            paper: ID,
                            table,
                            row: row.clone(),
                            column,
                        };
                        position.cell(metric, None, &run, Some(NOTE))
                    };
                    cells.push(cell("Figure 10", Metric::Filters { third }));
                    cells.push(cell("Figure 10", Metric::FilterChanges { third }));
                    cells.push(cell("Figure 11", Metric::FprInThird { third }));
                }
            }
        }
    }
    // All cells of a table must stand together.
    cells.sort_by_key(|cell| cell.table);
    cells
}

fn run(rule: &str, window: u64, factor: f64) -> Run {
    Run {
        contender: Contender::Growing(format!(
            "growing:fpr=0.02,k=4,by={rule},tighten=off,part={PART_CELLS},layout=shared,\
             span={window},step=1"
        )),
        memory_bits: MEMORY_BITS,
        source: Source::Burst {
            distinct_percent: DISTINCT_PERCENT,
            keys_per_second: KEYS_PER_SLOT,
            factor,
        },
        count: COUNT,
    }
}

/// What happened in a third of a stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Third {
    /// The number of observations.
    pub observations: u64,
    /// The sum of the number of filters over the observations.
    pub filters: u64,
    /// How often the number of filters changed.
    pub changes: u64,
    /// Keys that were not in the window.
    pub new: u64,
    /// Those of them that were reported as Seen.
    pub false_positives: u64,
}

/// Runs a growing filter with a window over a stream with times, and adds what happened to `thirds`.
pub(super) fn run_growing(
    spec: &FilterSpec,
    memory_bits: u64,
    seed: u64,
    mut keys: Stream,
    count: u64,
    thirds: &mut [Third; THIRDS],
) -> Result<(), super::RunError> {
    let builder = SeenSetBuilder::new(spec)
        .memory_bits(memory_bits)
        .seed(seed);
    let mut set = builder.build()?;
    let clock = set.filter().window().copied();
    let mut truth = clock.map(WindowTruth::new);
    let filters = |set: &SeenSet| {
        set.filter()
            .growth(set.registers())
            .map_or(1, |it| it.parts)
    };
    let mut before = 1;
    for position in 0..count {
        let second = keys.next_second();
        let Some((key, number)) = keys.next_key() else {
            break;
        };
        let verdict = set.observe_at(key, second.into());
        let is_new = truth
            .as_mut()
            .is_some_and(|truth| truth.is_new(number, second, verdict));
        let third = &mut thirds[(position * THIRDS as u64 / count) as usize];
        let now = filters(&set);
        third.observations += 1;
        third.filters += now;
        third.changes += u64::from(now != before);
        third.new += u64::from(is_new);
        third.false_positives += u64::from(is_new && verdict == Verdict::Seen);
        before = now;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::{Outcome, Plan};
    use super::*;

    /// Runs one round of each cell's run.
    fn outcome(rule: &str, window: u64, burst: f64) -> Outcome {
        let wanted = run(rule, window, burst);
        let cells: Vec<Cell> = cells().into_iter().filter(|it| it.run == wanted).collect();
        let mut plan = Plan::of(&cells, 1);
        assert_eq!(plan.jobs.len(), 1, "one run measures all cells of a row");
        plan.jobs[0].rounds = 1;
        plan.jobs[0].execute().expect("a filter")
    }

    #[test]
    fn filters_grow_and_shrink_as_the_paper_says() {
        let filters = |outcome: &Outcome, third| {
            outcome
                .percent(Metric::Filters { third })
                .expect("observations")
        };
        for rule in RULES {
            let mut extra = Vec::new();
            for window in WINDOWS {
                let [twice, five] = BURSTS.map(|burst| outcome(rule, window, burst));
                let more = |it: &Outcome| filters(it, 1) - filters(it, 0);
                // The more keys come, the more filters there are, and they are dropped again.
                assert!(more(&twice) > 0.1 && more(&five) > more(&twice));
                assert!(filters(&five, 2) < filters(&five, 1));
                extra.push(more(&twice));
            }
            assert!(extra.is_sorted(), "{rule}: {extra:?}");
        }
        let changes = |rule| {
            let outcome = outcome(rule, 100, 2.0);
            outcome
                .thirds
                .iter()
                .map(|third| third.changes)
                .sum::<u64>()
        };
        assert!(changes("cardinality") > changes("density"));
    }
}
