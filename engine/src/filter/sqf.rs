//! SQF, the streaming quotient filter: a row of a few tiny signatures for each quotient.
//!
//! **Promises** neither rate on real keys. A new key is dropped if a key of its row has its
//! signature; a repeat is missed if its signature was overwritten.
//!
//! **Pick it** to compare with the literature. Its paper reports rates near zero because the
//! keys were the numbers from 0 and a key was its own fingerprint: a row then has all the
//! keys that can ever come to it and stores them exactly. On keys that are hashed, the same
//! memory drops a third of the new keys where a plain Bloom filter drops a sixteenth.
//!
//! **How.** A key's fingerprint is a row and a remainder of r bits. With r = 2, rr = 1 and
//! k = 2, a key of row 5 has the remainder 10: the high bit 1 and one bit set is its
//! signature. No bucket of row 5 has it, so the key is New, and it is put into an empty
//! bucket, or over a random one if there is none. A Seen key changes nothing.
//!
//! **Paper.** Dutta, Narang, Bera, "Streaming Quotient Filter: A Near Optimal Approximate
//! Duplicate Detection Approach for Data Streams", 2013, Algorithm 1. It gives an empty
//! bucket no state of its own; then either the signature 0 counts as met before it came, or
//! a quarter of the repeats is lost. Here empty is a value more, so a bucket for r = 2 and
//! rr = 1 takes three bits instead of two. Rows need not be a power of two.
//! `fingerprint=identity` reproduces the paper's tables and works on numbers only.

use super::descriptor::{Citation, Descriptor, Errs, Kind, Needs, Parameter};
use super::drawing::Drawing;
use super::signature::{REDUCED_REMAINDER, REMAINDER, Signatures};
use super::{
    Anatomy, BuildError, Evidence, Filter, FilterSpec, Observation, Place, Registers, Verdict,
};
use crate::bytes::Cells;
use crate::fingerprint::{Fingerprint, reduce};
use crate::prefetch::prefetch;
use crate::region::Region;
use crate::rng::Generator;

/// The geometry of an SQF.
#[derive(Clone, Debug)]
pub struct Sqf {
    signatures: Signatures,
    cells: Cells,
    rows: u64,
    k: u64,
    identity: bool,
}

/// The filter's own register: over all buckets, how many remainders share the signature.
const REMAINDERS_HELD: usize = 0;

/// Where in a row a signature is, or would go.
enum Search {
    Held,
    Empty(u64),
    Full,
}

impl Sqf {
    /// The first bucket of a key's row, and its signature.
    #[inline(always)]
    fn locate(&self, fingerprint: Fingerprint) -> (u64, u32) {
        let (row, remainder) = match self.identity {
            true => {
                let quotient = fingerprint.0 >> self.signatures.remainder_bits();
                let remainder = fingerprint.0 & (self.signatures.remainders() - 1);
                (quotient % self.rows, remainder)
            }
            false => {
                let mut probes = fingerprint.probes();
                let row = probes.next_below(self.rows);
                (row, probes.next_below(self.signatures.remainders()))
            }
        };
        (row * self.k, self.signatures.of(remainder))
    }

    /// Buckets fill in order and are never emptied: behind an empty one all are.
    #[inline(always)]
    fn search(&self, region: &[u8], first: u64, signature: u32) -> Search {
        for bucket in first..first + self.k {
            match self.cells.get(region, bucket) {
                0 => return Search::Empty(bucket),
                held if held == signature => return Search::Held,
                _ => {}
            }
        }
        Search::Full
    }
}

impl Filter for Sqf {
    const DESCRIPTOR: Descriptor = Descriptor {
        name: "sqf",
        title: "Streaming quotient filter",
        summary: "Keeps k tiny signatures a row; a new key goes to an empty bucket of its row or \
                  over a random one.",
        promise: "Neither error rate is bounded on hashed keys.",
        choose_when: "To compare with its paper, whose rates near zero hold only for keys that \
                      are their own fingerprints; on hashed keys a plain Bloom filter of the same \
                      size is better.",
        errs: Errs::Both,
        needs: Needs {
            tick: false,
            importance: false,
        },
        source: Citation {
            authors: "S. Dutta, A. Narang, S. K. Bera",
            title: "Streaming Quotient Filter: A Near Optimal Approximate Duplicate Detection \
                    Approach for Data Streams",
            year: 2013,
        },
        drawing: Drawing {
            before: &["ab..", "cfda", "d..."],
            after: &["ab..", "cxda", "d..."],
            caption: "A key has a row. A new key takes an empty bucket there or, if the row is \
                      full, a random one of the others'.",
        },
        parameters: &[
            REMAINDER,
            REDUCED_REMAINDER,
            Parameter {
                name: "k",
                meaning: "buckets a row",
                kind: Kind::Integer {
                    min: 1,
                    max: 32,
                    default: 4,
                },
            },
            Parameter {
                name: "fingerprint",
                meaning: "a hash of the key, or the key itself where keys are numbers: only in \
                          the laboratory, never in a store",
                kind: Kind::Choice {
                    options: &["hashed", "identity"],
                },
            },
        ],
    };

