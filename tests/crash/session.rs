//! A store on a simulated disk, and a model of the state it must have.

use std::ops::RangeInclusive;

use dedupstore::store::{
    CreateOptions, Durability, Medium, OpenOptions, Store, StoreError, StoreFile,
};
use dedupstore::{Fingerprint, Observation, SeenSet, Verdict, state_digest};
use rand::Rng;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::simulated_medium::{Disk, SimulatedMedium};
use super::{FILTERS, Failure, tick_at};

/// An audit of about a dozen keys, so that its sample is halved often.
const AUDIT_BYTES: u32 = 1024;
/// The seed of every store.
pub const SEED: u64 = 77;

/// No threads, so that a seed determines the whole history.
pub const INLINE: OpenOptions = OpenOptions::new()
    .durability(Durability::None)
    .backing(dedupstore::store::Backing::Anonymous)
    .threads(false);

/// A change that a store records.
#[derive(Clone, Copy)]
enum Change {
    Observe(Observation),
    /// Takes a key out that was there.
    Forget(Fingerprint),
}

/// All changes, and the state after every prefix of them.
pub struct Model {
    options: CreateOptions,
    changes: Vec<Change>,
    digests: Vec<u64>,
    set: SeenSet,
    /// Observations that crashes discarded, the oldest last. They may be observed again.
    discarded: Vec<Observation>,
}

impl Model {
    /// Models an empty store.
    pub fn new(options: &CreateOptions) -> Self {
        let set = options.in_memory().expect("small");
        Model {
            options: options.clone(),
            changes: Vec::new(),
            digests: vec![state_digest(set.region(), set.registers())],
            set,
            discarded: Vec::new(),
        }
    }

    /// Returns the number of observations, and of keys taken out.
    pub fn len(&self) -> u64 {
        self.changes.len() as u64
    }

    /// Returns the digest of the state after so many changes.
    pub fn digest_after(&self, changes: u64) -> u64 {
        self.digests[changes as usize]
    }

    /// Returns whether there are no observations.
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// Returns an observation of a key at the next time. Keys differ in importance.
    pub fn next_observation(&self, key: u64) -> Observation {
        Observation {
            fingerprint: Fingerprint(key),
            tick: tick_at(self.len()),
            importance: (key >> 40) as u16 % 60,
        }
    }

    /// Observes, and records the state after it.
    pub fn observe(&mut self, observation: Observation) -> Verdict {
        let verdict = self.set.observe_one(observation);
        self.record(Change::Observe(observation));
        verdict
    }

    /// Takes a key out, and records the state after it if the key was there.
    pub fn forget(&mut self, fingerprint: Fingerprint) -> Verdict {
        let verdict = self.set.forget_fingerprint(fingerprint).expect("it can");
        if verdict.is_seen() {
            self.record(Change::Forget(fingerprint));
        }
        verdict
    }

    /// Returns the key of one of the last changes.
    fn recent_key(&self, back: u64) -> Fingerprint {
        let recent = self.changes.iter().rev().nth(back as usize);
        match recent.or(self.changes.last()) {
            Some(Change::Observe(observation)) => observation.fingerprint,
            Some(Change::Forget(key)) => *key,
            None => Fingerprint(0),
        }
    }

    fn record(&mut self, change: Change) {
        self.changes.push(change);
        let digest = state_digest(self.set.region(), self.set.registers());
        self.digests.push(digest);
    }

    /// Discards all but the first `length` changes.
    pub fn truncate(&mut self, length: u64) {
        if length == self.len() {
            return;
        }
        let discarded = self.changes.split_off(length as usize);
        let observations = discarded
            .into_iter()
            .rev()
            .filter_map(|change| match change {
                Change::Observe(observation) => Some(observation),
                Change::Forget(_) => None,
            });
        self.discarded = observations.collect();
        self.digests.truncate(length as usize + 1);
        self.set = self.options.in_memory().expect("small");
        for &change in &self.changes {
            match change {
                Change::Observe(observation) => self.set.observe_one(observation),
                Change::Forget(key) => self.set.forget_fingerprint(key).expect("it can"),
            };
        }
    }

