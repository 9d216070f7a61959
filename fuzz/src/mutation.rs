//! Changes inputs at random, with knowledge of what formats consist of: words, numbers in digits,
//! numbers in bytes, and repeated pieces.

use dedupstore::rng::Generator;

/// Changes inputs. The changes follow from the seed.
pub struct Mutator {
    state: u64,
    random: Generator,
    dictionary: &'static [&'static str],
    max_bytes: usize,
}

/// Numbers at the limits of fields.
const NUMBERS: [u64; 22] = [
    0,
    1,
    2,
    7,
    8,
    63,
    64,
    65,
    127,
    255,
    256,
    512,
    4096,
    8192,
    65535,
    65536,
    1 << 31,
    u32::MAX as u64,
    1 << 40,
    i64::MAX as u64,
    1 << 63,
    u64::MAX,
];

impl Mutator {
    /// Creates a mutator of inputs of up to `max_bytes`.
    pub fn new(seed: u64, dictionary: &'static [&'static str], max_bytes: usize) -> Self {
        Mutator {
            state: 0,
            random: Generator::from_seed(seed),
            dictionary,
            max_bytes,
        }
    }

    fn next(&mut self) -> u64 {
        self.state += 1;
        self.random.draw(self.state)
    }

    /// Returns a number below `end`; 0 if `end` is 0.
    pub fn below(&mut self, end: usize) -> usize {
        // The high bits are the better ones.
        ((u128::from(self.next()) * end as u128) >> 64) as usize
    }

    /// Changes an input some times, perhaps with pieces of another one.
    pub fn mutate(&mut self, input: &mut Vec<u8>, other: &[u8]) {
        for _ in 0..1 << self.below(4) {
            self.mutate_once(input, other);
        }
        input.truncate(self.max_bytes);
    }

    fn mutate_once(&mut self, input: &mut Vec<u8>, other: &[u8]) {
        if input.is_empty() {
            let length = 1 + self.below(16);
            input.extend((0..length).map(|_| self.next() as u8));
            return;
        }
        match self.below(14) {
            0 | 1 => {
                let at = self.below(input.len());
                input[at] ^= 1 << self.below(8);
            }
            2 => {
                let at = self.below(input.len());
                input[at] = self.next() as u8;
            }
            3 => self.change_number_in_bytes(input),
            4 => self.change_number_in_digits(input),
            5 => {
                let range = self.range(input.len(), 64);
                input.drain(range);
            }
            6 => {
                let piece = input[self.range(input.len(), 64)].to_vec();
                let times = 1 + self.below(3);
                let at = self.below(input.len() + 1);
                input.splice(at..at, piece.repeat(times));
            }
            7 => {
                let piece = input[self.range(input.len(), 32)].to_vec();
                let at = self.below(input.len() + 1);
                let end = (at + piece.len()).min(input.len());
                input[at..end].copy_from_slice(&piece[..end - at]);
            }
            8 if !other.is_empty() => {
                let piece = other[self.range(other.len(), 256)].to_vec();
                let replaced = self.range(input.len(), 64);
                input.splice(replaced, piece);
            }
            9 if !other.is_empty() => {
                input.truncate(self.below(input.len()));
                input.extend_from_slice(&other[self.below(other.len())..]);
            }
            10 | 11 if !self.dictionary.is_empty() => {
                let word = self.dictionary[self.below(self.dictionary.len())].as_bytes();
                let at = self.below(input.len() + 1);
                let replaced = match self.below(2) {
                    0 => at..at,
                    _ => at..(at + word.len()).min(input.len()),
                };
                input.splice(replaced, word.iter().copied());
            }
            12 => input.truncate(self.below(input.len() + 1)),
            _ => {
                let at = self.below(input.len() + 1);
                let byte = self.next() as u8;
                let times = 1 + self.below(8);
                input.splice(at..at, std::iter::repeat_n(byte, times));
            }
        }
    }

    /// Returns a range within `length`, mostly short.
    fn range(&mut self, length: usize, most: usize) -> std::ops::Range<usize> {
        let start = self.below(length);
        let most = match self.below(8) {
            0 => length,
            _ => most,
        };
        let count = 1 + self.below(most.min(length - start));
        start..(start + count).min(length)
    }

    fn number(&mut self) -> u64 {
        let number = NUMBERS[self.below(NUMBERS.len())];
        match self.below(4) {
            0 => number.wrapping_add(1),
            1 => number.wrapping_sub(1),
            2 => self.next() >> self.below(64),
            _ => number,
        }
    }

    /// Sets or changes a little-endian number of 1, 2, 4 or 8 bytes.
    fn change_number_in_bytes(&mut self, input: &mut [u8]) {
        let width = (1 << self.below(4)).min(input.len());
        // Fields are aligned in most formats.
        let at = match self.below(4) {
            0 => self.below(input.len() - width + 1),
            _ => self.below((input.len() - width) / width + 1) * width,
        };
        let field = &mut input[at..at + width];
        let mut bytes = [0; 8];
        bytes[..width].copy_from_slice(field);
        let old = u64::from_le_bytes(bytes);
        let new = match self.below(3) {
            0 => old.wrapping_add(self.below(16) as u64),
            1 => old.wrapping_sub(self.below(16) as u64),
            _ => self.number(),
        };
        field.copy_from_slice(&new.to_le_bytes()[..width]);
    }

    /// Replaces digits by another number.
    fn change_number_in_digits(&mut self, input: &mut Vec<u8>) {
        let from = self.below(input.len());
        let is_digit = |byte: &u8| byte.is_ascii_digit();
        let Some(start) = input[from..].iter().position(is_digit) else {
            return;
        };
        let start = from + start;
        let length = input[start..].iter().take_while(|it| is_digit(it)).count();
        let number = self.number().to_string();
        input.splice(start..start + length, number.into_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_follow_from_the_seed() {
        let run = |seed| {
            let mut mutator = Mutator::new(seed, &["word"], 100);
            let mut input = b"some 12 bytes".to_vec();
            for _ in 0..1000 {
                mutator.mutate(&mut input, b"another input");
                assert!(input.len() <= 100);
            }
            input
        };
        assert_eq!(run(1), run(1));
        assert_ne!(run(1), run(2));
    }
}
