//! Finds the group of cells with the least cost, in O(log n).
//!
//! The costs of cells are not stored: they follow from the cells. Each node holds the least cost
//! under it. Of groups with equal costs, the first is found; its owner then looks at the 16 cells.

use super::index_levels::{FANOUT, IndexLevels, Level};
use crate::bytes::{read_u32, write_u32};
use crate::prefetch::prefetch;
use crate::region::Region;
use crate::simd::Vectors;

/// The cost of a cell that must not be found.
pub(super) const NEVER: u32 = u32::MAX;

/// Minima of costs.
#[derive(Clone, Copy, Debug)]
pub(super) struct MinimumIndex {
    levels: IndexLevels,
    /// The cost of each cell in a region of zeros: 0 or [`NEVER`]. Nodes hold the XOR of a cost
    /// with it, so that zeros have the right meaning.
    untouched: u32,
    vectors: Vectors,
}

impl MinimumIndex {
    /// Lays out the nodes from a byte offset.
    pub fn new(cells: u64, first_byte: usize, alignment: usize, untouched: u32) -> Self {
        MinimumIndex {
            levels: IndexLevels::new(cells, first_byte, 4, alignment),
            untouched,
            vectors: Vectors::Portable,
        }
    }

    /// Returns the same index, which computes with these vectors.
    #[inline(always)]
    pub fn with_vectors(self, vectors: Vectors) -> Self {
        MinimumIndex { vectors, ..self }
    }

    /// Returns the first byte behind the nodes.
    pub fn end(&self) -> usize {
        self.levels.end
    }

    /// Returns the costs of the nodes under a parent; [`NEVER`] where there is none.
    #[inline(always)]
    fn costs(&self, region: &[u8], level: &Level, parent: u64) -> Costs {
        let (_, nodes) = level.under(region, parent);
        // A whole group, of known length, is read with vector instructions.
        if let Ok(nodes) = <&[u8; 4 * FANOUT as usize]>::try_from(nodes) {
            return std::array::from_fn(|i| read_u32(nodes, 4 * i) ^ self.untouched);
        }
        let mut costs = [NEVER; FANOUT as usize];
        for (cost, node) in costs.iter_mut().zip(nodes.chunks_exact(4)) {
            *cost = read_u32(node, 0) ^ self.untouched;
        }
        costs
    }

    /// Returns the first group with the least cost; None if every cost is [`NEVER`].
    #[inline(always)]
    pub fn find(&self, region: &[u8]) -> Option<u64> {
        let mut node = 0;
        for level in self.levels.all().iter().rev() {
            node = node * FANOUT + first_least(&self.costs(region, level, node))?;
        }
        Some(node)
    }

    /// Returns the cells with the least costs, of equal ones the first, in rising order. `lists`
    /// decides how many.
    ///
    /// The least cells are in the least groups, of equal ones the first: any other group has as
    /// many groups before it, each with a cell that costs no more. The same holds for nodes, so
    /// each level is searched under the least nodes of the level above only.
    #[inline(always)]
    pub fn least_cells<'a>(
        &self,
        region: &[u8],
        lists: &'a mut LeastLists,
        costs_of_group: impl Fn(u64) -> Costs,
    ) -> &'a [u64] {
        lists.start();
        for level in self.levels.all().iter().rev() {
            lists.descend(self.vectors, |parent| self.costs(region, level, parent));
        }
        lists.descend(self.vectors, costs_of_group);
        lists.numbers()
    }

    /// Records that a cell of a group changed its cost. `rescan` returns the least cost of the
    /// group; it is needed only if the cell had the least.
    #[inline(always)]
    pub fn change<R: Region + ?Sized>(
        &self,
        region: &mut R,
        group: u64,
        old: u32,
        new: u32,
        rescan: impl FnOnce(&[u8]) -> u32,
    ) {
        let bytes = region.bytes();
        let stored = read_u32(bytes, self.levels.all()[0].at(group)) ^ self.untouched;
        let minimum = match old > stored {
            true => new.min(stored),
            false if new <= stored => new,
            false => rescan(bytes),
        };
        if minimum != stored {
            self.update(region, group, minimum);
        }
    }

    /// Records the least cost of a group.
    #[inline(always)]
    pub fn update<R: Region + ?Sized>(&self, region: &mut R, group: u64, cost: u32) {
        let (mut node, mut minimum) = (group, cost);
        let levels = self.levels.all();
        for (depth, level) in levels.iter().enumerate() {
            let at = level.at(node);
            let bytes = region.bytes_mut(at..at + 4);
            let old = read_u32(bytes, 0) ^ self.untouched;
            if old == minimum {
                return;
            }
            write_u32(bytes, 0, minimum ^ self.untouched);
            node /= FANOUT;
            let Some(above) = levels.get(depth + 1) else {
                return;
            };
            let bytes = region.bytes();
            let stored = read_u32(bytes, above.at(node)) ^ self.untouched;
            if minimum > stored {
                // Another child may be the least, or this one was not.
                if old > stored {
                    return;
                }
                minimum = least(&self.costs(bytes, level, node));
            }
        }
    }

    /// Prefetches the node over a cell.
    #[inline(always)]
    pub fn prefetch(&self, region: &[u8], cell: u64) {
        prefetch(region, self.levels.all()[0].at(cell / FANOUT));
    }
}

