//! The cells of an importance-aware Bloom filter: counters, and what a deletion scheme needs to
//! choose among them.
//!
//! The region holds the counters, then two bytes per cell for importance if the scheme uses it,
//! then four bytes per cell for priority if it uses that, then an [index](super::index_levels)
//! over the cells. With counters of three bits a cell takes 3 bits without an index, about 5.3
//! with the index over values, about 21 with importance and about 53 with priority.

use super::counters::Counters;
use super::minimum_index::{MinimumIndex, NEVER};
use super::weighted_index::{MAX_WEIGHT, WeightedIndex};
use super::{Registers, Verdict};
use crate::bytes::{read_u16, read_u32, write_u16, write_u32};
use crate::fingerprint::Fingerprint;
use crate::prefetch::prefetch;
use crate::region::Region;

/// How cells are chosen for deletion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scheme {
    /// Any cells.
    Random,
    /// Any cells, those of low importance more likely.
    Probabilistic,
    /// Cells in use, those of low importance more likely.
    ProbabilisticInUse,
    /// Cells in use, those of low value more likely.
    ProbabilisticValue,
    /// The cells in use with the least importance.
    Minimum,
    /// The cells with the least sum of importance and priority.
    MinimumPriority,
}

impl Scheme {
    fn uses_importance(self) -> bool {
        !matches!(self, Scheme::Random | Scheme::ProbabilisticValue)
    }
}

/// What a scheme searches.
#[derive(Clone, Copy, Debug)]
pub(super) enum Index {
    /// Nothing.
    None,
    /// Sums of weights.
    Weighted(WeightedIndex),
    /// Minima of costs.
    Minimum(MinimumIndex),
}

/// Where everything is in the region.
#[derive(Clone, Copy, Debug)]
pub(super) struct ImportanceCells {
    /// The counters, at the start of the region.
    pub counters: Counters,
    scheme: Scheme,
    /// The offset of the importance of cell 0.
    importance_at: usize,
    /// The offset of the priority of cell 0.
    priority_at: usize,
    index: Index,
    bytes: usize,
}

/// From this number of cells on, arrays begin at cache lines; below, the gaps would be too large a
/// share.
const ALIGN_FROM_CELLS: u64 = 4096;

