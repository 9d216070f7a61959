//! Readers beside a writer.

use std::sync::atomic::Ordering;

use dedupstore::store::{KeyLookup, ReadOnlyStore, StoreError, inspect_on};
use dedupstore::{Fingerprint, state_digest};
use dedupstore_tests::crash::Failure;
use dedupstore_tests::crash::session::Model;

use crate::medium::{ReadersMedium, ScheduledMedium};
use crate::one_store::Promises;

/// What a reader saw.
pub struct Sight {
    /// The number of changes that were durable before it looked.
    durable: u64,
    /// The number of changes it saw.
    sequence: u64,
    /// The number of changes that had begun after it looked.
    begun: u64,
    /// The digest of the state, if it read all of it.
    digest: Option<u64>,
}

/// Reads the store in one of the ways that need no lock.
pub fn look(medium: ScheduledMedium, promises: &Promises, number: u64) -> Result<Sight, Failure> {
    let durable = promises.durable();
    let medium = ReadersMedium(medium);
    let seen = match number % 3 {
        0 => read_all(&medium),
        1 => look_up(medium, number / 3),
        _ => inspect_on(&medium).map(|inspection| (inspection.log_sequence, None)),
    };
    let (sequence, digest) = seen.map_err(|error| Failure(format!("a reader failed: {error}")))?;
    Ok(Sight {
        durable,
        sequence,
        begun: promises.begun.load(Ordering::Relaxed),
        digest,
    })
}

fn read_all(medium: &ReadersMedium) -> Result<(u64, Option<u64>), StoreError> {
    let store = ReadOnlyStore::open_on(medium)?;
    let digest = state_digest(store.region(), store.registers());
    Ok((store.registers().sequence(), Some(digest)))
}

fn look_up(medium: ReadersMedium, number: u64) -> Result<(u64, Option<u64>), StoreError> {
    let mut lookup = KeyLookup::open_on(medium)?;
    for key in 0..number % 4 {
        lookup.contains_fingerprint(Fingerprint(number ^ key))?;
    }
    Ok((lookup.registers().sequence(), None))
}

impl Sight {
    /// Checks that the reader saw the state after a prefix of the changes, with all that were
    /// durable.
    pub fn check(&self, model: &Model) -> Result<(), Failure> {
        let Sight {
            durable,
            sequence,
            begun,
            digest,
        } = *self;
        if !(durable..=begun).contains(&sequence) {
            return Err(Failure(format!(
                "a reader saw {sequence} changes, of at least {durable} and at most {begun}"
            )));
        }
        match digest {
            Some(digest) if digest != model.digest_after(sequence) => Err(Failure(format!(
                "a reader saw a state that is not that after {sequence} changes"
            ))),
            _ => Ok(()),
        }
    }
}
