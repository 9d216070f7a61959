//! Writing a frozen region into the other image.
//!
//! 1. [`prepare`] invalidates the other image's superblock and writes the other log's header,
//!    unless the active image still needs that log.
//! 2. The writer ends the log with a switch frame and freezes the region (in `checkpointing`).
//! 3. [`Checkpoint::write_some`] writes every used block to the image. The writer saves a block
//!    before it first changes it: it hands it to the checkpoint thread, or writes it itself if
//!    there is no thread.
//! 4. [`Checkpoint::finish`] writes the table, syncs, writes the superblock, and syncs.
//!
//! **Invariant:** the active image and every log it needs are never changed.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::block_queue::{BlockQueue, Copies};
use super::concurrency::{AtomicU32, AtomicU64, Mutex, lock};
use super::live_region::{Frozen, Saving};
use super::progress::Progress;
use crate::store::error::StoreError;
use crate::store::file_access::FileAccess;
use crate::store::format::image::{block_checksum, entries_of, table_checksum};
use crate::store::format::layout::{BLOCK_BYTES, SUPERBLOCK_BYTES};
use crate::store::format::superblock::Superblock;
use crate::store::log::LogWriter;
use crate::store::medium::{Medium, StoreFile};
use crate::store::mutant::{Mutant, planted};

/// The length of a block in memory.
const BLOCK: usize = BLOCK_BYTES as usize;
/// The number of blocks per write. A system call costs as much as copying one block.
const BLOCKS_PER_WRITE: usize = 32;
/// The queue to the checkpoint thread holds this fraction of the region, and no more than fits
/// into a processor's cache.
const QUEUE_FRACTION: usize = 16;
const MAX_QUEUE_BYTES: usize = 2 << 20;

/// Prepares the other image and, if the active image does not need it, the other log. Returns
/// whether the log can be switched.
pub fn prepare(
    medium: &impl Medium,
    active: &Superblock,
    current_epoch: u64,
    incarnation: u32,
) -> Result<bool, StoreError> {
    let target = StoreFile::image(active.generation + 1);
    if !planted(Mutant::NoInvalidation) {
        medium.write_at(target, 0, &[0; SUPERBLOCK_BYTES as usize])?;
    }
    if !planted(Mutant::NoSyncAfterInvalidation) {
        medium.sync_file(target)?;
    }
    let other_log_is_free = active.log.epoch == current_epoch || planted(Mutant::LogReusedTooEarly);
    if other_log_is_free {
        LogWriter::start_next(medium, &active.store_id, current_epoch + 1, incarnation)?;
    }
    Ok(other_log_is_free)
}

/// A checkpoint that is being written.
pub struct Checkpoint {
    /// The superblock of the new image, without its table checksum and time.
    next: Superblock,
    frozen: Arc<Frozen>,
    checksums: Box<[AtomicU32]>,
    /// The block at which [`write_some`](Checkpoint::write_some) continues.
    written: AtomicU64,
    /// Blocks that the writer has saved for the checkpoint thread, if there is one.
    queue: Option<BlockQueue>,
    /// The first error of a write in [`Saver::save`], which cannot return it.
    failure: Mutex<Option<io::Error>>,
}

impl Checkpoint {
    /// Starts to write a frozen region. `by_thread` says whether the checkpoint thread calls
    /// [`write_some`](Checkpoint::write_some), not the writer.
    pub fn new(next: Superblock, frozen: Arc<Frozen>, by_thread: bool) -> Self {
        let blocks = next.layout.blocks() as usize;
        let capacity = (blocks * BLOCK / QUEUE_FRACTION).min(MAX_QUEUE_BYTES);
        Checkpoint {
            next,
            frozen,
            checksums: (0..blocks).map(|_| AtomicU32::new(0)).collect(),
            written: AtomicU64::new(0),
            queue: by_thread.then(|| BlockQueue::new(capacity)),
            failure: Mutex::new(None),
        }
    }

    /// Returns the number of blocks to write.
    pub fn blocks(&self) -> u64 {
        self.next.layout.blocks()
    }

    /// Returns what saves blocks for the writer before it changes them.
    pub fn saving<'a, M: Medium>(&'a self, medium: &'a M) -> impl Saving + use<'a, M> {
        Saver {
            checkpoint: self,
            medium,
        }
    }

    /// Writes a run of adjacent blocks. The region's last block may be short.
    fn write_saved(&self, medium: &impl Medium, first: u64, bytes: &[u8]) -> io::Result<()> {
        let (whole, rest) = bytes.split_at(bytes.len() / BLOCK * BLOCK);
        if !whole.is_empty() {
            self.write_run(medium, first, whole)?;
        }
        if !rest.is_empty() {
            let mut padded = [0; BLOCK];
            padded[..rest.len()].copy_from_slice(rest);
            let last = first + (whole.len() / BLOCK) as u64;
            self.write_run(medium, last, &padded)?;
        }
        Ok(())
    }

