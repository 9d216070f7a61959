//! Choosing cells by their weights: the probabilistic deletion schemes.

use super::importance_cells::{ImportanceCells, Scheme, inverse};
use super::weighted_index::{GROUP, Target, WeightedIndex};
use crate::fingerprint::reduce;
use crate::rng::Generator;

/// The most cells that are chosen at a time.
pub(super) const MAX_CHOICES: usize = 64;

/// A chosen cell.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Choice {
    /// The cell.
    pub cell: u64,
    /// Its weight.
    pub weight: u64,
}

impl ImportanceCells {
    /// Chooses cells by their weights. Returns how many there are, fewer only if no more cells
    /// have a weight. `ROOM` is at least the number of choices; clearing long arrays takes time.
    #[inline(always)]
    pub fn choose<const ROOM: usize>(
        &self,
        region: &[u8],
        index: &WeightedIndex,
        generator: Generator,
        choices: &mut [Choice],
    ) -> usize {
        let mut targets = [Target::default(); ROOM];
        let targets = &mut targets[..choices.len()];
        let total = self.find_groups(region, index, generator, targets);
        if total == 0 {
            return 0;
        }
        for (choice, target) in choices.iter_mut().zip(&*targets) {
            *choice = self.choice(region, *target);
        }
        if self.scheme() == Scheme::Probabilistic {
            return choices.len();
        }
        for i in 1..choices.len() {
            let (chosen, rest) = choices.split_at_mut(i);
            if chosen.iter().any(|it| it.cell == rest[0].cell) {
                let again = WeightedIndex::draw_again(generator.draw(i as u64));
                match self.choose_another(region, index, again, total, chosen) {
                    Some(choice) => rest[0] = choice,
                    None => return i,
                }
            }
        }
        choices.len()
    }

    /// Finds the groups of the cells that the draws of an observation choose, and prefetches the
    /// cells. Returns the sum of all weights; if it is 0, nothing is found.
    #[inline(always)]
    pub fn find_groups(
        &self,
        region: &[u8],
        index: &WeightedIndex,
        generator: Generator,
        targets: &mut [Target],
    ) -> u64 {
        let odds = index.odds(region);
        if odds.total > 0 {
            index.choose_units(region, &odds, generator, targets);
            index.find_groups(region, targets);
            for target in &*targets {
                self.prefetch_cells(region, target.part * self.group_cells());
            }
        }
        odds.total
    }

    /// Chooses a cell that is not chosen yet. The numbers below the total that belong to chosen
    /// cells are skipped.
    #[cold]
    fn choose_another(
        &self,
        region: &[u8],
        index: &WeightedIndex,
        draw: u64,
        total: u64,
        chosen: &[Choice],
    ) -> Option<Choice> {
        let mut in_order = [(0, 0); MAX_CHOICES];
        let in_order = &mut in_order[..chosen.len()];
        for (one, choice) in in_order.iter_mut().zip(chosen) {
            let group = choice.cell / self.group_cells();
            let start = index.start_of_group(region, group);
            let start = start.wrapping_add(self.start_in_group(region, choice.cell));
            *one = (start, choice.weight);
        }
        in_order.sort_unstable();
        let taken: u64 = in_order.iter().map(|(_, weight)| weight).sum();
        let left = total.checked_sub(taken).filter(|&left| left > 0)?;
        let mut number = reduce(draw, left);
        for &mut (start, weight) in in_order {
            if number >= start {
                number += weight;
            }
        }
        let mut group = [index.look_up(region, number)];
        index.find_groups(region, &mut group);
        Some(self.choice(region, group[0]))
    }

    /// Returns the cell of a group to which a number below the weight of the group belongs.
    #[inline(always)]
    pub fn choice(&self, region: &[u8], target: Target) -> Choice {
        let mut left = target.number;
        let mut choice = Choice {
            cell: target.part * self.group_cells(),
            weight: 0,
        };
        self.for_each_weight(region, target.part, |cell, weight| {
            choice = Choice {
                cell,
                weight: weight.into(),
            };
            let is_behind = left >= weight.into();
            left = left.wrapping_sub(weight.into());
            is_behind
        });
        choice
    }

    /// Returns the sum of the weights of the cells before a cell of its group.
    #[cold]
    pub fn start_in_group(&self, region: &[u8], cell: u64) -> u64 {
        let mut sum = 0;
        self.for_each_weight(region, cell / self.group_cells(), |before, weight| {
            let counts = before < cell;
            sum += if counts { u64::from(weight) } else { 0 };
            counts
        });
        sum
    }

    /// Returns the number of cells of a group of the index.
    #[inline(always)]
    fn group_cells(&self) -> u64 {
        GROUP << self.scheme().merged_bits()
    }

    /// Calls a function with each cell of a group that has a weight, until it returns false.
    #[inline(always)]
    fn for_each_weight(
        &self,
        region: &[u8],
        group: u64,
        mut function: impl FnMut(u64, u32) -> bool,
    ) {
        let first = group * self.group_cells();
        let cells = first..(first + self.group_cells()).min(self.cells());
        if self.scheme() == Scheme::Probabilistic {
            for cell in cells {
                if !function(cell, inverse(self.importance(region, cell).into())) {
                    return;
                }
            }
            return;
        }
        self.counters.for_each_in_use(region, cells, |cell, value| {
            function(cell, self.weight(value, self.importance(region, cell)))
        });
    }
}
