//! How much memory a number of keys and a share of drops ask for.
//!
//! For those who want a bound on the keys they lose and know how many will come: a filter
//! that forgets nothing, in the least memory in which the *last* of so many distinct keys is
//! dropped with no more than the chance asked for. Bounds on an average would be kept in
//! less, and broken from the middle of the stream on.

use crate::filter::{FilterSpec, MAX_MEMORY_BITS, MIN_MEMORY_BITS};
use crate::theory::{Workload, predict};

/// More bits for a key than this cost more time than they save memory.
const LARGEST_K: u64 = 20;
/// What needs no more than this times the least memory is as good, and faster.
const WORTH: f64 = 1.05;
/// Whole blocks of 8 KiB, which a store works in anyway.
const BLOCK_BITS: u64 = (8 * 8) << 10;

/// A filter and its memory.
#[derive(Clone, Debug)]
pub struct Size {
    /// The filter.
    pub filter: FilterSpec,
    /// Its memory.
    pub memory_bits: u64,
    /// The chance that the last of the keys is dropped.
    pub last_drop_chance: f64,
}

/// The size for so many distinct keys. Nothing, if no memory is enough.
pub fn least_memory(distinct: u64, max_fpr: f64) -> Option<Size> {
    let stream = Workload::uniform(distinct.max(1), distinct.max(1));
    let of = |filter: &FilterSpec, bits: u64| {
        predict(filter, bits, &stream).map_or(1.0, |found| found.end().fpr)
    };
    let mut sizes: Vec<Size> = Vec::new();
    // In the order of time: one line a key, then few bits before many.
    for form in ["blocked:cap=100,k=", "bloom:k="] {
        for k in 1..=LARGEST_K {
            let Ok(filter) = format!("{form}{k}").parse::<FilterSpec>() else {
                continue;
            };
            let ideal = ideal_bits(distinct, max_fpr, k);
            if let Some(memory_bits) = search(ideal, |bits| of(&filter, bits) <= max_fpr) {
                sizes.push(Size {
                    last_drop_chance: of(&filter, memory_bits),
                    filter,
                    memory_bits,
                });
            }
        }
    }
    let least = sizes.iter().map(|size| size.memory_bits).min()? as f64;
    let limit = (WORTH * least) as u64 + BLOCK_BITS;
    sizes
        .into_iter()
        .find(|size| size.memory_bits <= limit.max(BLOCK_BITS))
}

/// Bloom's formula solved for the memory: −k·n / ln(1 − p^(1/k)).
fn ideal_bits(distinct: u64, fpr: f64, k: u64) -> f64 {
    let k = k as f64;
    -k * distinct.max(1) as f64 / libm::log1p(-libm::pow(fpr, 1.0 / k))
}

/// The least whole number of blocks from the ideal to four times that which is enough.
fn search(ideal_bits: f64, enough: impl Fn(u64) -> bool) -> Option<u64> {
    let (least, most) = (MIN_MEMORY_BITS as f64, MAX_MEMORY_BITS as f64);
    let blocks = |bits: f64| (bits.clamp(least, most) as u64).div_ceil(BLOCK_BITS);
    let (mut low, mut high) = (blocks(ideal_bits * 0.98), blocks(ideal_bits * 4.0));
    if !enough(high * BLOCK_BITS) {
        return None;
    }
    while low < high {
        let middle = low + (high - low) / 2;
        match enough(middle * BLOCK_BITS) {
            true => high = middle,
            false => low = middle + 1,
        }
    }
    Some(high * BLOCK_BITS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_asked_for_is_kept_and_little_is_wasted() {
        for distinct in [100_000, 100_000_000] {
            for fpr in [0.1, 0.01, 1e-6] {
                let size = least_memory(distinct, fpr).expect("there is memory enough");
                assert!(size.last_drop_chance <= fpr, "{distinct} {fpr}: {size:?}");
                let ideal = -(distinct as f64) * fpr.ln() / std::f64::consts::LN_2.powi(2);
                let limit = 1.06 * ideal + 2.0 * BLOCK_BITS as f64;
                assert!(
                    (size.memory_bits as f64) < limit,
                    "{distinct} {fpr}: {size:?}"
                );
            }
        }
    }
}
