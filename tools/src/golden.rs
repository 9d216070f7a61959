//! Golden states and golden stores: results of this version that later versions must reproduce.
//!
//! Existing ones are never changed. [`add`] creates those of a new filter.

use std::fs::{self, OpenOptions as File};
use std::io::Write;
use std::path::Path;

use dedupstore::filter::Descriptor;
use dedupstore::lab::{StreamSpec, golden_importance, golden_spec, golden_states};
use dedupstore::store::{CreateOptions, OpenOptions};
use dedupstore::{FilterSpec, KeyHasher, Observation, registry};

use crate::root;

/// The seed of golden stores.
pub const SEED: u64 = 11;
/// The memory of golden stores, in bits.
pub const MEMORY_BITS: u64 = 60_000;
const OBSERVATIONS: u64 = 3000;
/// The checkpoint is taken after this observation, so that the rest must be replayed.
const CHECKPOINT_AFTER: usize = 2900;

/// Returns the name of the golden store of a filter.
pub fn store_name(filter: &str) -> String {
    format!("version-1-{filter}.dds")
}

/// Whether a line of the golden states belongs to a filter.
pub fn is_state_of(line: &str, filter: &str) -> bool {
    let name = line.split([':', ' ']).next();
    name == Some(filter)
}

/// Returns the filter of a golden store: its first defaults. A window passes several times.
pub fn store_filter(descriptor: &'static Descriptor) -> FilterSpec {
    let defaults = golden_spec(descriptor);
    defaults.with("span", "600").unwrap_or(defaults)
}

/// Returns the time at which a golden store has observed a key, in seconds since 1970.
pub fn time_of(index: usize) -> u64 {
    1_700_000_000 + index as u64
}

/// Returns the keys that a golden store has observed.
pub fn keys() -> Vec<Vec<u8>> {
    let stream: StreamSpec = "shuffle:60".parse().expect("a stream");
    let mut stream = stream.open(OBSERVATIONS, SEED);
    let mut keys = Vec::new();
    while let Some((key, _)) = stream.next_key() {
        keys.push(key.to_vec());
    }
    keys
}

/// Returns what a golden store has observed of a key.
pub fn observation(hasher: &KeyHasher, index: usize, key: &[u8]) -> Observation {
    let fingerprint = hasher.fingerprint(key);
    Observation {
        fingerprint,
        tick: time_of(index) as u32,
        importance: golden_importance(fingerprint),
    }
}

/// Returns the options of a golden store without an audit and a limit.
pub fn options(spec: &FilterSpec) -> CreateOptions {
    CreateOptions::default()
        .filter(spec)
        .memory_bits(MEMORY_BITS)
        .seed(SEED)
        .log_size(8192)
        .audit(0)
}

/// Creates a golden store.
pub fn create_store(path: &Path, options: &CreateOptions) {
    let opening = OpenOptions::new().threads(false);
    let mut store = opening.create(path, options).expect("created");
    for (i, key) in keys().iter().enumerate() {
        let observation = observation(&store.hasher(), i, key);
        store.observe_one(observation).expect("observed");
        if i == CHECKPOINT_AFTER {
            store.checkpoint().expect("a checkpoint");
        }
    }
    store.sync().expect("durable");
}

/// Appends the golden states of a filter and creates its golden store. Returns an error, and
/// changes nothing, if there are golden files of this filter already.
pub fn add(filter: &str) -> Result<(), String> {
    let Some(descriptor) = registry().iter().find(|it| it.name == filter) else {
        return Err(format!("there is no filter `{filter}`"));
    };
    let states = root().join("fixtures/golden-states.txt");
    let store = root().join("fixtures/stores").join(store_name(filter));
    let text = fs::read_to_string(&states).map_err(|error| error.to_string())?;
    if text.lines().any(|line| is_state_of(line, filter)) || store.exists() {
        return Err(format!(
            "there are golden files of {filter} already, and they must never change; if the \
             filter was never released, remove its lines of {} and the directory {} first",
            states.display(),
            store.display()
        ));
    }
    let mut file = File::new()
        .append(true)
        .open(&states)
        .map_err(|error| error.to_string())?;
    for state in golden_states() {
        let line = state.to_string();
        if is_state_of(&line, filter) {
            writeln!(file, "{line}").map_err(|error| error.to_string())?;
        }
    }
    create_store(&store, &options(&store_filter(descriptor)));
    Ok(())
}
