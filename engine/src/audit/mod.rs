//! A filter that knows its own error: exact truth for a sample of its keys.
//!
//! Keys are chosen by their fingerprint, so a key is in the sample at every occurrence or
//! at none. For each one chosen the table holds whether it was dropped when it first came,
//! how often it came again and how often that was missed. When the table is full, every
//! second key leaves the sample, with all that was counted for it; so at any moment the
//! sample is a fair one of all keys met since the beginning.
//!
//! The table lies behind the filter's bytes in the same region: it is stored, replayed
//! and compared with them.
//!
//! **Invariant:** the sample never depends on what the filter said.

mod estimate;
mod table;

pub use estimate::{AuditReport, Distinct, Estimate, Totals};
pub use table::AuditTable;

use std::ops::Range;

use crate::filter::{
    AnyFilter, BuildError, CannotForget, FilterSpec, Observation, Recorded, Registers, Verdict,
};
use crate::fingerprint::Fingerprint;
use crate::region::{Part, Region};

/// How many keys are told at once, without a branch for each, to be outside the sample.
const SIFTED: usize = 64;

/// A filter and, behind it in the same region, the audit of its verdicts.
#[derive(Clone, Debug)]
pub struct AuditedFilter {
    filter: AnyFilter,
    audit: Option<AuditTable>,
}

impl AuditedFilter {
    /// The filter of a spec with an audit of `audit_bytes`; with none if that is 0.
    pub fn build(
        spec: &FilterSpec,
        memory_bits: u64,
        audit_bytes: u32,
    ) -> Result<Self, BuildError> {
        Ok(AuditedFilter {
            filter: AnyFilter::build(spec, memory_bits)?,
            audit: AuditTable::of(audit_bytes),
        })
    }

    /// The bytes that an audit is given if nothing else is said: a sixteenth of the filter's
    /// memory, and not more than some twenty-five thousand keys need.
    pub fn default_audit_bytes(memory_bits: u64) -> u32 {
        (memory_bits / 8 / 16).clamp(4 << 10, 768 << 10) as u32
    }

    /// The filter alone.
    pub fn filter(&self) -> &AnyFilter {
        &self.filter
    }

    /// How long the filter's and the audit's bytes are together.
    pub fn region_bytes(&self) -> usize {
        match &self.audit {
            None => self.filter.region_bytes(),
            Some(table) => self.audit_start() + table.bytes(),
        }
    }

    /// On a cache line of its own.
    fn audit_start(&self) -> usize {
        self.filter.region_bytes().next_multiple_of(64)
    }

