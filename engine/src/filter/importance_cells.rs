//! The cells of an importance-aware Bloom filter: counters, and what a deletion scheme needs to
//! choose among them.
//!
//! The region holds the counters, then two bytes per cell for importance if the scheme uses it,
//! then four bytes per cell for priority if it uses that, then an index over the cells: sums of
//! [weights](super::weighted_index) or [minima](super::minimum_index) of costs. With counters of
//! three bits, there are 3 bits per cell without an index, about 3.3 with the index over values,
//! about 20 with importance, 21 for minima, and about 53 with priority.

use super::counters::Counters;
use super::least_list::{KeyLayout, LeastList};
use super::minimum_index::{FANOUT, MinimumIndex, NEVER};
use super::weighted_index::{MAX_WEIGHT, WeightedIndex};
use super::{Registers, Verdict};
use crate::bytes::{read_u16, write_u16};
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
    /// Returns log₂ of the number of cells that are one to the index of weights. Without importance,
    /// cells are so small that the sums over single ones would be a large share of the memory.
    #[inline(always)]
    pub fn merged_bits(self) -> u32 {
        match self {
            Scheme::ProbabilisticValue => 2,
            _ => 0,
        }
    }

    pub fn uses_importance(self) -> bool {
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
    pub importance_at: usize,
    /// The offset of the priority of cell 0.
    pub priority_at: usize,
    index: Index,
    /// How costs and cells share a word.
    pub keys: KeyLayout,
    bytes: usize,
}

/// Returns a weight that is inversely proportional to an importance or value. 0 counts as 1: an
/// untouched cell is as unimportant as possible.
#[inline(always)]
pub(super) fn inverse(number: u32) -> u32 {
    match INVERSES.get(number as usize) {
        Some(&weight) => weight,
        None => MAX_WEIGHT / number,
    }
}

/// The weights of small numbers: a division takes longer than a look into the cache.
static INVERSES: [u32; 1024] = {
    let mut weights = [MAX_WEIGHT; 1024];
    let mut number = 1;
    while number < weights.len() {
        weights[number] = MAX_WEIGHT / number as u32;
        number += 1;
    }
    weights
};

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
            let merged = cells.div_ceil(1 << scheme.merged_bits());
            let index = WeightedIndex::new(merged, end, alignment, untouched);
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
            keys: KeyLayout::new(cells),
            bytes,
        }
    }

    /// Returns the same cells with k and the largest value as compile-time constants; None if they
    /// are others.
    #[inline(always)]
    pub fn with_constants(self, k: u32, max: u16) -> Option<Self> {
        let counters = self.counters.with_constants(k, max)?;
        Some(ImportanceCells { counters, ..self })
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

    #[inline(always)]
    pub fn importance(&self, region: &[u8], cell: u64) -> u16 {
        match self.scheme.uses_importance() {
            true => read_u16(region, self.importance_at + 2 * cell as usize),
            false => 0,
        }
    }

    /// Returns the weight of a cell.
    #[inline(always)]
    pub fn weight(&self, value: u32, importance: u16) -> u32 {
        match self.scheme {
            Scheme::Probabilistic => inverse(importance.into()),
            _ if value == 0 => 0,
            // The largest weight is that of merged cells together.
            Scheme::ProbabilisticValue => inverse(value) >> self.scheme.merged_bits(),
            _ => inverse(importance.into()),
        }
    }

    /// Prefetches the value, the importance and the priority of a cell.
    #[inline(always)]
    pub fn prefetch_cells(&self, region: &[u8], cell: u64) {
        self.counters.prefetch_cell(region, cell);
        if self.scheme.uses_importance() {
            prefetch(region, self.importance_at + 2 * cell as usize);
        }
        if self.scheme == Scheme::MinimumPriority {
            prefetch(region, self.priority_at + 4 * cell as usize);
        }
    }

    /// Lowers the value of a cell by one or to zero, counts the cells in use and updates the sums
    /// of weights. Keys of costs are updated by the caller. Returns the value after that.
    #[inline(always)]
    pub fn lower<R: Region + ?Sized>(
        &self,
        region: &mut R,
        registers: &mut Registers,
        cell: u64,
        to_zero: bool,
    ) -> u32 {
        let lowered = |old: u32| if to_zero { 0 } else { old.saturating_sub(1) };
        let (old, value) = self.counters.change(region, cell, lowered);
        if old == 0 {
            return 0;
        }
        let becomes_empty = value == 0;
        let occupied = registers.occupied_mut();
        *occupied = occupied.wrapping_sub(becomes_empty.into());
        let Index::Weighted(index) = &self.index else {
            return value;
        };
        let weight_changes = match self.scheme {
            Scheme::ProbabilisticValue => old != value,
            Scheme::ProbabilisticInUse => becomes_empty,
            _ => false,
        };
        if weight_changes {
            let importance = self.importance(region.bytes(), cell);
            let (old, new) = (self.weight(old, importance), self.weight(value, importance));
            index.change(region, cell >> self.scheme.merged_bits(), old, new);
        }
        value
    }

    /// Changes the value and the importance of a cell, counts the cells in use and updates the
    /// index.
    #[inline(always)]
    pub fn set<R: Region + ?Sized>(
        &self,
        region: &mut R,
        registers: &mut Registers,
        cell: u64,
        value: impl Fn(u32) -> u32,
        importance: impl Fn(u16) -> u16,
    ) {
        let (old, value) = self.counters.change(region, cell, value);
        let occupied = registers.occupied_mut();
        *occupied = occupied
            .wrapping_add(u64::from(value != 0))
            .wrapping_sub(u64::from(old != 0));
        let old_importance = self.importance(region.bytes(), cell);
        let importance = importance(old_importance);
        if self.scheme.uses_importance() {
            let at = self.importance_at + 2 * cell as usize;
            write_u16(region.bytes_mut(at..at + 2), 0, importance);
        }
        let (old, new) = ((old, old_importance), (value, importance));
        match &self.index {
            Index::None => {}
            Index::Weighted(index) => {
                let (old, new) = (self.weight(old.0, old.1), self.weight(new.0, new.1));
                index.change(region, cell >> self.scheme.merged_bits(), old, new);
            }
            Index::Minimum(index) => {
                let old = self.key(region.bytes(), cell, old);
                let new = self.key(region.bytes(), cell, new);
                if old == new {
                    return;
                }
                // A key that is not in the list leaves its bound behind, which does no harm.
                if let Some(old) = old.filter(|&old| old < LeastList(registers).mark()) {
                    LeastList(registers).remove(old);
                }
                if let Some(new) = new {
                    self.put(region, registers, index, new);
                }
            }
        }
    }

    /// Prefetches everything that changes with the cells of a key.
    #[inline(always)]
    pub fn prefetch(&self, region: &[u8], fingerprint: Fingerprint) {
        for cell in self.counters.positions(fingerprint) {
            self.prefetch_cells(region, cell);
            match &self.index {
                Index::None => {}
                Index::Weighted(index) => {
                    index.prefetch(region, cell >> self.scheme.merged_bits());
                }
                Index::Minimum(index) => index.prefetch(region, cell / FANOUT),
            }
        }
    }
}
