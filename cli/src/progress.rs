//! How far it has come, for those who watch.
//!
//! Shown only where standard error is a terminal and standard output is not: lines that
//! scroll by are progress enough.

use std::io::{self, IsTerminal};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::colour::{self, Colour};
use crate::input::Inputs;
use crate::quantity::show_bits;
use crate::table::grouped;

const INTERVAL: Duration = Duration::from_millis(200);

/// A line on the terminal, or nothing.
pub struct Progress {
    bar: Option<ProgressBar>,
    consumed: Arc<AtomicU64>,
    started: Instant,
    next: Instant,
}

impl Progress {
    pub fn new(inputs: &Inputs, quiet: bool) -> Self {
        let now = Instant::now();
        let watched = io::stderr().is_terminal() && !io::stdout().is_terminal();
        let bar = (watched && !quiet && !inputs.is_terminal()).then(|| {
            let (length, template) = match inputs.total_bytes() {
                Some(bytes) => {
                    let bar = colour::on_stderr(Colour::Green, "{bar:20}");
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

    /// Shows how far it is, now and then.
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
            "{} lines, {} a second, {} read",
            grouped(lines),
            grouped((lines as f64 / seconds) as u64),
            show_bits(8 * bytes),
        ));
        bar.set_position(bytes);
    }
}

impl Drop for Progress {
    /// What comes next on the terminal finds an empty line.
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
