//! Error messages: what happened to which store, and what to run next.

use std::fmt::{self, Display};

use dedupstore::CreateError;
use dedupstore::filter::BuildError;
#[cfg(not(target_family = "wasm"))]
use dedupstore::store::MergeError;
use dedupstore::store::{CreateOption, Place, Remedy, RepairError, StoreError};

use crate::numbers::{grouped, show_bits};

/// Formats an error with the store's path and the command to run next.
///
/// ```
/// use dedupstore::store::Store;
/// use dedupstore_view::error_message;
///
/// let error = Store::open("absent.dds").map(|_| ()).unwrap_err();
/// assert_eq!(
///     error_message("absent.dds", &error),
///     "there is no store at absent.dds; to create one: dedupstore create absent.dds"
/// );
/// ```
pub fn error_message(path: impl Display, error: &StoreError) -> String {
    let path = match error {
        // `path` may be one of two: a backup reads one store and creates another.
        StoreError::NotFound { path }
        | StoreError::NotAStore { path, .. }
        | StoreError::AlreadyExists { path }
        | StoreError::InUse { path } => path.display().to_string(),
        _ => path.to_string(),
    };
    let next = NextStep {
        path: &path,
        remedy: error.remedy(),
    };
    match error {
        StoreError::Create(error) => create_error_message(error),
        StoreError::OptionMismatch {
            option,
            stored,
            requested,
        } if let Some(flag) = flag(*option) => format!(
            "{path} was created with {flag} {stored}, which contradicts {flag} {requested}; omit \
             the option, or create another store: dedupstore create OTHER.dds {flag} {requested}"
        ),
        _ => format!("{}; {next}", what(&path, error)),
    }
}

/// Formats the error of a repair with the store's path and the command to run next.
pub fn repair_error_message(path: impl Display, error: &RepairError) -> String {
    match error {
        RepairError::WouldLose { kept, lost } => format!(
            "{path} can be repaired up to observation {}, but {lost} would be lost; nothing was \
             changed. To accept the loss and keep the corrupt files in a directory next to it: \
             dedupstore repair {path} --accept-loss",
            grouped(*kept)
        ),
        RepairError::NothingLeft { damage } => format!(
            "{path} cannot be repaired, because no image is intact: {damage}; nothing was \
             changed. Restore it from a backup"
        ),
        RepairError::Store(error) => error_message(path, error),
        // New kinds of errors have a message at least.
        _ => format!("{path}: {error}"),
    }
}

/// Formats the error of a merge with what to do instead.
#[cfg(not(target_family = "wasm"))]
pub fn merge_error_message(error: &MergeError) -> String {
    match error {
        MergeError::Store { path, error } => error_message(path.display(), error),
        _ => format!(
            "{error}; nothing was created. Two stores can be merged if both have a `bloom` \
             filter with the same parameters, memory, seed and normalization: compare them with \
             `dedupstore inspect`. If they differ, feed the logs of both to one store"
        ),
    }
}

/// Formats the error of a filter that cannot be created in memory, with the option to change.
pub fn create_error_message(error: &CreateError) -> String {
    match (error, error.remedy()) {
        (CreateError::Build(error @ BuildError::TooSmall { .. }), _)
        | (CreateError::Build(error @ BuildError::TooLarge { .. }), _) => {
            format!(
                "{}; {}",
                build_error_message(error),
                Change(CreateOption::Memory)
            )
        }
        (CreateError::OutOfMemory(error), _) => format!(
            "cannot allocate {} of memory: the system has not enough, or a limit such as `ulimit -v` \
             is lower; {}",
            show_bits(error.bytes.saturating_mul(8)),
            Change(CreateOption::Memory)
        ),
        (CreateError::NumbersOnly { .. }, _) => {
            format!("{error}; use it with `dedupstore simulate --stream` or `dedupstore reproduce`")
        }
        (_, Remedy::ChangeOption { option }) if flag(option).is_some() => {
            format!("{error}; {}", Change(option))
        }
        _ => error.to_string(),
    }
}

/// Formats the error of a filter and a memory that do not fit together, with sizes in bytes.
pub fn build_error_message(error: &BuildError) -> String {
    match error {
        BuildError::TooSmall {
            filter,
            memory_bits,
            minimum_bits,
        } => format!(
            "{filter} needs at least {} of memory; {} is too little",
            show_bits(*minimum_bits),
            show_bits(*memory_bits),
        ),
        BuildError::TooLarge {
            filter,
            memory_bits,
            maximum_bits,
        } => format!(
            "{filter} can use at most {} of memory on this machine; {} is too much",
            show_bits(*maximum_bits),
            show_bits(*memory_bits),
        ),
        _ => error.to_string(),
    }
}

/// Says what happened to the store at a path.
fn what(path: &str, error: &StoreError) -> String {
    match error {
        StoreError::NotFound { .. }
        | StoreError::DirectoryNotFound { .. }
        | StoreError::NotAStore { .. }
        | StoreError::AlreadyExists { .. }
        | StoreError::InUse { .. }
        | StoreError::Io {
            place: Place::Path(_),
            ..
        } => error.to_string(),
        _ => format!("{path}: {error}"),
    }
}

/// The command line's option, if it has one.
fn flag(option: CreateOption) -> Option<&'static str> {
    match option {
        CreateOption::Filter => Some("--filter"),
        CreateOption::Memory => Some("--memory"),
        CreateOption::Seed => Some("--seed"),
        CreateOption::LogSize => Some("--log-size"),
        CreateOption::Normalization => Some("--normalize"),
        CreateOption::MaxFpr => Some("--max-fpr"),
        _ => None,
    }
}

