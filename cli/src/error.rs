//! What can end a command.

use std::io;
use std::path::{Path, PathBuf};

use dedupstore::CreateError;
use dedupstore::lab::reproduce::RunError;
use dedupstore::lines::{KeySelectorError, LineTooLong};
use dedupstore::store::{StoreError, named};

use crate::source::Packing;

/// Why a command stopped.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// Whoever read our output has gone away.
    #[error("the output was closed")]
    ClosedPipe,
    #[error("cannot write the output: {0}")]
    Output(io::Error),
    #[error("cannot open {}: {error}{}", path.display(), hint(.error))]
    Open { path: PathBuf, error: io::Error },
    #[error("{} is a directory; name the files in it, for example {}/*.log", path.display(), path.display())]
    Directory { path: PathBuf },
    #[error("cannot read {name}: {error}")]
    Read { name: String, error: io::Error },
    #[error("{}", packed(name, *packing, error, *bytes))]
    Packed {
        name: String,
        packing: Packing,
        error: io::Error,
        /// How much had been unpacked.
        bytes: u64,
    },
    #[error("{name}: {error}")]
    Line { name: String, error: LineTooLong },
    #[error("{error}{hint}", error = .0, hint = another_size(.0))]
    Memory(#[from] CreateError),
    #[error("cannot write to {}: {error}{}", path.display(), hint_for_writing(.error))]
    Create { path: PathBuf, error: io::Error },
    #[error("cannot write the metrics to {}: {error}; name a file in a directory that you may write to", path.display())]
    Metrics { path: PathBuf, error: io::Error },
    #[error("{0}; a larger --scale needs less memory")]
    Run(#[from] RunError),
    #[error("--field: {0}")]
    Key(#[from] KeySelectorError),
    #[error("{}{}", about(path, error), next_step(path, error))]
    Store { path: PathBuf, error: StoreError },
    /// Everything went well, and the answer is no.
    #[error("no")]
    AnswerIsNo,
    /// A signal ended it, with this exit code.
    #[error("a signal came")]
    Signal(u8),
    #[error("{0}")]
    Usage(String),
}

impl Failure {
    /// An error with the store at a path.
    pub fn store(path: &Path) -> impl FnOnce(StoreError) -> Self {
        let path = path.to_owned();
        move |error| Failure::Store { path, error }
    }

    /// An error in reading; that nobody reads what we print is told apart.
    pub fn reading(name: &str, error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Failure::ClosedPipe,
            _ => Failure::Read {
                name: name.to_owned(),
                error,
            },
        }
    }

    /// An error in writing; a closed pipe is told apart.
    pub fn writing(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Failure::ClosedPipe,
            _ => Failure::Output(error),
        }
    }
}

fn hint_for_writing(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::NotFound => "; make the directory first",
        _ => "",
    }
}

fn packed(name: &str, packing: Packing, error: &io::Error, bytes: u64) -> String {
    let (what, check) = (packing.name(), packing.check());
    let found = match error.kind() {
        io::ErrorKind::UnexpectedEof => "it is cut off".to_owned(),
        _ => format!("it is damaged ({error})"),
    };
    format!(
        "cannot unpack {name}: {found} behind {bytes} bytes of the unpacked text; the whole lines \
         before that were taken. The file is not a whole {what} file: `{check} {name}` checks it"
    )
}

fn another_size(error: &CreateError) -> &'static str {
    match error {
        CreateError::NumbersOnly { .. } => "",
        _ => "; give another size with --memory",
    }
}

fn hint(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::NotFound => "; to read standard input, name no file or `-`",
        _ => "",
    }
}

/// The error, with the store's name if it does not give it itself.
fn about(path: &Path, error: &StoreError) -> String {
    // A store is made under a name of its own, which means nothing to people.
    let last = path.file_name().unwrap_or_default().to_string_lossy();
    let making = format!(".{last}.{}.making", std::process::id());
    let message = error.to_string().replace(&making, &last);
    named(&message, &path.display().to_string())
}

/// The directory that a store would go to, if it is not there.
fn missing_directory(path: &Path) -> Option<String> {
    let parent = path.parent()?;
    let missing = !parent.as_os_str().is_empty() && !parent.exists();
    missing.then(|| parent.display().to_string())
}

/// What to run next, where the error does not say.
fn next_step(place: &Path, error: &StoreError) -> String {
    let path = place.display();
    match error {
        StoreError::Io { error, .. } if error.kind() == io::ErrorKind::NotFound => {
            match missing_directory(place) {
                Some(directory) => format!("; make the directory first: mkdir -p {directory}"),
                None => format!("; to make a store there: dedupstore create {path}"),
            }
        }
        _ => error.next_step(&path.to_string()),
    }
}
