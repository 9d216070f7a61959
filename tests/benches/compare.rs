//! Ours beside others', interleaved:
//! `cargo bench -p dedupstore-benches --bench compare [-- SIZE_MIB … NAME …]`.
//!
//! Benchmark libraries run one contender to its end before the next, so a busy moment of
//! a shared machine falls on one of them. Here every round runs every contender on the
//! same keys, and the figure is the median over rounds of the ratio to the yardstick in that
//! very round. The yardstick, `blocked-limit`, is what it costs to change one random line of
//! memory, asked for ahead into the first cache, as is usual. The second row is the least
//! we know it to cost: asked for earlier, and into the second cache.

mod contenders;

use std::time::Instant;

use contenders::{Contender, contenders};
use dedupstore::{KeyHasher, Observation};

const ROUNDS: usize = 25;
const KEYS_A_ROUND: usize = 400_000;

fn main() {
    // Cargo adds an option of its own.
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
            // Another one begins each round, so that none always follows the same.
            let which = (i + round) % contenders.len();
            let spent = timed(&mut contenders[which], &keys);
            nanoseconds[which].push(spent);
        }
    }
    println!(
        "\n{size_mib} MiB, {ROUNDS} rounds of {KEYS_A_ROUND} hashed keys, about two of ten new"
    );
    println!("{:<44} {:>10} {:>14}", "", "ns a key", "× the limit");
    let yardstick = nanoseconds[0].clone();
    for (contender, spent) in contenders.iter().zip(&nanoseconds) {
        let ratios = spent.iter().zip(&yardstick).map(|(own, one)| own / one);
        println!(
            "{:<44} {:>10.1} {:>14.2}",
            contender.name,
            median(spent.iter().copied()),
            median(ratios),
        );
    }
}

fn timed(contender: &mut Contender, keys: &[Observation]) -> f64 {
    let started = Instant::now();
    let new = (contender.observe)(keys);
    let spent = started.elapsed().as_nanos() as f64 / keys.len() as f64;
    std::hint::black_box(new);
    spent
}

/// Some two in ten are new: three in ten come from a stretch of which later rounds repeat a
/// part, the others from all stretches so far.
fn keys_of(round: u64) -> Vec<Observation> {
    let hasher = KeyHasher::new(1);
    let fresh = KEYS_A_ROUND as u64 * 3 / 10;
    (0..KEYS_A_ROUND as u64)
        .map(|i| {
            let number = match i % 10 {
                0..3 => round * fresh + i,
                _ => hasher.fingerprint(&i.to_le_bytes()).0 % ((round + 1) * fresh),
            };
            hasher.fingerprint(&number.to_le_bytes()).into()
        })
        .collect()
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
