//! The worst wait of a small batch while a checkpoint is written.
//!
//! Where processors are shared with strangers, a thread that does nothing but look into
//! memory waits too. How long, is told by a row without any store: the filter in memory, for
//! as long, beside a thread that writes a file of the same size again and again.

use std::fs::File;
use std::io::{Seek, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use dedupstore::store::Store;
use dedupstore::{Observation, SeenSet, Verdict};

use super::measure::{
    Keys, feed, is_valid, milliseconds, opening, place, store_options, thread_time, verdict,
};

const BATCH: usize = 1000;
/// Keys that are there before.
const FED: u64 = 5_000_000;
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
    feed(&mut store, &mut keys, FED);
    store.sync().expect("synced");
    let image = path.join("image.1");
    store.begin_checkpoint().expect("begun");
    let spent = Spent::during(
        || !is_valid(&image),
        &mut keys,
        |batch, verdicts| store.observe_batch(batch, verdicts).expect("observed"),
    );
    spent.print(filter, verdict(worst(&spent.processors) < TARGET));
    drop(store);
    without_a_store(filter, size_mib, spent.lasted);
}

/// What the machine alone does to such batches.
fn without_a_store(filter: &str, size_mib: u64, lasting: Duration) {
    let options = store_options(filter, size_mib);
    let mut set = SeenSet::in_memory(&options.filter, options.memory_bits, 1).expect("memory");
    let mut keys = Keys::new();
    let mut verdicts = vec![Verdict::New; FED as usize];
    set.observe_batch(keys.next_batch(FED as usize), &mut verdicts);
    let directory = place();
    let mut file = File::create(directory.path().join("file")).expect("a file");
    let ended = AtomicBool::new(false);
    let spent = std::thread::scope(|scope| {
        scope.spawn(|| {
            let piece = vec![1; 64 << 10];
            while !ended.load(Ordering::Relaxed) {
                file.rewind().expect("sought");
                for _ in 0..size_mib << 4 {
                    file.write_all(&piece).expect("written");
                }
            }
        });
        let started = Instant::now();
        let spent = Spent::during(
            || started.elapsed() < lasting,
            &mut keys,
            |batch, verdicts| set.observe_batch(batch, verdicts),
        );
        ended.store(true, Ordering::Relaxed);
        spent
    });
    spent.print("  no store", "");
}

/// What batches took, one by one.
struct Spent {
    lasted: Duration,
    walls: Vec<Duration>,
    processors: Vec<Duration>,
}

impl Spent {
    fn during(
        goes_on: impl Fn() -> bool,
        keys: &mut Keys,
        mut observe: impl FnMut(&[Observation], &mut [Verdict]),
    ) -> Self {
        let mut verdicts = [Verdict::New; BATCH];
        let (mut walls, mut processors) = (Vec::new(), Vec::new());
        let started = Instant::now();
        while goes_on() {
            let batch = keys.next_batch(BATCH);
            let (wall, processor) = (Instant::now(), thread_time());
            observe(batch, &mut verdicts);
            processors.push(thread_time() - processor);
            walls.push(wall.elapsed());
        }
        walls.sort();
        processors.sort();
        Spent {
            lasted: started.elapsed(),
            walls,
            processors,
        }
    }

    fn print(&self, what: &str, verdict: &str) {
        let nearly_worst = |sorted: &[Duration]| sorted[sorted.len() - 1 - sorted.len() / 1000];
        println!(
            "{what:<12} {:>9} {:>10.1} {:>9.1} {:>9.1} {:>9.1} {:>9.1}   {verdict}",
            self.walls.len(),
            self.lasted.as_secs_f64(),
            milliseconds(worst(&self.walls)),
            milliseconds(nearly_worst(&self.walls)),
            milliseconds(worst(&self.processors)),
            milliseconds(nearly_worst(&self.processors)),
        );
    }
}

fn worst(sorted: &[Duration]) -> Duration {
    sorted[sorted.len() - 1]
}