/// What to run next.
struct NextStep<'a> {
    path: &'a str,
    remedy: Remedy,
}

impl Display for NextStep<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path;
        match &self.remedy {
            Remedy::CreateStore { .. } => {
                write!(f, "to create one: dedupstore create {path}")
            }
            Remedy::CreateDirectory { path } => {
                write!(f, "create it first: mkdir -p {}", path.display())
            }
            Remedy::UseAnotherPath => f.write_str(
                "nothing was changed. Name the directory of a store, or create one: dedupstore \
                 create OTHER.dds",
            ),
            Remedy::OpenExisting => write!(
                f,
                "use another path. If it is a store, this shows what it holds: dedupstore inspect {path}"
            ),
            Remedy::OpenShard { path } => {
                write!(f, "name one of its shards, for example {}", path.display())
            }
            Remedy::Upgrade => f.write_str(
                "nothing was changed. Install a newer version of dedupstore; `dedupstore --version` \
                 prints the version of this one",
            ),
            Remedy::WaitForWriter => write!(
                f,
                "wait until it ends, because a store has one writer at a time. Reading needs no \
                 lock: dedupstore inspect {path}"
            ),
            Remedy::Repair => write!(
                f,
                "`dedupstore verify {path}` lists all findings, `dedupstore repair {path}` \
                 repairs the store"
            ),
            Remedy::OmitOption { .. } => f.write_str("omit the option, or use another store"),
            Remedy::ChangeOption { option } => write!(f, "{}", Change(*option)),
            Remedy::FreeDiskSpace => f.write_str(
                "free disk space; `df -h` shows how much there is. A store that is created with a \
                 smaller --memory needs less",
            ),
            Remedy::CheckPermissions => write!(
                f,
                "`ls -ld {path}` shows who may write there, and `findmnt -T {path}` whether the \
                 file system is read-only"
            ),
            Remedy::ShortenPath => f.write_str("choose a shorter name or path"),
            Remedy::RaiseFileLimit => f.write_str(
                "too many files are open; close some, or raise the limit: ulimit -n 4096",
            ),
            Remedy::Reopen => write!(
                f,
                "run the command again: opening {path} recovers what was recorded"
            ),
            Remedy::Verify => write!(f, "`dedupstore verify {path}` shows whether it is intact"),
            _ => f.write_str("call it with other values"),
        }
    }
}

struct Change(CreateOption);

impl Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.0, flag(self.0)) {
            (CreateOption::Memory, _) => f.write_str("choose another size with --memory"),
            (_, Some(flag)) => write!(f, "choose another value for {flag}"),
            (option, None) => write!(f, "choose another value for the {option}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use dedupstore::store::{Damage, Loss, StoreFile};

    use super::*;

    fn damage() -> Damage {
        Damage {
            file: StoreFile::Log1,
            offset: 512,
            expected: "a".to_owned(),
            found: "b".to_owned(),
        }
    }

    #[test]
    fn a_message_names_the_store_and_the_next_command() {
        let io = |kind: io::ErrorKind| StoreError::Io {
            operation: "write",
            place: Place::File(StoreFile::Mark),
            source: kind.into(),
        };
        let mismatch = |option| StoreError::OptionMismatch {
            option,
            stored: "1".to_owned(),
            requested: "2".to_owned(),
        };
        for (error, parts) in [
            (
                StoreError::Corrupt(damage()),
                [
                    "a.dds: log.1 is corrupt at byte 512: expected a, found b",
                    "`dedupstore repair a.dds`",
                ],
            ),
            (
                StoreError::InUse {
                    path: "a.dds".into(),
                },
                ["a.dds is in use", "dedupstore inspect a.dds"],
            ),
            (
                StoreError::Poisoned {
                    cause: "no room".to_owned(),
                },
                ["earlier failure: no room", "opening a.dds recovers"],
            ),
            (
                io(io::ErrorKind::StorageFull),
                ["a.dds: cannot write mark: ", "free disk space"],
            ),
            (
                io(io::ErrorKind::PermissionDenied),
                ["a.dds: cannot write mark: ", "`ls -ld a.dds`"],
            ),
            (
                io(io::ErrorKind::Other),
                ["a.dds: cannot write mark: ", "`dedupstore verify a.dds`"],
            ),
            (
                mismatch(CreateOption::Seed),
                [
                    "a.dds was created with --seed 1",
                    "create OTHER.dds --seed 2",
                ],
            ),
            (
                mismatch(CreateOption::Audit),
                ["a.dds: the store has the audit 1", "omit the option"],
            ),
        ] {
            let message = error_message("a.dds", &error);
            for part in parts {
                assert!(message.contains(part), "`{part}` is not in: {message}");
            }
        }
    }

    #[test]
    fn a_repair_that_would_lose_something_says_what_and_how_to_accept_it() {
        let error = RepairError::WouldLose {
            kept: 44_000,
            lost: Loss {
                first: 44_001,
                last: Some(50_000),
            },
        };
        assert_eq!(
            repair_error_message("a.dds", &error),
            "a.dds can be repaired up to observation 44,000, but observations 44001 to 50000 \
             would be lost; nothing was changed. To accept the loss and keep the corrupt files in \
             a directory next to it: dedupstore repair a.dds --accept-loss"
        );
        let error = RepairError::NothingLeft { damage: damage() };
        let message = repair_error_message("a.dds", &error);
        assert!(message.ends_with("Restore it from a backup"), "{message}");
    }
}
