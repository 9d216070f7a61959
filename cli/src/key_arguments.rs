//! The options that say which part of a line is its key.

use clap::{ArgAction, Args};
use dedupstore::lines::{JsonPath, KeyPattern, KeyReader, KeySelector, Normalization};

use crate::error::Failure;
use crate::table::grouped;
use crate::value_parsers;

/// Which part of a line is the key, and what ends a line.
#[derive(Clone, Debug, Args)]
pub struct KeyArguments {
    /// Use the N-th field of a line as its key, counted from 1, or several fields, as in 1,7
    #[arg(long = "field", value_name = "N", value_delimiter = ',', action = ArgAction::Set,
          value_parser = value_parsers::field, help_heading = "Key", group = "key")]
    fields: Vec<usize>,

    /// The byte that separates fields [default: runs of spaces and tabs]
    #[arg(short = 't', long, value_name = "C", value_parser = value_parsers::delimiter,
          requires = "fields", help_heading = "Key")]
    delimiter: Option<u8>,

    /// Use a value of a JSON line as its key, as in request.url or items[0].link
    #[arg(long, value_name = "PATH", help_heading = "Key", group = "key")]
    json_key: Option<JsonPath>,

    /// Use the match of a regular expression as the key: its first group, or all of it if it has
    /// no group
    #[arg(long, value_name = "RE", help_heading = "Key", group = "key")]
    key_regex: Option<KeyPattern>,

    /// Treat different spellings of a URL as one key, by the WHATWG URL standard and without the
    /// fragment. Other keys stay unchanged [default: none]
    #[arg(long, value_name = "none|whatwg", help_heading = "Key")]
    normalize: Option<Normalization>,

    /// Lines end with NUL instead of a newline
    #[arg(short = 'z', visible_short_alias = '0', long, help_heading = "Key")]
    null: bool,
}

impl KeyArguments {
    /// Returns the part of a line that is its key.
    pub fn selector(&self) -> Result<KeySelector, Failure> {
        Ok(match (&self.json_key, &self.key_regex, &self.fields[..]) {
            (Some(path), _, _) => KeySelector::Json(path.clone()),
            (_, Some(pattern), _) => KeySelector::Pattern(pattern.clone()),
            (None, None, []) => KeySelector::WholeLine,
            (_, _, numbers) => KeySelector::fields(numbers, self.delimiter)?,
        })
    }

    /// Returns a reader of keys for commands that use no store.
    pub fn reader(&self) -> Result<KeyReader, Failure> {
        let normalization = self.normalize.unwrap_or_default();
        Ok(KeyReader::new(self.selector()?, normalization))
    }

    /// Returns the normalization that was asked for.
    pub fn normalization(&self) -> Option<Normalization> {
        self.normalize
    }

    /// Returns the byte that ends a line.
    pub fn line_end(&self) -> u8 {
        if self.null { 0 } else { b'\n' }
    }

    /// Returns the option that chooses the key.
    pub fn key_option(&self) -> &'static str {
        match (&self.json_key, &self.key_regex) {
            (Some(_), _) => "--json-key",
            (_, Some(_)) => "--key-regex",
            _ => "--field",
        }
    }

    /// Returns a message about lines without a key; None if every line has one. `treatment` says
    /// what was done with them.
    pub fn missing_keys(&self, missing: u64, lines: u64, treatment: &str) -> Option<String> {
        let option = self.key_option();
        let what = match option {
            "--json-key" => "value",
            "--key-regex" => "match",
            _ => "field",
        };
        match (missing, lines) {
            (0, _) => None,
            (1, 2..) => Some(format!(
                "1 of {} lines has no such {what} and was {treatment}",
                grouped(lines)
            )),
            (missing, lines) if missing < lines => Some(format!(
                "{} of {} lines have no such {what} and were {treatment}",
                grouped(missing),
                grouped(lines)
            )),
            _ => Some(format!(
                "no line has such a {what}; every line was {treatment}: check {option}"
            )),
        }
    }
}
