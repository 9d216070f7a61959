//! Messages on standard error.
//!
//! Standard error may be a full disk or a pipe whose reader has ended. A message that cannot be
//! written must not end a run, so errors are ignored here; `eprintln!` would panic.

use std::fmt::Display;
use std::io::{self, Write};
use std::sync::{Mutex, PoisonError};

use dedupstore_view::printable;
use indicatif::ProgressBar;

use crate::color::{self, Color};
use crate::error::Failure;

/// The progress line that messages must not garble.
static PROGRESS: Mutex<Option<ProgressBar>> = Mutex::new(None);

/// Writes a message, with the name of the program before it.
pub fn message(text: impl Display) {
    line(format!("dedupstore: {text}"));
}

/// Writes the message of a failure, with the name of the program in red before it.
pub fn failure(failure: &Failure) {
    let name = color::on_stderr(Color::Red, "dedupstore:");
    // It may quote names and texts from files.
    let text = failure.to_string();
    let lines: Vec<_> = text.split('\n').map(printable).collect();
    line(format!("{name} {}", lines.join("\n")));
}

/// Writes a line.
pub fn line(text: impl Display) {
    let text = format!("{text}\n");
    let progress = PROGRESS.lock().unwrap_or_else(PoisonError::into_inner);
    match &*progress {
        Some(bar) => bar.suspend(|| raw(&text)),
        None => raw(&text),
    }
}

/// Writes text as it is.
pub fn raw(text: &str) {
    // In one call, so that messages of several threads are not mixed.
    let _ = io::stderr().write_all(text.as_bytes());
}

/// Makes room for messages above this progress line from now on; None ends that.
pub fn set_progress(bar: Option<ProgressBar>) {
    *PROGRESS.lock().unwrap_or_else(PoisonError::into_inner) = bar;
}
