//! Reading a store while another process may write to it.

use std::fmt;
use std::path::Path;

use super::directory::Directory;
use crate::audit::AuditReport;
use crate::filter::{AnyFilter, FilterSpec, Registers, Verdict, tick_of};
use crate::fingerprint::{Fingerprint, KeyHasher};
use crate::store::create::CreateOptions;
use crate::store::error::{Damage, StoreError};
use crate::store::format::superblock::Parameters;
use crate::store::inspect::{inspect_exactly_on, inspect_on};
use crate::store::inspection::Inspection;
use crate::store::key_lookup::KeyLookup;
use crate::store::medium::{Medium, StoreFile};
use crate::store::snapshot::Snapshot;
use crate::store::verify::{Finding, Severity, verify_on};

/// Inspects a store. Reads only; a writer may have the store open.
pub fn inspect(path: impl AsRef<Path>) -> Result<Inspection, StoreError> {
    inspect_on(&Directory::open_read_only(path.as_ref())?)
}

/// Inspects a store with its log replayed into memory; see [`inspect_exactly_on`]. Reads only; a
/// writer may have the store open.
pub fn inspect_exactly(path: impl AsRef<Path>) -> Result<Inspection, StoreError> {
    inspect_exactly_on(&Directory::open_read_only(path.as_ref())?)
}

/// Checks every byte of a store and returns what it finds; see [`verify_on`]. Fails with
/// [`StoreError::InUse`] while a writer has the store open.
pub fn verify(path: impl AsRef<Path>) -> Result<Vec<Finding>, StoreError> {
    let (directory, missing) = Directory::open_incomplete_read_only(path.as_ref())?;
    let mut findings = verify_on(directory)?;
    findings.extend(missing_lock(&missing));
    Ok(findings)
}

/// Returns a finding if the file `lock` is missing.
pub(super) fn missing_lock(missing: &[StoreFile]) -> Option<Finding> {
    missing.contains(&StoreFile::Lock).then(|| Finding {
        severity: Severity::Refused,
        damage: Damage {
            file: StoreFile::Lock,
            offset: 0,
            expected: "the file that a writer locks".to_owned(),
            found: "no file".to_owned(),
        },
    })
}

/// A copy of a store's state in memory: at least everything that was durable when it was
/// opened. Takes no lock and writes nothing. Does not see what a writer does afterwards.
pub struct ReadOnlyStore {
    snapshot: Snapshot,
    hasher: KeyHasher,
}

impl ReadOnlyStore {
    /// Reads the state of a store. A writer may have it open at the same time.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        Self::open_on(&Directory::open_read_only(path.as_ref())?)
    }

    /// Reads the newest image from a medium, checks every block, and replays the log.
    pub fn open_on(medium: &impl Medium) -> Result<Self, StoreError> {
        let snapshot = Snapshot::current(medium)?;
        Ok(ReadOnlyStore {
            hasher: KeyHasher::new(snapshot.superblock.parameters.seed),
            snapshot,
        })
    }

    /// Reports whether a key was observed.
    pub fn contains(&self, key: impl AsRef<[u8]>) -> Verdict {
        self.contains_fingerprint(self.hasher.fingerprint(key.as_ref()))
    }

    /// [`contains`](ReadOnlyStore::contains) for a key that is already hashed by the store's
    /// [hasher](ReadOnlyStore::hasher).
    pub fn contains_fingerprint(&self, fingerprint: Fingerprint) -> Verdict {
        let Snapshot {
            filter,
            region,
            registers,
            ..
        } = &self.snapshot;
        filter.contains(region, registers, fingerprint)
    }

    /// Reports whether a key would be new at a time, in seconds since 1970. Only filters with a
    /// window that is measured in seconds use the time; a time before their present step means
    /// the present step.
    pub fn contains_at(&self, key: impl AsRef<[u8]>, seconds: u64) -> Verdict {
        let fingerprint = self.hasher.fingerprint(key.as_ref());
        let tick = tick_of(seconds);
        let (region, registers) = (self.filter_region(), self.registers());
        self.filter()
            .contains_at(region, registers, fingerprint, tick)
    }

    /// Checks that the store agrees with every option that is set.
    pub fn check_agreement(&self, options: &CreateOptions) -> Result<(), StoreError> {
        options.check_agreement(&self.snapshot.superblock)
    }

    /// Returns the hasher of its keys.
    pub fn hasher(&self) -> KeyHasher {
        self.hasher
    }

    /// Returns the specification of its filter.
    pub fn spec(&self) -> &FilterSpec {
        &self.snapshot.spec
    }

    /// Returns its filter.
    pub fn filter(&self) -> &AnyFilter {
        self.snapshot.filter.filter()
    }

    /// Returns what was chosen when the store was created.
    pub fn parameters(&self) -> &Parameters {
        &self.snapshot.superblock.parameters
    }

    /// Returns the measured error rates, or None if the store has no audit.
    pub fn audit(&self) -> Option<AuditReport> {
        self.snapshot
            .filter
            .report(self.region(), &self.snapshot.registers)
    }

    /// Returns the filter's part of the [region](ReadOnlyStore::region).
    pub fn filter_region(&self) -> &[u8] {
        self.snapshot.filter.filter_bytes(self.region())
    }

    /// Returns the large part of the state: the filter's bytes, followed by the audit's.
    pub fn region(&self) -> &[u8] {
        &self.snapshot.region
    }

    /// Returns the small part of the state: counters and the random generator.
    pub fn registers(&self) -> &Registers {
        &self.snapshot.registers
    }

    /// Returns the generation of the image that was read.
    pub fn generation(&self) -> u64 {
        self.snapshot.superblock.generation
    }

    /// Returns the share of cells in use.
    pub fn load(&self) -> f64 {
        self.filter().load(&self.snapshot.registers)
    }

    /// Returns the probability that the next new key is reported as Seen.
    pub fn false_positive_rate(&self) -> f64 {
        self.filter().false_positive_rate(&self.snapshot.registers)
    }

    /// Returns the limit of the false positive rate that was set when the store was created; see
    /// [`CreateOptions::max_fpr`].
    pub fn max_fpr(&self) -> Option<f64> {
        self.snapshot.superblock.max_fpr
    }
}

impl KeyLookup<Directory> {
    /// Opens a store for looking up keys. A writer may have it open at the same time.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        Self::open_on(Directory::open_read_only(path.as_ref())?)
    }
}

impl fmt::Debug for ReadOnlyStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReadOnlyStore")
            .field("filter", &self.parameters().filter)
            .field("memory_bits", &self.parameters().memory_bits)
            .field("sequence", &self.snapshot.sequence())
            .field("generation", &self.generation())
            .finish_non_exhaustive()
    }
}
