//! The cells of an importance-aware Bloom filter: counters, and what a deletion scheme needs to
//! choose among them.
//!
//! The region holds the counters, then two bytes per cell for importance if the scheme uses it,
//! then four bytes per cell for priority if it uses that, then an [index](super::index_levels)
//! over the cells. With counters of three bits, there are 3 bits per cell without an index, about
//! 5.3 with the index over values, about 21 with importance and about 53 with priority.

use super::counters::Counters;
use super::index_levels::{FANOUT, children};
use super::minimum_index::{Costs, MinimumIndex, NEVER, least};
use super::weighted_index::{MAX_WEIGHT, Search, WeightedIndex};
use super::{Registers, Verdict};
use crate::bytes::{read_u16, read_u32, write_u16, write_u32};
use crate::fingerprint::Fingerprint;
use crate::prefetch::prefetch;
use crate::region::Region;
use crate::simd::Vectors;

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
    vectors: Vectors,
}

/// A chosen cell.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Choice {
    /// The cell.
    pub cell: u64,
    /// The sum of the weights of the cells before it.
    pub start: u64,
    /// Its weight.
    pub weight: u64,
}

/// Up to 16 cells that one node of the index summarizes.
struct Group<'a> {
    values: [u16; FANOUT as usize],
    importance: &'a [u8],
    count: usize,
}

impl Group<'_> {
    /// Returns the importance of each cell, and 0 where there is none.
    #[inline(always)]
    fn importances(&self) -> [u32; FANOUT as usize] {
        // A whole group, of known length, is read with vector instructions.
        if let Ok(importance) = <&[u8; 2 * FANOUT as usize]>::try_from(self.importance) {
            return std::array::from_fn(|i| read_u16(importance, 2 * i).into());
        }
        let mut all = [0; FANOUT as usize];
        for (one, bytes) in all.iter_mut().zip(self.importance.chunks_exact(2)) {
            *one = read_u16(bytes, 0).into();
        }
        all
    }
}

