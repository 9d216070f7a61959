//! The filters: pure algorithms over a [`Region`] and [`Registers`].
//!
//! A filter value holds only its geometry, which follows from a [`FilterSpec`] and a memory
//! size. Everything that changes is in the region, which the filter does not own, and in the
//! registers. Therefore one store serves every filter, the browser runs the same code, and
//! replaying the same observations over the same state gives the same bytes on every target.
//!
//! **Invariant:** `observe` uses no floating point, no clock and no global randomness.

#[macro_use]
mod registry;

// Every filter, in the order of all lists that users see: its file and its type. Those that the page
// compares first have no condition.
// `cargo xtask new-filter NAME` adds a line. `cargo fmt` does not follow modules that a macro
// declares; `cargo xtask fmt` does.
filters! {
    bloom::Bloom,
    stable::Stable,
    rlbsbf::Rlbsbf,
    blocked::Blocked,
    #[cfg(feature = "all-filters")]
    split::Split,
    #[cfg(feature = "all-filters")]
    slot::Slot,
    #[cfg(feature = "all-filters")]
    recent::Recent,
    word::Word,
    #[cfg(feature = "all-filters")]
    aging::Aging,
    #[cfg(feature = "all-filters")]
    counting::Counting,
    #[cfg(feature = "all-filters")]
    quotient::Quotient,
    #[cfg(feature = "all-filters")]
    bsbf::Bsbf,
    #[cfg(feature = "all-filters")]
    bsbfsd::Bsbfsd,
    #[cfg(feature = "all-filters")]
    rsbf::Rsbf,
    #[cfg(feature = "all-filters")]
    sqf::Sqf,
    #[cfg(feature = "all-filters")]
    dsqf::Dsqf,
    #[cfg(feature = "all-filters")]
    buffer::Buffer,
    #[cfg(feature = "all-filters")]
    fpbuffer::FpBuffer,
    #[cfg(feature = "all-filters")]
    window::Window,
    #[cfg(feature = "all-filters")]
    stamped::Stamped,
    #[cfg(feature = "all-filters")]
    apbf::Apbf,
    #[cfg(feature = "all-filters")]
    ibf::Ibf,
    #[cfg(feature = "all-filters")]
    growing::Growing,
    #[cfg(feature = "all-filters")]
    reinsert::Reinsert,
    #[cfg(feature = "all-filters")]
    admit::Admit,
}

mod any;
#[cfg(feature = "all-filters")]
mod apbf_rate;
mod batch;
mod bit_partitions;
mod bloom_rate;
mod buffer_table;
mod cache_lines;
mod capped_lines;
mod cell_layout;
mod citation;
mod clearing_bloom;
mod clock_guard;
mod counters;
mod descriptor;
mod drawing;
mod error;
mod evidence;
#[cfg(feature = "all-filters")]
mod growing_bits;
#[cfg(feature = "all-filters")]
mod growing_timers;
mod growth;
#[cfg(feature = "all-filters")]
mod growth_plan;
mod hashed_keys;
#[cfg(feature = "all-filters")]
mod importance_cells;
#[cfg(feature = "all-filters")]
mod index_levels;
#[cfg(feature = "all-filters")]
mod least_cells;
#[cfg(feature = "all-filters")]
mod least_list;
#[cfg(feature = "all-filters")]
mod minimum_index;
mod observation;
mod observation_time;
mod packed_fields;
mod parameter;
mod preset;
#[cfg(feature = "all-filters")]
mod quotient_block;
#[cfg(feature = "all-filters")]
mod quotient_enlarge;
#[cfg(feature = "all-filters")]
mod quotient_evidence;
#[cfg(feature = "all-filters")]
mod quotient_local;
#[cfg(feature = "all-filters")]
mod quotient_metadata;
#[cfg(feature = "all-filters")]
mod quotient_rebuild;
#[cfg(feature = "all-filters")]
mod quotient_sizes;
#[cfg(feature = "all-filters")]
mod quotient_table;
#[cfg(feature = "all-filters")]
mod quotient_update;
mod recency_list;
mod registers;
#[cfg(not(target_family = "wasm"))]
mod row_parts;
mod rows;
mod sample_mask;
mod signature;
#[cfg(test)]
mod skeleton;
mod slot_key;
mod spec;
mod stamp_cells;
mod stamp_sweep;
mod stamps;
mod suggested_values;
#[cfg_attr(target_family = "wasm", path = "no_threads.rs")]
mod threads;
mod timer_lines;
mod union;
#[cfg(feature = "all-filters")]
mod unit_guesses;
#[cfg(feature = "all-filters")]
mod weighted_choice;
#[cfg(feature = "all-filters")]
mod weighted_index;
mod window_clock;
mod window_contents;
mod window_registers;
mod window_union;

