//! The options of a new store.

use super::agreement::agree_on_window;
use super::initial_files::InitialFiles;
use crate::audit::AuditedFilter;
use crate::byte_size::{ByteSize, ByteSizeError};
use crate::filter::{DEFAULT_MEMORY, FilterSpec, Registers, SpecError};
use crate::lines::KeyOptions;
use crate::region::Memory;
use crate::seen_set::{self, CreateError, SeenSet, SeenSetBuilder, build_for_keys};
use crate::store::error::StoreError;
use crate::store::format::checksum::StoreId;
use crate::store::format::layout::{Layout, MAX_LOG_BYTES, MIN_LOG_BYTES};
use crate::store::format::superblock::{
    AUDIT, GROWS, LogPosition, Parameters, SPARSE_LOG, Superblock, TIMED_LOG, is_fpr_limit,
};

/// Options of a new store.
///
/// An option that is not set has a default if the store is created. If
/// [`open_or_create`](crate::store::Store::open_or_create) finds a store, only the options
/// that were set must agree with it.
///
/// ```
/// use dedupstore::store::CreateOptions;
///
/// let options = CreateOptions::new("bloom:k=4")?
///     .memory("1GiB")
///     .seed(1)
///     .log_size("256MiB")
///     .audit("1MiB")
///     .normalization("whatwg")
///     .max_fpr(0.01);
/// assert_eq!(options.layout()?.log_bytes, 256 << 20);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
#[must_use = "options do nothing until a store is created with them"]
pub struct CreateOptions {
    pub(super) filter: Option<FilterSpec>,
    pub(super) memory_bits: Option<Result<u64, ByteSizeError>>,
    pub(super) seed: Option<u64>,
    pub(super) log_size: Option<Result<ByteSize, ByteSizeError>>,
    pub(super) audit: Option<Result<ByteSize, ByteSizeError>>,
    pub(super) normalization: Option<String>,
    pub(super) key: Option<KeyOptions>,
    pub(super) max_fpr: Option<f64>,
    pub(super) window: Option<u64>,
    pub(super) shards: Option<usize>,
}

/// What the options determine of a filter.
struct Plan {
    spec: FilterSpec,
    filter: AuditedFilter,
    memory_bits: u64,
    audit_bytes: u32,
}

impl Plan {
    /// Whether the filter grows inside its region, of which an empty filter uses a part.
    fn grows(&self) -> bool {
        let filter = self.filter.filter();
        filter.used_bytes(&Registers::new(0)) < filter.region_bytes()
    }
}

impl CreateOptions {
    /// Sets the filter, given as a [`FilterSpec`] or as its text form, and nothing else.
    pub fn new(
        filter: impl TryInto<FilterSpec, Error: Into<SpecError>>,
    ) -> Result<Self, SpecError> {
        let filter = filter.try_into().map_err(Into::into)?;
        Ok(CreateOptions::default().filter(filter))
    }

    /// Sets the filter. The default is [`DEFAULT_FILTER`](crate::DEFAULT_FILTER).
    pub fn filter(mut self, filter: impl Into<FilterSpec>) -> Self {
        self.filter = Some(filter.into());
        self
    }

    /// Sets the memory of the filter, as a number of bytes or as a text such as `"1GiB"`. The
    /// default is [`DEFAULT_MEMORY`]. Creating the store reports a text that is no size.
    pub fn memory(mut self, size: impl TryInto<ByteSize, Error: Into<ByteSizeError>>) -> Self {
        let bits = size.try_into().map(ByteSize::bits);
        self.memory_bits = Some(bits.map_err(Into::into));
        self
    }

    /// Sets the memory of the filter in bits.
    pub fn memory_bits(mut self, bits: u64) -> Self {
        self.memory_bits = Some(Ok(bits));
        self
    }

    /// Sets the seed of the hash function and of the filter's random choices. The default is
    /// a random seed, so that nobody can choose keys that collide.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    /// Sets the size of each of the two logs. The default is the size of the region, but at
    /// least 1 MiB and at most 2 GiB; if the filter grows, a sixteenth of it and at most 128 MiB. A
    /// full log starts a checkpoint, so larger logs mean fewer checkpoints.
    pub fn log_size(mut self, size: impl TryInto<ByteSize, Error: Into<ByteSizeError>>) -> Self {
        self.log_size = Some(size.try_into().map_err(Into::into));
        self
    }

