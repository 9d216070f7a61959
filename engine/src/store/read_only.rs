//! Looking into a store beside its writer.

use std::path::Path;

use super::directory::Directory;
use super::error::StoreError;
use super::handle::Store;
use super::medium::Medium;
use super::snapshot::Snapshot;
use super::superblock::Parameters;
use crate::audit::AuditReport;
use crate::filter::{AnyFilter, FilterSpec, Registers, Verdict};
use crate::fingerprint::{Fingerprint, KeyHasher};

/// What was durable in a store when it was opened, and perhaps a little more, in memory. It
/// takes no lock and writes nothing; what a writer does afterwards is not seen.
pub struct ReadOnlyStore {
    snapshot: Snapshot,
    hasher: KeyHasher,
}

impl Store<Directory> {
    /// Opens a store to look into it, beside a writer or not.
    pub fn open_read_only(path: impl AsRef<Path>) -> Result<ReadOnlyStore, StoreError> {
        ReadOnlyStore::open_on(&Directory::open_read_only(path.as_ref())?)
    }
}

impl ReadOnlyStore {
    /// Reads the newest image from a medium, checks every block of it, and replays the log.
    pub fn open_on(medium: &impl Medium) -> Result<Self, StoreError> {
        let snapshot = Snapshot::current(medium)?;
        Ok(ReadOnlyStore {
            hasher: KeyHasher::new(snapshot.superblock.parameters.seed),
            snapshot,
        })
    }

    /// Whether a key was met.
    pub fn contains(&self, key: &[u8]) -> Verdict {
        self.contains_fingerprint(self.hasher.fingerprint(key))
    }

    /// [`contains`](ReadOnlyStore::contains) for a key already hashed.
    pub fn contains_fingerprint(&self, fingerprint: Fingerprint) -> Verdict {
        let Snapshot {
            filter,
            live,
            registers,
            ..
        } = &self.snapshot;
        filter.contains(live.bytes(), registers, fingerprint)
    }

    /// What hashes its keys.
    pub fn hasher(&self) -> KeyHasher {
        self.hasher
    }

    /// Its filter, in its text form and as data.
    pub fn spec(&self) -> &FilterSpec {
        &self.snapshot.spec
    }

    /// Its filter's geometry.
    pub fn filter(&self) -> &AnyFilter {
        self.snapshot.filter.filter()
    }

    /// What was chosen when it was made.
    pub fn parameters(&self) -> &Parameters {
        &self.snapshot.superblock.parameters
    }

    /// What is known of its own error; nothing if it was made without an audit.
    pub fn audit(&self) -> Option<AuditReport> {
        self.snapshot
            .filter
            .report(self.region(), &self.snapshot.registers)
    }

    /// The filter's share of the [region](ReadOnlyStore::region).
    pub fn filter_region(&self) -> &[u8] {
        self.snapshot.filter.filter_bytes(self.region())
    }

    /// The large part of the state: the filter's bytes, and the audit's behind them.
    pub fn region(&self) -> &[u8] {
        self.snapshot.live.bytes()
    }

    /// The small part of the state.
    pub fn registers(&self) -> &Registers {
        &self.snapshot.registers
    }

    /// Which image it started from.
    pub fn generation(&self) -> u64 {
        self.snapshot.superblock.generation
    }

    /// The share of cells in use.
    pub fn load(&self) -> f64 {
        self.filter().load(&self.snapshot.registers)
    }

    /// The chance that a key never met would be taken for Seen.
    pub fn drop_chance(&self) -> f64 {
        self.filter().drop_chance(&self.snapshot.registers)
    }
}
