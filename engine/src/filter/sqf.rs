//! SQF, the streaming quotient filter: a row of a few tiny signatures for each quotient.
//!
//! **Guarantee.** Neither error rate is bounded on real keys. A new key is reported as Seen if a
//! key of its row has the same signature; a repeat is reported as New if its signature was
//! overwritten.
//!
//! **When to use it.** To compare with the literature. The paper reports rates near zero because
//! its keys were the numbers from 0 and a key was its own fingerprint: a row then stores exactly
//! all keys that can ever belong to it. With hashed keys the same memory has a false positive rate
//! of a third where a plain Bloom filter has a sixteenth.
//!
//! **How it works.** The fingerprint of a key is a row and a remainder of r bits. With r = 2,
//! rr = 1 and k = 2, a key of row 5 has the remainder 10: its signature is the high bit 1 and the
//! number of ones, 1. No bucket of row 5 has this signature, so the key is New. It is stored in an
//! empty bucket, or in a random one if all are in use. A Seen key changes nothing.
//!
//! **Paper.** Dutta, Narang, Bera, "Streaming Quotient Filter: A Near Optimal Approximate
//! Duplicate Detection Approach for Data Streams", 2013, Algorithm 1.
//!
//! **Departures.** In the paper an empty bucket has no value of its own. Then either signature 0
//! is Seen before it has occurred, or a quarter of the repeats is lost. Here empty is one more
//! value, so with r = 2 and rr = 1 a bucket takes three bits instead of two. The number of rows
//! need not be a power of two. `fingerprint=identity` reproduces the paper's tables and works only
//! on keys that are numbers.

use super::citation::Citation;
use super::descriptor::{Descriptor, Needs, Origin, PossibleErrors};
use super::drawing::Drawing;
use super::parameter::Parameter;
use super::signature::{REDUCED_REMAINDER, REMAINDER, Signatures};
use super::union::in_turns;
use super::{
    BuildError, CellLayout, Evidence, EvidenceCell, Filter, FilterSpec, Observation, Registers,
    Rows, Verdict,
};
use crate::bytes::PackedCells;
use crate::fingerprint::{Fingerprint, reduce};
use crate::prefetch::prefetch;
use crate::region::Region;
use crate::rng::Generator;

/// The geometry of an SQF.
#[derive(Clone, Debug)]
pub struct Sqf {
    signatures: Signatures,
    cells: PackedCells,
    rows: u64,
    k: u64,
    identity: bool,
}

/// The filter's own register: the sum over all buckets of the number of remainders that share
/// the bucket's signature.
const REMAINDERS_HELD: usize = 0;

/// The result of searching a row for a signature.
enum Search {
    Found,
    /// Not found; this bucket is the first empty one.
    Empty(u64),
    /// Not found, and no bucket is empty.
    Full,
}

impl Sqf {
    /// Returns the number of rows.
    pub(crate) fn rows(&self) -> u64 {
        self.rows
    }

    /// Returns the number of buckets per row.
    pub(crate) fn k(&self) -> u64 {
        self.k
    }

    /// Returns the number of bits of a remainder, and how many of them are stored.
    pub(crate) fn remainder_bits(&self) -> (u32, u32) {
        (
            self.signatures.remainder_bits(),
            self.signatures.kept_bits(),
        )
    }

    /// Returns the largest signature; the smallest is 1.
    pub(crate) fn max_signature(&self) -> u32 {
        u32::from(self.signatures.count())
    }

    /// Returns the bytes that hold so many rows from the start of a region. Rows of a multiple of
    /// eight end at a byte.
    pub(crate) fn bytes_of_rows(&self, rows: u64) -> usize {
        (rows * self.k * u64::from(self.cells.width_bits())).div_ceil(8) as usize
    }

    /// Returns the first bucket of a key's row, and the key's signature.
    #[inline(always)]
    fn locate(&self, fingerprint: Fingerprint) -> (u64, u32) {
        let (row, signature) = self.row_and_signature(fingerprint);
        (row * self.k, signature)
    }

    /// Returns a key's row and signature: all that the filter uses of the key.
    #[inline(always)]
    pub(crate) fn row_and_signature(&self, fingerprint: Fingerprint) -> (u64, u32) {
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
        (row, self.signatures.of(remainder))
    }

