//! Small fingerprints in an order, the most protected first, packed into a few words.
//!
//! The words are one long number whose fields lie side by side from its lowest bit; 0 is
//! an empty field, and empty fields come last. Everything is done to all fields at once
//! with ordinary arithmetic on that number, so there is no loop over fields and, but for
//! the question whether a value was found, no branch.
//!
//! With four fields of eight bits that hold `a b c d`, the first being the lowest byte:
//! - *find* `c`: exclusive-or with `c c c c` leaves zero in the third field alone; adding
//!   7f to each field's lower seven bits sets the top bit of every field that is not
//!   zero, so the third top bit is the one that stays clear: `00 00 80 00`;
//! - *reach*: that number and that number less one differ in all bits up to it,
//!   `ff ff ff 00`: the fields that have to move;
//! - *advance*: in these fields take the number shifted up by a field, in the lowest of
//!   them the value, elsewhere what was: `c a b d`.
//!
//! A value that is not found reaches over all fields: the same steps put it first and
//! push the last one out.

/// A number of `WORDS` words, the lowest first.
type Number<const WORDS: usize> = [u64; WORDS];

/// The geometry of ranked fields.
#[derive(Clone, Debug)]
pub(super) struct Ranking<const WORDS: usize> {
    width_bits: u32,
    fields: u32,
    /// The lowest bit of each field.
    each: Number<WORDS>,
    /// The top bit of each field.
    top: Number<WORDS>,
    /// The others.
    low: Number<WORDS>,
    /// The fields that a new value may push down.
    entrance: Number<WORDS>,
    enters_first: bool,
    climbs: bool,
}

/// What became of the fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ranked {
    /// The value was there.
    pub found: bool,
    /// It was not, and an empty field took it.
    pub grew: bool,
}

impl<const WORDS: usize> Ranking<WORDS> {
    /// As many fields of a width as there is room for. New values enter at a rank, or at
    /// the last if there are fewer; a value found moves up by one if it `climbs`, else to
    /// the first place.
    pub fn new(width_bits: u32, entrance: u64, climbs: bool) -> Self {
        let fields = WORDS as u32 * u64::BITS / width_bits;
        let entrance = entrance.min(u64::from(fields - 1)) as u32;
        let bits_where = |chosen: &dyn Fn(u32, u32) -> bool| {
            let mut number = [0; WORDS];
            for bit in 0..fields * width_bits {
                let set = chosen(bit / width_bits, bit % width_bits);
                number[(bit / u64::BITS) as usize] |= u64::from(set) << (bit % u64::BITS);
            }
            number
        };
        Ranking {
            width_bits,
            fields,
            each: bits_where(&|_, bit| bit == 0),
            top: bits_where(&|_, bit| bit + 1 == width_bits),
            low: bits_where(&|_, bit| bit + 1 < width_bits),
            entrance: bits_where(&|field, _| field >= entrance),
            enters_first: entrance == 0,
            climbs,
        }
    }

    /// How many fields there are.
    pub fn fields(&self) -> u64 {
        u64::from(self.fields)
    }

    /// How many values a field can hold; they are 1 to this.
    pub fn values(&self) -> u64 {
        (1 << self.width_bits) - 1
    }

    /// Whether a value is in one of the fields.
    #[inline(always)]
    pub fn holds(&self, words: &Number<WORDS>, value: u64) -> bool {
        is_set(&self.matches(words, &self.in_each(value)))
    }

    /// How many fields are not empty.
    pub fn occupied(&self, words: &Number<WORDS>) -> u64 {
        let empty = self.matches(words, &[0; WORDS]);
        let empty: u32 = empty.iter().map(|word| word.count_ones()).sum();
        u64::from(self.fields - empty)
    }

    /// Moves a value up, or lets it in.
    #[inline(always)]
    pub fn advance(&self, words: &mut Number<WORDS>, value: u64) -> Ranked {
        let pattern = self.in_each(value);
        let matches = self.matches(words, &pattern);
        let found = is_set(&matches);
        let mut reach = up_to_lowest(&matches);
        if self.climbs && found {
            let beyond = shifted_down(&reach, 2 * self.width_bits);
            reach = zip(&reach, &beyond, |all, beyond| all & !beyond);
        }
        if !self.enters_first && !found {
            let empty = up_to_lowest(&self.matches(words, &[0; WORDS]));
            let taken = shifted_down(&empty, self.width_bits);
            reach = zip(&self.entrance, &taken, |below, taken| below | !taken);
        }
        let grew = !found && self.last(words) == 0;
        let reach_above = shifted_up(&reach, self.width_bits);
        let moved = shifted_up(words, self.width_bits);
        for i in 0..WORDS {
            let reach = reach[i] & (self.low[i] | self.top[i]);
            let rest = reach & reach_above[i];
            let first = reach & !reach_above[i];
            words[i] = words[i] & !reach | moved[i] & rest | pattern[i] & first;
        }
        Ranked { found, grew }
    }

    #[inline(always)]
    fn last(&self, words: &Number<WORDS>) -> u64 {
        let last = (self.fields - 1) * self.width_bits;
        shifted_down(words, last)[0]
    }

