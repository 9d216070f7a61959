//! An importance-aware Bloom filter with a re-insertion cache: important keys are inserted again.
//!
//! **Guarantee.** None beyond that of `ibf`. An important key that is still in the cache is
//! inserted again now and then, also after its cells were deleted.
//!
//! **When to use it.** To compare with the paper, which found that the memory of the cache serves
//! better in the filter itself. docs/IMPORTANCE.md has our comparison, which is less clear.
//!
//! **How it works.** `share` percent of the memory are a cache of fingerprints with their
//! importance, ten bytes each. A key at least as important as `threshold` is inserted into the
//! filter and written into the cache: over the oldest entry (`order=fifo`) or over a random one.
//! Every `every` observations, or whenever more (or less) than `zeros` percent of the cells are 0,
//! one entry is inserted into the filter again, without deleting: the next in turn, or a random one. It stays in the cache. With a cache of two entries `a b` and
//! `every=10`, the tenth observation inserts `a` again, the twentieth `b`, and so on; a new
//! important key `c` takes the place of `a`.
//!
//! **Paper.** Boraskar, "An Importance-Aware Bloom Filter for Set Membership Queries in Streaming
//! Data", 2010, section 5.3, which abandons the idea.
//!
//! **Departures.** The paper does not say whether a re-inserted key leaves the cache, nor whether
//! the insertion deletes first. We take what favours the cache. It reinserts "when the fraction of
//! zeroes falls" to a threshold, although a full filter forgets more; both directions are offered.

use super::citation::Citation;
use super::descriptor::{Descriptor, Needs, Origin, PossibleErrors};
use super::drawing::Drawing;
use super::ibf::Ibf;
use super::parameter::Parameter;
use super::{
    BuildError, CellLayout, Evidence, Filter, FilterSpec, Observation, Registers, Verdict,
};
use crate::bytes::{read_u16, read_u64, write_u16, write_u64};
use crate::fingerprint::{Fingerprint, reduce};
use crate::prefetch::prefetch;
use crate::region::{Region, SubRegion};
use crate::rng::Generator;

/// A fingerprint and its importance. An importance of 0 is an empty entry.
const ENTRY_BYTES: usize = 10;
/// The own register with the number of keys written into the cache.
const WRITTEN: usize = 0;
/// The own register with the number of keys taken from the cache.
const TAKEN: usize = 1;

/// When a key is inserted again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum When {
    Periodic,
    ZerosAbove,
    ZerosBelow,
}

/// The geometry of an importance-aware Bloom filter with a re-insertion cache.
#[derive(Clone, Debug)]
pub struct Reinsert {
    filter: Ibf,
    entries: u64,
    is_random: bool,
    when: When,
    every: u64,
    zeros_percent: u64,
    threshold: u16,
}

impl Reinsert {
    fn filter_bytes(&self) -> usize {
        self.filter.region_bytes() as usize
    }

    #[inline(always)]
    fn entry_at(&self, entry: u64) -> usize {
        self.filter_bytes() + entry as usize * ENTRY_BYTES
    }

    /// Returns the entry that a counter or a draw chooses.
    #[inline(always)]
    fn entry(&self, counter: u64, draw: u64) -> u64 {
        match self.is_random {
            true => reduce(draw, self.entries),
            false => counter % self.entries,
        }
    }

    /// Whether a key is inserted again after the present observation.
    #[inline(always)]
    fn is_due(&self, registers: &Registers) -> bool {
        let cells = u128::from(self.filter.cells());
        let zeros = cells.saturating_sub(registers.occupied().into());
        let (zeros, limit) = (100 * zeros, u128::from(self.zeros_percent) * cells);
        match self.when {
            When::Periodic => (registers.observations() + 1).is_multiple_of(self.every),
            When::ZerosAbove => zeros > limit,
            When::ZerosBelow => zeros < limit,
        }
    }
}

impl Filter for Reinsert {
    const DESCRIPTOR: Descriptor = Descriptor {
        name: "reinsert",
        title: "Importance-aware Bloom filter with a re-insertion cache",
        summary: "An importance-aware Bloom filter, and a cache of important keys that are \
                  inserted again now and then.",
        promise: "An important key that is still in the cache is inserted again, also after the \
                  filter forgot it.",
        choose_when: "To compare with the paper on importance; other filters err less in the same \
                      memory.",
        errors: PossibleErrors::Both,
        needs: Needs {
            tick: false,
            importance: true,
        },
        origin: Origin::Literature,
        source: Citation::BORASKAR_2010,
        advised_because: Descriptor::FEWEST_ERRORS,
        drawing: Drawing {
            before: &["4.14.4.2|abc"],
            after: &["4..444.1|xbc"],
            caption: "The 2 counters with the least important keys are lowered, and the new key \
                      raises its 2 counters. An important key also replaces the oldest entry of \
                      the cache.",
        },
        parameters: &[
            Parameter::choice(
                "insert",
                "the value of a new key's counters: max, or its importance mapped to 0 … max",
                &["max", "importance"],
            ),
            Parameter::choice(
                "delete",
                "how the counters to lower are chosen",
                &["probabilistic-p", "random", "min"],
            ),
            Parameter::integer("k", "counters raised for each key", 1..=32, 4),
            Parameter::integer("p", "counters lowered by each observation", 0..=64, 7),
            Parameter::integer("max", "the largest value of a counter", 1..=65_535, 4),
            Parameter::integer(
                "top",
                "the largest importance; greater ones count as this",
                1..=65_535,
                50,
            ),
            Parameter::integer(
                "share",
                "percentage of the memory for the cache",
                1..=90,
                25,
            ),
            Parameter::choice(
                "order",
                "which entry is replaced, and which is inserted again",
                &["fifo", "random"],
            ),
            Parameter::choice(
                "when",
                "when a key is inserted again",
                &["periodic", "zeros-above", "zeros-below"],
            ),
            Parameter::integer(
                "every",
                "observations between two insertions (periodic)",
                1..=1_000_000,
                4,
            ),
            Parameter::integer(
                "zeros",
                "percentage of counters that are 0 (zeros-above, zeros-below)",
                0..=100,
                50,
            ),
            Parameter::integer(
                "threshold",
                "the least importance of a key in the cache",
                1..=65_535,
                40,
            ),
        ],
    };

