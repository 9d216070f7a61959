//! How long filters that use importance take: the section "Speed" of docs/IMPORTANCE.md.

use std::fmt::Write;

use dedupstore::lab::StreamSpec;
use dedupstore::{AnyFilter, FilterSpec, KeyHasher, Observation, SeenSet, SeenSetBuilder, Verdict};
use rustix::time::{ClockId, clock_gettime};

/// What all others are compared with, the same with its defaults, every deletion scheme, the
/// cache, and our filter.
pub const FILTERS: [&str; 10] = [
    "stable:k=4,p=7,max=4",
    "stable",
    "ibf:delete=random",
    "ibf:delete=probabilistic",
    "ibf:delete=probabilistic-p",
    "ibf:delete=probabilistic-val",
    "ibf:delete=min",
    "ibf:delete=min-priority",
    "reinsert",
    "admit",
];
/// The paper's largest filter.
pub const CELLS: u64 = 262_144;
const STREAM: &str = "importance-linear:30";
const BATCH: usize = 4096;
const SEED: u64 = 1;

/// How much is measured.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Observations with [`CELLS`] cells.
    pub small: usize,
    /// The memory of the large filters.
    pub large_bits: u64,
    /// Observations before the first round with the large filters.
    pub warm_up: usize,
    /// Observations per round.
    pub per_round: usize,
    /// Rounds.
    pub rounds: usize,
}

/// The effort behind the document.
pub const FULL: Effort = Effort {
    small: 1_000_000,
    large_bits: 256 << 23,
    warm_up: 4_000_000,
    per_round: 200_000,
    rounds: 9,
};

/// The times of one filter.
#[derive(Clone, Debug)]
pub struct Speed {
    /// The filter.
    pub filter: &'static str,
    /// Seconds for all observations with [`CELLS`] cells; the median of three runs.
    pub small_seconds: f64,
    /// Nanoseconds per observation in the large memory; the median over rounds.
    pub large_ns: f64,
    /// The median over rounds of the ratio to the first filter in the same round.
    pub ratio: f64,
}

/// Measures all filters. Every round runs every filter on the same keys, so a busy moment of the
/// machine affects all of them.
pub fn measure(effort: &Effort) -> Vec<Speed> {
    let small = observations(effort.small);
    let small_seconds = FILTERS.map(|filter| median((0..3).map(|_| small_run(filter, &small))));
    let large = observations(effort.warm_up + effort.rounds * effort.per_round);
    let (warm_up, rounds) = large.split_at(effort.warm_up);
    let mut sets = FILTERS.map(|filter| set(filter, effort.large_bits));
    for set in &mut sets {
        observe(set, warm_up);
    }
    let mut nanoseconds = FILTERS.map(|_| Vec::new());
    for (round, keys) in rounds.chunks(effort.per_round).enumerate() {
        for i in 0..sets.len() {
            // Each round starts with another filter, so that none always follows the same one.
            let which = (i + round) % sets.len();
            let seconds = observe(&mut sets[which], keys);
            nanoseconds[which].push(1e9 * seconds / keys.len() as f64);
        }
    }
    let speed = |which: usize| {
        let own = &nanoseconds[which];
        let ratios = own.iter().zip(&nanoseconds[0]).map(|(own, one)| own / one);
        Speed {
            filter: FILTERS[which],
            small_seconds: small_seconds[which],
            large_ns: median(own.iter().copied()),
            ratio: median(ratios),
        }
    };
    (0..FILTERS.len()).map(speed).collect()
}

/// Returns the section of the document.
pub fn section(speeds: &[Speed], effort: &Effort, machine: &str) -> String {
    let mut text = format!(
        "{HEADING}\n\nMeasured by `cargo xtask importance-speed` on {machine}, on \
         `{STREAM}`. Times are those on the processor, so other programs count little. The second \
         column is the time for {} observations with {} cells, from empty. \
         The others are for {} MiB, after {} observations, interleaved: nanoseconds per \
         observation, and the ratio to the stable Bloom filter that also has k = 4, p = 7 and \
         max = 4 as the filters below it, both medians of {} rounds. `stable` alone has k = 2, \
         p = 4 and max = 1, `admit` k = 3.\n\n\
         | filter | seconds | ns | × `stable` |\n|---|---|---|---|\n",
        grouped(effort.small),
        grouped(CELLS as usize),
        effort.large_bits >> 23,
        grouped(effort.warm_up),
        effort.rounds,
    );
    for speed in speeds {
        let _ = writeln!(
            text,
            "| `{}` | {:.2} | {:.0} | {:.1} |",
            speed.filter, speed.small_seconds, speed.large_ns, speed.ratio
        );
    }
    text
}

