//! What a command says that has waited for another process in vain.

use std::fmt::Display;
use std::time::Duration;

use crate::printable::printable;

/// How much longer than the last time to wait.
const LONGER: u32 = 10;

/// Says that the store at a path is still in use after so much time; `in_use` says by whom.
///
/// ```
/// use std::time::Duration;
/// use dedupstore_view::still_in_use_message;
///
/// let in_use = "a.dds is in use by another process (PID 7)";
/// assert_eq!(
///     still_in_use_message("a.dds", in_use, Duration::from_secs(1)),
///     "a.dds is in use by another process (PID 7), and still was after waiting for 1s; wait \
///      longer, for example with --wait=10s, or with --wait until it ends. Reading needs no lock: \
///      dedupstore inspect a.dds"
/// );
/// ```
pub fn still_in_use_message(path: impl Display, in_use: &str, waited: Duration) -> String {
    let longer = time_option(waited.saturating_mul(LONGER));
    let message = format!(
        "{in_use}, and still was after waiting for {}; wait longer, for example with \
         --wait={longer}, or with --wait until it ends. Reading needs no lock: dedupstore inspect \
         {path}",
        time_option(waited)
    );
    printable(&message).into_owned()
}

/// Writes a time as the options of the command line take it, with the largest unit that divides
/// it.
fn time_option(time: Duration) -> String {
    let milliseconds = time.as_millis();
    let units = [
        ("d", 86_400_000),
        ("h", 3_600_000),
        ("m", 60_000),
        ("s", 1000),
    ];
    let unit = units
        .into_iter()
        .find(|(_, unit)| milliseconds > 0 && milliseconds.is_multiple_of(*unit));
    let (name, unit) = unit.unwrap_or(("ms", 1));
    format!("{}{name}", milliseconds / unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_as_options_take_them() {
        for (milliseconds, text) in [
            (0, "0ms"),
            (200, "200ms"),
            (1000, "1s"),
            (90_000, "90s"),
            (120_000, "2m"),
            (36_000_000, "10h"),
        ] {
            assert_eq!(time_option(Duration::from_millis(milliseconds)), text);
        }
    }
}