    /// Sets the memory of the audit, which is added to the filter's; 0 for no audit. The
    /// default is a sixteenth of the filter's, but at least 4 KiB and at most 768 KiB.
    pub fn audit(mut self, size: impl TryInto<ByteSize, Error: Into<ByteSizeError>>) -> Self {
        self.audit = Some(size.try_into().map_err(Into::into));
        self
    }

    /// Sets the name of the normalization that is applied to keys before they are hashed. The
    /// store records it for its users and does not apply it. The default is the empty name:
    /// keys are hashed as they are. [`key`](CreateOptions::key) takes precedence.
    pub fn normalization(mut self, name: impl Into<String>) -> Self {
        self.normalization = Some(name.into());
        self
    }

    /// Sets how the key of a line is found: a [`KeyRule`](crate::lines::KeyRule), or the parts
    /// of it that are asked for. The store records it for its users and does not apply it. The
    /// default is to record nothing: the caller knows its keys.
    pub fn key(mut self, key: impl Into<KeyOptions>) -> Self {
        self.key = Some(key.into());
        self
    }

    /// Sets a limit of the false positive rate, above 0 and at most 1. The default is no limit.
    ///
    /// The store records the limit for its users, and observes keys beyond it: compare
    /// [`false_positive_rate`](crate::store::Store::false_positive_rate) with
    /// [`max_fpr`](crate::store::Store::max_fpr). The command `dedupstore filter` stops before
    /// the limit is exceeded.
    pub fn max_fpr(mut self, rate: f64) -> Self {
        self.max_fpr = Some(rate);
        self
    }

    /// Sets the span of the window that the filter must have, in seconds. A store whose filter has
    /// no such window is neither created nor opened.
    pub fn window(mut self, seconds: u64) -> Self {
        self.window = Some(seconds);
        self
    }

    /// Sets the number of shards of a [`SharedStore`](crate::store::SharedStore), 1 to 1000.
    /// The default is the number of processors. A [`Store`](crate::store::Store) has no
    /// shards and ignores this option.
    pub fn shards(mut self, shards: usize) -> Self {
        self.shards = Some(shards);
        self
    }

    /// Creates an empty set with the same filter, memory and audit, without a store. Its seed
    /// is 0 if none is set.
    pub fn in_memory(&self) -> Result<SeenSet, CreateError> {
        let plan = self.plan()?;
        SeenSetBuilder::new(plan.spec)
            .memory_bits(plan.memory_bits)
            .seed(self.seed.unwrap_or(0))
            .audit(plan.audit_bytes)
            .build()
    }

    fn plan(&self) -> Result<Plan, CreateError> {
        let spec = self.filter.clone().unwrap_or_default();
        let memory_bits = self.memory_bits.clone();
        let memory_bits = memory_bits.unwrap_or(Ok(DEFAULT_MEMORY.bits()))?;
        let audit_bytes = match self.audit.clone() {
            Some(size) => seen_set::audit_bytes(size?)?,
            None => AuditedFilter::default_audit_bytes(memory_bits),
        };
        Ok(Plan {
            filter: build_for_keys(&spec, memory_bits, audit_bytes)?,
            spec,
            memory_bits,
            audit_bytes,
        })
    }

    /// Returns the filter that is set; None for the default.
    pub fn spec(&self) -> Option<&FilterSpec> {
        self.filter.as_ref()
    }

    /// Returns the sizes of the store's files, which never change.
    pub fn layout(&self) -> Result<Layout, StoreError> {
        self.layout_of(&self.plan()?)
    }

    fn layout_of(&self, plan: &Plan) -> Result<Layout, StoreError> {
        let region_bytes = plan.filter.region_bytes() as u64;
        let log_bytes = match self.log_size.clone() {
            Some(size) => size.map_err(CreateError::from)?.bytes(),
            // The larger the image, the fewer checkpoints. That of a growing filter is small at first.
            None if plan.grows() => (region_bytes / 16).clamp(1 << 20, 128 << 20),
            None => region_bytes.clamp(1 << 20, 2 << 30),
        };
        if !(MIN_LOG_BYTES..=MAX_LOG_BYTES).contains(&log_bytes) {
            return Err(StoreError::LogSize {
                requested: log_bytes,
                minimum: MIN_LOG_BYTES,
                maximum: MAX_LOG_BYTES,
            });
        }
        Ok(Layout {
            region_bytes,
            log_bytes: round_log_bytes(log_bytes),
        })
    }