    /// Stores a signature in a row unless the row has it. The bytes may be a part of the table:
    /// `row` counts from their start. Nothing outside the row is read or written, and one draw
    /// decides which bucket of a full row is replaced. So a row's content follows from its own
    /// history and from the draws of its own keys.
    #[inline(always)]
    pub(crate) fn observe_in_row<R: Region + ?Sized>(
        &self,
        region: &mut R,
        registers: &mut Registers,
        generator: Generator,
        row: u64,
        signature: u32,
    ) -> Verdict {
        let first = row * self.k;
        let mut held = registers.own()[REMAINDERS_HELD];
        let bucket = match self.search(region.bytes(), first, signature) {
            Search::Found => return Verdict::Seen,
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

    /// Counts the buckets in use among the first rows of these bytes, and sets what registers say
    /// about them.
    pub(crate) fn recount_rows(&self, region: &[u8], rows: u64, registers: &mut Registers) {
        let signatures = (0..rows * self.k).map(|bucket| self.cells.get(region, bucket));
        let in_use = signatures.filter(|&signature| signature != 0);
        let (occupied, held) = in_use.fold((0, 0), |(occupied, held), signature| {
            (occupied + 1, held + self.signatures.shared_by(signature))
        });
        *registers.occupied_mut() = occupied;
        registers.own_mut()[REMAINDERS_HELD] = held;
    }

    /// Adds what the registers of other rows say about them.
    pub(crate) fn add_rows(registers: &mut Registers, others: &Registers) {
        *registers.occupied_mut() += others.occupied();
        registers.own_mut()[REMAINDERS_HELD] += others.own()[REMAINDERS_HELD];
    }

    /// Buckets fill in order and are never emptied: all buckets after an empty one are empty.
    #[inline(always)]
    fn search(&self, region: &[u8], first: u64, signature: u32) -> Search {
        for bucket in first..first + self.k {
            match self.cells.get(region, bucket) {
                0 => return Search::Empty(bucket),
                held if held == signature => return Search::Found,
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
        summary: "Stores k tiny signatures per row; a new key takes an empty bucket of its row, or \
                  replaces a random one.",
        promise: "Neither error rate is bounded on hashed keys.",
        choose_when: "To compare with its paper, whose rates near zero hold only for keys that \
                      are their own fingerprints; on hashed keys a plain Bloom filter of the same \
                      size is better.",
        errors: PossibleErrors::Both,
        needs: Needs::NONE,
        origin: Origin::StreamPaper,
        source: Citation::DUTTA_2013,
        advised_because: Descriptor::FEWEST_ERRORS,
        drawing: Drawing {
            before: &["ab..", "cfda", "d..."],
            after: &["ab..", "cxda", "d..."],
            caption: "Each key has a row. A new key takes an empty bucket of its row or, if the row \
                      is full, replaces a random one.",
        },
        parameters: &[
            REMAINDER,
            REDUCED_REMAINDER,
            Parameter::integer("k", "buckets per row", 1..=32, 4),
            Parameter::choice(
                "fingerprint",
                "a hash of the key (hashed), or the key itself if keys are numbers (identity); \
                 stores refuse identity, it is only for simulations",
                &["hashed", "identity"],
            ),
        ],
    };

    const FORGETS: bool = true;
    const MERGES: bool = true;

    fn build(spec: &FilterSpec, memory_bits: u64) -> Result<Self, BuildError> {
        let signatures = Signatures::build(spec)?;
        let cells = PackedCells::holding(signatures.count());
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

    /// The signatures of a row are distinct, so the numbers of remainders that share them add
    /// up.
    fn false_positive_rate(&self, registers: &Registers) -> f64 {
        let all = self.rows as f64 * self.signatures.remainders() as f64;
        registers.own()[REMAINDERS_HELD] as f64 / all
    }

    fn cache_lines_touched(&self) -> u32 {
        let row_bits = self.k * u64::from(self.cells.width_bits());
        row_bits.div_ceil(512) as u32
    }

    fn draws(&self) -> u64 {
        1
    }

    fn seen_leaves_state_unchanged(&self) -> bool {
        true
    }

    fn requires_numeric_keys(&self) -> bool {
        self.identity
    }

    fn row_layout(&self) -> Option<Rows> {
        (!self.identity).then_some(Rows {
            count: self.rows,
            bits: self.k * u64::from(self.cells.width_bits()),
        })
    }

    #[inline(always)]
    fn observe<R: Region + ?Sized>(
        &self,
        region: &mut R,
        registers: &mut Registers,
        generator: Generator,
        observation: Observation,
    ) -> Verdict {
        self.observe_in_rows(region, 0, registers, generator, observation)
    }

    #[inline(always)]
    fn observe_in_rows<R: Region + ?Sized>(
        &self,
        region: &mut R,
        first_row: u64,
        registers: &mut Registers,
        generator: Generator,
        observation: Observation,
    ) -> Verdict {
        let (row, signature) = self.row_and_signature(observation.fingerprint);
        self.observe_in_row(region, registers, generator, row - first_row, signature)
    }

    fn contains(&self, region: &[u8], _: &Registers, fingerprint: Fingerprint) -> Verdict {
        let (first, signature) = self.locate(fingerprint);
        match self.search(region, first, signature) {
            Search::Found => Verdict::Seen,
            Search::Empty(_) | Search::Full => Verdict::New,
        }
    }

    fn cell_layout(&self) -> CellLayout {
        CellLayout {
            cell: "bucket",
            content: "signature",
            row: "row",
            row_cells: self.k,
            max_value: u64::from(self.signatures.count()),
            loss: "overwritten in its row by a newer key",
        }
    }

    fn cell(&self, region: &[u8], index: u64) -> u64 {
        u64::from(self.cells.get(region, index))
    }

    /// Returns the buckets up to the first empty one, where a search ends.
    fn evidence(&self, region: &[u8], _: &Registers, fingerprint: Fingerprint) -> Evidence {
        let (first, signature) = self.locate(fingerprint);
        let width = self.cells.width_bits();
        let mut was_empty = false;
        let mut buckets = (first..first + self.k).map_while(|at| {
            let bucket = EvidenceCell::read("bucket", at, at * u64::from(width), width, region);
            let after_an_empty_one = std::mem::replace(&mut was_empty, bucket.value == 0);
            (!after_an_empty_one).then_some(bucket)
        });
        Evidence::any_equal(first / self.k, u64::from(signature), &mut buckets)
    }

    /// Empties the bucket; the last bucket of the row in use takes its place. Every key with the
    /// same row and signature goes with it.
    fn forget<R: Region + ?Sized>(
        &self,
        region: &mut R,
        registers: &mut Registers,
        fingerprint: Fingerprint,
    ) -> Verdict {
        let (first, signature) = self.locate(fingerprint);
        let bytes = region.bytes();
        let held = (first..first + self.k).take_while(|&at| self.cells.get(bytes, at) != 0);
        let (mut found, mut last) = (None, first);
        for bucket in held {
            last = bucket;
            if self.cells.get(bytes, bucket) == signature {
                found = Some(bucket);
            }
        }
        let Some(found) = found else {
            return Verdict::New;
        };
        let moved = self.cells.get(bytes, last);
        self.cells.set(region, found, moved);
        self.cells.set(region, last, 0);
        *registers.occupied_mut() -= 1;
        registers.own_mut()[REMAINDERS_HELD] -= self.signatures.shared_by(signature);
        Verdict::Seen
    }

    /// Unites the signatures of each row: those of the two filters in turns, as many as there are
    /// buckets.
    fn merge(
        &self,
        region: &mut [u8],
        registers: &mut Registers,
        other: &[u8],
        other_registers: &Registers,
    ) -> Result<(), &'static str> {
        let row = |bytes: &[u8], row: u64| -> Vec<u32> {
            let buckets = row * self.k..(row + 1) * self.k;
            let held = buckets.map(|at| self.cells.get(bytes, at));
            held.filter(|&signature| signature != 0).collect()
        };
        let (mut united, mut occupied, mut held) = (Vec::new(), 0, 0);
        for number in 0..self.rows {
            let (one, more) = (row(region, number), row(other, number));
            in_turns(&one, &more, |signature| signature, &mut united);
            united.truncate(self.k as usize);
            occupied += united.len() as u64;
            for (bucket, &signature) in (number * self.k..).zip(&united) {
                self.cells.set(region, bucket, signature);
                held += self.signatures.shared_by(signature);
            }
        }
        *registers.occupied_mut() = occupied;
        registers.own_mut()[REMAINDERS_HELD] = held;
        registers.count_others(other_registers);
        Ok(())
    }

    #[inline(always)]
    fn prefetch(&self, region: &[u8], _: Generator, fingerprint: Fingerprint) {
        let (first, _) = self.locate(fingerprint);
        prefetch(region, self.cells.byte_of(first));
    }
}
