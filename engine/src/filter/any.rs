//! Every filter there is, listed once, and the loops that run them.
//!
//! A batch is dispatched once; inside it the compiler sees one concrete filter and one
//! concrete region, so choosing a filter at run time costs nothing an observation.

use super::watch::Watch;
use super::{
    Aging, Anatomy, Blocked, Bloom, Bsbf, Bsbfsd, Buffer, BuildError, CannotForget, Counting,
    Descriptor, Dsqf, Evidence, Filter, FilterSpec, FpBuffer, MAX_MEMORY_BITS, MIN_MEMORY_BITS,
    Observation, Recent, Recorded, Registers, Rlbsbf, Rsbf, Slot, Sqf, Stable, Verdict, Word,
};
use crate::fingerprint::Fingerprint;
use crate::prefetch;
use crate::region::Region;

/// How many observations ahead memory is asked for: far enough to cover a miss in memory
/// while many are under way, near enough that the line is still in the second cache when
/// it is used. What WebAssembly asks for has come when it goes on.
const LOOKAHEAD: usize = if cfg!(target_family = "wasm") { 0 } else { 32 };
/// How many observations ahead what that memory leads to is asked for.
const SECOND_LOOKAHEAD: usize = LOOKAHEAD / 2;

/// For how many observations memory is asked for in a row. A hint is a hint wherever it
/// stands; the reads that are WebAssembly's must stand together for the processor to see
/// many of them at once.
fn burst(filter: &impl Filter) -> usize {
    match cfg!(target_family = "wasm") {
        true => (64 / filter.lines_touched() as usize).max(1),
        false => 1,
    }
}

macro_rules! filters {
    ($($filter:ident),+ $(,)?) => {
        /// A filter chosen at run time.
        #[derive(Clone, Debug)]
        pub enum AnyFilter {
            $(#[doc = concat!("See [`", stringify!($filter), "`].")] $filter($filter)),+
        }

        /// Every filter, in the order in which they are shown.
        pub fn registry() -> &'static [&'static Descriptor] {
            const { &[$(&$filter::DESCRIPTOR),+] }
        }

        /// The names of the filters that can take a key out again.
        fn able_to_forget() -> String {
            let mut names = Vec::new();
            $(if $filter::FORGETS {
                names.push($filter::DESCRIPTOR.name);
            })+
            names.join(", ")
        }

        fn build_unchecked(spec: &FilterSpec, memory_bits: u64) -> Result<AnyFilter, BuildError> {
            let name = spec.descriptor().name;
            $(if name == $filter::DESCRIPTOR.name {
                return $filter::build(spec, memory_bits).map(AnyFilter::$filter);
            })+
            unreachable!("a spec names a filter of the registry")
        }

        macro_rules! dispatch {
            ($any:expr, $name:ident => $call:expr) => {
                match $any { $(AnyFilter::$filter($name) => $call),+ }
            };
        }
    };
}

filters!(
    Bloom, Stable, Rlbsbf, Blocked, Slot, Recent, Word, Aging, Counting, Bsbf, Bsbfsd, Rsbf, Sqf,
    Dsqf, Buffer, FpBuffer,
);

