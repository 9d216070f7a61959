//! Compares the sustained rate of a store with the same filter in memory.
//!
//! A round has enough keys for two checkpoints, so that logging, syncing and writing images have
//! their usual proportions.

use std::time::Duration;

use dedupstore::Verdict;

use super::measure::{
    BATCH, Keys, feed, filters, median, millions, open_options, process_time, store_options,
    temporary_directory, verdict, wait_for_checkpoint,
};

const ROUNDS: usize = 3;
const CHECKPOINTS_PER_ROUND: u64 = 2;
const FILTERS: [&str; 4] = ["blocked:k=4,cap=70", "bloom:k=4", "stable", "rlbsbf"];
const TARGET: f64 = 0.8;

pub fn run(size_mib: u64) {
    println!("\nSustained rate, synced every second, {size_mib} MiB; million keys per second");
    println!(
        "{:<12} {:>10} {:>10} {:>8} {:>12} {:>12} {:>8}   target {TARGET}",
        "", "memory", "store", "ratio", "memory, CPU", "store, CPU", "ratio",
    );
    let generation = Keys::generation_cost();
    for filter in filters(&FILTERS) {
        compare(&filter, size_mib, generation);
    }
}

fn compare(filter: &str, size_mib: u64, generation: Duration) {
    let directory = temporary_directory();
    let options = store_options(filter, size_mib);
    let log_bytes = options.layout().expect("sizes").log_bytes;
    let mut set = options.clone().audit(0).in_memory().expect("enough memory");
    // A checkpoint starts when seven eighths of the log are used. The log takes 64 bits per key; or
    // 64 bits per new key and 1 bit per key, where 30 % are new.
    let bits_per_key = match set.filter().seen_leaves_state_unchanged() {
        true => 64 * 3 / 10 + 1,
        false => 64,
    };
    let count = CHECKPOINTS_PER_ROUND * (log_bytes / 8 * 7 * 8 / bits_per_key);
    let path = directory.path().join("sustained.dds");
    let mut store = open_options().create(path, &options).expect("created");
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
        // The CPU time of the last checkpoint belongs to the store; waiting for it takes none.
        wait_for_checkpoint(&mut store);
        let after = process_time();
        let generated = generation * count as u32;
        walls.push((millions(count, set_wall), millions(count, store_wall)));
        processors.push((
            millions(count, (between - before).saturating_sub(generated)),
            millions(count, (after - between).saturating_sub(generated)),
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
