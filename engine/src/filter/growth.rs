//! How far a filter has grown inside its reserve.

use super::{AnyFilter, Filter, Registers};

/// How far a filter has grown inside the region that is reserved for it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Growth {
    /// The number of bytes that were ever used.
    pub used_bytes: u64,
    /// The number of bytes that are reserved.
    pub reserved_bytes: u64,
    /// The largest number of parts that a lookup tests now.
    pub parts: u64,
    /// The largest number of parts that a lookup can have to test.
    pub most_parts: u64,
    /// The number of keys that the parts in use and all later ones can still take at the wanted
    /// false positive rate, about. In a window: before the first of them are forgotten.
    pub keys_left: f64,
}

impl AnyFilter {
    /// Returns how far the filter has grown; None if it uses its whole region from the start.
    pub fn growth(&self, registers: &Registers) -> Option<Growth> {
        let AnyFilter::Growing(growing) = self else {
            return None;
        };
        Some(Growth {
            used_bytes: growing.used_bytes(registers),
            reserved_bytes: growing.region_bytes(),
            parts: growing.parts_in_use(registers),
            most_parts: growing.most_parts(),
            keys_left: growing.keys_left(registers),
        })
    }
}