    fn build(spec: &FilterSpec, memory_bits: u64) -> Result<Self, BuildError> {
        let cache_bytes = memory_bits / 8 * spec.integer("share") / 100;
        let entries = (cache_bytes / ENTRY_BYTES as u64).max(1);
        let entry_bits = 8 * ENTRY_BYTES as u64;
        // A filter too small for its cache is refused by the filter.
        let filter_bits = memory_bits.saturating_sub(entries * entry_bits);
        let filter = Ibf::build(spec, filter_bits).map_err(|error| match error {
            BuildError::TooSmall {
                filter,
                minimum_bits,
                ..
            } => BuildError::TooSmall {
                filter,
                memory_bits,
                minimum_bits: minimum_bits + entries * entry_bits,
            },
            other => other,
        })?;
        Ok(Reinsert {
            filter,
            entries,
            is_random: spec.is_choice("order", "random"),
            when: match () {
                _ if spec.is_choice("when", "zeros-above") => When::ZerosAbove,
                _ if spec.is_choice("when", "zeros-below") => When::ZerosBelow,
                _ => When::Periodic,
            },
            every: spec.integer("every"),
            zeros_percent: spec.integer("zeros"),
            threshold: spec.integer("threshold") as u16,
        })
    }

    #[inline(always)]
    fn usual(&self) -> [Option<Self>; 2] {
        let known = |filter| Reinsert { filter, ..*self };
        self.filter.usual().map(|filter| filter.map(known))
    }

    fn region_bytes(&self) -> u64 {
        self.filter.region_bytes() + self.entries * ENTRY_BYTES as u64
    }

    fn accepts(&self, registers: &Registers) -> bool {
        self.filter.accepts(registers)
    }

    fn cells(&self) -> u64 {
        self.filter.cells()
    }

    fn false_positive_rate(&self, registers: &Registers) -> f64 {
        self.filter.false_positive_rate(registers)
    }

    fn cache_lines_touched(&self) -> u32 {
        self.filter.cache_lines_touched() + 2
    }

    /// Those of the filter, one for the entry to replace and one for the entry to insert again.
    fn draws(&self) -> u64 {
        self.filter.draws() + 2
    }

    fn seen_leaves_state_unchanged(&self) -> bool {
        false
    }

    #[inline(always)]
    fn observe<R: Region + ?Sized>(
        &self,
        region: &mut R,
        registers: &mut Registers,
        generator: Generator,
        observation: Observation,
    ) -> Verdict {
        let cells = 0..self.filter_bytes();
        let part = &mut SubRegion::new(region, cells.clone());
        let verdict = self.filter.observe(part, registers, generator, observation);
        let draw = |index| generator.draw(self.filter.draws() + index);
        let importance = observation.importance.max(1);
        if importance >= self.threshold {
            let at = self.entry_at(self.entry(registers.own()[WRITTEN], draw(0)));
            let entry = region.bytes_mut(at..at + ENTRY_BYTES);
            write_u64(entry, 0, observation.fingerprint.0);
            write_u16(entry, 8, importance);
            registers.own_mut()[WRITTEN] += 1;
        }
        if self.is_due(registers) {
            let at = self.entry_at(self.entry(registers.own()[TAKEN], draw(1)));
            let fingerprint = Fingerprint(read_u64(region.bytes(), at));
            let importance = read_u16(region.bytes(), at + 8);
            registers.own_mut()[TAKEN] += 1;
            if importance > 0 {
                let part = &mut SubRegion::new(region, cells);
                self.filter.insert(part, registers, fingerprint, importance);
            }
        }
        verdict
    }

    fn contains(&self, region: &[u8], registers: &Registers, fingerprint: Fingerprint) -> Verdict {
        let cells = &region[..self.filter_bytes()];
        self.filter.contains(cells, registers, fingerprint)
    }

    fn cell_layout(&self) -> CellLayout {
        self.filter.cell_layout()
    }

    fn cell(&self, region: &[u8], index: u64) -> u64 {
        self.filter.cell(&region[..self.filter_bytes()], index)
    }

    fn evidence(&self, region: &[u8], registers: &Registers, fingerprint: Fingerprint) -> Evidence {
        let cells = &region[..self.filter_bytes()];
        self.filter.evidence(cells, registers, fingerprint)
    }

    #[inline(always)]
    fn prefetch(&self, region: &[u8], generator: Generator, fingerprint: Fingerprint) {
        let cells = &region[..self.filter_bytes()];
        self.filter.prefetch(cells, generator, fingerprint);
        if self.is_random {
            for index in 0..2 {
                let draw = generator.draw(self.filter.draws() + index);
                prefetch(region, self.entry_at(self.entry(0, draw)));
            }
        }
    }
}
