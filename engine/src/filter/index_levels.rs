//! The levels of an index over cells: each node summarizes 16 cells, or 16 nodes below it.
//!
//! 16 cells are a group; group number g is the cells 16·g to 16·g + 15. With 1000 cells there are
//! 63 nodes over cells and 4 nodes over those; these 4 are the top.
//! Finding a cell reads one group of 16 numbers per level, and so does a change: O(log n), with
//! nodes of less than three bits per cell in total.

/// The number of cells, or of nodes, under a node.
pub(super) const FANOUT: u64 = 16;
/// 2^43 cells have 2^39 nodes over cells; nine more levels leave at most 16.
const MAX_LEVELS: usize = 10;

/// One level: where its nodes are, and how many.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Level {
    /// The offset of the first node.
    pub first_byte: usize,
    /// The number of nodes.
    pub count: u64,
    /// The size of a node: 4 or 8 bytes.
    pub node_bytes: usize,
}

impl Level {
    /// Returns the offset of a node.
    #[inline(always)]
    pub fn at(&self, node: u64) -> usize {
        self.first_byte + node as usize * self.node_bytes
    }

    /// Returns the number of the first node under a parent, and the bytes of all nodes under it.
    #[inline(always)]
    pub fn under<'a>(&self, region: &'a [u8], parent: u64) -> (u64, &'a [u8]) {
        let nodes = children(parent, self.count);
        (
            nodes.start,
            &region[self.at(nodes.start)..self.at(nodes.end)],
        )
    }
}

/// All levels, the one over cells first.
#[derive(Clone, Copy, Debug)]
pub(super) struct IndexLevels {
    levels: [Level; MAX_LEVELS],
    depth: usize,
    /// The number of cells.
    pub cells: u64,
    /// The first byte behind the nodes.
    pub end: usize,
}

impl IndexLevels {
    /// Lays out the nodes over so many cells from a byte offset. Nodes over cells have four
    /// bytes, others `upper_bytes`. Levels begin at multiples of `alignment`.
    pub fn new(cells: u64, first_byte: usize, upper_bytes: usize, alignment: usize) -> Self {
        let mut levels = [Level::default(); MAX_LEVELS];
        let (mut depth, mut below, mut end) = (0, cells, first_byte);
        for level in &mut levels {
            *level = Level {
                first_byte: end.next_multiple_of(alignment),
                count: below.div_ceil(FANOUT),
                node_bytes: if depth == 0 { 4 } else { upper_bytes },
            };
            end = level.at(level.count);
            below = level.count;
            depth += 1;
            if below <= FANOUT {
                break;
            }
        }
        IndexLevels {
            levels,
            depth,
            cells,
            end,
        }
    }

    /// Returns the levels, the one over cells first.
    #[inline(always)]
    pub fn all(&self) -> &[Level] {
        &self.levels[..self.depth]
    }

    /// Returns the level over all others.
    #[inline(always)]
    pub fn top(&self) -> &Level {
        &self.levels[self.depth - 1]
    }
}

/// Returns the children of a node among `count`.
#[inline(always)]
pub(super) fn children(node: u64, count: u64) -> std::ops::Range<u64> {
    let first = (node * FANOUT).min(count);
    first..(first + FANOUT).min(count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_node_has_a_parent_and_the_top_is_one_group() {
        for cells in [1, 15, 16, 17, 255, 256, 257, 1000, 70_000, 1 << 30, 1 << 43] {
            let levels = IndexLevels::new(cells, 24, 8, 8);
            let mut below = cells;
            let mut end = 24;
            for level in levels.all() {
                assert_eq!(level.count, below.div_ceil(FANOUT), "{cells}");
                assert!(level.first_byte >= end && level.first_byte % 8 == 0);
                (below, end) = (level.count, level.at(level.count));
            }
            assert!(levels.top().count <= FANOUT, "{cells}");
            assert_eq!(levels.end, end);
        }
    }
}
