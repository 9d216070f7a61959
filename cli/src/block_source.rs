//! Reads inputs one after the other, block by block.

use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use dedupstore::lines::LineBuffer;

use crate::compression::Compression;
use crate::decompress::{self, Reading, Source, name_of};
use crate::error::Failure;

/// Several inputs, of which one is open at a time.
pub struct BlockSource {
    paths: std::vec::IntoIter<PathBuf>,
    reading: Reading,
    open: Option<OpenInput>,
    consumed: Arc<AtomicU64>,
}

struct OpenInput {
    path: PathBuf,
    source: Source,
    /// The number of bytes read, after decompression.
    read: u64,
}

/// What a read has brought.
pub enum Step {
    /// Bytes were added to the buffer.
    Read {
        bytes: u64,
        /// Whether the next read may have to wait.
        may_wait: bool,
    },
    /// An input has ended. What is left in the buffer is its last line.
    EndOfInput,
    /// Reading has failed. The buffer is empty.
    Failed(Stop),
    /// All inputs were read.
    End,
}

/// Why reading an input has stopped.
pub enum Stop {
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

impl BlockSource {
    pub fn new(paths: Vec<PathBuf>, reading: Reading) -> Self {
        BlockSource {
            paths: paths.into_iter(),
            reading,
            open: None,
            consumed: Arc::default(),
        }
    }

    /// Returns the number of bytes read from all inputs, before decompression.
    pub fn consumed_bytes(&self) -> u64 {
        self.consumed.load(Ordering::Relaxed)
    }

    /// Reads once.
    pub fn read_into(&mut self, buffer: &mut LineBuffer) -> Step {
        let mut input = match self.open.take() {
            Some(input) => input,
            None => {
                let Some(path) = self.paths.next() else {
                    return Step::End;
                };
                match decompress::open(&path, &self.reading, &self.consumed) {
                    Ok(source) => OpenInput {
                        path,
                        source,
                        read: 0,
                    },
                    Err(failure) => return Step::Failed(Stop::reading(failure)),
                }
            }
        };
        match input.read_into(buffer) {
            Ok((0, _)) => Step::EndOfInput,
            Ok((count, may_wait)) => {
                self.open = Some(input);
                Step::Read {
                    bytes: count as u64,
                    may_wait,
                }
            }
            Err(failure) => {
                buffer.clear();
                Step::Failed(Stop::reading(failure))
            }
        }
    }
}

impl OpenInput {
    /// Returns how many bytes were read, and whether there was room for more.
    fn read_into(&mut self, buffer: &mut LineBuffer) -> Result<(usize, bool), Failure> {
        let space = buffer.space().map_err(|error| Failure::Line {
            name: name_of(&self.path),
            error,
        })?;
        let room = space.len();
        let count = loop {
            match self.source.reader.read(space) {
                Ok(count) => break count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    let compression = self.source.compression;
                    return Err(failure(&self.path, compression, error, self.read));
                }
            }
        };
        self.read += count as u64;
        buffer.filled(count);
        Ok((count, count < room))
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
