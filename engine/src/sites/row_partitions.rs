//! The rows of a streaming quotient filter, divided among workers (Dutta et al., 2013, §5.2).
//!
//! **What it promises.** If every worker observes the keys of its rows in stream order, verdicts,
//! bytes and registers are those of one sequential filter, however many workers there are.
//!
//! **Why.** An observation of [`sqf`](crate::filter::Sqf) reads and writes one row. If the row is
//! full, one random draw selects the victim, and every observation of the stream consumes exactly
//! one draw. Draw number *n* of the generator can be computed without the others, so a worker that
//! knows a key's position in the stream knows the key's draw. The paper instead stores the position
//! of each element in its bucket, because its workers process elements out of order. Then positions
//! must be cleared between blocks, and an element whose bucket is overwritten within its block is
//! never reported. With rows in stream order neither problem exists, and no memory is spent.
//!
//! **Example.** 3,500 rows of 16 bits and two workers: the first has the rows 0–1727 in the bytes
//! 0–3455 of the region, the second has the rest. Observation 5 of a block goes to the owner of its
//! row together with the number 5; the other worker only learns the length of the block.
//!
//! `dsqf` cannot be divided like this: its rows share one pool of buckets and one order of use, so
//! a partition with a pool of its own gives other verdicts.

use std::ops::Range;

use super::partition_error::PartitionError;
use crate::filter::{AnyFilter, Filter, FilterSpec, Registers, Sqf, Verdict};
use crate::fingerprint::Fingerprint;

/// Partitions start at a multiple of so many rows. Then they start at a byte, and each has the
/// eight bytes that packed cells need.
const ROW_GROUP: u64 = 64;

/// How the rows of a streaming quotient filter are divided among workers.
#[derive(Clone, Debug)]
pub struct RowPartitions {
    filter: Sqf,
    /// The first row of each partition, and the number of rows.
    bounds: Vec<u64>,
}

/// The state of one worker: the bytes of its rows, and registers.
///
/// In the registers, the generator and the number of observations are those of the whole stream.
/// The other words count only these rows. All of it can be sent to another process:
/// [`bytes`](RowPartition::bytes) and [`Registers::to_bytes`] are the whole state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowPartition {
    pub(super) index: usize,
    pub(super) bytes: Vec<u8>,
    pub(super) registers: Registers,
}

impl RowPartitions {
    /// Divides the rows of a filter `sqf` into partitions of about the same size.
    pub fn new(spec: &FilterSpec, memory_bits: u64, count: usize) -> Result<Self, PartitionError> {
        let AnyFilter::Sqf(filter) = AnyFilter::build(spec, memory_bits)? else {
            let filter = spec.to_string();
            return Err(PartitionError::OtherFilter { filter });
        };
        let rows = filter.rows();
        let groups = (rows / ROW_GROUP).max(1);
        if !(1..=groups).contains(&(count as u64)) {
            return Err(PartitionError::Count {
                rows,
                most: groups,
                requested: count,
            });
        }
        let mut bounds: Vec<u64> = (0..count as u128)
            .map(|index| (index * u128::from(groups) / count as u128) as u64 * ROW_GROUP)
            .collect();
        bounds.push(rows);
        Ok(RowPartitions { filter, bounds })
    }

    /// Returns the number of partitions.
    pub fn count(&self) -> usize {
        self.bounds.len() - 1
    }

    /// Returns the rows of a partition. An index that does not exist has none.
    pub fn rows(&self, index: usize) -> Range<u64> {
        match self.bounds.get(index..index.saturating_add(2)) {
            Some(bounds) => bounds[0]..bounds[1],
            None => 0..0,
        }
    }

    /// Returns the bytes of a partition in the region of the whole filter.
    pub fn bytes(&self, index: usize) -> Range<usize> {
        let rows = self.rows(index);
        let end = match rows.end == self.filter.rows() {
            true => self.filter.region_bytes() as usize,
            false => self.filter.bytes_of_rows(rows.end),
        };
        self.filter.bytes_of_rows(rows.start)..end
    }

    /// Returns the row and the signature of a key.
    pub(super) fn row_and_signature(&self, fingerprint: Fingerprint) -> (u64, u32) {
        self.filter.row_and_signature(fingerprint)
    }

    /// Returns the largest signature.
    pub(super) fn max_signature(&self) -> u32 {
        self.filter.max_signature()
    }

    /// Returns the partition that has a row.
    pub(super) fn partition_of_row(&self, row: u64) -> usize {
        self.bounds.partition_point(|&start| start <= row) - 1
    }

    /// Returns the partition that observes a key.
    pub fn partition_of(&self, fingerprint: Fingerprint) -> usize {
        self.partition_of_row(self.row_and_signature(fingerprint).0)
    }

    /// Returns the partitions of an empty filter with a seed.
    pub fn empty(&self, seed: u64) -> Vec<RowPartition> {
        let partition = |index| RowPartition {
            index,
            bytes: vec![0; self.bytes(index).len()],
            registers: Registers::new(seed),
        };
        (0..self.count()).map(partition).collect()
    }

