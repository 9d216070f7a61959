//! Error messages: what happened to which store, and what to run next.

use std::fmt::{self, Display};

use dedupstore::CreateError;
use dedupstore::filter::BuildError;
#[cfg(not(target_family = "wasm"))]
use dedupstore::filter::filters_that_merge;
use dedupstore::lines::KeyOptionsError;
#[cfg(not(target_family = "wasm"))]
use dedupstore::store::MergeError;
use dedupstore::store::{CreateOption, Place, Remedy, RepairError, StoreError};

use crate::key::{
    created_for_key, created_for_time, drop_options, importance_contradiction, line_end_in_words,
    line_end_option, selector_options, time_options,
};
use crate::numbers::{grouped, show_bits};
use crate::printable::printable;
use crate::time::span_option;

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
        | StoreError::MissingFiles { path, .. }
        | StoreError::DanglingLink { path, .. }
        | StoreError::AlreadyExists { path, .. }
        | StoreError::NoDiskSpace { path, .. }
        | StoreError::InUse { path, .. } => path.display().to_string(),
        _ => path.to_string(),
    };
    let next = NextStep {
        path: &path,
        remedy: error.remedy(),
    };
    let message = match error {
        StoreError::Create(error) => create_error_message(error),
        StoreError::OptionMismatch {
            option,
            stored,
            requested,
        } => mismatch_message(&path, *option, stored, requested)
            .unwrap_or_else(|| format!("{}; {next}", what(&path, error))),
        StoreError::Key(error) => key_error_message(error),
        _ => format!("{}; {next}", what(&path, error)),
    };
    // It may quote what a file holds.
    printable(&message).into_owned()
}

/// Formats the error of options about keys that contradict each other.
pub fn key_error_message(error: &KeyOptionsError) -> String {
    match error {
        KeyOptionsError::NothingDropsParameters { normalization } => format!(
            "--drop-parameter needs --normalize crawl; the normalization is {normalization}"
        ),
        _ => error.to_string(),
    }
}

