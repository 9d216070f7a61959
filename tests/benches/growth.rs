//! Measures how cost grows: `cargo bench -p dedupstore-benches --bench growth [-- short]`.
//!
//! Each table changes one thing: the number of keys, the memory, or k. The exponent is that of the
//! power law that fits best, by least squares of the logarithms: 1 means proportional, 0 constant.
//! With `short`, the largest sizes are left out.

use std::time::Instant;

use dedupstore::audit::AuditedFilter;
use dedupstore::{FilterSpec, Fingerprint, Memory, Observation, Registers, Verdict};

const BATCH: usize = 16_384;
/// As long as this many keys a measurement of another quantity runs.
const KEYS: u64 = 4_000_000;

fn main() {
    let short = std::env::args().any(|argument| argument == "short");
    let powers = if short { 6..=7 } else { 6..=9 };
    for filter in ["blocked", "slot", "growing"] {
        let rows = powers.clone().flat_map(|power| {
            let million = 10u64.pow(power);
            [million, 3 * million]
        });
        let most = 10u64.pow(*powers.end());
        let rows: Vec<(f64, Cost)> = rows
            .filter(|&keys| keys <= most)
            .map(|keys| (keys as f64, Cost::of(filter, 256 << 23, keys)))
            .collect();
        print(&format!("{filter}, 256 MiB: keys"), &rows);
    }
    // Not more than half of what is available, so that nothing else is pushed out.
    let half_mib = available_mib() / 2;
    let most_mib = if short { 256 } else { 8192 }.min(half_mib);
    for filter in ["blocked", "slot"] {
        let sizes = (0..14).map(|power| 1u64 << power);
        let sizes = sizes.filter(|&mib| mib <= most_mib && (!short || mib.ilog2() % 2 == 0));
        let rows: Vec<(f64, Cost)> = sizes
            .map(|mib| (mib as f64, Cost::of(filter, mib << 23, KEYS)))
            .collect();
        print(&format!("{filter}, {KEYS} keys: MiB of memory"), &rows);
    }
    for (name, memory_mib) in [("blocked", 1), ("blocked", 256), ("bloom", 256)] {
        let rows: Vec<(f64, Cost)> = [1, 2, 4, 8, 16]
            .map(|k: u32| {
                let filter = format!("{name}:k={k}");
                (f64::from(k), Cost::of(&filter, memory_mib << 23, KEYS))
            })
            .to_vec();
        print(&format!("{name}, {memory_mib} MiB, {KEYS} keys: k"), &rows);
    }
}

/// What observing keys costs.
#[derive(Clone, Copy)]
struct Cost {
    seconds: f64,
    /// Memory that the filter has used.
    used_mib: f64,
}

impl Cost {
    /// Observes distinct keys, over memory that was touched before.
    fn of(filter: &str, memory_bits: u64, keys: u64) -> Self {
        let spec: FilterSpec = filter.parse().expect("a filter");
        let filter = AuditedFilter::build(&spec, memory_bits, 0).expect("a filter");
        let mut region = Memory::zeroed(filter.region_bytes()).expect("enough memory");
        region.fill(0);
        let mut registers = Registers::new(1);
        let mut verdicts = vec![Verdict::New; BATCH];
        let mut batch: Vec<Observation> = Vec::with_capacity(BATCH);
        let mut seconds = 0.0;
        let mut next = 0;
        while next < keys {
            let end = keys.min(next + BATCH as u64);
            batch.clear();
            batch.extend((next..end).map(|number| Observation::from(Fingerprint(mixed(number)))));
            let verdicts = &mut verdicts[..batch.len()];
            let started = Instant::now();
            filter.observe_batch(&mut region[..], &mut registers, &batch, verdicts, None);
            seconds += started.elapsed().as_secs_f64();
            next = end;
        }
        let used = filter.filter().used_bytes(&registers);
        Cost {
            seconds,
            used_mib: used as f64 / f64::from(1 << 20),
        }
    }
}

fn print(what: &str, rows: &[(f64, Cost)]) {
    println!(
        "\n{what:<40} {:>10} {:>10} {:>14}",
        "seconds", "ns/key", "used MiB"
    );
    for (size, cost) in rows {
        let keys = match what.ends_with("keys") {
            true => *size,
            false => KEYS as f64,
        };
        println!(
            "{size:>40} {:>10.3} {:>10.2} {:>14.1}",
            cost.seconds,
            1e9 * cost.seconds / keys,
            cost.used_mib
        );
    }
    let seconds = exponent(rows.iter().map(|(size, cost)| (*size, cost.seconds)));
    let memory = exponent(rows.iter().map(|(size, cost)| (*size, cost.used_mib)));
    println!(
        "{:>40} {seconds:>10.2} {:>10} {memory:>14.2}",
        "exponent", ""
    );
}

/// Returns the slope of the line through the logarithms. Values of 0 are left out.
fn exponent(points: impl Iterator<Item = (f64, f64)>) -> f64 {
    let points: Vec<(f64, f64)> = points
        .filter(|point| point.1 > 0.0)
        .map(|(x, y)| (x.ln(), y.ln()))
        .collect();
    let count = points.len() as f64;
    let mean_x = points.iter().map(|point| point.0).sum::<f64>() / count;
    let mean_y = points.iter().map(|point| point.1).sum::<f64>() / count;
    let products = points.iter().map(|(x, y)| (x - mean_x) * (y - mean_y));
    let squares = points.iter().map(|(x, _)| (x - mean_x).powi(2));
    products.sum::<f64>() / squares.sum::<f64>()
}

/// The finalizer of SplitMix64.
fn mixed(number: u64) -> u64 {
    let z = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Returns the memory that is available; 0 where the system does not tell.
fn available_mib() -> u64 {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let found = text
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"));
    let kib = found.and_then(|text| text.trim().trim_end_matches(" kB").parse::<u64>().ok());
    kib.unwrap_or(0) >> 10
}
