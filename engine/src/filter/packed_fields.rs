//! Small values side by side in a word or in several, looked at all at once.
//!
//! The words are one long number and the fields lie side by side from its lowest bit; 0 is
//! an empty field; bits that are left over at the top stay clear. With four fields of
//! eight bits that hold `a b c d`, where is `c`? Exclusive-or with `c c c c` leaves zero
//! in the third field alone. Adding 7f to the lower seven bits of each sets the top bit of
//! every field that is not zero, so the third top bit is the one that stays clear.
//!
//! A field may begin in one word and end in the next. Products and sums then carry, and a
//! field is found in the word where its top bit lies.

/// What one word of several holds of the fields.
#[derive(Clone, Copy, Debug)]
pub(super) struct Share {
    /// The lowest bits of fields.
    each: u64,
    /// Their top bits.
    top: u64,
    /// Their other bits.
    low: u64,
}

/// What goes over from a word to the next.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Carry {
    product: u64,
    sum: bool,
}

impl Share {
    /// The share of the word `index` in `count` fields of 2 to 32 bits.
    pub fn of_word(index: u32, width_bits: u32, count: u32) -> Self {
        let bits_where = |chosen: &dyn Fn(u32) -> bool| {
            let bits = (0..u64::BITS).filter(|bit| {
                let (field, bit) = position(index, *bit, width_bits);
                field < count && chosen(bit)
            });
            bits.map(|bit| 1 << bit).sum()
        };
        Share {
            each: bits_where(&|bit| bit == 0),
            top: bits_where(&|bit| bit + 1 == width_bits),
            low: bits_where(&|bit| bit + 1 < width_bits),
        }
    }

    /// All bits of fields.
    #[inline(always)]
    pub fn used(&self) -> u64 {
        self.low | self.top
    }

    /// A value in each field, where no field goes over to another word.
    #[inline(always)]
    pub fn in_each(&self, value: u64) -> u64 {
        self.each.wrapping_mul(value)
    }

    /// The top bit of each field that holds a value, words taken from the lowest up.
    #[inline(always)]
    pub fn matches(&self, word: u64, value: u64, carry: &mut Carry) -> u64 {
        let (pattern, product) = self.each.carrying_mul(value, carry.product);
        let differing = word ^ pattern;
        let (sum, overflow) = (differing & self.low).carrying_add(self.low, carry.sum);
        *carry = Carry {
            product,
            sum: overflow,
        };
        self.top & !(sum | differing)
    }
}

/// Which bit of which field a bit of a word is.
fn position(index: u32, bit: u32, width_bits: u32) -> (u32, u32) {
    let at = index * u64::BITS + bit;
    (at / width_bits, at % width_bits)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn fields_match_their_definition(
            width in 2u32..=32, words in proptest::collection::vec(any::<u64>(), 1..9), value: u64,
        ) {
            let count = 64 * words.len() as u32 / width;
            let shares: Vec<Share> =
                (0..words.len() as u32).map(|index| Share::of_word(index, width, count)).collect();
            let words: Vec<u64> =
                words.iter().zip(&shares).map(|(word, share)| word & share.used()).collect();
            let bit = |at: u32| words[(at / 64) as usize] >> (at % 64) & 1;
            let field = |i: u32| (0..width).map(|j| bit(i * width + j) << j).sum::<u64>();
            let held: Vec<u64> = (0..count).map(field).collect();
            let value = value & ((1 << width) - 1);
            for value in held.iter().copied().chain([value, 0]) {
                let mut carry = Carry::default();
                let mut found = Vec::new();
                for (index, (share, &word)) in (0..).zip(shares.iter().zip(&words)) {
                    let matches = share.matches(word, value, &mut carry);
                    let bits = (0..64).filter(|bit| matches >> bit & 1 == 1);
                    found.extend(bits.map(|bit| position(index, bit, width)));
                }
                let equal = (0..).zip(&held).filter(|&(_, &one)| one == value);
                let expected: Vec<_> = equal.map(|(i, _)| (i, width - 1)).collect();
                prop_assert_eq!(found, expected);
            }
        }
    }
}
