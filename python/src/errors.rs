//! Errors as exceptions of our own, with the texts of the command line.

use std::path::Path;

use dedupstore::store::StoreError;
use dedupstore::{CreateError, SpecError};
use dedupstore_cluster::ClusterError;
use dedupstore_view::{create_error_message, error_message};
use pyo3::prelude::*;
use pyo3::types::PyType;

/// Returns an exception of a class in `dedupstore/_errors.py`.
fn exception(class: &str, message: String) -> PyErr {
    Python::attach(|py| {
        let found = py
            .import("dedupstore._errors")
            .and_then(|module| module.getattr(class));
        match found.and_then(|class| Ok(class.cast_into::<PyType>()?)) {
            Ok(class) => PyErr::from_type(class, message),
            Err(error) => error,
        }
    })
}

/// Returns the exception of an argument that cannot be used.
pub fn invalid(message: impl Into<String>) -> PyErr {
    exception("InvalidArgumentError", message.into())
}

/// Returns the exception of an object that was closed.
pub fn closed(what: &str) -> PyErr {
    exception(
        "ClosedError",
        format!("the {what} is closed; open it again"),
    )
}

/// Returns the exception of a call in a forked process.
pub fn forked(what: &str) -> PyErr {
    let message = format!(
        "this process was forked from the one that opened the {what}, and a {what} has one writer; \
         open it in one process, after the fork, or read it with ReadOnlyStore"
    );
    exception("ForkedError", message)
}

/// Returns the exception of a call after a call that panicked.
pub fn interrupted() -> PyErr {
    exception(
        "PoisonedError",
        "an earlier call has failed; open the store again".to_owned(),
    )
}

/// Returns the exception of an error of the store at a path.
pub fn of_store(path: &Path, error: &StoreError) -> PyErr {
    let class = match error {
        StoreError::NotFound { .. } | StoreError::DanglingLink { .. } => "NotFoundError",
        StoreError::DirectoryNotFound { .. } => "NotFoundError",
        StoreError::AlreadyExists { .. } => "AlreadyExistsError",
        StoreError::NotAStore { .. } => "NotAStoreError",
        StoreError::InUse { .. } => "InUseError",
        StoreError::Corrupt(_) | StoreError::MissingFiles { .. } => "CorruptError",
        StoreError::OptionMismatch { .. } => "OptionMismatchError",
        StoreError::Poisoned { .. } | StoreError::Deleted { .. } => "PoisonedError",
        StoreError::NewerVersion { .. }
        | StoreError::UnknownFeatures { .. }
        | StoreError::UnknownFilter(_)
        | StoreError::UnknownKey { .. } => "NewerVersionError",
        StoreError::Create(_)
        | StoreError::LogSize { .. }
        | StoreError::MaxFpr { .. }
        | StoreError::ShardCount { .. }
        | StoreError::ParametersTooLong { .. }
        | StoreError::Key(_)
        | StoreError::CannotForget(_) => "InvalidArgumentError",
        _ => "StoreFailedError",
    };
    exception(class, error_message(path.display(), error))
}

/// Returns the exception of a store on Redis.
pub fn of_cluster(error: &ClusterError) -> PyErr {
    let class = match error {
        ClusterError::Address(_) | ClusterError::Impossible(_) | ClusterError::Secret { .. } => {
            "InvalidArgumentError"
        }
        ClusterError::Connect { .. } | ClusterError::Unreachable { .. } => "ConnectionFailedError",
        ClusterError::NotFound { .. } => "NotFoundError",
        ClusterError::Exists { .. } => "AlreadyExistsError",
        ClusterError::InTheWay { .. } => "NotAStoreError",
        ClusterError::Layout { .. } => "NewerVersionError",
        _ => "ServerError",
    };
    exception(class, error.to_string())
}

/// Returns the exception of a set that cannot be created.
pub fn of_creation(error: &CreateError) -> PyErr {
    invalid(create_error_message(error))
}

/// Returns the exception of a text that is no filter.
pub fn of_spec(error: &SpecError) -> PyErr {
    invalid(error.to_string())
}
