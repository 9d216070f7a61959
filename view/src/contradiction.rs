//! Messages about options that contradict a store.

use std::fmt::Display;

use dedupstore::store::{CreateOption, StoreError};

use crate::create_command::CreateCommand;
use crate::errors::{error_message, flag};
use crate::key::{
    created_for_key, created_for_time, drop_options, importance_contradiction, line_end_in_words,
    line_end_option, selector_options, time_options,
};
use crate::printable::printable;
use crate::time::span_option;

/// Formats the error of an option that contradicts a store, with the command that creates another
/// store like it and with the option; other errors as [`error_message`] does.
pub fn contradiction_message(
    path: impl Display,
    error: &StoreError,
    like_it: &CreateCommand,
) -> String {
    let path = path.to_string();
    let message = match error {
        StoreError::OptionMismatch {
            option,
            stored,
            requested,
        } => mismatch_message(&path, *option, stored, requested, Some(like_it)),
        _ => None,
    };
    match message {
        Some(message) => printable(&message).into_owned(),
        None => error_message(path, error),
    }
}

/// Says that an option contradicts the store; None if the command line has no such option.
pub(crate) fn mismatch_message(
    path: &str,
    option: CreateOption,
    stored: &str,
    requested: &str,
    like_it: Option<&CreateCommand>,
) -> Option<String> {
    let other = like_it.and_then(|like_it| like_it.with(option, requested));
    let has_window = like_it.is_none_or(|it| it.window.is_some());
    let (created, flags) = match option {
        CreateOption::Key => (created_for_key(stored), selector_options(requested)),
        CreateOption::DropParameters => {
            let created = match stored {
                "" => "without --drop-parameter".to_owned(),
                stored => format!("with {}", drop_options(stored)),
            };
            (created, drop_options(requested))
        }
        CreateOption::Time if !has_window => {
            let flags = time_options(requested);
            let command = other.map_or(String::new(), |other| other.to_string());
            return Some(format!(
                "{path} was created without a window that is measured in seconds, so {flags} has no \
                 meaning for it; omit the option, or create another store: {command} --window SPAN"
            ));
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
    let command = match other {
        Some(other) => other.to_string(),
        None => format!("dedupstore create OTHER.dds {needed}{flags}"),
    };
    Some(format!(
        "{path} was created {created}, which contradicts {flags}; omit the option, or create \
         another store: {command}"
    ))
}
