//! Chooses a cell with a probability proportional to its weight, in O(log n).
//!
//! The weights themselves are not stored: they follow from the cells. Each node holds the sum of
//! the weights under it. To choose, a number below the total is drawn and the cell in whose part
//! of the total it lies is found from the top: with the weights 2, 0, 5, 1 the numbers 0 and 1
//! belong to the first cell, 2 to 6 to the third and 7 to the fourth.
//!
//! In a region of zeros every cell has the weight `untouched`. If that is not 0, nodes hold how
//! much less than that their cells have.

use super::index_levels::{FANOUT, IndexLevels, Level, children};
use crate::bytes::{read_u32, read_u64, write_u32, write_u64};
use crate::prefetch::prefetch;
use crate::region::Region;

/// The largest weight: 16 cells of it fit into a node over cells.
pub(super) const MAX_WEIGHT: u64 = 1 << 20;

/// Sums of weights.
#[derive(Clone, Copy, Debug)]
pub(super) struct WeightedIndex {
    levels: IndexLevels,
    /// The weight of each cell in a region of zeros: 0, or the largest weight.
    untouched: u64,
}

/// A chosen cell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Choice {
    /// The cell.
    pub cell: u64,
    /// The sum of the weights of the cells before it.
    pub start: u64,
    /// Its weight.
    pub weight: u64,
}

/// A search on its way down.
#[derive(Clone, Copy, Debug, Default)]
struct Search {
    /// The node, or the cell at the end.
    node: u64,
    /// What is left of the number drawn.
    left: u64,
    target: u64,
}

/// Searches in groups of so many advance together, so that their cache misses overlap.
const TOGETHER: usize = 8;

impl WeightedIndex {
    /// Lays out the nodes from a byte offset.
    pub fn new(cells: u64, first_byte: usize, alignment: usize, untouched: u64) -> Self {
        WeightedIndex {
            levels: IndexLevels::new(cells, first_byte, 8, alignment),
            untouched,
        }
    }

    /// Returns the first byte behind the nodes.
    pub fn end(&self) -> usize {
        self.levels.end
    }

    /// Returns the sum of all weights.
    #[inline(always)]
    pub fn total(&self, region: &[u8]) -> u64 {
        let top = self.levels.top();
        let stored: u64 = (0..top.count).map(|node| stored(region, top, node)).sum();
        self.weight_of(stored, self.levels.cells)
    }

    #[inline(always)]
    fn weight_of(&self, stored: u64, cells: u64) -> u64 {
        match self.untouched {
            0 => stored,
            untouched => (untouched * cells).saturating_sub(stored),
        }
    }

    /// Records that the weight of a cell changed.
    #[inline(always)]
    pub fn change<R: Region + ?Sized>(&self, region: &mut R, cell: u64, old: u64, new: u64) {
        let added = match self.untouched {
            0 => new.wrapping_sub(old),
            _ => old.wrapping_sub(new),
        };
        if added == 0 {
            return;
        }
        let mut node = cell;
        for level in self.levels.all() {
            node /= FANOUT;
            let at = level.at(node);
            let bytes = region.bytes_mut(at..at + level.node_bytes);
            match level.node_bytes {
                4 => {
                    let sum = read_u32(bytes, 0).wrapping_add(added as u32);
                    write_u32(bytes, 0, sum);
                }
                _ => write_u64(bytes, 0, read_u64(bytes, 0).wrapping_add(added)),
            }
        }
    }

    /// Finds the cells in whose parts of the total the targets lie. Each target is below the
    /// total. `weight` returns the weight of a cell.
    pub fn find_all(
        &self,
        region: &[u8],
        targets: impl ExactSizeIterator<Item = u64>,
        weight: impl Fn(u64) -> u64,
        choices: &mut [Choice],
    ) {
        let mut targets = targets.zip(choices).fuse();
        loop {
            let mut searches = [Search::default(); TOGETHER];
            let mut found: [Option<&mut Choice>; TOGETHER] = [const { None }; TOGETHER];
            let mut count = 0;
            for (target, choice) in targets.by_ref().take(TOGETHER) {
                searches[count] = Search {
                    node: 0,
                    left: target,
                    target,
                };
                found[count] = Some(choice);
                count += 1;
            }
            if count == 0 {
                return;
            }
            self.descend(region, &mut searches[..count]);
            for (search, choice) in searches.iter().zip(found.into_iter().flatten()) {
                *choice = self.cell_of(search, &weight);
            }
        }
    }

