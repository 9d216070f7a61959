//! DSQF, the dynamic SQF: rows that borrow buckets from one pool.
//!
//! **Promises** neither rate. A new key is dropped if a key of its row has its signature; a
//! repeat is missed if its bucket was taken away, and rows not asked for long lose theirs
//! first.
//!
//! **Pick it** to compare with the literature. Links and the order of rows take ten times
//! the memory of the signatures they lead to; a buffer of whole fingerprints errs less.
//!
//! **How.** As [`Sqf`](super::Sqf), but a row is a chain of buckets. With a pool of three:
//! rows 5, 2 and 5 again took one each. A new key of row 7 finds the pool empty; row 2 was
//! not asked for the longest, so a random one of its buckets, its only one, goes to row 7.
//! A Seen key makes its row the latest.
//!
//! **Paper.** Dutta, Narang, Bera, "Streaming Quotient Filter: A Near Optimal Approximate
//! Duplicate Detection Approach for Data Streams", 2013, section 5.1. It gives each row a
//! time of last access; a linked order finds the oldest row without a search. Only rows that
//! have a bucket are in it. A key's own row counts as accessed before a bucket is taken.
//! Rows need not be a power of two. A row takes 12 bytes and a bucket 6.

use super::descriptor::{Citation, Descriptor, Errs, Kind, Needs, Parameter};
use super::drawing::Drawing;
use super::recency::{AFTER_ORDER, Recency};
use super::signature::{REDUCED_REMAINDER, REMAINDER, Signatures};
use super::{
    Anatomy, BuildError, Evidence, Filter, FilterSpec, Observation, Place, Registers, Verdict,
};
use crate::bytes::{read_u16, read_u32, write_u16, write_u32};
use crate::fingerprint::{Fingerprint, reduce};
use crate::prefetch::prefetch;
use crate::region::Region;
use crate::rng::Generator;

/// The geometry of a DSQF: rows first, then the pool.
#[derive(Clone, Debug)]
pub struct Dsqf {
    signatures: Signatures,
    rows: u32,
    buckets: u32,
}

/// First bucket's link, then the two links of the order.
const ROW_BYTES: usize = 12;
const ORDER: usize = 4;
/// The link to the row's next bucket, then the signature.
const BUCKET_BYTES: usize = 6;
const SIGNATURE: usize = 4;
const MAX_BUCKETS: u64 = (1 << 32) - 2;

/// Of the filter's own registers, the first behind the order's: over all buckets, how many
/// remainders share the signature.
const REMAINDERS_HELD: usize = AFTER_ORDER;

impl Dsqf {
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

    /// The bucket that the link at a place leads to.
    #[inline(always)]
    fn bucket_behind(&self, region: &[u8], place: usize) -> Option<u32> {
        let link = read_u32(region, place);
        (1..=self.buckets).contains(&link).then(|| link - 1)
    }

    fn order(&self) -> Recency {
        Recency {
            first_byte: ORDER,
            stride_bytes: ROW_BYTES,
            count: self.rows,
        }
    }

    #[inline(always)]
    fn holds(&self, region: &[u8], row: u32, signature: u32) -> bool {
        let mut place = self.row_at(row);
        while let Some(bucket) = self.bucket_behind(region, place) {
            place = self.bucket_at(bucket);
            if u32::from(read_u16(region, place + SIGNATURE)) == signature {
                return true;
            }
        }
        false
    }

    /// Takes a random bucket from the row not accessed for the longest.
    fn take<R: Region + ?Sized>(
        &self,
        region: &mut R,
        registers: &mut Registers,
        draw: u64,
    ) -> u32 {
        let row = self.order().oldest(registers).unwrap_or(0);
        let mut length = 0;
        let mut place = self.row_at(row);
        while let Some(bucket) = self.bucket_behind(region.bytes(), place) {
            length += 1;
            place = self.bucket_at(bucket);
        }
        let mut place = self.row_at(row);
        for _ in 0..reduce(draw, length) {
            if let Some(bucket) = self.bucket_behind(region.bytes(), place) {
                place = self.bucket_at(bucket);
            }
        }
        let taken = self.bucket_behind(region.bytes(), place).unwrap_or(0);
        let at = self.bucket_at(taken);
        let after = read_u32(region.bytes(), at);
        let lost = read_u16(region.bytes(), at + SIGNATURE);
        write_u32(region.bytes_mut(place..place + 4), 0, after);
        registers.own_mut()[REMAINDERS_HELD] -= self.signatures.shared_by(u32::from(lost));
        if length == 1 {
            self.order().leave(region, registers, row);
        }
        taken
    }
}

