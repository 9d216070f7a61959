//! The sizes of a quotient table that grows, and how long fingerprints are in each.

use super::quotient::Quotient;
use super::quotient_table::QuotientTable;
use super::slot_key::{SlotCut, WHOLE};

/// The sizes of a doubling, in sixteenths.
pub(super) const SCALES: [u32; 4] = [WHOLE, 19, 23, 27];
/// A fingerprint of which less than this would be left as remainder is divided. The shorter it is,
/// the more lookups must read the run of the quotient before theirs.
const SHORTEST_BITS: u32 = 5;

/// Returns the tables, from the first size to the last. Each takes more memory than the one before.
pub(super) fn sizes(
    first_quotients: u64,
    bits: u32,
    doublings: u32,
    longest: u32,
    is_marked: bool,
) -> Vec<QuotientTable> {
    let width_at = |level: u32| (bits + doublings - level).min(longest.max(bits));
    let mut tables: Vec<QuotientTable> = Vec::new();
    for level in 0..=doublings {
        let width_bits = width_at(level);
        let oldest = level + width_bits - width_at(0);
        let longest_age = width_bits - SHORTEST_BITS.min(width_bits / 2);
        let scales = match level == doublings {
            true => &SCALES[..1],
            false => &SCALES[..],
        };
        for &scale in scales {
            let cut = SlotCut {
                scale,
                width_bits,
                ages: oldest.min(longest_age),
                is_marked,
            };
            let table = QuotientTable::new(first_quotients, level, cut);
            if tables
                .last()
                .is_none_or(|last| last.bytes() < table.bytes())
            {
                tables.push(table);
            }
        }
    }
    tables
}

impl Quotient {
    /// Returns the tables, from the first size to the last: for how many keys each is made, and how
    /// many fingerprints new keys have there.
    pub(crate) fn growth_steps(&self) -> impl Iterator<Item = (f64, f64)> + Clone {
        let step = |it: &QuotientTable| (it.capacity() as f64, it.fingerprints() as f64);
        self.tables.iter().map(step)
    }

    /// Returns whether the table can grow.
    pub(super) fn grows(&self) -> bool {
        self.tables.len() > 1
    }

    /// Returns the false positive rate of a table of the last size that is full.
    pub(super) fn full_rate(&self) -> f64 {
        let (mut rate, mut keys) = (0.0, 0.0);
        for (capacity, fingerprints) in self.growth_steps() {
            rate += (capacity - keys) / fingerprints;
            keys = capacity;
        }
        rate.min(1.0)
    }

    /// Returns the number of keys for which the last table is made.
    pub(crate) fn capacity(&self) -> u64 {
        self.last_table().capacity()
    }
}
