//! Checksums that cover the position of the data.
//!
//! CRC-32 over the store's identity, a generation or epoch, a position, and the data itself.
//! Data that is intact but stale, misplaced or from another store fails the check.

use crc32fast::Hasher;

use crate::store::mutant::{Mutant, planted};

/// The identity of a store: 16 random bytes.
pub type StoreId = [u8; 16];

/// Returns the checksum of `bytes` that belong to `store`, to `era` (a generation or an epoch)
/// and to `position` (an index or an offset).
pub fn checksum_at(store: &StoreId, era: u64, position: u64, bytes: &[u8]) -> u32 {
    let mut checksum = Checksum::new(store, era, position);
    checksum.update(bytes);
    checksum.finish()
}

/// The checksum of bytes that come in pieces; see [`checksum_at`].
pub struct Checksum(Hasher);

impl Checksum {
    /// Starts with no bytes.
    pub fn new(store: &StoreId, era: u64, position: u64) -> Self {
        Checksum(seeded(store, era, position))
    }

    /// Adds the next bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// Returns the checksum of all bytes added.
    pub fn finish(self) -> u32 {
        self.0.finalize()
    }
}

fn seeded(store: &StoreId, era: u64, position: u64) -> Hasher {
    let mut hasher = Hasher::new();
    if planted(Mutant::ChecksumWithoutPosition) {
        return hasher;
    }
    let mut context = [0; 32];
    context[..16].copy_from_slice(store);
    context[16..24].copy_from_slice(&era.to_le_bytes());
    context[24..].copy_from_slice(&position.to_le_bytes());
    hasher.update(&context);
    hasher
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_covers_store_era_position_and_bytes() {
        let store = [7; 16];
        let right = checksum_at(&store, 3, 5, b"bytes");
        assert_ne!(right, checksum_at(&[8; 16], 3, 5, b"bytes"));
        assert_ne!(right, checksum_at(&store, 4, 5, b"bytes"));
        assert_ne!(right, checksum_at(&store, 3, 6, b"bytes"));
        assert_ne!(right, checksum_at(&store, 3, 5, b"bytez"));
    }

    /// Files hold this value. Any CRC-32 (zlib) of the same bytes gives it.
    #[test]
    fn the_checksum_is_that_of_the_format() {
        assert_eq!(checksum_at(&[1; 16], 2, 3, b"dedupstore"), 0x2f9b_79be);
    }
}
