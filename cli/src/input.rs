//! Reads files and standard input in large blocks and splits them into lines.

use std::io::{self, IsTerminal, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use clap::{Args, ValueEnum};
use dedupstore::lines::{LineBuffer, Lines};

use crate::decompress::{self, Compression, Reading, Source, is_standard_input, name_of};
use crate::error::Failure;

/// The options that say how inputs are read.
#[derive(Clone, Debug, Args)]
pub struct InputArguments {
    /// Whether to decompress gzip and Zstandard inputs, which are recognized by their first bytes
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
            decompress::open_file(path)?;
        }
        if paths.is_empty() {
            paths.push(PathBuf::from("-"));
        }
        Ok(Inputs {
            paths,
            reading: Reading::default(),
        })
    }

    /// Sets how the inputs are read; with `ahead`, a separate thread decompresses them.
    pub fn reading(mut self, arguments: &InputArguments, ahead: bool) -> Self {
        self.reading.decompress = arguments.decompress == Decompress::Auto;
        self.reading.ahead = ahead;
        self
    }

    /// Returns the names of all inputs.
    pub fn name(&self) -> String {
        let names: Vec<String> = self.paths.iter().map(|path| name_of(path)).collect();
        names.join(" ")
    }

    /// Returns whether an input is a terminal, whose user may wonder what the program waits for.
    pub fn is_terminal(&self) -> bool {
        self.paths.iter().any(|path| is_standard_input(path)) && io::stdin().is_terminal()
    }

    /// Returns the size of all inputs in bytes; None if one of them is not a file.
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

    /// Returns the counter of the bytes read so far.
    pub fn consumed(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.reading.consumed)
    }

    /// Passes all lines to `consume`; returns their size in bytes. The end of an input ends its
    /// last line, even without a delimiter. A line that an error cuts off is not passed.
    pub fn for_each_block(
        &self,
        line_end: u8,
        mut consume: impl FnMut(Block<'_>) -> Result<(), Failure>,
    ) -> Result<u64, Failure> {
        let mut buffer = LineBuffer::new(line_end);
        let mut bytes = 0;
        for path in &self.paths {
            let source = decompress::open(path, &self.reading)?;
            bytes += read_blocks(source, path, &mut buffer, &mut consume)?;
        }
        Ok(bytes)
    }
}

/// Part of the input.
pub enum Block<'a> {
    /// Complete lines, each with its delimiter.
    Lines(Lines<'a>),
    /// The last line of an input, which has no delimiter.
    Unterminated(dedupstore::lines::Line<'a>),
    /// The next read may have to wait.
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
        compression,
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
            Err(error) => return Err(failure(path, compression, error, bytes)),
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

fn failure(path: &Path, compression: Option<Compression>, error: io::Error, bytes: u64) -> Failure {
    match compression {
        Some(compression) if error.kind() != io::ErrorKind::BrokenPipe => Failure::Decompress {
            path: path.to_owned(),
            compression,
            error,
            bytes,
        },
        _ => Failure::reading(&name_of(path), error),
    }
}
