//! Opens an input, a file or standard input, and decompresses it if it is compressed.
//!
//! The first bytes tell how an input is compressed. A name like `links.gz` whose content is not
//! compressed is an error, because its bytes may not be lines at all.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::closed_pipe;
use crate::compression::{Compression, MAGIC_BYTES};
use crate::decoder;
use crate::error::Failure;

const BUFFER_BYTES: usize = 64 << 10;

/// How inputs are read.
#[derive(Clone, Debug)]
pub struct Reading {
    /// Whether to decompress.
    pub decompress: bool,
    /// Whether standard output gets the result, so that its end ends the reading.
    pub has_output: bool,
}

impl Default for Reading {
    fn default() -> Self {
        Reading {
            decompress: true,
            has_output: true,
        }
    }
}

/// An open input.
pub struct Source {
    pub reader: Box<dyn Read + Send>,
    pub compression: Option<Compression>,
}

/// Opens an input. Adds the number of bytes read from it, before decompression, to `consumed`.
pub fn open(path: &Path, reading: &Reading, consumed: &Arc<AtomicU64>) -> Result<Source, Failure> {
    let raw: Box<dyn Read + Send> = match is_standard_input(path) {
        true => Box::new(StandardInput {
            has_output: reading.has_output,
        }),
        false => Box::new(open_file(path)?),
    };
    let raw = Counted {
        raw,
        count: Arc::clone(consumed),
    };
    if !reading.decompress {
        return Ok(Source {
            reader: Box::new(raw),
            compression: None,
        });
    }
    let failed = |error| Failure::reading(&name_of(path), error);
    let mut raw = raw;
    let head = head_of(&mut raw).map_err(failed)?;
    let compression = Compression::of_bytes(&head);
    if let (Some(expected), None) = (Compression::of_name(path), compression)
        && !head.is_empty()
    {
        return Err(Failure::Usage(format!(
            "{} has the extension {} but is not compressed with {}; to read it as plain text, add --decompress never",
            path.display(),
            expected.extension(),
            expected.name(),
        )));
    }
    let input = io::Cursor::new(head).chain(raw);
    let Some(format) = compression else {
        return Ok(Source {
            reader: Box::new(input),
            compression,
        });
    };
    let buffered = BufReader::with_capacity(BUFFER_BYTES, input);
    let decoder = decoder::decoder(format, buffered).map_err(failed)?;
    // A pipe may deliver a few bytes at a time; they must not wait for more.
    let reader: Box<dyn Read + Send> = match is_standard_input(path) {
        true => decoder,
        false => Box::new(FullReads {
            reader: decoder,
            error: None,
        }),
    };
    Ok(Source {
        reader,
        compression,
    })
}

/// Reads the first bytes: those of one read, or as many as it takes to recognize the format.
fn head_of(raw: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut head = vec![0; BUFFER_BYTES];
    let mut filled = 0;
    loop {
        match raw.read(&mut head[filled..]) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        if filled >= MAGIC_BYTES || !Compression::may_become(&head[..filled]) {
            break;
        }
    }
    head.truncate(filled);
    Ok(head)
}

/// Fills the whole buffer on each read, which a decoder does not.
struct FullReads<R> {
    reader: R,
    /// An error that followed some bytes; the next read returns it.
    error: Option<io::Error>,
}

impl<R: Read> Read for FullReads<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if let Some(error) = self.error.take() {
            return Err(error);
        }
        let mut filled = 0;
        while filled < buffer.len() {
            match self.reader.read(&mut buffer[filled..]) {
                Ok(0) => break,
                Ok(count) => filled += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if filled == 0 => return Err(error),
                Err(error) => {
                    self.error = Some(error);
                    break;
                }
            }
        }
        Ok(filled)
    }
}

/// Counts the bytes read.
struct Counted<R> {
    raw: R,
    count: Arc<AtomicU64>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.raw.read(buffer)?;
        self.count.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

/// Standard input. If there is an output, reads fail once its reader has closed the pipe.
struct StandardInput {
    has_output: bool,
}

impl Read for StandardInput {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let stdin = io::stdin();
        if self.has_output && closed_pipe::stdout_closes_before_input(&stdin) {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        stdin.lock().read(buffer)
    }
}

pub fn is_standard_input(path: &Path) -> bool {
    path == Path::new("-")
}

pub fn name_of(path: &Path) -> String {
    match is_standard_input(path) {
        true => "standard input".to_owned(),
        false => path.display().to_string(),
    }
}

/// Opens a file; a directory is an error.
pub fn open_file(path: &Path) -> Result<File, Failure> {
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
