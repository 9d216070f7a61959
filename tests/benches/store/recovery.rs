//! Measures opening a store that was not closed, which replays the log.

use std::time::Instant;

use super::measure::{
    Keys, feed, filters, median, millions, open_options, process_time, store_options,
    temporary_directory, verdict,
};

const ROUNDS: usize = 3;
const FILTERS: [&str; 3] = ["bloom:k=4", "stable", "rlbsbf"];
const TARGET: f64 = 10.0;

pub fn run(size_mib: u64) {
    println!("\nRecovery of {size_mib} MiB, including reading the image; medians of {ROUNDS}");
    println!(
        "{:<12} {:>12} {:>12} {:>12} {:>12} {:>12}   target {TARGET} M/s replayed",
        "", "M keys", "clean s", "replay s", "M/s", "M/CPU s",
    );
    for filter in filters(&FILTERS) {
        recover(&filter, size_mib);
    }
}

fn recover(filter: &str, size_mib: u64) {
    let directory = temporary_directory();
    let path = directory.path().join("recovery.dds");
    let options = store_options(filter, size_mib);
    let log_bytes = options.layout().expect("sizes").log_bytes;
    // Too few keys, at 8 bytes per key at most, for a checkpoint, which would empty the log.
    let count = log_bytes / 8 * 7 / 10;
    let mut store = open_options().create(&path, &options).expect("created");
    let mut keys = Keys::new();
    store.close().expect("closed");
    let (mut clean, mut whole, mut rates, mut processors) = (vec![], vec![], vec![], vec![]);
    for _ in 0..ROUNDS {
        let (wall, processor) = (Instant::now(), process_time());
        store = open_options().open(&path).expect("opened");
        let (clean_wall, clean_processor) = (wall.elapsed(), process_time() - processor);
        feed(&mut store, &mut keys, count);
        drop(store);
        let (wall, processor) = (Instant::now(), process_time());
        store = open_options().open(&path).expect("recovered");
        let (wall, processor) = (wall.elapsed(), process_time() - processor);
        assert_eq!(store.recovery().replayed, count);
        clean.push(clean_wall.as_secs_f64());
        whole.push(wall.as_secs_f64());
        rates.push(millions(count, wall.saturating_sub(clean_wall)));
        processors.push(millions(count, processor.saturating_sub(clean_processor)));
        store.close().expect("closed");
    }
    let rate = median(rates);
    println!(
        "{filter:<12} {:>12.1} {:>12.2} {:>12.2} {rate:>12.1} {:>12.1}   {}",
        count as f64 / 1e6,
        median(clean),
        median(whole),
        median(processors),
        verdict(rate >= TARGET),
    );
}
