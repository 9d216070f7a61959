//! Which of the 16,384 hash slots of a cluster a key is in, and keys for a given slot.
//!
//! A cluster assigns slots to nodes, and a key to a slot by CRC-16 of the part in braces, its *tag*.
//! [`tag_of`] returns a tag for any slot, so that the slices of a store can be placed at equal
//! distances: however the slots are divided among the nodes, each node gets its share of slices.

use std::sync::OnceLock;

/// The number of hash slots of a cluster.
pub const SLOTS: u16 = 16_384;

/// Returns the hash slot of a key, by its tag if it has one.
pub fn slot_of(key: &[u8]) -> u16 {
    let tag = key.iter().position(|&byte| byte == b'{').and_then(|open| {
        let rest = &key[open + 1..];
        let close = rest.iter().position(|&byte| byte == b'}')?;
        (close > 0).then(|| &rest[..close])
    });
    crc16(tag.unwrap_or(key)) % SLOTS
}

/// CRC-16/XMODEM, the checksum of the cluster specification.
fn crc16(bytes: &[u8]) -> u16 {
    bytes.iter().fold(0, |sum, &byte| {
        (0..8).fold(sum ^ (u16::from(byte) << 8), |sum, _| {
            (sum << 1) ^ (if sum & 0x8000 == 0 { 0 } else { 0x1021 })
        })
    })
}

/// Returns a tag whose hash slot is this one: the least number whose digits are in it.
pub fn tag_of(slot: u16) -> u32 {
    static TAGS: OnceLock<Vec<u32>> = OnceLock::new();
    let tags = TAGS.get_or_init(|| {
        let mut tags = vec![None; usize::from(SLOTS)];
        let mut missing = tags.len();
        for number in 0u32.. {
            let tag = &mut tags[usize::from(slot_of(number.to_string().as_bytes()))];
            if tag.is_none() {
                *tag = Some(number);
                missing -= 1;
                if missing == 0 {
                    break;
                }
            }
        }
        tags.into_iter().flatten().collect()
    });
    tags[usize::from(slot % SLOTS)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_those_of_the_specification() {
        assert_eq!(crc16(b"123456789"), 0x31c3);
        assert_eq!(slot_of(b"foo"), 12_182);
        assert_eq!(slot_of(b"a{foo}b{bar}"), 12_182);
        assert_eq!(slot_of(b"{}foo"), crc16(b"{}foo") % SLOTS);
        assert_eq!(slot_of(b"{foo"), crc16(b"{foo") % SLOTS);
    }

    #[test]
    fn every_slot_has_a_tag() {
        for slot in 0..SLOTS {
            assert_eq!(
                slot_of(format!("x:{{{}}}:y", tag_of(slot)).as_bytes()),
                slot
            );
        }
    }
}
