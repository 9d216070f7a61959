//! Generates docs/WINDOWS.md: the memory of filters with a window, and their errors on streams.

use std::fmt::Write;

use dedupstore::advise::{Question, Sample, advise};
use dedupstore::lab::{GapMeter, NoClock, RunSummary, Simulation, StreamSpec};
use dedupstore::theory::{Workload, predict};
use dedupstore::{FilterSpec, KeyHasher};

use crate::tradeoff::{Errors, window_grid};

/// The span of all windows here, in keys: there is one key per second.
pub const SPAN: u64 = 60_000;
const COUNT: u64 = 500_000;
const SEED: u64 = 1;
/// The adviser's sample has another seed than the stream that judges its pick.
const SAMPLE_SEED: u64 = 1_000_000;
/// The stream for which the memory is computed: keys come again at any time.
const MEMORY_STREAM: &str = "shuffle:50";
/// The false positive rates for which the memory is computed.
pub const TARGETS: [f64; 2] = [0.01, 0.001];
/// The largest false negative rate.
const MAX_FNR: f64 = 0.001;
/// Keys that come again only within the span; that come again at any time; a few popular keys; a
/// burst in the middle.
const STREAMS: [&str; 4] = [
    "drift:50:12000",
    "shuffle:20",
    "zipf:0.9:200000",
    "burst:40:1:5",
];
/// Memory in bits per key in the window.
const BITS_PER_KEY: [f64; 4] = [8.0, 16.0, 32.0, 64.0];

/// Configurations of one filter.
pub struct Family {
    /// What it is.
    pub name: &'static str,
    /// Its configurations, for a span.
    pub configurations: fn(u64) -> Vec<String>,
}

/// The timers of the paper, one tick per key, and the filters of the registry.
pub const FAMILIES: [Family; 5] = [
    Family {
        name: "the paper's timers: one step per key",
        configurations: |span| {
            let k = 2..=12;
            k.map(|k| format!("window:k={k},span={span},step=1"))
                .collect()
        },
    },
    Family {
        name: "`window`, 12 steps",
        configurations: |span| {
            (2..=12)
                .map(|k| format!("window:k={k},span={span}"))
                .collect()
        },
    },
    Family {
        name: "`window` in one cache line",
        configurations: |span| {
            let k = 2..=12;
            k.map(|k| format!("window:k={k},span={span},layout=blocked"))
                .collect()
        },
    },
    Family {
        name: "`stamped`",
        configurations: |span| {
            let bits = 6..=24;
            bits.map(|bits| format!("stamped:bits={bits},span={span}"))
                .collect()
        },
    },
    Family {
        name: "`apbf`",
        configurations: |span| {
            (2..=16)
                .map(|k| format!("apbf:k={k},span={span}"))
                .collect()
        },
    },
];

/// A filter and the least memory in which it keeps the bounds.
#[derive(Clone, Debug)]
pub struct Least {
    /// The filter.
    pub filter: FilterSpec,
    /// The memory.
    pub memory_bits: u64,
}

/// Returns the configuration of a family that needs the least memory by its formula.
pub fn least_memory(family: &Family, workload: &Workload, max_fpr: f64) -> Option<Least> {
    let filters = (family.configurations)(SPAN);
    let least = filters.iter().filter_map(|text| {
        let filter: FilterSpec = text.parse().expect("a filter");
        let keeps = |memory_bits: u64| {
            let end = predict(&filter, memory_bits, workload).map(|it| it.end());
            end.is_some_and(|end| end.fpr <= max_fpr && end.fnr <= MAX_FNR)
        };
        let (mut low, mut high) = (0u64, 1 << 26);
        if !keeps(high) {
            return None;
        }
        while high - low > 1 + high / 500 {
            let middle = low + (high - low) / 2;
            match keeps(middle) {
                true => high = middle,
                false => low = middle,
            }
        }
        Some(Least {
            filter,
            memory_bits: high,
        })
    });
    least.min_by_key(|it| it.memory_bits)
}