    fn build(spec: &FilterSpec, memory_bits: u64) -> Result<Self, BuildError> {
        let signatures = Signatures::build(spec)?;
        let cells = Cells::holding(signatures.count());
        let k = spec.integer("k");
        let row_bits = k * u64::from(cells.width_bits());
        if memory_bits < row_bits {
            return Err(BuildError::TooSmall {
                filter: spec.to_string(),
                memory_bits,
                minimum_bits: row_bits,
            });
        }
        Ok(Sqf {
            signatures,
            cells,
            rows: memory_bits / row_bits,
            k,
            identity: spec.is_choice("fingerprint", "identity"),
        })
    }

    fn region_bytes(&self) -> u64 {
        self.cells.bytes(self.cells())
    }

    fn cells(&self) -> u64 {
        self.rows * self.k
    }

    fn recount(&self, region: &[u8]) -> u64 {
        let in_use = (0..self.cells()).filter(|&bucket| self.cells.get(region, bucket) > 0);
        in_use.count() as u64
    }

    /// The signatures of a row are distinct, so the remainders that would be taken for one
    /// of them add up.
    fn drop_chance(&self, registers: &Registers) -> f64 {
        let all = self.rows as f64 * self.signatures.remainders() as f64;
        registers.own()[REMAINDERS_HELD] as f64 / all
    }

    fn lines_touched(&self) -> u32 {
        let row_bits = self.k * u64::from(self.cells.width_bits());
        row_bits.div_ceil(512) as u32
    }

    fn draws(&self) -> u64 {
        1
    }

    fn seen_leaves_no_trace(&self) -> bool {
        true
    }

    fn takes_numbers(&self) -> bool {
        self.identity
    }

    #[inline(always)]
    fn observe<R: Region + ?Sized>(
        &self,
        region: &mut R,
        registers: &mut Registers,
        generator: Generator,
        observation: Observation,
    ) -> Verdict {
        let (first, signature) = self.locate(observation.fingerprint);
        let mut held = registers.own()[REMAINDERS_HELD];
        let bucket = match self.search(region.bytes(), first, signature) {
            Search::Held => return Verdict::Seen,
            Search::Empty(bucket) => {
                *registers.occupied_mut() += 1;
                bucket
            }
            Search::Full => {
                let victim = first + reduce(generator.draw(0), self.k);
                let lost = self.cells.get(region.bytes(), victim);
                held -= self.signatures.shared_by(lost);
                victim
            }
        };
        self.cells.set(region, bucket, signature);
        registers.own_mut()[REMAINDERS_HELD] = held + self.signatures.shared_by(signature);
        Verdict::New
    }

    fn contains(&self, region: &[u8], _: &Registers, fingerprint: Fingerprint) -> Verdict {
        let (first, signature) = self.locate(fingerprint);
        match self.search(region, first, signature) {
            Search::Held => Verdict::Seen,
            Search::Empty(_) | Search::Full => Verdict::New,
        }
    }

    fn anatomy(&self) -> Anatomy {
        Anatomy {
            cell: "bucket",
            content: "signature",
            row: "row",
            row_cells: self.k,
            most: u64::from(self.signatures.count()),
            loss: "overwritten in its row by a newer key",
        }
    }

    fn cell(&self, region: &[u8], index: u64) -> u64 {
        u64::from(self.cells.get(region, index))
    }

    /// Up to the first empty bucket, as a search goes.
    fn evidence(&self, region: &[u8], fingerprint: Fingerprint) -> Evidence {
        let (first, signature) = self.locate(fingerprint);
        let width = self.cells.width_bits();
        let mut was_empty = false;
        let mut buckets = (first..first + self.k).map_while(|at| {
            let bucket = Place::read("bucket", at, at * u64::from(width), width, region);
            let came_to_the_end = std::mem::replace(&mut was_empty, bucket.value == 0);
            (!came_to_the_end).then_some(bucket)
        });
        Evidence::any_equal(first / self.k, u64::from(signature), &mut buckets)
    }

    #[inline(always)]
    fn prefetch(&self, region: &[u8], _: Generator, fingerprint: Fingerprint) {
        let (first, _) = self.locate(fingerprint);
        prefetch(region, self.cells.byte_of(first));
    }
}
