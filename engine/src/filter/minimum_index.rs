//! Finds the group of cells with the least cost, in O(log n).
//!
//! The costs of cells are not stored: they follow from the cells. Each node holds the least cost
//! under it. Of groups with equal costs, the first is found; its owner then looks at the 16 cells.

use super::index_levels::{FANOUT, IndexLevels, Level};
use crate::bytes::{read_u32, write_u32};
use crate::prefetch::prefetch;
use crate::region::Region;

/// The cost of a cell that must not be found.
pub(super) const NEVER: u32 = u32::MAX;

/// Minima of costs.
#[derive(Clone, Copy, Debug)]
pub(super) struct MinimumIndex {
    levels: IndexLevels,
    /// The cost of each cell in a region of zeros: 0 or [`NEVER`]. Nodes hold the XOR of a cost
    /// with it, so that zeros have the right meaning.
    untouched: u32,
}

impl MinimumIndex {
    /// Lays out the nodes from a byte offset.
    pub fn new(cells: u64, first_byte: usize, alignment: usize, untouched: u32) -> Self {
        MinimumIndex {
            levels: IndexLevels::new(cells, first_byte, 4, alignment),
            untouched,
        }
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

    /// Returns the cells with the least costs, of equal ones the first, in no order. `lists`
    /// decides how many.
    ///
    /// The least cells are in the least groups, of equal ones the first: any other group has as
    /// many groups before it, each with a cell that costs no more. The same holds for nodes, so
    /// each level is searched under the least nodes of the level above only.
    #[inline(always)]
    pub fn least_cells<'a>(
        &self,
        region: &[u8],
        lists: &'a mut [Least; 2],
        costs_of_group: impl Fn(u64) -> Costs,
    ) -> &'a [u64] {
        let [mut above, mut below] = lists.each_mut();
        above.start();
        for level in self.levels.all().iter().rev() {
            below.take_under(above, |parent| self.costs(region, level, parent));
            std::mem::swap(&mut above, &mut below);
        }
        below.take_under(above, costs_of_group);
        &below.numbers[..below.count]
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

/// Returns a number whose bit i is set if cost number i is at most a bound.
#[inline(always)]
fn at_most(costs: &Costs, bound: u32) -> u32 {
    let bits = costs.iter().zip(0..);
    bits.fold(0, |mask, (&cost, i)| mask | u32::from(cost <= bound) << i)
}

/// The most cells that [`Least`] holds.
pub(super) const MAX_LEAST: usize = 64;

/// The least of some cells or nodes, in no order. Of equal costs, the smaller number is less.
#[derive(Clone, Copy, Debug)]
pub(super) struct Least {
    costs: [u32; MAX_LEAST],
    numbers: [u64; MAX_LEAST],
    count: usize,
    limit: usize,
    /// The place of the greatest, if the list is full.
    greatest: usize,
}

impl Least {
    /// Returns an empty list with room for so many.
    #[inline(always)]
    pub fn new(limit: usize) -> Self {
        Least {
            costs: [NEVER; MAX_LEAST],
            numbers: [0; MAX_LEAST],
            count: 0,
            limit: limit.min(MAX_LEAST),
            greatest: 0,
        }
    }

    /// Makes it the list of the node over everything, whose cost is not known.
    #[inline(always)]
    fn start(&mut self) {
        (self.costs[0], self.numbers[0]) = (NEVER - 1, 0);
        self.count = self.limit.min(1);
        self.greatest = 0;
    }

    /// Makes it the list of the least children of the nodes in another list.
    #[inline(always)]
    fn take_under(&mut self, parents: &Least, costs: impl Fn(u64) -> Costs) {
        self.count = 0;
        // Each of a full list of parents has a child that costs as much as itself.
        let most = parents.last().map_or(NEVER - 1, |(cost, _)| cost);
        for &parent in &parents.numbers[..parents.count] {
            let first = parent * FANOUT;
            let costs = costs(parent);
            let bound = match self.last() {
                None => Some(most),
                // Of equal costs, a greater number comes too late.
                Some((cost, number)) if number < first => cost.checked_sub(1),
                Some((cost, _)) => Some(cost),
            };
            let mut candidates = bound.map_or(0, |bound| at_most(&costs, bound));
            while candidates != 0 {
                let i = candidates.trailing_zeros();
                candidates &= candidates - 1;
                self.offer(first + u64::from(i), costs[i as usize % costs.len()]);
            }
        }
    }

    /// Returns the greatest of a full list.
    #[inline(always)]
    fn last(&self) -> Option<(u32, u64)> {
        let at = self.greatest % MAX_LEAST;
        (self.count == self.limit && self.limit > 0).then(|| (self.costs[at], self.numbers[at]))
    }

    #[inline(always)]
    fn offer(&mut self, number: u64, cost: u32) {
        let at = match self.last() {
            None => self.count,
            Some(last) if last <= (cost, number) => return,
            Some(_) => self.greatest,
        } % MAX_LEAST;
        (self.costs[at], self.numbers[at]) = (cost, number);
        self.count = (self.count + 1).min(self.limit);
        if self.count == self.limit {
            let places = 0..self.limit;
            let greatest = places.max_by_key(|&at| (self.costs[at], self.numbers[at]));
            self.greatest = greatest.unwrap_or(0);
        }
    }
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
                let mut lists = [Least::new(limit); 2];
                let mut found = index.least_cells(&region, &mut lists, of_group).to_vec();
                found.sort_unstable();
                let expected: Vec<u64> = in_order.iter().map(|&cell| cell as u64).collect();
                prop_assert_eq!(found, expected);
            }
        }
    }
}
