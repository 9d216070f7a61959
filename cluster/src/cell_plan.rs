//! Which cells of which slices a key has.
//!
//! A *cell* is a field of some bits in a slice, and the value that it has if the key was recorded.
//! In a Bloom filter a key has k cells of one bit, placed by the engine's [`SlicePlan`]. In a table
//! of slots it has one cell, whose value is a small fingerprint of the key. So one command,
//! `BITFIELD`, tests and sets both.
//!
//! A table of slots is divided by ranges of its 64-bit words. Slot and value of a key are those of
//! the engine's undivided filter `slot`, so the verdicts are the same, whatever the number of slices.

use dedupstore::filter::Value;
use dedupstore::sites::{SlicePlan, Slicing};
use dedupstore::{FilterSpec, Fingerprint};

use crate::error::ClusterError;

/// A field of a slice, and its value if a key was recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cell {
    /// The slice.
    pub site: usize,
    /// The position of the first bit among those of the slice.
    pub offset_bits: u64,
    /// The value.
    pub value: u64,
}

/// Which cells of which slices a key has.
#[derive(Clone, Copy, Debug)]
pub(crate) enum CellPlan {
    Bits(SlicePlan),
    Slots(SlotPlan),
}

/// A table of slots, divided into ranges of words.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SlotPlan {
    values: u64,
    width_bits: u32,
    words: u64,
    slots_per_word: u64,
    slices: u64,
}

impl CellPlan {
    /// Divides a filter.
    pub fn new(
        filter: &FilterSpec,
        slicing: Slicing,
        memory_bits: u64,
    ) -> Result<Self, ClusterError> {
        let impossible = |reason: String| Err(ClusterError::Impossible(reason));
        match filter.descriptor().name {
            "bloom" => {
                let k = integer(filter, "k") as u32;
                let plan = SlicePlan::new(slicing, k, memory_bits);
                let plan = plan.map_err(|error| ClusterError::Impossible(error.to_string()))?;
                Ok(CellPlan::Bits(plan))
            }
            "slot" => {
                let Slicing::Horizontal { slices } = slicing else {
                    return impossible(format!(
                        "a table of slots is divided into horizontal slices, not {slicing}; \
                         choose horizontal:N, or the filter bloom:k=4"
                    ));
                };
                let values = integer(filter, "values");
                if !(values + 1).is_power_of_two() {
                    return impossible(format!(
                        "the number of values plus one must be a power of two on Redis; found \
                         {values}, use 65535 or 255"
                    ));
                }
                let (width_bits, words) = ((values + 1).trailing_zeros(), memory_bits / 64);
                if words < slices {
                    return impossible(format!(
                        "{memory_bits} bits are too few for {slices} slices of at least 64 bits"
                    ));
                }
                Ok(CellPlan::Slots(SlotPlan {
                    values,
                    width_bits,
                    words,
                    slots_per_word: u64::from(64 / width_bits),
                    slices,
                }))
            }
            other => impossible(format!(
                "the filter `{other}` cannot be kept on Redis; choose slot:values=65535 or bloom:k=4"
            )),
        }
    }

    /// Returns the number of slices.
    pub fn sites(&self) -> usize {
        match self {
            CellPlan::Bits(plan) => plan.sites(),
            CellPlan::Slots(plan) => plan.slices as usize,
        }
    }

    /// Returns the number of bits of a slice.
    pub fn site_bits(&self, site: usize) -> u64 {
        match self {
            CellPlan::Bits(plan) => plan.site_bits(site),
            CellPlan::Slots(plan) => {
                let (first, last) = (
                    plan.first_word(site as u64),
                    plan.first_word(site as u64 + 1),
                );
                (last - first) * plan.slots_per_word * u64::from(plan.width_bits)
            }
        }
    }

    /// Returns the number of bits of a cell.
    pub fn cell_bits(&self) -> u32 {
        match self {
            CellPlan::Bits(_) => 1,
            CellPlan::Slots(plan) => plan.width_bits,
        }
    }

