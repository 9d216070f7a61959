//! Reads files and standard input in large blocks and splits them into lines.

use std::io::{self, BufReader, IsTerminal, Read};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use clap::{Args, ValueEnum};
use dedupstore::ByteSize;
use dedupstore::lines::{Line, LineBuffer, Lines, Part, Piece};

use crate::block_source::{BlockSource, Step, Stop};
use crate::decompress::{self, Reading, Source, is_standard_input, name_of};
use crate::error::Failure;
use crate::local_path;
use crate::table::plural;
use crate::value_parsers;

/// The size of a block that is read for records.
const READER_BYTES: usize = 256 << 10;

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
            local_path::check_input(path)?;
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

    /// Sets how the inputs are read.
    pub fn reading(mut self, arguments: &InputArguments) -> Self {
        self.reading.decompress = arguments.decompress == Decompress::Auto;
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

    /// Passes all lines to `consume`; returns their size in bytes. The end of an input ends its
    /// last line, even without a delimiter. A line that an error cuts off is not passed. Stops at
    /// the first input that cannot be read.
    pub fn for_each_block(
        &self,
        line_end: u8,
        mut consume: impl FnMut(Block<'_>) -> Result<(), Failure>,
    ) -> Result<u64, Failure> {
        let mut buffer = self.line_buffer(line_end);
        let mut source = self.source();
        let mut total = 0;
        loop {
            match source.read_into(&mut buffer) {
                Step::Read { bytes, may_wait } => {
                    total += bytes;
                    let mut is_first = true;
                    while let Some(part) = buffer.next_part() {
                        is_first = false;
                        consume(part.into())?;
                    }
                    if is_first {
                        // No line is complete; the consumer has its say all the same.
                        consume(Block::Lines(Lines::default()))?;
                    }
                    if may_wait {
                        consume(Block::Pause)?;
                    }
                }
                Step::EndOfInput => {
                    if let Some(line) = buffer.last_line() {
                        consume(Block::Unterminated(line))?;
                    }
                }
                Step::Failed(Stop::Input(failure) | Stop::Run(failure)) => return Err(failure),
                Step::End => return Ok(total),
            }
        }
    }

    /// Returns the inputs, to be read block by block.
    pub fn source(&self) -> BlockSource {
        BlockSource::new(self.paths.clone(), self.reading.clone())
    }

    /// Returns the number of inputs.
    pub fn count(&self) -> u64 {
        self.paths.len() as u64
    }

    /// Returns an empty buffer for the lines of the inputs.
    pub fn line_buffer(&self, line_end: u8) -> LineBuffer {
        let max_line = usize::try_from(self.max_line.bytes()).unwrap_or(usize::MAX);
        LineBuffer::with_max_line(line_end, max_line)
    }

    /// Opens the inputs one after the other; returns the name and the reader of each. Adds the number
    /// of bytes read, before decompression, to `consumed`.
    pub fn readers(
        &self,
        consumed: &Arc<AtomicU64>,
    ) -> impl Iterator<Item = (String, Result<BufReader<Box<dyn Read + Send>>, Failure>)> {
        self.paths.iter().map(|path| {
            let source = decompress::open(path, &self.reading, consumed);
            let buffered = |source: Source| BufReader::with_capacity(READER_BYTES, source.reader);
            (name_of(path), source.map(buffered))
        })
    }

    /// Returns the largest line that is judged, in bytes.
    pub fn max_line_bytes(&self) -> u64 {
        self.max_line.bytes()
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
