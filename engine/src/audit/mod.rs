//! Measures the errors of a filter: exact records of a sample of its keys.
//!
//! Keys are chosen by their fingerprint, so all occurrences of a key are in the sample or none.
//! For each sampled key the table records whether its first occurrence was a false positive, how
//! often the key occurred again, and how many of these repeats were reported as New. When the
//! table is full, every second key is removed with all its counts. So the table is always a
//! uniform sample of all keys since the beginning.
//!
//! If the filter has a window, a key is a repeat if and only if the filter delivered it (said New)
//! within the span. The table then records the step of the last delivery, because a log records
//! steps and no times, and how often the key was new.
//!
//! The table follows the filter's bytes in the same region: it is stored, replayed and compared
//! with them.
//!
//! **Invariant:** the sample never depends on the filter's verdicts.

mod estimate;
mod record;
mod retain;
mod table;

pub use estimate::{AuditReport, Distinct, Estimate, Totals};
#[doc(hidden)]
pub use table::AuditTable;

use std::ops::Range;

use record::JudgedKey;

use crate::filter::{
    Alignment, AnyFilter, BuildError, CannotForget, ClockKind, FilterSpec, LoggedObservations,
    Observation, Registers, SampleMask, Threads, Verdict, WindowClock, digest_of_parts,
};
use crate::fingerprint::Fingerprint;
use crate::region::{Region, SubRegion};

/// A filter and, after it in the same region, the audit of its verdicts.
#[derive(Clone, Debug)]
#[doc(hidden)]
pub struct AuditedFilter {
    filter: AnyFilter,
    audit: Option<AuditTable>,
}

impl AuditedFilter {
    /// Builds the filter of a spec with an audit of `audit_bytes`; without one if that is 0.
    pub fn build(
        spec: &FilterSpec,
        memory_bits: u64,
        audit_bytes: u32,
    ) -> Result<Self, BuildError> {
        let filter = AnyFilter::build(spec, memory_bits)?;
        Ok(AuditedFilter {
            audit: AuditTable::of(audit_bytes, filter.window()),
            filter,
        })
    }

    /// Returns the default size of an audit: a sixteenth of the filter's memory, at most enough for
    /// about 25,000 keys.
    pub fn default_audit_bytes(memory_bits: u64) -> u32 {
        (memory_bits / 8 / 16).clamp(4 << 10, 768 << 10) as u32
    }

    /// Returns the filter without the audit.
    pub fn filter(&self) -> &AnyFilter {
        &self.filter
    }

    /// Returns the size of the filter and the audit together.
    pub fn region_bytes(&self) -> usize {
        match &self.audit {
            None => self.filter.region_bytes(),
            Some(table) => self.audit_start() + table.bytes(),
        }
    }

    /// Returns the offset of the audit, which starts a cache line.
    fn audit_start(&self) -> usize {
        self.filter.region_bytes().next_multiple_of(64)
    }

