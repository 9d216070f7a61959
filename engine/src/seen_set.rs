//! A seen-set in memory.

mod create_error;

use std::ops::{Deref, DerefMut};

use crate::audit::{AuditReport, AuditedFilter};
use crate::byte_size::{ByteSize, ByteSizeError};
use crate::filter::{
    AnyFilter, CannotForget, ClockReport, DEFAULT_MEMORY, FilterSpec, HashedKeys, Observation,
    ObservationTime, Registers, SpecError, Threads, Verdict, tick_of,
};
use crate::fingerprint::{Fingerprint, KeyHasher};
use crate::region::{Memory, Region};

pub use create_error::CreateError;

/// The keys observed so far, in bounded memory.
///
/// It holds a filter with its memory, hash function and registers. Nothing survives the
/// process; for that, use a [`Store`](crate::store::Store).
///
/// ```
/// use dedupstore::SeenSet;
///
/// let mut seen = SeenSet::builder("bloom:k=4")?.memory("1MiB").build()?;
/// assert!(seen.observe("https://harbour.example/").is_new());
/// assert!(seen.observe("https://harbour.example/").is_seen());
/// assert!(seen.contains("https://harbour.example/quay").is_new());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct SeenSet<M = Memory> {
    spec: FilterSpec,
    filter: AuditedFilter,
    hasher: KeyHasher,
    region: M,
    registers: Registers,
    time: ObservationTime,
    /// The time of the machine, if the caller has told it.
    machine_seconds: Option<u32>,
    threads: Option<Threads>,
    hashed: HashedKeys,
}

/// Builds the filter of a spec with its audit. Fails if the filter works on numbers only.
pub(crate) fn build_for_keys(
    spec: &FilterSpec,
    memory_bits: u64,
    audit_bytes: u32,
) -> Result<AuditedFilter, CreateError> {
    let filter = AuditedFilter::build(spec, memory_bits, audit_bytes)?;
    match filter.filter().requires_numeric_keys() {
        true => Err(CreateError::NumbersOnly {
            filter: spec.to_string(),
        }),
        false => Ok(filter),
    }
}

/// Checks the size of an audit: a store records it in 32 bits.
pub(crate) fn audit_bytes(size: ByteSize) -> Result<u32, CreateError> {
    u32::try_from(size.bytes()).map_err(|_| CreateError::AuditTooLarge {
        requested: size.bytes(),
        maximum: u32::MAX.into(),
    })
}

/// Options of a new [`SeenSet`]; see [`SeenSet::builder`].
#[derive(Clone, Debug)]
#[must_use = "a builder does nothing until `build` is called"]
pub struct SeenSetBuilder {
    spec: FilterSpec,
    memory_bits: Result<u64, ByteSizeError>,
    seed: u64,
    audit: Result<ByteSize, ByteSizeError>,
    threads: usize,
}

impl SeenSetBuilder {
    /// Starts a new set with a filter that is already parsed; see [`SeenSet::builder`].
    pub fn new(filter: impl Into<FilterSpec>) -> Self {
        SeenSetBuilder {
            spec: filter.into(),
            memory_bits: Ok(DEFAULT_MEMORY.bits()),
            seed: 0,
            audit: Ok(ByteSize::default()),
            threads: 1,
        }
    }

    /// Sets the memory of the filter, as a number of bytes or as a text such as `"64MiB"`.
    /// The default is [`DEFAULT_MEMORY`]. [`build`](SeenSetBuilder::build) reports a text
    /// that is no size.
    pub fn memory(mut self, size: impl TryInto<ByteSize, Error: Into<ByteSizeError>>) -> Self {
        self.memory_bits = size.try_into().map(ByteSize::bits).map_err(Into::into);
        self
    }

    /// Sets the memory of the filter in bits. The papers use sizes that are no whole number
    /// of bytes.
    pub fn memory_bits(mut self, bits: u64) -> Self {
        self.memory_bits = Ok(bits);
        self
    }

    /// Sets the seed of the hash function and of the filter's random choices; the default
    /// is 0. The same seed and the same keys give the same verdicts on every machine.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Sets the memory of the audit, which is added to the filter's. An audited set
    /// [measures its own error rates](SeenSet::audit) on a sample of the keys. The default
    /// is 0: no audit.
    pub fn audit(mut self, size: impl TryInto<ByteSize, Error: Into<ByteSizeError>>) -> Self {
        self.audit = size.try_into().map_err(Into::into);
        self
    }

