//! What a new store is to be.

use super::beginning::Beginning;
use super::checksum::StoreId;
use super::error::StoreError;
use super::layout::{Layout, MAX_LOG_BYTES, MIN_LOG_BYTES};
use super::superblock::{AUDIT, LogPosition, Parameters, SPARSE_LOG, Superblock};
use crate::audit::AuditedFilter;
use crate::filter::{FilterSpec, Registers};
use crate::region::Memory;
use crate::seen_set::{CreateError, SeenSet, build_for_keys};

/// What a new store is to be.
#[derive(Clone, Debug)]
pub struct CreateOptions {
    /// Its filter.
    pub filter: FilterSpec,
    /// The memory of its filter.
    pub memory_bits: u64,
    /// The seed of its hash and of its choices; a random one if none is given, so that
    /// nobody can choose keys that collide.
    pub seed: Option<u64>,
    /// The size of each of its two logs; that of the region, within reason, if none is given.
    /// A checkpoint comes when a log is full, so larger logs mean fewer of them.
    pub log_bytes: Option<u64>,
    /// The bytes of the audit, beyond the filter's memory; 0 for none, and
    /// [what fits the memory](AuditedFilter::default_audit_bytes) if nothing is given.
    pub audit_bytes: Option<u32>,
    /// How keys are changed before they are hashed, for those who feed it to know.
    pub normalization: String,
}

impl CreateOptions {
    /// A filter in a memory size, and the defaults for the rest.
    pub fn new(filter: FilterSpec, memory_bits: u64) -> Self {
        CreateOptions {
            filter,
            memory_bits,
            seed: None,
            log_bytes: None,
            audit_bytes: None,
            normalization: String::new(),
        }
    }

    /// The same filter with the same audit in memory only; `seed` is used if none is given.
    pub fn in_memory(&self, seed: u64) -> Result<SeenSet, CreateError> {
        let seed = self.seed.unwrap_or(seed);
        SeenSet::audited(&self.filter, self.memory_bits, seed, self.audit_bytes())
    }

    fn audit_bytes(&self) -> u32 {
        let fitting = AuditedFilter::default_audit_bytes(self.memory_bits);
        self.audit_bytes.unwrap_or(fitting)
    }

    /// The filter, with its audit.
    fn build(&self) -> Result<AuditedFilter, StoreError> {
        let filter = build_for_keys(&self.filter, self.memory_bits, self.audit_bytes())?;
        Ok(filter)
    }

    /// How large the files will be; they never grow.
    pub fn layout(&self) -> Result<Layout, StoreError> {
        let region_bytes = self.build()?.region_bytes() as u64;
        let as_the_region = region_bytes.clamp(1 << 20, 2 << 30);
        let log_bytes = self.log_bytes.unwrap_or(as_the_region);
        if !(MIN_LOG_BYTES..=MAX_LOG_BYTES).contains(&log_bytes) {
            return Err(StoreError::Parameters(format!(
                "a log has {MIN_LOG_BYTES} to {MAX_LOG_BYTES} bytes; {log_bytes} were asked for"
            )));
        }
        Ok(Layout {
            region_bytes,
            log_bytes: log_bytes.next_multiple_of(4096),
        })
    }

    /// What the files hold of a store that has observed nothing. Its seed is this one.
    pub(super) fn unused(
        &self,
        store_id: StoreId,
        seed: u64,
        unix_seconds: u64,
    ) -> Result<Beginning<&'static [u8]>, StoreError> {
        let described = self.describe(Registers::new(seed), seed, unix_seconds)?;
        Ok(Beginning::new(store_id, described, None))
    }

    /// What the files hold of a store that has observed what a set has: one
    /// [made](CreateOptions::in_memory) from these options. It needs no disk, no clock and
    /// no randomness: the identity, and the time in seconds since 1970, are the caller's.
    pub fn primed(
        &self,
        set: SeenSet,
        store_id: StoreId,
        unix_seconds: u64,
    ) -> Result<Beginning<Memory>, StoreError> {
        let seed = set.hasher().seed();
        let described = self.describe(set.registers().clone(), seed, unix_seconds)?;
        let (expected, found) = (described.layout.region_bytes, set.region().len());
        if set.spec() != &self.filter || found as u64 != expected {
            return Err(StoreError::Parameters(format!(
                "a store of {} with a region of {expected} bytes cannot begin with a set of {} \
                 with one of {found}",
                self.filter,
                set.spec(),
            )));
        }
        Ok(Beginning::new(store_id, described, Some(set.into_region())))
    }

    /// A superblock of such a store but for what its beginning settles.
    fn describe(
        &self,
        registers: Registers,
        seed: u64,
        unix_seconds: u64,
    ) -> Result<Superblock, StoreError> {
        let mut features = 0;
        if self.build()?.filter().seen_leaves_no_trace() {
            features |= SPARSE_LOG;
        }
        if self.audit_bytes() > 0 {
            features |= AUDIT;
        }
        Ok(Superblock {
            features,
            store_id: [0; 16],
            generation: 0,
            log: LogPosition {
                epoch: 0,
                offset: 0,
                chain: 0,
                sequence: 0,
            },
            table_checksum: 0,
            layout: self.layout()?,
            unix_seconds,
            audit_bytes: self.audit_bytes(),
            registers,
            parameters: Parameters {
                filter: self.filter.to_string(),
                memory_bits: self.memory_bits,
                seed,
                normalization: self.normalization.clone(),
                created_unix_seconds: unix_seconds,
            },
        })
    }
}
