//! Measures the longest time of a small batch while a checkpoint is written.
//!
//! On a shared machine, even a thread that only reads memory is delayed. A row without a store shows
//! by how much: the filter runs in memory for the same time, while another thread repeatedly writes a
//! file of the same size.

use std::fs::File;
use std::io::{Seek, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use dedupstore::{Observation, Verdict};

use super::measure::{
    Keys, feed, is_valid, milliseconds, open_options, store_options, temporary_directory,
    thread_time, verdict,
};

const BATCH: usize = 1000;
/// Keys observed before the measurement.
const INITIAL_KEYS: u64 = 5_000_000;
const FILTERS: [&str; 3] = ["blocked:k=4,cap=70", "bloom:k=4", "stable"];
const TARGET: Duration = Duration::from_millis(50);

pub fn run(size_mib: u64) {
    println!(
        "\nBatches of {BATCH} keys while a checkpoint of {size_mib} MiB is written; ms per batch, \
         maximum and 99.9th percentile"
    );
    println!(
        "{:<12} {:>9} {:>10} {:>9} {:>9} {:>9} {:>9}   target: CPU time at most {} ms",
        "",
        "batches",
        "seconds",
        "wall max",
        "99.9 %",
        "CPU max",
        "99.9 %",
        milliseconds(TARGET),
    );
    for filter in FILTERS {
        stall(filter, size_mib);
    }
}

fn stall(filter: &str, size_mib: u64) {
    let directory = temporary_directory();
    let path = directory.path().join("stall.dds");
    // A log so large that no checkpoint starts by itself.
    let options = store_options(filter, size_mib).log_size(1 << 30);
    let mut store = open_options().create(&path, &options).expect("created");
    let mut keys = Keys::new();
    feed(&mut store, &mut keys, INITIAL_KEYS);
    store.sync().expect("synced");
    let image = path.join("image.1");
    store.begin_checkpoint().expect("begun");
    let spent = BatchTimes::during(
        || !is_valid(&image),
        &mut keys,
        |batch, verdicts| store.observe_batch(batch, verdicts).expect("observed"),
    );
    spent.print(filter, verdict(longest(&spent.processors) < TARGET));
    drop(store);
    without_store(filter, size_mib, spent.lasted);
}

/// Measures the same batches without a store.
fn without_store(filter: &str, size_mib: u64, lasting: Duration) {
    let options = store_options(filter, size_mib);
    let mut set = options.audit(0).in_memory().expect("enough memory");
    let mut keys = Keys::new();
    let mut verdicts = vec![Verdict::New; INITIAL_KEYS as usize];
    set.observe_batch(keys.next_batch(INITIAL_KEYS as usize), &mut verdicts);
    let directory = temporary_directory();
    let mut file = File::create(directory.path().join("file")).expect("a file");
    let ended = AtomicBool::new(false);
    let spent = std::thread::scope(|scope| {
        scope.spawn(|| {
            let piece = vec![1; 64 << 10];
            while !ended.load(Ordering::Relaxed) {
                file.rewind().expect("rewound");
                for _ in 0..size_mib << 4 {
                    file.write_all(&piece).expect("written");
                }
            }
        });
        let started = Instant::now();
        let spent = BatchTimes::during(
            || started.elapsed() < lasting,
            &mut keys,
            |batch, verdicts| set.observe_batch(batch, verdicts),
        );
        ended.store(true, Ordering::Relaxed);
        spent
    });
    spent.print("  no store", "");
}

/// The sorted times of batches.
struct BatchTimes {
    lasted: Duration,
    walls: Vec<Duration>,
    processors: Vec<Duration>,
}

impl BatchTimes {
    fn during(
        continues: impl Fn() -> bool,
        keys: &mut Keys,
        mut observe: impl FnMut(&[Observation], &mut [Verdict]),
    ) -> Self {
        let mut verdicts = [Verdict::New; BATCH];
        let (mut walls, mut processors) = (Vec::new(), Vec::new());
        let started = Instant::now();
        while continues() {
            let batch = keys.next_batch(BATCH);
            let (wall, processor) = (Instant::now(), thread_time());
            observe(batch, &mut verdicts);
            processors.push(thread_time() - processor);
            walls.push(wall.elapsed());
        }
        walls.sort();
        processors.sort();
        BatchTimes {
            lasted: started.elapsed(),
            walls,
            processors,
        }
    }

    fn print(&self, what: &str, verdict: &str) {
        let percentile_99_9 = |sorted: &[Duration]| sorted[sorted.len() - 1 - sorted.len() / 1000];
        println!(
            "{what:<12} {:>9} {:>10.1} {:>9.1} {:>9.1} {:>9.1} {:>9.1}   {verdict}",
            self.walls.len(),
            self.lasted.as_secs_f64(),
            milliseconds(longest(&self.walls)),
            milliseconds(percentile_99_9(&self.walls)),
            milliseconds(longest(&self.processors)),
            milliseconds(percentile_99_9(&self.processors)),
        );
    }
}

fn longest(sorted: &[Duration]) -> Duration {
    sorted[sorted.len() - 1]
}