    /// Checks that a store has its options and exactly the state after a prefix of the
    /// observations, and that the prefix contains at least the first `acknowledged`.
    pub fn check<M: Medium>(&self, store: &Store<M>, acknowledged: u64) -> Result<(), Failure> {
        self.check_within(store, acknowledged..=self.len())
    }

    /// Checks the same, and that the prefix is not longer than the end of the range.
    fn check_within<M: Medium>(
        &self,
        store: &Store<M>,
        range: RangeInclusive<u64>,
    ) -> Result<(), Failure> {
        let (acknowledged, appended) = range.into_inner();
        store
            .check_agreement(&self.options)
            .map_err(|error| Failure(error.to_string()))?;
        let recovered = store.sequence();
        if recovered < acknowledged {
            return Err(Failure(format!(
                "acknowledged {acknowledged}, recovered {recovered}"
            )));
        }
        if recovered > appended {
            return Err(Failure(format!(
                "appended {appended}, recovered {recovered}"
            )));
        }
        let found = state_digest(store.region(), store.registers());
        if found != self.digests[recovered as usize] {
            return Err(Failure(format!(
                "the state is not that after {recovered} observations"
            )));
        }
        Ok(())
    }
}

/// Returns options for a store with the smallest logs and a region of a few blocks.
pub fn options(filter: &str, blocks: u64) -> CreateOptions {
    let memory_bits = blocks * 8192 * 8 - 5000 - 8 * u64::from(AUDIT_BYTES);
    CreateOptions::new(filter)
        .expect("a filter")
        .memory_bits(memory_bits)
        .seed(SEED)
        .log_size(4096)
        .audit(AUDIT_BYTES)
        .max_fpr(0.125)
}

/// A store in use, from opening it until a crash.
pub struct Session {
    /// The disk.
    pub medium: SimulatedMedium,
    /// The store; None if it was closed and could not be opened again.
    pub store: Option<Store<SimulatedMedium>>,
    /// The number of observations that the store has acknowledged.
    pub acknowledged: u64,
    /// The number of observations, and of keys taken out, whose calls have returned.
    pub returned: u64,
}

impl Session {
    /// Opens the store on a disk and checks what it recovered. Discards the observations of
    /// the model that were not recovered.
    pub fn open(disk: Disk, model: &mut Model, acknowledged: u64) -> Result<Self, Failure> {
        let medium = SimulatedMedium::holding(disk);
        let store = INLINE
            .open_on(medium.clone())
            .map_err(|error| Failure(format!("opening failed: {error}")))?;
        model.check(&store, acknowledged)?;
        let recovered = store.sequence();
        if store.durable_sequence() != recovered {
            return Err(Failure(
                "the recovered observations are not durable".to_owned(),
            ));
        }
        model.truncate(recovered);
        Ok(Session {
            medium,
            store: Some(store),
            acknowledged: recovered,
            returned: recovered,
        })
    }

    /// Does one random thing that a program may do with a store.
    pub fn act(
        &mut self,
        model: &mut Model,
        rng: &mut Xoshiro256PlusPlus,
    ) -> Result<(), StoreError> {
        let Some(store) = &mut self.store else {
            return Ok(());
        };
        let done = match rng.next_u64() % 32 {
            13..16 if store.filter().can_forget() => forget(store, model, rng),
            0..16 => observe(store, model, rng),
            16..21 => store.sync(),
            21..23 => store.begin_checkpoint(),
            23..30 => store.advance_by(1 + rng.next_u64() % 2),
            30 => store.checkpoint(),
            _ => self.close_and_reopen(),
        };
        if let Some(store) = &self.store {
            self.acknowledged = self.acknowledged.max(store.durable_sequence());
            if done.is_ok() {
                self.returned = store.sequence();
            }
        }
        done
    }

    fn close_and_reopen(&mut self) -> Result<(), StoreError> {
        let Some(store) = self.store.take() else {
            return Ok(());
        };
        let sequence = store.sequence();
        store.close()?;
        self.acknowledged = sequence;
        self.store = Some(INLINE.open_on(self.medium.clone())?);
        Ok(())
    }
}

