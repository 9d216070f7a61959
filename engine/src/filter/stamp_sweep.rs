//! Finds the stamps of a word that have left the window, all fields of the word at once.
//!
//! The values in the window are one run of a circle, and so are the others. Each end of the run
//! is compared with all fields together: with the top bit of every field set, subtracting the low
//! bits of the bound borrows from that bit exactly in the fields whose low bits are smaller.

use super::stamps::StampWindow;

/// The values that a sweep removes, prepared for words with fields of one width.
#[derive(Clone, Copy, Debug)]
pub(super) struct ExpiredStamps {
    /// The lowest bit of each field.
    lowest: u64,
    width_bits: u32,
    bounds: Bounds,
}

#[derive(Clone, Copy, Debug)]
enum Bounds {
    /// Values from the first bound up to, and not including, the second one.
    Inside(AtLeast, AtLeast),
    /// All values but 0 and those.
    Outside(AtLeast, AtLeast),
}

/// A comparison of each field with one bound.
#[derive(Clone, Copy, Debug)]
struct AtLeast {
    /// The low bits of the bound, in each field.
    low: u64,
    /// All ones if the top bit of the bound is clear, else 0.
    top_is_clear: u64,
    /// 0 if the bound is above every value, else all ones.
    is_possible: u64,
}

impl ExpiredStamps {
    /// Prepares to remove the values that are not in the window, from words that hold stamps of
    /// this width.
    pub fn of(window: StampWindow, width_bits: u32) -> Self {
        let lowest = (0..u64::BITS / width_bits)
            .map(|field| 1u64 << (field * width_bits))
            .sum();
        let bound = |value: u64| AtLeast::new(value, lowest, width_bits);
        let StampWindow {
            newest,
            values,
            ages,
        } = window;
        let bounds = match newest >= ages {
            true => Bounds::Outside(bound(newest + 1 - ages), bound(newest + 1)),
            // The window continues at the largest value.
            false => {
                let above = ages.min(values) - newest;
                Bounds::Inside(bound(newest + 1), bound(values + 1 - above))
            }
        };
        ExpiredStamps {
            lowest,
            width_bits,
            bounds,
        }
    }

    /// Returns the word without the stamps that have left the window, and how many there were.
    #[inline(always)]
    pub fn remove(&self, word: u64) -> (u64, u32) {
        let top = self.lowest << (self.width_bits - 1);
        let bound = |bound: AtLeast| bound.matches(word, top);
        let expired = match self.bounds {
            Bounds::Inside(from, to) => bound(from) & !bound(to),
            Bounds::Outside(from, to) => {
                let low = top.wrapping_sub(self.lowest);
                let in_use = ((word & low) + low) | word;
                in_use & !(bound(from) & !bound(to))
            }
        } & top;
        // All bits of each field whose top bit is set.
        let fields = (expired - (expired >> (self.width_bits - 1))) | expired;
        (word & !fields, expired.count_ones())
    }
}

impl AtLeast {
    fn new(value: u64, lowest: u64, width_bits: u32) -> Self {
        let top = 1 << (width_bits - 1);
        let all_if = |condition: bool| if condition { u64::MAX } else { 0 };
        AtLeast {
            low: lowest.wrapping_mul(value & (top - 1)),
            top_is_clear: all_if(value & top == 0),
            is_possible: all_if(value < 2 * top),
        }
    }

    /// Returns the top bit of each field that is at least the bound; other bits are arbitrary.
    #[inline(always)]
    fn matches(self, word: u64, top: u64) -> u64 {
        let low = (word | top) - self.low;
        ((word & low) | ((word | low) & self.top_is_clear)) & self.is_possible
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn stamps_are_removed_iff_they_are_not_in_the_window(
            width in 2u32..=16, newest: u64, ages: u64, word: u64, used in 0u32..=64,
        ) {
            let values = (1u64 << width) - 1;
            let window = StampWindow {
                newest: 1 + newest % values,
                values,
                ages: ages % (values + 1),
            };
            // Bits beyond the last field stay 0, as do fields beyond the last cell.
            let fields = (64 / width).min(used);
            let word = match fields * width {
                64 => word,
                bits => word & ((1 << bits) - 1),
            };
            let (mut expected, mut removed) = (0, 0);
            for field in 0..fields {
                let value = word >> (field * width) & values;
                match value == 0 || window.contains(value) {
                    true => expected |= value << (field * width),
                    false => removed += 1,
                }
            }
            let found = ExpiredStamps::of(window, width).remove(word);
            prop_assert_eq!(found, (expected, removed), "{:?} {:x}", window, word);
        }
    }
}
