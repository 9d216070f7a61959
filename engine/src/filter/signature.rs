//! What a streaming quotient filter stores of a key: a signature shorter than a fingerprint.
//!
//! The remainder of a key has r bits. Its signature consists of the r' highest of them and of
//! the number of ones in all r bits. Given the high bits, that number says how many of the low
//! bits are set, from 0 to r − r'. So there are 2^r' · (r − r' + 1) signatures. They are numbered
//! from 1; 0 is an empty bucket.
//!
//! With r = 4 and r' = 2 the remainders 01|10 and 01|01 share a signature: the high bits 01 and
//! two ones in total. 01|11 has three ones and 01|00 has one; neither shares its signature.

use super::parameter::Parameter;
use super::{BuildError, FilterSpec};

const MAX_REMAINDER_BITS: usize = 16;

/// The parameter r.
pub(super) const REMAINDER: Parameter = Parameter::integer(
    "r",
    "bits of a key's remainder",
    2..=MAX_REMAINDER_BITS as u64,
    2,
);

/// The parameter r'.
pub(super) const REDUCED_REMAINDER: Parameter = Parameter::integer(
    "rr",
    "how many of these bits are stored, besides the number of ones; must be less than r",
    0..=12,
    1,
);

/// The signatures of remainders with r bits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Signatures {
    low_bits: u32,
    kept_bits: u32,
    /// The number of remainders that share a signature, by the number of ones in their low bits.
    shared_by: [u16; MAX_REMAINDER_BITS + 1],
}

impl Signatures {
    /// Reads the parameters `r` and `rr` of a spec.
    pub fn build(spec: &FilterSpec) -> Result<Self, BuildError> {
        let (r, kept) = (spec.integer("r"), spec.integer("rr"));
        if kept >= r {
            return Err(BuildError::Contradiction {
                filter: spec.to_string(),
                reason: "rr must be less than r",
            });
        }
        let low_bits = (r - kept) as u32;
        let mut shared_by = [0; MAX_REMAINDER_BITS + 1];
        shared_by[0] = 1;
        for _ in 0..low_bits {
            for ones in (1..=low_bits as usize).rev() {
                shared_by[ones] += shared_by[ones - 1];
            }
        }
        Ok(Signatures {
            low_bits,
            kept_bits: kept as u32,
            shared_by,
        })
    }

    /// Returns the number of signatures, which is also the largest.
    pub fn count(&self) -> u16 {
        (1 << self.kept_bits) * (self.low_bits as u16 + 1)
    }

    /// Returns r.
    pub fn remainder_bits(&self) -> u32 {
        self.low_bits + self.kept_bits
    }

    /// Returns r'.
    pub fn kept_bits(&self) -> u32 {
        self.kept_bits
    }

    /// Returns the number of remainders.
    pub fn remainders(&self) -> u64 {
        1 << self.remainder_bits()
    }

    /// Returns the signature of a remainder.
    #[inline(always)]
    pub fn of(&self, remainder: u64) -> u32 {
        let kept = (remainder >> self.low_bits) as u32;
        let low = remainder & ((1 << self.low_bits) - 1);
        1 + kept * (self.low_bits + 1) + low.count_ones()
    }

    /// Returns the number of remainders with this signature.
    #[inline(always)]
    pub fn shared_by(&self, signature: u32) -> u64 {
        let ones = signature.wrapping_sub(1) % (self.low_bits + 1);
        u64::from(self.shared_by[ones as usize])
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn a_signature_is_the_high_bits_and_the_number_of_ones() {
        for (r, kept) in [(2, 1), (4, 2), (5, 2), (3, 0), (16, 12), (16, 0)] {
            let spec = format!("sqf:r={r},rr={kept}").parse().expect("a filter");
            let signatures = Signatures::build(&spec).expect("valid");
            let mut pairs: BTreeMap<(u64, u32), Vec<u32>> = BTreeMap::new();
            for remainder in 0..1u64 << r {
                let pair = (remainder >> (r - kept), remainder.count_ones());
                let signature = signatures.of(remainder);
                assert!((1..=u32::from(signatures.count())).contains(&signature));
                pairs.entry(pair).or_default().push(signature);
            }
            assert_eq!(pairs.len(), usize::from(signatures.count()));
            let mut known = Vec::new();
            for same in pairs.values() {
                assert!(same.iter().all(|signature| *signature == same[0]));
                assert_eq!(signatures.shared_by(same[0]), same.len() as u64);
                assert!(!known.contains(&same[0]));
                known.push(same[0]);
            }
        }
    }

    #[test]
    fn rr_must_be_less_than_r() {
        let spec = "sqf:r=2,rr=2".parse().expect("a filter");
        let error = Signatures::build(&spec).expect_err("a contradiction");
        assert_eq!(
            error.to_string(),
            "sqf:r=2,rr=2,k=4,fingerprint=hashed: rr must be less than r"
        );
    }
}
