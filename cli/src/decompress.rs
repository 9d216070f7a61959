//! One input: a file or standard input, as it is or unpacked.
//!
//! What an input is packed with is told by its first bytes; a name that promises what the
//! bytes do not keep is an error, as reading on would take garbage for keys.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::ahead::ReadAhead;
use crate::error::Failure;
use crate::pipe;

const BUFFER_BYTES: usize = 64 << 10;

/// How an input is packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packing {
    Gzip,
    Zstandard,
}

impl Packing {
    const ALL: [Packing; 2] = [Packing::Gzip, Packing::Zstandard];

    fn of_bytes(head: &[u8]) -> Option<Self> {
        match head {
            [0x1F, 0x8B, 0x08, ..] => Some(Packing::Gzip),
            // A frame, or a frame that is passed over.
            [0x28, 0xB5, 0x2F, 0xFD, ..] | [0x50..=0x5F, 0x2A, 0x4D, 0x18, ..] => {
                Some(Packing::Zstandard)
            }
            _ => None,
        }
    }

    /// Whether too few bytes have come to tell.
    fn may_become(head: &[u8]) -> bool {
        let begins = |magic: [u8; 3]| magic.starts_with(head.get(..3).unwrap_or(head));
        let passed_over = (0x50..=0x5F).any(|first| begins([first, 0x2A, 0x4D]));
        begins([0x1F, 0x8B, 0x08]) || begins([0x28, 0xB5, 0x2F]) || passed_over
    }

    fn of_name(path: &Path) -> Option<Self> {
        let name = path.file_name()?.as_encoded_bytes();
        Packing::ALL
            .into_iter()
            .find(|packing| name.ends_with(packing.ending().as_bytes()))
    }

    fn ending(self) -> &'static str {
        match self {
            Packing::Gzip => ".gz",
            Packing::Zstandard => ".zst",
        }
    }

    /// Its name for people.
    pub fn name(self) -> &'static str {
        match self {
            Packing::Gzip => "gzip",
            Packing::Zstandard => "Zstandard",
        }
    }

    /// What checks such a file.
    pub fn check(self) -> &'static str {
        match self {
            Packing::Gzip => "gzip -t",
            Packing::Zstandard => "zstd -t",
        }
    }
}

/// How inputs are read.
#[derive(Clone, Debug)]
pub struct Reading {
    /// Unpack what is packed.
    pub unpack: bool,
    /// Unpack in a thread of its own.
    pub ahead: bool,
    /// How many bytes of all inputs have been read, before unpacking.
    pub consumed: Arc<AtomicU64>,
}

impl Default for Reading {
    fn default() -> Self {
        Reading {
            unpack: true,
            ahead: false,
            consumed: Arc::default(),
        }
    }
}

/// An input that has been opened.
pub struct Source {
    pub reader: Box<dyn Read>,
    pub packing: Option<Packing>,
}

/// Opens an input and looks how it is packed.
pub fn open(path: &Path, reading: &Reading) -> Result<Source, Failure> {
    let raw: Box<dyn Read + Send> = match is_standard_input(path) {
        true => Box::new(StandardInput),
        false => Box::new(open_file(path)?),
    };
    let raw = Counted {
        raw,
        count: Arc::clone(&reading.consumed),
    };
    if !reading.unpack {
        return Ok(Source {
            reader: Box::new(raw),
            packing: None,
        });
    }
    let failed = |error| Failure::reading(&name_of(path), error);
    let mut raw = raw;
    let head = head_of(&mut raw).map_err(failed)?;
    let packing = Packing::of_bytes(&head);
    if let (Some(promised), None) = (Packing::of_name(path), packing)
        && !head.is_empty()
    {
        return Err(Failure::Usage(format!(
            "{} ends in {} and does not begin like a {} file; to read it as it is, give --decompress never",
            path.display(),
            promised.ending(),
            promised.name(),
        )));
    }
    let whole = io::Cursor::new(head).chain(raw);
    let buffered = |whole| BufReader::with_capacity(BUFFER_BYTES, whole);
    let unpacked: Box<dyn Read + Send> = match packing {
        None => {
            return Ok(Source {
                reader: Box::new(whole),
                packing,
            });
        }
        Some(Packing::Gzip) => Box::new(flate2::bufread::MultiGzDecoder::new(buffered(whole))),
        Some(Packing::Zstandard) => {
            Box::new(zstd::Decoder::with_buffer(buffered(whole)).map_err(failed)?)
        }
    };
    // A pipe may bring little by little, and what it brought must not wait for more.
    let unpacked: Box<dyn Read + Send> = match is_standard_input(path) {
        true => unpacked,
        false => Box::new(Full {
            reader: unpacked,
            failed: None,
        }),
    };
    let reader: Box<dyn Read> = match reading.ahead {
        true => Box::new(ReadAhead::start(unpacked).map_err(failed)?),
        false => unpacked,
    };
    Ok(Source { reader, packing })
}

/// The first bytes, and no more of them than it takes to tell how they are packed, or than
/// come at once.
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
        if filled >= 4 || !Packing::may_become(&head[..filled]) {
            break;
        }
    }
    head.truncate(filled);
    Ok(head)
}

/// A decoder hands out less than there is room for though more is at hand; this does not.
struct Full<R> {
    reader: R,
    /// An error that came behind bytes, for the next read to tell.
    failed: Option<io::Error>,
}

impl<R: Read> Read for Full<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if let Some(error) = self.failed.take() {
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
                    self.failed = Some(error);
                    break;
                }
            }
        }
        Ok(filled)
    }
}

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

/// Standard input, which ends when nobody reads what we print any more.
struct StandardInput;

impl Read for StandardInput {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let stdin = io::stdin();
        if pipe::reader_leaves_before(&stdin) {
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

/// Opens a file, and no directory.
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
    fn packing_is_told_by_the_first_bytes() {
        let gzip: &[u8] = &[0x1F, 0x8B, 0x08, 0x00];
        let zstandard: &[u8] = &[0x28, 0xB5, 0x2F, 0xFD];
        for (bytes, packing) in [
            (gzip, Some(Packing::Gzip)),
            (zstandard, Some(Packing::Zstandard)),
            (&[0x5A, 0x2A, 0x4D, 0x18], Some(Packing::Zstandard)),
            (b"https://", None),
            (&gzip[..2], None),
            (b"", None),
        ] {
            assert_eq!(Packing::of_bytes(bytes), packing, "{bytes:x?}");
            let told_byte_by_byte =
                (0..bytes.len().min(3)).all(|n| Packing::may_become(&bytes[..n]));
            assert!(packing.is_none() || told_byte_by_byte, "{bytes:x?}");
        }
        assert!(!Packing::may_become(b"h"));
    }
}
