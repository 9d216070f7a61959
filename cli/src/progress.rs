//! The progress line on the terminal.
//!
//! It is shown only if standard error is a terminal and standard output is not: lines printed to
//! the terminal show the progress themselves.

use std::io::{self, IsTerminal};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::color::{self, Color};
use crate::input::Inputs;
use crate::table::grouped;
use crate::value_parsers::show_bits;

const INTERVAL: Duration = Duration::from_millis(200);

/// The progress line; does nothing if there is no terminal.
pub struct Progress {
    bar: Option<ProgressBar>,
    consumed: Arc<AtomicU64>,
    started: Instant,
    next: Instant,
}

impl Progress {
    pub fn new(inputs: &Inputs, quiet: bool) -> Self {
        let now = Instant::now();
        let visible = io::stderr().is_terminal() && !io::stdout().is_terminal();
        let bar = (visible && !quiet && !inputs.is_terminal()).then(|| {
            let (length, template) = match inputs.total_bytes() {
                Some(bytes) => {
                    let bar = color::on_stderr(Color::Green, "{bar:12}");
                    let template = format!("{bar} {{percent}} %  {{msg}}  {{eta}} left");
                    (Some(bytes), template)
                }
                None => (None, "{msg}".to_owned()),
            };
            let style = ProgressStyle::with_template(&template)
                .unwrap_or_else(|_| ProgressStyle::default_bar());
            let target = ProgressDrawTarget::stderr();
            ProgressBar::with_draw_target(length, target)
                .with_style(style.progress_chars("█▉▊▋▌▍▎▏ "))
        });
        Progress {
            bar,
            consumed: inputs.consumed(),
            started: now,
            next: now + INTERVAL,
        }
    }

    /// Prints a message above the line.
    pub fn message(&self, text: &str) {
        match &self.bar {
            Some(bar) => bar.suspend(|| eprintln!("{text}")),
            None => eprintln!("{text}"),
        }
    }

    /// Updates the line, at most once per interval.
    pub fn show(&mut self, lines: impl FnOnce() -> u64) {
        let Some(bar) = &self.bar else { return };
        let now = Instant::now();
        if now < self.next {
            return;
        }
        self.next = now + INTERVAL;
        let seconds = (now - self.started).as_secs_f64();
        let (lines, bytes) = (lines(), self.consumed.load(Ordering::Relaxed));
        bar.set_message(format!(
            "{} lines, {}/s, {} read",
            grouped(lines),
            grouped((lines as f64 / seconds) as u64),
            show_bits(8 * bytes),
        ));
        bar.set_position(bytes);
    }
}

impl Drop for Progress {
    /// Clears the line for later output.
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
