//! Reads files and standard input in large blocks and splits them into lines.

use std::io::{self, IsTerminal, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use clap::{Args, ValueEnum};
use dedupstore::ByteSize;
use dedupstore::lines::{Line, LineBuffer, Lines, Part, Piece};

use crate::compression::Compression;
use crate::decompress::{self, Reading, Source, is_standard_input, name_of};
use crate::error::Failure;
use crate::table::plural;
use crate::value_parsers;

const DEFAULT_MAX_LINE: ByteSize = ByteSize::from_bytes(64 << 20);

/// The options that say how inputs are read.
#[derive(Clone, Debug, Args)]
pub struct InputArguments {
    /// Whether to decompress gzip, Zstandard, xz, bzip2 and LZ4 inputs, which are recognized by
    /// their first bytes
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    decompress: Decompress,

    /// The longest line that is judged. A longer one is treated like a line without a key, and
    /// does not need memory for all of it
    #[arg(long, value_name = "SIZE", default_value_t = DEFAULT_MAX_LINE,
          value_parser = value_parsers::max_line)]
    max_line: ByteSize,
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
    max_line: ByteSize,
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
            max_line: DEFAULT_MAX_LINE,
        })
    }

    /// Sets how the inputs are read; with `ahead`, a separate thread decompresses them.
    pub fn reading(mut self, arguments: &InputArguments, ahead: bool) -> Self {
        self.reading.decompress = arguments.decompress == Decompress::Auto;
        self.reading.ahead = ahead;
        self.max_line = arguments.max_line;
        self
    }

    /// Reads on when the reader of standard output has ended: for a command that prints nothing.
    pub fn without_output(mut self) -> Self {
        self.reading.has_output = false;
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
    /// last line, even without a delimiter. A line that an error cuts off is not passed. Stops at
    /// the first input that cannot be read.
    pub fn for_each_block(
        &self,
        line_end: u8,
        mut consume: impl FnMut(Block<'_>) -> Result<(), Failure>,
    ) -> Result<u64, Failure> {
        let mut buffer = self.line_buffer(line_end);
        let mut bytes = 0;
        for path in &self.paths {
            match self.read_blocks(path, &mut buffer, &mut bytes, &mut consume) {
                Ok(()) => {}
                Err(Stop::Input(failure) | Stop::Run(failure)) => return Err(failure),
            }
        }
        Ok(bytes)
    }

    /// Passes the lines of all inputs to `consume`, also if some inputs cannot be read. If there
    /// are several, each problem is passed to `report` when it happens.
    pub fn for_each_block_despite_problems(
        &self,
        line_end: u8,
        mut consume: impl FnMut(Block<'_>) -> Result<(), Failure>,
        report: impl Fn(&Failure),
    ) -> Result<ReadInputs, Failure> {
        let mut buffer = self.line_buffer(line_end);
        let mut read = ReadInputs::default();
        let (mut failed, total) = (0, self.paths.len() as u64);
        for path in &self.paths {
            match self.read_blocks(path, &mut buffer, &mut read.bytes, &mut consume) {
                Ok(()) => {}
                Err(Stop::Run(failure)) => return Err(failure),
                Err(Stop::Input(failure)) if total == 1 => read.problem = Some(failure),
                Err(Stop::Input(failure)) => {
                    report(&failure);
                    failed += 1;
                    read.problem = Some(Failure::Inputs { failed, total });
                    buffer.clear();
                }
            }
        }
        Ok(read)
    }

    /// Returns a message about lines that were too long; None if there are none. `treatment` says
    /// what was done with them.
    pub fn too_long(&self, lines: u64, treatment: &str) -> Option<String> {
        let (are, were) = match lines {
            0 => return None,
            1 => ("is", "was"),
            _ => ("are", "were"),
        };
        Some(format!(
            "{} {are} longer than {} and {were} {treatment}; --max-line sets another limit",
            plural(lines, "line"),
            self.max_line
        ))
    }

    fn line_buffer(&self, line_end: u8) -> LineBuffer {
        let max_line = usize::try_from(self.max_line.bytes()).unwrap_or(usize::MAX);
        LineBuffer::with_max_line(line_end, max_line)
    }

    /// Passes the lines of one input to `consume`, and adds their size to `bytes`.
    fn read_blocks(
        &self,
        path: &Path,
        buffer: &mut LineBuffer,
        bytes: &mut u64,
        consume: &mut impl FnMut(Block<'_>) -> Result<(), Failure>,
    ) -> Result<(), Stop> {
        let Source {
            mut reader,
            compression,
        } = decompress::open(path, &self.reading).map_err(Stop::reading)?;
        let mut read = 0;
        let result = loop {
            let space = buffer.space().map_err(|error| {
                Stop::Input(Failure::Line {
                    name: name_of(path),
                    error,
                })
            })?;
            let room = space.len();
            let count = match reader.read(space) {
                Ok(0) => break Ok(()),
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => break Err(failure(path, compression, error, read)),
            };
            read += count as u64;
            buffer.filled(count);
            let mut is_first = true;
            while let Some(part) = buffer.next_part() {
                is_first = false;
                consume(part.into()).map_err(Stop::Run)?;
            }
            if is_first {
                // No line is complete; the consumer has its say all the same.
                consume(Block::Lines(Lines::default())).map_err(Stop::Run)?;
            }
            if count < room {
                consume(Block::Pause).map_err(Stop::Run)?;
            }
        };
        *bytes += read;
        result.map_err(Stop::reading)?;
        match buffer.last_line() {
            Some(line) => consume(Block::Unterminated(line)).map_err(Stop::Run),
            None => Ok(()),
        }
    }
}

/// What was read of all inputs.
#[derive(Debug, Default)]
pub struct ReadInputs {
    /// The size of their text in bytes.
    pub bytes: u64,
    /// Why not everything was read.
    pub problem: Option<Failure>,
}

/// Why reading an input has stopped.
enum Stop {
    /// The input cannot be read; another one may be.
    Input(Failure),
    /// The run ends.
    Run(Failure),
}

impl Stop {
    /// Wraps an error of reading. A closed output ends the run.
    fn reading(failure: Failure) -> Self {
        match failure {
            Failure::ClosedPipe => Stop::Run(failure),
            _ => Stop::Input(failure),
        }
    }
}

/// Part of the input.
pub enum Block<'a> {
    /// Complete lines, each with its delimiter.
    Lines(Lines<'a>),
    /// The last line of an input, which has no delimiter.
    Unterminated(Line<'a>),
    /// A piece of a line that is longer than --max-line.
    LongLine(Piece<'a>),
    /// The next read may have to wait.
    Pause,
}

impl<'a> From<Part<'a>> for Block<'a> {
    fn from(part: Part<'a>) -> Self {
        match part {
            Part::Lines(lines) => Block::Lines(lines),
            Part::LongLine(piece) => Block::LongLine(piece),
        }
    }
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
