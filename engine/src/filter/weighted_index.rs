//! Chooses a cell with a probability proportional to its weight.
//!
//! The weights of cells are not stored: they follow from the cells. 32 cells are a group, 16 groups
//! a block, 8 blocks a segment, and 8 segments a unit of 32,768 cells. The index holds, for each
//! group, the sum of the weights before it in its block; for each block, the sum before it in its
//! segment; for each segment, the sum before it in its unit; for each unit, its weight; and sums
//! of 64 units, of 64 such sums and so on. A number below the weight of a unit belongs to one of
//! its cells: with the weights 2, 0, 5, 1 the numbers 0 and 1 belong to the first
//! cell, 2 to 6 to the third and 7 to the fourth.
//!
//! In a region of zeros every cell has the weight `untouched`. Nodes hold how much less than that
//! their cells have, modulo a power of two.

use std::ops::Range;

use super::index_levels::{IndexLevels, Level};
use crate::bytes::{read_u64, write_u64};
use crate::prefetch::prefetch;
use crate::region::Region;

/// The largest weight: the sums before the blocks of a segment fit into 32 bits.
pub(super) const MAX_WEIGHT: u32 = 1 << 20;
/// The number of cells in a group.
pub(super) const GROUP: u64 = 32;
/// The number of groups in a block.
const BLOCK_GROUPS: u64 = 16;
/// The number of blocks in a segment.
const SEGMENT_BLOCKS: u64 = 8;
/// The number of segments in a unit.
const UNIT_SEGMENTS: u64 = 8;
/// The number of cells in a block.
const BLOCK: u64 = BLOCK_GROUPS * GROUP;
/// The number of cells in a segment.
const SEGMENT: u64 = SEGMENT_BLOCKS * BLOCK;
/// The number of cells in a unit: so many that units differ little in weight, and that all their
/// weights stay in a cache near the processor.
pub(super) const UNIT: u64 = UNIT_SEGMENTS * SEGMENT;

/// The number of nodes under a node above units. A level less is worth more than a short search:
/// changes are more frequent than lookups.
const UPPER: u64 = 64;

/// Sums of weights.
#[derive(Clone, Copy, Debug)]
pub(super) struct WeightedIndex {
    /// The number of cells.
    pub cells: u64,
    /// The weight of each cell in a region of zeros: 0, or the largest weight.
    untouched: u32,
    /// How much less than other untouched units the last one weighs: it may have fewer cells.
    missing: u64,
    /// The offset of the sum before group 0; there are none if there is only one group.
    groups_at: usize,
    /// The offset of the sum before block 0; there are none if there is only one block.
    blocks_at: usize,
    /// The offset of the sum before segment 0; there are none if there is only one segment.
    segments_at: usize,
    /// The offset of the ceiling, the next ceiling, the unit to visit, and the total; there are
    /// none if there is only one unit.
    pub ceiling_at: usize,
    units: IndexLevels<UPPER>,
}

/// A number below the weight of a unit, or of a smaller part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Target {
    /// The unit or the part.
    pub part: u64,
    /// The number.
    pub number: u64,
}

/// The sums before the groups of a block.
type GroupSums = [[u8; 4]; BLOCK_GROUPS as usize];
/// The sums before the blocks of a segment.
type BlockSums = [[u8; 4]; SEGMENT_BLOCKS as usize];
/// The sums before the segments of a unit.
type SegmentSums = [[u8; 8]; UNIT_SEGMENTS as usize];

impl WeightedIndex {
    /// Lays out the nodes from a byte offset.
    pub fn new(cells: u64, first_byte: usize, alignment: usize, untouched: u32) -> Self {
        let mut end = first_byte;
        let mut place = |is_needed: bool, bytes: u64| {
            if !is_needed {
                return 0;
            }
            let at = end.next_multiple_of(alignment);
            end = at + bytes as usize;
            at
        };
        let (blocks, segments) = (cells.div_ceil(BLOCK), cells.div_ceil(SEGMENT));
        let units = cells.div_ceil(UNIT);
        // Nodes always have all their children: those behind the last cell are never found.
        let groups_at = place(cells > GROUP, 4 * blocks * BLOCK_GROUPS);
        let blocks_at = place(cells > BLOCK, 4 * segments * SEGMENT_BLOCKS);
        let segments_at = place(cells > SEGMENT, 8 * units * UNIT_SEGMENTS);
        let ceiling_at = place(cells > UNIT, 32);
        WeightedIndex {
            cells,
            untouched,
            missing: u64::from(untouched) * (units * UNIT - cells),
            groups_at,
            blocks_at,
            segments_at,
            ceiling_at,
            units: IndexLevels::new(units, 8, end, alignment),
        }
    }

