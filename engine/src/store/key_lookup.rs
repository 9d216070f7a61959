//! Looking up keys without loading a whole store.

use std::fmt;

use super::create::CreateOptions;
use super::error::StoreError;
use super::format::image::check_table;
use super::format::mark::Mark;
use super::format::superblock::{Parameters, Superblock};
use super::lazy_region::LazyRegion;
use super::medium::Medium;
use super::newest_image::filter_of;
use super::replay::replay;
use super::snapshot::{ATTEMPTS, newest_superblock_with_retries};
use crate::filter::{
    AnyFilter, ClockReport, Evidence, FilterSpec, LoggedObservations, Observation, ObservationTime,
    Registers, SampleMask, Verdict, tick_of,
};
use crate::fingerprint::{Fingerprint, KeyHasher};
use crate::region::{Region, SubRegion};

/// A store's state for looking up keys: at least everything that was durable when it was opened.
/// Takes no lock and writes nothing.
///
/// It answers as the recovered store would, but reads only the blocks that a key needs, each
/// checked by its checksum, and the blocks that the observations in the log need. After many keys
/// it loads the rest. A filter whose log can be replayed only as a whole is loaded at once, if
/// there is something in its log.
///
/// A writer may have the store open. When the writer replaces the image, the lookup continues
/// from the newest state.
pub struct KeyLookup<M> {
    medium: M,
    state: State,
    hasher: KeyHasher,
    time: ObservationTime,
}

impl<M: Medium> KeyLookup<M> {
    /// Reads the newest superblock from a medium and replays the log.
    pub fn open_on(medium: M) -> Result<Self, StoreError> {
        let state = State::current(&medium)?;
        Ok(KeyLookup {
            hasher: KeyHasher::new(state.superblock.parameters.seed),
            time: ObservationTime::new(state.filter.tick_clock()),
            state,
            medium,
        })
    }

    /// Reports whether a key was observed.
    pub fn contains(&mut self, key: impl AsRef<[u8]>) -> Result<Verdict, StoreError> {
        self.contains_fingerprint(self.hasher.fingerprint(key.as_ref()))
    }

    /// [`contains`](KeyLookup::contains) for a key that is already hashed by the store's
    /// [hasher](KeyLookup::hasher).
    pub fn contains_fingerprint(
        &mut self,
        fingerprint: Fingerprint,
    ) -> Result<Verdict, StoreError> {
        if !self.state.region.is_complete() {
            self.load_evidence(fingerprint)?;
        }
        let State {
            filter,
            region,
            registers,
            ..
        } = &self.state;
        let bytes = &region.bytes()[..filter.region_bytes()];
        Ok(filter.contains(bytes, registers, fingerprint))
    }

    /// Reports whether a key would be seen at a time, in seconds since 1970. A time before the
    /// present step means the present step.
    pub fn contains_at(
        &mut self,
        key: impl AsRef<[u8]>,
        seconds: u64,
    ) -> Result<Verdict, StoreError> {
        let fingerprint = self.hasher.fingerprint(key.as_ref());
        // Later, the filter reads a part of what it reads now.
        self.load_evidence(fingerprint)?;
        let State {
            filter,
            region,
            registers,
            ..
        } = &self.state;
        let bytes = &region.bytes()[..filter.region_bytes()];
        Ok(filter.contains_at(bytes, registers, fingerprint, tick_of(seconds)))
    }

    /// Returns the step in which a key will be forgotten that is reported as Seen now; see
    /// [`AnyFilter::forgotten_at_step`].
    pub fn forgotten_at_step(
        &mut self,
        fingerprint: Fingerprint,
    ) -> Result<Option<u64>, StoreError> {
        self.load_evidence(fingerprint)?;
        let State {
            filter,
            region,
            registers,
            ..
        } = &self.state;
        let bytes = &region.bytes()[..filter.region_bytes()];
        Ok(filter.forgotten_at_step(bytes, registers, fingerprint))
    }

    /// Returns the cells that decide about a key.
    pub fn evidence(&mut self, fingerprint: Fingerprint) -> Result<Evidence, StoreError> {
        self.load_evidence(fingerprint)
    }

    /// Returns false if the filter cannot have forgotten a key that is reported as New; see
    /// [`AnyFilter::may_have_forgotten`].
    pub fn may_have_forgotten(&mut self, fingerprint: Fingerprint) -> Result<bool, StoreError> {
        // It depends on the cells of the key and on those next to them, which are in the same
        // blocks.
        self.load_evidence(fingerprint)?;
        let State {
            filter,
            region,
            registers,
            ..
        } = &self.state;
        let bytes = &region.bytes()[..filter.region_bytes()];
        Ok(filter.may_have_forgotten(bytes, registers, fingerprint))
    }