impl AnyFilter {
    /// The filter of a spec in a memory of `memory_bits`.
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
        build_unchecked(spec, memory_bits)
    }

    /// How many bytes its region has.
    pub fn region_bytes(&self) -> usize {
        dispatch!(self, f => f.region_bytes()) as usize
    }

    /// How many cells its load is a share of.
    pub fn cells(&self) -> u64 {
        dispatch!(self, f => f.cells())
    }

    /// The share of cells in use.
    pub fn load(&self, registers: &Registers) -> f64 {
        registers.occupied() as f64 / self.cells() as f64
    }

    /// The chance that a key never met would be taken for Seen now.
    pub fn drop_chance(&self, registers: &Registers) -> f64 {
        dispatch!(self, f => f.drop_chance(registers))
    }

    /// The load past which a filter that only fills errs more than it is worth.
    pub fn comfortable_load(&self) -> Option<f64> {
        dispatch!(self, f => f.comfortable_load())
    }

    /// How many cells are in use, counted by looking at each.
    pub fn recount(&self, region: &[u8]) -> u64 {
        dispatch!(self, f => f.recount(region))
    }

    /// How many cache lines an observation of a new key touches.
    pub fn lines_touched(&self) -> u32 {
        dispatch!(self, f => f.lines_touched())
    }

    /// Decides whether a key is new, and remembers it.
    pub fn observe<R: Region + ?Sized>(
        &self,
        region: &mut R,
        registers: &mut Registers,
        observation: Observation,
    ) -> Verdict {
        dispatch!(self, f => step(f, region, registers, observation))
    }

    /// Observes in order, hiding the latency of memory. The verdicts and the state are
    /// those of a loop over [`observe`](AnyFilter::observe).
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
        let mut nobody = Watch::for_nothing();
        self.observe_watched(region, registers, observations, verdicts, &mut nobody);
    }

    /// The same, and which of the observations are [watched](Watch) for.
    ///
    /// # Panics
    /// If the two slices differ in length.
    pub(crate) fn observe_watched<R: Region + ?Sized>(
        &self,
        region: &mut R,
        registers: &mut Registers,
        observations: &[Observation],
        verdicts: &mut [Verdict],
        watch: &mut Watch,
    ) {
        assert_eq!(observations.len(), verdicts.len());
        dispatch!(self, f => run(f, region, registers, observations, verdicts, watch));
    }

    /// Whether a Seen verdict changes nothing but the counts and the generator.
    pub fn seen_leaves_no_trace(&self) -> bool {
        dispatch!(self, f => f.seen_leaves_no_trace())
    }

    /// Whether the verdict on a key also depends on the observation's draws.
    pub fn verdict_is_drawn(&self) -> bool {
        dispatch!(self, f => f.verdict_is_drawn())
    }

    /// Whether it works only on keys that are the numbers 0, 1, 2 and so on.
    pub fn takes_numbers(&self) -> bool {
        dispatch!(self, f => f.takes_numbers())
    }

    /// Observes what a log holds: the state is the one that observing everything gave.
    /// The verdicts of what is known in full replace those in `verdicts`.
    ///
    /// # Panics
    /// If there are not as many gaps as observations.
    pub fn observe_recorded<R: Region + ?Sized>(
        &self,
        region: &mut R,
        registers: &mut Registers,
        recorded: &Recorded,
        verdicts: &mut Vec<Verdict>,
    ) {
        assert_eq!(recorded.observations.len(), recorded.gaps.len());
        verdicts.clear();
        verdicts.resize(recorded.observations.len(), Verdict::New);
        dispatch!(self, f => rerun(f, region, registers, recorded, verdicts));
    }

    /// Whether a key can be taken out again.
    pub fn can_forget(&self) -> bool {
        dispatch!(self, f => forgets(f))
    }

    /// Takes a key out. Seen: it was there, as far as can be told, and is no more.
    ///
    /// Only keys that were reported New may be taken out: one that was dropped left
    /// nothing of its own, and to forget it is to forget parts of others.
    pub fn forget<R: Region + ?Sized>(
        &self,
        region: &mut R,
        registers: &mut Registers,
        fingerprint: Fingerprint,
    ) -> Result<Verdict, CannotForget> {
        if !self.can_forget() {
            return Err(CannotForget {
                filter: dispatch!(self, f => name_of(f)),
                able: able_to_forget(),
            });
        }
        Ok(dispatch!(self, f => f.forget(region, registers, fingerprint)))
    }

    /// What its cells are, for people to look at.
    pub fn anatomy(&self) -> Anatomy {
        dispatch!(self, f => f.anatomy())
    }

    /// What each cell holds; see [`Filter::cell`].
    pub fn cell_values(&self, region: &[u8]) -> Vec<u64> {
        (0..self.cells())
            .map(|index| dispatch!(self, f => f.cell(region, index)))
            .collect()
    }

    /// The cells that decide about a key; see [`Filter::evidence`].
    pub fn evidence(&self, region: &[u8], fingerprint: Fingerprint) -> Evidence {
        dispatch!(self, f => f.evidence(region, fingerprint))
    }

    /// Makes the state that of a filter which has met what either of two has; see
    /// [`Filter::unite`].
    pub fn unite(
        &self,
        region: &mut [u8],
        registers: &mut Registers,
        other: &[u8],
        other_registers: &Registers,
    ) -> Result<(), &'static str> {
        dispatch!(self, f => f.unite(region, registers, other, other_registers))
    }

    /// Whether a key was met before, without remembering that it was asked for.
    pub fn contains(
        &self,
        region: &[u8],
        registers: &Registers,
        fingerprint: Fingerprint,
    ) -> Verdict {
        dispatch!(self, f => f.contains(region, registers, fingerprint))
    }
}

/// Calls for a filter as it is, or for its [usual](Filter::usual) self.
macro_rules! usually {
    ($filter:ident => $call:expr) => {
        match &$filter.usual() {
            [Some($filter), _] => $call,
            [_, Some($filter)] => $call,
            _ => $call,
        }
    };
}

