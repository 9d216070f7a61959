//! The parts of a log: one header, then frames of observations.
//!
//! Frames are chained: each holds the checksum of the previous one. So frames that an earlier
//! epoch or an earlier opening of the store left in the file do not continue the log.

use super::checksum::{StoreId, checksum_at};
use super::layout::LOG_START;
use super::payload::Payload;
use super::superblock::LogPosition;
use crate::bytes::{read_u16, read_u32, read_u64, write_u16, write_u32, write_u64};
use crate::store::mutant::{Mutant, planted};

/// The first bytes of a frame.
pub const FRAME_MAGIC: u32 = 0x656d_7266;
/// The first bytes of a log.
pub const LOG_MAGIC: &[u8; 8] = b"dedupslg";
/// The length of a frame's header.
pub const FRAME_HEADER_BYTES: usize = offset::PAYLOAD;
/// The largest payload of a frame. A larger batch becomes several frames.
pub const MAX_PAYLOAD_BYTES: usize = 256 << 10;
/// The length of the step at the start of a timed frame's payload.
pub const STEP_BYTES: usize = 8;
/// The length of the payload of a switch frame.
pub const SWITCH_BYTES: usize = 8;

/// Byte offsets in a frame. A test compares them with the format document.
pub mod offset {
    /// Four letters that mark a frame.
    pub const MAGIC: usize = 0;
    /// The checksum of all bytes after it, together with the store, the epoch and the offset.
    pub const CHECKSUM: usize = 4;
    /// The checksum of the previous frame.
    pub const PREVIOUS: usize = 8;
    /// The kind of the payload.
    pub const KIND: usize = 12;
    /// The number of observations in a sparse or timed frame.
    pub const COUNT: usize = 14;
    /// The length of the payload.
    pub const PAYLOAD_BYTES: usize = 16;
    /// The incarnation that wrote the frame.
    pub const INCARNATION: usize = 20;
    /// The number of observations before this frame.
    pub const SEQUENCE: usize = 24;
    /// The number of observations known to be durable when the frame was written.
    pub const WATERMARK: usize = 32;
    /// The payload.
    pub const PAYLOAD: usize = 40;
}

/// What a frame holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u16)]
pub enum Kind {
    /// Fingerprints, eight bytes each.
    Keys = 1,
    /// Observations with tick and importance, sixteen bytes each.
    Full = 2,
    /// The log continues in the next epoch. Eight bytes: the checksum of the next log's
    /// header, then four zeros.
    Switch = 3,
    /// One bit per observation, in words of 64 bits, then the fingerprints of the observations
    /// whose bit is set. For filters that most Seen keys do not change.
    Sparse = 4,
    /// Eight bytes: the step at which all observations count. Then the payload of a sparse frame.
    Timed = 5,
    /// The fingerprints of keys that were taken out, eight bytes each.
    Forget = 6,
}

impl Kind {
    fn from_number(number: u16) -> Option<Self> {
        match number {
            1 => Some(Kind::Keys),
            2 => Some(Kind::Full),
            3 => Some(Kind::Switch),
            4 => Some(Kind::Sparse),
            5 => Some(Kind::Timed),
            6 => Some(Kind::Forget),
            _ => None,
        }
    }

    /// Returns how many observations or forgotten keys a payload holds, or None if a payload of this
    /// kind cannot have that length.
    fn entries(self, payload_bytes: usize, count: u16) -> Option<usize> {
        let exactly = |item_bytes: usize| {
            let whole = payload_bytes.is_multiple_of(item_bytes) && count == 0;
            whole.then_some(payload_bytes / item_bytes)
        };
        match self {
            Kind::Keys | Kind::Forget => exactly(8),
            Kind::Full => exactly(16),
            Kind::Switch => exactly(SWITCH_BYTES).filter(|&items| items == 1).map(|_| 0),
            Kind::Timed => {
                let rest = payload_bytes.checked_sub(STEP_BYTES)?;
                Kind::Sparse.entries(rest, count)
            }
            Kind::Sparse => {
                let count = usize::from(count);
                let bits = 8 * count.div_ceil(64);
                let fingerprints = bits..=bits + 8 * count;
                let whole = payload_bytes.is_multiple_of(8);
                (whole && fingerprints.contains(&payload_bytes)).then_some(count)
            }
        }
    }
}

/// The header of a frame, decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameHeader {
    /// The checksum of the frame: the `previous` of the next one.
    pub checksum: u32,
    /// The checksum of the previous frame.
    pub previous: u32,
    /// The kind of the payload.
    pub kind: Kind,
    /// The length of the payload.
    pub payload_bytes: usize,
    /// The number of observations in the frame, or of keys that were taken out.
    pub entries: usize,
    /// The incarnation that wrote the frame.
    pub incarnation: u32,
    /// The number of observations before this frame.
    pub sequence: u64,
    /// The number of observations known to be durable when the frame was written.
    pub watermark: u64,
}