    /// Finds one cell; see [`find_all`](WeightedIndex::find_all).
    pub fn find(&self, region: &[u8], target: u64, weight: impl Fn(u64) -> u64) -> Choice {
        let mut search = [Search {
            node: 0,
            left: target,
            target,
        }];
        self.descend(region, &mut search);
        self.cell_of(&search[0], &weight)
    }

    /// Advances searches from the top to nodes over cells.
    #[inline(always)]
    fn descend(&self, region: &[u8], searches: &mut [Search]) {
        // The number of cells under a whole node.
        let mut width = FANOUT.pow(self.levels.all().len() as u32);
        for (depth, level) in self.levels.all().iter().enumerate().rev() {
            for search in &mut *searches {
                self.step(region, level, width, search);
                if let Some(below) = depth.checked_sub(1) {
                    let below = &self.levels.all()[below];
                    let first = (search.node * FANOUT).min(below.count - 1);
                    prefetch(region, below.at(first));
                }
            }
            width /= FANOUT;
        }
    }

    /// Moves a search to the child node that contains what is left of its target. If damaged sums
    /// are less than that, the last child is taken.
    #[inline(always)]
    fn step(&self, region: &[u8], level: &Level, width: u64, search: &mut Search) {
        let group = children(search.node, level.count);
        let mut chosen = group.start;
        let last = group.end.saturating_sub(1);
        for node in group {
            let cells = width.min(self.levels.cells - node * width);
            let sum = self.weight_of(stored(region, level, node), cells);
            if search.left < sum || node == last {
                chosen = node;
                break;
            }
            search.left -= sum;
        }
        search.node = chosen;
    }

    /// Finds the cell under a node over cells.
    #[inline(always)]
    fn cell_of(&self, search: &Search, weight: &impl Fn(u64) -> u64) -> Choice {
        let mut left = search.left;
        let mut last = Choice::default();
        for cell in self.levels.cells_under(search.node) {
            last = Choice {
                cell,
                start: search.target - left,
                weight: weight(cell),
            };
            if left < last.weight {
                return last;
            }
            left -= last.weight;
        }
        last
    }

    /// Prefetches the node over a cell.
    #[inline(always)]
    pub fn prefetch(&self, region: &[u8], cell: u64) {
        prefetch(region, self.levels.all()[0].at(cell / FANOUT));
    }
}

#[inline(always)]
fn stored(region: &[u8], level: &Level, node: u64) -> u64 {
    match level.node_bytes {
        4 => u64::from(read_u32(region, level.at(node))),
        _ => read_u64(region, level.at(node)),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_cell_of_every_number_is_that_of_a_linear_search(
            cells in 1usize..700, untouched: bool,
            changes in proptest::collection::vec((any::<u16>(), 0..=MAX_WEIGHT), 0..200),
            numbers in proptest::collection::vec(any::<u64>(), 1..40),
        ) {
            let untouched = if untouched { MAX_WEIGHT } else { 0 };
            let index = WeightedIndex::new(cells as u64, 0, 8, untouched);
            let mut region = vec![0u8; index.end()];
            let mut weights = vec![untouched; cells];
            for (cell, weight) in changes {
                let cell = usize::from(cell) % cells;
                index.change(&mut region[..], cell as u64, weights[cell], weight);
                weights[cell] = weight;
            }
            let total: u64 = weights.iter().sum();
            prop_assert_eq!(index.total(&region), total);
            if total == 0 {
                return Ok(());
            }
            let targets: Vec<u64> = numbers.iter().map(|number| number % total).collect();
            let mut found = vec![Choice::default(); targets.len()];
            let weight = |cell: u64| weights[cell as usize];
            index.find_all(&region, targets.iter().copied(), weight, &mut found);
            for (&target, choice) in targets.iter().zip(found) {
                let mut start = 0;
                let cell = weights.iter().position(|&weight| {
                    start += weight;
                    target < start
                }).expect("below the total");
                let expected = Choice {
                    cell: cell as u64, start: start - weights[cell], weight: weights[cell],
                };
                prop_assert_eq!(choice, expected);
                prop_assert_eq!(index.find(&region, target, weight), expected);
            }
        }
    }
}
