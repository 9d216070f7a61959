//! Which site has which bits of a key.
//!
//! All divisions are one scheme. The m bits are S slices, and each slice has S' parts, the sites. k1
//! hash functions choose k1 slices of a key; each of these slices has k2 = k/k1 bits of the key,
//! which can lie in any part.
//!
//! | | S | S' | k1 | k2 |
//! |---|---|---|---|---|
//! | horizontal | S | 1 | 1 | k |
//! | vertical | S | 1 | k | 1 |
//! | diced, h-v | S | S' | 1 | k |
//! | diced, v-h | S' | S | 1 | k |
//! | general | S | 1 | k1 | k/k1 |
//!
//! A hash that chooses a bit among all m chooses a slice and the first bit in it. The other k2 − 1
//! bits are chosen in this slice, each by a hash of its own. So k bits are independent of each
//! other, vertical slices have exactly the bits of the undivided Bloom filter, and so has a single
//! horizontal slice. The paper lets all slices use the same k2 functions. If two of the k1 choices
//! fall on the same slice, they would then have the same bits: with `general:8,k1=2` this raises the
//! false positive rate by half.

use super::{DicedOrder, Slicing, SlicingError};
use crate::fingerprint::{Fingerprint, Probes};

/// The most bits per key.
const MAX_K: u32 = 32;
/// The most sites.
const MAX_SITES: u64 = 1 << 20;

/// The place of a bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SiteBit {
    /// The index of the site.
    pub site: usize,
    /// The position at the site.
    pub position: u64,
}

/// Where the bits of keys are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlicePlan {
    slicing: Slicing,
    bits: u64,
    slices: u64,
    parts: u64,
    chosen: u32,
    bits_per_slice: u32,
}

impl SlicePlan {
    /// Divides a Bloom filter of `bits` bits, `k` per key.
    pub fn new(slicing: Slicing, k: u32, bits: u64) -> Result<Self, SlicingError> {
        if !(1..=MAX_K).contains(&k) {
            return Err(SlicingError::BitsPerKey { k, most: MAX_K });
        }
        let (slices, parts, chosen) = match slicing {
            Slicing::Horizontal { slices } => (slices, 1, 1),
            Slicing::Vertical { slices } => (slices, 1, k),
            Slicing::General { slices, chosen } => (slices, 1, chosen),
            Slicing::Diced {
                slices,
                parts,
                order,
            } => match order {
                DicedOrder::HorizontalFirst => (slices, parts, 1),
                DicedOrder::VerticalFirst => (parts, slices, 1),
            },
        };
        let most = MAX_SITES.min(bits);
        let sites = slices.saturating_mul(parts);
        if !(1..=most).contains(&sites) {
            return Err(SlicingError::Sites {
                slicing,
                found: sites,
                most,
            });
        }
        if !k.is_multiple_of(chosen) {
            return Err(SlicingError::Functions { slicing, k });
        }
        Ok(SlicePlan {
            slicing,
            bits,
            slices,
            parts,
            chosen,
            bits_per_slice: k / chosen,
        })
    }

    /// Returns the division.
    pub fn slicing(&self) -> Slicing {
        self.slicing
    }

    /// Returns the number of bits per key.
    pub fn k(&self) -> u32 {
        self.chosen * self.bits_per_slice
    }

    /// Returns the number of bits of a key in each of its slices.
    pub fn bits_per_slice(&self) -> u32 {
        self.bits_per_slice
    }

    /// Returns the number of bits of all sites.
    pub fn bits(&self) -> u64 {
        self.bits
    }

    /// Returns the number of slices, each of which is one site or several.
    pub fn slices(&self) -> u64 {
        self.slices
    }

    /// Returns the number of sites.
    pub fn sites(&self) -> usize {
        (self.slices * self.parts) as usize
    }

    /// Returns the number of bits of a site. Sites differ by one or two bits if they cannot be equal.
    pub fn site_bits(&self, site: usize) -> u64 {
        let (slice, part) = (site as u64 / self.parts, site as u64 % self.parts);
        Division::new(self.slice(slice).1, self.parts).part(part).1
    }

    /// Returns the k bits of a key, in the order in which a pipelined test asks for them.
    pub fn site_bits_of(&self, key: Fingerprint) -> SiteBits<'_> {
        SiteBits {
            plan: self,
            probes: key.probes(),
            left: self.k(),
            slice: (0, 0, 0),
        }
    }

    /// Returns the first bit and the number of bits of a slice.
    fn slice(&self, slice: u64) -> (u64, u64) {
        Division::new(self.bits, self.slices).part(slice)
    }

    fn place(&self, slice: u64, slice_bits: u64, offset: u64) -> SiteBit {
        let parts = Division::new(slice_bits, self.parts);
        let part = parts.part_of(offset);
        SiteBit {
            site: (slice * self.parts + part) as usize,
            position: offset - parts.part(part).0,
        }
    }
}

/// The bits of a key; see [`SlicePlan::site_bits_of`].
#[derive(Clone, Debug)]
pub struct SiteBits<'a> {
    plan: &'a SlicePlan,
    probes: Probes,
    left: u32,
    /// The chosen slice, its first bit and its number of bits.
    slice: (u64, u64, u64),
}

impl Iterator for SiteBits<'_> {
    type Item = SiteBit;

    fn next(&mut self) -> Option<SiteBit> {
        if self.left == 0 {
            return None;
        }
        let plan = self.plan;
        let offset = match self.left.is_multiple_of(plan.bits_per_slice) {
            true => {
                let at = self.probes.next_below(plan.bits);
                let slice = Division::new(plan.bits, plan.slices).part_of(at);
                let (start, bits) = plan.slice(slice);
                self.slice = (slice, start, bits);
                at - start
            }
            false => self.probes.next_below(self.slice.2),
        };
        self.left -= 1;
        Some(plan.place(self.slice.0, self.slice.2, offset))
    }
}

