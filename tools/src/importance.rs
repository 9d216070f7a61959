//! Generates docs/IMPORTANCE.md: errors weighted by importance, at equal memory.

use std::fmt::Write;
use std::thread;

use dedupstore::FilterSpec;
use dedupstore::lab::{Arrival, GapMeter, NoClock, RunSummary, Simulation, StreamSpec};

use crate::tradeoff::{importance_grid, parallel_map};
use crate::windows::percent;

/// The streams of the paper's tables and figures; most keys of little importance; links of a
/// crawl.
pub const STREAMS: [&str; 4] = [
    "importance-linear:55.47",
    "importance-linear:30",
    "importance-exponential:30",
    "crawl:100:400",
];
/// Memory in bits per distinct key.
pub const BITS_PER_KEY: [f64; 5] = [0.5, 1.0, 2.0, 4.0, 8.0];
const COUNT: u64 = 40_000;
const SEED: u64 = 1;
/// The paper's filters, its cache, the filter that ignores importance, and ours.
pub const FAMILIES: [&str; 9] = [
    "ibf1", "ibf2", "ibf3", "ibf4", "ibf5", "ibf6", "reinsert", "blocked", "admit",
];
/// The filters of the paper's Table 1.
const PAPERS: usize = 6;

/// The beginning of the document.
pub const INTRODUCTION: &str = "# Which filter if some keys matter more than others\n\n\
    Written by `cargo xtask importance`. Each observation has an importance. The weighted error is \
    the importance of all wrong verdicts ÷ the importance of all observations, in percent: weighted \
    false positives and weighted false negatives together. All filters of a row have the same \
    memory, in bits per distinct key, indexes and caches included. Each column is the best of a \
    few configurations: `ibf1` to `ibf6` with k = 1 or 4, p = 3 or 7 and max = 4; `reinsert`, \
    which is `ibf3` with the same k and p and a re-insertion cache of 10 or 25 % of the memory, in \
    either order; `blocked`, which ignores \
    importance, and `admit` with six values of k each. In `crawl` the importance of a link is 50 \
    for the home page of a site and falls with the depth of its path.\n\n";

/// All filters on one stream in one memory size.
#[derive(Clone, Debug)]
pub struct ImportanceCell {
    /// The stream.
    pub stream: &'static str,
    /// The memory, in bits per distinct key.
    pub bits_per_key: f64,
    /// The least weighted error of each family, and its filter.
    pub best: Vec<(f64, String)>,
}

impl ImportanceCell {
    fn of(&self, family: &str) -> f64 {
        let at = FAMILIES.iter().position(|it| *it == family);
        at.map_or(f64::NAN, |at| self.best[at].0)
    }

    /// Whether our filter errs less than every filter of the paper.
    pub fn is_won(&self) -> bool {
        self.best[..PAPERS]
            .iter()
            .all(|(error, _)| self.of("admit") < *error)
    }
}

