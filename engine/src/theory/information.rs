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

#[cfg(test)]
mod tests {
    use super::*;

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
