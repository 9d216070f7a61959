//! The log's units: a header a log, and frames of observations behind it.
//!
//! Frames are chained: each holds the checksum of the one before, so that what an earlier
//! epoch or an earlier life of the store left in the file cannot pass for a continuation.

use super::checksum::{StoreId, placed};
use super::layout::LOG_START;
use super::mutant::{Mutant, planted};
use super::superblock::LogPosition;
use crate::audit::Trace;
use crate::bytes::{read_u16, read_u32, read_u64, write_u16, write_u32, write_u64};
use crate::filter::{Observation, Recorded, Verdict};
use crate::fingerprint::Fingerprint;

/// Starts every frame.
pub const FRAME_MAGIC: u32 = 0x656d_7266;
/// Starts every log.
pub const LOG_MAGIC: &[u8; 8] = b"dedupslg";
/// A frame's length before its payload.
pub const FRAME_HEADER_BYTES: usize = offset::PAYLOAD;
/// The most a frame's payload takes; a larger batch becomes several frames.
pub const MAX_PAYLOAD_BYTES: usize = 256 << 10;
/// The payload of a switch frame.
pub const SWITCH_BYTES: usize = 8;

/// Byte offsets in a frame. The format document lists the same, and a test compares.
pub mod offset {
    /// Four letters.
    pub const MAGIC: usize = 0;
    /// The checksum of all that follows, seeded with the store, the epoch and the offset.
    pub const CHECKSUM: usize = 4;
    /// The checksum of the frame before.
    pub const PREVIOUS: usize = 8;
    /// What the payload is.
    pub const KIND: usize = 12;
    /// How many observations a sparse frame stands for.
    pub const COUNT: usize = 14;
    /// The payload's length.
    pub const PAYLOAD_BYTES: usize = 16;
    /// Which opening of the store wrote it.
    pub const INCARNATION: usize = 20;
    /// Observations before the first of this frame.
    pub const SEQUENCE: usize = 24;
    /// Observations known to be durable when it was written.
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
    /// The next epoch's log goes on from here: eight bytes, of which the first four are the
    /// checksum of its header.
    Switch = 3,
    /// For filters on which most Seen keys leave no trace: a bit an observation, in words of 64,
    /// set if its fingerprint follows.
    Sparse = 4,
}

impl Kind {
    fn from_number(number: u16) -> Option<Self> {
        match number {
            1 => Some(Kind::Keys),
            2 => Some(Kind::Full),
            3 => Some(Kind::Switch),
            4 => Some(Kind::Sparse),
            _ => None,
        }
    }

    /// How many observations surely fit into so many bytes of payload.
    pub const fn fits(self, payload_bytes: usize) -> usize {
        match self {
            Kind::Keys => payload_bytes / 8,
            Kind::Full => payload_bytes / 16,
            Kind::Switch => 0,
            // A word of bits goes with up to 64 words of fingerprints.
            Kind::Sparse => payload_bytes / 8 - (payload_bytes / 8).div_ceil(65),
        }
    }