    /// The filter's share of a region.
    pub fn filter_bytes<'a>(&self, region: &'a [u8]) -> &'a [u8] {
        &region[..self.filter.region_bytes()]
    }

    /// Whether a key was met before; nothing is remembered.
    pub fn contains(
        &self,
        region: &[u8],
        registers: &Registers,
        fingerprint: Fingerprint,
    ) -> Verdict {
        self.filter
            .contains(self.filter_bytes(region), registers, fingerprint)
    }

    /// Observes in order; see [`AnyFilter::observe_batch`].
    ///
    /// # Panics
    /// If the two slices differ in length.
    pub fn observe_batch<R: Region + ?Sized>(
        &self,
        region: &mut R,
        registers: &mut Registers,
        observations: &[Observation],
        verdicts: &mut [Verdict],
    ) {
        let Some(table) = &self.audit else {
            return self
                .filter
                .observe_batch(region, registers, observations, verdicts);
        };
        let first = registers.observations();
        let filter_bytes = self.filter.region_bytes();
        if let Some(plain) = region.plain() {
            // The same code as without an audit, and no detour an access.
            let filtered = &mut plain[..filter_bytes];
            self.filter
                .observe_batch(filtered, registers, observations, verdicts);
        } else {
            let mut filtered = Part::new(region, 0..filter_bytes);
            self.filter
                .observe_batch(&mut filtered, registers, observations, verdicts);
        }
        let mut audited = Part::new(region, self.audit_start()..self.region_bytes());
        let mut mask = table.sample_mask(audited.bytes());
        let chunks = observations.chunks(SIFTED).zip(verdicts.chunks(SIFTED));
        for (at, (observations, verdicts)) in (first..).step_by(SIFTED).zip(chunks) {
            let sampled = |any, o: &Observation| any | (o.fingerprint.0 & mask == 0);
            if observations.iter().fold(false, sampled) {
                let judged = (at..).zip(observations.iter().zip(verdicts));
                table.observe(
                    &mut audited,
                    judged.map(|(at, (o, &v))| (at, o.fingerprint, v)),
                );
                mask = table.sample_mask(audited.bytes());
            }
        }
    }

    /// Observes what a log holds; see [`AnyFilter::observe_recorded`].
    pub fn observe_recorded<R: Region + ?Sized>(
        &self,
        region: &mut R,
        registers: &mut Registers,
        recorded: &Recorded,
        verdicts: &mut Vec<Verdict>,
    ) {
        let first = registers.observations();
        let mut filtered = Part::new(region, 0..self.filter.region_bytes());
        self.filter
            .observe_recorded(&mut filtered, registers, recorded, verdicts);
        if let Some(table) = &self.audit {
            let mut audited = Part::new(region, self.audit_start()..self.region_bytes());
            let mut next = first;
            let known = recorded.observations.iter().zip(&recorded.gaps);
            let judged = known.zip(verdicts).map(|((observation, &gap), verdict)| {
                let at = next + u64::from(gap);
                next = at + 1;
                (at, observation.fingerprint, *verdict)
            });
            table.observe(&mut audited, judged);
        }
    }

    /// Takes a key out; see [`AnyFilter::forget`].
    pub fn forget<R: Region + ?Sized>(
        &self,
        region: &mut R,
        registers: &mut Registers,
        fingerprint: Fingerprint,
    ) -> Result<Verdict, CannotForget> {
        let mut filtered = Part::new(region, 0..self.filter.region_bytes());
        let verdict = self.filter.forget(&mut filtered, registers, fingerprint)?;
        if let Some(table) = &self.audit {
            let mut audited = Part::new(region, self.audit_start()..self.region_bytes());
            table.forget(&mut audited, fingerprint);
        }
        Ok(verdict)
    }

    /// Makes the state that of a filter which has met what either of two has; see
    /// [`AnyFilter::unite`]. Both are of one kind but for the length of their audit.
    pub fn unite(
        &self,
        region: &mut [u8],
        registers: &mut Registers,
        other: (&AuditedFilter, &[u8], &Registers),
    ) -> Result<(), &'static str> {
        let (other, other_region, other_registers) = other;
        let position = registers.observations();
        let (filtered, audited) = region.split_at_mut(self.filter.region_bytes());
        self.filter.unite(
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
                table.unite(audited, other_table, other_bytes, position);
                Ok(())
            }
            _ => Err("one of the two was made with an audit and the other without"),
        }
    }

    /// Which observations must be known to come to the same state again.
    pub fn trace(&self, region: &[u8]) -> Trace {
        if !self.filter.seen_leaves_no_trace() {
            return Trace::new(0);
        }
        let audited = self.audit.as_ref().map(|table| {
            let bytes = &region[self.audit_start()..];
            table.sample_mask(bytes)
        });
        Trace::new(audited.unwrap_or(u64::MAX))
    }

    /// Where the audit lies in the region, if there is one.
    pub fn audit_range(&self) -> Option<Range<usize>> {
        self.audit
            .as_ref()
            .map(|_| self.audit_start()..self.region_bytes())
    }

    /// What the audit has found, if there is one.
    pub fn report(&self, region: &[u8], registers: &Registers) -> Option<AuditReport> {
        self.report_of_audit(&region[self.audit_range()?], registers)
    }

    /// [`report`](AuditedFilter::report) from the audit's bytes alone.
    pub fn report_of_audit(&self, audit: &[u8], registers: &Registers) -> Option<AuditReport> {
        let table = self.audit.as_ref()?;
        Some(AuditReport::of(table, audit, registers.into()))
    }
}

/// Tells the observations that change more than counts from those that do not. Taken
/// before a batch it holds for all of it, as the sample only ever shrinks.
#[derive(Clone, Copy, Debug)]
pub struct Trace {
    /// A Seen key leaves a trace if none of these bits of its fingerprint is set.
    seen_mask: u64,
}

impl Trace {
    /// Besides New keys, those whose fingerprint has none of these bits.
    pub fn new(seen_mask: u64) -> Self {
        Trace { seen_mask }
    }

    /// Whether an observation must be known.
    #[inline(always)]
    pub fn is_left_by(self, fingerprint: Fingerprint, verdict: Verdict) -> bool {
        (verdict == Verdict::New) | (fingerprint.0 & self.seen_mask == 0)
    }
}