/// Returns the stream on which the memory is measured, and the number of keys in a window.
pub fn memory_workload() -> (Workload, f64) {
    let stream: StreamSpec = MEMORY_STREAM.parse().expect("a stream");
    let mut keys = stream.open(COUNT, SEED);
    let (mut gaps, mut truth) = (GapMeter::exact(), keys.truth());
    while let Some((_, number)) = keys.next_key() {
        gaps.record(number);
        truth.is_first(number);
    }
    let workload = Workload::with_gaps(COUNT, truth.distinct(), gaps.histogram());
    let in_window = sampled(&stream, SEED).stream_keys_within(SPAN);
    (workload, in_window as f64)
}

/// Runs filters over a stream, each in its memory.
pub fn measured(stream: &str, filters: &[(FilterSpec, u64)]) -> Vec<RunSummary> {
    let spec: StreamSpec = stream.parse().expect("a stream");
    let mut keys = spec.open(COUNT, SEED);
    let mut simulation = Simulation::for_stream(&keys, SEED).with_gap_meter(GapMeter::bounded(1));
    for (filter, memory_bits) in filters {
        simulation
            .add_filter(filter, *memory_bits)
            .expect("enough memory");
    }
    while let Some(arrival) = keys.next_arrival() {
        simulation.push_arrival(&arrival, &NoClock);
    }
    simulation.flush(&NoClock);
    simulation.measurements(stream)
}

/// Returns the document.
pub fn document(cells: &[WindowCell]) -> String {
    let mut text = INTRODUCTION.to_owned();
    text += &memory_table();
    text += STREAMS_HEADING;
    for stream in cells.chunk_by(|a, b| a.stream == b.stream) {
        let WindowCell {
            stream: name,
            in_window,
            ..
        } = stream[0];
        let _ = writeln!(text, "\n### {name}, {in_window} keys in a window");
        stream.iter().for_each(|cell| text += &cell.table());
    }
    text
}

/// The beginning of the document.
pub const INTRODUCTION: &str = "# Which filter for a window\n\n\
    Written by `cargo xtask windows`. A filter with a window reports a key as seen until a span \
    has passed since it was last new, and then forgets it. There is one key per second, except in \
    `burst`, and the span is 60,000 seconds. An occurrence of a key is a repeat if the filter delivered the key \
    within the span. Within the step after the span both verdicts are right.\n\n\
    ## Memory\n\n\
    The least memory, by the formula of each filter, for a false positive rate among keys that \
    never occurred, and at most 0.1 % false negatives. The stream is `shuffle:50`, 500,000 keys, \
    which come again at any time. Bits are per key in the window. The rates in parentheses were \
    measured in that memory over the whole stream, in percent: the FPR among keys that never \
    occurred, the FPR among all new keys, also those that come again after their span, and the \
    FNR. The paper's timers count single ticks, so their width grows with the span: here 16 bits; \
    for a week in seconds 20 bits, a quarter more. `apbf` often drops keys that come again right \
    after their span.\n\n";
/// The heading of the second part.
pub const STREAMS_HEADING: &str = "\n## Errors\n\n\
    The best configuration of each filter, by wrong verdicts, for several bits of memory per key \
    in the window. FPR is the share of new keys that were dropped, each key counted at each \
    occurrence at which it was new; FPR₁ counts only first occurrences in the stream. `expect` is \
    the filter that `advise` picks from the memory and the number of keys in a window, `sample` \
    the one that it picks from a sample of another stream of the same kind. In `burst`, five times as \
    many keys come in the middle third, and the number of keys in a window is the average.\n";