fn forgets<F: Filter>(_: &F) -> bool {
    F::FORGETS
}

fn name_of<F: Filter>(_: &F) -> &'static str {
    F::DESCRIPTOR.name
}

#[inline(always)]
fn step<F: Filter, R: Region + ?Sized>(
    filter: &F,
    region: &mut R,
    registers: &mut Registers,
    observation: Observation,
) -> Verdict {
    let generator = registers.generator();
    let verdict = filter.observe(region, registers, generator, observation);
    registers.count(verdict, generator.ahead(filter.draws()));
    verdict
}

// Browsers are slow to optimise a function that holds every filter.
#[cfg_attr(target_family = "wasm", inline(never))]
fn run<F: Filter, R: Region + ?Sized>(
    filter: &F,
    region: &mut R,
    registers: &mut Registers,
    observations: &[Observation],
    verdicts: &mut [Verdict],
    watch: &mut Watch,
) {
    usually!(filter => observe_all(filter, region, registers, observations, verdicts, watch));
}

#[inline(always)]
fn observe_all<F: Filter, R: Region + ?Sized>(
    filter: &F,
    region: &mut R,
    registers: &mut Registers,
    observations: &[Observation],
    verdicts: &mut [Verdict],
    watch: &mut Watch,
) {
    let start = registers.generator();
    let before = |index: usize| start.ahead(index as u64 * filter.draws());
    let pays = prefetch::pays(region.bytes().len());
    let coming = |index: usize| observations.get(index).filter(|_| pays);
    let ask = |region: &R, index: usize| {
        if let Some(later) = coming(index) {
            filter.prefetch(region.bytes(), before(index), later.fingerprint);
        }
    };
    for i in 0..LOOKAHEAD.min(observations.len()) {
        ask(region, i);
    }
    // The first keys are met before their lines could have come and led further.
    let burst = burst(filter);
    let mut new = 0;
    let mut first = 0;
    while first < observations.len() {
        for i in first..first + burst {
            ask(region, i + LOOKAHEAD);
        }
        for i in first..first + burst {
            if let Some(soon) = coming(i + SECOND_LOOKAHEAD) {
                let generator = before(i + SECOND_LOOKAHEAD);
                filter.prefetch_further(region.bytes(), registers, generator, soon.fingerprint);
            }
        }
        for i in first..(first + burst).min(observations.len()) {
            let observation = observations[i];
            let verdict = filter.observe(region, registers, before(i), observation);
            verdicts[i] = verdict;
            registers.count_observation();
            watch.look(i, observation.fingerprint);
            new += u64::from(verdict == Verdict::New);
        }
        first += burst;
    }
    registers.count_new(new, before(observations.len()));
}

fn rerun<F: Filter, R: Region + ?Sized>(
    filter: &F,
    region: &mut R,
    registers: &mut Registers,
    recorded: &Recorded,
    verdicts: &mut [Verdict],
) {
    usually!(filter => observe_all_recorded(filter, region, registers, recorded, verdicts));
}

#[inline(always)]
fn observe_all_recorded<F: Filter, R: Region + ?Sized>(
    filter: &F,
    region: &mut R,
    registers: &mut Registers,
    recorded: &Recorded,
    verdicts: &mut [Verdict],
) {
    let Recorded {
        observations,
        gaps,
        trailing,
    } = recorded;
    let draws = filter.draws();
    let start = registers.generator();
    // How many observations, with those in the gaps, come before each.
    let mut counted = 0;
    let known = observations
        .iter()
        .zip(gaps)
        .map(move |(observation, &gap)| {
            let before = counted + u64::from(gap);
            counted = before + 1;
            (observation.fingerprint, start.ahead(before * draws))
        });
    let (mut later, mut soon) = (known.clone(), known.skip(SECOND_LOOKAHEAD));
    let mut ask = |region: &R| {
        if let Some((fingerprint, generator)) = later.next() {
            filter.prefetch(region.bytes(), generator, fingerprint);
        }
    };
    let mut ask_further = |region: &R, registers: &Registers| {
        if let Some((fingerprint, generator)) = soon.next() {
            filter.prefetch_further(region.bytes(), registers, generator, fingerprint);
        }
    };
    for _ in 0..LOOKAHEAD {
        ask(region);
    }
    let known = observations.iter().zip(gaps);
    for ((observation, &gap), verdict) in known.zip(verdicts) {
        ask(region);
        ask_further(region, registers);
        registers.count_without_trace(gap, draws);
        *verdict = step(filter, region, registers, *observation);
    }
    registers.count_without_trace(*trailing, draws);
}