    /// Writes a run of adjacent blocks of full length.
    fn write_run(&self, medium: &impl Medium, first: u64, bytes: &[u8]) -> io::Result<()> {
        for (block, bytes) in (first..).zip(bytes.chunks_exact(BLOCK)) {
            let checksum = block_checksum(&self.next.store_id, self.next.generation, block, bytes);
            self.checksums[block as usize].store(checksum, Ordering::Relaxed);
        }
        let offset = self.next.layout.block_offset(first);
        medium.write(self.next.file(), offset, bytes)
    }

    /// Writes up to `count` more blocks. Returns true when all are written.
    pub fn write_some(&self, medium: &impl Medium, count: u64) -> Result<bool, StoreError> {
        // Even if this fails, the writer must not wait for the queue.
        let _guard = self.queue.as_ref().map(BlockQueue::close_on_drop);
        let mut left = count;
        for run in self.next.used().runs() {
            let from = self.written.load(Ordering::Relaxed).max(run.start);
            let to = from.saturating_add(left).min(run.end);
            if from < to {
                self.write_blocks(medium, from..to)
                    .map_err(|error| StoreError::on_file("write", self.next.file(), error))?;
                self.written.store(to, Ordering::Relaxed);
                left -= to - from;
            }
            if to < run.end {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Writes the blocks of a range that the writer has not saved, and in between the blocks
    /// of the queue.
    fn write_blocks(&self, medium: &impl Medium, blocks: std::ops::Range<u64>) -> io::Result<()> {
        let mut sweep = vec![0; BLOCKS_PER_WRITE.min(self.blocks() as usize) * BLOCK];
        let mut queued = Copies::default();
        let mut held = 0;
        let end = blocks.end;
        for block in blocks {
            let copy = &mut sweep[held..held + BLOCK];
            copy[self.next.layout.block_range(block).len()..].fill(0);
            let taken = self.frozen.take(block, copy);
            if taken {
                held += BLOCK;
            }
            let last = held == sweep.len() || block + 1 == end;
            if held > 0 && (last || !taken) {
                let after = block + u64::from(taken);
                self.write_run(medium, after - (held / BLOCK) as u64, &sweep[..held])?;
                held = 0;
            }
            if held == 0 {
                self.write_queued(medium, &mut queued)?;
            }
        }
        // The writer queues a block before it marks it as saved. All blocks are saved now, so
        // nothing more will be queued.
        self.write_queued(medium, &mut queued)
    }

    fn write_queued(&self, medium: &impl Medium, copies: &mut Copies) -> io::Result<()> {
        let Some(queue) = &self.queue else {
            return Ok(());
        };
        while queue.take(copies) {
            for (first, bytes) in copies.runs() {
                self.write_saved(medium, first, bytes)?;
            }
        }
        Ok(())
    }

    /// Completes the image, makes it durable, then valid. Every block must have been written.
    pub fn finish<M: Medium>(&self, progress: &Progress<M>) -> Result<Superblock, StoreError> {
        let (file, medium) = (self.next.file(), &progress.medium);
        if let Some(error) = lock(&self.failure).take() {
            return Err(StoreError::on_file("write", file, error));
        }
        let checksums = self.checksums.iter();
        let table: Vec<u8> = checksums
            .flat_map(|checksum| checksum.load(Ordering::Relaxed).to_le_bytes())
            .collect();
        let layout = self.next.layout;
        for run in self.next.used().runs() {
            let entries = entries_of(&run);
            if !entries.is_empty() {
                let offset = layout.table_offset() + entries.start as u64;
                medium.write_at(file, offset, &table[entries])?;
            }
        }
        // The logs too: if this superblock becomes corrupt, the previous image must still lead
        // to the same state.
        if !planted(Mutant::NoSyncOfLogAtCheckpoint) {
            progress.sync_logs()?;
        }
        if !planted(Mutant::NoSyncBeforeSuperblock) {
            medium.sync_file(file)?;
        }
        let mut superblock = self.next.clone();
        superblock.table_checksum = table_checksum(&superblock, &table);
        superblock.unix_seconds = medium.unix_seconds();
        medium.write_at(file, 0, &superblock.encode()?)?;
        if !planted(Mutant::NoSyncAfterSuperblock) {
            medium.sync_file(file)?;
        }
        Ok(superblock)
    }
}

/// See [`Checkpoint::saving`].
struct Saver<'a, M> {
    checkpoint: &'a Checkpoint,
    medium: &'a M,
}

impl<M: Medium> Saving for Saver<'_, M> {
    fn make_room(&mut self, bytes: usize) {
        if let Some(queue) = &self.checkpoint.queue {
            queue.wait_for_room(bytes);
        }
    }

    fn save(&mut self, first: u64, bytes: &[u8]) {
        if let Some(queue) = &self.checkpoint.queue {
            return queue.put(first, bytes);
        }
        if let Err(error) = self.checkpoint.write_saved(self.medium, first, bytes) {
            lock(&self.checkpoint.failure).get_or_insert(error);
        }
    }
}