pub(crate) use batch::observe_one;
#[doc(hidden)]
pub use capped_lines::{CappedLines, Places};
pub use cell_layout::CellLayout;
pub use citation::Citation;
pub(crate) use clock_guard::ClockGuard;
pub use clock_guard::ClockReport;
pub use descriptor::{Descriptor, Needs, Origin, PossibleErrors};
pub use drawing::Drawing;
pub use error::{BuildError, CannotForget};
pub use evidence::{Evidence, EvidenceCell, Requirement};
pub use growth::{CannotGrow, Growth};
pub(crate) use hashed_keys::HashedKeys;
#[doc(hidden)]
pub use observation::LoggedObservations;
pub use observation::{Observation, Verdict};
#[cfg(not(target_family = "wasm"))]
pub(crate) use observation_time::Run;
pub(crate) use observation_time::{ObservationTime, tick_of};
pub use parameter::{Kind, Parameter, Value};
pub use preset::{Preset, presets};
pub(crate) use registers::digest_of_parts;
pub use registers::{Registers, state_digest};
pub use rows::Rows;
pub(crate) use sample_mask::SampleMask;
pub use spec::{FilterSpec, SpecError};
pub use stamps::StampWindow;
#[doc(hidden)]
pub use threads::Threads;
pub use window_clock::{ClockKind, WindowAge, WindowClock};
pub use window_contents::{LeavingKeys, WindowContents};
pub(crate) use window_union::Alignment;

use crate::byte_size::ByteSize;
use crate::fingerprint::Fingerprint;
use crate::region::Region;
use crate::rng::Generator;
use crate::simd::Vectors;

/// The filter that [`advise`](crate::advise::advise) recommends if only the memory is known:
/// `blocked` with its default parameters.
pub const DEFAULT_FILTER: &str = "blocked:k=6,cap=85";
/// The memory of a filter if none is given.
pub const DEFAULT_MEMORY: ByteSize = ByteSize::from_bytes(64 << 20);

/// The smallest memory: packed cells are read eight bytes at a time.
pub const MIN_MEMORY_BITS: u64 = 64;
/// The largest memory, one tebibyte: cell positions stay far below 2^64.
pub const MAX_MEMORY_BITS: u64 = 1 << 43;

/// A filter algorithm.
///
/// The filters of this crate are the implementations in the [`registry`]. You can implement the
/// trait for a type of your own and measure it with [`lab::measure`](crate::lab::measure()).
///
/// Sets and stores use only filters of the registry: they take a [`FilterSpec`], because a store
/// records its filter as text and builds it again from that text.
pub trait Filter: Clone {
    /// Describes the filter to the command line, the page and the documents.
    const DESCRIPTOR: Descriptor;

    /// Whether [`forget`](Filter::forget) can remove a key.
    const FORGETS: bool = false;

    /// Whether [`merge`](Filter::merge) can unite two states.
    const MERGES: bool = false;

    /// Returns the geometry of the filter in `memory_bits`, which is between
    /// [`MIN_MEMORY_BITS`] and [`MAX_MEMORY_BITS`].
    fn build(spec: &FilterSpec, memory_bits: u64) -> Result<Self, BuildError>;

    /// Returns the size of the region: at most the memory given, rounded up to a byte.
    fn region_bytes(&self) -> u64;

    /// Returns how much of the region was ever used: all bytes of the region from there on are zero
    /// and were never used. A filter that grows inside a reserved region returns its high-water
    /// mark. A store neither reads nor writes the rest.
    fn used_bytes(&self, _registers: &Registers) -> u64 {
        self.region_bytes()
    }

    /// Whether the filter's own words of registers that were read from a file are possible. A store
    /// refuses others, so that the filter can rely on them.
    fn accepts(&self, _registers: &Registers) -> bool {
        true
    }

    /// Returns the same filter with common parameters as compile-time constants, or None if it
    /// has others. The loop over a batch is compiled once more for each, without loops over k.
    #[inline(always)]
    fn usual(&self) -> [Option<Self>; 2] {
        [None, None]
    }

