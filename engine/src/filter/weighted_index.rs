//! Chooses a cell with a probability proportional to its weight.
//!
//! The weights of cells are not stored: they follow from the cells. 32 cells are a group, 16 groups
//! a block, and 8 blocks a unit of 4096 cells. The index holds, for each group, the sum of the
//! weights before it in its block; for each block, the sum before it in its unit; for each unit,
//! its weight; and sums of 16 units, of 16 such sums and so on. A number below the weight of a unit
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

use super::index_levels::{FANOUT, IndexLevels, Level};
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
/// The number of groups in a unit.
const UNIT_GROUPS: u64 = UNIT_BLOCKS * BLOCK_GROUPS;
/// The number of cells in a unit.
const UNIT: u64 = UNIT_GROUPS * GROUP;

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
    /// The offset of the sum before group 0; there are none if there is only one group.
    groups_at: usize,
    /// The offset of the sum before block 0; there are none if there is only one block.
    blocks_at: usize,
    /// The offset of the ceiling; there is none if there is only one unit.
    ceiling_at: usize,
    units: IndexLevels,
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

/// The children of a node in consecutive places.
struct Children {
    /// The offset of the first child.
    at: usize,
    /// The number of the first child.
    first: u64,
    count: u64,
}

impl WeightedIndex {
    /// Lays out the nodes from a byte offset.
    pub fn new(cells: u64, first_byte: usize, alignment: usize, untouched: u32) -> Self {
        let mut end = first_byte;
        let mut place = |count: u64, bytes: usize| {
            // A single node has no neighbours to be told apart from.
            if count <= 1 {
                return 0;
            }
            let at = end.next_multiple_of(alignment);
            end = at + bytes;
            at
        };
        let (groups, blocks) = (cells.div_ceil(GROUP), cells.div_ceil(GROUP * BLOCK_GROUPS));
        let units = cells.div_ceil(UNIT);
        let groups_at = place(groups, 4 * groups as usize);
        let blocks_at = place(blocks, 4 * blocks as usize);
        let ceiling_at = place(units, 24);
        WeightedIndex {
            cells,
            untouched,
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
        let top = self.units.top();
        let (_, nodes) = top.under(region, 0);
        let nodes = nodes.chunks_exact(8);
        let stored = nodes.fold(0u64, |sum, node| sum.wrapping_add(read_u64(node, 0)));
        let total = self.whole(self.cells).wrapping_sub(stored);
        let units = self.unit_count();
        let ceiling = (units > 1).then(|| self.ceiling(region));
        let least = |ceiling: u64| ceiling.saturating_mul(units) / WORST_ODDS;
        Odds {
            total,
            ceiling: ceiling.filter(|&ceiling| total >= least(ceiling)),
        }
    }

    /// Returns the ceiling. A region of zeros has that of a full unit of untouched cells.
    #[inline(always)]
    fn ceiling(&self, region: &[u8]) -> u64 {
        read_u64(region, self.ceiling_at) ^ self.whole(UNIT)
    }

    /// Returns the weight of a unit.
    #[inline(always)]
    fn unit_weight(&self, region: &[u8], unit: u64) -> u64 {
        let cells = UNIT.min(self.cells - unit * UNIT);
        let stored = read_u64(region, self.units.first().at(unit));
        self.whole(cells).wrapping_sub(stored)
    }

    /// Returns the unit and the number in it that a draw chooses.
    #[inline(always)]
    pub fn choose_unit(&self, region: &[u8], odds: &Odds, draw: u64) -> Target {
        let Some(ceiling) = odds.ceiling else {
            return self.look_up(region, reduce(draw, odds.total));
        };
        match self.guess(region, ceiling, draw, GUESSES) {
            Some(hit) => hit,
            None => {
                let again = Generator::from_state(draw).draw(GUESSES);
                self.look_up(region, reduce(again, odds.total))
            }
        }
    }

    /// Returns a number for another choice, if a draw has chosen a cell that is already chosen.
    pub fn draw_again(draw: u64) -> u64 {
        Generator::from_state(draw).draw(GUESSES + 1)
    }

    #[inline(always)]
    fn guess(&self, region: &[u8], ceiling: u64, draw: u64, guesses: u64) -> Option<Target> {
        let units = self.unit_count();
        let more = Generator::from_state(draw);
        let mut random = draw;
        for i in 0..guesses {
            let unit = reduce(random, units);
            // What is left of the random bits, which the unit does not depend on.
            let number = reduce(random.wrapping_mul(units), ceiling);
            if number < self.unit_weight(region, unit) {
                return Some(Target {
                    part: unit,
                    number: number as u32,
                });
            }
            random = more.draw(i);
        }
        None
    }

    /// Returns the unit to which a number below the total belongs. If damaged sums are less than
    /// that, the last node is taken.
    pub fn look_up(&self, region: &[u8], mut number: u64) -> Target {
        let levels = self.units.all();
        let mut node = 0;
        let mut width = UNIT * FANOUT.pow(levels.len() as u32 - 1);
        for level in levels.iter().rev() {
            let (first, nodes) = level.under(region, node);
            let (nodes, _) = nodes.as_chunks::<8>();
            node = first;
            for stored in &nodes[..nodes.len().saturating_sub(1)] {
                let weight = self.whole(width).wrapping_sub(u64::from_le_bytes(*stored));
                if number < weight {
                    break;
                }
                (node, number) = (node + 1, number - weight);
            }
            width /= FANOUT;
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
        let (block, unit) = (group / BLOCK_GROUPS, group / UNIT_GROUPS);
        let mut sum = u64::from(self.start_of_block(region, block));
        sum += u64::from(self.start_in_block(region, group));
        let (mut node, mut width) = (unit, UNIT);
        for level in self.units.all() {
            let (first, nodes) = level.under(region, node / FANOUT);
            let before = nodes.chunks_exact(8).take((node - first) as usize);
            let weights = before.map(|node| self.whole(width).wrapping_sub(read_u64(node, 0)));
            sum = weights.fold(sum, u64::wrapping_add);
            (node, width) = (node / FANOUT, width * FANOUT);
        }
        sum
    }

    fn start_of_block(&self, region: &[u8], block: u64) -> u32 {
        let children = self.blocks(block / UNIT_BLOCKS);
        self.start(region, &children, block - children.first, 16 * GROUP)
    }

    fn start_in_block(&self, region: &[u8], group: u64) -> u32 {
        let children = self.groups(group / BLOCK_GROUPS);
        self.start(region, &children, group - children.first, GROUP)
    }

    /// Returns the sum of the weights before a child.
    #[inline(always)]
    fn start(&self, region: &[u8], children: &Children, place: u64, width: u64) -> u32 {
        if children.count <= 1 {
            return 0;
        }
        let whole = (self.whole(width) as u32).wrapping_mul(place as u32);
        whole.wrapping_sub(read_u32(region, children.at + 4 * place as usize))
    }

    /// Returns the blocks of a unit.
    #[inline(always)]
    fn blocks(&self, unit: u64) -> Children {
        let all = self.cells.div_ceil(GROUP * BLOCK_GROUPS);
        let first = unit * UNIT_BLOCKS;
        Children {
            at: self.blocks_at + 4 * first as usize,
            first,
            count: UNIT_BLOCKS.min(all - first),
        }
    }

    /// Returns the groups of a block.
    #[inline(always)]
    fn groups(&self, block: u64) -> Children {
        let all = self.cells.div_ceil(GROUP);
        let first = block * BLOCK_GROUPS;
        Children {
            at: self.groups_at + 4 * first as usize,
            first,
            count: BLOCK_GROUPS.min(all - first),
        }
    }

    /// Returns the group to which a number below the weight of a unit belongs, and the number in
    /// that group.
    #[inline(always)]
    pub fn find_group(&self, region: &[u8], target: Target) -> Target {
        self.find_in_block(region, self.find_block(region, target))
    }

    #[inline(always)]
    fn find_block(&self, region: &[u8], target: Target) -> Target {
        let blocks = self.blocks(target.part);
        let width = GROUP * BLOCK_GROUPS;
        self.find::<{ UNIT_BLOCKS as usize }>(region, &blocks, width, target.number)
    }

    #[inline(always)]
    fn find_in_block(&self, region: &[u8], target: Target) -> Target {
        let groups = self.groups(target.part);
        self.find::<{ BLOCK_GROUPS as usize }>(region, &groups, GROUP, target.number)
    }

    /// Returns the last child that begins at most at a number. Which one it is cannot be predicted,
    /// so the places of a full node are halved without a branch.
    #[inline(always)]
    fn find<const COUNT: usize>(
        &self,
        region: &[u8],
        children: &Children,
        width: u64,
        number: u32,
    ) -> Target {
        let count = children.count as usize;
        if count <= 1 {
            return Target {
                part: children.first,
                number,
            };
        }
        let (nodes, _) = region[children.at..children.at + 4 * count].as_chunks::<4>();
        let whole = self.whole(width) as u32;
        let start = |place: usize| {
            let stored = u32::from_le_bytes(nodes[place]);
            whole.wrapping_mul(place as u32).wrapping_sub(stored)
        };
        let (mut place, mut before) = (0, 0);
        let mut step = COUNT / 2;
        while step > 0 {
            let next = place + step;
            if count == COUNT || next < count {
                let start = start(next);
                let is_reached = start <= number;
                place = if is_reached { next } else { place };
                before = if is_reached { start } else { before };
            }
            step /= 2;
        }
        Target {
            part: children.first + place as u64,
            number: number.wrapping_sub(before),
        }
    }

    /// Records that the weight of a cell changed.
    #[inline(always)]
    pub fn change<R: Region + ?Sized>(&self, region: &mut R, cell: u64, old: u32, new: u32) {
        if old == new {
            return;
        }
        let added = u64::from(old).wrapping_sub(new.into());
        let group = cell / GROUP;
        let (block, unit) = (group / BLOCK_GROUPS, group / UNIT_GROUPS);
        let (groups, blocks) = (self.groups(block), self.blocks(unit));
        add_behind::<{ BLOCK_GROUPS as usize }>(region, &groups, group, added as u32);
        add_behind::<{ UNIT_BLOCKS as usize }>(region, &blocks, block, added as u32);
        let mut node = unit;
        for level in self.units.all() {
            add(region, level, node, added);
            node /= FANOUT;
        }
        if self.unit_count() > 1 && new > old {
            let weight = self.unit_weight(region.bytes(), unit);
            self.raise_ceiling(region, weight);
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
        let weight = self.unit_weight(region.bytes(), unit);
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
        prefetch(region, self.groups(cell / (GROUP * BLOCK_GROUPS)).at);
        prefetch(region, self.blocks(cell / UNIT).at);
    }

    /// Prefetches the sums of the groups among which a draw will probably choose.
    #[inline(always)]
    pub fn prefetch_groups(&self, region: &[u8], draw: u64) {
        if let Some(target) = self.probable_block(region, draw) {
            prefetch(region, self.groups(target.part).at);
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
        if self.unit_count() <= 1 {
            return None;
        }
        let ceiling = self.ceiling(region);
        let hit = self.guess(region, ceiling, draw, PREFETCHED_GUESSES)?;
        Some(self.find_block(region, hit))
    }
}

/// Adds to what is stored for the children behind one.
#[inline(always)]
fn add_behind<const COUNT: usize>(
    region: &mut (impl Region + ?Sized),
    children: &Children,
    child: u64,
    added: u32,
) {
    let count = children.count as usize;
    if count <= 1 {
        return;
    }
    let place = (child - children.first) as u32;
    let bytes = region.bytes_mut(children.at..children.at + 4 * count);
    let (nodes, _) = bytes.as_chunks_mut::<4>();
    let change = |i: u32, node: &mut [u8; 4]| {
        let own = if i > place { added } else { 0 };
        *node = u32::from_le_bytes(*node).wrapping_add(own).to_le_bytes();
    };
    match <&mut [[u8; 4]; COUNT]>::try_from(&mut *nodes) {
        // A known number of children is changed with vector instructions.
        Ok(nodes) => (0..COUNT).for_each(|i| change(i as u32, &mut nodes[i])),
        Err(_) => (0..).zip(nodes).for_each(|(i, node)| change(i, node)),
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
