//! Methods of [`AnyFilter`]: each dispatches to the concrete filter.
//!
//! A batch is dispatched once. Inside, the compiler sees one concrete filter and one concrete
//! region, so choosing the filter at run time costs nothing per observation.

use std::borrow::Cow;

use super::batch;
use super::sample_mask::SampleMask;
use super::{
    AnyFilter, BuildError, CannotForget, CellLayout, ClockKind, Evidence, Filter, FilterSpec,
    LoggedObservations, MAX_MEMORY_BITS, MIN_MEMORY_BITS, Needs, Observation, PossibleErrors,
    Registers, Verdict, WindowClock,
};
use crate::fingerprint::Fingerprint;
use crate::region::Region;

impl AnyFilter {
    /// Builds the filter of a spec in a memory of `memory_bits`.
    pub fn build(spec: &FilterSpec, memory_bits: u64) -> Result<Self, BuildError> {
        if memory_bits < MIN_MEMORY_BITS {
            return Err(BuildError::TooSmall {
                filter: spec.to_string(),
                memory_bits,
                minimum_bits: MIN_MEMORY_BITS,
            });
        }
        let maximum_bits = MAX_MEMORY_BITS.min((isize::MAX as u64).saturating_mul(8));
        if memory_bits > maximum_bits {
            return Err(BuildError::TooLarge {
                filter: spec.to_string(),
                memory_bits,
                maximum_bits,
            });
        }
        super::build(spec, memory_bits)
    }

    /// Returns the size of the region.
    pub fn region_bytes(&self) -> usize {
        dispatch!(self, f => f.region_bytes()) as usize
    }

    /// Returns how much of the region was ever used; see [`Filter::used_bytes`].
    pub fn used_bytes(&self, registers: &Registers) -> usize {
        dispatch!(self, f => f.used_bytes(registers)) as usize
    }

    /// Whether registers that were read from a file can be those of this filter.
    pub fn accepts(&self, registers: &Registers) -> bool {
        // Counts that no stream reaches would overflow.
        const MOST: u64 = 1 << 62;
        registers.new_count() <= registers.observations()
            && registers.observations() <= MOST
            && registers.forgotten() <= MOST
            && registers.occupied() <= self.cells()
            && dispatch!(self, f => f.accepts(registers))
    }

    /// Returns the number of cells.
    pub fn cells(&self) -> u64 {
        dispatch!(self, f => f.cells())
    }

    /// Returns the share of cells in use.
    pub fn load(&self, registers: &Registers) -> f64 {
        registers.occupied() as f64 / self.cells() as f64
    }

    /// Returns the present false positive rate: the probability that a key that never occurred
    /// is reported as Seen.
    pub fn false_positive_rate(&self, registers: &Registers) -> f64 {
        dispatch!(self, f => f.false_positive_rate(registers))
    }

    /// Returns the load up to which a filter that only fills should be used; None if the load
    /// settles by itself.
    pub fn comfortable_load(&self) -> Option<f64> {
        dispatch!(self, f => f.comfortable_load())
    }

    /// Whether the load is proportional to the number of keys; see
    /// [`Filter::load_is_proportional`].
    pub fn load_is_proportional(&self) -> bool {
        dispatch!(self, f => f.load_is_proportional())
    }

    /// Returns which errors it can make with its parameters. The registry's entry is about all
    /// parameters.
    pub fn possible_errors(&self) -> PossibleErrors {
        dispatch!(self, f => f.possible_errors())
    }

    /// Returns the clock of the filter's window; None if it has no window.
    pub fn window(&self) -> Option<&WindowClock> {
        dispatch!(self, f => f.window())
    }

    /// Returns what an observation must carry besides the fingerprint.
    pub fn needs(&self) -> Needs {
        dispatch!(self, f => f.needs())
    }

    /// Returns the clock if the filter's window is measured in seconds: the clock then moves with
    /// the ticks of observations.
    pub fn tick_clock(&self) -> Option<&WindowClock> {
        let clock = self.window()?;
        (clock.kind() == ClockKind::Seconds).then_some(clock)
    }

    /// Whether the filter may have forgotten this key, if it observed it; see
    /// [`Filter::may_have_forgotten`].
    pub fn may_have_forgotten(
        &self,
        region: &[u8],
        registers: &Registers,
        fingerprint: Fingerprint,
    ) -> bool {
        // What was in the cells of a key that was taken out, or what it had replaced, is unknown.
        registers.forgotten() > 0
            || dispatch!(self, f => f.may_have_forgotten(region, registers, fingerprint))
    }

