//! Measures the cost of the audit, for a filter in memory.
//!
//! The audit's share of sampled keys shrinks along the stream, so it costs most at the start; the
//! cost is printed per interval. The plain and the audited filter take the same keys in turn, one
//! block at a time, over memory that was touched before. The whole is run several times, because
//! other load on the machine disturbs some blocks in each run. A block does the same work in each
//! run, so its shortest time counts.

use std::time::{Duration, Instant};

use dedupstore::audit::AuditedFilter;
use dedupstore::{FilterSpec, Memory, Observation, Registers, Verdict};

use super::measure::{BATCH, Keys, filters, verdict};

const FILTERS: [&str; 4] = ["blocked:k=4,cap=70", "bloom:k=4", "rlbsbf", "stable"];
/// The ends of the intervals, in keys. The last interval runs only with `long`.
const INTERVALS: [u64; 3] = [10_000_000, 100_000_000, 1_000_000_000];
const RUNS: usize = 5;
/// Keys that one filter takes before the other takes its turn.
const BLOCK: u64 = 4 * BATCH as u64;
const TARGET: f64 = 0.03;

pub fn run(size_mib: u64) {
    let has = |word: &str| std::env::args().any(|argument| argument == word);
    let intervals = match (has("short"), has("long")) {
        (true, _) => &INTERVALS[..1],
        (false, false) => &INTERVALS[..2],
        (false, true) => &INTERVALS[..],
    };
    println!("\nAudit, {size_mib} MiB; ns/key by interval");
    println!(
        "{:<12} {:>22} {:>9} {:>9} {:>8} {:>18}   target {:.0} % in total",
        "",
        "keys",
        "plain",
        "audited",
        "cost",
        "total cost",
        100.0 * TARGET,
    );
    for filter in filters(&FILTERS) {
        compare(&filter, size_mib << 23, intervals);
    }
}

fn compare(filter: &str, memory_bits: u64, intervals: &[u64]) {
    let spec: FilterSpec = filter.parse().expect("a filter");
    let audit_bytes = AuditedFilter::default_audit_bytes(memory_bits);
    let mut sets = [0, audit_bytes].map(|bytes| Set::new(&spec, memory_bits, bytes));
    let mut least: Vec<[Duration; 2]> = Vec::new();
    // The longest interval runs once: it has many blocks.
    for run in 0..RUNS {
        let length = match run {
            0 => intervals[intervals.len() - 1],
            _ => *intervals.get(1).unwrap_or(&intervals[0]),
        };
        sets.iter_mut().for_each(Set::clear);
        let mut keys = Keys::new();
        for block in 0..(length / BLOCK) as usize {
            let observations = keys.next_batch(BLOCK as usize);
            let mut spent = [Duration::ZERO; 2];
            for turn in [block % 2, 1 - block % 2] {
                spent[turn] = sets[turn].timed(observations);
            }
            match least.get_mut(block) {
                Some(least) => (0..2).for_each(|it| least[it] = least[it].min(spent[it])),
                None => least.push(spent),
            }
        }
    }
    let mut from = 0;
    let mut all = [0.0; 2];
    for &to in intervals {
        let blocks = (from / BLOCK) as usize..(to / BLOCK) as usize;
        let keys = blocks.len() as f64 * BLOCK as f64;
        let nanoseconds = [0, 1].map(|it| {
            let spent: Duration = least[blocks.clone()].iter().map(|both| both[it]).sum();
            1e9 * spent.as_secs_f64()
        });
        (0..2).for_each(|it| all[it] += nanoseconds[it]);
        let cost = |[plain, audited]: [f64; 2]| audited / plain - 1.0;
        println!(
            "{filter:<12} {:>22} {:>9.2} {:>9.2} {:>6.1} % {:>16.1} %   {}",
            format!("{from}-{to}"),
            nanoseconds[0] / keys,
            nanoseconds[1] / keys,
            100.0 * cost(nanoseconds),
            100.0 * cost(all),
            verdict(cost(all) < TARGET),
        );
        from = to;
    }
}

/// A filter over memory that was touched before.
struct Set {
    filter: AuditedFilter,
    region: Memory,
    registers: Registers,
    verdicts: Vec<Verdict>,
}

impl Set {
    fn new(spec: &FilterSpec, memory_bits: u64, audit_bytes: u32) -> Self {
        let filter = AuditedFilter::build(spec, memory_bits, audit_bytes).expect("a filter");
        let region = Memory::zeroed(filter.region_bytes()).expect("enough memory");
        Set {
            filter,
            region,
            registers: Registers::new(1),
            verdicts: vec![Verdict::New; BATCH],
        }
    }

    fn clear(&mut self) {
        self.region.fill(0);
        self.registers = Registers::new(1);
    }

    fn timed(&mut self, observations: &[Observation]) -> Duration {
        let started = Instant::now();
        for batch in observations.chunks(BATCH) {
            let verdicts = &mut self.verdicts[..batch.len()];
            let region = &mut self.region[..];
            self.filter
                .observe_batch(region, &mut self.registers, batch, verdicts, None);
        }
        started.elapsed()
    }
}
