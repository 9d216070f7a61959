//! The levels of an index: each node summarizes `FANOUT` nodes below it.
//!
//! With 1000 nodes on the first level and 16 under a node, there are 63 on the second level and 4 on
//! the third; these 4 are the top. Walking from the top to the first level reads one group of 16
//! numbers per level, and so does a change: O(log n).

/// 2^43 cells have 2^39 nodes over 16 cells; nine more levels leave at most 16.
const MAX_LEVELS: usize = 10;

/// One level: where its nodes are, and how many.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Level {
    /// The offset of the first node.
    first_byte: usize,
    /// The number of nodes.
    pub count: u64,
    /// The size of a node.
    node_bytes: usize,
}

impl Level {
    /// Returns the offset of a node.
    #[inline(always)]
    pub fn at(&self, node: u64) -> usize {
        self.first_byte + node as usize * self.node_bytes
    }

    /// Returns the number of the first node under a parent, and the bytes of all nodes under it.
    #[inline(always)]
    pub fn under<'a, const FANOUT: u64>(&self, region: &'a [u8], parent: u64) -> (u64, &'a [u8]) {
        let nodes = children::<FANOUT>(parent, self.count);
        (
            nodes.start,
            &region[self.at(nodes.start)..self.at(nodes.end)],
        )
    }
}

/// All levels.
#[derive(Clone, Copy, Debug)]
pub(super) struct IndexLevels<const FANOUT: u64> {
    levels: [Level; MAX_LEVELS],
    depth: usize,
    /// The first byte behind the nodes.
    pub end: usize,
}

impl<const FANOUT: u64> IndexLevels<FANOUT> {
    /// Lays out levels from a byte offset, the first with `count` nodes. Levels begin at multiples
    /// of `alignment`.
    pub fn new(count: u64, node_bytes: usize, first_byte: usize, alignment: usize) -> Self {
        let mut levels = [Level::default(); MAX_LEVELS];
        let (mut depth, mut count, mut end) = (0, count, first_byte);
        for level in &mut levels {
            *level = Level {
                first_byte: end.next_multiple_of(alignment),
                count,
                node_bytes,
            };
            end = level.at(count);
            depth += 1;
            if count <= FANOUT {
                break;
            }
            count = count.div_ceil(FANOUT);
        }
        IndexLevels { levels, depth, end }
    }

    /// Returns the levels, the first one first.
    #[inline(always)]
    pub fn all(&self) -> &[Level] {
        &self.levels[..self.depth]
    }

    /// Returns the first level.
    #[inline(always)]
    pub fn first(&self) -> &Level {
        &self.levels[0]
    }

    /// Returns the level over all others.
    #[inline(always)]
    pub fn top(&self) -> &Level {
        &self.levels[self.depth - 1]
    }
}

/// Returns the children of a node among `count`.
#[inline(always)]
pub(super) fn children<const FANOUT: u64>(node: u64, count: u64) -> std::ops::Range<u64> {
    let first = (node * FANOUT).min(count);
    first..(first + FANOUT).min(count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_node_has_a_parent_and_the_top_is_one_group() {
        for count in [1, 15, 16, 17, 255, 256, 257, 1000, 70_000, 1 << 30, 1 << 39] {
            let levels = IndexLevels::<16>::new(count, 8, 24, 8);
            assert_eq!(levels.first().count, count);
            let mut below = None;
            let mut end = 24;
            for level in levels.all() {
                if let Some(below) = below {
                    assert_eq!(level.count, u64::div_ceil(below, 16), "{count}");
                }
                assert!(level.first_byte >= end && level.first_byte % 8 == 0);
                (below, end) = (Some(level.count), level.at(level.count));
            }
            assert!(levels.top().count <= 16, "{count}");
            assert_eq!(levels.end, end);
        }
    }
}
