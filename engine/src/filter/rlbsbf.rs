//! RLBSBF: a partitioned Bloom filter that forgets faster the fuller it is.
//!
//! **Promises** neither rate. Both errors happen; the load settles where bits are
//! cleared as fast as they are set, so it goes on working on an endless stream.
//!
//! **Pick it** to compare with the literature. Where the number of distinct keys is
//! bounded, a plain Bloom filter with the best k beats it on *both* rates in 15 of the
//! 24 settings that its paper publishes.
//!
//! **How.** k parts of s bits. With k = 1 and s = 8: key `a` has the position 5. It is
//! clear, so `a` is New. First a random bit is picked, say 2, and cleared with a chance
//! of load/s, here 0/8; then bit 5 is set and the load is 1. A Seen key changes nothing.
//!
//! **Paper.** Bera, Dutta, Narang, Bhattacherjee, "Advanced Bloom Filter Based
//! Algorithms for Efficient Approximate Data De-Duplication in Streams", 2012,
//! Algorithm 4. It prints DISTINCT and DUPLICATE swapped (taken literally it never
//! inserts); we read it the other way round, which reproduces its tables. One 64-bit
//! draw a part serves both the position and the chance: the high bits of draw × s are
//! the position, what remains is uniform and independent of it.

use super::Registers;
use super::descriptor::{Citation, Descriptor, Errs, Kind, Needs, Parameter};
use super::drawing::Drawing;
use super::in_parts::{Clearing, InParts};
use super::parts::Parts;
use crate::fingerprint::reduce;

/// The geometry of an RLBSBF. Its own registers are the loads of the parts, in bits.
pub type Rlbsbf = InParts<ByLoad>;

/// A random bit of each part, with a chance that is the part's load.
#[derive(Clone, Copy, Debug)]
pub struct ByLoad;

impl Clearing for ByLoad {
    const DESCRIPTOR: Descriptor = Descriptor {
        name: "rlbsbf",
        title: "Randomly load-balanced biased sampling Bloom filter",
        summary: "Sets a bit in each of k parts for a new key, clearing a random one with a \
                  chance equal to the part's load.",
        promise: "The load settles; neither error rate is bounded.",
        choose_when: "To compare with its paper: a plain Bloom filter with the best k is better on \
                      both rates in 15 of the paper's 24 settings.",
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
            after: &["##....|.#.##."],
            caption: "A new key sets a bit in each part. The fuller a part is, the likelier it \
                      first clears a random one: here the left part did.",
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
    fn victim(parts: &Parts, registers: &Registers, number: u64, draw: u64) -> Option<u64> {
        let threshold = reduce(draw.wrapping_mul(parts.span_bits), parts.span_bits);
        let position = parts.start(number) + reduce(draw, parts.span_bits);
        (threshold < registers.own()[number as usize]).then_some(position)
    }

    #[inline(always)]
    fn note(registers: &mut Registers, part: u64, change: i64) {
        let load = &mut registers.own_mut()[part as usize];
        *load = load.wrapping_add_signed(change);
    }

    fn drop_chance(parts: &Parts, registers: &Registers) -> f64 {
        let loads = &registers.own()[..parts.count() as usize];
        let share = |&load: &u64| load as f64 / parts.span_bits as f64;
        loads.iter().map(share).product()
    }
}