    /// Returns the number of cells of a key.
    pub fn cells_per_key(&self) -> usize {
        match self {
            CellPlan::Bits(plan) => plan.k() as usize,
            CellPlan::Slots(_) => 1,
        }
    }

    /// Returns the number that two cells of different keys agree by chance: one in so many.
    pub fn values(&self) -> u64 {
        match self {
            CellPlan::Bits(_) => 1,
            CellPlan::Slots(plan) => plan.values,
        }
    }

    /// Calls a function with the cells of a key, in the order of the engine.
    pub fn for_each_cell(&self, key: Fingerprint, mut each: impl FnMut(Cell)) {
        match self {
            CellPlan::Bits(plan) => plan.site_bits_of(key).for_each(|bit| {
                each(Cell {
                    site: bit.site,
                    offset_bits: bit.position,
                    value: 1,
                });
            }),
            CellPlan::Slots(plan) => each(plan.cell(key)),
        }
    }
}

/// Returns the value of a parameter that the filter has.
fn integer(filter: &FilterSpec, name: &str) -> u64 {
    let value = filter
        .values()
        .find(|(parameter, _)| parameter.name == name);
    match value {
        Some((_, Value::Integer(value))) => value,
        _ => 0,
    }
}

impl SlotPlan {
    /// Returns the first word of a slice.
    fn first_word(&self, slice: u64) -> u64 {
        (u128::from(slice) * u128::from(self.words) / u128::from(self.slices)) as u64
    }

    fn cell(&self, key: Fingerprint) -> Cell {
        let mut probes = key.probes();
        let word = probes.next_below(self.words);
        let slot = probes.next_below(self.slots_per_word);
        let value = 1 + probes.next_below(self.values);
        let (words, slices) = (u128::from(self.words), u128::from(self.slices));
        // The last slice that begins at or before the word.
        let slice = (((u128::from(word) + 1) * slices - 1) / words) as u64;
        let index = (word - self.first_word(slice)) * self.slots_per_word + slot;
        Cell {
            site: slice as usize,
            offset_bits: index * u64::from(self.width_bits),
            value,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use dedupstore::{KeyHasher, SeenSetBuilder};

    use super::*;

    /// The cells, kept in a map, give the verdicts of the engine's undivided filter.
    #[test]
    fn a_divided_table_of_slots_is_the_engines_filter() {
        for (values, slices) in [(65_535, 16), (65_535, 1), (255, 7), (7, 5)] {
            let spec: FilterSpec = format!("slot:values={values}").parse().expect("valid");
            let memory_bits = 64 * 509;
            let slicing = Slicing::Horizontal { slices };
            let plan = CellPlan::new(&spec, slicing, memory_bits).expect("possible");
            let set = SeenSetBuilder::new(&spec).memory_bits(memory_bits).seed(3);
            let mut set = set.build().expect("small");
            let mut cells: BTreeMap<(usize, u64), u64> = BTreeMap::new();
            let mut total = 0;
            for site in 0..plan.sites() {
                total += plan.site_bits(site);
            }
            assert_eq!(
                total,
                509 * u64::from(plan.cell_bits()) * (64 / u64::from(plan.cell_bits()))
            );
            for number in 0..20_000u64 {
                let number = if number % 3 == 0 { number / 9 } else { number };
                let key = KeyHasher::new(3).fingerprint(&number.to_le_bytes());
                let mut seen = true;
                plan.for_each_cell(key, |cell| {
                    assert!(
                        cell.offset_bits + u64::from(plan.cell_bits()) <= plan.site_bits(cell.site)
                    );
                    let old = cells.insert((cell.site, cell.offset_bits), cell.value);
                    seen &= old == Some(cell.value);
                });
                assert_eq!(set.observe_one(key.into()).is_seen(), seen);
            }
        }
    }
}
