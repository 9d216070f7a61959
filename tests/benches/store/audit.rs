//! What knowing its own error costs a filter, in memory, where nothing else is paid for.
//!
//! The sample is a share of the keys met, so the audit costs most at the start and less the
//! longer a stream is; rounds follow each other on one stream.

use std::time::Duration;

use dedupstore::audit::AuditedFilter;
use dedupstore::{FilterSpec, SeenSet, Verdict};

use super::measure::{BATCH, Keys, filters, median, millions, verdict};

const ROUNDS: usize = 9;
const KEYS_A_ROUND: u64 = 10_000_000;
const FILTERS: [&str; 3] = ["blocked", "bloom:k=4", "stable"];
const TARGET: f64 = 0.97;

pub fn run(size_mib: u64) {
    println!(
        "\nAudited, {size_mib} MiB; millions of keys a second, rounds of {KEYS_A_ROUND} of one stream"
    );
    println!(
        "{:<12} {:>10} {:>10} {:>12} {:>12} {:>8}   target {TARGET}",
        "", "plain", "audited", "first round", "last round", "median",
    );
    for filter in filters(&FILTERS) {
        compare(&filter, size_mib << 23);
    }
}

fn compare(filter: &str, memory_bits: u64) {
    let spec: FilterSpec = filter.parse().expect("a filter");
    let audit_bytes = AuditedFilter::default_audit_bytes(memory_bits);
    let mut plain = SeenSet::in_memory(&spec, memory_bits, 1).expect("memory");
    let mut audited = SeenSet::audited(&spec, memory_bits, 1, audit_bytes).expect("memory");
    let (mut plain_keys, mut audited_keys) = (Keys::new(), Keys::new());
    let mut rates = Vec::new();
    for round in 0..ROUNDS {
        let mut one = || timed(&mut plain, &mut plain_keys);
        let mut other = || timed(&mut audited, &mut audited_keys);
        let (plain, audited) = match round % 2 {
            0 => (one(), other()),
            _ => {
                let audited = other();
                (one(), audited)
            }
        };
        rates.push((
            millions(KEYS_A_ROUND, plain),
            millions(KEYS_A_ROUND, audited),
        ));
    }
    let ratio = |(plain, audited): &(f64, f64)| audited / plain;
    let middle = median(rates.iter().map(ratio));
    println!(
        "{filter:<12} {:>10.1} {:>10.1} {:>12.3} {:>12.3} {:>8.3}   {}",
        median(rates.iter().map(|pair| pair.0)),
        median(rates.iter().map(|pair| pair.1)),
        rates.first().map_or(0.0, ratio),
        rates.last().map_or(0.0, ratio),
        middle,
        verdict(middle >= TARGET),
    );
}

fn timed(set: &mut SeenSet, keys: &mut Keys) -> Duration {
    let mut verdicts = vec![Verdict::New; BATCH];
    keys.timed(KEYS_A_ROUND, |batch| {
        set.observe_batch(batch, &mut verdicts[..batch.len()]);
    })
}
