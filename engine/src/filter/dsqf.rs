//! DSQF, the dynamic SQF: rows take buckets from a shared pool.
//!
//! **Guarantee.** Neither error rate is bounded. A new key is reported as Seen if a key of its row
//! has the same signature; a repeat is reported as New if its bucket was taken by another row. The
//! least recently used rows lose their buckets first.
//!
//! **When to use it.** To compare with the literature. The links and the order of the rows take ten
//! times the memory of the signatures; a buffer of whole fingerprints has fewer errors.
//!
//! **How it works.** As [`Sqf`](super::Sqf), but a row is a chain of buckets. With a pool of three,
//! rows 5, 2 and again 5 took one bucket each. A new key of row 7 finds the pool empty. Row 2 is
//! the least recently used, so one of its buckets, chosen at random, moves to row 7; here it has
//! only one. A Seen key makes its row the most recently used.
//!
//! **Paper.** Dutta, Narang, Bera, "Streaming Quotient Filter: A Near Optimal Approximate
//! Duplicate Detection Approach for Data Streams", 2013, section 5.1.
//!
//! **Departures.** The paper stores the time of the last access of each row; a linked list finds
//! the least recently used row without a search. Only rows that have a bucket are in the list. A
//! key's own row counts as accessed before a bucket is taken. The number of rows need not be a
//! power of two. A row takes 12 bytes and a bucket 6.

use super::citation::Citation;
use super::descriptor::{Descriptor, Needs, Origin, PossibleErrors};
use super::drawing::Drawing;
use super::parameter::Parameter;
use super::recency_list::RecencyList;
use super::signature::{REDUCED_REMAINDER, REMAINDER, Signatures};
use super::{
    BuildError, CellLayout, Evidence, EvidenceCell, Filter, FilterSpec, Observation, Registers,
    Verdict,
};
use crate::bytes::{read_u16, read_u32, write_u16, write_u32};
use crate::fingerprint::{Fingerprint, reduce};
use crate::prefetch::prefetch;
use crate::region::Region;
use crate::rng::Generator;

/// The geometry of a DSQF. The rows come first in the region, then the pool of buckets.
#[derive(Clone, Debug)]
pub struct Dsqf {
    signatures: Signatures,
    rows: u32,
    k: u32,
    buckets: u32,
}

/// A row: the link to its first bucket, then the two links of the recency list.
const ROW_BYTES: usize = 12;
const RECENCY: usize = 4;
/// A bucket: the link to the next bucket of its row, then the signature.
const BUCKET_BYTES: usize = 6;
const SIGNATURE: usize = 4;
const MAX_BUCKETS: u64 = (1 << 32) - 2;

/// The first of the filter's own registers after those of the recency list: the sum over all
/// buckets of the number of remainders that share the bucket's signature.
const REMAINDERS_HELD: usize = RecencyList::REGISTERS;

impl Dsqf {
    /// Returns the number of rows.
    pub(crate) fn rows(&self) -> u32 {
        self.rows
    }

    /// Returns the average number of buckets per row.
    pub(crate) fn k(&self) -> u32 {
        self.k
    }

    /// Returns the number of bits of a remainder, and how many of them are stored.
    pub(crate) fn remainder_bits(&self) -> (u32, u32) {
        (
            self.signatures.remainder_bits(),
            self.signatures.kept_bits(),
        )
    }

    /// Returns a key's row and signature.
    #[inline(always)]
    fn locate(&self, fingerprint: Fingerprint) -> (u32, u32) {
        let mut probes = fingerprint.probes();
        let row = probes.next_below(u64::from(self.rows)) as u32;
        let remainder = probes.next_below(self.signatures.remainders());
        (row, self.signatures.of(remainder))
    }

    #[inline(always)]
    fn row_at(&self, row: u32) -> usize {
        row as usize * ROW_BYTES
    }

    #[inline(always)]
    fn bucket_at(&self, bucket: u32) -> usize {
        self.row_at(self.rows) + bucket as usize * BUCKET_BYTES
    }

    /// Returns the bucket of the link at a byte offset.
    #[inline(always)]
    fn linked_bucket(&self, region: &[u8], link_at: usize) -> Option<u32> {
        let link = read_u32(region, link_at);
        (1..=self.buckets).contains(&link).then(|| link - 1)
    }

