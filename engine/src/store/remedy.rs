//! What can be done about an error.

use std::io;
use std::path::PathBuf;

use super::create::CreateOption;
use super::error::{NotAStoreReason, StoreError};
use crate::filter::{BuildError, CannotGrow};
use crate::seen_set::CreateError;

/// What a caller can do about a [`StoreError`], as data: a program words it for its users.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Remedy {
    /// Create a store at this path.
    CreateStore {
        /// The path.
        path: PathBuf,
    },
    /// Create this directory first.
    CreateDirectory {
        /// The directory.
        path: PathBuf,
    },
    /// Use another path: this one holds something that is not a store.
    UseAnotherPath,
    /// Open the store that exists at the path, or use another path.
    OpenExisting,
    /// Remove the symbolic link, or create a store at the path that it names.
    RemoveLink {
        /// What the link names.
        target: PathBuf,
    },
    /// Call [`repair`](crate::store::repair) to restore the missing files.
    RestoreFiles,
    /// Free disk space, or create a smaller store.
    CreateSmaller,
    /// Free memory, or raise the limit on it.
    FreeMemory,
    /// Call again: the next call reads a newer state.
    TryAgain,
    /// Open the shared store as a [`SharedStore`](crate::store::SharedStore), or one of its
    /// shards as a [`Store`](crate::store::Store).
    OpenShard {
        /// The path of the first shard.
        path: PathBuf,
    },
    /// Use a newer version of this crate.
    Upgrade,
    /// Wait until the writer ends, or open the store for reading.
    WaitForWriter,
    /// Call [`verify`](crate::store::verify) for all findings and
    /// [`repair`](crate::store::repair) to repair the store.
    Repair,
    /// Do not set this option, or use another store.
    OmitOption {
        /// The option.
        option: CreateOption,
    },
    /// Set this option to another value; the error says which values are allowed.
    ChangeOption {
        /// The option.
        option: CreateOption,
    },
    /// Call again with other arguments; the error says which are allowed.
    ChangeArguments,
    /// Free disk space.
    FreeDiskSpace,
    /// Check who may read and write the files.
    CheckPermissions,
    /// Use a shorter name or path.
    ShortenPath,
    /// Close files, or raise the limit of open files.
    RaiseFileLimit,
    /// Raise the limit of the size of files, or create a smaller store.
    RaiseFileSizeLimit,
    /// Open the store again: that recovers what was recorded.
    Reopen,
    /// Restore the store from a backup, or create it again.
    Restore,
    /// Call [`verify`](crate::store::verify) to see whether the store is intact.
    Verify,
}

impl StoreError {
    /// Returns what the caller can do about the error.
    pub fn remedy(&self) -> Remedy {
        match self {
            StoreError::NotFound { path } => Remedy::CreateStore { path: path.clone() },
            StoreError::DirectoryNotFound { directory, .. } => Remedy::CreateDirectory {
                path: directory.clone(),
            },
            StoreError::NotAStore {
                reason: NotAStoreReason::IsShared { first_shard },
                ..
            } => Remedy::OpenShard {
                path: first_shard.clone(),
            },
            StoreError::NotAStore { .. } => Remedy::UseAnotherPath,
            StoreError::DanglingLink { target, .. } => Remedy::RemoveLink {
                target: target.clone(),
            },
            StoreError::MissingFiles { .. } => Remedy::RestoreFiles,
            StoreError::AlreadyExists { is_store: true, .. } => Remedy::OpenExisting,
            StoreError::AlreadyExists { .. } => Remedy::UseAnotherPath,
            StoreError::NoDiskSpace { .. } => Remedy::CreateSmaller,
            StoreError::OutOfMemory { .. } => Remedy::FreeMemory,
            StoreError::ImageReplaced => Remedy::TryAgain,
            StoreError::NewerVersion { .. }
            | StoreError::UnknownFeatures { .. }
            | StoreError::UnknownFilter(_)
            | StoreError::UnknownKey { .. } => Remedy::Upgrade,
            StoreError::CannotGrow {
                reason: CannotGrow::NeedsMemory { .. },
                ..
            } => change(CreateOption::Memory),
            StoreError::CannotGrow { .. } => change(CreateOption::Filter),
            StoreError::CannotForget(_) => change(CreateOption::Filter),
            StoreError::InUse { .. } => Remedy::WaitForWriter,
            StoreError::Corrupt(_) => Remedy::Repair,
            StoreError::OptionMismatch { option, .. } => Remedy::OmitOption { option: *option },
            StoreError::Create(error) => error.remedy(),
            StoreError::LogSize { .. } => change(CreateOption::LogSize),
            StoreError::MaxFpr { .. } => change(CreateOption::MaxFpr),
            StoreError::ShardCount { .. } => change(CreateOption::Shards),
            StoreError::ParametersTooLong { .. } => change(CreateOption::Key),
            StoreError::Key(_) => change(CreateOption::DropParameters),
            StoreError::SetMismatch { .. } => Remedy::ChangeArguments,
            StoreError::Io { source, .. } => match source.kind() {
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Remedy::FreeDiskSpace,
                io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                    Remedy::CheckPermissions
                }
                io::ErrorKind::InvalidFilename => Remedy::ShortenPath,
                io::ErrorKind::FileTooLarge => Remedy::RaiseFileSizeLimit,
                _ if is_file_limit(source) => Remedy::RaiseFileLimit,
                _ => Remedy::Verify,
            },
            StoreError::Thread(_) | StoreError::Poisoned { .. } => Remedy::Reopen,
            StoreError::Deleted { .. } => Remedy::Restore,
        }
    }
}

impl CreateError {
    /// Returns what the caller can do about the error.
    pub fn remedy(&self) -> Remedy {
        match self {
            CreateError::Build(BuildError::Contradiction { .. })
            | CreateError::NumbersOnly { .. } => change(CreateOption::Filter),
            CreateError::Build(_) | CreateError::OutOfMemory(_) => change(CreateOption::Memory),
            CreateError::AuditTooLarge { .. } => change(CreateOption::Audit),
            CreateError::Size(_) | CreateError::RegionLength { .. } => Remedy::ChangeArguments,
        }
    }
}

/// Returns whether the process or the system has too many open files. These errors have the same
/// numbers on every Unix.
fn is_file_limit(error: &io::Error) -> bool {
    cfg!(unix) && matches!(error.raw_os_error(), Some(ENFILE | EMFILE))
}

const ENFILE: i32 = 23;
const EMFILE: i32 = 24;

fn change(option: CreateOption) -> Remedy {
    Remedy::ChangeOption { option }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::error::Place;

    #[cfg(unix)]
    #[test]
    fn too_many_open_files_are_not_called_corrupt() {
        for errno in [EMFILE, ENFILE] {
            let error = StoreError::Io {
                operation: "open",
                place: Place::Path("a.dds".into()),
                source: io::Error::from_raw_os_error(errno),
            };
            assert_eq!(error.remedy(), Remedy::RaiseFileLimit);
        }
    }
}
