//! The worst wait of a small batch while a checkpoint is written.

use std::time::{Duration, Instant};

use dedupstore::Verdict;
use dedupstore::store::Store;

use super::measure::{
    Keys, feed, is_valid, milliseconds, opening, place, store_options, thread_time, verdict,
};

const BATCH: usize = 1000;
const FILTERS: [&str; 3] = ["blocked", "bloom:k=4", "stable"];
const TARGET: Duration = Duration::from_millis(50);

pub fn run(size_mib: u64) {
    println!(
        "\nBatches of {BATCH} while a checkpoint of {size_mib} MiB is written; milliseconds, \
         worst and 99.9 %"
    );
    println!(
        "{:<12} {:>9} {:>10} {:>9} {:>9} {:>9} {:>9}   target {} of cpu at worst",
        "",
        "batches",
        "seconds",
        "wall",
        "99.9 %",
        "cpu",
        "99.9 %",
        milliseconds(TARGET),
    );
    for filter in FILTERS {
        stall(filter, size_mib);
    }
}

fn stall(filter: &str, size_mib: u64) {
    let directory = place();
    let path = directory.path().join("stall.dds");
    let mut options = store_options(filter, size_mib);
    // Large enough for no checkpoint to begin by itself.
    options.log_bytes = Some(1 << 30);
    let mut store = Store::create(&path, &options, opening()).expect("made");
    let mut keys = Keys::new();
    feed(&mut store, &mut keys, 5_000_000);
    store.sync().expect("synced");
    let mut verdicts = [Verdict::New; BATCH];
    let (mut walls, mut processors) = (Vec::new(), Vec::new());
    let image = path.join("image.1");
    let started = Instant::now();
    store.begin_checkpoint().expect("begun");
    while !is_valid(&image) {
        let batch = keys.next_batch(BATCH);
        let (wall, processor) = (Instant::now(), thread_time());
        store.observe_batch(batch, &mut verdicts).expect("observed");
        processors.push(thread_time() - processor);
        walls.push(wall.elapsed());
    }
    let lasted = started.elapsed();
    let (wall, wall_most) = worst(&mut walls);
    let (processor, processor_most) = worst(&mut processors);
    println!(
        "{filter:<12} {:>9} {:>10.1} {:>9.1} {:>9.1} {:>9.1} {:>9.1}   {}",
        walls.len(),
        lasted.as_secs_f64(),
        milliseconds(wall),
        milliseconds(wall_most),
        milliseconds(processor),
        milliseconds(processor_most),
        verdict(processor < TARGET),
    );
}

fn worst(spent: &mut [Duration]) -> (Duration, Duration) {
    spent.sort();
    let last = spent.len() - 1;
    (spent[last], spent[last - spent.len() / 1000])
}
