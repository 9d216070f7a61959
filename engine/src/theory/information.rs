//! The bound that no filter beats.
//!
//! To tell n keys from all others with no repeat missed and a share ε of new keys dropped
//! takes n·log₂(1/ε) bits, whatever the filter (Carter, Floyd, Gill, Markowsky, Wegman,
//! "Exact and approximate membership testers", 1978). A Bloom filter of the best k needs
//! 1.44 times as many.

/// The least bits for `keys` keys at an FPR, with an FNR of 0.
pub fn least_bits(keys: f64, fpr: f64) -> f64 {
    keys * -libm::log2(fpr.clamp(f64::MIN_POSITIVE, 1.0))
}

/// The least FPR with so many bits a key, at an FNR of 0.
pub fn least_fpr(bits_a_key: f64) -> f64 {
    libm::exp2(-bits_a_key.max(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_two_are_inverse() {
        assert_eq!(least_bits(1000.0, 0.25), 2000.0);
        for bits in [0.5, 1.0, 8.0] {
            let back = least_bits(1.0, least_fpr(bits));
            assert!((back - bits).abs() < 1e-12);
        }
        assert_eq!(least_bits(1000.0, 1.0), 0.0);
    }

    /// 3.58 bits a key, averaged over a stream in which all of 15 % keys come: the FPR at
    /// the end of the stream is 8.4 %, and a Bloom filter's (1/2)^(ln 2 · 3.58) is 17.9 %.
    #[test]
    fn a_bloom_filter_is_above_it() {
        let bits = 3.58;
        let bloom = libm::exp2(-core::f64::consts::LN_2 * bits);
        assert!(least_fpr(bits) < bloom);
        assert!((least_fpr(bits) - 0.0836).abs() < 1e-4);
    }
}