    /// A value in each field.
    #[inline(always)]
    fn in_each(&self, value: u64) -> Number<WORDS> {
        let mut carry = 0;
        self.each.map(|word| {
            let (product, next) = word.carrying_mul(value, carry);
            carry = next;
            product
        })
    }

    /// The top bit of each field that equals the pattern's.
    #[inline(always)]
    fn matches(&self, words: &Number<WORDS>, pattern: &Number<WORDS>) -> Number<WORDS> {
        let mut carry = false;
        std::array::from_fn(|i| {
            let differing = words[i] ^ pattern[i];
            let (sum, next) = (differing & self.low[i]).carrying_add(self.low[i], carry);
            carry = next;
            self.top[i] & !(sum | differing)
        })
    }
}

#[inline(always)]
fn is_set<const WORDS: usize>(number: &Number<WORDS>) -> bool {
    number.iter().fold(0, |all, word| all | word) != 0
}

#[inline(always)]
fn zip<const WORDS: usize>(
    a: &Number<WORDS>,
    b: &Number<WORDS>,
    join: impl Fn(u64, u64) -> u64,
) -> Number<WORDS> {
    std::array::from_fn(|i| join(a[i], b[i]))
}

/// All bits up to the lowest that is set; all bits there are if none is.
#[inline(always)]
fn up_to_lowest<const WORDS: usize>(number: &Number<WORDS>) -> Number<WORDS> {
    let mut borrow = true;
    number.map(|word| {
        let (less, next) = word.borrowing_sub(0, borrow);
        borrow = next;
        word ^ less
    })
}

/// A number moved up by less than a word.
#[inline(always)]
fn shifted_up<const WORDS: usize>(number: &Number<WORDS>, bits: u32) -> Number<WORDS> {
    std::array::from_fn(|i| {
        let below = if i == 0 { 0 } else { number[i - 1] };
        number[i] << bits | below >> 1 >> (u64::BITS - 1 - bits)
    })
}

/// A number moved down by any distance.
#[inline(always)]
fn shifted_down<const WORDS: usize>(number: &Number<WORDS>, bits: u32) -> Number<WORDS> {
    let (whole, bits) = ((bits / u64::BITS) as usize, bits % u64::BITS);
    let word = |i: usize| number.get(i).copied().unwrap_or(0);
    std::array::from_fn(|i| {
        word(i + whole) >> bits | word(i + whole + 1) << 1 << (u64::BITS - 1 - bits)
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The fields one by one.
    fn spread<const WORDS: usize>(ranking: &Ranking<WORDS>, words: &[u64; WORDS]) -> Vec<u64> {
        let bit = |at: u32| words[(at / 64) as usize] >> (at % 64) & 1;
        let field = |field: u32| {
            let bits = 0..ranking.width_bits;
            bits.map(|i| bit(field * ranking.width_bits + i) << i).sum()
        };
        (0..ranking.fields).map(field).collect()
    }

    fn check<const WORDS: usize>(width: u32, entrance: u64, climbs: bool, values: &[u64]) {
        let ranking = Ranking::<WORDS>::new(width, entrance, climbs);
        let mut words = [0; WORDS];
        let mut model: Vec<u64> = Vec::new();
        for value in values {
            let value = 1 + value % ranking.values();
            let before = model.len();
            let place = model.iter().position(|&held| held == value);
            assert_eq!(ranking.holds(&words, value), place.is_some());
            match place {
                Some(place) => {
                    model.remove(place);
                    model.insert(if climbs { place.saturating_sub(1) } else { 0 }, value);
                }
                None => {
                    let last = ranking.fields() as usize - 1;
                    model.truncate(last);
                    model.insert((entrance as usize).min(before.min(last)), value);
                }
            }
            let ranked = ranking.advance(&mut words, value);
            assert_eq!(ranked.found, place.is_some());
            assert_eq!(ranked.grew, model.len() > before);
            assert_eq!(ranking.occupied(&words), model.len() as u64);
            let mut padded = model.clone();
            padded.resize(ranking.fields() as usize, 0);
            assert_eq!(spread(&ranking, &words), padded);
            // What is left over above the last field stays clear.
            let used = ranking.fields * width;
            assert!(
                (used..64 * WORDS as u32).all(|at| words[(at / 64) as usize] >> (at % 64) & 1 == 0)
            );
        }
    }

    proptest! {
        #[test]
        fn it_is_a_list_with_values_moved(
            width in 2u32..=16, entrance in 0u64..70, climbs: bool,
            values in proptest::collection::vec(0u64..40, 0..200),
        ) {
            check::<1>(width, entrance, climbs, &values);
            check::<8>(width, entrance, climbs, &values);
        }

        #[test]
        fn it_is_a_list_of_wide_values(
            width in 8u32..=32, values in proptest::collection::vec(any::<u64>(), 0..200),
        ) {
            check::<1>(width, 0, false, &values);
            check::<1>(width, 2, true, &values);
            check::<8>(width, 20, false, &values);
        }
    }
}
