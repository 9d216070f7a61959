//! An error as it is told of a store that has a name.

use std::io;

use super::error::StoreError;

impl StoreError {
    /// What went wrong with the store of a name, and what to run next.
    pub fn told_of(&self, name: &str) -> String {
        named(&self.to_string(), name) + &self.next_step(name)
    }

    /// What to run next, where the error itself does not say.
    pub fn next_step(&self, name: &str) -> String {
        match self {
            StoreError::NotAStore { .. } => {
                "; it was left alone: name the directory of a store, or make one: dedupstore create OTHER.dds"
                    .to_owned()
            }
            StoreError::AlreadyExists { .. } => {
                format!("; `dedupstore inspect {name}` tells what it holds")
            }
            StoreError::NewerVersion { .. } | StoreError::UnknownFeatures { .. } => {
                "; it was left alone. `dedupstore --version` tells which this one is".to_owned()
            }
            StoreError::Poisoned { .. } => {
                format!("; run it again: opening {name} brings back what was recorded")
            }
            StoreError::Create(_) => "; give another size with --memory".to_owned(),
            StoreError::Io { error, .. } => match error.kind() {
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                    "; make room (`df -h`), or give a smaller --memory".to_owned()
                }
                io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => format!(
                    "; see who may write there with `ls -ld {name}`, and `findmnt -T {name}`"
                ),
                _ => format!("; `dedupstore verify {name}` tells what is whole"),
            },
            _ => String::new(),
        }
    }
}

/// An error's message with the store's name: in the commands that it names, and before it if
/// it would not be said otherwise.
pub fn named(message: &str, name: &str) -> String {
    let mut message = message.to_owned();
    for command in ["inspect", "verify", "repair"] {
        for rest in ["`", " --accept-loss`"] {
            let with_name = format!("`dedupstore {command} {name}{rest}");
            message = message.replace(&format!("`dedupstore {command}{rest}"), &with_name);
        }
    }
    match message.contains(name.trim_end_matches('/')) {
        true => message,
        false => format!("{name}: {message}"),
    }
}