    /// How many observations a payload stands for; nothing if no payload of this kind has
    /// that length.
    fn observations(self, payload_bytes: usize, count: u16) -> Option<usize> {
        let exactly = |item_bytes: usize| {
            let whole = payload_bytes.is_multiple_of(item_bytes) && count == 0;
            whole.then_some(payload_bytes / item_bytes)
        };
        match self {
            Kind::Keys => exactly(8),
            Kind::Full => exactly(16),
            Kind::Switch => exactly(SWITCH_BYTES).filter(|&items| items == 1).map(|_| 0),
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

/// A frame without its payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameHeader {
    /// Its own checksum: what the next frame's `previous` must be.
    pub checksum: u32,
    /// The checksum of the frame before.
    pub previous: u32,
    /// What the payload is.
    pub kind: Kind,
    /// Its length.
    pub payload_bytes: usize,
    /// How many observations it stands for.
    pub observations: usize,
    /// Which opening of the store wrote it.
    pub incarnation: u32,
    /// Observations before the first of this frame.
    pub sequence: u64,
    /// Observations known to be durable when it was written.
    pub watermark: u64,
}

impl FrameHeader {
    /// The header of a frame, if it looks like one and is not longer than can be.
    pub fn peek(bytes: &[u8]) -> Option<Self> {
        if bytes.len() < FRAME_HEADER_BYTES || read_u32(bytes, offset::MAGIC) != FRAME_MAGIC {
            return None;
        }
        let kind = Kind::from_number(read_u16(bytes, offset::KIND))?;
        let payload_bytes = read_u32(bytes, offset::PAYLOAD_BYTES) as usize;
        let observations = kind.observations(payload_bytes, read_u16(bytes, offset::COUNT))?;
        (payload_bytes <= MAX_PAYLOAD_BYTES).then(|| FrameHeader {
            checksum: read_u32(bytes, offset::CHECKSUM),
            previous: read_u32(bytes, offset::PREVIOUS),
            kind,
            payload_bytes,
            observations,
            incarnation: read_u32(bytes, offset::INCARNATION),
            sequence: read_u64(bytes, offset::SEQUENCE),
            watermark: read_u64(bytes, offset::WATERMARK),
        })
    }

    /// Its length with its payload.
    pub fn frame_bytes(&self) -> usize {
        FRAME_HEADER_BYTES + self.payload_bytes
    }

    /// Observations up to and with this frame.
    pub fn sequence_after(&self) -> u64 {
        self.sequence.saturating_add(self.observations as u64)
    }
}

/// Whether the bytes of a frame are those that were written there.
pub fn is_intact(store: &StoreId, epoch: u64, at: u64, frame: &[u8]) -> bool {
    read_u32(frame, offset::CHECKSUM) == frame_checksum(store, epoch, at, frame)
        || planted(Mutant::FramesNotChecked)
}

fn frame_checksum(store: &StoreId, epoch: u64, at: u64, frame: &[u8]) -> u32 {
    placed(store, epoch, at, &frame[offset::PREVIOUS..])
}

/// What goes into a frame.
#[derive(Clone, Copy, Debug)]
pub enum Payload<'a> {
    /// Fingerprints only.
    Keys(&'a [Observation]),
    /// All of an observation.
    Full(&'a [Observation]),
    /// Observations and their verdicts: fingerprints only of those that left a trace.
    Sparse(&'a [Observation], &'a [Verdict], Trace),
    /// The checksum of the next log's header.
    Switch(u32),
}

impl Payload<'_> {
    /// What the frame will say it holds.
    pub fn kind(&self) -> Kind {
        match self {
            Payload::Keys(_) => Kind::Keys,
            Payload::Full(_) => Kind::Full,
            Payload::Sparse(..) => Kind::Sparse,
            Payload::Switch(_) => Kind::Switch,
        }
    }

    /// How many observations there are.
    pub fn observations(&self) -> usize {
        match self {
            Payload::Keys(observations)
            | Payload::Full(observations)
            | Payload::Sparse(observations, ..) => observations.len(),
            Payload::Switch(_) => 0,
        }
    }

    /// The shortest that says the same: where everything left a trace, bits say nothing.
    fn shortest(self) -> Self {
        if let Payload::Sparse(observations, verdicts, trace) = self {
            let mut left = observations.iter().zip(verdicts);
            if left.all(|(o, &verdict)| trace.is_left_by(o.fingerprint, verdict)) {
                return Payload::Keys(observations);
            }
        }
        self
    }

    fn encode(&self, frame: &mut Vec<u8>) {
        let start = frame.len();
        match self {
            Payload::Switch(checksum) => {
                frame.extend_from_slice(&u64::from(*checksum).to_le_bytes());
            }
            Payload::Keys(observations) => {
                frame.resize(start + 8 * observations.len(), 0);
                let cells = frame[start..].chunks_exact_mut(8);
                for (cell, observation) in cells.zip(*observations) {
                    cell.copy_from_slice(&observation.fingerprint.0.to_le_bytes());
                }
            }
            Payload::Sparse(observations, verdicts, trace) => {
                encode_sparse(observations, verdicts, *trace, frame);
            }
            Payload::Full(observations) => {
                for observation in *observations {
                    frame.extend_from_slice(&observation.fingerprint.0.to_le_bytes());
                    frame.extend_from_slice(&observation.tick.to_le_bytes());
                    frame.extend_from_slice(&observation.importance.to_le_bytes());
                    frame.extend_from_slice(&[0; 2]);
                }
            }
        }
    }
}

/// The bits of 64 observations first, without a branch, and then what they tell to keep.
fn encode_sparse(
    observations: &[Observation],
    verdicts: &[Verdict],
    trace: Trace,
    frame: &mut Vec<u8>,
) {
    let start = frame.len();
    frame.resize(start + 8 * observations.len().div_ceil(64), 0);
    let chunks = observations.chunks(64).zip(verdicts.chunks(64));
    for (at, (observations, verdicts)) in (start..).step_by(8).zip(chunks) {
        let mut word = 0u64;
        for (i, (observation, verdict)) in observations.iter().zip(verdicts).enumerate() {
            let keep = trace.is_left_by(observation.fingerprint, *verdict);
            word |= u64::from(keep) << i;
        }
        write_u64(frame, at, word);
        let (mut kept, mut count) = ([0; 8 * 64], 0);
        let mut rest = word;
        while rest != 0 {
            let fingerprint = observations[rest.trailing_zeros() as usize].fingerprint;
            // Always below 64; said so that nobody need check.
            write_u64(&mut kept, 8 * (count % 64), fingerprint.0);
            count += 1;
            rest &= rest - 1;
        }
        frame.extend_from_slice(&kept[..8 * count]);
    }
}

/// Whatever the bits say, no more is taken than there is; a frame that says otherwise was
/// never written.
fn decode_sparse(payload: &[u8], count: usize, into: &mut Recorded) {
    let (bits, fingerprints) = payload.split_at(8 * count.div_ceil(64));
    let mut fingerprints = fingerprints.chunks_exact(8);
    let mut next = 0;
    for (at, cell) in (0..).step_by(64).zip(bits.chunks_exact(8)) {
        let mut word = read_u64(cell, 0);
        while word != 0 {
            let place = at + word.trailing_zeros();
            word &= word - 1;
            let Some(fingerprint) = fingerprints.next() else {
                break;
            };
            let fingerprint = Fingerprint(read_u64(fingerprint, 0));
            into.observations.push(fingerprint.into());
            into.gaps.push(place - next);
            next = place + 1;
        }
    }
    into.trailing = (count as u32).saturating_sub(next);
}

/// Where a frame goes and what it follows.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// The store.
    pub store: &'a StoreId,
    /// Where in its log, after which frame and how many observations.
    pub position: LogPosition,
    /// Which opening of the store writes it.
    pub incarnation: u32,
    /// Observations known to be durable.
    pub watermark: u64,
}

/// Writes a frame into `frame`, replacing what it held. Returns its checksum.
pub fn encode(frame: &mut Vec<u8>, place: &Place<'_>, payload: Payload<'_>) -> u32 {
    let payload = payload.shortest();
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
    if let Payload::Sparse(observations, ..) = payload {
        write_u16(frame, offset::COUNT, observations.len() as u16);
    }
    write_u32(frame, offset::PAYLOAD_BYTES, payload_bytes as u32);
    write_u32(frame, offset::INCARNATION, place.incarnation);
    write_u64(frame, offset::SEQUENCE, sequence);
    write_u64(frame, offset::WATERMARK, place.watermark);
    let checksum = frame_checksum(place.store, epoch, at, frame);
    write_u32(frame, offset::CHECKSUM, checksum);
    checksum
}

/// The checksum that a switch frame names.
pub fn switch_target(payload: &[u8]) -> u32 {
    read_u32(payload, 0)
}

/// The observations of an intact frame, in place of what `into` held.
pub fn decode_payload(header: &FrameHeader, payload: &[u8], into: &mut Recorded) {
    into.clear();
    match header.kind {
        Kind::Switch => {}
        Kind::Keys => into.observations.extend(
            payload
                .chunks_exact(8)
                .map(|cell| Observation::from(Fingerprint(read_u64(cell, 0)))),
        ),
        Kind::Full => into
            .observations
            .extend(payload.chunks_exact(16).map(|cell| Observation {
                fingerprint: Fingerprint(read_u64(cell, 0)),
                tick: read_u32(cell, 8),
                importance: read_u16(cell, 12),
            })),
        Kind::Sparse => decode_sparse(payload, header.observations, into),
    }
    into.gaps.resize(into.observations.len(), 0);
}

/// The first bytes of a log: magic, epoch, incarnation, checksum. The incarnation tells a
/// log from one of the same epoch that a crash undid: its frames must not follow.
pub fn encode_log_header(store: &StoreId, epoch: u64, incarnation: u32) -> (Vec<u8>, u32) {
    let mut bytes = vec![0; LOG_START as usize];
    bytes[..8].copy_from_slice(LOG_MAGIC);
    write_u64(&mut bytes, 8, epoch);
    if !planted(Mutant::LogHeaderWithoutIncarnation) {
        write_u32(&mut bytes, 16, incarnation);
    }
    let checksum = placed(store, epoch, 0, &bytes[..LOG_START as usize - 4]);
    write_u32(&mut bytes, LOG_START as usize - 4, checksum);
    (bytes, checksum)
}

/// The checksum of a log's header, if it is a header of this epoch.
pub fn check_log_header(store: &StoreId, epoch: u64, bytes: &[u8]) -> Option<u32> {
    let (expected, checksum) = encode_log_header(store, epoch, read_u32(bytes, 16));
    (bytes == expected).then_some(checksum)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_sparse_frame_keeps_what_left_a_trace(
            keys in prop::collection::vec((0u64..16, any::<bool>()), 0..300),
            mask in prop_oneof![Just(u64::MAX), 0u64..16],
        ) {
            let observations: Vec<Observation> =
                keys.iter().map(|&(key, _)| Fingerprint(key).into()).collect();
            let verdicts: Vec<Verdict> = keys
                .iter()
                .map(|&(_, new)| if new { Verdict::New } else { Verdict::Seen })
                .collect();
            let position = LogPosition { epoch: 1, offset: 512, chain: 2, sequence: 3 };
            let place = Place { store: &[7; 16], position, incarnation: 1, watermark: 0 };
            let mut frame = Vec::new();
            encode(&mut frame, &place, Payload::Sparse(&observations, &verdicts, Trace::new(mask)));
            let header = FrameHeader::peek(&frame).expect("a frame");
            prop_assert!(is_intact(&[7; 16], 1, 512, &frame));
            prop_assert_eq!(header.frame_bytes(), frame.len());
            prop_assert_eq!(header.sequence_after(), 3 + keys.len() as u64);
            prop_assert!(Kind::Sparse.fits(header.payload_bytes) <= keys.len());
            let mut recorded = Recorded::default();
            decode_payload(&header, &frame[FRAME_HEADER_BYTES..], &mut recorded);
            prop_assert_eq!(recorded.count(), keys.len() as u64);
            let mut naive = Recorded::default();
            for (observation, &(key, new)) in observations.iter().zip(&keys) {
                match new || key & mask == 0 {
                    true => {
                        naive.observations.push(*observation);
                        naive.gaps.push(std::mem::take(&mut naive.trailing));
                    }
                    false => naive.trailing += 1,
                }
            }
            prop_assert_eq!(recorded, naive);
        }
    }
}