    /// Returns the filter's part of a region.
    pub fn filter_bytes<'a>(&self, region: &'a [u8]) -> &'a [u8] {
        &region[..self.filter.region_bytes()]
    }

    /// Decides whether a key is new, without recording it.
    pub fn contains(
        &self,
        region: &[u8],
        registers: &Registers,
        fingerprint: Fingerprint,
    ) -> Verdict {
        self.filter
            .contains(self.filter_bytes(region), registers, fingerprint)
    }

    /// Observes in order; see [`AnyFilter::observe_batch`]. All observations count at the present
    /// step of the clock, whatever their ticks are: the caller advances it. With threads, they do
    /// it together if the region is plain memory; the result is the same.
    ///
    /// # Panics
    /// If the two slices differ in length.
    pub fn observe_batch<R: Region + ?Sized>(
        &self,
        region: &mut R,
        registers: &mut Registers,
        observations: &[Observation],
        verdicts: &mut [Verdict],
        threads: Option<&mut Threads>,
    ) {
        let Some(table) = &self.audit else {
            let none = &mut SampleMask::matching_none();
            return match (threads, region.untracked()) {
                (Some(threads), Some(plain)) => self.filter.observe_divided(
                    threads,
                    plain,
                    registers,
                    observations,
                    verdicts,
                    none,
                ),
                _ => (self.filter).observe_sampled(region, registers, observations, verdicts, none),
            };
        };
        let first = registers.observations();
        let mut steps = table
            .window()
            .map(|clock| StepCounter::new(clock, registers));
        let filter_bytes = self.filter.region_bytes();
        let mut sample = SampleMask::new(table.sample_mask(&region.bytes()[self.audit_start()..]));
        if let Some(plain) = region.untracked() {
            // The same code as without an audit, without an indirection per access.
            let filtered = &mut plain[..filter_bytes];
            let (filter, sample) = (&self.filter, &mut sample);
            match threads {
                Some(threads) => filter.observe_divided(
                    threads,
                    filtered,
                    registers,
                    observations,
                    verdicts,
                    sample,
                ),
                None => {
                    filter.observe_sampled(filtered, registers, observations, verdicts, sample);
                }
            }
        } else {
            let mut filtered = SubRegion::new(region, 0..filter_bytes);
            self.filter.observe_sampled(
                &mut filtered,
                registers,
                observations,
                verdicts,
                &mut sample,
            );
        }
        let mut audited = SubRegion::new(region, self.audit_start()..self.region_bytes());
        let judged = |index: usize, step: u64| JudgedKey {
            position: first + index as u64,
            step,
            fingerprint: observations[index].fingerprint,
            verdict: verdicts[index],
        };
        match &mut steps {
            None => table.observe(&mut audited, sample.indices().map(|at| judged(at, 0))),
            Some(steps) => {
                let judged = sample.indices().map(|at| {
                    let step = steps.step_at(at, verdicts);
                    judged(at, step)
                });
                let judged: Vec<JudgedKey> = judged.collect();
                table.observe(&mut audited, judged.iter().copied());
            }
        }
    }

    /// Observes what a log recorded; see [`AnyFilter::replay`].
    pub fn replay<R: Region + ?Sized>(
        &self,
        region: &mut R,
        registers: &mut Registers,
        recorded: &LoggedObservations,
        verdicts: &mut Vec<Verdict>,
    ) {
        let first = registers.observations();
        let mut deliveries = registers.new_count();
        let mut filtered = SubRegion::new(region, 0..self.filter.region_bytes());
        self.filter
            .replay(&mut filtered, registers, recorded, verdicts);
        if let Some(table) = &self.audit {
            let mut audited = SubRegion::new(region, self.audit_start()..self.region_bytes());
            let mask = table.sample_mask(audited.bytes());
            let mut next = first;
            let known = recorded.observations.iter().zip(&recorded.skipped_before);
            let judged = known.zip(verdicts).map(|((observation, &gap), verdict)| {
                let position = next + u64::from(gap);
                next = position + 1;
                let step = table.window().map_or(0, |clock| match clock.kind() {
                    // All observations of a frame count at its step.
                    ClockKind::Seconds => registers.clock(),
                    ClockKind::Count => position / clock.step(),
                    ClockKind::Deliveries => deliveries / clock.step(),
                });
                deliveries += u64::from(verdict.is_new());
                JudgedKey {
                    position,
                    step,
                    fingerprint: observation.fingerprint,
                    verdict: *verdict,
                }
            });
            let judged: Vec<JudgedKey> = judged.filter(|it| it.fingerprint.0 & mask == 0).collect();
            table.observe(&mut audited, judged.iter().copied());
            for &fingerprint in &recorded.forgotten {
                table.forget(&mut audited, fingerprint);
            }
        }
    }

    /// Removes a key; see [`AnyFilter::forget`].
    pub fn forget<R: Region + ?Sized>(
        &self,
        region: &mut R,
        registers: &mut Registers,
        fingerprint: Fingerprint,
    ) -> Result<Verdict, CannotForget> {
        let mut filtered = SubRegion::new(region, 0..self.filter.region_bytes());
        let verdict = self.filter.forget(&mut filtered, registers, fingerprint)?;
        if let Some(table) = self.audit.as_ref().filter(|_| verdict.is_seen()) {
            let mut audited = SubRegion::new(region, self.audit_start()..self.region_bytes());
            table.forget(&mut audited, fingerprint);
        }
        Ok(verdict)
    }

    /// Turns the state into that of a filter which has observed the keys of both; see
    /// [`AnyFilter::merge`]. Only the sizes of the audits may differ.
    pub fn merge(
        &self,
        region: &mut [u8],
        registers: &mut Registers,
        other: (&AuditedFilter, &[u8], &Registers),
    ) -> Result<(), &'static str> {
        let (other, other_region, other_registers) = other;
        let position = registers.observations();
        let shifts = match self.filter.window() {
            Some(clock) => Alignment::of(clock, registers, other_registers).shifts,
            None => [0; 2],
        };
        let (filtered, audited) = region.split_at_mut(self.filter.region_bytes());
        self.filter.merge(
            filtered,
            registers,
            other.filter_bytes(other_region),
            other_registers,
        )?;
        match (&self.audit, &other.audit) {
            (None, None) => Ok(()),
            (Some(table), Some(other_table)) => {
                let audited = &mut audited[self.audit_start() - self.filter.region_bytes()..];
                let other_bytes = &other_region[other.audit_start()..];
                table.merge(audited, other_table, other_bytes, position, shifts);
                Ok(())
            }
            _ => Err("one of the two was created with an audit and the other without"),
        }
    }

    /// Returns which observations a log must record so that replaying it gives the same state.
    pub fn log_policy(&self, region: &[u8]) -> LogPolicy {
        if !self.filter.seen_leaves_state_unchanged() {
            return LogPolicy::new(0);
        }
        let audited = self.audit.as_ref().map(|table| {
            let bytes = &region[self.audit_start()..];
            table.sample_mask(bytes)
        });
        LogPolicy::new(audited.unwrap_or(u64::MAX))
    }

    /// Returns the position of the audit in the region; None if there is none.
    pub fn audit_range(&self) -> Option<Range<usize>> {
        self.audit
            .as_ref()
            .map(|_| self.audit_start()..self.region_bytes())
    }

    /// Returns a digest of the whole state: that of [`state_digest`](crate::state_digest), if the
    /// filter uses its whole region. Otherwise the part that it never used is left out.
    pub fn state_digest(&self, region: &[u8], registers: &Registers) -> u64 {
        let used = self.filter.used_bytes(registers);
        match used < self.filter.region_bytes() {
            false => digest_of_parts(&[region], registers),
            true => {
                let audit = self.audit_range().map(|range| &region[range]);
                digest_of_parts(&[&region[..used], audit.unwrap_or_default()], registers)
            }
        }
    }

    /// Returns the results of the audit; None if there is none.
    pub fn report(&self, region: &[u8], registers: &Registers) -> Option<AuditReport> {
        self.report_of_audit(&region[self.audit_range()?], registers)
    }

    /// Returns the same as [`report`](AuditedFilter::report), given only the bytes of the audit.
    pub fn report_of_audit(&self, audit: &[u8], registers: &Registers) -> Option<AuditReport> {
        let table = self.audit.as_ref()?;
        Some(AuditReport::of(table, audit, registers.into()))
    }
}

