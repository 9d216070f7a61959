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
    // The frame of one key. One piece takes half the time of two.
    if let Some(frame) = bytes.first_chunk().filter(|_| bytes.len() == SHORT_BYTES) {
        return short_checksum(store, era, position, frame);
    }
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

/// The length of the part of a frame of one key that its checksum covers.
const SHORT_BYTES: usize = 40;

fn short_checksum(store: &StoreId, era: u64, position: u64, bytes: &[u8; SHORT_BYTES]) -> u32 {
    let mut piece = [0; CONTEXT_BYTES + SHORT_BYTES];
    piece[..CONTEXT_BYTES].copy_from_slice(&context(store, era, position));
    piece[CONTEXT_BYTES..].copy_from_slice(bytes);
    match planted(Mutant::ChecksumWithoutPosition) {
        true => crc32fast::hash(bytes),
        false => crc32fast::hash(&piece),
    }
}

/// The length of what comes before the data.
const CONTEXT_BYTES: usize = 32;

fn context(store: &StoreId, era: u64, position: u64) -> [u8; CONTEXT_BYTES] {
    let mut context = [0; CONTEXT_BYTES];
    context[..16].copy_from_slice(store);
    context[16..24].copy_from_slice(&era.to_le_bytes());
    context[24..].copy_from_slice(&position.to_le_bytes());
    context
}

fn seeded(store: &StoreId, era: u64, position: u64) -> Hasher {
    let mut hasher = Hasher::new();
    if planted(Mutant::ChecksumWithoutPosition) {
        return hasher;
    }
    hasher.update(&context(store, era, position));
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

    /// However many bytes there are, and in how many pieces.
    #[test]
    fn pieces_do_not_change_the_checksum() {
        let bytes: Vec<u8> = (0..100).map(|n: u8| n.wrapping_mul(7)).collect();
        for length in 0..bytes.len() {
            let mut pieces = Checksum::new(&[5; 16], 8, 9);
            bytes[..length]
                .chunks(3)
                .for_each(|piece| pieces.update(piece));
            assert_eq!(
                pieces.finish(),
                checksum_at(&[5; 16], 8, 9, &bytes[..length])
            );
        }
    }

    /// Files hold this value. Any CRC-32 (zlib) of the same bytes gives it.
    #[test]
    fn the_checksum_is_that_of_the_format() {
        assert_eq!(checksum_at(&[1; 16], 2, 3, b"dedupstore"), 0x2f9b_79be);
    }
}
