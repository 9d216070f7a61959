//! The progress line on the terminal.
//!
//! It is shown only if standard error is a terminal and standard output is not: lines printed to
//! the terminal show the progress themselves.

use std::io::{self, IsTerminal};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::color::{self, Color};
use crate::input::Inputs;
use crate::line_filter::RunCounts;
use crate::standard_error;
use crate::table::plural;
use crate::value_parsers::show_bits;

const INTERVAL: Duration = Duration::from_millis(200);

/// The progress line; does nothing if there is no terminal.
pub struct Progress {
    bar: Option<ProgressBar>,
    counts: Arc<RunCounts>,
    started: Instant,
    next: Instant,
}

impl Progress {
    pub fn new(inputs: &Inputs, counts: &Arc<RunCounts>, quiet: bool) -> Self {
        let now = Instant::now();
        let visible = io::stderr().is_terminal() && !io::stdout().is_terminal();
        let bar = (visible && !quiet && !inputs.is_terminal()).then(|| {
            let (length, template) = match inputs.total_bytes() {
                Some(bytes) => {
                    let bar = color::on_stderr(Color::Green, "{bar:12}");
                    let template = format!("{bar} {{percent:>3}} %  {{msg}}, {{eta}} left");
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
        standard_error::set_progress(bar.clone());
        Progress {
            bar,
            counts: Arc::clone(counts),
            started: now,
            next: now + INTERVAL,
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
        let bytes = self.counts.consumed_bytes.load(Ordering::Relaxed);
        let lines = lines();
        bar.set_message(message(lines, lines as f64 / seconds, bytes));
        bar.set_position(bytes);
    }
}

impl Drop for Progress {
    /// Clears the line for later output.
    fn drop(&mut self) {
        standard_error::set_progress(None);
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// Returns the numbers of the line. With the bar, the percentage and the time left it fits into
/// 80 columns.
fn message(lines: u64, lines_per_second: f64, bytes: u64) -> String {
    format!(
        "{}, {}/s, {} read",
        plural(lines, "line"),
        rate(lines_per_second),
        show_bits(8 * bytes),
    )
}

/// Formats a rate with three significant digits: `950`, `12.3k`, `4.56M`.
fn rate(per_second: f64) -> String {
    let (value, unit) = match per_second {
        rate if rate < 999.5 => return format!("{rate:.0}"),
        rate if rate < 999.5e3 => (rate / 1e3, "k"),
        rate if rate < 999.5e6 => (rate / 1e6, "M"),
        rate => (rate / 1e9, "G"),
    };
    let digits = match value {
        value if value < 9.995 => 2,
        value if value < 99.95 => 1,
        _ => 0,
    };
    format!("{value:.digits$}{unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_have_three_significant_digits() {
        for (per_second, text) in [
            (0.0, "0"),
            (950.4, "950"),
            (999.9, "1.00k"),
            (12_345.0, "12.3k"),
            (123_456.0, "123k"),
            (4_560_000.0, "4.56M"),
            (99_960_000.0, "100M"),
            (2e9, "2.00G"),
        ] {
            assert_eq!(rate(per_second), text);
        }
    }

    /// The bar, the percentage, the time left, and what is between them.
    #[test]
    fn a_long_run_fits_into_80_columns() {
        let around = "████████████ 100 %  , 59m left".chars().count();
        let message = message(987_654_321_987, 123_456_789.0, 1023 << 30);
        let columns = around + message.chars().count();
        assert!(columns <= 80, "{columns}: {message}");
        assert_eq!(super::message(1, 1.0, 1), "1 line, 1/s, 1 B read");
    }
}
