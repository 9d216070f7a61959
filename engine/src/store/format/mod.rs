//! The bytes of the files. `docs/FORMAT.md` describes them; a test compares the offsets.
#![doc(hidden)]

pub(super) mod checksum;
pub(super) mod frame;
pub(super) mod image;
pub(super) mod layout;
pub(super) mod mark;
pub(super) mod payload;
pub(super) mod superblock;

/// Returns the offset and the name of each field of a superblock, in order.
pub fn superblock_offsets() -> Vec<(usize, &'static str)> {
    use superblock::offset;
    vec![
        (offset::MAGIC, "magic"),
        (offset::VERSION, "version"),
        (offset::COMPATIBLE, "compatible"),
        (offset::INCOMPATIBLE, "incompatible"),
        (offset::HASH_SCHEME, "hash scheme"),
        (offset::STORE_ID, "store id"),
        (offset::GENERATION, "generation"),
        (offset::SEQUENCE, "sequence"),
        (offset::LOG_EPOCH, "log epoch"),
        (offset::LOG_OFFSET, "log offset"),
        (offset::LOG_CHAIN, "log chain"),
        (offset::TABLE_CHECKSUM, "table checksum"),
        (offset::REGION_BYTES, "region bytes"),
        (offset::BLOCK_BYTES, "block bytes"),
        (offset::PARAMETER_BYTES, "parameter bytes"),
        (offset::LOG_BYTES, "log bytes"),
        (offset::UNIX_SECONDS, "unix seconds"),
        (offset::AUDIT_BYTES, "audit bytes"),
        (offset::USED_BLOCKS, "used blocks"),
        (offset::MAX_FPR, "max fpr"),
        (offset::REGISTERS, "registers"),
        (offset::PARAMETERS, "parameters"),
        (offset::CHECKSUM, "checksum"),
    ]
}

/// Returns the offset and the name of each field of a frame, in order.
pub fn frame_offsets() -> Vec<(usize, &'static str)> {
    use frame::offset;
    vec![
        (offset::MAGIC, "magic"),
        (offset::CHECKSUM, "checksum"),
        (offset::PREVIOUS, "previous"),
        (offset::KIND, "kind"),
        (offset::COUNT, "count"),
        (offset::PAYLOAD_BYTES, "payload bytes"),
        (offset::INCARNATION, "incarnation"),
        (offset::SEQUENCE, "sequence"),
        (offset::WATERMARK, "watermark"),
        (offset::PAYLOAD, "payload"),
    ]
}
