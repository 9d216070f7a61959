//! The rate that a store sustains, beside the same filter in memory only.
//!
//! A round is as many keys as make two checkpoints, so that logging, syncing and writing
//! images all come in the proportion in which they always come.

use std::time::Duration;

use dedupstore::store::Store;
use dedupstore::{AnyFilter, SeenSet, Verdict};

use super::measure::{
    BATCH, Keys, feed, filters, median, millions, opening, place, process_time, store_options,
    verdict, wait_for_checkpoint,
};

const ROUNDS: usize = 3;
const CHECKPOINTS_A_ROUND: u64 = 2;
const FILTERS: [&str; 4] = ["blocked", "bloom:k=4", "stable", "rlbsbf"];
const TARGET: f64 = 0.8;

pub fn run(size_mib: u64) {
    println!("\nSustained rate, durable every second, {size_mib} MiB; millions of keys a second");
    println!(
        "{:<12} {:>10} {:>10} {:>8} {:>12} {:>12} {:>8}   target {TARGET}",
        "", "memory", "store", "ratio", "memory, cpu", "store, cpu", "ratio",
    );
    let making = Keys::processor_cost();
    for filter in filters(&FILTERS) {
        compare(&filter, size_mib, making);
    }
}

fn compare(filter: &str, size_mib: u64, making: Duration) {
    let directory = place();
    let options = store_options(filter, size_mib);
    let log_bytes = options.layout().expect("sizes").log_bytes;
    let filter_of = AnyFilter::build(&options.filter, options.memory_bits).expect("a filter");
    // A checkpoint begins when seven eighths of the log are used, at 8 bytes a key, or for
    // three keys in ten and a bit for each.
    let bits_a_key = match filter_of.seen_leaves_no_trace() {
        true => 64 * 3 / 10 + 1,
        false => 64,
    };
    let count = CHECKPOINTS_A_ROUND * (log_bytes / 8 * 7 * 8 / bits_a_key);
    let path = directory.path().join("sustained.dds");
    let mut store = Store::create(path, &options, opening()).expect("made");
    let mut set = SeenSet::in_memory(&options.filter, options.memory_bits, 1).expect("memory");
    let (mut store_keys, mut set_keys) = (Keys::new(), Keys::new());
    let (mut walls, mut processors) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let mut verdicts = vec![Verdict::New; BATCH];
        let before = process_time();
        let set_wall = set_keys.timed(count, |batch| {
            set.observe_batch(batch, &mut verdicts[..batch.len()]);
        });
        let between = process_time();
        let store_wall = feed(&mut store, &mut store_keys, count);
        // The last checkpoint's processor time is the store's too; waiting for it is idle.
        wait_for_checkpoint(&mut store);
        let after = process_time();
        let made = making * count as u32;
        walls.push((millions(count, set_wall), millions(count, store_wall)));
        processors.push((
            millions(count, (between - before).saturating_sub(made)),
            millions(count, (after - between).saturating_sub(made)),
        ));
    }
    let ratio = |pairs: &[(f64, f64)]| median(pairs.iter().map(|(set, store)| store / set));
    println!(
        "{filter:<12} {:>10.1} {:>10.1} {:>8.2} {:>12.1} {:>12.1} {:>8.2}   {}",
        median(walls.iter().map(|pair| pair.0)),
        median(walls.iter().map(|pair| pair.1)),
        ratio(&walls),
        median(processors.iter().map(|pair| pair.0)),
        median(processors.iter().map(|pair| pair.1)),
        ratio(&processors),
        verdict(ratio(&walls) >= TARGET),
    );
}
