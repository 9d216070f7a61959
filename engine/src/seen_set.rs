//! A filter with its memory, hash and registers: what most programs want.

use std::ops::{Deref, DerefMut};

use crate::audit::{AuditReport, AuditedFilter};
use crate::filter::{
    AnyFilter, BuildError, CannotForget, FilterSpec, Observation, Registers, Verdict,
};
use crate::fingerprint::{Fingerprint, KeyHasher};
use crate::region::{Memory, OutOfMemory, Region};

/// The keys met so far, in bounded memory.
#[derive(Debug)]
pub struct SeenSet<M = Memory> {
    spec: FilterSpec,
    filter: AuditedFilter,
    hasher: KeyHasher,
    region: M,
    registers: Registers,
}

/// Why there is no such set.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CreateError {
    /// The filter does not fit the memory size.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// The memory is not to be had.
    #[error(transparent)]
    OutOfMemory(#[from] OutOfMemory),
    /// The filter takes a key for its own fingerprint, and keys are not numbers here.
    #[error(
        "{filter} works only on keys that are the numbers 0, 1, 2 and so on: in `simulate --stream` and `reproduce`"
    )]
    NumbersOnly {
        /// The filter, in its text form.
        filter: String,
    },
    /// The region given has another length than the filter needs.
    #[error("{filter} needs a region of {expected} bytes; {found} were given")]
    RegionLength {
        /// The filter, in its text form.
        filter: String,
        /// What it needs.
        expected: usize,
        /// What there is.
        found: usize,
    },
}

/// The filter of a spec with an audit, if it can work on keys that are any bytes.
pub(crate) fn build_for_keys(
    spec: &FilterSpec,
    memory_bits: u64,
    audit_bytes: u32,
) -> Result<AuditedFilter, CreateError> {
    let filter = AuditedFilter::build(spec, memory_bits, audit_bytes)?;
    match filter.filter().takes_numbers() {
        true => Err(CreateError::NumbersOnly {
            filter: spec.to_string(),
        }),
        false => Ok(filter),
    }
}

impl SeenSet<Memory> {
    /// An empty set in memory of its own. The seed keys both the hash and the filter's
    /// generator: the same seed and the same keys give the same verdicts everywhere.
    pub fn in_memory(spec: &FilterSpec, memory_bits: u64, seed: u64) -> Result<Self, CreateError> {
        Self::audited(spec, memory_bits, seed, 0)
    }

    /// An empty set that [knows its own error](SeenSet::audit), by a sample of keys in
    /// `audit_bytes` beyond the filter's memory.
    pub fn audited(
        spec: &FilterSpec,
        memory_bits: u64,
        seed: u64,
        audit_bytes: u32,
    ) -> Result<Self, CreateError> {
        let filter = build_for_keys(spec, memory_bits, audit_bytes)?;
        Self::empty(spec, filter, seed)
    }

    /// An empty set that the laboratory feeds by [`observe_one`](SeenSet::observe_one): to a
    /// filter that [takes numbers](AnyFilter::takes_numbers) it gives the numbers of keys.
    pub(crate) fn of_numbers(
        spec: &FilterSpec,
        memory_bits: u64,
        seed: u64,
    ) -> Result<Self, CreateError> {
        let filter = AuditedFilter::build(spec, memory_bits, 0)?;
        Self::empty(spec, filter, seed)
    }

    fn empty(spec: &FilterSpec, filter: AuditedFilter, seed: u64) -> Result<Self, CreateError> {
        let region = Memory::zeroed(filter.region_bytes())?;
        Ok(SeenSet {
            spec: spec.clone(),
            filter,
            hasher: KeyHasher::new(seed),
            region,
            registers: Registers::new(seed),
        })
    }
}

impl<M: Deref<Target = [u8]> + DerefMut> SeenSet<M> {
    /// Takes up a state: a region and registers that an earlier set left, without an audit.
    pub fn resume(
        spec: &FilterSpec,
        memory_bits: u64,
        seed: u64,
        region: M,
        registers: Registers,
    ) -> Result<Self, CreateError> {
        let filter = build_for_keys(spec, memory_bits, 0)?;
        if region.len() != filter.region_bytes() {
            return Err(CreateError::RegionLength {
                filter: spec.to_string(),
                expected: filter.region_bytes(),
                found: region.len(),
            });
        }
        Ok(SeenSet {
            spec: spec.clone(),
            filter,
            hasher: KeyHasher::new(seed),
            region,
            registers,
        })
    }

    /// Whether a key is new; from now on it is not.
    pub fn observe(&mut self, key: &[u8]) -> Verdict {
        self.observe_one(self.hasher.fingerprint(key).into())
    }

    /// Whether a key was met before; nothing is remembered.
    pub fn contains(&self, key: &[u8]) -> Verdict {
        self.contains_fingerprint(self.hasher.fingerprint(key))
    }

    /// Takes out a key that was reported New, where the filter can; see
    /// [`AnyFilter::forget`]. Seen: it was there, and is no more.
    pub fn forget(&mut self, key: &[u8]) -> Result<Verdict, CannotForget> {
        let fingerprint = self.hasher.fingerprint(key);
        self.filter
            .forget(&mut *self.region, &mut self.registers, fingerprint)
    }

    /// [`observe`](SeenSet::observe) for a key already hashed.
    pub fn observe_one(&mut self, observation: Observation) -> Verdict {
        let mut verdict = [Verdict::New];
        self.observe_batch(&[observation], &mut verdict);
        verdict[0]
    }

    /// [`contains`](SeenSet::contains) for a key already hashed.
    pub fn contains_fingerprint(&self, fingerprint: Fingerprint) -> Verdict {
        self.filter
            .contains(self.region.bytes(), &self.registers, fingerprint)
    }

    /// Observes many keys in order, several times faster than one by one.
    ///
    /// # Panics
    /// If the two slices differ in length.
    pub fn observe_batch(&mut self, observations: &[Observation], verdicts: &mut [Verdict]) {
        self.filter.observe_batch(
            &mut *self.region,
            &mut self.registers,
            observations,
            verdicts,
        );
    }

    /// What hashes its keys.
    pub fn hasher(&self) -> KeyHasher {
        self.hasher
    }

    /// The filter, in its text form and as data.
    pub fn spec(&self) -> &FilterSpec {
        &self.spec
    }

    /// The filter's geometry.
    pub fn filter(&self) -> &AnyFilter {
        self.filter.filter()
    }

    /// What is known of its own error; nothing unless it is
    /// [audited](SeenSet::audited).
    pub fn audit(&self) -> Option<AuditReport> {
        self.filter.report(&self.region, &self.registers)
    }

    /// The large part of the state.
    pub fn region(&self) -> &[u8] {
        &self.region
    }

    /// The small part of the state.
    pub fn registers(&self) -> &Registers {
        &self.registers
    }

    /// The chance that a key never met would be taken for Seen now.
    pub fn drop_chance(&self) -> f64 {
        self.filter().drop_chance(&self.registers)
    }

    /// The share of cells in use.
    pub fn load(&self) -> f64 {
        self.filter().load(&self.registers)
    }
}
