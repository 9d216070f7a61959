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
use crate::error::Failure;
use crate::read_ahead::ReadAhead;

const BUFFER_BYTES: usize = 64 << 10;

/// A compression format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    Gzip,
    Zstandard,
}

impl Compression {
    const ALL: [Compression; 2] = [Compression::Gzip, Compression::Zstandard];

    fn of_bytes(head: &[u8]) -> Option<Self> {
        match head {
            [0x1F, 0x8B, 0x08, ..] => Some(Compression::Gzip),
            // A frame, or a skippable frame.
            [0x28, 0xB5, 0x2F, 0xFD, ..] | [0x50..=0x5F, 0x2A, 0x4D, 0x18, ..] => {
                Some(Compression::Zstandard)
            }
            _ => None,
        }
    }

    /// Returns whether more bytes are needed to recognize the format.
    fn may_become(head: &[u8]) -> bool {
        let begins = |magic: [u8; 3]| magic.starts_with(head.get(..3).unwrap_or(head));
        let skippable = (0x50..=0x5F).any(|first| begins([first, 0x2A, 0x4D]));
        begins([0x1F, 0x8B, 0x08]) || begins([0x28, 0xB5, 0x2F]) || skippable
    }

    fn of_name(path: &Path) -> Option<Self> {
        let name = path.file_name()?.as_encoded_bytes();
        Compression::ALL
            .into_iter()
            .find(|format| name.ends_with(format.extension().as_bytes()))
    }

    fn extension(self) -> &'static str {
        match self {
            Compression::Gzip => ".gz",
            Compression::Zstandard => ".zst",
        }
    }

    /// Returns the name of the format.
    pub fn name(self) -> &'static str {
        match self {
            Compression::Gzip => "gzip",
            Compression::Zstandard => "Zstandard",
        }
    }

    /// Returns the command that checks a file of this format.
    pub fn check_command(self) -> &'static str {
        match self {
            Compression::Gzip => "gzip -t",
            Compression::Zstandard => "zstd -t",
        }
    }
}

/// How inputs are read.
#[derive(Clone, Debug)]
pub struct Reading {
    /// Whether to decompress.
    pub decompress: bool,
    /// Whether a separate thread decompresses.
    pub ahead: bool,
    /// The number of bytes read from all inputs, before decompression.
    pub consumed: Arc<AtomicU64>,
}

impl Default for Reading {
    fn default() -> Self {
        Reading {
            decompress: true,
            ahead: false,
            consumed: Arc::default(),
        }
    }
}

/// An open input.
pub struct Source {
    pub reader: Box<dyn Read>,
    pub compression: Option<Compression>,
}

/// Opens an input.
pub fn open(path: &Path, reading: &Reading) -> Result<Source, Failure> {
    let raw: Box<dyn Read + Send> = match is_standard_input(path) {
        true => Box::new(StandardInput),
        false => Box::new(open_file(path)?),
    };
    let raw = Counted {
        raw,
        count: Arc::clone(&reading.consumed),
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
            "{} has the extension {} but is not a {} file; to read it as plain text, add --decompress never",
            path.display(),
            expected.extension(),
            expected.name(),
        )));
    }
    let input = io::Cursor::new(head).chain(raw);
    let buffered = |input| BufReader::with_capacity(BUFFER_BYTES, input);
    let decoder: Box<dyn Read + Send> = match compression {
        None => {
            return Ok(Source {
                reader: Box::new(input),
                compression,
            });
        }
        Some(Compression::Gzip) => Box::new(flate2::bufread::MultiGzDecoder::new(buffered(input))),
        Some(Compression::Zstandard) => {
            Box::new(zstd::Decoder::with_buffer(buffered(input)).map_err(failed)?)
        }
    };
    // A pipe may deliver a few bytes at a time; they must not wait for more.
    let decoder: Box<dyn Read + Send> = match is_standard_input(path) {
        true => decoder,
        false => Box::new(FullReads {
            reader: decoder,
            error: None,
        }),
    };
    let reader: Box<dyn Read> = match reading.ahead {
        true => Box::new(ReadAhead::start(decoder).map_err(failed)?),
        false => decoder,
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
        if filled >= 4 || !Compression::may_become(&head[..filled]) {
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

/// Standard input. Reads fail once the reader of standard output has closed the pipe.
struct StandardInput;

impl Read for StandardInput {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let stdin = io::stdin();
        if closed_pipe::stdout_closes_before_input(&stdin) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compression_is_recognized_by_the_first_bytes() {
        let gzip: &[u8] = &[0x1F, 0x8B, 0x08, 0x00];
        let zstandard: &[u8] = &[0x28, 0xB5, 0x2F, 0xFD];
        for (bytes, compression) in [
            (gzip, Some(Compression::Gzip)),
            (zstandard, Some(Compression::Zstandard)),
            (&[0x5A, 0x2A, 0x4D, 0x18], Some(Compression::Zstandard)),
            (b"https://", None),
            (&gzip[..2], None),
            (b"", None),
        ] {
            assert_eq!(Compression::of_bytes(bytes), compression, "{bytes:x?}");
            let recognized_byte_by_byte =
                (0..bytes.len().min(3)).all(|n| Compression::may_become(&bytes[..n]));
            assert!(
                compression.is_none() || recognized_byte_by_byte,
                "{bytes:x?}"
            );
        }
        assert!(!Compression::may_become(b"h"));
    }
}