impl ImportanceCells {
    /// Returns as many cells as the memory holds; None if it holds none.
    pub fn fitting(scheme: Scheme, k: u64, max: u16, memory_bits: u64) -> Option<Self> {
        let of = |count| ImportanceCells::with_count(scheme, Counters::with_count(k, max, count));
        let most = Counters::new(k, max, memory_bits).cells();
        let budget = memory_bits.div_ceil(8) as usize;
        // The largest number of cells that fits: `low` fits, `high` does not.
        let (mut low, mut high) = (0, most + 1);
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            match of(middle).bytes <= budget {
                true => low = middle,
                false => high = middle,
            }
        }
        (low > 0).then(|| of(low))
    }

    /// Returns the smallest memory in which there is a cell.
    pub fn minimum_bits(scheme: Scheme, max: u16) -> u64 {
        let one = ImportanceCells::with_count(scheme, Counters::with_count(1, max, 1));
        8 * one.bytes as u64
    }

    fn with_count(scheme: Scheme, counters: Counters) -> Self {
        let cells = counters.cells();
        let alignment = match cells < ALIGN_FROM_CELLS {
            true => 8,
            false => 64,
        };
        let mut end = counters.region_bytes() as usize;
        let mut place = |is_used: bool, bytes_per_cell: usize| {
            if !is_used {
                return 0;
            }
            let at = end.next_multiple_of(alignment);
            end = at + bytes_per_cell * cells as usize;
            at
        };
        let importance_at = place(scheme.uses_importance(), 2);
        let priority_at = place(scheme == Scheme::MinimumPriority, 4);
        let weighted = |untouched| {
            let index = WeightedIndex::new(cells, end, alignment, untouched);
            (Index::Weighted(index), index.end())
        };
        let minimum = |untouched| {
            let index = MinimumIndex::new(cells, end, alignment, untouched);
            (Index::Minimum(index), index.end())
        };
        let (index, bytes) = match scheme {
            Scheme::Random => (Index::None, end),
            Scheme::Probabilistic => weighted(MAX_WEIGHT),
            Scheme::ProbabilisticInUse | Scheme::ProbabilisticValue => weighted(0),
            Scheme::Minimum => minimum(NEVER),
            Scheme::MinimumPriority => minimum(0),
        };
        ImportanceCells {
            counters,
            scheme,
            importance_at,
            priority_at,
            index,
            bytes,
        }
    }

    /// Returns the scheme.
    #[inline(always)]
    pub fn scheme(&self) -> Scheme {
        self.scheme
    }

    /// Returns the index.
    #[inline(always)]
    pub fn index(&self) -> &Index {
        &self.index
    }

    /// Returns the number of cells.
    #[inline(always)]
    pub fn cells(&self) -> u64 {
        self.counters.cells()
    }

    /// Returns the size of the region.
    pub fn region_bytes(&self) -> u64 {
        self.bytes as u64
    }

    /// Returns Seen if all counters of the key are above 0.
    #[inline(always)]
    pub fn contains(&self, region: &[u8], fingerprint: Fingerprint) -> Verdict {
        self.counters.contains(region, fingerprint)
    }

    /// Returns the value of a cell.
    #[inline(always)]
    pub fn value(&self, region: &[u8], cell: u64) -> u32 {
        self.counters.get(region, cell)
    }

    #[inline(always)]
    fn importance(&self, region: &[u8], cell: u64) -> u16 {
        read_u16(region, self.importance_at + 2 * cell as usize)
    }

    #[inline(always)]
    fn priority(&self, region: &[u8], cell: u64) -> u32 {
        read_u32(region, self.priority_at + 4 * cell as usize)
    }

    /// Returns the weight of a cell: inversely proportional to its importance or value. 0 counts
    /// as 1: an untouched cell is as unimportant as possible.
    #[inline(always)]
    pub fn weight(&self, region: &[u8], cell: u64) -> u64 {
        let inverse = |number: u32| MAX_WEIGHT / u64::from(number.max(1));
        match self.scheme {
            Scheme::Probabilistic => inverse(self.importance(region, cell).into()),
            Scheme::ProbabilisticInUse => match self.value(region, cell) {
                0 => 0,
                _ => inverse(self.importance(region, cell).into()),
            },
            Scheme::ProbabilisticValue => match self.value(region, cell) {
                0 => 0,
                value => inverse(value),
            },
            Scheme::Random | Scheme::Minimum | Scheme::MinimumPriority => 0,
        }
    }

    /// Returns the cost of deleting from a cell; [`NEVER`] if it must not be chosen.
    #[inline(always)]
    pub fn cost(&self, region: &[u8], cell: u64) -> u32 {
        let importance = u32::from(self.importance(region, cell));
        match self.scheme {
            Scheme::MinimumPriority => {
                let priority = self.priority(region, cell);
                importance.saturating_add(priority).min(NEVER - 1)
            }
            _ if self.value(region, cell) == 0 => NEVER,
            _ => importance,
        }
    }

    /// Changes the value of a cell, counts the cells in use and updates the index.
    #[inline(always)]
    pub fn set_value<R: Region + ?Sized>(
        &self,
        region: &mut R,
        registers: &mut Registers,
        cell: u64,
        value: u32,
    ) {
        self.change(region, registers, cell, |_| value, |importance| importance);
    }

    /// Changes the value and the importance of a cell, counts the cells in use and updates the
    /// index.
    #[inline(always)]
    pub fn change<R: Region + ?Sized>(
        &self,
        region: &mut R,
        registers: &mut Registers,
        cell: u64,
        value: impl Fn(u32) -> u32,
        importance: impl Fn(u16) -> u16,
    ) {
        let old = self.value(region.bytes(), cell);
        let old_weight = self.weight(region.bytes(), cell);
        let new = value(old);
        self.counters.set(region, cell, new);
        let occupied = registers.occupied_mut();
        *occupied = occupied
            .wrapping_add(u64::from(new != 0))
            .wrapping_sub(u64::from(old != 0));
        if self.scheme.uses_importance() {
            let at = self.importance_at + 2 * cell as usize;
            let bytes = region.bytes_mut(at..at + 2);
            let changed = importance(read_u16(bytes, 0));
            write_u16(bytes, 0, changed);
        }
        match &self.index {
            Index::None => {}
            Index::Weighted(index) => {
                let weight = self.weight(region.bytes(), cell);
                index.change(region, cell, old_weight, weight);
            }
            Index::Minimum(index) => {
                index.update(region, cell, |region, cell| self.cost(region, cell));
            }
        }
    }

    /// Raises the priority of a cell: it is chosen later next time.
    pub fn raise_priority<R: Region + ?Sized>(&self, region: &mut R, cell: u64, by: u32) {
        let at = self.priority_at + 4 * cell as usize;
        let bytes = region.bytes_mut(at..at + 4);
        let raised = read_u32(bytes, 0).saturating_add(by);
        write_u32(bytes, 0, raised);
    }

    /// Prefetches everything that changes with the cells of a key.
    #[inline(always)]
    pub fn prefetch(&self, region: &[u8], fingerprint: Fingerprint) {
        for cell in self.counters.positions(fingerprint) {
            self.counters.prefetch_cell(region, cell);
            if self.scheme.uses_importance() {
                prefetch(region, self.importance_at + 2 * cell as usize);
            }
            match &self.index {
                Index::None => {}
                Index::Weighted(index) => index.prefetch(region, cell),
                Index::Minimum(index) => index.prefetch(region, cell),
            }
        }
    }
}
