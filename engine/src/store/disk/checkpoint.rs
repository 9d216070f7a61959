//! Writing a frozen region into the other image.
//!
//! 1. [`prepare`]: the other image's superblock is made invalid, and the other log ready,
//!    unless the active image still needs that log.
//! 2. The writer ends the log with a switch frame and freezes (in the store).
//! 3. [`Checkpoint::write_some`]: every block goes to the image. The writer saves a block
//!    before it first changes it: to the thread that writes, or itself if there is none.
//! 4. [`Checkpoint::finish`]: table, sync, superblock, sync.
//!
//! **Invariant:** the active image and every log it needs stay untouched throughout.

use std::io;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::handover::{Copies, Handover};
use crate::store::error::StoreError;
use crate::store::image::{block_checksum, table_checksum};
use crate::store::layout::{BLOCK_BYTES, SUPERBLOCK_BYTES};
use crate::store::live::{Frozen, Saving};
use crate::store::log::LogWriter;
use crate::store::medium::{Medium, StoreFile};
use crate::store::mutant::{Mutant, planted};
use crate::store::superblock::Superblock;

/// A block's length in memory.
const BLOCK: usize = BLOCK_BYTES as usize;
/// How many blocks the thread writes at a time: a call to the system costs as much as
/// copying one.
const BLOCKS_A_WRITE: usize = 32;
/// How much of the region may be on its way to the thread that writes: a share, and no more
/// than stays in a processor's cache.
const HANDOVER_SHARE: usize = 16;
const MAX_HANDOVER_BYTES: usize = 2 << 20;

/// Makes the other image and, where it may, the other log ready. Returns whether the log
/// can be switched.
pub fn prepare(
    medium: &impl Medium,
    active: &Superblock,
    current_epoch: u64,
    incarnation: u32,
) -> Result<bool, StoreError> {
    let target = StoreFile::image(active.generation + 1);
    if !planted(Mutant::NoInvalidation) {
        medium
            .write(target, 0, &[0; SUPERBLOCK_BYTES as usize])
            .map_err(|error| StoreError::on_file("write", target, error))?;
    }
    if !planted(Mutant::NoSyncAfterInvalidation) {
        medium
            .sync(target)
            .map_err(|error| StoreError::on_file("sync", target, error))?;
    }
    let other_log_is_free = active.log.epoch == current_epoch || planted(Mutant::LogReusedTooEarly);
    if other_log_is_free {
        LogWriter::start_next(medium, &active.store_id, current_epoch + 1, incarnation)?;
    }
    Ok(other_log_is_free)
}

/// A checkpoint between the freeze and its end.
pub struct Checkpoint {
    /// What the new image will be; its table checksum and time are filled in at the end.
    next: Superblock,
    frozen: Arc<Frozen>,
    checksums: Box<[AtomicU32]>,
    /// How many blocks have been written in order.
    written: AtomicU64,
    /// Blocks that the writer has saved, if a thread writes.
    handover: Option<Handover>,
    /// The first failure of a write that had nobody to tell.
    failure: Mutex<Option<io::Error>>,
}

impl Checkpoint {
    /// Of a frozen region; `by_thread` says whether another thread than the writer's will
    /// [write](Checkpoint::write_some) it.
    pub fn new(next: Superblock, frozen: Arc<Frozen>, by_thread: bool) -> Self {
        let blocks = next.layout.blocks() as usize;
        let capacity = (blocks * BLOCK / HANDOVER_SHARE).min(MAX_HANDOVER_BYTES);
        Checkpoint {
            next,
            frozen,
            checksums: (0..blocks).map(|_| AtomicU32::new(0)).collect(),
            written: AtomicU64::new(0),
            handover: by_thread.then(|| Handover::new(capacity)),
            failure: Mutex::new(None),
        }
    }

    /// How many blocks there are to write.
    pub fn blocks(&self) -> u64 {
        self.next.layout.blocks()
    }

    /// What the writer saves blocks to before it changes them.
    pub fn saving<'a, M: Medium>(&'a self, medium: &'a M) -> impl Saving + use<'a, M> {
        Saver {
            checkpoint: self,
            medium,
        }
    }

    /// Writes blocks that follow each other as they were at the freeze. Only the region's
    /// last block may be short.
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

