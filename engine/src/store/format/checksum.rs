//! Checksums that know where they belong.
//!
//! CRC-32, seeded with the store's identity, a generation or epoch, and a place. A block
//! that is right in itself but stale, misplaced or from another store fails.

use crc32fast::Hasher;

use super::mutant::{Mutant, planted};

/// What tells this store from all others.
pub type StoreId = [u8; 16];

/// The checksum of `bytes` that belong to `store`, `era` (a generation or an epoch) and
/// `place` (an index or an offset).
pub fn placed(store: &StoreId, era: u64, place: u64, bytes: &[u8]) -> u32 {
    let mut hasher = seeded(store, era, place);
    hasher.update(bytes);
    hasher.finalize()
}

fn seeded(store: &StoreId, era: u64, place: u64) -> Hasher {
    let mut hasher = Hasher::new();
    if planted(Mutant::ChecksumWithoutPlace) {
        return hasher;
    }
    let mut origin = [0; 32];
    origin[..16].copy_from_slice(store);
    origin[16..24].copy_from_slice(&era.to_le_bytes());
    origin[24..].copy_from_slice(&place.to_le_bytes());
    hasher.update(&origin);
    hasher
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_of_the_origin_counts() {
        let store = [7; 16];
        let right = placed(&store, 3, 5, b"bytes");
        assert_ne!(right, placed(&[8; 16], 3, 5, b"bytes"));
        assert_ne!(right, placed(&store, 4, 5, b"bytes"));
        assert_ne!(right, placed(&store, 3, 6, b"bytes"));
        assert_ne!(right, placed(&store, 3, 5, b"bytez"));
    }

    /// Golden: this is in files. Any CRC-32 (zlib) of the same bytes agrees.
    #[test]
    fn the_value_is_fixed() {
        assert_eq!(placed(&[1; 16], 2, 3, b"dedupstore"), 0x2f9b_79be);
    }
}