impl Filter for Dsqf {
    const DESCRIPTOR: Descriptor = Descriptor {
        name: "dsqf",
        title: "Dynamic streaming quotient filter",
        summary: "Keeps tiny signatures in chains, one a row, out of one pool; the row not asked \
                  for the longest gives up a bucket.",
        promise: "Neither error rate is bounded; rows in use keep what they hold.",
        choose_when: "To compare with its paper: its links take ten times the memory of its \
                      signatures.",
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
            before: &["ab..", "c...", "dea."],
            after: &["a...", "cx..", "dea."],
            caption: "Rows are chains of buckets out of one pool. When the pool is empty, the row \
                      not asked for the longest gives one up.",
        },
        parameters: &[
            REMAINDER,
            REDUCED_REMAINDER,
            Parameter {
                name: "k",
                meaning: "buckets a row on average",
                kind: Kind::Integer {
                    min: 1,
                    max: 32,
                    default: 4,
                },
            },
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
            buckets: (rows * k) as u32,
        })
    }

    fn region_bytes(&self) -> u64 {
        self.bucket_at(self.buckets) as u64
    }

    fn cells(&self) -> u64 {
        u64::from(self.buckets)
    }

    /// Those that a chain leads to.
    fn recount(&self, region: &[u8]) -> u64 {
        let mut count = 0;
        for row in 0..self.rows {
            let mut place = self.row_at(row);
            while let Some(bucket) = self.bucket_behind(region, place) {
                count += 1;
                place = self.bucket_at(bucket);
            }
        }
        count
    }

    /// The signatures of a row are distinct, so the remainders that would be taken for one
    /// of them add up.
    fn drop_chance(&self, registers: &Registers) -> f64 {
        let all = f64::from(self.rows) * self.signatures.remainders() as f64;
        registers.own()[REMAINDERS_HELD] as f64 / all
    }

    /// The row, its neighbours in the order and the newest one; the oldest row, its bucket
    /// and the row before it.
    fn lines_touched(&self) -> u32 {
        7
    }

    fn draws(&self) -> u64 {
        1
    }

    fn seen_leaves_no_trace(&self) -> bool {
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
        if self.bucket_behind(region.bytes(), at).is_some() {
            self.order().renew(region, registers, row);
        }
        if held {
            return Verdict::Seen;
        }
        let bucket = match registers.occupied() < self.cells() {
            true => {
                *registers.occupied_mut() += 1;
                (registers.occupied() - 1) as u32
            }
            false => self.take(region, registers, generator.draw(0)),
        };
        let first = read_u32(region.bytes(), at);
        let bucket_at = self.bucket_at(bucket);
        let bytes = region.bytes_mut(bucket_at..bucket_at + BUCKET_BYTES);
        write_u32(bytes, 0, first);
        write_u16(bytes, SIGNATURE, signature as u16);
        write_u32(region.bytes_mut(at..at + 4), 0, bucket + 1);
        if first == 0 {
            self.order().enter(region, registers, row);
        }
        registers.own_mut()[REMAINDERS_HELD] += self.signatures.shared_by(signature);
        Verdict::New
    }

    fn contains(&self, region: &[u8], _: &Registers, fingerprint: Fingerprint) -> Verdict {
        let (row, signature) = self.locate(fingerprint);
        match self.holds(region, row, signature) {
            true => Verdict::Seen,
            false => Verdict::New,
        }
    }

    fn anatomy(&self) -> Anatomy {
        Anatomy {
            cell: "bucket",
            content: "signature",
            row: "row",
            row_cells: self.cells(),
            most: u64::from(self.signatures.count()),
            loss: "given up for a newer key, as its row was asked for the least recently",
        }
    }

    fn cell(&self, region: &[u8], index: u64) -> u64 {
        u64::from(read_u16(region, self.bucket_at(index as u32) + SIGNATURE))
    }

    fn evidence(&self, region: &[u8], fingerprint: Fingerprint) -> Evidence {
        let (row, signature) = self.locate(fingerprint);
        let mut evidence = Evidence::any_equal(
            u64::from(row),
            u64::from(signature),
            &mut std::iter::empty(),
        );
        let mut place = self.row_at(row);
        let mut link = Place::read("row", u64::from(row), 8 * place as u64, 32, region);
        // No chain is longer than the pool, unless the region is damaged.
        for _ in 0..=self.buckets {
            evidence.links.push(link);
            let Some(bucket) = self.bucket_behind(region, place) else {
                break;
            };
            place = self.bucket_at(bucket);
            let (index, offset_bits) = (u64::from(bucket), 8 * place as u64);
            let signature_bits = offset_bits + 8 * SIGNATURE as u64;
            let cell = Place::read("bucket", index, signature_bits, 16, region);
            evidence.ways.push(vec![cell]);
            link = Place::read("link", index, offset_bits, 32, region);
        }
        evidence
    }

    /// Only the row: where its buckets lie is known once it has come.
    #[inline(always)]
    fn prefetch(&self, region: &[u8], _: Generator, fingerprint: Fingerprint) {
        prefetch(region, self.row_at(self.locate(fingerprint).0));
    }

    /// The first of its buckets, and its neighbours in the order.
    #[inline(always)]
    fn prefetch_further(
        &self,
        region: &[u8],
        _: &Registers,
        _: Generator,
        fingerprint: Fingerprint,
    ) {
        let (row, _) = self.locate(fingerprint);
        if let Some(bucket) = self.bucket_behind(region, self.row_at(row)) {
            prefetch(region, self.bucket_at(bucket));
            self.order().prefetch_neighbours(region, row);
        }
    }
}