    /// Writes blocks of full length that follow each other.
    fn write_run(&self, medium: &impl Medium, first: u64, bytes: &[u8]) -> io::Result<()> {
        for (block, bytes) in (first..).zip(bytes.chunks_exact(BLOCK)) {
            let checksum = block_checksum(&self.next.store_id, self.next.generation, block, bytes);
            self.checksums[block as usize].store(checksum, Ordering::Relaxed);
        }
        let offset = self.next.layout.block_offset(first);
        medium.write(self.next.file(), offset, bytes)
    }

    /// Writes up to `count` more blocks; true when all are written.
    pub fn write_some(&self, medium: &impl Medium, count: u64) -> Result<bool, StoreError> {
        let from = self.written.load(Ordering::Relaxed);
        let to = from.saturating_add(count).min(self.blocks());
        // Whatever happens, the writer is not left waiting.
        let _closing = self.handover.as_ref().map(Handover::closing);
        self.write_blocks(medium, from..to)
            .map_err(|error| StoreError::on_file("write", self.next.file(), error))?;
        self.written.store(to, Ordering::Relaxed);
        Ok(to == self.blocks())
    }

    /// Writes the blocks of a range: those that the writer has not saved as they are met,
    /// and what it has handed over in between.
    fn write_blocks(&self, medium: &impl Medium, blocks: std::ops::Range<u64>) -> io::Result<()> {
        let mut sweep = vec![0; BLOCKS_A_WRITE.min(self.blocks() as usize) * BLOCK];
        let mut handed = Copies::default();
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
                self.write_handed(medium, &mut handed)?;
            }
        }
        // What is saved is handed over first: when all are saved, nothing comes any more.
        self.write_handed(medium, &mut handed)
    }

    fn write_handed(&self, medium: &impl Medium, copies: &mut Copies) -> io::Result<()> {
        let Some(handover) = &self.handover else {
            return Ok(());
        };
        while handover.take(copies) {
            for (first, bytes) in copies.runs() {
                self.write_saved(medium, first, bytes)?;
            }
        }
        Ok(())
    }

    /// Makes the image whole and durable, then valid. Every block has been written.
    pub fn finish(&self, medium: &impl Medium) -> Result<Superblock, StoreError> {
        let file = self.next.file();
        let failed = |operation| move |error| StoreError::on_file(operation, file, error);
        let mut failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(error) = failure.take() {
            return Err(StoreError::on_file("write", file, error));
        }
        let checksums = self.checksums.iter();
        let table: Vec<u8> = checksums
            .flat_map(|checksum| checksum.load(Ordering::Relaxed).to_le_bytes())
            .collect();
        let layout = self.next.layout;
        medium
            .write(file, layout.table_offset(), &table)
            .map_err(failed("write"))?;
        // The log up to the freeze, too: should this superblock rot one day, the image
        // before it leads to the same state.
        for log in [StoreFile::Log0, StoreFile::Log1] {
            if planted(Mutant::NoSyncOfLogAtCheckpoint) {
                break;
            }
            medium
                .sync(log)
                .map_err(|error| StoreError::on_file("sync", log, error))?;
        }
        if !planted(Mutant::NoSyncBeforeSuperblock) {
            medium.sync(file).map_err(failed("sync"))?;
        }
        let mut superblock = self.next.clone();
        superblock.table_checksum = table_checksum(&superblock, &table);
        superblock.unix_seconds = medium.unix_seconds();
        medium
            .write(file, 0, &superblock.encode()?)
            .map_err(failed("write"))?;
        if !planted(Mutant::NoSyncAfterSuperblock) {
            medium.sync(file).map_err(failed("sync"))?;
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
        if let Some(handover) = &self.checkpoint.handover {
            handover.wait_for_room(bytes);
        }
    }

    fn save(&mut self, first: u64, bytes: &[u8]) {
        if let Some(handover) = &self.checkpoint.handover {
            return handover.put(first, bytes);
        }
        if let Err(error) = self.checkpoint.write_saved(self.medium, first, bytes) {
            let failure = &self.checkpoint.failure;
            let mut failure = failure.lock().unwrap_or_else(PoisonError::into_inner);
            failure.get_or_insert(error);
        }
    }
}
