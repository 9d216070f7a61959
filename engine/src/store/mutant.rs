//! Known bugs, to be planted by the crash laboratory, which must find them.
//!
//! Without the feature `mutants` none of this exists: [`planted`] is then always false.

/// A bug that a store of this kind could have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Mutant {
    /// The other log is started although the active image still needs it.
    LogReusedTooEarly,
    /// The mark stays where it was when the store was opened.
    MarkNotMoved,
    /// The mark moves before the log is synced.
    MarkBeforeSync,
    /// What was replayed is not written again.
    NoRewriteOfLog,
    /// The superblock that was chosen is not written again.
    NoRewriteOfSuperblock,
    /// Recovery does not sync the logs.
    NoSyncOfRecoveredLog,
    /// Checksums do not know where they belong.
    ChecksumWithoutPlace,
    /// The superblock may reach the disk before the blocks.
    NoSyncBeforeSuperblock,
    /// The superblock may not reach the disk before the next checkpoint.
    NoSyncAfterSuperblock,
    /// The old superblock may stay valid while its image is overwritten.
    NoSyncAfterInvalidation,
    /// The old superblock stays valid while its image is overwritten.
    NoInvalidation,
    /// The log's new header may not reach the disk.
    NoSyncOfLogHeader,
    /// Observations are acknowledged although the log was not synced.
    NoSyncOfLog,
    /// Only the current log is synced, not the end of the one before.
    NoSyncOfOlderLog,
    /// Observations are acknowledged before the log is synced.
    AcknowledgedBeforeSync,
    /// Blocks change before they are saved.
    NoCopyBeforeChange,
    /// A log is not told from one of the same epoch that a crash undid.
    LogHeaderWithoutIncarnation,
    /// The header of a torn frame stays in the log.
    GhostNotBuried,
    /// The log before a checkpoint may not reach the disk.
    NoSyncOfLogAtCheckpoint,
    /// A frame need not follow the one before it.
    ChainNotChecked,
    /// Every life of the store writes the same frames.
    IncarnationNotCounted,
    /// Any bad frame is taken for a torn tail.
    RotTakenForTornTail,
    /// The older of two images is chosen.
    OldestImageChosen,
    /// Blocks are not checked.
    BlocksNotChecked,
    /// Frames are not checked.
    FramesNotChecked,
    /// The superblock is not checked.
    SuperblockNotChecked,
    /// After a failure the store goes on.
    NotPoisoned,
    /// No frame says that the next log goes on.
    NoSwitchFrame,
}

impl Mutant {
    /// Every one of them.
    pub const ALL: [Mutant; 28] = [
        Mutant::LogReusedTooEarly,
        Mutant::MarkNotMoved,
        Mutant::MarkBeforeSync,
        Mutant::NoRewriteOfLog,
        Mutant::NoRewriteOfSuperblock,
        Mutant::NoSyncOfRecoveredLog,
        Mutant::ChecksumWithoutPlace,
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
        Mutant::GhostNotBuried,
        Mutant::NoSyncOfLogAtCheckpoint,
        Mutant::ChainNotChecked,
        Mutant::IncarnationNotCounted,
        Mutant::RotTakenForTornTail,
        Mutant::OldestImageChosen,
        Mutant::BlocksNotChecked,
        Mutant::FramesNotChecked,
        Mutant::SuperblockNotChecked,
        Mutant::NotPoisoned,
        Mutant::NoSwitchFrame,
    ];
}

#[cfg(feature = "mutants")]
mod planting {
    use std::cell::Cell;

    use super::Mutant;

    thread_local! {
        static PLANTED: Cell<Option<Mutant>> = const { Cell::new(None) };
    }

    /// Plants a bug in this thread's stores, or takes it out.
    pub fn plant(mutant: Option<Mutant>) {
        PLANTED.set(mutant);
    }

    /// Whether this bug is planted.
    pub fn planted(mutant: Mutant) -> bool {
        PLANTED.get() == Some(mutant)
    }
}

#[cfg(feature = "mutants")]
pub use planting::{plant, planted};

/// Whether this bug is planted: never, in a program that people use.
#[cfg(not(feature = "mutants"))]
#[inline(always)]
pub const fn planted(_: Mutant) -> bool {
    false
}
