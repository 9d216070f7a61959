//! Mutants: bugs that the crash tests plant in the store and must find.
//!
//! Only with the feature `mutants`. Without it, [`planted`] is always false.

/// A bug that a store like this could have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Mutant {
    /// The other log is started although the active image still needs it.
    LogReusedTooEarly,
    /// The mark is not written after a sync.
    MarkNotMoved,
    /// The mark is written before the log is synced.
    MarkBeforeSync,
    /// Recovery does not rewrite the frames it replayed.
    NoRewriteOfLog,
    /// Recovery does not rewrite the superblock it chose.
    NoRewriteOfSuperblock,
    /// Recovery does not sync the logs.
    NoSyncOfRecoveredLog,
    /// Checksums do not cover the position of the data.
    ChecksumWithoutPosition,
    /// The superblock can reach the disk before the blocks.
    NoSyncBeforeSuperblock,
    /// The superblock is not synced at the end of a checkpoint.
    NoSyncAfterSuperblock,
    /// The old superblock is invalidated but not synced before its image is overwritten.
    NoSyncAfterInvalidation,
    /// The old superblock is not invalidated before its image is overwritten.
    NoInvalidation,
    /// The header of a new log is not synced.
    NoSyncOfLogHeader,
    /// Observations are acknowledged without a sync of the log.
    NoSyncOfLog,
    /// Only the current log is synced, not the end of the previous one.
    NoSyncOfOlderLog,
    /// Observations are acknowledged before the log is synced.
    AcknowledgedBeforeSync,
    /// Blocks change before they are saved.
    NoCopyBeforeChange,
    /// The header of a log does not distinguish it from one of the same epoch that a crash
    /// discarded.
    LogHeaderWithoutIncarnation,
    /// Recovery leaves the header of a torn frame in the log.
    StaleFrameNotErased,
    /// A checkpoint does not sync the logs.
    NoSyncOfLogAtCheckpoint,
    /// A frame is accepted without the checksum of the previous one.
    ChainNotChecked,
    /// The incarnation is not incremented when the store is opened.
    IncarnationNotCounted,
    /// Every bad frame is treated as a torn tail, even if it was durable.
    CorruptionTreatedAsTornTail,
    /// The older of two images is chosen.
    OldestImageChosen,
    /// The checksums of blocks are not checked.
    BlocksNotChecked,
    /// The checksums of frames are not checked.
    FramesNotChecked,
    /// The checksum of the superblock is not checked.
    SuperblockNotChecked,
    /// The store is not poisoned after a failure.
    NotPoisoned,
    /// The log is switched without a switch frame.
    NoSwitchFrame,
    /// After a switch, frames are stored into the window of the previous log.
    WindowOfOtherLog,
    /// The writer changes a block that the checkpoint thread is copying.
    NoWaitForCopy,
    /// The checkpoint thread copies a block after the writer may have changed it.
    CopyAfterRelease,
    /// The writer queues a block after the checkpoint thread may have looked for it last.
    QueuedAfterRelease,
    /// A frame counts as written when it is queued for the log thread.
    AppendedBeforeWritten,
    /// The log thread goes on after a write has failed.
    WrittenAfterFailure,
    /// A sync looks for the current log before it looks for the last frame.
    EpochsBeforeSequence,
    /// Who waits for durability is not woken by a sync.
    NoWakeAfterSync,
    /// Who waits for durability is not woken by a failure.
    NoWakeAfterFailure,
    /// Who waits for the log thread is not woken when a frame is written.
    NoWakeAfterWrite,
    /// A sleeping log thread is not woken when a frame is queued.
    NoWakeOfLogThread,
    /// The writer is not woken when the queue of blocks has room.
    NoWakeForRoom,
    /// The writer is not woken when the checkpoint thread has stopped.
    NoWakeAfterCheckpoint,
    /// A sync looks for a failure before it waits for the sync that may fail.
    CheckedBeforeLock,
    /// A checkpoint syncs the logs while another thread does, and consumes the error of the disk.
    CheckpointSyncsAlone,
    /// The sync thread still runs when a closed store syncs for the last time.
    SyncThreadOutlivesClose,
}

#[cfg(feature = "mutants")]
impl Mutant {
    /// Every mutant that does harm in one thread.
    pub const ALL: [Mutant; 29] = [
        Mutant::LogReusedTooEarly,
        Mutant::MarkNotMoved,
        Mutant::MarkBeforeSync,
        Mutant::NoRewriteOfLog,
        Mutant::NoRewriteOfSuperblock,
        Mutant::NoSyncOfRecoveredLog,
        Mutant::ChecksumWithoutPosition,
        Mutant::NoSyncBeforeSuperblock,
        Mutant::NoSyncAfterSuperblock,
        Mutant::NoSyncAfterInvalidation,
        Mutant::NoInvalidation,
        Mutant::NoSyncOfLogHeader,
        Mutant::NoSyncOfLog,
        Mutant::NoSyncOfOlderLog,
        Mutant::AcknowledgedBeforeSync,
        Mutant::NoCopyBeforeChange,
        Mutant::LogHeaderWithoutIncarnation,
        Mutant::StaleFrameNotErased,
        Mutant::NoSyncOfLogAtCheckpoint,
        Mutant::ChainNotChecked,
        Mutant::IncarnationNotCounted,
        Mutant::CorruptionTreatedAsTornTail,
        Mutant::OldestImageChosen,
        Mutant::BlocksNotChecked,
        Mutant::FramesNotChecked,
        Mutant::SuperblockNotChecked,
        Mutant::NotPoisoned,
        Mutant::NoSwitchFrame,
        Mutant::WindowOfOtherLog,
    ];

    /// Every mutant that does harm only in some interleavings of the store's threads.
    pub const CONCURRENT: [Mutant; 15] = [
        Mutant::NoWaitForCopy,
        Mutant::CopyAfterRelease,
        Mutant::QueuedAfterRelease,
        Mutant::AppendedBeforeWritten,
        Mutant::WrittenAfterFailure,
        Mutant::EpochsBeforeSequence,
        Mutant::NoWakeAfterSync,
        Mutant::NoWakeAfterFailure,
        Mutant::NoWakeAfterWrite,
        Mutant::NoWakeOfLogThread,
        Mutant::NoWakeForRoom,
        Mutant::NoWakeAfterCheckpoint,
        Mutant::CheckedBeforeLock,
        Mutant::CheckpointSyncsAlone,
        Mutant::SyncThreadOutlivesClose,
    ];
}

#[cfg(feature = "mutants")]
mod planting {
    use std::cell::Cell;

    use super::Mutant;

    thread_local! {
        static PLANTED: Cell<Option<Mutant>> = const { Cell::new(None) };
    }

    /// Plants a bug in the stores of this thread, or removes it.
    pub fn plant(mutant: Option<Mutant>) {
        PLANTED.set(mutant);
    }

    /// Returns whether this bug is planted.
    pub fn planted(mutant: Mutant) -> bool {
        PLANTED.get() == Some(mutant)
    }
}

#[cfg(feature = "mutants")]
pub use planting::{plant, planted};

/// Returns whether this bug is planted: never, without the feature `mutants`.
#[cfg(not(feature = "mutants"))]
#[inline(always)]
pub const fn planted(_: Mutant) -> bool {
    false
}