/// Says that an option contradicts the store; None if the command line has no such option.
fn mismatch_message(
    path: &str,
    option: CreateOption,
    stored: &str,
    requested: &str,
) -> Option<String> {
    let (created, flags) = match option {
        CreateOption::Key => (created_for_key(stored), selector_options(requested)),
        CreateOption::DropParameters => {
            let created = match stored {
                "" => "without --drop-parameter".to_owned(),
                stored => format!("with {}", drop_options(stored)),
            };
            (created, drop_options(requested))
        }
        CreateOption::Time => (created_for_time(stored), time_options(requested)),
        CreateOption::Importance => importance_contradiction(stored, requested),
        CreateOption::Window => {
            let window = |seconds: &str| {
                let span = seconds.parse().map(span_option);
                format!("--window {}", span.unwrap_or_else(|_| seconds.to_owned()))
            };
            let created = match stored {
                "none" => "without a window that is measured in seconds".to_owned(),
                stored => format!("with {}", window(stored)),
            };
            (created, window(requested))
        }
        CreateOption::LineEnd => (
            format!("for lines that {}", line_end_in_words(stored)),
            line_end_option(requested).to_owned(),
        ),
        option => {
            let flag = flag(option)?;
            (
                format!("with {flag} {stored}"),
                format!("{flag} {requested}"),
            )
        }
    };
    // Without it, the option would have no meaning for the store to create.
    let needed = match option {
        CreateOption::DropParameters => "--normalize crawl ",
        CreateOption::Time => "--window SPAN ",
        _ => "",
    };
    Some(format!(
        "{path} was created {created}, which contradicts {flags}; omit the option, or create \
         another store: dedupstore create OTHER.dds {needed}{flags}"
    ))
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
        MergeError::NoUnion { .. } => format!(
            "{error}; nothing was created. Feed the logs of all of them to one store instead, or \
             use a filter that can be merged for the next stores: {}",
            filters_that_merge().join(", ")
        ),
        _ => printable(&format!(
            "{error}; nothing was created. Stores can be merged if they were created with the \
             same --filter, --memory, --seed and key options: `dedupstore inspect` shows them. \
             If they differ, feed the logs of all of them to one store instead"
        ))
        .into_owned(),
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
        | StoreError::MissingFiles { .. }
        | StoreError::DanglingLink { .. }
        | StoreError::AlreadyExists { .. }
        | StoreError::InUse { .. }
        | StoreError::Io {
            place: Place::Path(_),
            ..
        } => error.to_string(),
        StoreError::NoDiskSpace {
            needed_bytes,
            source,
            ..
        } => format!(
            "cannot create {path}, which needs {} of disk: {source}",
            show_bits(needed_bytes.saturating_mul(8))
        ),
        StoreError::OutOfMemory { bytes } => format!(
            "{path}: loading it takes {} of memory, which cannot be allocated",
            show_bits(bytes.saturating_mul(8))
        ),
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
        CreateOption::DropParameters => Some("--drop-parameter"),
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
                "use another path. This shows what the store holds: dedupstore inspect {path}"
            ),
            Remedy::OpenShard { path } => {
                write!(f, "name one of its shards, for example {}", path.display())
            }
            Remedy::Upgrade => f.write_str(
                "nothing was changed. Install a newer version of dedupstore; `dedupstore --version` \
                 prints the version of this one",
            ),
            Remedy::RemoveLink { target } => write!(
                f,
                "remove the link, or create a store at what it names: dedupstore create {}",
                target.display()
            ),
            Remedy::RestoreFiles => write!(
                f,
                "nothing was changed. `dedupstore repair {path}` restores it without a loss if \
                 that is possible, and reports the loss otherwise"
            ),
            Remedy::WaitForWriter => write!(
                f,
                "wait until it ends, because a store has one writer at a time; with --wait, the \
                 command waits. Reading needs no lock: dedupstore inspect {path}"
            ),
            Remedy::Repair => write!(
                f,
                "`dedupstore verify {path}` lists all findings, `dedupstore repair {path}` \
                 repairs the store"
            ),
            Remedy::OmitOption { .. } => f.write_str("omit the option, or use another store"),
            Remedy::ChangeOption { option } => write!(f, "{}", Change(*option)),
            Remedy::CreateSmaller => f.write_str(
                "nothing was created. Free disk space (`df -h` shows how much there is), or \
                 create a smaller store with --memory",
            ),
            Remedy::FreeDiskSpace => {
                f.write_str("free disk space; `df -h` shows how much there is")
            }
            Remedy::FreeMemory => f.write_str(
                "free memory (`free -h` shows how much there is), or raise the limit: ulimit -v",
            ),
            Remedy::TryAgain => f.write_str("run the command again"),
            Remedy::CheckPermissions => write!(
                f,
                "`ls -ld {path}` shows who may write there, and `findmnt -T {path}` whether the \
                 file system is read-only"
            ),
            Remedy::ShortenPath => f.write_str("choose a shorter name or path"),
            Remedy::RaiseFileLimit => f.write_str(
                "too many files are open; close some, or raise the limit: ulimit -n 4096",
            ),
            Remedy::RaiseFileSizeLimit => f.write_str(
                "files may not be that large here; `ulimit -f` shows the limit, and a store that \
                 is created with a smaller --memory has smaller files",
            ),
            Remedy::Restore => write!(
                f,
                "restore {path} from a backup, or run the command again to start with an empty \
                 store"
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
                    holder: Some(7),
                },
                [
                    "a.dds is in use by another process (PID 7)",
                    "dedupstore inspect a.dds",
                ],
            ),
            (
                StoreError::Poisoned {
                    cause: "no room".to_owned(),
                },
                ["earlier failure: no room", "opening a.dds recovers"],
            ),
            (
                StoreError::Deleted {
                    file: StoreFile::Log0,
                },
                ["a.dds: log.0 was deleted", "restore a.dds from a backup"],
            ),
            (
                io(io::ErrorKind::FileTooLarge),
                ["a.dds: cannot write mark: ", "`ulimit -f`"],
            ),
            (
                io(io::ErrorKind::StorageFull),
                ["a.dds: cannot write mark: ", "free disk space"],
            ),
            (
                StoreError::OutOfMemory { bytes: 1 << 30 },
                ["a.dds: loading it takes 1 GiB", "ulimit -v"],
            ),
            (
                StoreError::AlreadyExists {
                    path: "a.dds".into(),
                    is_store: false,
                },
                ["a.dds already exists and is not a store", "OTHER.dds"],
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
    fn text_from_a_file_cannot_control_a_terminal() {
        let forged = "\u{1b}]0;x\u{7}\u{1b}[2J".parse::<dedupstore::FilterSpec>();
        let error = StoreError::UnknownFilter(forged.expect_err("no filter"));
        let message = error_message("a.dds", &error);
        assert!(!message.chars().any(char::is_control), "{message:?}");
        assert!(message.contains("\\u{1b}"), "{message}");
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