/// The costs of 16 cells or nodes.
pub(super) type Costs = [u32; FANOUT as usize];

/// Returns the least cost. The compiler makes vector instructions of this.
#[inline(always)]
pub(super) fn least(costs: &Costs) -> u32 {
    costs.iter().fold(NEVER, |least, &cost| least.min(cost))
}

/// Returns the number of the first with the least cost; None if every cost is [`NEVER`].
#[inline(always)]
pub(super) fn first_least(costs: &Costs) -> Option<u64> {
    let least = least(costs);
    let first = costs.iter().position(|&cost| cost == least);
    first.filter(|_| least != NEVER).map(|first| first as u64)
}

/// The most cells that [`LeastLists`] finds.
pub(super) const MAX_LEAST: usize = 64;

/// The least nodes of one level, in the order of their numbers, and what is under them. Of equal
/// costs, the smaller number is less.
#[derive(Clone, Debug)]
pub(super) struct LeastLists {
    numbers: [u64; MAX_LEAST],
    count: usize,
    /// The greatest cost of those; [`NEVER`] if there may be fewer than the limit.
    greatest: u32,
    limit: usize,
    below: [Costs; MAX_LEAST],
}

impl LeastLists {
    /// Returns lists that find so many cells.
    #[inline(always)]
    pub fn new(limit: usize) -> Self {
        LeastLists {
            numbers: [0; MAX_LEAST],
            count: 0,
            greatest: NEVER,
            limit: limit.min(MAX_LEAST),
            below: [[0; FANOUT as usize]; MAX_LEAST],
        }
    }

    #[inline(always)]
    fn numbers(&self) -> &[u64] {
        &self.numbers[..self.count]
    }

    /// Makes it the list of the node over everything, whose cost is not known.
    #[inline(always)]
    fn start(&mut self) {
        self.numbers[0] = 0;
        self.count = self.limit.min(1);
        self.greatest = NEVER;
    }