    /// Whether the filter computes with the vector instructions that the processor may have. The
    /// loop over a batch is compiled once more for each set of them, unless this is always false.
    #[inline(always)]
    fn uses_vectors(&self) -> bool {
        false
    }

    /// Returns the same filter, which computes with these vectors. The bytes and the verdicts do
    /// not depend on it.
    #[inline(always)]
    fn with_vectors(&self, _vectors: Vectors) -> Self {
        self.clone()
    }

    /// Returns the number of cells. The load is the share of them in use.
    fn cells(&self) -> u64;

    /// Counts the cells in use by reading all of them. [`Registers::occupied`] must always
    /// be equal.
    fn recount(&self, region: &[u8]) -> u64 {
        let in_use = (0..self.cells()).filter(|&index| self.cell(region, index) != 0);
        in_use.count() as u64
    }

    /// Returns the present false positive rate: the probability that a key that never occurred
    /// is reported as Seen.
    fn false_positive_rate(&self, registers: &Registers) -> f64;

    /// Returns the load up to which a filter that only fills should be used; None if the load
    /// settles by itself.
    fn comfortable_load(&self) -> Option<f64> {
        None
    }

    /// Whether the load is proportional to the number of keys, as in a table with a slot per key.
    /// Else cells are chosen at random, and some by several keys.
    fn load_is_proportional(&self) -> bool {
        false
    }

    /// Returns which errors it can make with its parameters.
    fn possible_errors(&self) -> PossibleErrors {
        Self::DESCRIPTOR.errors
    }

    /// Returns the clock of the filter's window; None if it has no window.
    fn window(&self) -> Option<&WindowClock> {
        None
    }

    /// Returns the largest age, in steps, for which the filter counts its New verdicts, if it has
    /// a window.
    fn counted_age_limit(&self) -> u64 {
        self.window().map_or(0, WindowClock::age_limit)
    }

    /// Returns what an observation must carry besides the fingerprint. A window that is measured
    /// in observations needs no time.
    fn needs(&self) -> Needs {
        Needs {
            tick: (self.window()).is_some_and(|clock| clock.kind() == ClockKind::Seconds),
            importance: Self::DESCRIPTOR.needs.importance,
        }
    }

    /// Whether the filter may have forgotten this key, if it observed it. If not, a key that is
    /// reported as New was never observed.
    fn may_have_forgotten(
        &self,
        _region: &[u8],
        _registers: &Registers,
        _fingerprint: Fingerprint,
    ) -> bool {
        self.possible_errors() != PossibleErrors::FalsePositives || self.window().is_some()
    }

    /// Returns the number of cache lines that observing a new key touches.
    fn cache_lines_touched(&self) -> u32;

    /// Returns the number of random draws that each observation consumes, whatever its verdict.
    fn draws(&self) -> u64 {
        0
    }

    /// Whether an observation with the verdict Seen changes neither the region nor the filter's
    /// own registers. A log records only the number of such observations.
    fn seen_leaves_state_unchanged(&self) -> bool;

    /// Whether [`observe`](Filter::observe) reads only the cells of the key's
    /// [evidence](Filter::evidence), whose positions depend on the key alone, and bytes that it has
    /// declared with [`Region::bytes_mut`] before. A log can then be replayed without loading the
    /// whole region.
    fn observe_reads_only_evidence(&self) -> bool {
        false
    }

    /// Whether the verdict also depends on the observation's random draws.
    /// [`contains`](Filter::contains) then answers without them.
    fn verdict_is_random(&self) -> bool {
        false
    }

    /// Whether the fingerprint must be the key itself, one of the numbers 0, 1, 2 and so on.
    /// Only the laboratory has such keys; stores and sets refuse the filter.
    fn requires_numeric_keys(&self) -> bool {
        false
    }

    /// Decides whether a key is new, and updates the state. `generator` provides this
    /// observation's draws. The caller advances the generator and counts the verdict.
    fn observe<R: Region + ?Sized>(
        &self,
        region: &mut R,
        registers: &mut Registers,
        generator: Generator,
        observation: Observation,
    ) -> Verdict;

    /// Returns how the region divides into rows, if the filter is row-local: an observation reads
    /// and changes only its row, and otherwise only adds to the [occupied](Registers::occupied)
    /// cells and to [own words](Registers::own) of the registers. Several threads can then observe
    /// one batch.
    fn row_layout(&self) -> Option<Rows> {
        None
    }

    /// Whether a row-local filter is row-local in this state. If not, observing keys one after
    /// the other makes it so.
    fn is_row_local(&self, _registers: &Registers) -> bool {
        true
    }