    fn load_evidence(&mut self, fingerprint: Fingerprint) -> Result<Evidence, StoreError> {
        let mut attempt = 0;
        loop {
            let error = match self.state.load_evidence(&self.medium, fingerprint) {
                Ok(evidence) => return Ok(evidence),
                Err(error) => error,
            };
            attempt += 1;
            if attempt == ATTEMPTS || !self.is_replaced(&error)? {
                return Err(error);
            }
            self.state = State::current(&self.medium)?;
            self.move_clock();
        }
    }

    /// Moves the clock to the step that it was advanced to.
    fn move_clock(&mut self) {
        if self.time.is_needed() {
            let step = self.time.step_of(0);
            self.state.registers.advance_clock(step);
        }
    }

    /// Returns whether an error means that a writer has replaced the image.
    fn is_replaced(&self, error: &StoreError) -> Result<bool, StoreError> {
        Ok(matches!(error, StoreError::Corrupt(_))
            && newest_superblock_with_retries(&self.medium)? != self.state.superblock)
    }

    /// Decides as the store would if it observed these keys now, and remembers them in memory
    /// only. Fails with [`StoreError::ImageReplaced`] if a writer has replaced the image, because
    /// the keys remembered would be lost.
    ///
    /// # Panics
    /// If the two slices differ in length.
    pub fn observe_unrecorded(
        &mut self,
        observations: &[Observation],
        verdicts: &mut [Verdict],
    ) -> Result<(), StoreError> {
        assert_eq!(observations.len(), verdicts.len());
        let present = self.state.registers.clock();
        let machine = || Some(tick_of(self.medium.unix_seconds()));
        let runs = self.time.runs(present, machine, observations);
        let mut from = 0;
        let mut observed = Ok(());
        for run in &runs {
            let range = from..run.end;
            from = run.end;
            let verdicts = &mut verdicts[range.clone()];
            self.state.registers.advance_clock(run.step);
            observed = self
                .state
                .observe(&self.medium, &observations[range], verdicts);
            if observed.is_err() {
                break;
            }
        }
        self.time.reuse(runs);
        match observed {
            Err(error) if self.is_replaced(&error)? => Err(StoreError::ImageReplaced),
            observed => observed,
        }
    }

    /// Moves the clock of the window to a time, in seconds since 1970: keys are looked up as of
    /// then. Filters without a window that is measured in seconds ignore it.
    pub fn advance_clock(&mut self, seconds: u64) {
        self.time.advance(tick_of(seconds));
        self.move_clock();
    }

    /// Returns how the times of [`observe_unrecorded`](KeyLookup::observe_unrecorded) were handled.
    pub fn clock_report(&self) -> ClockReport {
        self.time.report()
    }

    /// Checks that the store agrees with every option that is set.
    pub fn check_agreement(&self, options: &CreateOptions) -> Result<(), StoreError> {
        options.check_agreement(&self.state.superblock)
    }

    /// Returns the hasher of its keys.
    pub fn hasher(&self) -> KeyHasher {
        self.hasher
    }

    /// Returns the specification of its filter.
    pub fn spec(&self) -> &FilterSpec {
        &self.state.spec
    }

    /// Returns its filter.
    pub fn filter(&self) -> &AnyFilter {
        &self.state.filter
    }

    /// Returns what was chosen when the store was created.
    pub fn parameters(&self) -> &Parameters {
        &self.state.superblock.parameters
    }

    /// Returns the limit of the false positive rate with which the store was created.
    pub fn max_fpr(&self) -> Option<f64> {
        self.state.superblock.max_fpr
    }

    /// Returns the small part of the state: counters and the random generator.
    pub fn registers(&self) -> &Registers {
        &self.state.registers
    }

    /// Returns the share of cells in use.
    pub fn load(&self) -> f64 {
        self.filter().load(self.registers())
    }

    /// Returns the probability that the next new key is reported as Seen.
    pub fn false_positive_rate(&self) -> f64 {
        self.filter().false_positive_rate(self.registers())
    }
}

impl<M> fmt::Debug for KeyLookup<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyLookup")
            .field("filter", &self.state.superblock.parameters.filter)
            .field("sequence", &self.state.registers.sequence())
            .finish_non_exhaustive()
    }
}

