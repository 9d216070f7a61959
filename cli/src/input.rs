//! Files and standard input, read in large blocks and split into lines.

use std::io::{self, IsTerminal, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use clap::{Args, ValueEnum};
use dedupstore::lines::{LineBuffer, Lines};

use crate::error::Failure;
use crate::source::{self, Packing, Reading, Source, is_standard_input, name_of};

/// How inputs are read.
#[derive(Clone, Debug, Args)]
pub struct InputArguments {
    /// Whether inputs packed with gzip or Zstandard are unpacked; they are told by their first
    /// bytes
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    decompress: Decompress,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Decompress {
    Auto,
    Never,
}

/// The inputs named on the command line, in order; standard input if there are none.
#[derive(Debug)]
pub struct Inputs {
    paths: Vec<PathBuf>,
    reading: Reading,
}

impl Inputs {
    /// Checks that every file can be opened before any is read.
    pub fn check(mut paths: Vec<PathBuf>) -> Result<Self, Failure> {
        for path in paths.iter().filter(|path| !is_standard_input(path)) {
            source::open_file(path)?;
        }
        if paths.is_empty() {
            paths.push(PathBuf::from("-"));
        }
        Ok(Inputs {
            paths,
            reading: Reading::default(),
        })
    }

    /// Read as asked for; unpacked in a thread of its own if `ahead`.
    pub fn reading(mut self, arguments: &InputArguments, ahead: bool) -> Self {
        self.reading.unpack = arguments.decompress == Decompress::Auto;
        self.reading.ahead = ahead;
        self
    }

    /// A name for the whole.
    pub fn name(&self) -> String {
        let names: Vec<String> = self.paths.iter().map(|path| name_of(path)).collect();
        names.join(" ")
    }

    /// Standard input is a person who may be wondering what we wait for.
    pub fn is_terminal(&self) -> bool {
        self.paths.iter().any(|path| is_standard_input(path)) && io::stdin().is_terminal()
    }

    /// How many bytes there are to read, if all are files.
    pub fn total_bytes(&self) -> Option<u64> {
        let length = |path: &PathBuf| {
            let metadata = path.metadata().ok().filter(|metadata| metadata.is_file());
            metadata.map(|metadata| metadata.len())
        };
        match self.paths.iter().any(|path| is_standard_input(path)) {
            true => None,
            false => self.paths.iter().map(length).sum(),
        }
    }

    /// How many of these have been read, as it goes on.
    pub fn consumed(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.reading.consumed)
    }

    /// Hands over all lines, and returns how many bytes they had. Each input ends its last
    /// line, whether a delimiter does or not; a line that an error cuts off is no line.
    pub fn for_each_block(
        &self,
        line_end: u8,
        mut consume: impl FnMut(Block<'_>) -> Result<(), Failure>,
    ) -> Result<u64, Failure> {
        let mut buffer = LineBuffer::new(line_end);
        let mut bytes = 0;
        for path in &self.paths {
            let source = source::open(path, &self.reading)?;
            bytes += read_blocks(source, path, &mut buffer, &mut consume)?;
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
    source: Source,
    path: &Path,
    buffer: &mut LineBuffer,
    consume: &mut impl FnMut(Block<'_>) -> Result<(), Failure>,
) -> Result<u64, Failure> {
    let Source {
        mut reader,
        packing,
    } = source;
    let mut bytes = 0;
    loop {
        let space = buffer.space().map_err(|error| Failure::Line {
            name: name_of(path),
            error,
        })?;
        let room = space.len();
        let count = match reader.read(space) {
            Ok(0) => break,
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(failure(path, packing, error, bytes)),
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

fn failure(path: &Path, packing: Option<Packing>, error: io::Error, bytes: u64) -> Failure {
    let name = name_of(path);
    match packing {
        Some(packing) if error.kind() != io::ErrorKind::BrokenPipe => Failure::Packed {
            name,
            packing,
            error,
            bytes,
        },
        _ => Failure::reading(&name, error),
    }
}
