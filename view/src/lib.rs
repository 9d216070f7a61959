//! The texts that people read, worded once for the command line and the page.
//!
//! The engine returns data: counts, an [`Inspection`](dedupstore::store::Inspection), typed
//! errors. This crate turns them into text: numbers with units, the report of
//! `dedupstore inspect`, and the sentence that names the command to run after an error.

mod change_errors;
mod contradiction;
mod create_command;
mod drop_chance;
mod errors;
mod growth;
mod inspection;
mod key;
mod numbers;
mod printable;
mod time;
mod waiting;
mod window;

#[cfg(not(target_family = "wasm"))]
pub use change_errors::merge_error_message;
pub use contradiction::contradiction_message;
pub use create_command::CreateCommand;
pub use drop_chance::{LimitReached, drop_chance_warning};
pub use errors::{
    build_error_message, create_error_message, error_message, key_error_message,
    repair_error_message,
};
pub use inspection::{Rates, inspection_report};
pub use key::{key_in_words, key_options, key_options_quoted};
pub use numbers::{duration, grouped, percent, plural, show_bits};
pub use printable::{printable, printable_json};
pub use time::{forgetting, moment, span, span_option};
pub use waiting::still_in_use_message;
pub use window::clock_ahead_warning;