    /// Returns the buckets of a row. In a damaged region a chain may be a ring; no chain is longer than
    /// the pool.
    #[inline(always)]
    fn chain(&self, region: &[u8], row: u32) -> impl Iterator<Item = u32> {
        let first = self.linked_bucket(region, self.row_at(row));
        let next = |&bucket: &u32| self.linked_bucket(region, self.bucket_at(bucket));
        std::iter::successors(first, next).take(self.buckets as usize)
    }

    fn recency(&self) -> RecencyList {
        RecencyList {
            first_byte: RECENCY,
            stride_bytes: ROW_BYTES,
            count: self.rows,
        }
    }

    #[inline(always)]
    fn holds(&self, region: &[u8], row: u32, signature: u32) -> bool {
        self.chain(region, row).any(|bucket| {
            let at = self.bucket_at(bucket);
            u32::from(read_u16(region, at + SIGNATURE)) == signature
        })
    }

    /// Takes a random bucket from the least recently used row.
    fn take_bucket<R: Region + ?Sized>(
        &self,
        region: &mut R,
        registers: &mut Registers,
        draw: u64,
    ) -> u32 {
        let row = self.recency().oldest(registers).unwrap_or(0);
        let length = self.chain(region.bytes(), row).count() as u64;
        let mut link_at = self.row_at(row);
        for _ in 0..reduce(draw, length) {
            if let Some(bucket) = self.linked_bucket(region.bytes(), link_at) {
                link_at = self.bucket_at(bucket);
            }
        }
        let taken = self.linked_bucket(region.bytes(), link_at).unwrap_or(0);
        let at = self.bucket_at(taken);
        let after = read_u32(region.bytes(), at);
        let lost = read_u16(region.bytes(), at + SIGNATURE);
        write_u32(region.bytes_mut(link_at..link_at + 4), 0, after);
        registers.own_mut()[REMAINDERS_HELD] -= self.signatures.shared_by(u32::from(lost));
        if length == 1 {
            self.recency().remove(region, registers, row);
        }
        taken
    }
}

impl Filter for Dsqf {
    const DESCRIPTOR: Descriptor = Descriptor {
        name: "dsqf",
        title: "Dynamic streaming quotient filter",
        summary: "Stores tiny signatures in one chain per row, with buckets from a shared pool; \
                  the least recently used row gives up a bucket.",
        promise: "Neither error rate is bounded; recently used rows keep their signatures.",
        choose_when: "To compare with its paper: its links take ten times the memory of its \
                      signatures.",
        errors: PossibleErrors::Both,
        needs: Needs::NONE,
        origin: Origin::StreamPaper,
        source: Citation::DUTTA_2013,
        advised_because: Descriptor::FEWEST_ERRORS,
        drawing: Drawing {
            before: &["ab..", "c...", "dea."],
            after: &["a...", "cx..", "dea."],
            caption: "Rows are chains of buckets from a shared pool. When the pool is empty, the \
                      least recently used row gives up a bucket.",
        },
        parameters: &[
            REMAINDER,
            REDUCED_REMAINDER,
            Parameter::integer("k", "average number of buckets per row", 1..=32, 4),
        ],
    };

    fn build(spec: &FilterSpec, memory_bits: u64) -> Result<Self, BuildError> {
        let signatures = Signatures::build(spec)?;
        let k = spec.integer("k");
        let row_bits = 8 * (ROW_BYTES as u64 + k * BUCKET_BYTES as u64);
        let rows = memory_bits / row_bits;
        if rows == 0 {
            return Err(BuildError::TooSmall {
                filter: spec.to_string(),
                memory_bits,
                minimum_bits: row_bits,
            });
        }
        if rows * k > MAX_BUCKETS {
            return Err(BuildError::TooLarge {
                filter: spec.to_string(),
                memory_bits,
                maximum_bits: MAX_BUCKETS / k * row_bits,
            });
        }
        Ok(Dsqf {
            signatures,
            rows: rows as u32,
            k: k as u32,
            buckets: (rows * k) as u32,
        })
    }

    fn region_bytes(&self) -> u64 {
        self.bucket_at(self.buckets) as u64
    }

    fn cells(&self) -> u64 {
        u64::from(self.buckets)
    }

    /// Counts the buckets that a chain leads to.
    fn recount(&self, region: &[u8]) -> u64 {
        let chains = (0..self.rows).flat_map(|row| self.chain(region, row));
        chains.take(self.buckets as usize).count() as u64
    }

