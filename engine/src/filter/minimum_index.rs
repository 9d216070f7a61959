//! Finds the cell with the least cost, in O(log n).
//!
//! The costs themselves are not stored: they follow from the cells. Each node holds the least cost
//! under it. Of cells with equal costs, the first is found.

use super::index_levels::{FANOUT, IndexLevels, Level, children};
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

    #[inline(always)]
    fn node(&self, region: &[u8], level: &Level, node: u64) -> u32 {
        read_u32(region, level.at(node)) ^ self.untouched
    }

    /// Returns the first child with the least cost, and the cost.
    #[inline(always)]
    fn least_child(&self, region: &[u8], level: &Level, parent: u64) -> (u64, u32) {
        least(children(parent, level.count), |node| {
            self.node(region, level, node)
        })
    }

    /// Returns the first cell with the least cost; None if every cost is [`NEVER`].
    pub fn find(&self, region: &[u8], cost: impl Fn(u64) -> u32) -> Option<u64> {
        let mut node = 0;
        for level in self.levels.all().iter().rev() {
            let (child, least) = self.least_child(region, level, node);
            if least == NEVER {
                return None;
            }
            node = child;
        }
        let (cell, least) = least(self.levels.cells_under(node), cost);
        (least != NEVER).then_some(cell)
    }

    /// Updates the nodes over a cell whose cost changed.
    #[inline(always)]
    pub fn update<R: Region + ?Sized>(
        &self,
        region: &mut R,
        cell: u64,
        cost: impl Fn(&[u8], u64) -> u32,
    ) {
        let mut node = cell / FANOUT;
        let cells = self.levels.cells_under(node);
        let (_, mut minimum) = least(cells, |cell| cost(region.bytes(), cell));
        let mut levels = self.levels.all().iter();
        while let Some(level) = levels.next() {
            let at = level.at(node);
            let stored = minimum ^ self.untouched;
            if read_u32(region.bytes(), at) == stored {
                return;
            }
            write_u32(region.bytes_mut(at..at + 4), 0, stored);
            if levels.len() > 0 {
                node /= FANOUT;
                (_, minimum) = self.least_child(region.bytes(), level, node);
            }
        }
    }

    /// Prefetches the node over a cell.
    #[inline(always)]
    pub fn prefetch(&self, region: &[u8], cell: u64) {
        prefetch(region, self.levels.all()[0].at(cell / FANOUT));
    }
}

/// Returns the first of some cells or nodes with the least cost.
#[inline(always)]
fn least(range: std::ops::Range<u64>, cost: impl Fn(u64) -> u32) -> (u64, u32) {
    let mut found = (range.start, NEVER);
    for it in range {
        let cost = cost(it);
        if cost < found.1 {
            found = (it, cost);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_least_cell_is_that_of_a_linear_search(
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
                index.update(&mut region[..], cell as u64, |_, cell| costs[cell as usize]);
                let least = *costs.iter().min().expect("a cell");
                let first = costs.iter().position(|&cost| cost == least).map(|cell| cell as u64);
                let found = index.find(&region, |cell| costs[cell as usize]);
                prop_assert_eq!(found, first.filter(|_| least != NEVER));
            }
        }
    }
}
