//! Finds groups of cells with low costs, in O(log n).
//!
//! The costs of cells are not stored: they follow from the cells. 16 cells are a group; group
//! number g is the cells 16·g to 16·g + 15. The index holds a bound for each group: no cell that its
//! owner looks for costs less. Each node above holds the least bound under it. A cell that becomes
//! cheaper lowers the bound at once. If one becomes dearer, the bound stays as it is until a search
//! comes to the group.

use super::index_levels::{IndexLevels, Level};
use crate::bytes::{read_u32, write_u32};
use crate::prefetch::prefetch;
use crate::region::Region;

/// The number of cells in a group, and of nodes under a node.
pub(super) const FANOUT: u64 = 16;
/// The cost of a cell that must not be found.
pub(super) const NEVER: u32 = u32::MAX;

/// The costs of 16 cells or nodes.
pub(super) type Costs = [u32; FANOUT as usize];

/// Bounds of costs.
#[derive(Clone, Copy, Debug)]
pub(super) struct MinimumIndex {
    levels: IndexLevels<FANOUT>,
    /// The cost of each cell in a region of zeros: 0 or [`NEVER`]. Nodes hold the XOR of a bound
    /// with it, so that zeros have the right meaning.
    untouched: u32,
}

impl MinimumIndex {
    /// Lays out the nodes from a byte offset.
    pub fn new(cells: u64, first_byte: usize, alignment: usize, untouched: u32) -> Self {
        let groups = cells.div_ceil(FANOUT);
        MinimumIndex {
            levels: IndexLevels::new(groups, 4, first_byte, alignment),
            untouched,
        }
    }

    /// Returns the first byte behind the nodes.
    pub fn end(&self) -> usize {
        self.levels.end
    }

    /// Returns the bounds of the nodes under a parent; [`NEVER`] where there is none.
    #[inline(always)]
    fn bounds(&self, region: &[u8], level: &Level, parent: u64) -> Costs {
        let (_, nodes) = level.under::<FANOUT>(region, parent);
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

    /// Returns the least bound of all groups.
    pub fn least(&self, region: &[u8]) -> u32 {
        least(&self.bounds(region, self.levels.top(), 0))
    }

    /// Returns the first group from one on whose bound is at most a cost.
    #[inline(always)]
    pub fn next(&self, region: &[u8], from: u64, cost: u32) -> Option<u64> {
        let levels = self.levels.all();
        let mut node = from;
        // Upwards, until there is such a node behind the ones that were left out.
        let mut found = None;
        for (depth, level) in levels.iter().enumerate() {
            let bounds = self.bounds(region, level, node / FANOUT);
            let candidates = at_most(&bounds, cost) >> (node % FANOUT);
            if candidates != 0 {
                found = Some((depth, node + u64::from(candidates.trailing_zeros())));
                break;
            }
            node = node / FANOUT + 1;
            if levels
                .get(depth + 1)
                .is_some_and(|above| node >= above.count)
            {
                return None;
            }
        }
        let (depth, mut node) = found?;
        // Downwards, to the first under it.
        for level in levels[..depth].iter().rev() {
            let candidates = at_most(&self.bounds(region, level, node), cost);
            // In a damaged index there may be none.
            let place = if candidates == 0 {
                0
            } else {
                candidates.trailing_zeros()
            };
            node = node * FANOUT + u64::from(place);
        }
        (node < levels[0].count).then_some(node)
    }

    /// Records that a cell of a group has this cost now.
    #[inline(always)]
    pub fn lower<R: Region + ?Sized>(&self, region: &mut R, group: u64, cost: u32) {
        let mut node = group;
        for level in self.levels.all() {
            if self.bound(region.bytes(), level, node) <= cost {
                return;
            }
            self.write(region, level, node, cost);
            node /= FANOUT;
        }
    }

    /// Sets the bound of a group, which may be higher than before.
    #[inline(always)]
    pub fn set<R: Region + ?Sized>(&self, region: &mut R, group: u64, bound: u32) {
        let (mut node, mut bound) = (group, bound);
        for level in self.levels.all() {
            if self.bound(region.bytes(), level, node) == bound {
                return;
            }
            self.write(region, level, node, bound);
            node /= FANOUT;
            bound = least(&self.bounds(region.bytes(), level, node));
        }
    }

    #[inline(always)]
    fn bound(&self, region: &[u8], level: &Level, node: u64) -> u32 {
        read_u32(region, level.at(node)) ^ self.untouched
    }

    #[inline(always)]
    fn write(&self, region: &mut (impl Region + ?Sized), level: &Level, node: u64, bound: u32) {
        let at = level.at(node);
        write_u32(region.bytes_mut(at..at + 4), 0, bound ^ self.untouched);
    }

    /// Prefetches the node over a group.
    #[inline(always)]
    pub fn prefetch(&self, region: &[u8], group: u64) {
        prefetch(region, self.levels.first().at(group));
    }
}

/// Returns the least cost. The compiler makes vector instructions of this.
#[inline(always)]
fn least(costs: &Costs) -> u32 {
    costs.iter().fold(NEVER, |least, &cost| least.min(cost))
}

/// Returns a bit for each cost that is at most a limit, which is not [`NEVER`].
#[inline(always)]
fn at_most(costs: &Costs, limit: u32) -> u32 {
    let bits = costs.iter().enumerate();
    bits.fold(0, |all, (i, &cost)| all | u32::from(cost <= limit) << i)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_next_group_is_that_of_a_linear_search(
            groups in prop_oneof![1usize..40, 40usize..5000], untouched: bool,
            changes in proptest::collection::vec((any::<u16>(), 0u32..40, any::<bool>()), 0..200),
            searches in proptest::collection::vec((any::<u16>(), 0u32..45), 1..40),
        ) {
            let untouched = if untouched { NEVER } else { 0 };
            let index = MinimumIndex::new(16 * groups as u64, 0, 8, untouched);
            let mut region = vec![0u8; index.end()];
            let mut bounds = vec![untouched; groups];
            for (group, cost, is_set) in changes {
                let group = usize::from(group) % groups;
                if is_set {
                    let cost = if cost == 0 { NEVER } else { cost };
                    bounds[group] = cost;
                    index.set(&mut region[..], group as u64, cost);
                } else {
                    bounds[group] = bounds[group].min(cost);
                    index.lower(&mut region[..], group as u64, cost);
                }
                prop_assert_eq!(index.least(&region), *bounds.iter().min().expect("a group"));
            }
            for (from, cost) in searches {
                let from = usize::from(from) % (groups + 20);
                let mut behind = bounds.iter().enumerate().skip(from);
                let expected = behind.find(|&(_, &bound)| bound <= cost);
                let expected = expected.map(|(group, _)| group as u64);
                prop_assert_eq!(index.next(&region, from as u64, cost), expected);
            }
        }
    }
}
