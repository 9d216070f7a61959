//! A writer that uses the library, killed at random moments, against the promise of the
//! store: acknowledged ≤ recovered ≤ appended, and the state is exactly that of the prefix.
//!
//! `DEDUPSTORE_OBSERVATIONS` and `DEDUPSTORE_KILLS` make it longer.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use dedupstore::rng::Generator;
use dedupstore::store::{CreateOptions, Durability, OpenOptions, Store};
use dedupstore::{KeyHasher, Observation, Verdict, state_digest};

use super::{place, setting};

const FILTER: &str = "stable:k=3,p=10,max=3";
const MEMORY_BITS: u64 = 8 << 20;
const SEED: u64 = 5;
/// How the writer, which is this very program, is told what to do.
const STORE: &str = "DEDUPSTORE_WRITER_STORE";
const EVERY: &str = "DEDUPSTORE_WRITER_EVERY";
const OBSERVATIONS: &str = "DEDUPSTORE_OBSERVATIONS";
const KILLS: &str = "DEDUPSTORE_KILLS";

fn observations() -> u64 {
    setting(OBSERVATIONS, 1_000_000)
}

/// The numbered stream: some keys come often, most once.
fn observation(number: u64) -> Observation {
    let key = (number * number) % (number / 2 + 101);
    KeyHasher::new(SEED).fingerprint(&key.to_le_bytes()).into()
}

/// Not a test by itself: what the campaign starts and kills.
#[test]
fn writer() {
    let Some(path) = std::env::var_os(STORE) else {
        return;
    };
    let durability = match std::env::var_os(EVERY) {
        Some(_) => Durability::Every,
        None => Durability::Interval(Duration::from_millis(10)),
    };
    let opening = OpenOptions {
        durability,
        ..OpenOptions::default()
    };
    let mut store = Store::open(Path::new(&path), opening).expect("opened");
    let mut output = std::io::stdout().lock();
    let mut say = |word: &str, number: u64| {
        writeln!(output, "\n{word} {number}").expect("heard");
        output.flush().expect("heard");
    };
    say("recovered", store.sequence());
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
            say("acknowledged", acknowledged);
        }
    }
    store.close().expect("closed");
    say("acknowledged", end);
}

fn start_writer(path: &Path, every: bool) -> Child {
    let this = std::env::current_exe().expect("this program");
    let mut command = Command::new(this);
    command
        .args(["--exact", "processes::campaign::writer", "--nocapture"])
        .env(STORE, path)
        .stdout(Stdio::piped());
    if every {
        command.env(EVERY, "1");
    }
    command.spawn().expect("started")
}

/// Starts a writer, kills it soon after it has acknowledged `target`, and returns what it
/// acknowledged last.
fn one_life(path: &Path, every: bool, target: u64, delay: Duration) -> u64 {
    let mut child = start_writer(path, every);
    let acknowledged = Arc::new(AtomicU64::new(0));
    let heard = Arc::clone(&acknowledged);
    let stdout = BufReader::new(child.stdout.take().expect("piped"));
    let listener = std::thread::spawn(move || {
        for line in stdout.lines() {
            let line = line.expect("text");
            // Only whole lines count; the last one may be torn, and is not longer for it.
            let number = line
                .split_once(' ')
                .filter(|(word, _)| ["recovered", "acknowledged"].contains(word))
                .and_then(|(_, number)| number.parse().ok());
            heard.fetch_max(number.unwrap_or(0), Ordering::AcqRel);
        }
    });
    while acknowledged.load(Ordering::Acquire) < target
        && child.try_wait().expect("known").is_none()
    {
        std::thread::sleep(Duration::from_micros(100));
    }
    std::thread::sleep(delay);
    child.kill().expect("killed");
    child.wait().expect("ended");
    listener.join().expect("heard");
    acknowledged.load(Ordering::Acquire)
}

#[test]
fn what_was_acknowledged_survives_every_kill() {
    let (_directory, path) = place();
    let (observations, kills) = (observations(), setting(KILLS, 20));
    let mut create = CreateOptions::new(FILTER.parse().expect("a filter"), MEMORY_BITS);
    create.seed = Some(SEED);
    create.log_bytes = Some(64 << 10);
    let quiet = OpenOptions {
        durability: Durability::None,
        ..OpenOptions::default()
    };
    drop(Store::create(&path, &create, quiet).expect("made"));
    let random = Generator::from_seed(3);
    let (mut replayed, mut torn) = (0, 0);
    for kill in 0..kills {
        let step = observations / (kills + 1);
        // One in five is killed while it opens the store.
        let target = match kill % 5 {
            4 => 0,
            _ => step * kill + random.draw(2 * kill) % step,
        };
        let delay = Duration::from_micros(random.draw(2 * kill + 1) % 15_000);
        let acknowledged = one_life(&path, kill % 2 == 0, target, delay);
        let store = Store::open(&path, quiet).expect("no damage");
        assert!(
            store.sequence() >= acknowledged,
            "{acknowledged} were acknowledged, {} recovered",
            store.sequence()
        );
        replayed += store.recovery().replayed;
        torn += u64::from(store.recovery().torn.is_some());
    }
    one_life(&path, false, u64::MAX, Duration::ZERO);
    eprintln!("{kills} kills, {replayed} observations replayed, {torn} torn tails");

    let store = Store::open(&path, quiet).expect("whole");
    assert_eq!(store.sequence(), observations);
    assert_eq!(store.recovery().replayed, 0, "the last one closed it");
    let spec = FILTER.parse().expect("a filter");
    let mut set = CreateOptions::new(spec, MEMORY_BITS)
        .in_memory(SEED)
        .expect("memory");
    for number in 0..observations {
        set.observe_one(observation(number));
    }
    assert_eq!(
        state_digest(store.region(), store.registers()),
        state_digest(set.region(), set.registers())
    );
}