/// The first line of the section, which is the last of the document.
pub const HEADING: &str = "## Speed";

/// Returns the section in a document; empty if it has none.
pub fn section_in(document: &str) -> &str {
    document.find(HEADING).map_or("", |at| &document[at..])
}

/// Returns a document with another section.
pub fn with_section(document: &str, section: &str) -> String {
    let rest = document.len() - section_in(document).len();
    format!("{}\n\n{section}", document[..rest].trim_end())
}

fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

fn small_run(filter: &str, keys: &[Observation]) -> f64 {
    observe(&mut set(filter, bits_for_cells(filter)), keys)
}

/// Returns the least memory in which a filter has [`CELLS`] cells.
fn bits_for_cells(filter: &str) -> u64 {
    let spec = parsed(filter);
    let has_fewer = |bits| AnyFilter::build(&spec, bits).is_ok_and(|it| it.cells() < CELLS);
    let (mut low, mut high) = (CELLS, 128 * CELLS);
    while low < high {
        let middle = low + (high - low) / 2;
        match has_fewer(middle) {
            true => low = middle + 1,
            false => high = middle,
        }
    }
    low
}

fn parsed(filter: &str) -> FilterSpec {
    filter.parse().expect("a filter")
}

fn set(filter: &str, memory_bits: u64) -> SeenSet {
    let builder = SeenSetBuilder::new(parsed(filter)).memory_bits(memory_bits);
    builder.seed(SEED).build().expect("enough memory")
}

/// Observes keys in batches. Returns the seconds that this takes.
fn observe(set: &mut SeenSet, keys: &[Observation]) -> f64 {
    let mut verdicts = vec![Verdict::New; BATCH];
    let started = processor_seconds();
    for batch in keys.chunks(BATCH) {
        set.observe_batch(batch, &mut verdicts[..batch.len()]);
    }
    processor_seconds() - started
}

/// Returns how long this thread has run on a processor: other programs on the machine then count
/// less than with a clock. Exact to the nanosecond, unlike `schedstat`, which counts timer ticks.
fn processor_seconds() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

fn observations(count: usize) -> Vec<Observation> {
    let stream: StreamSpec = STREAM.parse().expect("a stream");
    let mut keys = stream.open(count as u64, SEED);
    let hasher = KeyHasher::new(SEED);
    let mut observations = Vec::with_capacity(count);
    while let Some(arrival) = keys.next_arrival() {
        observations.push(Observation {
            importance: arrival.importance.unwrap_or(1),
            ..hasher.fingerprint(arrival.key).into()
        });
    }
    observations
}

fn median(numbers: impl Iterator<Item = f64>) -> f64 {
    let mut numbers: Vec<f64> = numbers.collect();
    numbers.sort_by(f64::total_cmp);
    numbers[numbers.len() / 2]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_filter_has_a_time_and_a_row() {
        let effort = Effort {
            small: 500,
            large_bits: 1 << 20,
            warm_up: 500,
            per_round: 100,
            rounds: 3,
        };
        let speeds = measure(&effort);
        let text = section(&speeds, &effort, "a machine");
        for (speed, filter) in speeds.iter().zip(FILTERS) {
            assert_eq!(speed.filter, filter);
            assert!(
                speed.small_seconds > 0.0 && speed.large_ns > 0.0,
                "{speed:?}"
            );
            assert!(text.contains(&format!("| `{filter}` |")), "{text}");
        }
        assert_eq!(speeds[0].ratio, 1.0);
    }

    #[test]
    fn cells_are_as_many_as_said() {
        for filter in FILTERS {
            let spec = parsed(filter);
            let built = AnyFilter::build(&spec, bits_for_cells(filter)).expect("enough memory");
            assert!((CELLS..CELLS + 512).contains(&built.cells()), "{filter}");
        }
    }

    #[test]
    fn the_section_is_replaced_and_the_rest_is_kept() {
        let document = format!("# Title\n\ntext\n\n{HEADING}\n\nold\n");
        let changed = with_section(&document, &format!("{HEADING}\n\nnew\n"));
        assert_eq!(changed, format!("# Title\n\ntext\n\n{HEADING}\n\nnew\n"));
        assert_eq!(section_in(&changed), format!("{HEADING}\n\nnew\n"));
    }
}
