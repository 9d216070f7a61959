//! Prints what was found about each key: text, JSON, or nothing.

use dedupstore::lines::{KeyReader, Piece};
use serde_json::{Value, json};

use crate::error::Failure;
use crate::json_bytes;
use crate::output::Output;

/// What to print for each key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Print {
    Nothing,
    Text { line_end: u8 },
    Json,
}

impl Print {
    /// Returns what the options `--quiet` and `--json` mean.
    pub fn of(quiet: bool, json: bool, line_end: u8) -> Self {
        match (quiet, json) {
            (true, _) => Print::Nothing,
            (false, true) => Print::Json,
            (false, false) => Print::Text { line_end },
        }
    }
}

/// The name of the JSON value that says what was found, and the words for it.
#[derive(Clone, Copy, Debug)]
pub struct Words {
    pub name: &'static str,
    pub found: &'static str,
    pub not_found: &'static str,
}

/// Prints whether each key was found, and remembers whether all were.
pub struct KeyReport {
    pub output: Output,
    print: Print,
    words: Words,
    /// Whether the last piece of a long line had no line end.
    owes_line_end: bool,
    all_found: bool,
}

impl KeyReport {
    /// Prints to standard output.
    pub fn new(print: Print, words: Words) -> Result<Self, Failure> {
        Ok(KeyReport {
            output: match print {
                Print::Nothing => Output::unused()?,
                _ => Output::standard()?,
            },
            print,
            words,
            owes_line_end: false,
            all_found: true,
        })
    }

    /// Whether `key` of [`report`](KeyReport::report) will be shown.
    pub fn shows_keys(&self) -> bool {
        self.print == Print::Json
    }

    /// Whether nothing is printed, so that only [`all_found`](KeyReport::all_found) matters.
    pub fn is_silent(&self) -> bool {
        self.print == Print::Nothing
    }

    /// Whether every key so far was found.
    pub fn all_found(&self) -> bool {
        self.all_found
    }

    /// Prints whether a key was found. Only JSON shows the key besides the input.
    pub fn report(
        &mut self,
        keys: &KeyReader,
        input: &[u8],
        key: Option<&[u8]>,
        found: bool,
    ) -> Result<(), Failure> {
        self.all_found &= found;
        match self.print {
            Print::Nothing => Ok(()),
            Print::Text { line_end } => {
                self.output.put(self.word(found).as_bytes())?;
                self.output.put(b"\t")?;
                self.output.put(input)?;
                self.output.put(&[line_end])
            }
            Print::Json => {
                let mut object = self.object(found);
                json_bytes::insert(&mut object, "input", input);
                if let Some(key) = key {
                    json_bytes::insert(&mut object, "key", keys.shown(key));
                }
                self.output.text(&format!("{object}\n"))
            }
        }
    }

    fn word(&self, found: bool) -> &'static str {
        match found {
            true => self.words.found,
            false => self.words.not_found,
        }
    }

    /// Has all names, so that they are in this order.
    fn object(&self, found: bool) -> Value {
        let mut object = json!({"schema": 1, "input": null, "key": null});
        object[self.words.name] = self.word(found).into();
        object
    }

    /// Prints a piece of a line that is too long for `filter` to record: it was not found.
    pub fn long_line(&mut self, piece: Piece<'_>) -> Result<(), Failure> {
        self.all_found = false;
        match self.print {
            Print::Nothing => Ok(()),
            Print::Json if piece.is_first => {
                let object = self.object(false);
                self.output.text(&format!("{object}\n"))
            }
            Print::Json => Ok(()),
            Print::Text { line_end } => {
                if piece.is_first {
                    self.output.put(self.word(false).as_bytes())?;
                    self.output.put(b"\t")?;
                }
                self.owes_line_end = !piece.bytes.ends_with(&[line_end]);
                self.output.put(piece.bytes)
            }
        }
    }

    /// Ends a long line whose last piece had no line end.
    pub fn end_long_line(&mut self) -> Result<(), Failure> {
        match self.print {
            Print::Text { line_end } if self.owes_line_end => self.output.put(&[line_end]),
            _ => Ok(()),
        }
    }
}