    /// Sets how many threads observe a batch together; the default is 1. Verdicts and state are
    /// the same for every number. [Keys](SeenSet::observe_keys) are hashed by all threads. Filters
    /// whose keys touch one row or cache line use all of them, too: `blocked`, `split`, `slot`,
    /// `word`, `recent`, `aging`, `sqf`, and `window` with `layout=blocked`. With other filters one
    /// thread decides. In WebAssembly one thread does everything.
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = threads;
        self
    }

    /// Creates an empty set.
    pub fn build(self) -> Result<SeenSet, CreateError> {
        let filter = self.filter_for_keys()?;
        self.empty(filter)
    }

    /// Creates a set from a region and registers that an earlier set of the same options
    /// has left.
    pub fn resume<M: Deref<Target = [u8]> + DerefMut>(
        self,
        region: M,
        registers: Registers,
    ) -> Result<SeenSet<M>, CreateError> {
        let filter = self.filter_for_keys()?;
        if region.len() != filter.region_bytes() {
            return Err(CreateError::RegionLength {
                filter: self.spec.to_string(),
                expected: filter.region_bytes(),
                found: region.len(),
            });
        }
        let time = ObservationTime::new(filter.filter().tick_clock());
        let threads = Threads::start(self.threads);
        Ok(SeenSet {
            spec: self.spec,
            filter,
            hasher: KeyHasher::new(self.seed),
            region,
            registers,
            time,
            machine_seconds: None,
            threads,
            hashed: HashedKeys::default(),
        })
    }

    /// Creates an empty set for the laboratory, which passes the keys' numbers to a filter
    /// that [takes numbers](AnyFilter::requires_numeric_keys).
    pub(crate) fn build_for_numbers(self) -> Result<SeenSet, CreateError> {
        let filter = AuditedFilter::build(&self.spec, self.memory_bits.clone()?, 0)?;
        self.empty(filter)
    }

    fn filter_for_keys(&self) -> Result<AuditedFilter, CreateError> {
        let audit_bytes = audit_bytes(self.audit.clone()?)?;
        build_for_keys(&self.spec, self.memory_bits.clone()?, audit_bytes)
    }

    fn empty(self, filter: AuditedFilter) -> Result<SeenSet, CreateError> {
        let region = Memory::zeroed(filter.region_bytes())?;
        let time = ObservationTime::new(filter.filter().tick_clock());
        let threads = Threads::start(self.threads);
        Ok(SeenSet {
            spec: self.spec,
            filter,
            hasher: KeyHasher::new(self.seed),
            region,
            registers: Registers::new(self.seed),
            time,
            machine_seconds: None,
            threads,
            hashed: HashedKeys::default(),
        })
    }
}

impl SeenSet<Memory> {
    /// Starts a new set with this filter, given as a [`FilterSpec`] or as its text form.
    pub fn builder(
        filter: impl TryInto<FilterSpec, Error: Into<SpecError>>,
    ) -> Result<SeenSetBuilder, SpecError> {
        let spec = filter.try_into().map_err(Into::into)?;
        Ok(SeenSetBuilder::new(spec))
    }
}

impl<M: Deref<Target = [u8]> + DerefMut> SeenSet<M> {
    /// Reports whether a key is new, and remembers it.
    pub fn observe(&mut self, key: impl AsRef<[u8]>) -> Verdict {
        self.observe_fingerprint(self.hasher.fingerprint(key.as_ref()))
    }

    /// Reports whether a key was observed before. Changes nothing.
    pub fn contains(&self, key: impl AsRef<[u8]>) -> Verdict {
        self.contains_fingerprint(self.hasher.fingerprint(key.as_ref()))
    }

