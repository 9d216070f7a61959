//! `importance-linear:X`, `importance-exponential:X` and `importance-draws:X`: keys of different
//! importance.
//!
//! The artificial data of the paper on the importance-aware Bloom filter ("IBF"): the keys of
//! `shuffle:X`, each with an importance from 1 to 50. In the linear data, every importance has the
//! same share of keys. In the exponential data, importance is an exponential function of the key's
//! index: a key at the share u of the index has importance ⌊51^u⌋. So importance i has a share of
//! log₅₁((i + 1)/i) of the keys: more than a sixth have 1, one in two hundred has 50. The index of
//! a key is a hash of its number, because numbers follow the order of first occurrence.
//!
//! `importance-draws:X` has the importance of the linear data, and the keys of `uniform:X`:
//! independent draws. They reproduce the paper's false negatives better.

use crate::fingerprint::{KeyHasher, reduce};

/// The greatest importance.
const MAX_IMPORTANCE: u16 = 50;

/// The distribution of importance over keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImportanceLaw {
    /// Every importance has the same number of keys.
    Linear,
    /// Most keys have a low importance.
    Exponential,
}

/// The importance of numbered keys.
#[derive(Clone, Copy, Debug)]
pub(super) struct Importance {
    law: ImportanceLaw,
    index: KeyHasher,
}

impl Importance {
    pub fn new(law: ImportanceLaw, seed: u64) -> Self {
        Importance {
            law,
            index: KeyHasher::new(seed),
        }
    }

    #[inline]
    pub fn of(&self, number: u64) -> u16 {
        let index = self.index.fingerprint(&number.to_le_bytes()).0;
        match self.law {
            ImportanceLaw::Linear => 1 + reduce(index, u64::from(MAX_IMPORTANCE)) as u16,
            ImportanceLaw::Exponential => {
                let share = (index >> 11) as f64 / (1u64 << 53) as f64;
                let importance = libm::exp(share * libm::log(f64::from(MAX_IMPORTANCE) + 1.0));
                (importance as u16).clamp(1, MAX_IMPORTANCE)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::StreamSpec;
    use super::super::tests::{distinct, numbers};
    use super::*;

    /// Chi-square test over 50 values: 49 degrees of freedom, mean 49, standard deviation 9.9.
    #[test]
    fn importance_follows_its_distribution() {
        for law in [ImportanceLaw::Linear, ImportanceLaw::Exponential] {
            let importance = Importance::new(law, 3);
            let keys = 100_000u32;
            let mut counts = [0u32; 50];
            for number in 0..u64::from(keys) {
                counts[usize::from(importance.of(number)) - 1] += 1;
            }
            let share = |i: usize| match law {
                ImportanceLaw::Linear => 0.02,
                ImportanceLaw::Exponential => ((i + 2) as f64 / (i + 1) as f64).ln() / 51f64.ln(),
            };
            let deviation = |(i, &count): (usize, &u32)| {
                let expected = f64::from(keys) * share(i);
                (f64::from(count) - expected).powi(2) / expected
            };
            let chi_square: f64 = counts.iter().enumerate().map(deviation).sum();
            assert!(chi_square < 49.0 + 4.0 * 9.9, "{law:?}: {chi_square}");
        }
    }

    #[test]
    fn keys_are_those_of_shuffle_and_each_keeps_its_importance() {
        for form in ["importance-linear:30", "importance-exponential:30"] {
            let keys = numbers(form, 10_000, 2);
            assert_eq!(keys, numbers("shuffle:30", 10_000, 2));
            assert_eq!(distinct(&keys), 3000);
            let mut importance_of = vec![None; 3000];
            let mut stream = form.parse::<StreamSpec>().expect(form).open(10_000, 2);
            while let Some(arrival) = stream.next_arrival() {
                let known = &mut importance_of[arrival.number as usize];
                assert_eq!(*known.get_or_insert(arrival.importance), arrival.importance);
                assert!(arrival.importance.is_some());
            }
        }
    }
}
