//! Chooses a cell with a probability proportional to its weight.
//!
//! The weights of cells are not stored: they follow from the cells. 32 cells are a group, 16 groups
//! a block, and 8 blocks a unit of 4096 cells. The index holds, for each group, the sum of the
//! weights before it in its block; for each block, the sum before it in its unit; for each unit,
//! its weight; and sums of 64 units, of 64 such sums and so on. A number below the weight of a unit
//! belongs to one of its cells: with the weights 2, 0, 5, 1 the numbers 0 and 1 belong to the first
//! cell, 2 to 6 to the third and 7 to the fourth.
//!
//! **Guessing.** A random unit and a random number below the *ceiling*, which no unit's weight
//! exceeds, are a hit if the number is below the weight of the unit; else both are drawn again.
//! Hits choose cells with the probabilities of their weights, whatever the ceiling is. A guess
//! depends on nothing but the draw and the ceiling, and the cell that it hits changes only with
//! the 4096 cells of its unit. So all cells can be found and prefetched many observations ahead. If
//! fewer than one in eight guesses would be hits, or after 16 misses, a number below the total is
//! looked up from the top instead, in O(log n). Neither decision depends on the cell that is
//! chosen, so the probabilities stay exact.
//!
//! The ceiling rises with the weights. One unit per observation is visited in turn; after a whole
//! round the ceiling becomes the greatest weight that a unit had during it.
//!
//! In a region of zeros every cell has the weight `untouched`. Nodes hold how much less than that
//! their cells have, modulo a power of two.

use std::ops::Range;

use super::index_levels::{IndexLevels, Level};
use crate::bytes::{read_u32, read_u64, write_u32, write_u64};
use crate::fingerprint::reduce;
use crate::prefetch::prefetch;
use crate::region::Region;
use crate::rng::Generator;

/// The largest weight: the sums before the parts of a unit fit into 32 bits.
pub(super) const MAX_WEIGHT: u32 = 1 << 20;
/// The number of cells in a group.
pub(super) const GROUP: u64 = 32;
/// The number of groups in a block.
const BLOCK_GROUPS: u64 = 16;
/// The number of blocks in a unit.
const UNIT_BLOCKS: u64 = 8;
/// The number of cells in a block.
const BLOCK: u64 = BLOCK_GROUPS * GROUP;
/// The number of cells in a unit.
const UNIT: u64 = UNIT_BLOCKS * BLOCK;

/// The number of nodes under a node above units. A level less is worth more than a short search:
/// changes are more frequent than lookups.
const UPPER: u64 = 64;

/// The number of guesses before a number is looked up.
const GUESSES: u64 = 16;
/// The number of guesses for which memory is prefetched.
const PREFETCHED_GUESSES: u64 = 6;
/// Guesses are made if at least one in so many is expected to be a hit.
const WORST_ODDS: u64 = 8;

/// Sums of weights.
#[derive(Clone, Copy, Debug)]
pub(super) struct WeightedIndex {
    cells: u64,
    /// The weight of each cell in a region of zeros: 0, or the largest weight.
    untouched: u32,
    /// How much less than other untouched units the last one weighs: it may have fewer cells.
    missing: u64,
    /// The offset of the sum before group 0; there are none if there is only one group.
    groups_at: usize,
    /// The offset of the sum before block 0; there are none if there is only one block.
    blocks_at: usize,
    /// The offset of the ceiling, the next ceiling, the unit to visit, and the total; there are
    /// none if there is only one unit.
    ceiling_at: usize,
    units: IndexLevels<UPPER>,
}

/// A number below the weight of a unit or a group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Target {
    /// The unit or group.
    pub part: u64,
    /// The number.
    pub number: u32,
}

/// How the choices of one observation are made: the sum of all weights, and the ceiling if guesses
/// are worthwhile.
#[derive(Clone, Copy, Debug)]
pub(super) struct Odds {
    /// The sum of all weights.
    pub total: u64,
    ceiling: Option<u64>,
}

