//! `dedupstore contains`: looks up keys without recording them.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;
use dedupstore::Verdict;
use dedupstore::lines::{Normalization, Piece};
use dedupstore::store::{Directory, KeyLookup};

use crate::cli::GlobalArguments;
use crate::error::Failure;
use crate::input::{Block, Inputs};
use crate::open_store;
use crate::output::Output;
use crate::standard_error;

/// Look up keys without recording them
///
/// Prints each key, prefixed with `seen` or `new` and a tab. The exit code is 0 if all keys were
/// seen and 1 if not. Works while another process writes to the store, and then sees at least
/// what was durable at the start.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// The store
    #[arg(value_name = "STORE")]
    store: PathBuf,

    /// The keys to look up [default: the lines of standard input]
    #[arg(value_name = "KEY")]
    keys: Vec<OsString>,
}

const EXAMPLES: &str = "\
Examples:
  dedupstore contains links.dds https://harbour.example/ && echo seen
  dedupstore contains links.dds < links.txt | grep -c ^new";

pub fn run(arguments: Arguments, global: &GlobalArguments) -> Result<(), Failure> {
    let inputs = Inputs::check(Vec::new())?;
    let path = &arguments.store;
    let store = KeyLookup::open(path).map_err(Failure::store(path))?;
    let mut lookup = Lookup {
        normalization: open_store::normalization(path, store.parameters())?,
        normalized: Vec::new(),
        path: path.clone(),
        store,
        output: Output::standard()?,
        owes_line_end: false,
        all_seen: true,
    };
    if !arguments.keys.is_empty() {
        for key in &arguments.keys {
            lookup.key(key.as_encoded_bytes())?;
        }
    } else {
        if inputs.is_terminal() && !global.quiet {
            standard_error::message("reading keys from the terminal; end with Ctrl-D");
        }
        inputs.for_each_block(b'\n', |block| match block {
            Block::Lines(mut lines) => lines.try_for_each(|line| lookup.key(line.content)),
            Block::Unterminated(line) => lookup.key(line.content),
            Block::LongLine(piece) => lookup.long_key(piece),
            Block::Pause => lookup.output.flush(),
        })?;
        lookup.end_long_key()?;
    }
    lookup.output.flush()?;
    match lookup.all_seen {
        true => Ok(()),
        false => Err(Failure::AnswerIsNo),
    }
}

struct Lookup {
    path: PathBuf,
    store: KeyLookup<Directory>,
    normalization: Normalization,
    normalized: Vec<u8>,
    output: Output,
    /// Whether the last piece of a long key had no line end.
    owes_line_end: bool,
    all_seen: bool,
}

impl Lookup {
    fn key(&mut self, key: &[u8]) -> Result<(), Failure> {
        let normalized = self.normalization.apply(key, &mut self.normalized);
        let found = self.store.contains(normalized);
        let verdict = found.map_err(Failure::store(&self.path))?;
        self.all_seen &= verdict == Verdict::Seen;
        self.output.put(match verdict {
            Verdict::New => b"new\t",
            Verdict::Seen => b"seen\t",
        })?;
        self.output.put(key)?;
        self.output.put(b"\n")
    }

    /// Handles a piece of a key that is too long for `filter` to record.
    fn long_key(&mut self, piece: Piece<'_>) -> Result<(), Failure> {
        if piece.is_first {
            self.all_seen = false;
            self.output.put(b"new\t")?;
        }
        self.owes_line_end = !piece.bytes.ends_with(b"\n");
        self.output.put(piece.bytes)
    }

    fn end_long_key(&mut self) -> Result<(), Failure> {
        match self.owes_line_end {
            true => self.output.put(b"\n"),
            false => Ok(()),
        }
    }
}