impl FrameHeader {
    /// Decodes a header. Returns None if the magic, the kind or the length is impossible. Does
    /// not check the checksum.
    pub fn peek(bytes: &[u8]) -> Option<Self> {
        if bytes.len() < FRAME_HEADER_BYTES || read_u32(bytes, offset::MAGIC) != FRAME_MAGIC {
            return None;
        }
        let kind = Kind::from_number(read_u16(bytes, offset::KIND))?;
        let payload_bytes = read_u32(bytes, offset::PAYLOAD_BYTES) as usize;
        let entries = kind.entries(payload_bytes, read_u16(bytes, offset::COUNT))?;
        (payload_bytes <= MAX_PAYLOAD_BYTES).then(|| FrameHeader {
            checksum: read_u32(bytes, offset::CHECKSUM),
            previous: read_u32(bytes, offset::PREVIOUS),
            kind,
            payload_bytes,
            entries,
            incarnation: read_u32(bytes, offset::INCARNATION),
            sequence: read_u64(bytes, offset::SEQUENCE),
            watermark: read_u64(bytes, offset::WATERMARK),
        })
    }

    /// Returns the length of the frame.
    pub fn frame_bytes(&self) -> usize {
        FRAME_HEADER_BYTES + self.payload_bytes
    }

    /// Returns the sequence number at the end of this frame.
    pub fn sequence_after(&self) -> u64 {
        self.sequence.saturating_add(self.entries as u64)
    }
}

/// Returns whether a frame's checksum is right for this store, epoch and offset.
pub fn is_intact(store: &StoreId, epoch: u64, at: u64, frame: &[u8]) -> bool {
    read_u32(frame, offset::CHECKSUM) == frame_checksum(store, epoch, at, frame)
        || planted(Mutant::FramesNotChecked)
}

fn frame_checksum(store: &StoreId, epoch: u64, at: u64, frame: &[u8]) -> u32 {
    checksum_at(store, epoch, at, &frame[offset::PREVIOUS..])
}

/// Where a frame is written and what it follows.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// The store.
    pub store: &'a StoreId,
    /// The position in the log.
    pub position: LogPosition,
    /// The incarnation that writes the frame.
    pub incarnation: u32,
    /// The number of observations known to be durable.
    pub watermark: u64,
}

/// Encodes a frame into `frame`, replacing its contents. Returns the frame's checksum.
pub fn encode(frame: &mut Vec<u8>, place: &Place<'_>, payload: Payload<'_>) -> u32 {
    frame.clear();
    frame.resize(FRAME_HEADER_BYTES, 0);
    payload.encode(frame);
    let payload_bytes = frame.len() - FRAME_HEADER_BYTES;
    let LogPosition {
        epoch,
        offset: at,
        chain,
        sequence,
    } = place.position;
    write_u32(frame, offset::MAGIC, FRAME_MAGIC);
    write_u32(frame, offset::PREVIOUS, chain);
    write_u16(frame, offset::KIND, payload.kind() as u16);
    if let Payload::Sparse(..) | Payload::Timed(..) = payload {
        write_u16(frame, offset::COUNT, payload.entries() as u16);
    }
    write_u32(frame, offset::PAYLOAD_BYTES, payload_bytes as u32);
    write_u32(frame, offset::INCARNATION, place.incarnation);
    write_u64(frame, offset::SEQUENCE, sequence);
    write_u64(frame, offset::WATERMARK, place.watermark);
    let checksum = frame_checksum(place.store, epoch, at, frame);
    write_u32(frame, offset::CHECKSUM, checksum);
    checksum
}

/// Encodes the header of a log: magic, epoch, incarnation, checksum. Returns it with its
/// checksum. The incarnation distinguishes the log from one of the same epoch that a crash
/// discarded, whose frames must not be replayed.
pub fn encode_log_header(store: &StoreId, epoch: u64, incarnation: u32) -> (Vec<u8>, u32) {
    let mut bytes = vec![0; LOG_START as usize];
    bytes[..8].copy_from_slice(LOG_MAGIC);
    write_u64(&mut bytes, 8, epoch);
    if !planted(Mutant::LogHeaderWithoutIncarnation) {
        write_u32(&mut bytes, 16, incarnation);
    }
    let checksum = checksum_at(store, epoch, 0, &bytes[..LOG_START as usize - 4]);
    write_u32(&mut bytes, LOG_START as usize - 4, checksum);
    (bytes, checksum)
}

/// Returns the checksum of a log's header, or None if it is not a valid header of this epoch.
pub fn check_log_header(store: &StoreId, epoch: u64, bytes: &[u8]) -> Option<u32> {
    let (expected, checksum) = encode_log_header(store, epoch, read_u32(bytes, 16));
    (bytes == expected).then_some(checksum)
}