/// A bit of a superblock, in the middle of the log position.
pub const SUPERBLOCK_BIT: u64 = 8 * 60;

/// Returns how many bytes of a log the experiment of a seed can map: none in half of them.
pub fn window_bytes(seed: u64) -> u64 {
    match seed / FILTERS.len() as u64 % 4 {
        1 => 320,
        3 => 2048,
        _ => 0,
    }
}

/// Opens the store on a copy of a disk and checks what it recovers: at least what was acknowledged.
pub fn check_recovery(disk: &Disk, model: &Model, acknowledged: u64) -> Result<(), Failure> {
    check_recovery_within(disk, model, acknowledged..=model.len())
}

/// Opens the store on a copy of a disk and checks that it recovers so many observations.
pub fn check_recovery_within(
    disk: &Disk,
    model: &Model,
    range: RangeInclusive<u64>,
) -> Result<(), Failure> {
    let medium = SimulatedMedium::holding(disk.clone());
    let store = INLINE
        .open_on(medium)
        .map_err(|error| Failure(format!("opening failed: {error}")))?;
    model.check_within(&store, range.clone())?;
    if !disk.has_two_valid_superblocks() {
        return Ok(());
    }
    // Each image must lead to the same state if the other becomes corrupt.
    for file in [StoreFile::Image0, StoreFile::Image1] {
        let mut corrupt = disk.clone();
        corrupt.flip(file, SUPERBLOCK_BIT);
        let store = INLINE
            .open_on(SimulatedMedium::holding(corrupt))
            .map_err(|error| Failure(format!("opening without {file} failed: {error}")))?;
        model.check_within(&store, range.clone())?;
    }
    Ok(())
}

/// Spreads small numbers over the range of fingerprints.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

fn observe(
    store: &mut Store<SimulatedMedium>,
    model: &mut Model,
    rng: &mut Xoshiro256PlusPlus,
) -> Result<(), StoreError> {
    // Often the same size, so that frames of different sessions are at the same offsets; and
    // often discarded observations again, so that the frames are equal.
    let count = match rng.next_u64() % 4 {
        0 => 1 + rng.next_u64() % 40,
        _ => 8,
    };
    // One at a time: few, because each is a call, and every call is cut.
    let single = store.medium().disk().has_windows() && rng.next_u64().is_multiple_of(2);
    let count = if single { count.min(3) } else { count };
    let again = rng.next_u64() % 4 != 3;
    let observations: Vec<Observation> = (0..count)
        .map(|_| match model.discarded.pop().filter(|_| again) {
            Some(discarded) => discarded,
            None => model.next_observation((rng.next_u64() % 700).wrapping_mul(SPREAD)),
        })
        .collect();
    let expected: Vec<Verdict> = observations.iter().map(|&o| model.observe(o)).collect();
    let mut verdicts = vec![Verdict::New; observations.len()];
    match single {
        true => {
            for (verdict, &observation) in verdicts.iter_mut().zip(&observations) {
                *verdict = store.observe_one(observation)?;
            }
        }
        false => store.observe_batch(&observations, &mut verdicts)?,
    }
    assert_eq!(
        verdicts, expected,
        "a verdict differs from that of the model"
    );
    Ok(())
}

/// Takes keys out, of which most are there.
fn forget(
    store: &mut Store<SimulatedMedium>,
    model: &mut Model,
    rng: &mut Xoshiro256PlusPlus,
) -> Result<(), StoreError> {
    let count = 1 + rng.next_u64() % 8;
    let keys = (0..count).map(|_| match rng.next_u64() % 3 {
        0 => Fingerprint((rng.next_u64() % 700).wrapping_mul(SPREAD)),
        _ => model.recent_key(rng.next_u64() % 64),
    });
    let keys: Vec<Fingerprint> = keys.collect();
    let expected: Vec<Verdict> = keys.iter().map(|&key| model.forget(key)).collect();
    let mut verdicts = vec![Verdict::New; keys.len()];
    store.forget_batch(&keys, &mut verdicts)?;
    assert_eq!(
        verdicts, expected,
        "a verdict differs from that of the model"
    );
    Ok(())
}
