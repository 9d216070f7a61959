//! Decoders of the compression formats.
//!
//! The memory of a decoder is limited, whatever a file asks for: 32 KiB for gzip, 128 MiB for
//! Zstandard (the limit of its library) and xz, 4 MiB for bzip2, 24 MiB for LZ4.

use std::io::{self, BufRead, Read};

use flate2::bufread::GzDecoder;
use lz4_flex::frame::FrameDecoder;
use lzma_rust2::{Action, Status, XzStream};

use crate::compression::Compression;

/// Enough for `xz -9`, whose dictionary takes 64 MiB.
const XZ_MEMORY_KIB: u32 = 128 << 10;

/// Returns a reader of the text of a compressed input. Several files in a row are read as one, as
/// the formats' own programs do.
pub fn decoder(
    compression: Compression,
    input: impl BufRead + Send + 'static,
) -> io::Result<Box<dyn Read + Send>> {
    Ok(match compression {
        Compression::Gzip => Box::new(GzipMembers::new(input)),
        Compression::Zstandard => Box::new(zstd::Decoder::with_buffer(input)?),
        Compression::Xz => Box::new(XzStreams::new(input)),
        Compression::Bzip2 => Box::new(bzip2::bufread::MultiBzDecoder::new(input)),
        Compression::Lz4 => Box::new(Lz4Frames::new(input)?),
    })
}

/// The members of a gzip file, one after the other. Zeros after a member are ignored: tapes and
/// some backup programs pad files with them.
struct GzipMembers<R> {
    member: Option<GzDecoder<R>>,
}

impl<R: BufRead> GzipMembers<R> {
    fn new(input: R) -> Self {
        GzipMembers {
            member: Some(GzDecoder::new(input)),
        }
    }
}

impl<R: BufRead> Read for GzipMembers<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while let Some(member) = &mut self.member {
            let count = member.read(buffer)?;
            if count > 0 || buffer.is_empty() {
                return Ok(count);
            }
            if let Some(member) = self.member.take() {
                let mut input = member.into_inner();
                if skip_zeros(&mut input)? {
                    self.member = Some(GzDecoder::new(input));
                }
            }
        }
        Ok(0)
    }
}

/// Skips zeros; returns whether something follows them.
fn skip_zeros(input: &mut impl BufRead) -> io::Result<bool> {
    loop {
        let bytes = match input.fill_buf() {
            Ok([]) => return Ok(false),
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        let zeros = bytes.iter().take_while(|&&byte| byte == 0).count();
        let follows = zeros < bytes.len();
        input.consume(zeros);
        if follows {
            return Ok(true);
        }
    }
}

/// The streams of an xz file, one after the other. The reader of the library decodes whole chunks
/// of up to 2 MiB, and loses what it has decoded of a chunk that is truncated or corrupt.
struct XzStreams<R> {
    input: R,
    streams: XzStream,
    /// An error that followed some bytes; the next read returns it.
    error: Option<io::Error>,
    done: bool,
}

impl<R: BufRead> XzStreams<R> {
    fn new(input: R) -> Self {
        XzStreams {
            input,
            streams: XzStream::new_mem_limit(true, XZ_MEMORY_KIB),
            error: None,
            done: false,
        }
    }
}

impl<R: BufRead> Read for XzStreams<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if let Some(error) = self.error.take() {
            return Err(error);
        }
        while !self.done && !buffer.is_empty() {
            let input = self.input.fill_buf()?;
            let action = match input.is_empty() {
                true => Action::Finish,
                false => Action::Run,
            };
            let before = self.streams.total_out();
            match self.streams.process(input, buffer, action) {
                Ok(decoded) => {
                    let (consumed, count) = (decoded.bytes_consumed, decoded.bytes_produced);
                    self.input.consume(consumed);
                    self.done = decoded.status == Status::StreamEnd;
                    if count > 0 {
                        return Ok(count);
                    }
                    if consumed == 0 && !self.done {
                        return Err(io::ErrorKind::UnexpectedEof.into());
                    }
                }
                Err(error) => {
                    let count = (self.streams.total_out() - before) as usize;
                    if count == 0 {
                        return Err(error);
                    }
                    self.error = Some(error);
                    return Ok(count);
                }
            }
        }
        Ok(0)
    }
}

/// The frames of an LZ4 file, one after the other. The decoder takes an end of the input between
/// two blocks for the end of a frame, so a truncated file has to be noticed here.
struct Lz4Frames<R: BufRead> {
    frames: FrameDecoder<NoticesEnd<R>>,
    /// Whether the frame has no end mark, so that it ends with the input.
    is_legacy: bool,
    done: bool,
}

/// Remembers that a read has found the end of the input.
struct NoticesEnd<R> {
    input: R,
    at_end: bool,
}

impl<R: BufRead> Read for NoticesEnd<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.input.read(buffer)?;
        self.at_end |= count == 0 && !buffer.is_empty();
        Ok(count)
    }
}

impl<R: BufRead> Lz4Frames<R> {
    fn new(mut input: R) -> io::Result<Self> {
        let is_legacy = input.fill_buf()?.first() == Some(&0x02);
        Ok(Lz4Frames {
            frames: FrameDecoder::new(NoticesEnd {
                input,
                at_end: false,
            }),
            is_legacy,
            done: false,
        })
    }
}

impl<R: BufRead> Read for Lz4Frames<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while !self.done {
            let count = self.frames.read(buffer)?;
            if count > 0 || buffer.is_empty() {
                return Ok(count);
            }
            let rest = self.frames.get_mut();
            if rest.at_end && !self.is_legacy {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            // The frame has ended; another one may follow.
            self.done = rest.input.fill_buf()?.is_empty();
        }
        Ok(0)
    }
}