    /// Returns the first byte behind the nodes.
    pub fn end(&self) -> usize {
        self.units.end
    }

    pub fn unit_count(&self) -> u64 {
        self.units.first().count
    }

    /// Returns what is stored for all units.
    #[inline(always)]
    pub fn units<'a>(&self, region: &'a [u8]) -> &'a [[u8; 8]] {
        let level = self.units.first();
        region[level.at(0)..level.at(level.count)].as_chunks().0
    }

    /// Returns the weight of a unit.
    #[inline(always)]
    pub fn unit_weight(&self, units: &[[u8; 8]], unit: u64) -> u64 {
        let is_last = unit + 1 == units.len() as u64;
        let whole = self.whole(UNIT) - if is_last { self.missing } else { 0 };
        whole.wrapping_sub(u64::from_le_bytes(units[unit as usize]))
    }

    /// Returns the unit to which a number below the total belongs. If damaged sums are less than
    /// that, the last node is taken.
    #[cold]
    pub fn look_up(&self, region: &[u8], mut number: u64) -> Target {
        let levels = self.units.all();
        let mut node = 0;
        let mut width = UNIT * UPPER.pow(levels.len() as u32 - 1);
        for level in levels.iter().rev() {
            let (first, nodes) = level.under::<UPPER>(region, node);
            let (nodes, _) = nodes.as_chunks::<8>();
            node = first;
            for stored in &nodes[..nodes.len().saturating_sub(1)] {
                let weight = self.whole(width).wrapping_sub(u64::from_le_bytes(*stored));
                if number < weight {
                    break;
                }
                (node, number) = (node + 1, number - weight);
            }
            width /= UPPER;
        }
        Target { part: node, number }
    }

    /// Returns the weight of so many untouched cells.
    #[inline(always)]
    pub fn whole(&self, cells: u64) -> u64 {
        u64::from(self.untouched) * cells
    }

    /// Returns the sum of the weights before a group.
    #[cold]
    pub fn start_of_group(&self, region: &[u8], group: u64) -> u64 {
        let first = group * GROUP;
        let (block, segment, unit) = (first / BLOCK, first / SEGMENT, first / UNIT);
        let mut sum = 0;
        if let Some(sums) = self.group_sums(region, block) {
            sum = self.start(sums, GROUP, (group % BLOCK_GROUPS) as usize);
        }
        if let Some(sums) = self.block_sums(region, segment) {
            let start = self.start(sums, BLOCK, (block % SEGMENT_BLOCKS) as usize);
            sum = start.wrapping_add(sum);
        }
        if let Some(sums) = self.segment_sums(region, unit) {
            let start = self.start(sums, SEGMENT, (segment % UNIT_SEGMENTS) as usize);
            sum = start.wrapping_add(sum);
        }
        let (mut node, mut width) = (unit, UNIT);
        for level in self.units.all() {
            let (first, nodes) = level.under::<UPPER>(region, node / UPPER);
            let before = nodes.chunks_exact(8).take((node - first) as usize);
            let weights = before.map(|node| self.whole(width).wrapping_sub(read_u64(node, 0)));
            sum = weights.fold(sum, u64::wrapping_add);
            (node, width) = (node / UPPER, width * UPPER);
        }
        sum
    }

    #[inline(always)]
    fn groups_of(&self, block: u64) -> Range<usize> {
        let at = self.groups_at + size_of::<GroupSums>() * block as usize;
        at..at + size_of::<GroupSums>()
    }

    #[inline(always)]
    fn blocks_of(&self, segment: u64) -> Range<usize> {
        let at = self.blocks_at + size_of::<BlockSums>() * segment as usize;
        at..at + size_of::<BlockSums>()
    }

    #[inline(always)]
    fn segments_of(&self, unit: u64) -> Range<usize> {
        let at = self.segments_at + size_of::<SegmentSums>() * unit as usize;
        at..at + size_of::<SegmentSums>()
    }

    /// Returns the sums before the groups of a block; None if there is only one group.
    #[inline(always)]
    fn group_sums<'a>(&self, region: &'a [u8], block: u64) -> Option<&'a GroupSums> {
        let range = (self.cells > GROUP).then(|| self.groups_of(block))?;
        region[range].as_chunks().0.try_into().ok()
    }

    /// Returns the sums before the blocks of a segment; None if there is only one block.
    #[inline(always)]
    fn block_sums<'a>(&self, region: &'a [u8], segment: u64) -> Option<&'a BlockSums> {
        let range = (self.cells > BLOCK).then(|| self.blocks_of(segment))?;
        region[range].as_chunks().0.try_into().ok()
    }

    /// Returns the sums before the segments of a unit; None if there is only one segment.
    #[inline(always)]
    fn segment_sums<'a>(&self, region: &'a [u8], unit: u64) -> Option<&'a SegmentSums> {
        let range = (self.cells > SEGMENT).then(|| self.segments_of(unit))?;
        region[range].as_chunks().0.try_into().ok()
    }

    /// Returns the sum of the weights before one of some children with so many cells each.
    #[inline(always)]
    fn start<S: Sum, const COUNT: usize>(
        &self,
        sums: &[S; COUNT],
        width: u64,
        place: usize,
    ) -> u64 {
        let whole = self.whole(width).wrapping_mul(place as u64);
        sums[place % COUNT].below(whole)
    }

    /// Replaces each unit and number by the group to which the number belongs, and the number in
    /// that group. All are looked for together, so that their cache misses overlap.
    #[inline(always)]
    pub fn find_groups(&self, region: &[u8], targets: &mut [Target]) {
        for target in &mut *targets {
            let segments = self.segment_sums(region, target.part);
            *target = self.find(segments, SEGMENT, *target);
            prefetch(region, self.blocks_of(target.part).start);
        }
        for target in &mut *targets {
            *target = self.find(self.block_sums(region, target.part), BLOCK, *target);
            prefetch(region, self.groups_of(target.part).start);
        }
        for target in &mut *targets {
            *target = self.find(self.group_sums(region, target.part), GROUP, *target);
        }
    }

    /// Returns the last child that begins at most at a number. Which one it is cannot be predicted,
    /// so the places are halved without a branch.
    #[inline(always)]
    fn find<S: Sum, const COUNT: usize>(
        &self,
        sums: Option<&[S; COUNT]>,
        width: u64,
        target: Target,
    ) -> Target {
        let Some(sums) = sums else {
            return target;
        };
        // A number instead of a choice between two: of that, the compiler would make a branch.
        let mut place = 0;
        for bit in (0..COUNT.ilog2()).rev() {
            let start = self.start(sums, width, place + (1 << bit));
            place |= usize::from(start <= target.number) << bit;
        }
        let before = self.start(sums, width, place);
        let part = target.part * COUNT as u64 + place as u64;
        Target {
            // Damaged sums may lead behind the last cell.
            part: part.min((self.cells - 1) / width),
            number: target.number.wrapping_sub(before),
        }
    }

    /// Records that the weight of a cell changed.
    #[inline(always)]
    pub fn change<R: Region + ?Sized>(&self, region: &mut R, cell: u64, old: u32, new: u32) {
        if old == new {
            return;
        }
        let added = u64::from(old).wrapping_sub(new.into());
        let (group, block) = (cell / GROUP, cell / BLOCK);
        let (segment, unit) = (cell / SEGMENT, cell / UNIT);
        if self.cells > GROUP {
            let sums = region.bytes_mut(self.groups_of(block));
            add_behind::<4, { BLOCK_GROUPS as usize }>(sums, group, added);
        }
        if self.cells > BLOCK {
            let sums = region.bytes_mut(self.blocks_of(segment));
            add_behind::<4, { SEGMENT_BLOCKS as usize }>(sums, block, added);
        }
        if self.cells > SEGMENT {
            let sums = region.bytes_mut(self.segments_of(unit));
            add_behind::<8, { UNIT_SEGMENTS as usize }>(sums, segment, added);
        }
        let mut node = unit;
        for level in self.units.all() {
            add(region, level, node, added);
            node /= UPPER;
        }
        if self.cells > UNIT {
            let at = self.total_at();
            let bytes = region.bytes_mut(at..at + 8);
            write_u64(bytes, 0, read_u64(bytes, 0).wrapping_add(added));
            if new > old {
                let weight = self.unit_weight(self.units(region.bytes()), unit);
                self.raise_ceiling(region, weight);
            }
        }
    }

    /// Prefetches the sums that change with a cell.
    #[inline(always)]
    pub fn prefetch(&self, region: &[u8], cell: u64) {
        prefetch(region, self.groups_of(cell / BLOCK).start);
        prefetch(region, self.blocks_of(cell / SEGMENT).start);
    }
}

