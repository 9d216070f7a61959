//! Errors of a store.

use std::fmt;
use std::io;
#[cfg(not(target_family = "wasm"))]
use std::path::Path;
use std::path::PathBuf;

use super::create::CreateOption;
#[cfg(not(target_family = "wasm"))]
use super::format::layout::Layout;
use super::medium::StoreFile;
use crate::filter::{CannotForget, CannotGrow, SpecError};
use crate::lines::{KeyOptionsError, KeyRuleError};
use crate::region::OutOfMemory;
use crate::seen_set::CreateError;

/// The reason why a store cannot be created, opened or used.
///
/// The message of an error says what happened. [`remedy`](StoreError::remedy) says what can
/// be done about it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// There is nothing at the path.
    #[error("there is no store at {}", path.display())]
    NotFound {
        /// The path of the store.
        path: PathBuf,
    },
    /// The path is a symbolic link to a path that does not exist.
    #[error("{} is a symbolic link to {}, which does not exist", path.display(), target.display())]
    DanglingLink {
        /// The path of the link.
        path: PathBuf,
        /// What the link names.
        target: PathBuf,
    },
    /// The directory that the store would be created in does not exist.
    #[error("cannot create {}: the directory {} does not exist", path.display(), directory.display())]
    DirectoryNotFound {
        /// The path of the store.
        path: PathBuf,
        /// The missing directory.
        directory: PathBuf,
    },
    /// The path holds something else, which is not changed.
    #[error("{} is not a store: {reason}", path.display())]
    NotAStore {
        /// The path.
        path: PathBuf,
        /// The reason.
        reason: NotAStoreReason,
    },
    /// The store lacks some of its files. A repair restores them if that loses nothing.
    #[error("{} lacks {}", path.display(), file_list(names))]
    MissingFiles {
        /// The path of the store.
        path: PathBuf,
        /// The names of the missing files.
        names: Vec<&'static str>,
    },
    /// The path of a new store exists. It is not changed.
    #[error("{} already exists{}", path.display(), if *is_store { "" } else { " and is not a store" })]
    AlreadyExists {
        /// The path.
        path: PathBuf,
        /// Whether it holds files of a store.
        is_store: bool,
    },
    /// There is not enough disk space to create a store.
    #[error("cannot create {}, which needs {needed_bytes} bytes of disk: {source}", path.display())]
    NoDiskSpace {
        /// The path of the store.
        path: PathBuf,
        /// The size of all its files together.
        needed_bytes: u64,
        /// The error of the operating system.
        source: io::Error,
    },
    /// There is not enough memory to load the store.
    #[error("cannot allocate {bytes} bytes of memory to load the store")]
    OutOfMemory {
        /// The number of bytes requested.
        bytes: u64,
    },
    /// The writer has replaced the image that was being read, because it took two checkpoints
    /// meanwhile.
    #[error("a writer has replaced the image that was being read")]
    ImageReplaced,
    /// The store has a newer format.
    #[error("{file} has format version {found}, and the newest supported version is {supported}")]
    NewerVersion {
        /// The file that has the version.
        file: StoreFile,
        /// Its version.
        found: u32,
        /// The newest supported version.
        supported: u32,
    },
    /// The store needs a feature of a newer version.
    #[error("{file} needs features {bits:#010x} that are not supported")]
    UnknownFeatures {
        /// The file that has the features.
        file: StoreFile,
        /// The bits that are not supported.
        bits: u32,
    },
    /// The store has a filter of a newer version.
    #[error("the store's filter is not supported: {0}")]
    UnknownFilter(#[source] SpecError),
    /// The store's keys are found in a way that this program does not know.
    #[error("the store's keys are found by `{recorded}`, which is not supported: {error}")]
    UnknownKey {
        /// What the store records.
        recorded: String,
        /// The part that is not supported.
        #[source]
        error: KeyRuleError,
    },
    /// The options about keys contradict each other.
    #[error(transparent)]
    Key(KeyOptionsError),
    /// Another process or another handle writes to the store.
    #[error("{} is in use by another process{}", path.display(), pid_of(*holder))]
    InUse {
        /// The path of the store.
        path: PathBuf,
        /// The process that has locked the store, if it is known.
        holder: Option<u32>,
    },
    /// The limit of the store's filter cannot be raised.
    #[error("{filter} cannot grow: {reason}")]
    CannotGrow {
        /// The filter, in its text form.
        filter: String,
        /// The memory of the store.
        memory_bits: u64,
        /// Why.
        reason: CannotGrow,
    },
    /// The store's filter cannot take a key out.
    #[error(transparent)]
    CannotForget(CannotForget),
    /// A file of the store is damaged.
    #[error("{0}")]
    Corrupt(Damage),
    /// The store was created with another value of an option.
    #[error("the store has the {option} {stored}; {requested} was requested")]
    OptionMismatch {
        /// The option.
        option: CreateOption,
        /// Its value in the store.
        stored: String,
        /// The value requested.
        requested: String,
    },
    /// The filter cannot be built with these options.
    #[error(transparent)]
    Create(#[from] CreateError),
    /// The size of the logs is outside its limits.
    #[error("a log has {minimum} to {maximum} bytes; {requested} were requested")]
    LogSize {
        /// The size requested, in bytes.
        requested: u64,
        /// The smallest size, in bytes.
        minimum: u64,
        /// The largest size, in bytes.
        maximum: u64,
    },
    /// The limit of the false positive rate is not a rate.
    #[error(
        "a limit of the false positive rate is above 0 and at most 1; {requested} was requested"
    )]
    MaxFpr {
        /// The limit requested.
        requested: f64,
    },
    /// The number of shards is outside its limits.
    #[error("a shared store has 1 to {maximum} shards; {requested} were requested")]
    ShardCount {
        /// The number requested.
        requested: usize,
        /// The largest number.
        maximum: usize,
    },
    /// The filter's text and the key's text do not fit into the superblock.
    #[error("the texts of the filter and the key take {bytes} bytes; at most {maximum} fit")]
    ParametersTooLong {
        /// Their length, in bytes.
        bytes: usize,
        /// The largest length, in bytes.
        maximum: usize,
    },
    /// A store cannot start with this set, because the set has other options.
    #[error(
        "a store of {expected} with a region of {expected_bytes} bytes cannot start with a set \
         of {found} with a region of {found_bytes} bytes"
    )]
    SetMismatch {
        /// The store's filter, in its text form.
        expected: String,
        /// The size of the store's region.
        expected_bytes: u64,
        /// The set's filter, in its text form.
        found: String,
        /// The size of the set's region.
        found_bytes: u64,
    },
    /// A system call failed.
    #[error("cannot {operation} {place}: {source}")]
    Io {
        /// The operation, as a verb.
        operation: &'static str,
        /// The file or path.
        place: Place,
        /// The error of the operating system.
        source: io::Error,
    },
    /// A file of the store was deleted while the store was open.
    #[error("{file} was deleted while the store was in use; what this run recorded is lost")]
    Deleted {
        /// A deleted file.
        file: StoreFile,
    },
    /// A background thread cannot be started.
    #[error("cannot start a thread: {0}")]
    Thread(#[source] io::Error),
    /// An earlier write or sync failed, so memory and disk may differ.
    #[error("the store stopped at an earlier failure: {cause}")]
    Poisoned {
        /// The earlier failure.
        cause: String,
    },
}

