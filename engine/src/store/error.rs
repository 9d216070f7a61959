//! What can go wrong with a store, told apart.

use std::fmt;
use std::io;
#[cfg(not(target_family = "wasm"))]
use std::path::Path;
use std::path::PathBuf;

use super::medium::StoreFile;
use crate::seen_set::CreateError;

/// Why a store cannot be made, opened, or gone on with.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The path holds something else; it is never touched.
    #[error("{} is not a store: {reason}", path.display())]
    NotAStore {
        /// Where.
        path: PathBuf,
        /// What gave it away.
        reason: String,
    },
    /// There is something at the path already; it is never overwritten.
    #[error("{} exists already; choose another name, or open it", path.display())]
    AlreadyExists {
        /// Where.
        path: PathBuf,
    },
    /// Written by a version that this one cannot follow.
    #[error(
        "{file} was written in format version {found}; this program knows versions up to {supported}: use a newer one"
    )]
    NewerVersion {
        /// Which file says so.
        file: StoreFile,
        /// Its version.
        found: u32,
        /// The newest version known here.
        supported: u32,
    },
    /// Written with a feature that must be understood, and is not.
    #[error("{file} needs features {bits:#010x} that this program does not know: use a newer one")]
    UnknownFeatures {
        /// Which file says so.
        file: StoreFile,
        /// The bits not known here.
        bits: u32,
    },
    /// Another process writes to it.
    #[error("{} is in use by another process; one writer at a time (readers need no lock: try `dedupstore inspect`)", path.display())]
    InUse {
        /// Where.
        path: PathBuf,
    },
    /// The store is damaged, here.
    #[error(
        "{0}; run `dedupstore verify` for all findings and `dedupstore repair` to mend what can be mended"
    )]
    Corrupt(Damage),
    /// Repair is possible only with a loss; nothing was changed.
    #[error(
        "{} can be brought back up to observation {kept}, but then {lost} would be lost; nothing was changed. `dedupstore repair --accept-loss` goes on without them and keeps the damaged files beside", path.display()
    )]
    WouldLose {
        /// Where.
        path: PathBuf,
        /// Observations that can be brought back: the first ones.
        kept: u64,
        /// Those that cannot.
        lost: Loss,
    },
    /// No image is whole; nothing was changed.
    #[error("nothing in {} can be brought back: {damage}; nothing was changed. Restore it from a backup", path.display())]
    NothingLeft {
        /// Where.
        path: PathBuf,
        /// What stands in the way.
        damage: Damage,
    },
    /// The filter, its memory or the log size cannot be.
    #[error(transparent)]
    Create(#[from] CreateError),
    /// A size or text that a store cannot have.
    #[error("{0}")]
    Parameters(String),
    /// The operating system refused.
    #[error("cannot {operation} {place}: {error}")]
    Io {
        /// What was tried.
        operation: &'static str,
        /// On what.
        place: String,
        /// What it said.
        error: io::Error,
    },
    /// An earlier write or sync failed, so memory and disk may differ.
    #[error(
        "the store stopped at an earlier failure ({cause}); open it again to recover what was acknowledged"
    )]
    Poisoned {
        /// The earlier failure.
        cause: String,
    },
}

/// A place where a file is not what it must be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// Which file.
    pub file: StoreFile,
    /// Where in it.
    pub offset: u64,
    /// What must be there.
    pub expected: String,
    /// What is there.
    pub found: String,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Damage {
            file,
            offset,
            expected,
            found,
        } = self;
        write!(
            f,
            "{file} is damaged at byte {offset}: expected {expected}, found {found}"
        )
    }
}

/// Observations that were durable and cannot be brought back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loss {
    /// The first of them, counted from one.
    pub first: u64,
    /// The last of them; nothing if the mark that would tell is lost too.
    pub last: Option<u64>,
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.last {
            Some(last) => write!(f, "observations {} to {last}", self.first),
            None => write!(
                f,
                "observations from {} on (how many is not known)",
                self.first
            ),
        }
    }
}

impl StoreError {
    #[cfg(not(target_family = "wasm"))]
    pub(super) fn on_path(operation: &'static str, path: &Path, error: io::Error) -> Self {
        StoreError::Io {
            operation,
            place: path.display().to_string(),
            error,
        }
    }

    pub(super) fn on_file(operation: &'static str, file: StoreFile, error: io::Error) -> Self {
        StoreError::Io {
            operation,
            place: file.name().to_owned(),
            error,
        }
    }
}

impl From<Damage> for StoreError {
    fn from(damage: Damage) -> Self {
        StoreError::Corrupt(damage)
    }
}
