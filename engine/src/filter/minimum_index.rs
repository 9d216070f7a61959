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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_least_group_is_that_of_a_linear_search(
            cells in 1usize..700, untouched: bool,
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
            }
        }
    }
}