/// The reason why a directory or a file is not a store.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NotAStoreReason {
    /// It is a file; a store is a directory.
    IsFile,
    /// The directory lacks a file of a store.
    MissingFile {
        /// The name of the missing file.
        name: &'static str,
    },
    /// It is a shared store; a [`Store`](crate::store::Store) can open one of its shards.
    IsShared {
        /// The path of the first shard.
        first_shard: PathBuf,
    },
    /// The file that holds the number of shards does not hold a number.
    BadShardCount,
    /// The shards differ in their filter or seed.
    DifferentShards,
}

impl fmt::Display for NotAStoreReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NotAStoreReason::IsFile => f.write_str("it is a file, and a store is a directory"),
            NotAStoreReason::MissingFile { name } => write!(f, "it has no file `{name}`"),
            NotAStoreReason::IsShared { first_shard } => write!(
                f,
                "it is a shared store; its first shard is {}",
                first_shard.display()
            ),
            NotAStoreReason::BadShardCount => {
                f.write_str("its file `shards` does not hold a number of shards")
            }
            NotAStoreReason::DifferentShards => {
                f.write_str("its shards differ in their filter or seed")
            }
        }
    }
}

/// What a failed system call was applied to.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Place {
    /// A file of the store.
    File(StoreFile),
    /// A path of the file system.
    Path(PathBuf),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::File(file) => write!(f, "{file}"),
            Place::Path(path) => write!(f, "{}", path.display()),
        }
    }
}

