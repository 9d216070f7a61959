//! The cells of an importance-aware Bloom filter: counters, and what a deletion scheme needs to
//! choose among them.
//!
//! The region holds the counters, then two bytes per cell for importance if the scheme uses it,
//! then four bytes per cell for priority if it uses that, then an index over the cells: sums of
//! [weights](super::weighted_index) or [minima](super::minimum_index) of costs. With counters of
//! three bits, there are 3 bits per cell without an index, about 4.1 with the index over values,
//! about 20 with importance, 21 for minima, and about 53 with priority.

use super::counters::Counters;
use super::index_levels::children;
use super::least_list::{self, CAPACITY, KeyLayout, LeastList};
use super::minimum_index::{Costs, FANOUT, MinimumIndex, NEVER};
use super::weighted_index::{GROUP, MAX_WEIGHT, Target, WeightedIndex};
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
    keys: KeyLayout,
    bytes: usize,
}

/// A chosen cell.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Choice {
    /// The cell.
    pub cell: u64,
    /// Its weight.
    pub weight: u64,
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

    /// Returns the cell of a group to which a number below the weight of the group belongs.
    #[inline(always)]
    pub fn choice(&self, region: &[u8], target: Target) -> Choice {
        let mut left = target.number;
        let mut choice = Choice {
            cell: target.part * GROUP,
            weight: 0,
        };
        self.for_each_weight(region, target.part, |cell, weight| {
            choice = Choice {
                cell,
                weight: weight.into(),
            };
            let is_behind = left >= weight;
            left = left.wrapping_sub(weight);
            is_behind
        });
        choice
    }

    /// Returns the sum of the weights of the cells before a cell of its group.
    #[cold]
    pub fn start_in_group(&self, region: &[u8], cell: u64) -> u64 {
        let mut sum = 0;
        self.for_each_weight(region, cell / GROUP, |before, weight| {
            let counts = before < cell;
            sum += if counts { u64::from(weight) } else { 0 };
            counts
        });
        sum
    }

    /// Calls a function with each cell of a group that has a weight, until it returns false.
    #[inline(always)]
    fn for_each_weight(
        &self,
        region: &[u8],
        group: u64,
        mut function: impl FnMut(u64, u32) -> bool,
    ) {
        let cells = group * GROUP..((group + 1) * GROUP).min(self.cells());
        if self.scheme == Scheme::Probabilistic {
            for cell in cells {
                if !function(cell, inverse(self.importance(region, cell).into())) {
                    return;
                }
            }
            return;
        }
        self.counters.for_each_in_use(region, cells, |cell, value| {
            function(cell, self.weight(value, self.importance(region, cell)))
        });
    }

    /// Prefetches the cells of a group of the weighted index.
    #[inline(always)]
    pub fn prefetch_group(&self, region: &[u8], group: u64) {
        self.prefetch_cells(region, group * GROUP);
    }

    /// Prefetches the value, the importance and the priority of a cell.
    #[inline(always)]
    fn prefetch_cells(&self, region: &[u8], cell: u64) {
        self.counters.prefetch_cell(region, cell);
        if self.scheme.uses_importance() {
            prefetch(region, self.importance_at + 2 * cell as usize);
        }
        if self.scheme == Scheme::MinimumPriority {
            prefetch(region, self.priority_at + 4 * cell as usize);
        }
    }

    /// Returns what a deletion from each of 16 cells costs; [`NEVER`] where there is no cell, or
    /// none from which the scheme deletes.
    #[inline(always)]
    fn costs(&self, region: &[u8], group: u64) -> Costs {
        let cells = children::<FANOUT>(group, self.cells());
        let count = (cells.end - cells.start) as usize;
        let at = self.importance_at + 2 * cells.start as usize;
        let importances = self.importances(&region[at..at + 2 * count]);
        if self.scheme != Scheme::MinimumPriority {
            let values = self.counters.values_of(region, cells.start, count);
            return std::array::from_fn(|i| {
                let is_in_use = (i < count) & (values[i] != 0);
                importances[i] | if is_in_use { 0 } else { NEVER }
            });
        }
        let mut costs = [NEVER; FANOUT as usize];
        let at = self.priority_at + 4 * cells.start as usize;
        let priorities = region[at..at + 4 * count].chunks_exact(4);
        for ((cost, importance), priority) in costs.iter_mut().zip(importances).zip(priorities) {
            *cost = self.with_priority(importance, read_u32(priority, 0));
        }
        costs
    }

    /// Returns up to 16 numbers for importance, and 0 where there is none.
    #[inline(always)]
    fn importances(&self, bytes: &[u8]) -> Costs {
        // A whole group, of known length, is read with vector instructions.
        if let Ok(bytes) = <&[u8; 2 * FANOUT as usize]>::try_from(bytes) {
            return std::array::from_fn(|i| read_u16(bytes, 2 * i).into());
        }
        let mut all = [0; FANOUT as usize];
        for (one, bytes) in all.iter_mut().zip(bytes.chunks_exact(2)) {
            *one = read_u16(bytes, 0).into();
        }
        all
    }

    /// Returns what a deletion from a cell with this importance and priority costs.
    #[inline(always)]
    fn with_priority(&self, importance: u32, priority: u32) -> u32 {
        importance.saturating_add(priority).min(self.keys.most())
    }

    /// Returns the key of a cell with this value and importance in the list of the least; None if
    /// nothing is deleted from it.
    #[inline(always)]
    fn key(&self, region: &[u8], cell: u64, (value, importance): (u32, u16)) -> Option<u64> {
        let importance = u32::from(importance);
        let cost = match self.scheme {
            Scheme::MinimumPriority => {
                let priority = read_u32(region, self.priority_at + 4 * cell as usize);
                self.with_priority(importance, priority)
            }
            _ if value == 0 => return None,
            _ => importance,
        };
        Some(self.keys.key(cost, cell))
    }

    /// Returns the cell of a key.
    #[inline(always)]
    pub fn cell_of(&self, key: u64) -> u64 {
        self.keys.cost_and_cell(key).1
    }

    /// Whether registers that were read from a file are possible.
    pub fn accepts(&self, registers: &Registers) -> bool {
        match self.index {
            Index::Minimum(_) => LeastList::is_valid(registers, self.keys, self.cells()),
            Index::None | Index::Weighted(_) => true,
        }
    }

    /// Moves the mark up until the list has so many cells, is full, or holds all.
    #[inline(always)]
    pub fn fill_list<R: Region + ?Sized>(
        &self,
        region: &mut R,
        registers: &mut Registers,
        index: &MinimumIndex,
        count: usize,
    ) {
        let list = &mut LeastList(registers);
        while list.len() < count.min(CAPACITY) && list.mark() != u64::MAX {
            let (cost, from) = self.keys.cost_and_cell(list.mark());
            match index.next(region.bytes(), from / FANOUT, cost) {
                Some(group) => self.pass_group(region, list, index, group),
                None => {
                    // There is no such cost any more. The bounds say which one may be the next.
                    let least = index.least(region.bytes());
                    list.set_mark(match least {
                        NEVER => u64::MAX,
                        _ => self.keys.key(least.max(cost.saturating_add(1)), 0),
                    });
                }
            }
        }
    }

    /// Moves the mark behind a group, and appends its cells of this cost to the list.
    #[inline(always)]
    fn pass_group<R: Region + ?Sized>(
        &self,
        region: &mut R,
        list: &mut LeastList<'_>,
        index: &MinimumIndex,
        group: u64,
    ) {
        let mark = list.mark();
        let (least, _) = self.keys.cost_and_cell(mark);
        let mut behind = self.keys.key(least, (group + 1) * FANOUT);
        let mut bound = NEVER;
        let costs = self.costs(region.bytes(), group);
        for (&cost, cell) in costs.iter().zip(group * FANOUT..) {
            let key = self.keys.key(cost, cell);
            if cost == NEVER || key < mark {
                // It is in the list already.
                continue;
            }
            if key < behind && !list.append(key) {
                behind = key;
            }
            if key >= behind {
                bound = bound.min(cost);
            }
        }
        index.set(region, group, bound);
        list.set_mark(behind);
    }

    /// Puts a cell where it belongs by its key: into the list or into the index.
    #[inline(always)]
    pub fn put<R: Region + ?Sized>(
        &self,
        region: &mut R,
        registers: &mut Registers,
        index: &MinimumIndex,
        key: u64,
    ) {
        let list = &mut LeastList(registers);
        let into_index = match key < list.mark() {
            true => list.insert(key),
            false => Some(key),
        };
        if let Some(key) = into_index {
            let (cost, cell) = self.keys.cost_and_cell(key);
            index.lower(region, cell / FANOUT, cost);
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
        let becomes_empty = (old != 0) & (value == 0);
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
            index.change(region, cell, old, new);
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
                index.change(region, cell, old, new);
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

    /// Raises the priority of a cell: it is chosen later next time. Returns its key.
    #[inline(always)]
    pub fn raise_priority<R: Region + ?Sized>(&self, region: &mut R, cell: u64, by: u32) -> u64 {
        let at = self.priority_at + 4 * cell as usize;
        let bytes = region.bytes_mut(at..at + 4);
        let raised = read_u32(bytes, 0).saturating_add(by);
        write_u32(bytes, 0, raised);
        let importance = self.importance(region.bytes(), cell);
        self.keys.key(self.with_priority(importance.into(), raised), cell)
    }

    /// Prefetches everything that changes with the cells of a key.
    #[inline(always)]
    pub fn prefetch(&self, region: &[u8], fingerprint: Fingerprint) {
        for cell in self.counters.positions(fingerprint) {
            self.prefetch_cells(region, cell);
            match &self.index {
                Index::None => {}
                Index::Weighted(index) => index.prefetch(region, cell),
                Index::Minimum(index) => index.prefetch(region, cell / FANOUT),
            }
        }
    }

    /// Prefetches the cells that will probably be passed next.
    #[inline(always)]
    pub fn prefetch_next(&self, region: &[u8], registers: &Registers, index: &MinimumIndex) {
        let (cost, from) = self.keys.cost_and_cell(least_list::mark(registers));
        if let Some(group) = index.next(region, from / FANOUT, cost) {
            self.prefetch_cells(region, group * FANOUT);
        }
    }
}