/// A stored sum, of 32 or 64 bits: the difference from that of untouched cells.
trait Sum: Copy {
    /// Returns what remains of a number of as many bits.
    fn below(self, whole: u64) -> u64;

    /// Returns the sum after adding a number where a mask has all bits.
    fn plus(self, added: u64, mask: u32) -> Self;
}

impl Sum for [u8; 4] {
    #[inline(always)]
    fn below(self, whole: u64) -> u64 {
        (whole as u32).wrapping_sub(u32::from_le_bytes(self)).into()
    }

    #[inline(always)]
    fn plus(self, added: u64, mask: u32) -> Self {
        let own = added as u32 & mask;
        u32::from_le_bytes(self).wrapping_add(own).to_le_bytes()
    }
}

impl Sum for [u8; 8] {
    #[inline(always)]
    fn below(self, whole: u64) -> u64 {
        whole.wrapping_sub(u64::from_le_bytes(self))
    }

    #[inline(always)]
    fn plus(self, added: u64, mask: u32) -> Self {
        let own = added & (mask as i32 as u64);
        u64::from_le_bytes(self).wrapping_add(own).to_le_bytes()
    }
}

/// 16 masks that are 0 and 16 with all bits: from place 15 − i on, those of the places behind i.
static BEHIND: [u32; 32] = {
    let mut masks = [0; 32];
    let mut place = 16;
    while place < masks.len() {
        masks[place] = u32::MAX;
        place += 1;
    }
    masks
};