/// Returns a weight that is inversely proportional to an importance or value. 0 counts as 1: an
/// untouched cell is as unimportant as possible.
#[inline(always)]
fn inverse(number: u32) -> u32 {
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

/// Returns what a deletion from a cell with this value and importance costs, without priority.
#[inline(always)]
fn cost_in_use((value, importance): (u32, u16)) -> u32 {
    match value {
        0 => NEVER,
        _ => importance.into(),
    }
}

/// Returns what a deletion from a cell with this importance and priority costs.
#[inline(always)]
fn with_priority(importance: u16, priority: u32) -> u32 {
    let sum = u32::from(importance).saturating_add(priority);
    sum.min(NEVER - 1)
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
            vectors: Vectors::Portable,
        }
    }

    /// Returns the same cells, which compute with these vectors.
    #[inline(always)]
    pub fn with_vectors(self, vectors: Vectors) -> Self {
        let index = match self.index {
            Index::None => Index::None,
            Index::Weighted(index) => Index::Weighted(index.with_vectors(vectors)),
            Index::Minimum(index) => Index::Minimum(index.with_vectors(vectors)),
        };
        ImportanceCells {
            index,
            vectors,
            ..self
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
        match self.scheme.uses_importance() {
            true => read_u16(region, self.importance_at + 2 * cell as usize),
            false => 0,
        }
    }

    /// Returns the weight of a cell.
    #[inline(always)]
    fn weight(&self, value: u32, importance: u16) -> u32 {
        match self.scheme {
            Scheme::Probabilistic => inverse(importance.into()),
            _ if value == 0 => 0,
            Scheme::ProbabilisticValue => inverse(value),
            _ => inverse(importance.into()),
        }
    }

    /// Returns the weights of the cells of a group, and 0 where there is none. There is no branch
    /// per cell: which ones are in use cannot be predicted.
    #[inline(always)]
    fn weights(&self, group: &Group<'_>) -> [u32; FANOUT as usize] {
        let numbers = match self.scheme {
            Scheme::ProbabilisticValue => group.values.map(u32::from),
            _ => group.importances(),
        };
        let greatest = numbers.iter().fold(0, |all, number| all | number);
        let inverses = match (greatest as usize) < INVERSES.len() {
            true => numbers.map(|number| INVERSES[number as usize % INVERSES.len()]),
            false => numbers.map(|number| MAX_WEIGHT / number.max(1)),
        };
        let counts_always = self.scheme == Scheme::Probabilistic;
        std::array::from_fn(|i| {
            let counts = (group.values[i] != 0) | counts_always;
            let is_cell = i < group.count;
            inverses[i] * u32::from(counts & is_cell)
        })
    }

    /// Returns the cell in whose part of the total the target of a search lies.
    #[inline(always)]
    pub fn choice(&self, region: &[u8], search: &Search) -> Choice {
        let group = self.group(region, search.group);
        let weights = self.weights(&group);
        let (passed, before) = self.vectors.place_of(&weights.map(u64::from), search.left);
        // Damaged sums may promise more weight than there is.
        let passed = passed.min(group.count - 1);
        Choice {
            cell: search.group * FANOUT + passed as u64,
            start: search.target.wrapping_sub(search.left).wrapping_add(before),
            weight: weights[passed].into(),
        }
    }

    /// Prefetches the cells of a group.
    #[inline(always)]
    pub fn prefetch_group(&self, region: &[u8], group: u64) {
        let cell = group * FANOUT;
        self.counters.prefetch_cell(region, cell);
        if self.scheme.uses_importance() {
            prefetch(region, self.importance_at + 2 * cell as usize);
        }
    }

    /// Returns what a deletion from each cell of a group costs.
    #[inline(always)]
    pub fn costs(&self, region: &[u8], number: u64) -> Costs {
        let group = self.group(region, number);
        let importances = group.importances();
        if self.scheme != Scheme::MinimumPriority {
            return std::array::from_fn(|i| {
                let is_in_use = (i < group.count) & (group.values[i] != 0);
                importances[i] | if is_in_use { 0 } else { NEVER }
            });
        }
        let mut costs = [NEVER; FANOUT as usize];
        let at = self.priority_at + 4 * (number * FANOUT) as usize;
        let priorities = region[at..at + 4 * group.count].chunks_exact(4);
        for ((cost, importance), priority) in costs.iter_mut().zip(importances).zip(priorities) {
            *cost = with_priority(importance as u16, read_u32(priority, 0));
        }
        costs
    }

    #[inline(always)]
    fn group<'a>(&self, region: &'a [u8], number: u64) -> Group<'a> {
        let cells = children(number, self.cells());
        let count = (cells.end - cells.start) as usize;
        let at = self.importance_at + 2 * cells.start as usize;
        Group {
            values: self.counters.values_of(region, cells.start, count),
            importance: match self.scheme.uses_importance() {
                true => &region[at..at + 2 * count],
                false => &[],
            },
            count,
        }
    }

    /// Changes the value of a cell, counts the cells in use and updates the index, unless that is
    /// an index of minima.
    #[inline(always)]
    pub fn set_value<R: Region + ?Sized>(
        &self,
        region: &mut R,
        registers: &mut Registers,
        cell: u64,
        value: u32,
    ) {
        let old = self.write_value(region, registers, cell, value);
        let weight_changes = match self.scheme {
            Scheme::ProbabilisticValue => true,
            Scheme::ProbabilisticInUse => (old == 0) != (value == 0),
            _ => false,
        };
        if weight_changes {
            let importance = self.importance(region.bytes(), cell);
            self.update_index(region, cell, (old, importance), (value, importance));
        }
    }

    /// Changes the value and the importance of a cell, counts the cells in use and updates the
    /// index.
    #[inline(always)]
    pub fn set<R: Region + ?Sized>(
        &self,
        region: &mut R,
        registers: &mut Registers,
        cell: u64,
        value: u32,
        importance: impl Fn(u16) -> u16,
    ) {
        let old = self.write_value(region, registers, cell, value);
        let old_importance = self.importance(region.bytes(), cell);
        let importance = importance(old_importance);
        if self.scheme.uses_importance() {
            let at = self.importance_at + 2 * cell as usize;
            write_u16(region.bytes_mut(at..at + 2), 0, importance);
        }
        self.update_index(region, cell, (old, old_importance), (value, importance));
    }

    /// Writes the value of a cell and counts the cells in use. Returns the value before.
    #[inline(always)]
    fn write_value<R: Region + ?Sized>(
        &self,
        region: &mut R,
        registers: &mut Registers,
        cell: u64,
        value: u32,
    ) -> u32 {
        let old = self.value(region.bytes(), cell);
        self.counters.set(region, cell, value);
        let occupied = registers.occupied_mut();
        *occupied = occupied
            .wrapping_add(u64::from(value != 0))
            .wrapping_sub(u64::from(old != 0));
        old
    }

    /// Updates the index after a cell changed its value and importance.
    #[inline(always)]
    fn update_index<R: Region + ?Sized>(
        &self,
        region: &mut R,
        cell: u64,
        old: (u32, u16),
        new: (u32, u16),
    ) {
        match &self.index {
            Index::None => {}
            Index::Weighted(index) => {
                let (old, new) = (self.weight(old.0, old.1), self.weight(new.0, new.1));
                index.change(region, cell, old, new);
            }
            Index::Minimum(index) => {
                let (old, new) = match self.scheme {
                    Scheme::MinimumPriority => {
                        let at = self.priority_at + 4 * cell as usize;
                        let priority = read_u32(region.bytes(), at);
                        (
                            with_priority(old.1, priority),
                            with_priority(new.1, priority),
                        )
                    }
                    _ => (cost_in_use(old), cost_in_use(new)),
                };
                let group = cell / FANOUT;
                index.change(region, group, old, new, |region| {
                    least(&self.costs(region, group))
                });
            }
        }
    }

    /// Updates the minima over a cell.
    #[inline(always)]
    pub fn update_minimum<R: Region + ?Sized>(
        &self,
        region: &mut R,
        index: &MinimumIndex,
        cell: u64,
    ) {
        let group = cell / FANOUT;
        let costs = self.costs(region.bytes(), group);
        index.update(region, group, least(&costs));
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