    /// Reports whether a key is new at a time, in seconds since 1970, and remembers it.
    ///
    /// Only filters with a window that is measured in seconds use the time. Their clock never
    /// runs backwards: a key that comes late counts at the present step, so it is remembered
    /// longer and never shorter. A time that is more than a window ahead counts at the present
    /// step, unless it is the first one or agrees with the one before it.
    ///
    /// ```
    /// use dedupstore::SeenSet;
    ///
    /// let mut seen = SeenSet::builder("window:span=604800")?.memory("1MiB").build()?;
    /// let (monday, day) = (1_792_000_000, 86_400);
    /// assert!(seen.observe_at("https://harbour.example/", monday).is_new());
    /// assert!(seen.observe_at("https://harbour.example/", monday + 6 * day).is_seen());
    /// assert!(seen.observe_at("https://harbour.example/", monday + 8 * day).is_new());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn observe_at(&mut self, key: impl AsRef<[u8]>, seconds: u64) -> Verdict {
        self.observe_one(Observation {
            fingerprint: self.hasher.fingerprint(key.as_ref()),
            tick: tick_of(seconds),
            importance: 0,
        })
    }

    /// Reports whether a key would be new at a time, in seconds since 1970. A time before the
    /// present step means the present step. Changes nothing.
    pub fn contains_at(&self, key: impl AsRef<[u8]>, seconds: u64) -> Verdict {
        let fingerprint = self.hasher.fingerprint(key.as_ref());
        let tick = tick_of(seconds);
        let region = self.filter.filter_bytes(&self.region);
        self.filter()
            .contains_at(region, &self.registers, fingerprint, tick)
    }

    /// Moves the clock of the window to a time, in seconds since 1970, that is known to be right:
    /// without confirmation, however far ahead. Takes effect with the next observation.
    pub fn advance_clock(&mut self, seconds: u64) {
        self.time.advance(tick_of(seconds));
    }

    /// Tells the set the time of the machine, in seconds since 1970; the set itself has no clock.
    /// A time of an observation that is more than a day after it then counts at the present step.
    pub fn set_machine_time(&mut self, seconds: u64) {
        self.machine_seconds = Some(tick_of(seconds));
    }

    /// Returns how the times of observations were handled.
    pub fn clock_report(&self) -> ClockReport {
        self.time.report()
    }

    /// Removes a key that was reported New, if the filter can; see [`AnyFilter::forget`].
    /// Returns Seen if the key was there.
    pub fn forget(&mut self, key: impl AsRef<[u8]>) -> Result<Verdict, CannotForget> {
        self.forget_fingerprint(self.hasher.fingerprint(key.as_ref()))
    }

    /// Does what [`forget`](SeenSet::forget) does, for a key that is already hashed by the set's
    /// [hasher](SeenSet::hasher).
    pub fn forget_fingerprint(
        &mut self,
        fingerprint: Fingerprint,
    ) -> Result<Verdict, CannotForget> {
        self.filter
            .forget(&mut *self.region, &mut self.registers, fingerprint)
    }

    /// Does what [`observe`](SeenSet::observe) does, for a key that is already hashed by the
    /// set's [hasher](SeenSet::hasher).
    pub fn observe_fingerprint(&mut self, fingerprint: Fingerprint) -> Verdict {
        self.observe_one(fingerprint.into())
    }

    /// Does what [`contains`](SeenSet::contains) does, for a key that is already hashed by
    /// the set's [hasher](SeenSet::hasher).
    pub fn contains_fingerprint(&self, fingerprint: Fingerprint) -> Verdict {
        self.filter
            .contains(self.region.bytes(), &self.registers, fingerprint)
    }

    /// Observes a hashed key with its time and importance.
    pub fn observe_one(&mut self, observation: Observation) -> Verdict {
        let mut verdict = [Verdict::New];
        self.observe_batch(&[observation], &mut verdict);
        verdict[0]
    }

    /// Observes many keys in order. Several times faster than one by one, because the
    /// memory accesses of a batch overlap.
    ///
    /// # Panics
    /// If the two slices differ in length.
    pub fn observe_batch(&mut self, observations: &[Observation], verdicts: &mut [Verdict]) {
        let (filter, region) = (&self.filter, &mut *self.region);
        if !self.time.is_needed() {
            return filter.observe_batch(
                region,
                &mut self.registers,
                observations,
                verdicts,
                self.threads.as_mut(),
            );
        }
        let machine = self.machine_seconds;
        let runs = self
            .time
            .runs(self.registers.clock(), || machine, observations);
        let mut from = 0;
        for run in &runs {
            let (observed, verdicts) = (&observations[from..run.end], &mut verdicts[from..run.end]);
            self.registers.advance_clock(run.step);
            filter.observe_batch(
                region,
                &mut self.registers,
                observed,
                verdicts,
                self.threads.as_mut(),
            );
            from = run.end;
        }
        self.time.reuse(runs);
    }

    /// Hashes many keys and observes them in order, both with all [threads](SeenSetBuilder::threads).
    ///
    /// ```
    /// use dedupstore::{SeenSet, Verdict};
    ///
    /// let mut seen = SeenSet::builder("blocked")?.memory("1MiB").threads(2).build()?;
    /// let urls = ["https://harbour.example/", "https://quay.example/", "https://harbour.example/"];
    /// let mut verdicts = [Verdict::New; 3];
    /// seen.observe_keys(&urls, &mut verdicts);
    /// assert_eq!(verdicts, [Verdict::New, Verdict::New, Verdict::Seen]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Panics
    /// If the two slices differ in length.
    pub fn observe_keys<K: AsRef<[u8]> + Sync>(&mut self, keys: &[K], verdicts: &mut [Verdict]) {
        assert_eq!(keys.len(), verdicts.len());
        let mut hashed = std::mem::take(&mut self.hashed);
        let length = HashedKeys::batch_length(self.threads.as_ref());
        for (keys, verdicts) in keys.chunks(length).zip(verdicts.chunks_mut(length)) {
            let observations = hashed.hash(self.threads.as_ref(), self.hasher, keys);
            self.observe_batch(observations, verdicts);
        }
        self.hashed = hashed;
    }

    /// Returns the hash function of the keys.
    pub fn hasher(&self) -> KeyHasher {
        self.hasher
    }

    /// Returns the filter and its parameters.
    pub fn spec(&self) -> &FilterSpec {
        &self.spec
    }

    /// Returns the filter's geometry.
    pub fn filter(&self) -> &AnyFilter {
        self.filter.filter()
    }

    /// Returns the error rates that the audit has measured so far; None if the set has no
    /// [audit](SeenSetBuilder::audit).
    pub fn audit(&self) -> Option<AuditReport> {
        self.filter.report(&self.region, &self.registers)
    }

    /// Returns the large part of the state: the filter's bytes, then the audit's.
    pub fn region(&self) -> &[u8] {
        &self.region
    }

    /// Consumes the set and returns the large part of its state.
    pub fn into_region(self) -> M {
        self.region
    }

    /// Returns the small part of the state.
    pub fn registers(&self) -> &Registers {
        &self.registers
    }

    /// Returns the probability that the next new key is reported Seen.
    pub fn false_positive_rate(&self) -> f64 {
        self.filter().false_positive_rate(&self.registers)
    }

    /// Returns the share of cells in use, between 0 and 1.
    pub fn load(&self) -> f64 {
        self.filter().load(&self.registers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_bytes_or_a_text() {
        let bytes = |builder: SeenSetBuilder| {
            let set = builder.build().expect("small");
            set.region().len()
        };
        let builder = || SeenSet::builder("bloom:k=4").expect("a filter");
        assert_eq!(bytes(builder().memory(64 << 10)), 65_536);
        assert_eq!(bytes(builder().memory(65_536_u64)), 65_536);
        assert_eq!(bytes(builder().memory(65_536_usize)), 65_536);
        assert_eq!(bytes(builder().memory("64KiB")), 65_536);
        assert_eq!(bytes(builder().memory_bits(524_288)), 65_536);
    }

    #[test]
    fn build_reports_a_text_that_is_no_size() {
        let builder = || SeenSet::builder("bloom:k=4").expect("a filter");
        for builder in [builder().memory("64XB"), builder().audit("64XB")] {
            let error = builder.build().expect_err("no size").to_string();
            assert_eq!(
                error,
                "expected a size like 64MiB, 2GB or 65536; found `64XB`"
            );
        }
        let error = builder().memory("1KiB").audit("4GiB").build();
        assert!(matches!(error, Err(CreateError::AuditTooLarge { .. })));
    }

    #[test]
    fn a_filter_is_a_text_or_a_spec() {
        let spec: FilterSpec = "stable".parse().expect("a filter");
        let of_spec = SeenSet::builder(&spec).expect("a filter").memory("1KiB");
        let of_text = SeenSet::builder("stable").expect("a filter").memory("1KiB");
        let of_spec = of_spec.build().expect("small");
        assert_eq!(of_text.build().expect("small").spec(), of_spec.spec());
        assert!(SeenSet::builder("nonsense").is_err());
    }

    #[test]
    fn a_resumed_set_continues_where_the_earlier_one_stopped() {
        let builder = || {
            let builder = SeenSet::builder("stable").expect("a filter");
            builder.memory("1KiB").seed(7).audit("4KiB")
        };
        let mut set = builder().build().expect("small");
        assert!(set.observe("a").is_new());
        let registers = set.registers().clone();
        let mut resumed = builder()
            .resume(set.into_region(), registers)
            .expect("the same size");
        assert!(resumed.observe("a").is_seen());
        assert_eq!(resumed.audit().map(|audit| audit.one_in), Some(1));
        let short = builder().resume(vec![0; 7], Registers::new(7));
        assert!(matches!(short, Err(CreateError::RegionLength { .. })));
    }
}
