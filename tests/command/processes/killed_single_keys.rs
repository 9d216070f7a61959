//! Kills a writer that observes and claims one key per call. Every call that has returned must
//! survive, synced or not.
//!
//! `DEDUPSTORE_KILLS` makes the test longer.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use dedupstore::rng::Generator;
use dedupstore::store::{Claim, CreateOptions, Durability, OpenOptions};
use dedupstore::{KeyHasher, state_digest};

use super::{setting, store_path};

const FILTER: &str = "stable:k=3,p=10,max=3";
const SEED: u64 = 5;
/// The environment variable that names the store of the writer, which is this program.
const STORE: &str = "DEDUPSTORE_SINGLE_STORE";

fn options() -> CreateOptions {
    // A log takes 5000 keys, so that there are many checkpoints and moves of the window.
    let options = CreateOptions::new(FILTER).expect("a filter");
    options.memory_bits(1 << 20).seed(SEED).log_size(256 << 10)
}

/// Returns a key of the stream: some occur often, most once.
fn key(number: u64) -> [u8; 8] {
    ((number * number) % (number / 2 + 101)).to_le_bytes()
}

/// Not a test: the process that the test below starts and kills. After each call that has
/// returned, it writes the number of observations to a file.
#[test]
fn writer() {
    let Some(path) = std::env::var_os(STORE) else {
        return;
    };
    let path = Path::new(&path);
    let opening = OpenOptions::new().durability(Durability::Interval(Duration::from_millis(5)));
    let mut store = opening.open(path).expect("opened");
    let returned = File::create(path.with_extension("returned")).expect("created");
    loop {
        let key = key(store.sequence());
        match store.sequence() % 3 {
            0 => match store.claim(key) {
                Claim::New(ticket) => store.commit(ticket).expect("committed"),
                Claim::Seen | Claim::Pending => drop(store.observe(key).expect("observed")),
            },
            _ => drop(store.observe(key).expect("observed")),
        }
        let count = store.sequence().to_le_bytes();
        returned.write_all_at(&count, 0).expect("written");
    }
}

#[test]
fn single_keys_survive_every_kill_once_their_calls_have_returned() {
    let (_directory, path) = store_path();
    let without_sync = OpenOptions::new().durability(Durability::None);
    drop(without_sync.create(&path, &options()).expect("created"));
    let mut set = options().in_memory().expect("memory");
    let (random, hasher) = (Generator::from_seed(8), KeyHasher::new(SEED));
    let kills = setting("DEDUPSTORE_KILLS", 12);
    let (mut observed, mut torn) = (0, 0);
    for kill in 0..kills {
        let mut child = Command::new(std::env::current_exe().expect("this program"))
            .args(["--exact", "processes::killed_single_keys::writer"])
            .env(STORE, &path)
            .stdout(Stdio::null())
            .spawn()
            .expect("started");
        let returned = path.with_extension("returned");
        while fs::metadata(&returned).map_or(0, |file| file.len()) < 8 {
            assert!(child.try_wait().expect("status").is_none(), "it ended");
            std::thread::sleep(Duration::from_micros(100));
        }
        std::thread::sleep(Duration::from_micros(random.draw(kill) % 40_000));
        child.kill().expect("killed");
        child.wait().expect("ended");
        let count = fs::read(&returned).expect("the number of calls");
        let count = u64::from_le_bytes(count.try_into().expect("eight bytes"));
        fs::remove_file(&returned).expect("removed");

        let store = without_sync.open(&path).expect("opened");
        // The last call may have written its key and not returned.
        let recovered = store.sequence();
        assert!(
            (count..=count + 1).contains(&recovered),
            "{count} calls returned, {recovered} keys recovered"
        );
        for number in observed..recovered {
            set.observe_one(hasher.fingerprint(&key(number)).into());
        }
        observed = recovered;
        torn += u64::from(store.recovery().torn.is_some());
        assert_eq!(
            state_digest(store.region(), store.registers()),
            state_digest(set.region(), set.registers()),
            "after {recovered} keys"
        );
    }
    eprintln!("{kills} kills, {observed} keys, {torn} torn tails");
    assert!(observed > 1000 * kills, "{observed} keys are too few");
}
