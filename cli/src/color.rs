//! Whether to colour what people read.

use std::ffi::OsString;
use std::io::{self, IsTerminal};
use std::sync::OnceLock;

use clap::ValueEnum;

/// When to colour.
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

/// What was asked for, found before the command line is parsed: parsing may fail, in colour.
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

fn wanted(stream: &impl IsTerminal) -> bool {
    match CHOICE.get().copied().unwrap_or_default() {
        When::Always => true,
        When::Never => false,
        When::Auto => {
            let forbidden = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
            let dumb = std::env::var_os("TERM").is_some_and(|value| value == "dumb");
            stream.is_terminal() && !forbidden && !dumb
        }
    }
}

/// A colour on standard error.
#[derive(Clone, Copy)]
pub enum Colour {
    Red,
    Green,
}

/// The text, in the colour if standard error has colours.
pub fn on_stderr(colour: Colour, text: &str) -> String {
    paint(colour, text, wanted(&io::stderr()))
}

/// The text, in the colour if standard output has colours.
pub fn on_stdout(colour: Colour, text: &str) -> String {
    paint(colour, text, wanted(&io::stdout()))
}

fn paint(colour: Colour, text: &str, wanted: bool) -> String {
    let code = match colour {
        Colour::Red => 31,
        Colour::Green => 32,
    };
    match wanted {
        true => format!("\x1b[{code}m{text}\x1b[0m"),
        false => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colour_only_where_it_is_wanted() {
        assert_eq!(paint(Colour::Red, "x", true), "\x1b[31mx\x1b[0m");
        assert_eq!(paint(Colour::Green, "x", false), "x");
    }
}
