//! Clocks, keys and directories shared by the sections.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::time::{Duration, Instant};

use dedupstore::store::{CreateOptions, Directory, Durability, OpenOptions, Store};
use dedupstore::{FilterSpec, Fingerprint, Observation, Verdict};
use tempfile::TempDir;

/// Keys per batch: as many as `dedupstore filter` uses.
pub const BATCH: usize = 16_384;
/// The sync interval.
pub const INTERVAL: Duration = Duration::from_secs(1);

/// Returns the filters named on the command line, or the default ones of a section.
pub fn filters(default: &[&'static str]) -> Vec<String> {
    let named: Vec<String> = std::env::args()
        .skip(1)
        .filter(|argument| argument.parse::<FilterSpec>().is_ok())
        .collect();
    match named.is_empty() {
        true => default.iter().map(|&filter| filter.to_owned()).collect(),
        false => named,
    }
}

/// Creates a temporary directory in cargo's target directory.
pub fn temporary_directory() -> TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a temporary directory")
}

/// Returns the options of a store with a fixed seed.
pub fn store_options(filter: &str, size_mib: u64) -> CreateOptions {
    CreateOptions::new(filter)
        .expect("a filter")
        .memory_bits(size_mib << 23)
        .seed(1)
}

/// Returns the default options for opening: synced every second.
pub fn open_options() -> OpenOptions {
    OpenOptions::new().durability(Durability::Interval(INTERVAL))
}

/// Observes `count` keys. The returned time does not include generating them.
pub fn feed(store: &mut Store<Directory>, keys: &mut Keys, count: u64) -> Duration {
    let mut verdicts = vec![Verdict::New; BATCH];
    keys.timed(count, |batch| {
        let verdicts = &mut verdicts[..batch.len()];
        store.observe_batch(batch, verdicts).expect("observed");
    })
}

/// Waits until no checkpoint is running. The store must have completed one before: then both images
/// have a superblock, and a running checkpoint has erased one.
pub fn wait_for_checkpoint(store: &mut Store<Directory>) {
    let images = ["image.0", "image.1"].map(|name| store.medium().path().join(name));
    while !images.iter().all(|path| is_valid(path)) {
        // A checkpoint advances when the store is called.
        store.observe_batch(&[], &mut []).expect("observed");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Returns whether an image has a superblock.
pub fn is_valid(image: &Path) -> bool {
    let mut magic = [0; 8];
    let mut image = File::open(image).expect("an image");
    image.read_exact(&mut magic).expect("readable");
    magic != [0; 8]
}

/// A stream of hashed keys: 30 % are new, the others are random choices among earlier keys.
#[derive(Clone)]
pub struct Keys {
    position: u64,
    known: u64,
    batch: Vec<Observation>,
}

impl Keys {
    pub fn new() -> Self {
        Keys {
            position: 0,
            known: 0,
            batch: Vec::with_capacity(BATCH),
        }
    }

    pub fn next_batch(&mut self, count: usize) -> &[Observation] {
        self.batch.clear();
        for position in self.position..self.position + count as u64 {
            let number = match position % 10 {
                0..3 => {
                    self.known += 1;
                    self.known
                }
                _ => {
                    let choice = u128::from(mixed(!position)) * u128::from(self.known);
                    (choice >> 64) as u64 + 1
                }
            };
            self.batch.push(Fingerprint(mixed(number)).into());
        }
        self.position += count as u64;
        &self.batch
    }

    /// Passes `count` keys to `take` in batches. Returns the time spent in `take`.
    pub fn timed(&mut self, count: u64, mut take: impl FnMut(&[Observation])) -> Duration {
        let mut spent = Duration::ZERO;
        let mut left = count as usize;
        while left > 0 {
            let batch = self.next_batch(left.min(BATCH));
            let started = Instant::now();
            take(batch);
            spent += started.elapsed();
            left -= batch.len();
        }
        spent
    }

    /// Measures the CPU time of generating one key.
    pub fn generation_cost() -> Duration {
        const COUNT: u32 = 20_000_000;
        let mut keys = Keys::new();
        let before = process_time();
        keys.timed(u64::from(COUNT), |batch| {
            std::hint::black_box(batch);
        });
        (process_time() - before) / COUNT
    }
}

/// The finalizer of SplitMix64: mixes consecutive numbers as well as a hash, and is faster.
fn mixed(number: u64) -> u64 {
    let z = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// The CPU time of all threads of this process.
pub fn process_time() -> Duration {
    clock(Clock::Process)
}

/// The CPU time of this thread.
pub fn thread_time() -> Duration {
    clock(Clock::Thread)
}

enum Clock {
    Process,
    Thread,
}

#[cfg(target_os = "linux")]
fn clock(clock: Clock) -> Duration {
    use rustix::time::{ClockId, clock_gettime};
    let time = clock_gettime(match clock {
        Clock::Process => ClockId::ProcessCPUTime,
        Clock::Thread => ClockId::ThreadCPUTime,
    });
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

#[cfg(not(target_os = "linux"))]
fn clock(clock: Clock) -> Duration {
    match clock {
        Clock::Process | Clock::Thread => Duration::ZERO,
    }
}

/// Returns millions per second.
pub fn millions(count: u64, spent: Duration) -> f64 {
    count as f64 / spent.as_secs_f64() / 1e6
}

pub fn milliseconds(spent: Duration) -> f64 {
    spent.as_secs_f64() * 1e3
}

pub fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// The text for a target that is met or missed.
pub fn verdict(met: bool) -> &'static str {
    if met { "met" } else { "MISSED" }
}
