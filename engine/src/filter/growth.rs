//! How far a filter has grown inside its reserve, and how its limit can be raised.

use serde::Serialize;

use super::{AnyFilter, Filter, FilterSpec, Registers};

/// How far a filter has grown inside the region that is reserved for it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
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
    /// The false positive rate when the reserve is full; None if it depends on the keys per second.
    pub full_fpr: Option<f64>,
}

/// Why the limit of a filter cannot be raised.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CannotGrow {
    /// It has no limit to raise, or another one would change the meaning of its cells.
    #[error("{0}")]
    Fixed(&'static str),
    /// The memory is too small to raise the limit.
    #[error("its limit can be raised from {minimum_bits} bits of memory on")]
    NeedsMemory {
        /// The smallest memory that raises the limit.
        minimum_bits: u64,
    },
    /// It has grown as often as it can.
    #[error("its fingerprints are too short to divide them once more")]
    Exhausted,
}

impl AnyFilter {
    /// Returns how far the filter has grown; None if it uses its whole region from the start.
    #[cfg(not(feature = "all-filters"))]
    pub fn growth(&self, _: &Registers) -> Option<Growth> {
        None
    }

    /// Returns how far the filter has grown; None if it uses its whole region from the start.
    #[cfg(feature = "all-filters")]
    pub fn growth(&self, registers: &Registers) -> Option<Growth> {
        let (parts, most_parts, keys_left, full_fpr) = match self {
            AnyFilter::Growing(growing) => (
                growing.parts_in_use(registers),
                growing.most_parts(),
                growing.keys_left(registers),
                growing.window().is_none().then(|| growing.wanted_rate()),
            ),
            AnyFilter::Quotient(quotient) if quotient.grows() => {
                let left = quotient.capacity().saturating_sub(registers.occupied());
                (1, 1, left as f64, Some(quotient.full_rate()))
            }
            _ => return None,
        };
        Some(Growth {
            used_bytes: self.used_bytes(registers) as u64,
            reserved_bytes: self.region_bytes() as u64,
            parts,
            most_parts,
            keys_left,
            full_fpr,
        })
    }

    /// Returns the spec and the memory of a filter that continues with the state of this one and
    /// has a higher limit, in at most `memory_bits`: see [`Filter::grown`].
    pub fn grown(
        &self,
        spec: &FilterSpec,
        memory_bits: u64,
    ) -> Result<(FilterSpec, u64), CannotGrow> {
        dispatch!(self, f => f.grown(spec, memory_bits))
    }
}
