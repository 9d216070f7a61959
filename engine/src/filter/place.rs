//! Where in the region a verdict comes from.

use crate::bytes::bit;

/// A cell that a filter looks at to decide about a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Its number among its like.
    pub index: u64,
    /// Where it starts in the region.
    pub offset_bits: u64,
    /// How wide it is, at most 64.
    pub width_bits: u32,
    /// What it is to the filter.
    pub meaning: &'static str,
}

impl Place {
    /// What it holds.
    ///
    /// # Panics
    /// If it does not lie in the region.
    pub fn read(&self, region: &[u8]) -> u64 {
        (0..u64::from(self.width_bits))
            .map(|i| u64::from(bit(region, self.offset_bits + i)) << i)
            .sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_read_lowest_bit_first() {
        let place = Place {
            index: 2,
            offset_bits: 6,
            width_bits: 3,
            meaning: "counter",
        };
        assert_eq!(place.read(&[0b0100_0000, 0b0000_0001]), 0b101);
    }
}
