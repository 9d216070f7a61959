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

    use crate::{FilterSpec, SeenSet, Verdict};

    fn set(spec: &str, keys: std::ops::Range<u32>) -> SeenSet {
        let spec: FilterSpec = spec.parse().expect("a filter");
        let mut set = SeenSet::in_memory(&spec, 4099, 7).expect("small");
        for key in keys {
            set.observe(&key.to_le_bytes());
        }
        set
    }

    #[test]
    fn a_key_is_seen_if_its_places_are_in_use() {
        for spec in [
            "bloom:k=3",
            "bloom:layout=partitioned",
            "stable:max=5",
            "rlbsbf",
            "blocked",
        ] {
            let set = set(spec, 0..600);
            let mut verdicts = [0, 0];
            for key in 0..2000u32 {
                let fingerprint = set.hasher().fingerprint(&key.to_le_bytes());
                let places = set.filter().places(fingerprint);
                assert!(!places.is_empty());
                let seen = places.iter().all(|place| place.read(set.region()) > 0);
                let verdict = set.contains_fingerprint(fingerprint);
                assert_eq!(verdict == Verdict::Seen, seen, "{spec}");
                verdicts[usize::from(seen)] += 1;
            }
            assert!(
                verdicts.iter().all(|&count| count > 100),
                "{spec}: {verdicts:?}"
            );
        }
    }

    #[test]
    fn a_union_is_the_filter_that_met_both() {
        for spec in ["bloom:k=3", "bloom:layout=partitioned"] {
            let (one, other, both) = (set(spec, 0..300), set(spec, 200..500), set(spec, 0..500));
            let (mut region, mut registers) = (one.region().to_vec(), one.registers().clone());
            one.filter()
                .unite(
                    &mut region,
                    &mut registers,
                    other.region(),
                    other.registers(),
                )
                .expect("a union");
            assert!(region == both.region());
            assert_eq!(registers.occupied(), both.registers().occupied());
            assert_eq!(registers.observations(), 600);
        }
        let forgets = set("stable", 0..10);
        let (mut region, mut registers) = (forgets.region().to_vec(), forgets.registers().clone());
        let refused = forgets.filter().unite(
            &mut region,
            &mut registers,
            forgets.region(),
            forgets.registers(),
        );
        assert!(refused.is_err_and(|reason| reason.contains("forgets")));
        assert!(region == forgets.region() && registers == *forgets.registers());
    }

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
