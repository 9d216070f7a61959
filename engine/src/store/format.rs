//! The offsets of the format, for the test that compares them with its document.
#![doc(hidden)]

use super::frame::offset as frame;
use super::superblock::offset as superblock;

/// Each field of a superblock and where it starts, in order.
pub fn superblock_offsets() -> Vec<(usize, &'static str)> {
    vec![
        (superblock::MAGIC, "magic"),
        (superblock::VERSION, "version"),
        (superblock::COMPATIBLE, "compatible"),
        (superblock::INCOMPATIBLE, "incompatible"),
        (superblock::HASH_SCHEME, "hash scheme"),
        (superblock::STORE_ID, "store id"),
        (superblock::GENERATION, "generation"),
        (superblock::SEQUENCE, "sequence"),
        (superblock::LOG_EPOCH, "log epoch"),
        (superblock::LOG_OFFSET, "log offset"),
        (superblock::LOG_CHAIN, "log chain"),
        (superblock::TABLE_CHECKSUM, "table checksum"),
        (superblock::REGION_BYTES, "region bytes"),
        (superblock::BLOCK_BYTES, "block bytes"),
        (superblock::PARAMETER_BYTES, "parameter bytes"),
        (superblock::LOG_BYTES, "log bytes"),
        (superblock::UNIX_SECONDS, "unix seconds"),
        (superblock::AUDIT_BYTES, "audit bytes"),
        (superblock::REGISTERS, "registers"),
        (superblock::PARAMETERS, "parameters"),
        (superblock::CHECKSUM, "checksum"),
    ]
}

/// Each field of a frame and where it starts, in order.
pub fn frame_offsets() -> Vec<(usize, &'static str)> {
    vec![
        (frame::MAGIC, "magic"),
        (frame::CHECKSUM, "checksum"),
        (frame::PREVIOUS, "previous"),
        (frame::KIND, "kind"),
        (frame::COUNT, "count"),
        (frame::PAYLOAD_BYTES, "payload bytes"),
        (frame::INCARNATION, "incarnation"),
        (frame::SEQUENCE, "sequence"),
        (frame::WATERMARK, "watermark"),
        (frame::PAYLOAD, "payload"),
    ]
}