    /// Makes it the list of the least children of its nodes.
    #[inline(always)]
    fn descend(&mut self, vectors: Vectors, costs: impl Fn(u64) -> Costs) {
        let (count, limit) = (self.count, self.limit as u32);
        for (below, &parent) in self.below.iter_mut().zip(&self.numbers[..count]) {
            *below = costs(parent);
        }
        let below = &self.below[..count];
        let at_most = |bound: u32| -> u32 {
            let counts = below.iter().map(|it| vectors.at_most(it, bound).count_ones());
            counts.sum()
        };
        // If the list is full, each node has a child that costs as much as itself.
        let (bound, less) = match self.greatest.checked_sub(1).map(|less| (less, at_most(less))) {
            _ if self.greatest == NEVER => least_bound(below, limit, at_most),
            None => (0, 0),
            Some((_, less)) if less <= limit => (self.greatest, less),
            Some(_) => least_bound(below, limit, at_most),
        };
        // All that cost less than the bound, and the first of those that cost as much.
        let mut equal_left = limit - less.min(limit);
        let (mut parents, mut taken) = (self.numbers, 0);
        for (parent, costs) in parents[..count].iter_mut().zip(below) {
            let less = bound.checked_sub(1).map_or(0, |it| vectors.at_most(costs, it));
            let mut left = vectors.at_most(costs, bound);
            while left != 0 {
                let lowest = left & left.wrapping_neg();
                left ^= lowest;
                let is_equal = lowest & less == 0;
                if is_equal && equal_left == 0 {
                    continue;
                }
                equal_left -= u32::from(is_equal);
                self.numbers[taken % MAX_LEAST] =
                    *parent * FANOUT + u64::from(lowest.trailing_zeros());
                taken += 1;
            }
        }
        self.count = taken.min(self.limit);
        self.greatest = match self.count == self.limit {
            true => bound,
            false => NEVER,
        };
    }
}

/// Returns the least bound that as many costs as wanted do not exceed, and how many are below it.
#[inline(always)]
fn least_bound(below: &[Costs], wanted: u32, at_most: impl Fn(u32) -> u32) -> (u32, u32) {
    let costs = below.iter().map(least);
    let lowest = costs.fold(NEVER, |all, it| all.min(it));
    // Costs that are [`NEVER`] are not wanted. The first bound is most often close to the least.
    let (mut low, mut high, mut step) = (lowest.min(NEVER - 1), NEVER - 1, 1);
    while low < high {
        let middle = match low.checked_add(step - 1) {
            Some(near) if near < high => near,
            _ => low + (high - low) / 2,
        };
        match at_most(middle) >= wanted {
            true => high = middle,
            false => low = middle + 1,
        }
        step = (2 * step).min(1 << 16);
    }
    let less = low.checked_sub(1).map_or(0, &at_most);
    (low, less)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_least_group_is_that_of_a_linear_search(
            cells in 1usize..700, untouched: bool, limit in 0usize..9,
            changes in proptest::collection::vec((any::<u16>(), 0u32..40), 0..200),
        ) {
            let untouched = if untouched { NEVER } else { 0 };
            let index = MinimumIndex::new(cells as u64, 0, 8, untouched);
            let mut region = vec![0u8; index.end()];
            let mut costs = vec![untouched; cells];
            for (cell, cost) in changes {
                let cell = usize::from(cell) % cells;
                let old = costs[cell];
                costs[cell] = if cost == 0 { NEVER } else { cost };
                let group = cell / 16;
                let in_group = costs.iter().skip(16 * group).take(16);
                let minimum = *in_group.min().expect("a cell");
                let rescan = |_: &[u8]| minimum;
                index.change(&mut region[..], group as u64, old, costs[cell], rescan);
                let least = *costs.iter().min().expect("a cell");
                let first = costs.iter().position(|&cost| cost == least);
                let first = first.map(|cell| cell as u64 / 16);
                prop_assert_eq!(index.find(&region), first.filter(|_| least != NEVER));
                let mut in_order: Vec<usize> = (0..cells).collect();
                in_order.retain(|&cell| costs[cell] != NEVER);
                in_order.sort_by_key(|&cell| costs[cell]);
                in_order.truncate(limit);
                in_order.sort_unstable();
                let of_group = |group: u64| {
                    std::array::from_fn(|i| {
                        let cell = 16 * group as usize + i;
                        costs.get(cell).copied().unwrap_or(NEVER)
                    })
                };
                let mut lists = LeastLists::new(limit);
                let expected: Vec<u64> = in_order.iter().map(|&cell| cell as u64).collect();
                for vectors in Vectors::all_detected() {
                    let index = index.with_vectors(vectors);
                    let found = index.least_cells(&region, &mut lists, of_group);
                    prop_assert_eq!(found, &expected[..]);
                }
            }
        }
    }
}
