//! The lower bound on the memory of any filter without false negatives.
//!
//! A filter that stores n keys without false negatives and with the false positive rate ε needs at
//! least n·log₂(1/ε) bits (Carter, Floyd, Gill, Markowsky, Wegman, "Exact and approximate
//! membership testers", 1978). A Bloom filter with the best k needs 1.44 times as many.

/// Returns the smallest number of bits for `keys` keys at a false positive rate, without false
/// negatives.
pub fn min_bits(keys: f64, fpr: f64) -> f64 {
    keys * -libm::log2(fpr.clamp(f64::MIN_POSITIVE, 1.0))
}

/// Returns the smallest false positive rate with so many bits per key, without false negatives.
pub fn min_fpr(bits_per_key: f64) -> f64 {
    libm::exp2(-bits_per_key.max(0.0))
}

/// The parts of a range of keys whose rates are added up.
const PARTS: u64 = 64;

/// Returns the least number of false positives that a filter without false negatives can expect
/// among the first occurrences after the first `from` keys, up to the first `to` keys: the sum of
/// [`min_fpr`] over the number of keys stored before each of them.
///
/// The sum is taken in parts, each with the rate at its start. That is at most the exact sum.
pub fn min_false_positives(memory_bits: f64, from: u64, to: u64) -> f64 {
    let keys = to.saturating_sub(from);
    let at = |part: u64| from + (u128::from(keys) * u128::from(part) / u128::from(PARTS)) as u64;
    (0..PARTS)
        .map(|part| (at(part), at(part + 1)))
        .filter(|&(start, end)| start > 0 && end > start)
        .map(|(start, end)| (end - start) as f64 * min_fpr(memory_bits / start as f64))
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_false_positives_are_a_sum_of_rates() {
        // One rate per key while there are at most as many keys as parts.
        let exact: f64 = (1..50).map(|keys| min_fpr(100.0 / f64::from(keys))).sum();
        assert!((min_false_positives(100.0, 0, 50) - exact).abs() < 1e-12);
        let exact: f64 = (1000..9000)
            .map(|keys| min_fpr(20_000.0 / f64::from(keys)))
            .sum();
        let sum = min_false_positives(20_000.0, 1000, 9000);
        assert!(sum <= exact && sum > 0.95 * exact, "{sum} of {exact}");
        assert_eq!(min_false_positives(100.0, 7, 7), 0.0);
        assert_eq!(min_false_positives(0.0, u64::MAX - 10, u64::MAX), 10.0);
    }

    #[test]
    fn the_two_functions_are_inverse() {
        assert_eq!(min_bits(1000.0, 0.25), 2000.0);
        for bits in [0.5, 1.0, 8.0] {
            let back = min_bits(1.0, min_fpr(bits));
            assert!((back - bits).abs() < 1e-12);
        }
        assert_eq!(min_bits(1000.0, 1.0), 0.0);
    }

    /// With 3.58 bits per key the bound is 8.4 %, and the rate of a Bloom filter,
    /// (1/2)^(ln 2 · 3.58), is 17.9 %.
    #[test]
    fn a_bloom_filter_is_above_the_bound() {
        let bits = 3.58;
        let bloom = libm::exp2(-core::f64::consts::LN_2 * bits);
        assert!(min_fpr(bits) < bloom);
        assert!((min_fpr(bits) - 0.0836).abs() < 1e-4);
    }
}