fn memory_table() -> String {
    let (workload, in_window) = memory_workload();
    let mut text = "| filter | 1 % | 0.1 % |\n|---|---|---|\n".to_owned();
    for family in &FAMILIES {
        let _ = write!(text, "| {} |", family.name);
        for target in TARGETS {
            let Some(least) = least_memory(family, &workload, target) else {
                text += " – |";
                continue;
            };
            let run = &measured(MEMORY_STREAM, &[(least.filter.clone(), least.memory_bits)])[0];
            let _ = write!(
                text,
                " {:.1} bits, `{}` ({} / {} / {}) |",
                least.memory_bits as f64 / in_window,
                parameter(&least.filter),
                percent(run.fpr_fresh),
                percent(run.fpr),
                percent(run.fnr),
            );
        }
        text.push('\n');
    }
    text
}

/// Returns the first parameter of a filter.
fn parameter(filter: &FilterSpec) -> String {
    let (parameter, value) = filter.values().next().expect("a parameter");
    format!("{}={value}", parameter.name)
}

/// Records the keys of a stream.
fn sampled(stream: &StreamSpec, seed: u64) -> Sample {
    let (mut keys, mut sample) = (stream.open(COUNT, seed), Sample::default());
    let hasher = KeyHasher::new(seed);
    loop {
        let second = keys.next_second();
        let Some((key, _)) = keys.next_key() else {
            break sample;
        };
        sample.record_at(hasher.fingerprint(key), second);
    }
}

/// All filters and the adviser's picks on one stream in one memory size.
#[derive(Clone, Debug)]
pub struct WindowCell {
    /// The stream.
    pub stream: &'static str,
    /// The number of keys in a window.
    pub in_window: u64,
    /// The memory, in bits per key in the window.
    pub bits_per_key: f64,
    /// The runs of all configurations, and of the picks.
    pub runs: Vec<RunSummary>,
    /// What the adviser picks without a sample, and with one.
    pub picks: [FilterSpec; 2],
}

/// Measures all streams: half a minute.
pub fn cells() -> Vec<WindowCell> {
    STREAMS.iter().flat_map(|stream| cells_of(stream)).collect()
}

fn cells_of(stream: &'static str) -> Vec<WindowCell> {
    let spec: StreamSpec = stream.parse().expect("a stream");
    let in_window = sampled(&spec, SEED).stream_keys_within(SPAN);
    let sampled = sampled(&spec, SAMPLE_SEED);
    let cell = |bits_per_key: f64| {
        let memory_bits = (bits_per_key * in_window as f64) as u64;
        let without_sample = Question {
            window: Some(SPAN),
            distinct: Some(in_window),
            ..Question::of_memory(memory_bits)
        };
        let with_sample = Question {
            distinct: None,
            sample: Some(&sampled),
            ..without_sample
        };
        let picks = [&without_sample, &with_sample]
            .map(|question| advise(question).expect("a filter").choice.filter);
        let mut filters = window_grid(SPAN);
        filters.extend(picks.clone());
        let filters: Vec<_> = filters.into_iter().map(|it| (it, memory_bits)).collect();
        WindowCell {
            stream,
            in_window,
            bits_per_key,
            runs: measured(stream, &filters),
            picks,
        }
    };
    BITS_PER_KEY.into_iter().map(cell).collect()
}

impl WindowCell {
    /// The run with the fewest errors.
    pub fn best(&self) -> &RunSummary {
        let best = self.runs.iter().min_by_key(|run| wrong(run));
        best.expect("there are runs")
    }

    /// The run of the adviser's pick without a sample, and with one.
    pub fn pick(&self, index: usize) -> &RunSummary {
        let name = self.picks[index].to_string();
        let run = self.runs.iter().find(|run| run.filter == name);
        run.expect("a pick has run")
    }

    /// Whether every run with fewer errors of one kind than this one has more of the other kind.
    pub fn is_on_front(&self, run: &RunSummary) -> bool {
        let errors = |run: &RunSummary| Errors {
            dropped: run.fp,
            missed: run.false_negatives,
        };
        let mine = errors(run);
        !self.runs.iter().any(|other| errors(other).dominates(mine))
    }

