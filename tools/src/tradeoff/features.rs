//! The price of a feature: a filter that grows, forgets by time, deletes, weighs keys, or is divided
//! among machines, beside a plain Bloom filter in the same memory.

use std::fmt::Write;
use std::thread;

use dedupstore::FilterSpec;
use dedupstore::lab::{GapMeter, NoClock, Scoreboard, Simulation, SliceSettings, StreamSpec};

use super::parallel_map;
use crate::windows::percent;

const STREAMS: [&str; 3] = ["shuffle:60", "zipf:1.1:1000000", "drift:15:5000"];
const BITS_PER_KEY: [f64; 3] = [8.0, 16.0, 32.0];
const COUNT: u64 = 500_000;
const SEED: u64 = 1;

/// A column of the table: its title and its configurations, of which the best counts.
struct Contestant {
    title: &'static str,
    filters: &'static [&'static str],
    slices: Option<&'static str>,
}

const fn filters(title: &'static str, filters: &'static [&'static str]) -> Contestant {
    Contestant {
        title,
        filters,
        slices: None,
    }
}

const fn slices(title: &'static str) -> Contestant {
    Contestant {
        title,
        filters: &[],
        slices: Some(title),
    }
}

/// The number of hash functions that are tried.
const BLOOM: &[&str] = &[
    "bloom:k=4",
    "bloom:k=6",
    "bloom:k=8",
    "bloom:k=11",
    "bloom:k=16",
];

/// The columns. Windows have a span longer than the stream: nothing is forgotten, and the price is
/// that of the timers alone.
const CONTESTANTS: [Contestant; 8] = [
    filters("`bloom`", BLOOM),
    filters("`quotient`", &["quotient"]),
    filters(
        "`growing`",
        &[
            "growing:fpr=0.3",
            "growing:fpr=0.1",
            "growing:fpr=0.03",
            "growing:fpr=0.01",
            "growing:fpr=0.001",
            "growing:fpr=0.0001",
        ],
    ),
    filters(
        "`window`",
        &[
            "window:k=2,span=1000000",
            "window:k=4,span=1000000",
            "window:k=6,span=1000000",
        ],
    ),
    filters(
        "`stamped`",
        &[
            "stamped:bits=12,span=1000000",
            "stamped:bits=16,span=1000000",
            "stamped:bits=24,span=1000000",
        ],
    ),
    filters(
        "`admit`",
        &["admit:k=2", "admit:k=4", "admit:k=6", "admit:k=8"],
    ),
    slices("`vertical:40`"),
    slices("`horizontal:1000`"),
];

/// Returns the section of docs/TRADEOFFS.md.
pub fn features() -> String {
    let mut text = "\n## The price of a feature\n\n\
        Wrong verdicts in percent, in the same memory as a plain Bloom filter; each entry is the best \
        of a few parameters. `quotient` can delete keys. `growing` is not told the number of keys; \
        [GROWTH](GROWTH.md) has its memory along the way. `window` and `stamped` carry times, here with \
        a span longer than the stream, so that nothing is forgotten, and their errors are counted \
        against their own deliveries; [WINDOWS](WINDOWS.md) has shorter spans. `admit` weighs keys, here all alike; [IMPORTANCE](IMPORTANCE.md) has keys \
        that differ. The last two columns are the Bloom filter on 40 and on 1,000 sites; \
        [SITES](SITES.md) has messages and failures. `–`: cannot be built in this memory. One run of \
        500,000 keys each.\n\n\
        | stream | bits/key |"
        .to_owned();
    for contestant in &CONTESTANTS {
        let _ = write!(text, " {} |", contestant.title);
    }
    text += "\n|---|---|";
    text += &"---|".repeat(CONTESTANTS.len());
    text.push('\n');
    let rows: Vec<(&str, f64)> = STREAMS
        .iter()
        .flat_map(|&stream| BITS_PER_KEY.map(|bits| (stream, bits)))
        .collect();
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let measured = parallel_map(threads, &rows, |row| measure(*row));
    for ((stream, bits), shares) in rows.iter().zip(measured) {
        let _ = write!(text, "| `{stream}` | {bits} |");
        for share in shares {
            let _ = write!(text, " {} |", percent(share));
        }
        text.push('\n');
    }
    text
}

/// Returns the least share of wrong verdicts of each contestant.
fn measure((stream, bits_per_key): (&str, f64)) -> Vec<Option<f64>> {
    let stream: StreamSpec = stream.parse().expect("a stream");
    let distinct = {
        let (mut keys, mut truth) = (stream.open(COUNT, SEED), stream.open(COUNT, SEED).truth());
        let mut distinct = 0u64;
        while let Some((_, number)) = keys.next_key() {
            distinct += u64::from(truth.is_first(number));
        }
        distinct
    };
    let memory_bits = (distinct as f64 * bits_per_key) as u64;
    let mut keys = stream.open(COUNT, SEED);
    let mut simulation = Simulation::new(SEED, keys.truth()).with_gap_meter(GapMeter::bounded(1));
    // The contestant of each run, in the order in which runs are added.
    let (mut of_filter, mut of_slices) = (Vec::new(), Vec::new());
    for (index, contestant) in CONTESTANTS.iter().enumerate() {
        for filter in contestant.filters {
            let spec: FilterSpec = filter.parse().expect(filter);
            if simulation.add_filter(&spec, memory_bits).is_ok() {
                of_filter.push(index);
            }
        }
        if let Some(slices) = contestant.slices {
            let slicing = slices.trim_matches('`').parse().expect(slices);
            for k in [4, 6, 8, 11, 16] {
                let settings = SliceSettings::new(slicing, k, memory_bits);
                if simulation.add_sliced(settings).is_ok() {
                    of_slices.push(index);
                }
            }
        }
    }
    while let Some((key, number)) = keys.next_key() {
        simulation.push_numbered(key, number, &NoClock);
    }
    simulation.flush(&NoClock);
    let mut best = vec![None; CONTESTANTS.len()];
    let mut record = |index: usize, board: &Scoreboard| {
        let end = board.now();
        let wrong = (end.false_positives + end.false_negatives) as f64 / end.position as f64;
        let least: &mut Option<f64> = &mut best[index];
        *least = Some(least.map_or(wrong, |least| least.min(wrong)));
    };
    for (&index, run) in of_filter.iter().zip(simulation.runs()) {
        record(index, run.scoreboard());
    }
    for (&index, run) in of_slices.iter().zip(simulation.sliced_runs()) {
        record(index, run.scoreboard());
    }
    best
}