    /// Divides the state of a filter.
    pub fn split(
        &self,
        region: &[u8],
        registers: &Registers,
    ) -> Result<Vec<RowPartition>, PartitionError> {
        let expected = self.filter.region_bytes() as usize;
        if region.len() != expected {
            return Err(PartitionError::Length {
                index: 0,
                expected,
                found: region.len(),
            });
        }
        let partition = |index| {
            let bytes = region[self.bytes(index)].to_vec();
            let rows = self.rows(index);
            let mut registers = registers.clone();
            self.filter
                .recount_rows(&bytes, rows.end - rows.start, &mut registers);
            // The first partition carries the count of the stream so far.
            if index > 0 {
                registers.set_new_count(0);
            }
            RowPartition {
                index,
                bytes,
                registers,
            }
        };
        Ok((0..self.count()).map(partition).collect())
    }

    /// Fails unless these are all partitions, in order, after the same blocks.
    pub(super) fn check_all(&self, partitions: &[RowPartition]) -> Result<(), PartitionError> {
        if partitions.len() != self.count() {
            return Err(PartitionError::Missing {
                expected: self.count(),
                found: partitions.len(),
            });
        }
        let indices = partitions.iter().map(|partition| partition.index);
        if let Some((expected, index)) = indices.enumerate().find(|(at, index)| at != index) {
            return Err(PartitionError::Order { index, expected });
        }
        let observations = |partition: &RowPartition| partition.registers.observations();
        let first = partitions.first().map_or(0, observations);
        match partitions.iter().find(|it| observations(it) != first) {
            None => Ok(()),
            Some(other) => Err(PartitionError::Position {
                index: other.index,
                expected: first,
                found: observations(other),
            }),
        }
    }

    /// Unites the partitions, in order, into the state of one filter.
    pub fn join(
        &self,
        partitions: &[RowPartition],
    ) -> Result<(Vec<u8>, Registers), PartitionError> {
        self.check_all(partitions)?;
        let bytes = partitions.iter().map(|it| it.bytes.as_slice());
        let region = bytes.collect::<Vec<_>>().concat();
        let mut joined = partitions[0].registers.clone();
        for partition in &partitions[1..] {
            let own = &partition.registers;
            joined.set_new_count(joined.new_count() + own.new_count());
            Sqf::add_rows(&mut joined, own);
        }
        Ok((region, joined))
    }

    /// Observes the keys of a block that belong to this partition, in stream order. Each comes with
    /// its position in the block. Every partition must be called for every block, also without
    /// keys, because the length of the block moves its generator. If this fails, the partition is
    /// unchanged.
    pub fn observe(
        &self,
        partition: &mut RowPartition,
        keys: &[(u32, Fingerprint)],
        block_length: u32,
    ) -> Result<Vec<Verdict>, PartitionError> {
        let mut previous = None;
        for &(position, fingerprint) in keys {
            self.check(partition, self.row_and_signature(fingerprint).0)?;
            check_position(position, block_length)?;
            if let Some(previous) = previous.replace(position)
                && previous >= position
            {
                return Err(PartitionError::StreamOrder { position, previous });
            }
        }
        let verdicts = keys.iter().map(|&(position, fingerprint)| {
            let (row, signature) = self.row_and_signature(fingerprint);
            self.observe_row(partition, position, row, signature)
        });
        let verdicts = verdicts.collect::<Vec<_>>();
        self.end_block(partition, &verdicts, block_length);
        Ok(verdicts)
    }

    /// Fails if a partition does not have a row.
    pub(super) fn check(&self, partition: &RowPartition, row: u64) -> Result<(), PartitionError> {
        let index = partition.index;
        match self.rows(index).contains(&row) {
            true => Ok(()),
            false => Err(PartitionError::WrongRow { row, index }),
        }
    }

    /// Observes a signature in a row of this partition, with the draw of its position.
    pub(super) fn observe_row(
        &self,
        partition: &mut RowPartition,
        position: u32,
        row: u64,
        signature: u32,
    ) -> Verdict {
        let draws = u64::from(position) * self.filter.draws();
        let generator = partition.registers.generator().ahead(draws);
        let row = row - self.rows(partition.index).start;
        self.filter.observe_in_row(
            &mut partition.bytes[..],
            &mut partition.registers,
            generator,
            row,
            signature,
        )
    }

    /// Counts a block and moves the generator past it.
    pub(super) fn end_block(
        &self,
        partition: &mut RowPartition,
        verdicts: &[Verdict],
        block_length: u32,
    ) {
        let new = verdicts.iter().filter(|verdict| verdict.is_new()).count() as u64;
        let draws = self.filter.draws();
        (partition.registers).count_block(u64::from(block_length), new, draws);
    }

    /// Returns a partition from the bytes that another process has sent.
    pub fn resume(
        &self,
        index: usize,
        bytes: Vec<u8>,
        registers: Registers,
    ) -> Result<RowPartition, PartitionError> {
        if index >= self.count() {
            let count = self.count();
            return Err(PartitionError::Unknown { index, count });
        }
        let (expected, found) = (self.bytes(index).len(), bytes.len());
        match expected == found {
            true => Ok(RowPartition {
                index,
                bytes,
                registers,
            }),
            false => Err(PartitionError::Length {
                index,
                expected,
                found,
            }),
        }
    }
}

/// Fails if a position is outside its block.
pub(super) fn check_position(position: u32, length: u32) -> Result<(), PartitionError> {
    match position < length {
        true => Ok(()),
        false => Err(PartitionError::OutsideBlock { position, length }),
    }
}

impl RowPartition {
    /// Returns which partition this is.
    pub fn index(&self) -> usize {
        self.index
    }

    /// Returns the bytes of its rows.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns its registers.
    pub fn registers(&self) -> &Registers {
        &self.registers
    }
}
