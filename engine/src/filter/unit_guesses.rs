//! Guesses units of cells in proportion to their weights.
//!
//! A random unit and a random number below the *ceiling*, which no unit's weight exceeds, are a hit
//! if the number is below the weight of the unit; else both are drawn again. Hits choose cells with
//! the probabilities of their weights, whatever the ceiling is. A guess reads one weight instead of
//! a node on each level above the units. If fewer than one in eight guesses would be hits, or
//! after 16 misses, a number below the total is looked up from the top instead. Neither decision
//! depends on the cell that is chosen, so the probabilities stay exact.
//!
//! The ceiling rises with the weights. One unit per observation is visited in turn; after a whole
//! round the ceiling becomes the greatest weight that a unit had during it.

use super::weighted_index::{Target, UNIT, WeightedIndex};
use crate::bytes::{read_u64, write_u64};
use crate::fingerprint::reduce;
use crate::region::Region;
use crate::rng::Generator;

/// The number of guesses before a number is looked up.
const GUESSES: u64 = 16;
/// Guesses are made if at least one in so many is expected to be a hit.
const WORST_ODDS: u64 = 8;

/// How the choices of one observation are made: the sum of all weights, and the ceiling if guesses
/// are worthwhile.
#[derive(Clone, Copy, Debug)]
pub(super) struct Odds {
    /// The sum of all weights.
    pub total: u64,
    ceiling: Option<u64>,
}

impl WeightedIndex {
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
        let total = self
            .whole(self.cells)
            .wrapping_sub(read_u64(region, self.total_at()));
        let ceiling = self.ceiling(region);
        let is_worthwhile = total >= ceiling.saturating_mul(units) / WORST_ODDS;
        Odds {
            total,
            ceiling: is_worthwhile.then_some(ceiling),
        }
    }

    /// Returns the offset of the total.
    pub fn total_at(&self) -> usize {
        self.ceiling_at + 24
    }

    /// Returns the ceiling. A region of zeros has that of a full unit of untouched cells.
    #[inline(always)]
    fn ceiling(&self, region: &[u8]) -> u64 {
        read_u64(region, self.ceiling_at) ^ self.whole(UNIT)
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
                return Ok(Target { part: unit, number });
            }
            random = more.draw(i);
        }
        Err(random)
    }

    /// Raises the present and the next ceiling to the weight of a unit.
    #[inline(always)]
    pub fn raise_ceiling<R: Region + ?Sized>(&self, region: &mut R, weight: u64) {
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
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::weighted_index::tests::{Checked, any_untouched};
    use super::super::weighted_index::{GROUP, MAX_WEIGHT};
    use super::*;

    proptest! {
        #[test]
        fn the_ceiling_is_above_every_unit_and_comes_down_after_a_round(
            cells in 33_000usize..150_000, untouched in any_untouched(),
            changes in proptest::collection::vec((any::<u32>(), 0..=MAX_WEIGHT), 0..200),
        ) {
            let mut checked = Checked::new(cells, untouched);
            let index = checked.index;
            for (cell, weight) in changes {
                checked.set(cell as usize % cells, weight);
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
        const CELLS: usize = 80_000;
        const DRAWS: u64 = 400_000;
        let numbers = Generator::from_seed(3);
        // With few heavy cells it is looked up, with many it is guessed.
        for (in_use, is_guessed) in [(CELLS, true), (3, false)] {
            let mut checked = Checked::new(CELLS, 0);
            for i in 0..in_use as u64 {
                let weight = MAX_WEIGHT / (1 + reduce(numbers.draw(2 * i + 1), 50) as u32);
                let cell = if is_guessed {
                    i
                } else {
                    reduce(numbers.draw(2 * i), 600)
                };
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
            for i in 0..DRAWS / 8 {
                let mut targets = [Target::default(); 8];
                let draws = Generator::from_seed(i);
                index.choose_units(region, &odds, draws, &mut targets);
                index.find_groups(region, &mut targets);
                targets
                    .iter()
                    .for_each(|target| counts[target.part as usize] += 1.0);
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
            assert!(
                chi_square < limit,
                "{chi_square} with {freedom} degrees of freedom"
            );
        }
    }
}
