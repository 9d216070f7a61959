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

    /// Returns the groups with the least costs, the first ones of equal costs, in order. The
    /// `limit` least cells are in the `limit` least groups: any other group has as many groups
    /// before it, each with a cell that costs no more. The same holds for nodes.
    #[inline(always)]
    pub fn find_least(&self, region: &[u8], limit: usize) -> Least {
        let (mut found, mut above) = (Least::new(limit), Least::new(limit));
        found.offer(0, 0);
        for level in self.levels.all().iter().rev() {
            std::mem::swap(&mut found.numbers, &mut above.numbers);
            above.count = found.count;
            found.clear();
            for &parent in above.in_order() {
                found.offer_all(parent, &self.costs(region, level, parent));
            }
        }
        found
    }

    /// Records the least cost of a group.
    #[inline(always)]
    pub fn update<R: Region + ?Sized>(&self, region: &mut R, group: u64, cost: u32) {
        let (mut node, mut minimum) = (group, cost);
        for level in self.levels.all() {
            let at = level.at(node);
            let stored = minimum ^ self.untouched;
            if read_u32(region.bytes(), at) == stored {
                return;
            }
            write_u32(region.bytes_mut(at..at + 4), 0, stored);
            node /= FANOUT;
            minimum = least(&self.costs(region.bytes(), level, node));
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

/// The most cells that [`Least`] holds.
pub(super) const MAX_LEAST: usize = 64;

/// The least of the cells or nodes offered in order; of equal ones, the first.
#[derive(Clone, Copy, Debug)]
pub(super) struct Least {
    costs: [u32; MAX_LEAST],
    numbers: [u64; MAX_LEAST],
    count: usize,
    limit: usize,
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
        }
    }

    /// Offers the cells or nodes under a parent.
    #[inline(always)]
    pub fn offer_all(&mut self, parent: u64, costs: &Costs) {
        if self.limit > 0 && least(costs) < self.costs[self.limit - 1] {
            for (number, &cost) in (parent * FANOUT..).zip(costs) {
                self.offer(number, cost);
            }
        }
    }

    /// Offers a cell or node with a greater number than all before it.
    #[inline(always)]
    fn offer(&mut self, number: u64, cost: u32) {
        // Places that are free cost `NEVER`.
        if self.limit == 0 || cost >= self.costs[self.limit - 1] {
            return;
        }
        let mut at = self.count.min(self.limit - 1);
        while at > 0 && self.costs[at - 1] > cost {
            self.costs[at] = self.costs[at - 1];
            self.numbers[at] = self.numbers[at - 1];
            at -= 1;
        }
        self.costs[at] = cost;
        self.numbers[at] = number;
        self.count = (self.count + 1).min(self.limit);
    }

    #[inline(always)]
    fn clear(&mut self) {
        self.costs[..self.limit].fill(NEVER);
        self.count = 0;
    }

    /// Returns the numbers in increasing order, and leaves them in it.
    #[inline(always)]
    pub fn in_order(&mut self) -> &[u64] {
        let numbers = &mut self.numbers[..self.count];
        numbers.sort_unstable();
        numbers
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
                costs[cell] = if cost == 0 { NEVER } else { cost };
                let group = cell / 16;
                let in_group = costs.iter().skip(16 * group).take(16);
                let minimum = *in_group.min().expect("a cell");
                index.update(&mut region[..], group as u64, minimum);
                let least = *costs.iter().min().expect("a cell");
                let first = costs.iter().position(|&cost| cost == least);
                let first = first.map(|cell| cell as u64 / 16);
                prop_assert_eq!(index.find(&region), first.filter(|_| least != NEVER));
                let mut groups: Vec<_> = costs.chunks(16).enumerate().collect();
                groups.retain(|(_, costs)| costs.iter().any(|&cost| cost != NEVER));
                groups.sort_by_key(|(_, costs)| costs.iter().min());
                groups.truncate(limit);
                let mut expected: Vec<u64> = groups.iter().map(|(i, _)| *i as u64).collect();
                expected.sort_unstable();
                let mut found = index.find_least(&region, limit);
                prop_assert_eq!(found.in_order(), expected);
            }
        }
    }
}
