//! Computes the memory for a number of keys and a false positive rate.
//!
//! The filter forgets nothing. Its memory is the least in which the *last* of the distinct keys is
//! dropped with at most the requested probability. An average rate would be met in less memory,
//! but exceeded from the middle of the stream on.

use crate::filter::{FilterSpec, MAX_MEMORY_BITS, MIN_MEMORY_BITS};
use crate::theory::{Workload, predict};

/// A larger k costs more time than the memory it saves is worth.
const MAX_K: u64 = 20;
/// A faster filter may take up to this many times the least memory.
const EXTRA_MEMORY: f64 = 1.05;
/// Memory is rounded up to blocks of 8 KiB, the unit of a store.
const BLOCK_BITS: u64 = (8 * 8) << 10;

/// A filter and the memory it needs.
#[derive(Clone, Debug)]
pub struct Size {
    /// The filter.
    pub filter: FilterSpec,
    /// Its memory.
    pub memory_bits: u64,
    /// The probability that the last of the keys is dropped.
    pub final_fpr: f64,
}

/// Returns the filter with the least memory for `distinct` keys. None if no memory is enough.
pub fn minimum_memory(distinct: u64, max_fpr: f64) -> Option<Size> {
    let stream = Workload::uniform(distinct.max(1), distinct.max(1));
    let fpr_of = |filter: &FilterSpec, bits: u64| {
        predict(filter, bits, &stream).map_or(1.0, |prediction| prediction.end().fpr)
    };
    let mut sizes: Vec<Size> = Vec::new();
    // Fastest first: one cache line per key, then small k before large k.
    for form in ["blocked:cap=100,k=", "bloom:k="] {
        for k in 1..=MAX_K {
            let Ok(filter) = format!("{form}{k}").parse::<FilterSpec>() else {
                continue;
            };
            let ideal = ideal_bits(distinct, max_fpr, k);
            if let Some(memory_bits) = search(ideal, |bits| fpr_of(&filter, bits) <= max_fpr) {
                sizes.push(Size {
                    final_fpr: fpr_of(&filter, memory_bits),
                    filter,
                    memory_bits,
                });
            }
        }
    }
    let minimum = sizes.iter().map(|size| size.memory_bits).min()? as f64;
    let limit = (EXTRA_MEMORY * minimum) as u64 + BLOCK_BITS;
    sizes
        .into_iter()
        .find(|size| size.memory_bits <= limit.max(BLOCK_BITS))
}

/// Bloom's formula solved for the memory: −k·n / ln(1 − p^(1/k)).
fn ideal_bits(distinct: u64, fpr: f64, k: u64) -> f64 {
    let k = k as f64;
    -k * distinct.max(1) as f64 / libm::log1p(-libm::pow(fpr, 1.0 / k))
}

/// Returns the least sufficient memory, in whole blocks, between the ideal and four times the
/// ideal.
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
    fn the_requested_rate_is_met_with_little_extra_memory() {
        for distinct in [100_000, 100_000_000] {
            for fpr in [0.1, 0.01, 1e-6] {
                let size = minimum_memory(distinct, fpr).expect("a sufficient memory");
                assert!(size.final_fpr <= fpr, "{distinct} {fpr}: {size:?}");
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