    /// A table with the best run of each filter, and the picks.
    fn table(&self) -> String {
        let mut sorted: Vec<&RunSummary> = self.runs.iter().collect();
        sorted.sort_by_key(|run| wrong(run));
        let mut shown: Vec<&RunSummary> = Vec::new();
        for run in sorted {
            let name = |run: &RunSummary| run.filter.split(':').next().map(str::to_owned);
            let is_pick = self.picks.iter().any(|pick| pick.to_string() == run.filter);
            let is_known = shown.iter().any(|it| it.filter == run.filter);
            if !is_known && (is_pick || shown.iter().all(|it| name(it) != name(run))) {
                shown.push(run);
            }
        }
        let mut text = format!(
            "\n{} bits per key in the window:\n\n\
             | filter | FPR % | FPR₁ % | FNR % | wrong % | advised |\n|---|---|---|---|---|---|\n",
            self.bits_per_key
        );
        for run in shown {
            let advised: Vec<&str> = ["expect", "sample"]
                .into_iter()
                .zip(&self.picks)
                .filter(|(_, pick)| pick.to_string() == run.filter)
                .map(|(name, _)| name)
                .collect();
            let _ = writeln!(
                text,
                "| `{}` | {} | {} | {} | {} | {} |",
                run.filter,
                percent(run.fpr),
                percent(run.fpr_fresh),
                percent(run.fnr),
                percent(wrong_share(run)),
                advised.join(", "),
            );
        }
        text
    }
}

/// The number of wrong verdicts.
pub fn wrong(run: &RunSummary) -> u64 {
    run.fp + run.false_negatives
}

/// The share of wrong verdicts.
pub fn wrong_share(run: &RunSummary) -> Option<f64> {
    Some(wrong(run) as f64 / run.count as f64)
}

/// Three significant digits, and at most four decimals.
pub(crate) fn percent(share: Option<f64>) -> String {
    let Some(share) = share else {
        return "–".to_owned();
    };
    let percent = 100.0 * share;
    match percent {
        0.0 => "0".to_owned(),
        10.0.. => format!("{percent:.1}"),
        1.0.. => format!("{percent:.2}"),
        0.1.. => format!("{percent:.3}"),
        _ => format!("{percent:.4}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The numbers take a minute to measure; the words must agree without that.
    #[test]
    fn the_committed_document_has_the_words_of_this_generator() {
        let path = crate::root().join("docs/WINDOWS.md");
        let document = std::fs::read_to_string(path).expect("docs/WINDOWS.md");
        for part in [INTRODUCTION, STREAMS_HEADING] {
            assert!(document.contains(part), "docs/WINDOWS.md lacks:\n{part}");
        }
        for stream in STREAMS {
            assert!(document.contains(&format!("### {stream}, ")), "{stream}");
        }
    }

    /// By formula and by measurement, every filter of ours needs at most half the memory.
    #[test]
    fn windows_need_at_most_half_the_memory_of_the_papers_timers() {
        let (workload, in_window) = memory_workload();
        for target in TARGETS {
            let least: Vec<Least> = FAMILIES
                .iter()
                .map(|family| least_memory(family, &workload, target).expect(family.name))
                .collect();
            let runs: Vec<_> = least
                .iter()
                .map(|it| (it.filter.clone(), it.memory_bits))
                .collect();
            for (run, family) in measured(MEMORY_STREAM, &runs).iter().zip(&FAMILIES) {
                let bits = run.memory_bits as f64 / in_window;
                let (fpr, fnr) = (run.fpr_fresh.expect("keys"), run.fnr.expect("repeats"));
                assert!(
                    fpr <= 1.05 * target && fnr <= 1.5 * MAX_FNR,
                    "{}: {run:?}",
                    family.name
                );
                assert!(bits > 5.0, "{}: {bits}", family.name);
            }
            let [papers, ours @ ..] = &least[..] else {
                panic!("five families");
            };
            for it in ours {
                assert!(
                    2 * it.memory_bits <= papers.memory_bits,
                    "{it:?}, {papers:?}"
                );
            }
        }
    }
}
