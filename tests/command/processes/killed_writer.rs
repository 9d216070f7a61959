//! Kills a writer that uses the library at random moments and checks the guarantee of the store:
//! acknowledged ≤ recovered ≤ appended, and the state is exactly that of the recovered prefix.
//!
//! `DEDUPSTORE_OBSERVATIONS` and `DEDUPSTORE_KILLS` make the test longer.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use dedupstore::rng::Generator;
use dedupstore::store::{CreateOptions, Durability, OpenOptions};
use dedupstore::{KeyHasher, Observation, Verdict, state_digest};

use super::{setting, store_path};

const FILTER: &str = "stable:k=3,p=10,max=3";
const MEMORY_BITS: u64 = 8 << 20;
const SEED: u64 = 5;
/// The environment variables that configure the writer, which is this program.
const STORE: &str = "DEDUPSTORE_WRITER_STORE";
const EVERY: &str = "DEDUPSTORE_WRITER_EVERY";
const OBSERVATIONS: &str = "DEDUPSTORE_OBSERVATIONS";
const KILLS: &str = "DEDUPSTORE_KILLS";

fn observations() -> u64 {
    setting(OBSERVATIONS, 1_000_000)
}

/// Returns an observation of the stream: some keys occur often, most once.
fn observation(number: u64) -> Observation {
    let key = (number * number) % (number / 2 + 101);
    KeyHasher::new(SEED).fingerprint(&key.to_le_bytes()).into()
}

/// Not a test: the process that the test below starts and kills.
#[test]
fn writer() {
    let Some(path) = std::env::var_os(STORE) else {
        return;
    };
    let durability = match std::env::var_os(EVERY) {
        Some(_) => Durability::Every,
        None => Durability::Interval(Duration::from_millis(10)),
    };
    let opening = OpenOptions::new().durability(durability);
    let mut store = opening.open(Path::new(&path)).expect("opened");
    let mut output = std::io::stdout().lock();
    let mut report = |word: &str, number: u64| {
        writeln!(output, "\n{word} {number}").expect("written");
        output.flush().expect("written");
    };
    report("recovered", store.sequence());
    let (end, mut acknowledged) = (observations(), store.durable_sequence());
    while store.sequence() < end {
        let from = store.sequence();
        let to = (from + 1 + from % 2003).min(end);
        let batch: Vec<Observation> = (from..to).map(observation).collect();
        let mut verdicts = vec![Verdict::New; batch.len()];
        store
            .observe_batch(&batch, &mut verdicts)
            .expect("observed");
        if store.durable_sequence() > acknowledged {
            acknowledged = store.durable_sequence();
            report("acknowledged", acknowledged);
        }
    }
    store.close().expect("closed");
    report("acknowledged", end);
}

fn start_writer(path: &Path, every: bool) -> Child {
    let this = std::env::current_exe().expect("this program");
    let mut command = Command::new(this);
    command
        .args(["--exact", "processes::killed_writer::writer", "--nocapture"])
        .env(STORE, path)
        .stdout(Stdio::piped());
    if every {
        command.env(EVERY, "1");
    }
    command.spawn().expect("started")
}

/// Starts a writer and kills it soon after it has acknowledged `target`; returns the last sequence
/// number it acknowledged.
fn start_and_kill(path: &Path, every: bool, target: u64, delay: Duration) -> u64 {
    let mut child = start_writer(path, every);
    let acknowledged = Arc::new(AtomicU64::new(0));
    let reported = Arc::clone(&acknowledged);
    let stdout = BufReader::new(child.stdout.take().expect("piped"));
    let listener = std::thread::spawn(move || {
        for line in stdout.lines() {
            let line = line.expect("text");
            // The last line may be torn; a torn number is smaller than the complete one.
            let number = line
                .split_once(' ')
                .filter(|(word, _)| ["recovered", "acknowledged"].contains(word))
                .and_then(|(_, number)| number.parse().ok());
            reported.fetch_max(number.unwrap_or(0), Ordering::AcqRel);
        }
    });
    while acknowledged.load(Ordering::Acquire) < target
        && child.try_wait().expect("status").is_none()
    {
        std::thread::sleep(Duration::from_micros(100));
    }
    std::thread::sleep(delay);
    child.kill().expect("killed");
    child.wait().expect("ended");
    listener.join().expect("joined");
    acknowledged.load(Ordering::Acquire)
}

#[test]
fn acknowledged_observations_survive_every_kill() {
    let (_directory, path) = store_path();
    let (observations, kills) = (observations(), setting(KILLS, 20));
    let create = CreateOptions::new(FILTER)
        .expect("a filter")
        .memory_bits(MEMORY_BITS)
        .seed(SEED)
        .log_size(64 << 10);
    let without_sync = OpenOptions::new().durability(Durability::None);
    drop(without_sync.create(&path, &create).expect("created"));
    let random = Generator::from_seed(3);
    let (mut replayed, mut torn) = (0, 0);
    for kill in 0..kills {
        let step = observations / (kills + 1);
        // One in five writers is killed while it opens the store.
        let target = match kill % 5 {
            4 => 0,
            _ => step * kill + random.draw(2 * kill) % step,
        };
        let delay = Duration::from_micros(random.draw(2 * kill + 1) % 15_000);
        let acknowledged = start_and_kill(&path, kill % 2 == 0, target, delay);
        let store = without_sync.open(&path).expect("opened");
        assert!(
            store.sequence() >= acknowledged,
            "{acknowledged} were acknowledged, {} recovered",
            store.sequence()
        );
        replayed += store.recovery().replayed;
        torn += u64::from(store.recovery().torn.is_some());
    }
    start_and_kill(&path, false, u64::MAX, Duration::ZERO);
    eprintln!("{kills} kills, {replayed} observations replayed, {torn} torn tails");

    let store = without_sync.open(&path).expect("opened");
    assert_eq!(store.sequence(), observations);
    assert_eq!(
        store.recovery().replayed,
        0,
        "the last writer did not close the store"
    );
    let mut set = CreateOptions::new(FILTER)
        .expect("a filter")
        .memory_bits(MEMORY_BITS)
        .seed(SEED)
        .in_memory()
        .expect("memory");
    for number in 0..observations {
        set.observe_one(observation(number));
    }
    assert_eq!(
        state_digest(store.region(), store.registers()),
        state_digest(set.region(), set.registers())
    );
}
