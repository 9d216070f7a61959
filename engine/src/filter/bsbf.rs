//! BSBF: a partitioned Bloom filter that clears a bit in each part for every key it adds.
//!
//! **Promises** neither rate. Both errors happen; the load creeps up towards full, but ever
//! more slowly: as a part fills, more keys are taken for Seen and change nothing.
//!
//! **Pick it** to compare with the literature. Where the number of distinct keys is
//! bounded, a plain Bloom filter with the best k beats this family on *both* rates in 15 of
//! the 24 settings that its paper publishes.
//!
//! **How.** k parts of s bits. With k = 2 and s = 8: key `a` has the position 5 in the
//! first part and 1 in the second. One of them is clear, so `a` is New. First a random bit
//! of each part is cleared, say 2 and 7, whether it was set or not; then 5 and 1 are set.
//! A Seen key changes nothing.
//!
//! **Paper.** Bera, Dutta, Narang, Bhattacherjee, "Advanced Bloom Filter Based
//! Algorithms for Efficient Approximate Data De-Duplication in Streams", 2012,
//! Algorithm 2. It prints DISTINCT and DUPLICATE swapped (taken literally it never
//! inserts); we read it the other way round, which reproduces its tables.

use super::Registers;
use super::descriptor::{Citation, Descriptor, Errs, Kind, Needs, Parameter};
use super::drawing::Drawing;
use super::in_parts::{Clearing, InParts};
use super::parts::Parts;
use crate::fingerprint::reduce;

/// The geometry of a BSBF.
pub type Bsbf = InParts<OneInEachPart>;

/// A random bit of each part, whether it is set or not.
#[derive(Clone, Copy, Debug)]
pub struct OneInEachPart;

impl Clearing for OneInEachPart {
    const DESCRIPTOR: Descriptor = Descriptor {
        name: "bsbf",
        title: "Biased sampling based Bloom filter",
        summary: "Clears a random bit in each of k parts for a new key, then sets one in each.",
        promise: "Neither error rate is bounded; the load grows ever more slowly.",
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
            after: &["...##.|.##..."],
            caption: "A new key clears a random bit in each part, then sets its own.",
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
    fn victims(parts: &Parts) -> u64 {
        u64::from(parts.count())
    }

    #[inline(always)]
    fn victim(parts: &Parts, _: &Registers, number: u64, draw: u64) -> Option<u64> {
        Some(parts.start(number) + reduce(draw, parts.span_bits))
    }
}