    /// Does what [`observe`](Filter::observe) does, in a part of the region that begins with the
    /// row `first_row` and contains the key's row. A row-local filter implements it.
    #[inline(always)]
    fn observe_in_rows<R: Region + ?Sized>(
        &self,
        part: &mut R,
        _first_row: u64,
        registers: &mut Registers,
        generator: Generator,
        observation: Observation,
    ) -> Verdict {
        self.observe(part, registers, generator, observation)
    }

    /// Does what [`observe`](Filter::observe) does outside the key's row, for `new` keys that
    /// [`observe_in_rows`](Filter::observe_in_rows) has reported as New.
    fn after_rows(&self, _region: &mut [u8], _registers: &mut Registers, _new: u64) {}

    /// Decides whether a key is new, without updating anything.
    fn contains(&self, region: &[u8], registers: &Registers, fingerprint: Fingerprint) -> Verdict;

    /// Removes a key if the filter [can](Filter::FORGETS). Returns Seen if the key was found, and
    /// changes nothing if it was not. Reads and writes only what [`observe`](Filter::observe) may.
    /// Counts and generator do not change.
    fn forget<R: Region + ?Sized>(
        &self,
        _region: &mut R,
        _registers: &mut Registers,
        _fingerprint: Fingerprint,
    ) -> Verdict {
        Verdict::New
    }

    /// Describes the cells, for displaying them.
    fn cell_layout(&self) -> CellLayout;

    /// Returns the value of a cell; 0 if it is empty.
    fn cell(&self, region: &[u8], index: u64) -> u64;

    /// Returns the cells that decide about a key, with their present values. The answer of
    /// [`contains`](Filter::contains) follows from them alone.
    fn evidence(&self, region: &[u8], registers: &Registers, fingerprint: Fingerprint) -> Evidence;

    /// Turns the state into one that reports every key as Seen which either filter reported as
    /// Seen, if the filter [can](Filter::MERGES). Else returns the reason and changes nothing.
    /// Both filters have this geometry and the same hash.
    fn merge(
        &self,
        _region: &mut [u8],
        _registers: &mut Registers,
        _other: &[u8],
        _other_registers: &Registers,
    ) -> Result<(), &'static str> {
        Err("it forgets keys, and which ones depends on the order in which they came")
    }

    /// Returns the spec and the memory of a filter that continues with the state of this one and has
    /// a higher limit, in at most `memory_bits`. The registers stay as they are, and so do the
    /// [used bytes](Filter::used_bytes); behind them follow zeros. `spec` is that of this filter.
    fn grown(
        &self,
        _spec: &FilterSpec,
        _memory_bits: u64,
    ) -> Result<(FilterSpec, u64), CannotGrow> {
        Err(CannotGrow::Fixed(
            "its cells are spread over its whole memory, so it does not grow",
        ))
    }

    /// Prefetches the memory that `observe` touches for this key and these draws.
    fn prefetch(&self, region: &[u8], generator: Generator, fingerprint: Fingerprint);

    /// Prefetches memory whose address depends on what [`prefetch`](Filter::prefetch) fetched,
    /// or that is touched only if the key is new. Called later, when that has arrived. The state
    /// may still change before `observe`; a wrong guess costs only time.
    #[inline(always)]
    fn prefetch_dependent(
        &self,
        _region: &[u8],
        _registers: &Registers,
        _generator: Generator,
        _fingerprint: Fingerprint,
    ) {
    }
}

/// Implements the methods of [`Filter`] that only read cells by calling a field which several
/// filters have: bit partitions, counters, or a table of keys.
macro_rules! delegate_reads {
    ($($field:ident).+) => {
        fn region_bytes(&self) -> u64 {
            self.$($field).+.region_bytes()
        }

        fn cells(&self) -> u64 {
            self.$($field).+.cells()
        }

        fn recount(&self, region: &[u8]) -> u64 {
            self.$($field).+.recount(region)
        }

        fn contains(&self, region: &[u8], _: &Registers, fingerprint: Fingerprint) -> Verdict {
            self.$($field).+.contains(region, fingerprint)
        }

        fn cell(&self, region: &[u8], index: u64) -> u64 {
            self.$($field).+.cell(region, index)
        }

        fn evidence(&self, region: &[u8], _: &Registers, fingerprint: Fingerprint) -> Evidence {
            self.$($field).+.evidence(region, fingerprint)
        }
    };
}
use delegate_reads;