/// Returns the steps at which observations of a batch counted.
struct StepCounter {
    clock: WindowClock,
    /// The present step, if the clock counts seconds.
    present: u64,
    /// The number of the next observation of the batch.
    next: usize,
    position: u64,
    deliveries: u64,
}

impl StepCounter {
    /// Returns a counter for the batch that follows the state of the registers.
    fn new(clock: &WindowClock, registers: &Registers) -> Self {
        StepCounter {
            clock: *clock,
            present: registers.clock(),
            next: 0,
            position: registers.observations(),
            deliveries: registers.new_count(),
        }
    }

    /// Returns the step of an observation. Indices must not fall.
    fn step_at(&mut self, index: usize, verdicts: &[Verdict]) -> u64 {
        match self.clock.kind() {
            // All observations of a batch count at the present step.
            ClockKind::Seconds => self.present,
            ClockKind::Count => (self.position + index as u64) / self.clock.step(),
            ClockKind::Deliveries => {
                let new = verdicts[self.next..index].iter().filter(|it| it.is_new());
                self.deliveries += new.count() as u64;
                self.next = index;
                self.deliveries / self.clock.step()
            }
        }
    }
}

/// Decides which observations a log must record in full: those that change more than counts. A
/// policy taken before a batch holds for the whole batch, because the sample only shrinks.
#[derive(Clone, Copy, Debug)]
#[doc(hidden)]
pub struct LogPolicy {
    /// A Seen key must be recorded if none of these bits of its fingerprint is set.
    seen_mask: u64,
}

impl LogPolicy {
    /// Returns the policy that records New keys, and Seen keys whose fingerprint has none of these
    /// bits.
    pub fn new(seen_mask: u64) -> Self {
        LogPolicy { seen_mask }
    }

    /// Whether an observation must be recorded in full.
    #[inline(always)]
    pub fn must_log(self, fingerprint: Fingerprint, verdict: Verdict) -> bool {
        (verdict == Verdict::New) | (fingerprint.0 & self.seen_mask == 0)
    }
}