    /// Returns the contents of the files of an empty store. `seed` is used if none is set.
    pub(in crate::store) fn empty_store(
        &self,
        store_id: StoreId,
        seed: impl FnOnce() -> u64,
        unix_seconds: u64,
    ) -> Result<InitialFiles<&'static [u8]>, StoreError> {
        let seed = self.seed.unwrap_or_else(seed);
        let plan = self.plan()?;
        let superblock = self.describe(&plan, Registers::new(seed), seed, unix_seconds)?;
        Ok(InitialFiles::new(store_id, superblock, None))
    }

    /// Returns the contents of the files of a store that has observed what `set` has. The set
    /// must come from [`in_memory`](CreateOptions::in_memory) of the same options.
    ///
    /// This needs no disk, no clock and no randomness: the caller supplies the store's
    /// identity, which must be random, and the time in seconds since 1970.
    pub fn primed(
        &self,
        set: SeenSet,
        store_id: StoreId,
        unix_seconds: u64,
    ) -> Result<InitialFiles<Memory>, StoreError> {
        let seed = set.hasher().seed();
        let plan = self.plan()?;
        let superblock = self.describe(&plan, set.registers().clone(), seed, unix_seconds)?;
        let (expected, found) = (superblock.layout.region_bytes, set.region().len() as u64);
        if set.spec() != &plan.spec || found != expected {
            return Err(StoreError::SetMismatch {
                expected: plan.spec.to_string(),
                expected_bytes: expected,
                found: set.spec().to_string(),
                found_bytes: found,
            });
        }
        let region = set.into_region();
        Ok(InitialFiles::new(store_id, superblock, Some(region)))
    }

    /// Returns the superblock, except for the fields that [`InitialFiles::new`] sets.
    fn describe(
        &self,
        plan: &Plan,
        registers: Registers,
        seed: u64,
        unix_seconds: u64,
    ) -> Result<Superblock, StoreError> {
        if let Some(requested) = self.max_fpr.filter(|&rate| !is_fpr_limit(rate)) {
            return Err(StoreError::MaxFpr { requested });
        }
        if let Some(seconds) = self.window {
            agree_on_window(plan.spec.window_seconds(), seconds)?;
        }
        let mut features = 0;
        if plan.filter.filter().seen_leaves_state_unchanged() {
            features |= SPARSE_LOG;
        }
        if plan.audit_bytes > 0 {
            features |= AUDIT;
        }
        if plan.filter.filter().needs().tick {
            features |= TIMED_LOG;
        }
        if plan.grows() {
            features |= GROWS;
        }
        let superblock = Superblock {
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
            layout: self.layout_of(plan)?,
            unix_seconds,
            audit_bytes: plan.audit_bytes,
            used_blocks: 0,
            max_fpr: None,
            registers,
            parameters: Parameters {
                filter: plan.spec.to_string(),
                memory_bits: plan.memory_bits,
                seed,
                normalization: match (&self.key, &self.normalization) {
                    (Some(key), _) => key.rule()?.to_string(),
                    (None, name) => name.clone().unwrap_or_default(),
                },
                created_unix_seconds: unix_seconds,
            },
        };
        let superblock = superblock.with_used_blocks(plan.filter.filter());
        Ok(superblock.with_max_fpr(self.max_fpr))
    }

    /// Returns the number of shards, if it is set.
    #[cfg(not(target_family = "wasm"))]
    pub(in crate::store) fn shard_count(&self) -> Option<usize> {
        self.shards
    }

    /// Returns the options of each shard: an equal share of the memory and of the log size.
    /// What is not set stays so.
    #[cfg(not(target_family = "wasm"))]
    pub(in crate::store) fn for_one_of(&self, shards: usize) -> Self {
        let share = |total: u64| total / shards as u64;
        let log_share =
            |size: ByteSize| ByteSize::from_bytes(share(size.bytes()).max(MIN_LOG_BYTES));
        CreateOptions {
            memory_bits: self.memory_bits.clone().map(|bits| bits.map(share)),
            log_size: self.log_size.clone().map(|size| size.map(log_share)),
            shards: None,
            ..self.clone()
        }
    }

    /// Sets the memory and the seed if they are not set, so that the shards can share them.
    #[cfg(not(target_family = "wasm"))]
    pub(in crate::store) fn with_memory_and_seed(mut self, seed: impl FnOnce() -> u64) -> Self {
        self.memory_bits.get_or_insert(Ok(DEFAULT_MEMORY.bits()));
        self.seed.get_or_insert_with(seed);
        self
    }
}

/// A log is a whole number of pages.
pub(super) fn round_log_bytes(log_bytes: u64) -> u64 {
    log_bytes.next_multiple_of(4096)
}
