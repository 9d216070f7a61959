//! Files and standard input, read in large blocks and split into lines.

use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::path::{Path, PathBuf};

use clap::Args;
use dedupstore::lines::{KeySelector, LineBuffer, Lines};

use crate::error::Failure;
use crate::quantity;

/// Which part of a line is the key.
#[derive(Debug, Args)]
pub struct KeyArguments {
    /// Use the N-th field of a line as its key, from 1; a line without one is passed on
    #[arg(long, value_name = "N", help_heading = "Key")]
    field: Option<usize>,

    /// What separates fields: one byte [default: runs of blanks and tabs]
    #[arg(short = 't', long, value_name = "C", value_parser = quantity::delimiter,
          requires = "field", help_heading = "Key")]
    delimiter: Option<u8>,

    /// Lines end in NUL, not in a newline
    #[arg(short = 'z', visible_short_alias = '0', long, help_heading = "Key")]
    null: bool,
}

impl KeyArguments {
    pub fn selector(&self) -> Result<KeySelector, Failure> {
        match self.field {
            Some(number) => Ok(KeySelector::field(number, self.delimiter)?),
            None => Ok(KeySelector::WholeLine),
        }
    }

    pub fn line_end(&self) -> u8 {
        if self.null { 0 } else { b'\n' }
    }
}

/// The inputs named on the command line, in order; standard input if there are none.
#[derive(Debug)]
pub struct Inputs {
    paths: Vec<PathBuf>,
}

impl Inputs {
    /// Checks that every file can be opened before any is read.
    pub fn check(paths: Vec<PathBuf>) -> Result<Self, Failure> {
        for path in paths.iter().filter(|path| !is_standard_input(path)) {
            open(path)?;
        }
        Ok(Inputs { paths })
    }

    /// A name for the whole.
    pub fn name(&self) -> String {
        let names: Vec<String> = self.paths.iter().map(|path| name_of(path)).collect();
        match names.is_empty() {
            true => name_of(Path::new("-")),
            false => names.join(" "),
        }
    }

    /// Standard input is a person who may be wondering what we wait for.
    pub fn is_terminal(&self) -> bool {
        let standard = self.paths.is_empty() || self.paths.iter().any(|p| is_standard_input(p));
        standard && io::stdin().is_terminal()
    }

    /// Hands over all lines. Each input ends its last line, whether a delimiter does or
    /// not. `end_of_read` says whether more is likely to follow at once.
    pub fn for_each_block(
        &self,
        line_end: u8,
        mut consume: impl FnMut(Block<'_>) -> Result<(), Failure>,
    ) -> Result<u64, Failure> {
        let mut buffer = LineBuffer::new(line_end);
        let mut bytes = 0;
        let standard_input = [PathBuf::from("-")];
        let paths = match self.paths.is_empty() {
            true => &standard_input[..],
            false => &self.paths[..],
        };
        for path in paths {
            let mut source: Box<dyn Read> = match is_standard_input(path) {
                true => Box::new(io::stdin().lock()),
                false => Box::new(open(path)?),
            };
            bytes += read_blocks(&mut source, &name_of(path), &mut buffer, &mut consume)?;
        }
        Ok(bytes)
    }
}

/// Part of the input.
pub enum Block<'a> {
    /// Whole lines, each with its delimiter.
    Lines(Lines<'a>),
    /// The last line of an input, which no delimiter ends.
    Unterminated(dedupstore::lines::Line<'a>),
    /// Nothing more can be had without waiting.
    Pause,
}

fn read_blocks(
    source: &mut dyn Read,
    name: &str,
    buffer: &mut LineBuffer,
    consume: &mut impl FnMut(Block<'_>) -> Result<(), Failure>,
) -> Result<u64, Failure> {
    let mut bytes = 0;
    loop {
        let space = buffer.space().map_err(|error| Failure::Line {
            name: name.to_owned(),
            error,
        })?;
        let room = space.len();
        let count = match source.read(space) {
            Ok(0) => break,
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => {
                return Err(Failure::Read {
                    name: name.to_owned(),
                    error,
                });
            }
        };
        bytes += count as u64;
        buffer.filled(count);
        consume(Block::Lines(buffer.complete_lines()))?;
        if count < room {
            consume(Block::Pause)?;
        }
    }
    if let Some(line) = buffer.last_line() {
        consume(Block::Unterminated(line))?;
    }
    Ok(bytes)
}

fn is_standard_input(path: &Path) -> bool {
    path == Path::new("-")
}

fn name_of(path: &Path) -> String {
    match is_standard_input(path) {
        true => "standard input".to_owned(),
        false => path.display().to_string(),
    }
}

fn open(path: &Path) -> Result<File, Failure> {
    let failed = |error| Failure::Open {
        path: path.to_owned(),
        error,
    };
    let file = File::open(path).map_err(failed)?;
    if file.metadata().map_err(failed)?.is_dir() {
        return Err(Failure::Directory {
            path: path.to_owned(),
        });
    }
    Ok(file)
}
