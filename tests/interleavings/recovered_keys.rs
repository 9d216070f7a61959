//! What must be recovered of the keys of several clients, whose order is not known.

use std::ops::RangeInclusive;

use dedupstore::store::CreateOptions;
use dedupstore::{Fingerprint, state_digest};
use dedupstore_tests::crash::Failure;
use dedupstore_tests::crash::session::INLINE;
use dedupstore_tests::crash::simulated_medium::{Disk, SimulatedMedium};

/// The keys that one client has observed in one store, in order. No other client has them.
pub struct KeysOfClient<'a> {
    /// The keys, and the place of each among those that `known` counts.
    pub keys: Vec<(u64, &'a Fingerprint)>,
    /// How many keys must be recovered at least and at most.
    pub known: RangeInclusive<u64>,
}

/// Checks that a store recovers a prefix of each client's keys, with all that must be, and exactly
/// the state that these keys give.
pub fn check(disk: Disk, options: &CreateOptions, clients: &[KeysOfClient]) -> Result<(), Failure> {
    let failed = |message: &str| Err(Failure(message.to_owned()));
    let store = INLINE.open_on(SimulatedMedium::holding(disk));
    let store = store.map_err(|error| Failure(format!("opening failed: {error}")))?;
    let model = options.in_memory();
    let mut model = model.map_err(|error| Failure(error.to_string()))?;
    for KeysOfClient { keys, known } in clients {
        let mut missing = false;
        for &(place, &key) in keys {
            let found = store.contains_fingerprint(key).is_seen();
            if found && missing {
                return failed("a key is recovered, and one before it is not");
            }
            missing |= !found;
            if missing && place < *known.start() {
                return failed("an acknowledged key is lost");
            }
            if found && place >= *known.end() {
                return failed("a key is there that nobody observed");
            }
            if found {
                model.observe_one(key.into());
            }
        }
    }
    let found = state_digest(store.region(), store.registers());
    match found == state_digest(model.region(), model.registers()) {
        true => Ok(()),
        false => failed("the state is not that of the recovered keys"),
    }
}
