//! Opening a store that was not closed: the log is replayed.

use std::time::Instant;

use dedupstore::store::Store;

use super::measure::{
    Keys, feed, filters, median, millions, opening, place, process_time, store_options, verdict,
};

const ROUNDS: usize = 3;
const FILTERS: [&str; 3] = ["bloom:k=4", "stable", "rlbsbf"];
const TARGET: f64 = 10.0;

pub fn run(size_mib: u64) {
    println!("\nRecovery of {size_mib} MiB, with the opening of its image; medians of {ROUNDS}");
    println!(
        "{:<12} {:>12} {:>12} {:>12} {:>12} {:>12}   target {TARGET} M/s replayed",
        "", "million", "clean s", "replaying s", "M/s", "M/s of cpu",
    );
    for filter in filters(&FILTERS) {
        recover(&filter, size_mib);
    }
}

fn recover(filter: &str, size_mib: u64) {
    let directory = place();
    let path = directory.path().join("recovery.dds");
    let options = store_options(filter, size_mib);
    let log_bytes = options.layout().expect("sizes").log_bytes;
    // Short of the checkpoint that would empty the log, at eight bytes a key at the most.
    let count = log_bytes / 8 * 7 / 10;
    let mut store = Store::create(&path, &options, opening()).expect("made");
    let mut keys = Keys::new();
    store.close().expect("closed");
    let (mut clean, mut whole, mut rates, mut processors) = (vec![], vec![], vec![], vec![]);
    for _ in 0..ROUNDS {
        let (wall, processor) = (Instant::now(), process_time());
        store = Store::open(&path, opening()).expect("opened");
        let (clean_wall, clean_processor) = (wall.elapsed(), process_time() - processor);
        feed(&mut store, &mut keys, count);
        drop(store);
        let (wall, processor) = (Instant::now(), process_time());
        store = Store::open(&path, opening()).expect("recovered");
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
