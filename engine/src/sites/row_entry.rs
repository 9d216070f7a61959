//! What Map-Reduce sends from one worker to another: a key's row, signature and position.

use crate::bytes::{read_u16, read_u32, read_u64, write_u16, write_u32, write_u64};

/// One key of a block.
///
/// The order is by row, then by signature, then by position: sorting brings equal keys together,
/// the earliest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RowEntry {
    /// The row of the key: the quotient of its fingerprint.
    pub row: u64,
    /// The signature of the key, from 1.
    pub signature: u16,
    /// The position of the key in its block, from 0.
    pub position: u32,
}

/// Bytes that are no list of entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "a list of entries has a multiple of {} bytes; {length} were given",
    RowEntry::BYTES
)]
pub struct EntryError {
    /// The number of bytes given.
    pub length: usize,
}

impl RowEntry {
    /// The size of an encoded entry.
    pub const BYTES: usize = 14;

    /// Whether two entries have the same row and signature: the filter cannot tell them apart.
    pub fn is_same_key(&self, other: &RowEntry) -> bool {
        (self.row, self.signature) == (other.row, other.signature)
    }

    /// Encodes entries one after the other, little-endian: row (8 bytes), position (4 bytes),
    /// signature (2 bytes).
    pub fn encode(entries: &[RowEntry]) -> Vec<u8> {
        let mut bytes = vec![0; entries.len() * RowEntry::BYTES];
        for (entry, bytes) in entries.iter().zip(bytes.chunks_exact_mut(RowEntry::BYTES)) {
            write_u64(bytes, 0, entry.row);
            write_u32(bytes, 8, entry.position);
            write_u16(bytes, 12, entry.signature);
        }
        bytes
    }

    /// Decodes entries from [`encode`](RowEntry::encode). Any values are accepted; the phases check
    /// them.
    pub fn decode(bytes: &[u8]) -> Result<Vec<RowEntry>, EntryError> {
        let entries = bytes.chunks_exact(RowEntry::BYTES);
        if !entries.remainder().is_empty() {
            let length = bytes.len();
            return Err(EntryError { length });
        }
        let entry = |bytes| RowEntry {
            row: read_u64(bytes, 0),
            position: read_u32(bytes, 8),
            signature: read_u16(bytes, 12),
        };
        Ok(entries.map(entry).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_round_trip_through_bytes() {
        let entries: Vec<RowEntry> = (0..20u64)
            .map(|i| RowEntry {
                row: i * 0x1234_5678_9abc,
                signature: i as u16 * 3001,
                position: i as u32 * 200_000_001,
            })
            .collect();
        let bytes = RowEntry::encode(&entries);
        assert_eq!(RowEntry::decode(&bytes), Ok(entries));
        let error = RowEntry::decode(&bytes[..27]).expect_err("no multiple");
        assert!(error.to_string().contains("14 bytes; 27 were given"));
    }
}
