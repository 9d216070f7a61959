//! Compares our filters with those of other crates, interleaved:
//! `cargo bench -p dedupstore-benches --bench compare [-- SIZE_MIB … NAME …]`.
//!
//! Benchmark libraries run one contender to its end before the next, so a load peak on a shared
//! machine affects only one of them. Here every round runs every contender on the same keys. The
//! result is the median over rounds of the ratio to the baseline in the same round. The baseline,
//! `blocked-limit`, changes one random cache line per key, prefetched into the L1 cache, as is
//! usual. The second row is the lowest cost that we know: prefetched earlier, into the L2 cache.

mod contenders;

use std::time::Instant;

use contenders::{Contender, contenders};
use dedupstore::{KeyHasher, Observation};

const ROUNDS: usize = 25;
const KEYS_PER_ROUND: usize = 400_000;

fn main() {
    // Cargo adds the option `--bench`.
    let arguments = std::env::args().skip(1).filter(|word| word != "--bench");
    let (numbers, words): (Vec<_>, Vec<_>) =
        arguments.partition(|argument| argument.parse::<u64>().is_ok());
    let mut sizes: Vec<u64> = numbers.iter().flat_map(|number| number.parse()).collect();
    if sizes.is_empty() {
        sizes = vec![1, 256];
    }
    for size_mib in sizes {
        compare(size_mib, &words);
    }
}

fn compare(size_mib: u64, words: &[String]) {
    let mut contenders = contenders(size_mib << 23, words);
    let mut nanoseconds: Vec<Vec<f64>> = vec![Vec::new(); contenders.len()];
    for round in 0..ROUNDS {
        let keys = keys_of(round as u64);
        for i in 0..contenders.len() {
            // Each round starts with another contender, so that none always follows the same one.
            let which = (i + round) % contenders.len();
            let elapsed = ns_per_key(&mut contenders[which], &keys);
            nanoseconds[which].push(elapsed);
        }
    }
    println!("\n{size_mib} MiB, {ROUNDS} rounds of {KEYS_PER_ROUND} hashed keys, about 20 % new");
    println!("{:<44} {:>10} {:>14}", "", "ns/key", "× limit");
    let baseline = nanoseconds[0].clone();
    for (contender, elapsed) in contenders.iter().zip(&nanoseconds) {
        let ratios = elapsed.iter().zip(&baseline).map(|(own, one)| own / one);
        println!(
            "{:<44} {:>10.1} {:>14.2}",
            contender.name,
            median(elapsed.iter().copied()),
            median(ratios),
        );
    }
}

fn ns_per_key(contender: &mut Contender, keys: &[Observation]) -> f64 {
    let started = Instant::now();
    let new = (contender.observe)(keys);
    let elapsed = started.elapsed().as_nanos() as f64 / keys.len() as f64;
    std::hint::black_box(new);
    elapsed
}

/// Returns the keys of a round. About 20 % are new: 30 % come from the range of this round, the
/// others from the ranges of all rounds so far. There are a thousand keys per second.
fn keys_of(round: u64) -> Vec<Observation> {
    let hasher = KeyHasher::new(1);
    let fresh = KEYS_PER_ROUND as u64 * 3 / 10;
    (0..KEYS_PER_ROUND as u64)
        .map(|i| {
            let number = match i % 10 {
                0..3 => round * fresh + i,
                _ => hasher.fingerprint(&i.to_le_bytes()).0 % ((round + 1) * fresh),
            };
            Observation {
                tick: ((round * KEYS_PER_ROUND as u64 + i) / 1000) as u32,
                ..hasher.fingerprint(&number.to_le_bytes()).into()
            }
        })
        .collect()
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
