//! BSBFSD: a partitioned Bloom filter that clears one bit in all for every key it adds.
//!
//! **Promises** neither rate. Both errors happen. It forgets k times more slowly than BSBF,
//! so it misses fewer repeats and drops more new keys.
//!
//! **Pick it** to compare with the literature. Where the number of distinct keys is
//! bounded, a plain Bloom filter with the best k beats this family on *both* rates in 15 of
//! the 24 settings that its paper publishes.
//!
//! **How.** k parts of s bits. With k = 2 and s = 8: key `a` has the position 5 in the
//! first part and 1 in the second. One of them is clear, so `a` is New. First one part is
//! drawn, say the second, and in it a bit, say 7, which is cleared; then 5 and 1 are set.
//! A Seen key changes nothing.
//!
//! **Paper.** Bera, Dutta, Narang, Bhattacherjee, "Advanced Bloom Filter Based
//! Algorithms for Efficient Approximate Data De-Duplication in Streams", 2012,
//! Algorithm 3. It prints DISTINCT and DUPLICATE swapped (taken literally it never
//! inserts); we read it the other way round, which reproduces its tables. As the parts are
//! of one size, a random part and a random bit in it are a random bit of all: one draw.

use super::Registers;
use super::descriptor::{Citation, Descriptor, Errs, Kind, Needs, Parameter};
use super::drawing::Drawing;
use super::in_parts::{Clearing, InParts};
use super::parts::Parts;
use crate::fingerprint::reduce;

/// The geometry of a BSBFSD.
pub type Bsbfsd = InParts<OneInAll>;

/// A random bit of any part, whether it is set or not.
#[derive(Clone, Copy, Debug)]
pub struct OneInAll;

impl Clearing for OneInAll {
    const DESCRIPTOR: Descriptor = Descriptor {
        name: "bsbfsd",
        title: "Biased sampling based Bloom filter with single deletion",
        summary: "Clears a random bit in one of k parts for a new key, then sets one in each.",
        promise: "Neither error rate is bounded; it forgets k times more slowly than bsbf.",
        choose_when: "To compare with its paper: a plain Bloom filter with the best k beats this \
                      family on both rates in 15 of the paper's 24 settings.",
        errs: Errs::Both,
        needs: Needs {
            tick: false,
            importance: false,
        },
        source: Citation {
            authors: "S. K. Bera, S. Dutta, A. Narang, S. Bhattacherjee",
            title: "Advanced Bloom Filter Based Algorithms for Efficient Approximate Data \
                    De-Duplication in Streams",
            year: 2012,
        },
        drawing: Drawing {
            before: &["#..#..|.#..#."],
            after: &["#..##.|.##..."],
            caption: "A new key clears one random bit in all, then sets its own in each part.",
        },
        parameters: &[Parameter {
            name: "k",
            meaning: "parts, and bits set for each key",
            kind: Kind::Integer {
                min: 1,
                max: 32,
                default: 2,
            },
        }],
    };

    #[inline(always)]
    fn victims(_: &Parts) -> u64 {
        1
    }

    #[inline(always)]
    fn victim(parts: &Parts, _: &Registers, _: u64, draw: u64) -> Option<u64> {
        Some(reduce(draw, parts.bits()))
    }
}