/// A place where a file does not hold what it must.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// The damaged file.
    pub file: StoreFile,
    /// The offset of the damage in the file, in bytes.
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
            "{file} is corrupt at byte {offset}: expected {expected}, found {found}"
        )
    }
}

impl StoreError {
    #[cfg(not(target_family = "wasm"))]
    pub(super) fn on_path(operation: &'static str, path: &Path, source: io::Error) -> Self {
        StoreError::Io {
            operation,
            place: Place::Path(path.to_owned()),
            source,
        }
    }

    pub(super) fn on_file(operation: &'static str, file: StoreFile, source: io::Error) -> Self {
        StoreError::Io {
            operation,
            place: Place::File(file),
            source,
        }
    }

    /// Replaces the directory `from` by `to` in the error's path, so that the error names the
    /// path that the caller has given.
    #[cfg(not(target_family = "wasm"))]
    pub(super) fn relocated(mut self, from: &Path, to: &Path) -> Self {
        let path = match &mut self {
            StoreError::NotFound { path }
            | StoreError::NotAStore { path, .. }
            | StoreError::MissingFiles { path, .. }
            | StoreError::AlreadyExists { path, .. }
            | StoreError::NoDiskSpace { path, .. }
            | StoreError::InUse { path, .. }
            | StoreError::Io {
                place: Place::Path(path),
                ..
            } => path,
            _ => return self,
        };
        if let Ok(rest) = path.strip_prefix(from) {
            *path = match rest == Path::new("") {
                true => to.to_owned(),
                false => to.join(rest),
            };
        }
        self
    }

    /// Says how much disk space a new store needs, if that is what was missing.
    #[cfg(not(target_family = "wasm"))]
    pub(super) fn while_creating(self, path: &Path, layout: &Layout) -> Self {
        let is_full = |source: &io::Error| {
            let kinds = [io::ErrorKind::StorageFull, io::ErrorKind::QuotaExceeded];
            kinds.contains(&source.kind())
        };
        match self {
            StoreError::Io { source, .. } if is_full(&source) => StoreError::NoDiskSpace {
                path: path.to_owned(),
                needed_bytes: layout.disk_bytes(),
                source,
            },
            error => error,
        }
    }

    /// Names a file of the store by its path.
    #[cfg(not(target_family = "wasm"))]
    pub(super) fn with_store_path(mut self, store: &Path) -> Self {
        if let StoreError::Io { place, .. } = &mut self
            && let Place::File(file) = place
        {
            *place = Place::Path(store.join(file.name()));
        }
        self
    }
}

/// Formats the names of files: "the file `lock`".
fn file_list(names: &[&str]) -> String {
    let noun = if names.len() == 1 { "file" } else { "files" };
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    format!("the {noun} {}", names.join(", "))
}

fn pid_of(holder: Option<u32>) -> String {
    holder.map_or_else(String::new, |pid| format!(" (PID {pid})"))
}

impl From<OutOfMemory> for StoreError {
    fn from(error: OutOfMemory) -> Self {
        StoreError::OutOfMemory { bytes: error.bytes }
    }
}

impl From<Damage> for StoreError {
    fn from(damage: Damage) -> Self {
        StoreError::Corrupt(damage)
    }
}

#[cfg(test)]
#[cfg(not(target_family = "wasm"))]
mod tests {
    use super::*;

    #[test]
    fn an_error_below_a_temporary_directory_names_the_path_of_the_caller() {
        let (from, to) = (Path::new("/tmp/unfinished"), Path::new("links.dds"));
        for (found, expected) in [
            ("/tmp/unfinished", "links.dds"),
            ("/tmp/unfinished/mark", "links.dds/mark"),
            ("/elsewhere", "/elsewhere"),
        ] {
            let path = Path::new(found).to_owned();
            let relocated = StoreError::NotFound { path }.relocated(from, to);
            let StoreError::NotFound { path } = relocated else {
                panic!("another error: {relocated}");
            };
            assert_eq!(path, Path::new(expected));
        }
    }
}
