//! Which part of a line is its key, as options.

use clap::{ArgAction, Args};
use dedupstore::lines::{JsonPath, KeyPattern, KeyReader, KeySelector, Normalization};

use crate::error::Failure;
use crate::quantity;

/// Which part of a line is the key, and how lines end.
#[derive(Clone, Debug, Args)]
pub struct KeyArguments {
    /// Use the N-th field of a line as its key, from 1, or several as 1,7; a line without
    /// them is passed on
    #[arg(long = "field", value_name = "N", value_delimiter = ',', action = ArgAction::Set,
          help_heading = "Key", group = "key")]
    fields: Vec<usize>,

    /// What separates fields: one byte [default: runs of blanks and tabs]
    #[arg(short = 't', long, value_name = "C", value_parser = quantity::delimiter,
          requires = "fields", help_heading = "Key")]
    delimiter: Option<u8>,

    /// Use a value of a JSON line, like request.url or items[0].link; a line without one is
    /// passed on
    #[arg(long, value_name = "PATH", help_heading = "Key", group = "key")]
    json_key: Option<JsonPath>,

    /// Use what a regular expression matches: its first group, or all of it; a line without a
    /// match is passed on
    #[arg(long, value_name = "RE", help_heading = "Key", group = "key")]
    key_regex: Option<KeyPattern>,

    /// Take different spellings of a URL for one, by the WHATWG's rules, fragment dropped;
    /// what is no URL stays as it is [default: none, or the store's]
    #[arg(long, value_name = "none|whatwg", help_heading = "Key")]
    normalize: Option<Normalization>,

    /// Lines end in NUL, not in a newline
    #[arg(short = 'z', visible_short_alias = '0', long, help_heading = "Key")]
    null: bool,
}

impl KeyArguments {
    /// What finds the keys, where no store has a say.
    pub fn reader(&self) -> Result<KeyReader, Failure> {
        self.reader_with(self.normalize.unwrap_or_default())
    }

    /// What finds the keys, under the normalization of a store.
    pub fn reader_with(&self, normalization: Normalization) -> Result<KeyReader, Failure> {
        let selector = match (&self.json_key, &self.key_regex, &self.fields[..]) {
            (Some(path), _, _) => KeySelector::Json(path.clone()),
            (_, Some(pattern), _) => KeySelector::Pattern(pattern.clone()),
            (None, None, []) => KeySelector::WholeLine,
            (_, _, numbers) => KeySelector::fields(numbers, self.delimiter)?,
        };
        Ok(KeyReader::new(selector, normalization))
    }

    /// What was asked for.
    pub fn normalization(&self) -> Option<Normalization> {
        self.normalize
    }

    pub fn line_end(&self) -> u8 {
        if self.null { 0 } else { b'\n' }
    }

    /// What a line without a key lacks.
    pub fn lacking(&self) -> &'static str {
        match (&self.json_key, &self.key_regex) {
            (Some(_), _) => "value",
            (_, Some(_)) => "match",
            _ => "field",
        }
    }
}