/// The sums before the groups of a block.
type GroupSums = [[u8; 4]; BLOCK_GROUPS as usize];
/// The sums before the blocks of a unit.
type BlockSums = [[u8; 4]; UNIT_BLOCKS as usize];

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
        let (blocks, units) = (cells.div_ceil(BLOCK), cells.div_ceil(UNIT));
        // Nodes always have all their children: those behind the last cell are never found.
        let groups_at = place(cells > GROUP, 4 * blocks * BLOCK_GROUPS);
        let blocks_at = place(cells > BLOCK, 4 * units * UNIT_BLOCKS);
        let ceiling_at = place(cells > UNIT, 32);
        WeightedIndex {
            cells,
            untouched,
            missing: u64::from(untouched) * (units * UNIT - cells),
            groups_at,
            blocks_at,
            ceiling_at,
            units: IndexLevels::new(units, 8, end, alignment),
        }
    }

    /// Returns the first byte behind the nodes.
    pub fn end(&self) -> usize {
        self.units.end
    }

    fn unit_count(&self) -> u64 {
        self.units.first().count
    }

    /// Returns the sum of all weights, and the ceiling if guesses are worthwhile.
    #[inline(always)]
    pub fn odds(&self, region: &[u8]) -> Odds {
        let units = self.unit_count();
        if units == 1 {
            return Odds {
                total: self.unit_weight(self.units(region), 0),
                ceiling: None,
            };
        }
        let total = self.whole(self.cells).wrapping_sub(read_u64(region, self.total_at()));
        let ceiling = self.ceiling(region);
        let is_worthwhile = total >= ceiling.saturating_mul(units) / WORST_ODDS;
        Odds {
            total,
            ceiling: is_worthwhile.then_some(ceiling),
        }
    }

    fn total_at(&self) -> usize {
        self.ceiling_at + 24
    }

    /// Returns the ceiling. A region of zeros has that of a full unit of untouched cells.
    #[inline(always)]
    fn ceiling(&self, region: &[u8]) -> u64 {
        read_u64(region, self.ceiling_at) ^ self.whole(UNIT)
    }

    /// Returns what is stored for all units.
    #[inline(always)]
    fn units<'a>(&self, region: &'a [u8]) -> &'a [[u8; 8]] {
        let level = self.units.first();
        region[level.at(0)..level.at(level.count)].as_chunks().0
    }

    /// Returns the weight of a unit.
    #[inline(always)]
    fn unit_weight(&self, units: &[[u8; 8]], unit: u64) -> u64 {
        let is_last = unit + 1 == units.len() as u64;
        let whole = self.whole(UNIT) - if is_last { self.missing } else { 0 };
        whole.wrapping_sub(u64::from_le_bytes(units[unit as usize]))
    }

    /// Finds the units and the numbers in them that the draws of an observation choose.
    #[inline(always)]
    pub fn choose_units(
        &self,
        region: &[u8],
        odds: &Odds,
        generator: Generator,
        targets: &mut [Target],
    ) {
        let units = self.units(region);
        for (target, i) in targets.iter_mut().zip(0..) {
            let draw = generator.draw(i);
            let hit = match odds.ceiling {
                None => Err(draw),
                Some(ceiling) => self.guess(units, ceiling, draw, GUESSES),
            };
            *target = match hit {
                Ok(hit) => hit,
                Err(random) => self.look_up(region, reduce(random, odds.total)),
            };
        }
    }

    /// Returns a number for another choice, if a draw has chosen a cell that is already chosen.
    pub fn draw_again(draw: u64) -> u64 {
        Generator::from_state(draw).draw(GUESSES + 1)
    }

    /// Returns the first hit of some guesses, or the next random number.
    #[inline(always)]
    fn guess(
        &self,
        units: &[[u8; 8]],
        ceiling: u64,
        draw: u64,
        guesses: u64,
    ) -> Result<Target, u64> {
        let count = units.len() as u64;
        let more = Generator::from_state(draw);
        let mut random = draw;
        for i in 0..guesses {
            let unit = reduce(random, count);
            // What is left of the random bits, which the unit does not depend on.
            let number = reduce(random.wrapping_mul(count), ceiling);
            if number < self.unit_weight(units, unit) {
                return Ok(Target {
                    part: unit,
                    number: number as u32,
                });
            }
            random = more.draw(i);
        }
        Err(random)
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
        Target {
            part: node,
            number: number as u32,
        }
    }

    /// Returns the weight of so many untouched cells.
    #[inline(always)]
    fn whole(&self, cells: u64) -> u64 {
        u64::from(self.untouched) * cells
    }

    /// Returns the sum of the weights before a group.
    #[cold]
    pub fn start_of_group(&self, region: &[u8], group: u64) -> u64 {
        let (block, unit) = (group / BLOCK_GROUPS, group * GROUP / UNIT);
        let mut sum = 0;
        if let Some(sums) = self.group_sums(region, block) {
            sum += u64::from(self.start(sums, GROUP, (group % BLOCK_GROUPS) as usize));
        }
        if let Some(sums) = self.block_sums(region, unit) {
            sum += u64::from(self.start(sums, BLOCK, (block % UNIT_BLOCKS) as usize));
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
    fn blocks_of(&self, unit: u64) -> Range<usize> {
        let at = self.blocks_at + size_of::<BlockSums>() * unit as usize;
        at..at + size_of::<BlockSums>()
    }

    /// Returns the sums before the groups of a block; None if there is only one group.
    #[inline(always)]
    fn group_sums<'a>(&self, region: &'a [u8], block: u64) -> Option<&'a GroupSums> {
        let range = (self.cells > GROUP).then(|| self.groups_of(block))?;
        region[range].as_chunks().0.try_into().ok()
    }

    /// Returns the sums before the blocks of a unit; None if there is only one block.
    #[inline(always)]
    fn block_sums<'a>(&self, region: &'a [u8], unit: u64) -> Option<&'a BlockSums> {
        let range = (self.cells > BLOCK).then(|| self.blocks_of(unit))?;
        region[range].as_chunks().0.try_into().ok()
    }

    /// Returns the sum of the weights before one of some children with so many cells each.
    #[inline(always)]
    fn start<const COUNT: usize>(
        &self,
        sums: &[[u8; 4]; COUNT],
        width: u64,
        place: usize,
    ) -> u32 {
        let whole = (self.whole(width) as u32).wrapping_mul(place as u32);
        whole.wrapping_sub(u32::from_le_bytes(sums[place % COUNT]))
    }

    /// Returns the group to which a number below the weight of a unit belongs, and the number in
    /// that group.
    #[inline(always)]
    pub fn find_group(&self, region: &[u8], target: Target) -> Target {
        self.find_in_block(region, self.find_block(region, target))
    }

    #[inline(always)]
    fn find_block(&self, region: &[u8], target: Target) -> Target {
        self.find(self.block_sums(region, target.part), BLOCK, target)
    }

    #[inline(always)]
    fn find_in_block(&self, region: &[u8], target: Target) -> Target {
        self.find(self.group_sums(region, target.part), GROUP, target)
    }

    /// Returns the last child that begins at most at a number. Which one it is cannot be predicted,
    /// so the places are halved without a branch.
    #[inline(always)]
    fn find<const COUNT: usize>(
        &self,
        sums: Option<&[[u8; 4]; COUNT]>,
        width: u64,
        target: Target,
    ) -> Target {
        let Some(sums) = sums else {
            return target;
        };
        let (mut place, mut before) = (0, 0);
        let mut step = COUNT / 2;
        while step > 0 {
            let next = place + step;
            let start = self.start(sums, width, next);
            let is_reached = start <= target.number;
            place = if is_reached { next } else { place };
            before = if is_reached { start } else { before };
            step /= 2;
        }
        Target {
            part: target.part * COUNT as u64 + place as u64,
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
        let (group, block, unit) = (cell / GROUP, cell / BLOCK, cell / UNIT);
        if self.cells > GROUP {
            let bytes = region.bytes_mut(self.groups_of(block));
            add_behind::<{ BLOCK_GROUPS as usize }>(bytes, group % BLOCK_GROUPS, added as u32);
        }
        if self.cells > BLOCK {
            let bytes = region.bytes_mut(self.blocks_of(unit));
            add_behind::<{ UNIT_BLOCKS as usize }>(bytes, block % UNIT_BLOCKS, added as u32);
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

    /// Raises the present and the next ceiling to the weight of a unit.
    #[inline(always)]
    fn raise_ceiling<R: Region + ?Sized>(&self, region: &mut R, weight: u64) {
        let ceiling = self.ceiling(region.bytes());
        let next = read_u64(region.bytes(), self.ceiling_at + 8);
        if weight > next {
            let bytes = region.bytes_mut(self.ceiling_at..self.ceiling_at + 16);
            write_u64(bytes, 8, weight);
            if weight > ceiling {
                write_u64(bytes, 0, weight ^ self.whole(UNIT));
            }
        }
    }

    /// Visits one unit. After the last one, the ceiling becomes the greatest weight since the
    /// first.
    #[inline(always)]
    pub fn visit_next_unit<R: Region + ?Sized>(&self, region: &mut R) {
        let units = self.unit_count();
        if units <= 1 {
            return;
        }
        // A damaged region may hold any number.
        let unit = read_u64(region.bytes(), self.ceiling_at + 16).min(units - 1);
        let weight = self.unit_weight(self.units(region.bytes()), unit);
        let bytes = region.bytes_mut(self.ceiling_at..self.ceiling_at + 24);
        let next = read_u64(bytes, 8).max(weight);
        if unit + 1 < units {
            write_u64(bytes, 8, next);
            write_u64(bytes, 16, unit + 1);
        } else {
            write_u64(bytes, 0, next ^ self.whole(UNIT));
            write_u64(bytes, 8, 0);
            write_u64(bytes, 16, 0);
        }
    }

    /// Prefetches the sums that change with a cell.
    #[inline(always)]
    pub fn prefetch(&self, region: &[u8], cell: u64) {
        prefetch(region, self.groups_of(cell / BLOCK).start);
        prefetch(region, self.blocks_of(cell / UNIT).start);
    }

    /// Prefetches the sums of the groups among which a draw will probably choose.
    #[inline(always)]
    pub fn prefetch_groups(&self, region: &[u8], draw: u64) {
        if let Some(target) = self.probable_block(region, draw) {
            prefetch(region, self.groups_of(target.part).start);
        }
    }

    /// Returns the group that a draw will probably choose, in most states.
    #[inline(always)]
    pub fn probable_group(&self, region: &[u8], draw: u64) -> Option<u64> {
        let target = self.probable_block(region, draw)?;
        Some(self.find_in_block(region, target).part)
    }

    #[inline(always)]
    fn probable_block(&self, region: &[u8], draw: u64) -> Option<Target> {
        if self.cells <= UNIT {
            return None;
        }
        let (units, ceiling) = (self.units(region), self.ceiling(region));
        let hit = self.guess(units, ceiling, draw, PREFETCHED_GUESSES).ok()?;
        Some(self.find_block(region, hit))
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

/// Adds to what is stored for the children behind one of up to 16.
#[inline(always)]
fn add_behind<const COUNT: usize>(bytes: &mut [u8], place: u64, added: u32) {
    let masks = &BEHIND[15 - place as usize % COUNT..][..COUNT];
    let (nodes, _) = bytes.as_chunks_mut::<4>();
    // The compiler makes vector instructions of this.
    for (node, mask) in nodes.iter_mut().zip(masks) {
        let sum = u32::from_le_bytes(*node).wrapping_add(added & mask);
        *node = sum.to_le_bytes();
    }
}

#[inline(always)]
fn add(region: &mut (impl Region + ?Sized), level: &Level, node: u64, added: u64) {
    let at = level.at(node);
    let bytes = region.bytes_mut(at..at + 8);
    write_u64(bytes, 0, read_u64(bytes, 0).wrapping_add(added));
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// An index and the weights that it sums up.
    struct Checked {
        index: WeightedIndex,
        region: Vec<u8>,
        weights: Vec<u32>,
    }

    impl Checked {
        fn new(cells: usize, untouched: u32) -> Self {
            let index = WeightedIndex::new(cells as u64, 0, 8, untouched);
            Checked {
                index,
                region: vec![0; index.end()],
                weights: vec![untouched; cells],
            }
        }

        fn set(&mut self, cell: usize, weight: u32) {
            let old = std::mem::replace(&mut self.weights[cell], weight);
            (self.index).change(&mut self.region[..], cell as u64, old, weight);
        }

        fn sum(&self, cells: std::ops::Range<usize>) -> u64 {
            let cells = &self.weights[cells.start..cells.end.min(self.weights.len())];
            cells.iter().map(|&weight| u64::from(weight)).sum()
        }

        fn total(&self) -> u64 {
            self.sum(0..self.weights.len())
        }

        /// Returns the heaviest unit's weight.
        fn heaviest(&self) -> u64 {
            let unit = UNIT as usize;
            let units = self.weights.len().div_ceil(unit);
            let weights = (0..units).map(|at| self.sum(at * unit..(at + 1) * unit));
            weights.max().unwrap_or(0)
        }
    }

    fn any_untouched() -> impl Strategy<Value = u32> {
        prop_oneof![Just(0), Just(MAX_WEIGHT)]
    }

    proptest! {
        #[test]
        fn the_group_of_every_number_is_that_of_a_linear_search(
            cells in prop_oneof![1usize..100, 100usize..20_000], untouched in any_untouched(),
            changes in proptest::collection::vec((any::<u16>(), 0..=MAX_WEIGHT), 0..300),
            numbers in proptest::collection::vec(any::<u64>(), 1..40),
        ) {
            let mut checked = Checked::new(cells, untouched);
            for (cell, weight) in changes {
                checked.set(usize::from(cell) % cells, weight);
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
                let found = index.find_group(region, index.look_up(region, number));
                prop_assert_eq!(found.part, group as u64);
                prop_assert_eq!(u64::from(found.number), number - before);
                prop_assert_eq!(index.start_of_group(region, found.part), before);
            }
        }

        #[test]
        fn the_ceiling_is_above_every_unit_and_comes_down_after_a_round(
            cells in 5000usize..20_000, untouched in any_untouched(),
            changes in proptest::collection::vec((any::<u16>(), 0..=MAX_WEIGHT), 0..300),
        ) {
            let mut checked = Checked::new(cells, untouched);
            let index = checked.index;
            for (cell, weight) in changes {
                checked.set(usize::from(cell) % cells, weight);
                let visits = cell % 2;
                (0..visits).for_each(|_| index.visit_next_unit(&mut checked.region[..]));
                prop_assert!(index.ceiling(&checked.region) >= checked.heaviest());
            }
            for _ in 0..2 * index.unit_count() {
                index.visit_next_unit(&mut checked.region[..]);
            }
            prop_assert_eq!(index.ceiling(&checked.region), checked.heaviest());
        }
    }

    /// Chi-square over the groups: a difference of four standard deviations.
    #[test]
    fn groups_are_chosen_with_the_probabilities_of_their_weights() {
        const CELLS: usize = 10_000;
        const DRAWS: u64 = 400_000;
        let numbers = Generator::from_seed(3);
        // With few heavy cells it is looked up, with many it is guessed.
        for (in_use, is_guessed) in [(CELLS, true), (3, false)] {
            let mut checked = Checked::new(CELLS, 0);
            for i in 0..in_use as u64 {
                let weight = MAX_WEIGHT / (1 + reduce(numbers.draw(2 * i + 1), 50) as u32);
                let cell = if is_guessed { i } else { reduce(numbers.draw(2 * i), 600) };
                checked.set(cell as usize, weight);
            }
            let index = checked.index;
            if !is_guessed {
                // A ceiling as after a time of many heavy cells.
                checked.region[index.ceiling_at..][..8]
                    .copy_from_slice(&(u64::from(MAX_WEIGHT) * UNIT).to_le_bytes());
            }
            let Checked { ref region, .. } = checked;
            let odds = index.odds(region);
            assert_eq!(odds.ceiling.is_some(), is_guessed);
            let mut counts = vec![0.0; CELLS.div_ceil(GROUP as usize)];
            for i in 0..DRAWS {
                let unit = index.choose_unit(region, &odds, numbers.draw(1 << 32 | i));
                counts[index.find_group(region, unit).part as usize] += 1.0;
            }
            let (mut chi_square, mut freedom) = (0.0, -1.0);
            for (group, count) in counts.iter().enumerate() {
                let first = group * GROUP as usize;
                let share = checked.sum(first..first + GROUP as usize) as f64 / odds.total as f64;
                let expected = DRAWS as f64 * share;
                if expected == 0.0 {
                    assert_eq!(*count, 0.0);
                    continue;
                }
                chi_square += (count - expected) * (count - expected) / expected;
                freedom += 1.0;
            }
            let limit = freedom + 4.0 * (2.0_f64 * freedom).sqrt();
            assert!(chi_square < limit, "{chi_square} with {freedom} degrees of freedom");
        }
    }
}
