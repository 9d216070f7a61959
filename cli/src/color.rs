//! Decides whether to use colors.

use std::ffi::OsString;
use std::io::{self, IsTerminal};
use std::sync::OnceLock;

use clap::ValueEnum;

/// When to use colors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum When {
    /// On a terminal, unless NO_COLOR is set
    #[default]
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

static CHOICE: OnceLock<When> = OnceLock::new();

/// Finds `--color` before the command line is parsed, because parse errors are colored too.
pub fn choose(arguments: impl Iterator<Item = OsString>) -> When {
    let mut choice = When::Auto;
    let mut expected = false;
    for argument in arguments.take_while(|argument| argument != "--") {
        let text = argument.to_string_lossy();
        let value = match text.strip_prefix("--color") {
            Some("") => {
                expected = true;
                continue;
            }
            Some(rest) => rest.strip_prefix('=').unwrap_or(rest),
            None if expected => &text,
            None => continue,
        };
        expected = false;
        if let Ok(when) = When::from_str(value, false) {
            choice = when;
        }
    }
    *CHOICE.get_or_init(|| choice)
}

impl From<When> for clap::ColorChoice {
    fn from(when: When) -> Self {
        match when {
            When::Auto => clap::ColorChoice::Auto,
            When::Always => clap::ColorChoice::Always,
            When::Never => clap::ColorChoice::Never,
        }
    }
}

fn is_enabled(stream: &impl IsTerminal) -> bool {
    match CHOICE.get().copied().unwrap_or_default() {
        When::Always => true,
        When::Never => false,
        When::Auto => {
            let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
            let dumb = std::env::var_os("TERM").is_some_and(|value| value == "dumb");
            stream.is_terminal() && !no_color && !dumb
        }
    }
}

/// A text color.
#[derive(Clone, Copy)]
pub enum Color {
    Red,
    Green,
}

/// Colors a text if colors are enabled for standard error.
pub fn on_stderr(color: Color, text: &str) -> String {
    paint(color, text, is_enabled(&io::stderr()))
}

/// Colors a text if colors are enabled for standard output.
pub fn on_stdout(color: Color, text: &str) -> String {
    paint(color, text, is_enabled(&io::stdout()))
}

fn paint(color: Color, text: &str, enabled: bool) -> String {
    let code = match color {
        Color::Red => 31,
        Color::Green => 32,
    };
    match enabled {
        true => format!("\x1b[{code}m{text}\x1b[0m"),
        false => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_colored_only_if_enabled() {
        assert_eq!(paint(Color::Red, "x", true), "\x1b[31mx\x1b[0m");
        assert_eq!(paint(Color::Green, "x", false), "x");
    }
}