/// Adds to what is stored for the children behind one, among up to 16.
#[inline(always)]
fn add_behind<const BYTES: usize, const COUNT: usize>(bytes: &mut [u8], child: u64, added: u64)
where
    [u8; BYTES]: Sum,
{
    let masks = &BEHIND[15 - child as usize % COUNT..][..COUNT];
    // The compiler makes vector instructions of this.
    for (sum, &mask) in bytes.as_chunks_mut::<BYTES>().0.iter_mut().zip(masks) {
        *sum = sum.plus(added, mask);
    }
}

#[inline(always)]
fn add(region: &mut (impl Region + ?Sized), level: &Level, node: u64, added: u64) {
    let at = level.at(node);
    let bytes = region.bytes_mut(at..at + 8);
    write_u64(bytes, 0, read_u64(bytes, 0).wrapping_add(added));
}

#[cfg(test)]
pub(super) mod tests {
    use proptest::prelude::*;

    use super::*;

    /// An index and the weights that it sums up.
    pub(in crate::filter) struct Checked {
        pub index: WeightedIndex,
        pub region: Vec<u8>,
        pub weights: Vec<u32>,
    }

    impl Checked {
        pub fn new(cells: usize, untouched: u32) -> Self {
            let index = WeightedIndex::new(cells as u64, 0, 8, untouched);
            Checked {
                index,
                region: vec![0; index.end()],
                weights: vec![untouched; cells],
            }
        }

        pub fn set(&mut self, cell: usize, weight: u32) {
            let old = std::mem::replace(&mut self.weights[cell], weight);
            (self.index).change(&mut self.region[..], cell as u64, old, weight);
        }

        pub fn sum(&self, cells: std::ops::Range<usize>) -> u64 {
            let cells = &self.weights[cells.start..cells.end.min(self.weights.len())];
            cells.iter().map(|&weight| u64::from(weight)).sum()
        }

        pub fn total(&self) -> u64 {
            self.sum(0..self.weights.len())
        }

        /// Returns the heaviest unit's weight.
        pub fn heaviest(&self) -> u64 {
            let unit = UNIT as usize;
            let units = self.weights.len().div_ceil(unit);
            let weights = (0..units).map(|at| self.sum(at * unit..(at + 1) * unit));
            weights.max().unwrap_or(0)
        }
    }

    pub(in crate::filter) fn any_untouched() -> impl Strategy<Value = u32> {
        prop_oneof![Just(0), Just(MAX_WEIGHT)]
    }

    proptest! {
        #[test]
        fn the_group_of_every_number_is_that_of_a_linear_search(
            cells in prop_oneof![1usize..100, 100usize..100_000], untouched in any_untouched(),
            changes in proptest::collection::vec((any::<u32>(), 0..=MAX_WEIGHT), 0..300),
            numbers in proptest::collection::vec(any::<u64>(), 1..40),
        ) {
            let mut checked = Checked::new(cells, untouched);
            for (cell, weight) in changes {
                checked.set(cell as usize % cells, weight);
            }
            let Checked { index, ref region, ref weights } = checked;
            let total = checked.total();
            prop_assert_eq!(index.odds(region).total, total);
            if total == 0 {
                return Ok(());
            }
            for number in numbers.iter().map(|number| number % total) {
                let mut end = 0;
                let cell = weights.iter().position(|&weight| {
                    end += u64::from(weight);
                    number < end
                }).expect("below the total");
                let group = cell / GROUP as usize;
                let before = checked.sum(0..group * GROUP as usize);
                let mut found = [index.look_up(region, number)];
                index.find_groups(region, &mut found);
                let [found] = found;
                prop_assert_eq!(found.part, group as u64);
                prop_assert_eq!(found.number, number - before);
                prop_assert_eq!(index.start_of_group(region, found.part), before);
            }
        }
    }
}