/// A range of bits in parts that differ by at most one bit.
#[derive(Clone, Copy, Debug)]
struct Division {
    total: u128,
    parts: u128,
}

impl Division {
    fn new(total: u64, parts: u64) -> Self {
        Division {
            total: total.into(),
            parts: parts.into(),
        }
    }

    /// Returns the first bit and the number of bits of a part.
    fn part(self, index: u64) -> (u64, u64) {
        let start = |index: u128| (index * self.total / self.parts) as u64;
        let index = u128::from(index);
        (start(index), start(index + 1) - start(index))
    }

    /// Returns the part of a bit: the last one that starts at or before it.
    fn part_of(self, at: u64) -> u64 {
        (((u128::from(at) + 1) * self.parts - 1) / self.total) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fingerprint::KeyHasher;

    fn plan(slicing: &str, k: u32, bits: u64) -> SlicePlan {
        let slicing = slicing.parse().expect("a slicing");
        SlicePlan::new(slicing, k, bits).expect("a plan")
    }

    fn keys(count: u64) -> impl Iterator<Item = Fingerprint> {
        (0..count).map(|key| KeyHasher::new(5).fingerprint(&key.to_le_bytes()))
    }

    #[test]
    fn a_division_covers_every_bit_once() {
        for (total, parts) in [(1, 1), (10, 6), (10, 10), (97, 8), (89_000, 1000)] {
            let division = Division::new(total, parts);
            let mut expected = (0..parts).flat_map(|part| {
                let (start, bits) = division.part(part);
                (start..start + bits).map(move |at| (at, part))
            });
            for at in 0..total {
                assert_eq!(expected.next(), Some((at, division.part_of(at))));
            }
            assert_eq!(expected.next(), None, "{total} in {parts}");
        }
    }

    const ALL: [&str; 7] = [
        "horizontal:1",
        "horizontal:40",
        "vertical:40",
        "diced:8x5",
        "diced:8x5,order=v-h",
        "general:40,k1=2",
        "general:7,k1=4",
    ];

    #[test]
    fn every_site_has_its_bits_and_is_used_evenly() {
        for slicing in ALL {
            let plan = plan(slicing, 4, 4003);
            let total: u64 = (0..plan.sites()).map(|site| plan.site_bits(site)).sum();
            assert_eq!(total, 4003, "{slicing}");
            let mut uses = vec![0u64; plan.sites()];
            for key in keys(40_000) {
                let bits: Vec<SiteBit> = plan.site_bits_of(key).collect();
                assert_eq!(bits.len(), 4);
                for bit in bits {
                    assert!(bit.position < plan.site_bits(bit.site), "{slicing}");
                    uses[bit.site] += 1;
                }
            }
            let mean = 160_000 / plan.sites() as u64;
            // Keys per site vary by the square root, their bits by the number of bits per slice.
            let spread = 6 * 2 * mean.isqrt() + mean / 50;
            assert!(
                uses.iter().all(|&it| it.abs_diff(mean) < spread),
                "{uses:?}"
            );
        }
    }

    #[test]
    fn bits_of_a_choice_lie_in_one_slice() {
        let horizontal = plan("horizontal:40", 4, 4000);
        let diced = plan("diced:8x5", 4, 4000);
        let exchanged = plan("diced:8x5,order=v-h", 4, 4000);
        let general = plan("general:40,k1=2", 4, 4000);
        let mut columns = [0; 5];
        for key in keys(1000) {
            let sites = |plan: &SlicePlan| -> Vec<usize> {
                plan.site_bits_of(key).map(|bit| bit.site).collect()
            };
            let [a, b, c, d] = sites(&horizontal)[..] else {
                panic!("four bits");
            };
            assert!(a == b && b == c && c == d);
            let [a, b, c, d] = sites(&general)[..] else {
                panic!("four bits");
            };
            assert!(a == b && c == d);
            let rows: Vec<usize> = sites(&diced).iter().map(|site| site / 5).collect();
            assert!(rows.iter().all(|row| *row == rows[0]));
            // Vertical first: one column of the five for all bits of a key, any of the 8 slices.
            let column: Vec<usize> = sites(&exchanged).iter().map(|site| site / 8).collect();
            assert!(column.iter().all(|it| *it == column[0]));
            columns[column[0]] += 1;
        }
        assert!(columns.iter().all(|&keys| keys > 100), "{columns:?}");
    }

    #[test]
    fn v_h_is_h_v_with_the_numbers_exchanged() {
        let (one, other) = (
            plan("diced:8x5,order=v-h", 4, 999),
            plan("diced:5x8", 4, 999),
        );
        for key in keys(1000) {
            assert!(one.site_bits_of(key).eq(other.site_bits_of(key)));
        }
    }

    #[test]
    fn impossible_divisions_are_refused() {
        let refused = |text: &str, k: u32, bits: u64| {
            let slicing = text.parse().expect("a slicing");
            let error = SlicePlan::new(slicing, k, bits).expect_err(text);
            error.to_string()
        };
        assert!(refused("vertical:0", 4, 100).contains("1 to 100"));
        assert!(refused("vertical:101", 4, 100).contains("101 sites"));
        assert!(refused("diced:4294967296x4294967296", 4, 100).contains("1 to 100"));
        assert!(refused("general:5,k1=3", 4, 100).contains("divide k = 4"));
        assert!(refused("general:5,k1=0", 4, 100).contains("divide k = 4"));
        assert!(refused("vertical:5", 0, 100).contains("1 to 32"));
    }
}