    /// Counts the cells in use by reading all of them.
    pub fn recount(&self, region: &[u8]) -> u64 {
        dispatch!(self, f => f.recount(region))
    }

    /// Returns the number of cache lines that observing a new key touches.
    pub fn cache_lines_touched(&self) -> u32 {
        dispatch!(self, f => f.cache_lines_touched())
    }

    /// Decides whether a key is new, and records it.
    pub fn observe<R: Region + ?Sized>(
        &self,
        region: &mut R,
        registers: &mut Registers,
        observation: Observation,
    ) -> Verdict {
        if let Some(clock) = self.tick_clock() {
            registers.advance_clock(clock.step_of(observation.tick));
        }
        dispatch!(self, f => batch::observe_one(f, region, registers, observation))
    }

    /// Observes in order, and prefetches memory for later observations. The verdicts and the
    /// state are those of a loop over [`observe`](AnyFilter::observe).
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
        assert_eq!(observations.len(), verdicts.len());
        let mut none = SampleMask::matching_none();
        let mut from = 0;
        while from < observations.len() {
            let left = &observations[from..];
            let (step, run) = match self.tick_clock() {
                Some(clock) => clock.run(registers.clock(), left),
                None => (0, left.len()),
            };
            registers.advance_clock(step);
            let verdicts = &mut verdicts[from..from + run];
            self.observe_sampled(region, registers, &left[..run], verdicts, &mut none);
            from += run;
        }
    }

    /// Does the same as [`observe_batch`](AnyFilter::observe_batch), and collects the indices
    /// of observations that match the sample mask. All observations count at the present step,
    /// whatever their ticks are.
    ///
    /// # Panics
    /// If the two slices differ in length.
    pub(crate) fn observe_sampled<R: Region + ?Sized>(
        &self,
        region: &mut R,
        registers: &mut Registers,
        observations: &[Observation],
        verdicts: &mut [Verdict],
        sample: &mut SampleMask,
    ) {
        assert_eq!(observations.len(), verdicts.len());
        dispatch!(self, f => batch::observe(f, region, registers, observations, verdicts, sample));
    }

    /// Whether a Seen verdict changes only the counts and the generator.
    pub fn seen_leaves_state_unchanged(&self) -> bool {
        dispatch!(self, f => f.seen_leaves_state_unchanged())
    }

    /// Whether observing a key reads only its evidence; see
    /// [`Filter::observe_reads_only_evidence`].
    pub fn observe_reads_only_evidence(&self) -> bool {
        dispatch!(self, f => f.observe_reads_only_evidence())
    }

    /// Whether the verdict also depends on the observation's random draws.
    pub fn verdict_is_random(&self) -> bool {
        dispatch!(self, f => f.verdict_is_random())
    }

    /// Whether it works only on keys that are the numbers 0, 1, 2 and so on.
    pub fn requires_numeric_keys(&self) -> bool {
        dispatch!(self, f => f.requires_numeric_keys())
    }

    /// Observes what a log recorded. The state becomes the same as if all observations, skipped
    /// ones included, had been observed. `verdicts` is replaced by those of the observations
    /// recorded in full.
    ///
    /// # Panics
    /// If `observations` and `skipped_before` differ in length.
    pub fn replay<R: Region + ?Sized>(
        &self,
        region: &mut R,
        registers: &mut Registers,
        logged: &LoggedObservations,
        verdicts: &mut Vec<Verdict>,
    ) {
        assert_eq!(logged.observations.len(), logged.skipped_before.len());
        verdicts.clear();
        verdicts.resize(logged.observations.len(), Verdict::New);
        if let Some(step) = logged.step {
            registers.advance_clock(step);
        }
        dispatch!(self, f => batch::replay(f, region, registers, logged, verdicts));
        for &fingerprint in &logged.forgotten {
            self.forget_if_able(region, registers, fingerprint);
        }
    }

    /// Returns the name of the filter in the registry.
    pub fn name(&self) -> &'static str {
        dispatch!(self, f => name_of(f))
    }

    /// Whether [`forget`](AnyFilter::forget) can remove a key.
    pub fn can_forget(&self) -> bool {
        dispatch!(self, f => forgets(f))
    }

    /// Removes a key. Returns Seen if the key was found, and counts it in the registers.
    ///
    /// Only keys that were reported New may be removed. A key that was wrongly reported as Seen set
    /// no cells of its own: removing it removes the key that it was taken for, or parts of other
    /// keys. In the same way a key that shares its fingerprint with the removed one goes with it.
    pub fn forget<R: Region + ?Sized>(
        &self,
        region: &mut R,
        registers: &mut Registers,
        fingerprint: Fingerprint,
    ) -> Result<Verdict, CannotForget> {
        if !self.can_forget() {
            return Err(CannotForget::of(self));
        }
        Ok(self.forget_if_able(region, registers, fingerprint))
    }

    fn forget_if_able<R: Region + ?Sized>(
        &self,
        region: &mut R,
        registers: &mut Registers,
        fingerprint: Fingerprint,
    ) -> Verdict {
        let found = dispatch!(self, f => f.forget(region, registers, fingerprint));
        if found.is_seen() {
            registers.count_forgotten();
        }
        found
    }

    /// Describes the cells, for displaying them.
    pub fn cell_layout(&self) -> CellLayout {
        dispatch!(self, f => f.cell_layout())
    }

    /// Returns the value of every cell; see [`Filter::cell`].
    pub fn cell_values(&self, region: &[u8]) -> Vec<u64> {
        (0..self.cells())
            .map(|index| dispatch!(self, f => f.cell(region, index)))
            .collect()
    }

    /// Returns the cells that decide about a key; see [`Filter::evidence`].
    pub fn evidence(
        &self,
        region: &[u8],
        registers: &Registers,
        fingerprint: Fingerprint,
    ) -> Evidence {
        dispatch!(self, f => f.evidence(region, registers, fingerprint))
    }

    /// Returns the cells that decide about a key at a time; see
    /// [`contains_at`](AnyFilter::contains_at).
    pub fn evidence_at(
        &self,
        region: &[u8],
        registers: &Registers,
        fingerprint: Fingerprint,
        tick: u32,
    ) -> Evidence {
        self.evidence(region, &self.registers_at(registers, tick), fingerprint)
    }

    /// Turns the state into one that reports the keys of both as Seen; see [`Filter::merge`].
    pub fn merge(
        &self,
        region: &mut [u8],
        registers: &mut Registers,
        other: &[u8],
        other_registers: &Registers,
    ) -> Result<(), &'static str> {
        dispatch!(self, f => f.merge(region, registers, other, other_registers))
    }

    /// Decides whether a key would be new at a time, without recording it. The clock does not run
    /// backwards: a time before the present step means the present step. Filters without a
    /// window ignore the time.
    pub fn contains_at(
        &self,
        region: &[u8],
        registers: &Registers,
        fingerprint: Fingerprint,
        tick: u32,
    ) -> Verdict {
        self.contains(region, &self.registers_at(registers, tick), fingerprint)
    }

    /// Returns the registers after the clock has moved to a time.
    fn registers_at<'a>(&self, registers: &'a Registers, tick: u32) -> Cow<'a, Registers> {
        let Some(clock) = self.tick_clock() else {
            return Cow::Borrowed(registers);
        };
        let mut moved = registers.clone();
        moved.advance_clock(clock.step_of(tick));
        Cow::Owned(moved)
    }

    /// Decides whether a key is new, without recording it.
    pub fn contains(
        &self,
        region: &[u8],
        registers: &Registers,
        fingerprint: Fingerprint,
    ) -> Verdict {
        dispatch!(self, f => f.contains(region, registers, fingerprint))
    }
}

fn forgets<F: Filter>(_: &F) -> bool {
    F::FORGETS
}

fn name_of<F: Filter>(_: &F) -> &'static str {
    F::DESCRIPTOR.name
}

#[cfg(test)]
mod tests {
    use super::super::skeleton::Skeleton;
    use super::*;

    #[test]
    fn the_template_of_new_filters_is_a_working_filter() {
        let spec = FilterSpec::with_defaults(const { &Skeleton::DESCRIPTOR });
        let filter = Skeleton::build(&spec, 1024).expect("enough memory");
        let mut region = vec![0; filter.region_bytes() as usize];
        let mut registers = Registers::new(1);
        let mut observe = |key: u64| {
            let observation = Observation::from(Fingerprint(key));
            batch::observe_one(&filter, &mut region[..], &mut registers, observation)
        };
        assert_eq!(observe(1 << 60), Verdict::New);
        assert_eq!(observe(1 << 60), Verdict::Seen);
        assert_eq!(observe(2 << 60), Verdict::New);
        assert_eq!(registers.occupied(), filter.recount(&region));
    }
}
