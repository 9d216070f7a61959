//! Chooses a group of cells with a probability proportional to its weight, in O(log n).
//!
//! The weights of cells are not stored: they follow from the cells. Each node holds the sum of the
//! weights under it. To choose, a number below the total is drawn, and the cell in whose part of
//! the total it lies is found from the top: with the weights 2, 0, 5, 1 the numbers 0 and 1 belong
//! to the first cell, 2 to 6 to the third and 7 to the fourth. The index finds the group; its
//! owner then looks at the 16 cells.
//!
//! In a region of zeros every cell has the weight `untouched`. If that is not 0, nodes hold how
//! much less than that their cells have.

use super::cache_lines::CACHE_LINE_BYTES;
use super::index_levels::{FANOUT, IndexLevels, Level};
use crate::bytes::{read_u32, read_u64, write_u32, write_u64};
use crate::prefetch::prefetch;
use crate::region::Region;
use crate::simd::Vectors;

/// The largest weight: 16 cells of it fit into a node over cells.
pub(super) const MAX_WEIGHT: u32 = 1 << 20;

/// Sums of weights.
#[derive(Clone, Copy, Debug)]
pub(super) struct WeightedIndex {
    levels: IndexLevels,
    /// The weight of each cell in a region of zeros: 0, or the largest weight.
    untouched: u32,
    vectors: Vectors,
}

/// A search for the cell of a number below the total.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Search {
    /// The number.
    pub target: u64,
    /// The number within the group.
    pub left: u64,
    /// The group of cells; before that, a node on the way to it.
    pub group: u64,
}

impl Search {
    /// Returns the search for a number, at the top.
    #[inline(always)]
    pub fn new(target: u64) -> Self {
        Search {
            target,
            left: target,
            group: 0,
        }
    }
}

impl WeightedIndex {
    /// Lays out the nodes from a byte offset.
    pub fn new(cells: u64, first_byte: usize, alignment: usize, untouched: u32) -> Self {
        WeightedIndex {
            levels: IndexLevels::new(cells, first_byte, 8, alignment),
            untouched,
            vectors: Vectors::Portable,
        }
    }

    /// Returns the same index, which computes with these vectors.
    #[inline(always)]
    pub fn with_vectors(self, vectors: Vectors) -> Self {
        WeightedIndex { vectors, ..self }
    }

    /// Returns the first byte behind the nodes.
    pub fn end(&self) -> usize {
        self.levels.end
    }

    /// Returns the sum of all weights.
    #[inline(always)]
    pub fn total(&self, region: &[u8]) -> u64 {
        let top = self.levels.top();
        let (_, nodes) = top.under(region, 0);
        let stored = match top.node_bytes {
            4 => sum(nodes.chunks_exact(4), |node| read_u32(node, 0).into()),
            _ => sum(nodes.chunks_exact(8), |node| read_u64(node, 0)),
        };
        match self.untouched {
            0 => stored,
            untouched => (u64::from(untouched) * self.levels.cells).saturating_sub(stored),
        }
    }

    /// Records that the weight of a cell changed.
    #[inline(always)]
    pub fn change<R: Region + ?Sized>(&self, region: &mut R, cell: u64, old: u32, new: u32) {
        if old == new {
            return;
        }
        let (old, new) = (u64::from(old), u64::from(new));
        let added = match self.untouched {
            0 => new.wrapping_sub(old),
            _ => old.wrapping_sub(new),
        };
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

    /// Advances searches from the top to their groups. They advance together, so that their cache
    /// misses overlap.
    #[inline(always)]
    pub fn find_groups(&self, region: &[u8], searches: &mut [Search]) {
        let levels = self.levels.all();
        // The number of cells under a whole node.
        let mut width = FANOUT.pow(levels.len() as u32);
        for (depth, level) in levels.iter().enumerate().rev() {
            for search in &mut *searches {
                self.step(region, level, width, search);
                if depth > 0 {
                    let below = &levels[depth - 1];
                    let first = below.at(search.group * FANOUT);
                    prefetch(region, first);
                    // 16 nodes of eight bytes are two cache lines.
                    if below.node_bytes > 4 {
                        prefetch(region, first + CACHE_LINE_BYTES);
                    }
                }
            }
            width /= FANOUT;
        }
    }

    /// Moves a search to the child node that contains what is left of its target. If damaged sums
    /// are less than that, the last child is taken.
    #[inline(always)]
    fn step(&self, region: &[u8], level: &Level, width: u64, search: &mut Search) {
        let (first, nodes) = level.under(region, search.group);
        let (place, before) = match level.node_bytes {
            4 => self.find::<4>(nodes, width, search.left, |node| read_u32(node, 0).into()),
            _ => self.find::<8>(nodes, width, search.left, |node| read_u64(node, 0)),
        };
        search.left = search.left.wrapping_sub(before);
        search.group = first + place;
    }

    /// Returns which of some nodes contains a number, and the sum of the weights before it.
    #[inline(always)]
    fn find<const BYTES: usize>(
        &self,
        nodes: &[u8],
        width: u64,
        number: u64,
        read: impl Fn(&[u8; BYTES]) -> u64,
    ) -> (u64, u64) {
        let whole = u64::from(self.untouched) * width;
        let (nodes, _) = nodes.as_chunks::<BYTES>();
        // That of the last node, which may have fewer cells, is never used.
        let weight = |node: &[u8; BYTES]| match self.untouched {
            0 => read(node),
            _ => whole.wrapping_sub(read(node)),
        };
        if let Ok(nodes) = <&[_; FANOUT as usize]>::try_from(nodes) {
            let mut weights = [0; FANOUT as usize];
            for (one, node) in weights.iter_mut().zip(nodes) {
                *one = weight(node);
            }
            let (place, before) = self.vectors.place_of(&weights, number);
            return (place as u64, before);
        }
        let (mut place, mut before) = (0, 0u64);
        for node in &nodes[..nodes.len().saturating_sub(1)] {
            let end = before.wrapping_add(weight(node));
            if end > number {
                break;
            }
            (place, before) = (place + 1, end);
        }
        (place, before)
    }

    /// Prefetches the node over a cell.
    #[inline(always)]
    pub fn prefetch(&self, region: &[u8], cell: u64) {
        prefetch(region, self.levels.all()[0].at(cell / FANOUT));
    }
}

/// Returns the sum of what is stored in nodes.
#[inline(always)]
fn sum<'a>(nodes: impl Iterator<Item = &'a [u8]>, read: impl Fn(&[u8]) -> u64) -> u64 {
    nodes.fold(0, |sum: u64, node| sum.wrapping_add(read(node)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_group_of_every_number_is_that_of_a_linear_search(
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
            let total: u64 = weights.iter().map(|&weight| u64::from(weight)).sum();
            prop_assert_eq!(index.total(&region), total);
            if total == 0 {
                return Ok(());
            }
            let targets = numbers.iter().map(|number| number % total);
            let mut searches: Vec<Search> = targets.map(Search::new).collect();
            index.find_groups(&region, &mut searches);
            for search in searches {
                let mut end = 0;
                let cell = weights.iter().position(|&weight| {
                    end += u64::from(weight);
                    search.target < end
                }).expect("below the total");
                let group = cell / FANOUT as usize;
                let before: u64 =
                    weights[..16 * group].iter().map(|&weight| u64::from(weight)).sum();
                prop_assert_eq!(search.group, group as u64);
                prop_assert_eq!(search.left, search.target - before);
            }
        }
    }
}
