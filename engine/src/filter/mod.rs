//! The algorithms. Each is a pure function over a [`Region`] and [`Registers`].
//!
//! A filter holds nothing but its geometry, which follows from its [`FilterSpec`] and a
//! memory size. All that changes lies in the region, which it does not own, and in the
//! registers. So one store serves every filter, the browser runs the same code, and
//! replaying the same observations over the same state gives the same bytes everywhere.
//!
//! **Invariant:** no floating point, no clock and no global randomness in `observe`.

mod aging;
mod anatomy;
mod any;
mod blocked;
mod bloom;
mod bsbf;
mod bsbfsd;
mod buffer;
mod buffer_table;
mod counting;
mod descriptor;
mod drawing;
mod dsqf;
mod fields;
mod fpbuffer;
mod in_parts;
mod lines;
mod parts;
mod place;
mod recency;
mod recent;
mod registers;
mod rlbsbf;
mod rsbf;
mod signature;
mod slot;
mod spec;
mod spread;
mod sqf;
mod stable;
mod watch;
mod word;

pub use aging::Aging;
pub use anatomy::Anatomy;
pub use any::{AnyFilter, registry};
pub use blocked::Blocked;
pub use bloom::Bloom;
pub use bsbf::Bsbf;
pub use bsbfsd::Bsbfsd;
pub use buffer::Buffer;
pub use counting::Counting;
pub use descriptor::{Citation, Descriptor, Errs, Kind, Needs, Parameter};
pub use drawing::Drawing;
pub use dsqf::Dsqf;
pub use fpbuffer::FpBuffer;
pub use place::{Evidence, Place, Wanted};
pub use recent::Recent;
pub use registers::{Registers, state_digest};
pub use rlbsbf::Rlbsbf;
pub use rsbf::Rsbf;
pub use slot::Slot;
pub use spec::{FilterSpec, SpecError, Value};
pub use sqf::Sqf;
pub use stable::Stable;
pub(crate) use watch::Watch;
pub use word::Word;

use crate::fingerprint::Fingerprint;
use crate::region::Region;
use crate::rng::Generator;

/// What a filter says of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Verdict {
    /// Not met before, as far as the filter can tell.
    New,
    /// Met before, as far as the filter can tell.
    Seen,
}

/// One key met in the stream. Most filters look only at the fingerprint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Observation {
    /// The key.
    pub fingerprint: Fingerprint,
    /// When, in the caller's unit; seconds since 1970 by custom.
    pub tick: u32,
    /// How much an error about this key would matter.
    pub importance: u16,
}

impl From<Fingerprint> for Observation {
    fn from(fingerprint: Fingerprint) -> Self {
        Observation {
            fingerprint,
            tick: 0,
            importance: 0,
        }
    }
}

/// Observations as a log holds them: those that left no trace are only counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recorded {
    /// What is known in full.
    pub observations: Vec<Observation>,
    /// For each of these, how many observations without trace came right before it.
    pub gaps: Vec<u32>,
    /// How many came after the last.
    pub trailing: u32,
}

impl Recorded {
    /// How many observations there are, those without trace included.
    pub fn count(&self) -> u64 {
        let gaps: u64 = self.gaps.iter().map(|&gap| u64::from(gap)).sum();
        gaps + self.observations.len() as u64 + u64::from(self.trailing)
    }

    /// Empties it; its memory is kept.
    pub fn clear(&mut self) {
        self.observations.clear();
        self.gaps.clear();
        self.trailing = 0;
    }
}

/// The smallest memory. Packed cells take eight bytes at least, and
/// fewer bits than this are a mistake, not a filter.
pub const MIN_MEMORY_BITS: u64 = 64;
/// One tebibyte; cell positions stay far below 2^64.
pub const MAX_MEMORY_BITS: u64 = 1 << 43;

/// An algorithm. Implementations are listed once, in `any.rs`; all else follows.
pub trait Filter: Sized {
    /// What the command line, the page and the documents know of this filter.
    const DESCRIPTOR: Descriptor;

    /// Whether a key can be taken out again, by [`forget`](Filter::forget).
    const FORGETS: bool = false;

    /// The geometry of a filter of `memory_bits`, which is within the general limits.
    fn build(spec: &FilterSpec, memory_bits: u64) -> Result<Self, BuildError>;

    /// How many bytes the region has. Never more than the memory asked for, rounded
    /// up to a byte.
    fn region_bytes(&self) -> u64;

    /// The same filter with its parameters written as constants, if they are usual ones;
    /// nothing else may differ. The loop over a batch is compiled once more for each, without
    /// loops over k inside.
    #[inline(always)]
    fn usual(&self) -> [Option<Self>; 2] {
        [None, None]
    }

    /// How many cells there are, for the load.
    fn cells(&self) -> u64;

