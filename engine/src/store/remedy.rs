//! What can be done about an error.

use std::io;
use std::path::PathBuf;

use super::create::CreateOption;
use super::error::{NotAStoreReason, StoreError};
use crate::filter::BuildError;
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
    /// Free disk space, or create a smaller store.
    FreeDiskSpace,
    /// Check who may read and write the files.
    CheckPermissions,
    /// Use a shorter name or path.
    ShortenPath,
    /// Close files, or raise the limit of open files.
    RaiseFileLimit,
    /// Open the store again: that recovers what was recorded.
    Reopen,
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
            StoreError::AlreadyExists { .. } => Remedy::OpenExisting,
            StoreError::NewerVersion { .. }
            | StoreError::UnknownFeatures { .. }
            | StoreError::UnknownFilter(_) => Remedy::Upgrade,
            StoreError::InUse { .. } => Remedy::WaitForWriter,
            StoreError::Corrupt(_) => Remedy::Repair,
            StoreError::OptionMismatch { option, .. } => Remedy::OmitOption { option: *option },
            StoreError::Create(error) => error.remedy(),
            StoreError::LogSize { .. } => change(CreateOption::LogSize),
            StoreError::MaxFpr { .. } => change(CreateOption::MaxFpr),
            StoreError::ShardCount { .. } => change(CreateOption::Shards),
            StoreError::ParametersTooLong { .. } => change(CreateOption::Normalization),
            StoreError::SetMismatch { .. } => Remedy::ChangeArguments,
            StoreError::Io { source, .. } => match source.kind() {
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Remedy::FreeDiskSpace,
                io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                    Remedy::CheckPermissions
                }
                io::ErrorKind::InvalidFilename => Remedy::ShortenPath,
                _ if is_file_limit(source) => Remedy::RaiseFileLimit,
                _ => Remedy::Verify,
            },
            StoreError::Thread(_) | StoreError::Poisoned { .. } => Remedy::Reopen,
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

/// Returns whether the process or the system has too many open files.
fn is_file_limit(error: &io::Error) -> bool {
    #[cfg(unix)]
    {
        use rustix::io::Errno;
        matches!(
            Errno::from_io_error(error),
            Some(Errno::MFILE | Errno::NFILE)
        )
    }
    #[cfg(not(unix))]
    {
        let _ = error;
        false
    }
}

fn change(option: CreateOption) -> Remedy {
    Remedy::ChangeOption { option }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use crate::store::error::Place;

    #[test]
    fn too_many_open_files_are_not_called_corrupt() {
        for errno in [rustix::io::Errno::MFILE, rustix::io::Errno::NFILE] {
            let error = StoreError::Io {
                operation: "open",
                place: Place::Path("a.dds".into()),
                source: errno.into(),
            };
            assert_eq!(error.remedy(), Remedy::RaiseFileLimit);
        }
    }
}
