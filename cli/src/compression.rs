//! The compression formats, and how to recognize them.

use std::path::Path;

/// A compression format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    Gzip,
    Zstandard,
    Xz,
    Bzip2,
    Lz4,
}

/// The number of first bytes that are enough to recognize every format.
pub const MAGIC_BYTES: usize = 10;

/// The first bytes of files, as (value, mask) pairs.
type Magic = &'static [(u8, u8)];

const fn exactly<const N: usize>(bytes: [u8; N]) -> [(u8, u8); N] {
    let mut magic = [(0, 0xFF); N];
    let mut i = 0;
    while i < N {
        magic[i].0 = bytes[i];
        i += 1;
    }
    magic
}

/// Bzip2 begins with text, so the first bytes of its first block must be there, too: those of
/// data, or those of the end of an empty file. The fourth byte is a digit.
const fn bzip2(block: [u8; 6]) -> [(u8, u8); 10] {
    let [a, b, c, d, e, f] = block;
    let mut magic = exactly([b'B', b'Z', b'h', b'0', a, b, c, d, e, f]);
    magic[3].1 = 0xF0;
    magic
}

/// A skippable frame of Zstandard; the low bits of its first byte are free.
const fn skippable() -> [(u8, u8); 4] {
    let mut magic = exactly([0x50, 0x2A, 0x4D, 0x18]);
    magic[0].1 = 0xF0;
    magic
}

const MAGICS: &[(Compression, Magic)] = &[
    (Compression::Gzip, &exactly([0x1F, 0x8B, 0x08])),
    (Compression::Zstandard, &exactly([0x28, 0xB5, 0x2F, 0xFD])),
    (Compression::Zstandard, &skippable()),
    (Compression::Xz, &exactly([0xFD, b'7', b'z', b'X', b'Z', 0])),
    (
        Compression::Bzip2,
        &bzip2([0x31, 0x41, 0x59, 0x26, 0x53, 0x59]),
    ),
    (
        Compression::Bzip2,
        &bzip2([0x17, 0x72, 0x45, 0x38, 0x50, 0x90]),
    ),
    (Compression::Lz4, &exactly([0x04, 0x22, 0x4D, 0x18])),
    // The legacy format, which the Linux kernel uses.
    (Compression::Lz4, &exactly([0x02, 0x21, 0x4C, 0x18])),
];

impl Compression {
    const ALL: [Compression; 5] = [
        Compression::Gzip,
        Compression::Zstandard,
        Compression::Xz,
        Compression::Bzip2,
        Compression::Lz4,
    ];

    /// Recognizes the format of a file by its first bytes.
    pub fn of_bytes(head: &[u8]) -> Option<Self> {
        MAGICS
            .iter()
            .find(|(_, magic)| head.len() >= magic.len() && agrees(magic, head))
            .map(|(format, _)| *format)
    }

    /// Returns whether more bytes are needed to recognize the format.
    pub fn may_become(head: &[u8]) -> bool {
        MAGICS
            .iter()
            .any(|(_, magic)| head.len() < magic.len() && agrees(magic, head))
    }

    /// Returns the format that a file has according to its name.
    pub fn of_name(path: &Path) -> Option<Self> {
        let name = path.file_name()?.as_encoded_bytes();
        Compression::ALL
            .into_iter()
            .find(|format| name.ends_with(format.extension().as_bytes()))
    }

    /// Returns the extension of its files.
    pub fn extension(self) -> &'static str {
        match self {
            Compression::Gzip => ".gz",
            Compression::Zstandard => ".zst",
            Compression::Xz => ".xz",
            Compression::Bzip2 => ".bz2",
            Compression::Lz4 => ".lz4",
        }
    }

    /// Returns the name of the format.
    pub fn name(self) -> &'static str {
        match self {
            Compression::Gzip => "gzip",
            Compression::Zstandard => "Zstandard",
            Compression::Xz => "xz",
            Compression::Bzip2 => "bzip2",
            Compression::Lz4 => "LZ4",
        }
    }

    /// Returns the program that reads and writes the format.
    pub fn program(self) -> &'static str {
        match self {
            Compression::Gzip => "gzip",
            Compression::Zstandard => "zstd",
            Compression::Xz => "xz",
            Compression::Bzip2 => "bzip2",
            Compression::Lz4 => "lz4",
        }
    }
}

/// Returns whether the bytes are those of a magic, as far as both reach.
fn agrees(magic: &[(u8, u8)], head: &[u8]) -> bool {
    let pairs = magic.iter().zip(head);
    pairs
        .into_iter()
        .all(|((value, mask), byte)| byte & mask == *value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compression_is_recognized_by_the_first_bytes() {
        for (bytes, compression) in [
            (&[0x1F, 0x8B, 0x08, 0x00][..], Some(Compression::Gzip)),
            (&[0x28, 0xB5, 0x2F, 0xFD], Some(Compression::Zstandard)),
            (&[0x5A, 0x2A, 0x4D, 0x18], Some(Compression::Zstandard)),
            (b"\xFD7zXZ\0", Some(Compression::Xz)),
            (b"BZh91AY&SY", Some(Compression::Bzip2)),
            (b"BZh9\x17rE8P\x90", Some(Compression::Bzip2)),
            (&[0x04, 0x22, 0x4D, 0x18], Some(Compression::Lz4)),
            (&[0x02, 0x21, 0x4C, 0x18], Some(Compression::Lz4)),
            (b"https://", None),
            (b"BZh9 is text", None),
            (b"BZh91AY&S is text", None),
            (&[0x1F, 0x8B], None),
            (b"", None),
        ] {
            assert_eq!(Compression::of_bytes(bytes), compression, "{bytes:x?}");
            if compression.is_some() {
                let needed = (0..bytes.len()).take_while(|&n| Compression::may_become(&bytes[..n]));
                let needed = needed.count();
                assert!(
                    Compression::of_bytes(&bytes[..needed]).is_some(),
                    "{bytes:x?}"
                );
            }
            assert!(!Compression::may_become(
                &[bytes, &[0; MAGIC_BYTES]].concat()
            ));
        }
        assert!(!Compression::may_become(b"h"));
    }
}