    /// How many cells are in use, counted the slow way. [`Registers::occupied`] must
    /// agree at all times.
    fn recount(&self, region: &[u8]) -> u64;

    /// The chance that a key never met would be taken for Seen now.
    fn drop_chance(&self, registers: &Registers) -> f64;

    /// The load past which a filter that only fills errs more than it is worth; nothing if
    /// its load settles by itself.
    fn comfortable_load(&self) -> Option<f64> {
        None
    }

    /// How many cache lines an observation of a new key touches.
    fn lines_touched(&self) -> u32;

    /// How many draws of the generator an observation consumes, whatever its verdict.
    fn draws(&self) -> u64;

    /// Whether a Seen verdict leaves the region, the cells in use and the filter's own
    /// registers as they were. A log need not hold such observations, only their number.
    fn seen_leaves_no_trace(&self) -> bool;

    /// Whether the verdict on a key also depends on this observation's draws. What
    /// [`contains`](Filter::contains) says is then the part that does not.
    fn verdict_is_drawn(&self) -> bool {
        false
    }

    /// Whether the fingerprint must be the key itself, one of the numbers 0, 1, 2 and so on.
    /// Only the laboratory has such keys; a store or a set of real keys refuses the filter.
    fn takes_numbers(&self) -> bool {
        false
    }

    /// Decides and updates. `generator` holds this observation's draws; the caller
    /// advances it and keeps the counts.
    fn observe<R: Region + ?Sized>(
        &self,
        region: &mut R,
        registers: &mut Registers,
        generator: Generator,
        observation: Observation,
    ) -> Verdict;

    /// Only looks.
    fn contains(&self, region: &[u8], registers: &Registers, fingerprint: Fingerprint) -> Verdict;

    /// Takes a key out, if the filter [can](Filter::FORGETS). Seen: it was there, as far as
    /// can be told, and is no more. Counts and generator stay as they are.
    fn forget<R: Region + ?Sized>(
        &self,
        _region: &mut R,
        _registers: &mut Registers,
        _fingerprint: Fingerprint,
    ) -> Verdict {
        Verdict::New
    }

    /// What its cells are, for people to look at.
    fn anatomy(&self) -> Anatomy;

    /// What a cell holds; 0 if it is empty.
    fn cell(&self, region: &[u8], index: u64) -> u64;

    /// The cells that decide about a key, with what they hold now. What
    /// [`contains`](Filter::contains) says follows from it.
    fn evidence(&self, region: &[u8], fingerprint: Fingerprint) -> Evidence;

    /// Makes the state that of a filter which has met what either of two has, where there is
    /// such a state; else says why not, and changes nothing. Both have this geometry and the
    /// same hash.
    fn unite(
        &self,
        _region: &mut [u8],
        _registers: &mut Registers,
        _other: &[u8],
        _other_registers: &Registers,
    ) -> Result<(), &'static str> {
        Err("it forgets, and what it has forgotten depends on the order in which keys came")
    }

    /// Asks for the memory that `observe` will touch with this key and these draws.
    fn prefetch(&self, region: &[u8], generator: Generator, fingerprint: Fingerprint);

    /// Asked once more, when what [`prefetch`](Filter::prefetch) asked for should have
    /// come: for memory to which that leads, or that is touched only if the key looks new.
    /// It may yet turn out otherwise; nothing but time depends on it.
    #[inline(always)]
    fn prefetch_further(
        &self,
        _region: &[u8],
        _registers: &Registers,
        _generator: Generator,
        _fingerprint: Fingerprint,
    ) {
    }
}

/// A filter that keeps what it has met cannot take a single key out of it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{filter} cannot forget a key; these can: {able}")]
pub struct CannotForget {
    /// The filter's name.
    pub filter: &'static str,
    /// The names of those that can.
    pub able: String,
}

/// A spec and a memory size that do not fit together.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// Less memory than the filter can work in.
    #[error("{filter} needs at least {minimum_bits} bits of memory; {memory_bits} were given")]
    TooSmall {
        /// The filter, in its text form.
        filter: String,
        /// What was asked for.
        memory_bits: u64,
        /// The least that works.
        minimum_bits: u64,
    },
    /// Parameters that contradict each other.
    #[error("{filter}: {reason}")]
    Contradiction {
        /// The filter, in its text form.
        filter: String,
        /// What must hold.
        reason: &'static str,
    },
    /// More memory than positions are made for, or than this target can address.
    #[error(
        "{filter} works with at most {maximum_bits} bits of memory here; {memory_bits} were given"
    )]
    TooLarge {
        /// The filter, in its text form.
        filter: String,
        /// What was asked for.
        memory_bits: u64,
        /// The most that works.
        maximum_bits: u64,
    },
}