    /// The signatures of a row are distinct, so the numbers of remainders that share them add
    /// up.
    fn false_positive_rate(&self, registers: &Registers) -> f64 {
        let all = f64::from(self.rows) * self.signatures.remainders() as f64;
        registers.own()[REMAINDERS_HELD] as f64 / all
    }

    /// The row, its two neighbours in the recency list and the newest row; the oldest row, its
    /// bucket and the row before it.
    fn cache_lines_touched(&self) -> u32 {
        7
    }

    fn draws(&self) -> u64 {
        1
    }

    fn seen_leaves_state_unchanged(&self) -> bool {
        false
    }

    #[inline(always)]
    fn observe<R: Region + ?Sized>(
        &self,
        region: &mut R,
        registers: &mut Registers,
        generator: Generator,
        observation: Observation,
    ) -> Verdict {
        let (row, signature) = self.locate(observation.fingerprint);
        let at = self.row_at(row);
        let held = self.holds(region.bytes(), row, signature);
        if self.linked_bucket(region.bytes(), at).is_some() {
            self.recency().touch(region, registers, row);
        }
        if held {
            return Verdict::Seen;
        }
        let bucket = match registers.occupied() < self.cells() {
            true => {
                *registers.occupied_mut() += 1;
                (registers.occupied() - 1) as u32
            }
            false => self.take_bucket(region, registers, generator.draw(0)),
        };
        let first = read_u32(region.bytes(), at);
        let bucket_at = self.bucket_at(bucket);
        let bytes = region.bytes_mut(bucket_at..bucket_at + BUCKET_BYTES);
        write_u32(bytes, 0, first);
        write_u16(bytes, SIGNATURE, signature as u16);
        write_u32(region.bytes_mut(at..at + 4), 0, bucket + 1);
        if first == 0 {
            self.recency().push_newest(region, registers, row);
        }
        registers.own_mut()[REMAINDERS_HELD] += self.signatures.shared_by(signature);
        Verdict::New
    }

    fn contains(&self, region: &[u8], _: &Registers, fingerprint: Fingerprint) -> Verdict {
        let (row, signature) = self.locate(fingerprint);
        Verdict::seen_if(self.holds(region, row, signature))
    }

    fn cell_layout(&self) -> CellLayout {
        CellLayout {
            cell: "bucket",
            content: "signature",
            row: "row",
            row_cells: self.cells(),
            max_value: u64::from(self.signatures.count()),
            loss: "taken for a newer key because its row was the least recently used",
        }
    }

    fn cell(&self, region: &[u8], index: u64) -> u64 {
        u64::from(read_u16(region, self.bucket_at(index as u32) + SIGNATURE))
    }

    fn evidence(&self, region: &[u8], _: &Registers, fingerprint: Fingerprint) -> Evidence {
        let (row, signature) = self.locate(fingerprint);
        let mut evidence = Evidence::any_equal(
            u64::from(row),
            u64::from(signature),
            &mut std::iter::empty(),
        );
        let mut at = self.row_at(row);
        let mut link = EvidenceCell::read("row", u64::from(row), 8 * at as u64, 32, region);
        // Bounded, because the chain of a damaged region may be a circle.
        for _ in 0..=self.buckets {
            evidence.links.push(link);
            let Some(bucket) = self.linked_bucket(region, at) else {
                break;
            };
            at = self.bucket_at(bucket);
            let (index, offset_bits) = (u64::from(bucket), 8 * at as u64);
            let signature_bits = offset_bits + 8 * SIGNATURE as u64;
            let cell = EvidenceCell::read("bucket", index, signature_bits, 16, region);
            evidence.alternatives.push(vec![cell]);
            link = EvidenceCell::read("link", index, offset_bits, 32, region);
        }
        evidence
    }

    /// Prefetches the row. The addresses of its buckets are known only when it has arrived.
    #[inline(always)]
    fn prefetch(&self, region: &[u8], _: Generator, fingerprint: Fingerprint) {
        prefetch(region, self.row_at(self.locate(fingerprint).0));
    }

    /// Prefetches the first bucket of the row, and the row's neighbours in the recency list.
    #[inline(always)]
    fn prefetch_dependent(
        &self,
        region: &[u8],
        _: &Registers,
        _: Generator,
        fingerprint: Fingerprint,
    ) {
        let (row, _) = self.locate(fingerprint);
        if let Some(bucket) = self.linked_bucket(region, self.row_at(row)) {
            prefetch(region, self.bucket_at(bucket));
            self.recency().prefetch_neighbours(region, row);
        }
    }
}
