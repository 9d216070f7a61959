//! Streaming quotient filters by Map-Reduce (Dutta et al., 2013, §5.3).
//!
//! A stream is processed block by block. In a block, every key has a position:
//!
//! 1. **split**: the block is divided among the map workers.
//! 2. **map**: each key becomes an [entry](RowEntry): row, signature and position.
//! 3. **combine**: of the entries of one map worker with the same row and signature, the one with
//!    the lowest position is kept. The others are repeats.
//! 4. **route**: entries go to the reduce worker that has their row.
//! 5. **reduce**: again the lowest position per row and signature is kept. The kept entries are
//!    observed in stream order, each with the random draw of its position in the stream.
//!
//! All phases are functions of their arguments, and what passes between them has a form in bytes,
//! so that a cluster can run each of them wherever it likes.
//!
//! **What it promises.** Verdicts and states depend neither on the number of workers nor on the
//! order in which shards and entries arrive. Positions exist only within a block; the state has
//! none that could be taken for those of the next block.
//!
//! **Where it differs from the sequential filter.** If a row overwrites a signature within a block,
//! and the signature occurs again later in the same block, then the sequential filter has forgotten
//! it and answers New, and stores it again. Map-Reduce answers Seen, because it compares the two
//! occurrences with each other. From there on the row may differ. All other rows have the same
//! verdicts and the same bytes. So it misses fewer repeats; the longer the block, the fewer. At
//! blocks of one key, or if no row is ever full, it is equal to the sequential filter.

use std::ops::Range;

use super::partition_error::PartitionError;
use super::row_entry::RowEntry;
use super::row_partitions::{RowPartition, RowPartitions, check_position};
use crate::filter::Verdict;
use crate::fingerprint::Fingerprint;

/// The result of the combine phase.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Combined {
    /// The first entry per row and signature, sorted.
    pub first: Vec<RowEntry>,
    /// The positions of the others: repeats.
    pub repeats: Vec<u32>,
}

/// The result of the reduce phase: positions by verdict, in no particular order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reduced {
    /// The positions of new keys.
    pub new: Vec<u32>,
    /// The positions of repeats.
    pub repeats: Vec<u32>,
}

/// Divides `count` keys among workers as evenly as possible. Without workers there are no ranges.
pub fn split_evenly(count: usize, workers: usize) -> impl Iterator<Item = Range<usize>> {
    let bound = move |index: usize| (index as u128 * count as u128 / workers as u128) as usize;
    (0..workers).map(move |index| bound(index)..bound(index + 1))
}

/// Keeps the entry with the lowest position per row and signature. The order of the entries does
/// not matter.
pub fn combine(mut entries: Vec<RowEntry>) -> Combined {
    entries.sort_unstable();
    let mut combined = Combined::default();
    for entry in entries {
        match combined.first.last() {
            Some(last) if last.is_same_key(&entry) => combined.repeats.push(entry.position),
            _ => combined.first.push(entry),
        }
    }
    combined
}

impl RowPartitions {
    /// Map phase: turns keys at successive positions of a block into entries.
    pub fn map(&self, fingerprints: &[Fingerprint], first_position: u32) -> Vec<RowEntry> {
        let positions = first_position..=u32::MAX;
        let entry = |(&fingerprint, position)| {
            let (row, signature) = self.row_and_signature(fingerprint);
            RowEntry {
                row,
                // The number of signatures is a u16.
                signature: signature as u16,
                position,
            }
        };
        fingerprints.iter().zip(positions).map(entry).collect()
    }

    /// Divides entries by the partition that has their row.
    pub fn route(&self, entries: &[RowEntry]) -> Vec<Vec<RowEntry>> {
        let mut routed = vec![Vec::new(); self.count()];
        for &entry in entries {
            // A row that does not exist is refused by the last partition.
            let index = self.partition_of_row(entry.row).min(self.count() - 1);
            routed[index].push(entry);
        }
        routed
    }

    /// Reduce phase: decides about the entries of a block that belong to this partition, from any
    /// number of map workers, combined or not, in any order. Every partition must be called for
    /// every block, also without entries. If this fails, the partition is unchanged.
    pub fn reduce(
        &self,
        partition: &mut RowPartition,
        entries: Vec<RowEntry>,
        block_length: u32,
    ) -> Result<Reduced, PartitionError> {
        let most = self.max_signature();
        for &RowEntry {
            row,
            signature,
            position,
        } in &entries
        {
            self.check(partition, row)?;
            check_position(position, block_length)?;
            if !(1..=most).contains(&u32::from(signature)) {
                return Err(PartitionError::Signature { signature, most });
            }
        }
        let Combined { mut first, repeats } = combine(entries);
        // Rows are independent; within a row, the order must be that of the stream.
        first.sort_unstable_by_key(|entry| entry.position);
        let verdicts = first.iter().map(|entry| {
            let signature = u32::from(entry.signature);
            self.observe_row(partition, entry.position, entry.row, signature)
        });
        let verdicts: Vec<Verdict> = verdicts.collect();
        self.end_block(partition, &verdicts, block_length);
        let mut reduced = Reduced {
            new: Vec::new(),
            repeats,
        };
        for (entry, verdict) in first.iter().zip(verdicts) {
            match verdict {
                Verdict::New => reduced.new.push(entry.position),
                Verdict::Seen => reduced.repeats.push(entry.position),
            }
        }
        Ok(reduced)
    }
}

/// Runs all phases over a block, one worker after the other. `partitions` are all of them, in
/// order. A block has fewer than 2³² keys.
pub fn observe_block(
    plan: &RowPartitions,
    partitions: &mut [RowPartition],
    fingerprints: &[Fingerprint],
    map_workers: usize,
) -> Result<Vec<Verdict>, PartitionError> {
    let length = fingerprints.len();
    let block_length = u32::try_from(length).map_err(|_| PartitionError::BlockLength { length })?;
    plan.check_all(partitions)?;
    let mut routed = vec![Vec::new(); plan.count()];
    for shard in split_evenly(fingerprints.len(), map_workers.max(1)) {
        let first_position = shard.start as u32;
        let combined = combine(plan.map(&fingerprints[shard], first_position));
        for (all, some) in routed.iter_mut().zip(plan.route(&combined.first)) {
            all.extend(some);
        }
    }
    let mut verdicts = vec![Verdict::Seen; fingerprints.len()];
    for (partition, entries) in partitions.iter_mut().zip(routed) {
        let reduced = plan.reduce(partition, entries, block_length)?;
        for position in reduced.new {
            verdicts[position as usize] = Verdict::New;
        }
    }
    Ok(verdicts)
}