/// An image that is loaded when it is needed, with the log applied. The audit is left out: no
/// verdict depends on it.
struct State {
    superblock: Superblock,
    spec: FilterSpec,
    filter: AnyFilter,
    region: LazyRegion,
    registers: Registers,
}

impl State {
    /// Reads the newest state. Tries again if a writer may have changed files meanwhile.
    fn current(medium: &impl Medium) -> Result<Self, StoreError> {
        let mut before = None;
        let mut attempt = 0;
        loop {
            attempt += 1;
            let damage = match Self::read(medium) {
                Err(StoreError::Corrupt(damage)) => damage,
                read => return read,
            };
            let generation = newest_superblock_with_retries(medium)?.generation;
            let found = Some((generation, damage.clone()));
            if found == before || attempt == ATTEMPTS {
                return Err(StoreError::Corrupt(damage));
            }
            before = found;
        }
    }

    fn read(medium: &impl Medium) -> Result<Self, StoreError> {
        let superblock = newest_superblock_with_retries(medium)?;
        let (spec, filter) = filter_of(&superblock)?;
        check_table(medium, &superblock)?;
        let mark = Mark::read(medium, &superblock.store_id)?;
        let mut state = State {
            region: LazyRegion::new(&superblock)?,
            registers: superblock.registers.clone(),
            filter: filter.filter().clone(),
            spec,
            superblock,
        };
        let (id, layout, log) = {
            let superblock = &state.superblock;
            (superblock.store_id, superblock.layout, superblock.log)
        };
        let mut failure = None;
        let mut verdicts = Vec::new();
        let replayed = replay(medium, &id, &layout, log, &mark, |recorded| {
            if failure.is_none() {
                failure = state.replay(medium, recorded, &mut verdicts).err();
            }
        });
        match (failure, replayed) {
            (Some(error), _) => Err(error),
            (None, Ok(_)) => Ok(state),
            // A writer is writing the tail right now.
            (None, Err(StoreError::Corrupt(_))) if state.registers.sequence() >= mark.sequence => {
                Ok(state)
            }
            (None, Err(error)) => Err(error),
        }
    }

    fn replay(
        &mut self,
        medium: &impl Medium,
        recorded: &LoggedObservations,
        verdicts: &mut Vec<Verdict>,
    ) -> Result<(), StoreError> {
        self.prepare(medium, &recorded.observations)?;
        let forgotten: Vec<Observation> = recorded.forgotten.iter().map(|&it| it.into()).collect();
        self.prepare(medium, &forgotten)?;
        let bytes = self.filter.region_bytes();
        let mut loading = self.region.loading(medium, &self.superblock);
        let mut region = SubRegion::new(&mut loading, 0..bytes);
        self.filter
            .replay(&mut region, &mut self.registers, recorded, verdicts);
        self.region.take_failure().map_or(Ok(()), Err)
    }

    /// Loads what a filter reads to observe these keys.
    fn prepare(
        &mut self,
        medium: &impl Medium,
        observations: &[Observation],
    ) -> Result<(), StoreError> {
        if !self.filter.observe_reads_only_evidence() && !observations.is_empty() {
            return self.region.load_all(medium, &self.superblock);
        }
        for observation in observations {
            if self.region.is_complete() {
                break;
            }
            self.load_evidence(medium, observation.fingerprint)?;
        }
        Ok(())
    }

    fn load_evidence(
        &mut self,
        medium: &impl Medium,
        fingerprint: Fingerprint,
    ) -> Result<Evidence, StoreError> {
        let (filter, registers) = (&self.filter, &self.registers);
        let bytes = filter.region_bytes();
        self.region
            .loading(medium, &self.superblock)
            .load_evidence(|region| filter.evidence(&region[..bytes], registers, fingerprint))
    }

    /// Observes keys at the present step.
    fn observe(
        &mut self,
        medium: &impl Medium,
        observations: &[Observation],
        verdicts: &mut [Verdict],
    ) -> Result<(), StoreError> {
        self.prepare(medium, observations)?;
        let (filter, bytes) = (&self.filter, self.filter.region_bytes());
        let none = &mut SampleMask::matching_none();
        let mut loading = self.region.loading(medium, &self.superblock);
        match loading.untracked() {
            Some(plain) => {
                let region = &mut plain[..bytes];
                filter.observe_sampled(region, &mut self.registers, observations, verdicts, none);
            }
            None => {
                let mut region = SubRegion::new(&mut loading, 0..bytes);
                let registers = &mut self.registers;
                filter.observe_sampled(&mut region, registers, observations, verdicts, none);
            }
        }
        self.region.take_failure().map_or(Ok(()), Err)
    }
}
