//! Compares two threads with one, and with the usual way to share a filter: 64 locks.

use std::time::Instant;

use dedupstore::{FilterSpec, SeenSetBuilder, Verdict};

use super::contenders::{locked_split_blocks, with_threads};
use super::keys::{KEYS_PER_ROUND, urls_of_round};
use super::rounds::{Times, interleaved};

/// Row-local filters; the first is the default.
const FILTERS: [&str; 5] = [
    "blocked:k=6,cap=85",
    "blocked:k=4,cap=70",
    "slot:values=7",
    "word:bits=8,insert=4,hit=front",
    "recent:bits=12,insert=0",
];

pub fn compare(size_mib: u64, rounds: usize) {
    let memory_bits = size_mib << 23;
    let mut contenders = vec![locked_split_blocks(memory_bits)];
    for filter in FILTERS {
        let spec: FilterSpec = filter.parse().expect("a filter");
        contenders.extend([1, 2].map(|threads| with_threads(&spec, memory_bits, threads)));
    }
    let times = interleaved(&mut contenders, rounds, false);
    println!("\n{size_mib} MiB, two threads, {rounds} rounds of {KEYS_PER_ROUND} hashed keys");
    println!(
        "{:<40} {:>8} {:>8} {:>12} {:>12}",
        "", "ns/key", "minimum", "× one thread", "× 64 locks"
    );
    println!(
        "{:<40} {:>8.2} {:>8.2}",
        contenders[0].name,
        times[0].median(),
        times[0].minimum()
    );
    for (filter, pair) in FILTERS.iter().zip(times[1..].chunks_exact(2)) {
        let (faster, locks) = (pair[0].ratio_to(&pair[1]), times[0].ratio_to(&pair[1]));
        println!(
            "{filter:<40} {:>8.2} {:>8.2} {:>12} {:>12} {}",
            pair[1].median(),
            pair[1].minimum(),
            format!("{faster:.2} faster"),
            format!("{locks:.2} faster"),
            if faster < 1.0 || locks < 1.0 {
                "slower"
            } else {
                ""
            },
        );
    }
}

/// Compares two threads that hash and observe URLs of 64 bytes with one.
pub fn compare_urls(size_mib: u64, rounds: usize) {
    let mut sets = Vec::new();
    for filter in FILTERS {
        let spec: FilterSpec = filter.parse().expect("a filter");
        sets.extend([1, 2].map(|threads| {
            let builder = SeenSetBuilder::new(&spec).memory_bits(size_mib << 23);
            let builder = builder.threads(threads).seed(1);
            builder.build().expect("enough memory")
        }));
    }
    let mut times = vec![Times::default(); sets.len()];
    let mut verdicts = vec![Verdict::New; KEYS_PER_ROUND];
    for round in 0..rounds {
        let urls = urls_of_round(round as u64);
        for i in 0..sets.len() {
            let which = (i + round) % sets.len();
            let started = Instant::now();
            sets[which].observe_keys(&urls, &mut verdicts);
            times[which].add(started, KEYS_PER_ROUND);
        }
    }
    println!(
        "\n{size_mib} MiB, {rounds} rounds of {KEYS_PER_ROUND} URLs of 64 bytes, hashing included"
    );
    println!(
        "{:<40} {:>8} {:>12} {:>12}",
        "ns/key", "1 thread", "2 threads", "× one thread"
    );
    for (filter, pair) in FILTERS.iter().zip(times.chunks_exact(2)) {
        println!(
            "{filter:<40} {:>8.2} {:>12.2} {:>12}",
            pair[0].median(),
            pair[1].median(),
            format!("{:.2} faster", pair[0].ratio_to(&pair[1])),
        );
    }
}