/// Measures all cells.
pub fn cells() -> Vec<ImportanceCell> {
    let jobs: Vec<(&'static str, f64)> = STREAMS
        .into_iter()
        .flat_map(|stream| BITS_PER_KEY.map(|bits| (stream, bits)))
        .collect();
    let threads = thread::available_parallelism().map_or(1, usize::from);
    parallel_map(threads, &jobs, |&(stream, bits)| cell(stream, bits, COUNT))
}

/// Measures one cell.
pub fn cell(stream: &'static str, bits_per_key: f64, count: u64) -> ImportanceCell {
    let mut filters = importance_grid();
    for k in [1, 2, 3, 4, 6, 8] {
        filters.push(format!("blocked:k={k}").parse().expect("a filter"));
    }
    let memory_bits = (bits_per_key * distinct(stream, count) as f64) as u64;
    let runs = measured(stream, count, &filters, memory_bits);
    let best = FAMILIES.map(|family| {
        let own = filters.iter().zip(&runs);
        let own = own.filter(|(filter, _)| filter.name() == family);
        let errors = own.map(|(_, run)| (error(run), run.filter.clone()));
        let best = errors.min_by(|a, b| a.0.total_cmp(&b.0));
        best.expect("every family has configurations")
    });
    ImportanceCell {
        stream,
        bits_per_key,
        best: best.to_vec(),
    }
}

/// The weighted error of a run.
fn error(run: &RunSummary) -> f64 {
    run.wfp.unwrap_or(0.0) + run.wfn.unwrap_or(0.0)
}

fn distinct(stream: &str, count: u64) -> u64 {
    let spec: StreamSpec = stream.parse().expect("a stream");
    let mut keys = spec.open(count, SEED);
    let mut truth = keys.truth();
    while let Some((_, number)) = keys.next_key() {
        truth.is_first(number);
    }
    truth.distinct()
}

fn measured(stream: &str, count: u64, filters: &[FilterSpec], memory_bits: u64) -> Vec<RunSummary> {
    let spec: StreamSpec = stream.parse().expect("a stream");
    let mut keys = spec.open(count, SEED);
    let mut simulation = Simulation::for_stream(&keys, SEED).with_gap_meter(GapMeter::bounded(1));
    for filter in filters {
        simulation
            .add_filter(filter, memory_bits)
            .expect("enough memory");
    }
    while let Some(arrival) = keys.next_arrival() {
        let importance = arrival
            .importance
            .or_else(|| Some(depth_importance(arrival.key)));
        let weighted = Arrival {
            importance,
            ..arrival
        };
        simulation.push_arrival(&weighted, &NoClock);
    }
    simulation.flush(&NoClock);
    simulation.measurements(stream)
}

/// Returns the importance of an address by the depth d of its path: 50 ÷ (1 + d²).
fn depth_importance(address: &[u8]) -> u16 {
    let path = address
        .splitn(4, |&byte| byte == b'/')
        .nth(3)
        .unwrap_or(&[]);
    let parts = path.split(|&byte| byte == b'/');
    let depth = parts.filter(|part| !part.is_empty()).count() as u16;
    (50 / (1 + depth.min(100).pow(2))).max(1)
}

/// Returns the document.
pub fn document(cells: &[ImportanceCell]) -> String {
    let mut text = INTRODUCTION.to_owned();
    text += "| stream | bits |";
    FAMILIES.iter().for_each(|it| text += &format!(" `{it}` |"));
    let _ = writeln!(text, "\n|---|---|{}", "---|".repeat(FAMILIES.len()));
    for cell in cells {
        let _ = write!(text, "| `{}` | {} |", cell.stream, cell.bits_per_key);
        for (error, _) in &cell.best {
            let _ = write!(text, " {} |", percent(Some(*error)));
        }
        text.push('\n');
    }
    let count =
        |holds: &dyn Fn(&ImportanceCell) -> bool| cells.iter().filter(|cell| holds(cell)).count();
    let _ = write!(
        text,
        "\n`admit` errs less than every one of `ibf1` to `ibf6` in {} of {} rows; less than \
         `blocked` in {}, more in {}. `blocked` errs less than every one of `ibf1` to `ibf6` in \
         {} rows.\n\n## The re-insertion cache\n\nThe paper found that the memory of the cache serves \
         better in the filter. Here `reinsert` errs more than `ibf3` in the same memory in {} rows \
         and less in {}. It is the best of 16 configurations, `ibf3` of 4, which favours \
         `reinsert`. `blocked` errs less than both in {} rows.\n",
        count(&|cell| cell.is_won()),
        cells.len(),
        count(&|cell| cell.of("admit") < cell.of("blocked")),
        count(&|cell| cell.of("admit") > cell.of("blocked")),
        count(&|cell| cell.best[..PAPERS]
            .iter()
            .all(|it| cell.of("blocked") < it.0)),
        count(&|cell| cell.of("reinsert") > cell.of("ibf3")),
        count(&|cell| cell.of("reinsert") < cell.of("ibf3")),
        count(&|cell| cell.of("blocked") < cell.of("reinsert").min(cell.of("ibf3"))),
    );
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_committed_document_has_the_words_of_this_generator() {
        let path = crate::root().join("docs/IMPORTANCE.md");
        let document = std::fs::read_to_string(path).expect("docs/IMPORTANCE.md");
        assert!(document.contains(INTRODUCTION));
        for stream in STREAMS {
            assert!(document.contains(&format!("| `{stream}` |")), "{stream}");
        }
    }

    /// Shorter streams than those of the document.
    #[test]
    fn our_filter_errs_less_than_every_filter_of_the_paper() {
        for stream in STREAMS {
            for bits_per_key in [1.0, 4.0] {
                let cell = cell(stream, bits_per_key, 8000);
                assert!(cell.is_won(), "{cell:?}");
            }
        }
    }

    #[test]
    fn importance_falls_with_the_depth_of_a_path() {
        for (address, importance) in [
            ("https://a.example/", 50),
            ("https://a.example", 50),
            ("https://a.example/news/", 25),
            ("https://a.example/news/salt", 10),
        ] {
            assert_eq!(
                depth_importance(address.as_bytes()),
                importance,
                "{address}"
            );
        }
    }
}
