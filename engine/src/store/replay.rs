//! Replaying the log, and distinguishing a torn tail from corruption.

use std::ops::Range;

use super::error::{Damage, StoreError};
use super::file_access::FileAccess;
use super::format::checksum::StoreId;
use super::format::frame::{
    self, FRAME_HEADER_BYTES, FrameHeader, Kind, MAX_PAYLOAD_BYTES, check_log_header,
};
use super::format::layout::{LOG_START, Layout};
use super::format::mark::Mark;
use super::format::payload::{decode_payload, switch_target};
use super::format::superblock::LogPosition;
use super::medium::{Medium, StoreFile};
use super::mutant::{Mutant, planted};
use crate::filter::LoggedObservations;

/// How far after a bad frame to search for frames that prove it was durable. Frames between
/// two syncs span less than this; for frames farther away the mark is the evidence.
const EVIDENCE_BYTES: u64 = 1 << 20;

/// What replaying the log found.
#[derive(Debug)]
pub struct Replayed {
    /// The position of the next frame.
    pub end: LogPosition,
    /// The highest incarnation in a frame.
    pub incarnation: u32,
    /// The number of observations replayed, and of keys that were taken out.
    pub entries: u64,
    /// The frame that a crash tore, if any. It and all frames after it were not acknowledged.
    pub torn: Option<TornTail>,
    /// Parts of the logs that may be in the operating system's cache but not on the disk.
    pub maybe_unsynced: Vec<(StoreFile, Range<u64>)>,
}

/// Where a crash tore the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct TornTail {
    /// The log.
    pub file: StoreFile,
    /// The offset of the torn frame.
    pub offset: u64,
}

/// Calls `apply` with the observations of every frame from `start` on, in order.
pub fn replay(
    medium: &impl Medium,
    store_id: &StoreId,
    layout: &Layout,
    start: LogPosition,
    mark: &Mark,
    mut apply: impl FnMut(&LoggedObservations),
) -> Result<Replayed, StoreError> {
    let mut replayed = Replayed {
        end: start,
        incarnation: 0,
        entries: 0,
        torn: None,
        maybe_unsynced: Vec::new(),
    };
    let reader = LogReader {
        medium,
        store_id,
        layout,
    };
    reader.check_header(&start)?;
    let mut window = Window::default();
    let mut recorded = LoggedObservations::default();
    loop {
        let at = replayed.end;
        let file = StoreFile::log(at.epoch);
        let Some((header, payload)) = reader.next_frame(&mut window, &at)? else {
            reader.check_end(&at, mark)?;
            replayed.torn = reader.torn_tail(&at)?;
            return Ok(replayed);
        };
        replayed.incarnation = replayed.incarnation.max(header.incarnation);
        decode_payload(&header, payload, &mut recorded);
        apply(&recorded);
        replayed.entries += header.entries as u64;
        let after = at.offset + header.frame_bytes() as u64;
        if header.sequence_after() > mark.sequence || header.kind == Kind::Switch {
            add_range(&mut replayed.maybe_unsynced, file, at.offset..after);
        }
        replayed.end = LogPosition {
            epoch: at.epoch,
            offset: after,
            chain: header.checksum,
            sequence: header.sequence_after(),
        };
        if header.kind == Kind::Switch {
            let epoch = at.epoch + 1;
            replayed.end = LogPosition {
                epoch,
                offset: LOG_START,
                chain: switch_target(payload),
                sequence: header.sequence,
            };
            reader.check_header(&replayed.end)?;
            add_range(
                &mut replayed.maybe_unsynced,
                StoreFile::log(epoch),
                0..LOG_START,
            );
            window = Window::default();
        }
    }
}

/// Returns whether the log that lacks a valid header holds frames that continue from a position.
/// A log of the next epoch would continue at its start.
pub fn holds_frames_without_header(
    medium: &impl Medium,
    store_id: &StoreId,
    layout: &Layout,
    from: &LogPosition,
    file: StoreFile,
) -> Result<bool, StoreError> {
    let reader = LogReader {
        medium,
        store_id,
        layout,
    };
    let mut found = false;
    match StoreFile::log(from.epoch) == file {
        true => reader.later_frames(from.epoch, from.offset, |_, _| found = true)?,
        false => reader.later_frames(from.epoch + 1, LOG_START, |_, _| found = true)?,
    }
    Ok(found)
}

fn add_range(ranges: &mut Vec<(StoreFile, Range<u64>)>, file: StoreFile, range: Range<u64>) {
    match ranges.last_mut() {
        Some((last_file, last)) if *last_file == file && last.end == range.start => {
            last.end = range.end;
        }
        _ => ranges.push((file, range)),
    }
}

/// Part of a log in memory, so that small frames do not cost one system call each.
#[derive(Default)]
struct Window {
    start: u64,
    bytes: Vec<u8>,
}

struct LogReader<'a, M> {
    medium: &'a M,
    store_id: &'a StoreId,
    layout: &'a Layout,
}

impl<M: Medium> LogReader<'_, M> {
    /// Returns `length` bytes from `offset`, or None if the log ends before.
    fn bytes<'w>(
        &self,
        window: &'w mut Window,
        file: StoreFile,
        offset: u64,
        length: usize,
    ) -> Result<Option<&'w [u8]>, StoreError> {
        if offset + length as u64 > self.layout.log_bytes {
            return Ok(None);
        }
        let held = window.start..window.start + window.bytes.len() as u64;
        if offset < held.start || offset + length as u64 > held.end {
            let wanted = (2 * MAX_PAYLOAD_BYTES as u64).min(self.layout.log_bytes - offset);
            window.start = offset;
            window.bytes.resize(wanted as usize, 0);
            self.medium.read_at(file, offset, &mut window.bytes)?;
        }
        let start = (offset - window.start) as usize;
        Ok(Some(&window.bytes[start..start + length]))
    }

    fn check_header(&self, position: &LogPosition) -> Result<(), StoreError> {
        let file = StoreFile::log(position.epoch);
        let mut header = vec![0; LOG_START as usize];
        self.medium.read_at(file, 0, &mut header)?;
        let checksum = check_log_header(self.store_id, position.epoch, &header);
        let chained = position.offset > LOG_START || checksum == Some(position.chain);
        let inside = (LOG_START..=self.layout.log_bytes).contains(&position.offset);
        if checksum.is_some() && chained && inside {
            return Ok(());
        }
        Err(StoreError::Corrupt(Damage {
            file,
            offset: 0,
            expected: format!("the header of log epoch {}", position.epoch),
            found: "another header or none".to_owned(),
        }))
    }

    /// Returns the frame at a position, or None if there is no intact frame that belongs there.
    fn next_frame<'w>(
        &self,
        window: &'w mut Window,
        at: &LogPosition,
    ) -> Result<Option<(FrameHeader, &'w [u8])>, StoreError> {
        let file = StoreFile::log(at.epoch);
        let Some(bytes) = self.bytes(window, file, at.offset, FRAME_HEADER_BYTES)? else {
            return Ok(None);
        };
        let Some(header) = FrameHeader::peek(bytes) else {
            return Ok(None);
        };
        let chained = header.previous == at.chain || planted(Mutant::ChainNotChecked);
        let belongs = chained && header.sequence == at.sequence;
        let Some(frame) = self.bytes(window, file, at.offset, header.frame_bytes())? else {
            return Ok(None);
        };
        if !belongs || !frame::is_intact(self.store_id, at.epoch, at.offset, frame) {
            return Ok(None);
        }
        Ok(Some((header, &frame[FRAME_HEADER_BYTES..])))
    }

    /// Fails if there is evidence that a frame at the end of the log was durable: the mark, or
    /// the watermark of a later frame in this log or the next.
    fn check_end(&self, at: &LogPosition, mark: &Mark) -> Result<(), StoreError> {
        let mut durable = mark.sequence;
        let mut evidence = StoreFile::Mark;
        for epoch in [at.epoch, at.epoch + 1] {
            let from = if epoch == at.epoch {
                at.offset
            } else {
                LOG_START
            };
            self.later_frames(epoch, from, |_, header| {
                if header.watermark > durable {
                    durable = header.watermark;
                    evidence = StoreFile::log(epoch);
                }
            })?;
        }
        if durable <= at.sequence || planted(Mutant::CorruptionTreatedAsTornTail) {
            return Ok(());
        }
        Err(StoreError::Corrupt(Damage {
            file: StoreFile::log(at.epoch),
            offset: at.offset,
            expected: format!(
                "a frame with observation {}, because {evidence} says that {durable} observations are durable",
                at.sequence + 1
            ),
            found: "no intact frame".to_owned(),
        }))
    }

    /// Returns the torn tail if a frame was being written at the end of the log.
    fn torn_tail(&self, at: &LogPosition) -> Result<Option<TornTail>, StoreError> {
        let mut torn = None;
        let tail = TornTail {
            file: StoreFile::log(at.epoch),
            offset: at.offset,
        };
        self.later_frames(at.epoch, at.offset, |_, _| torn = Some(tail))?;
        let mut start = [0; FRAME_HEADER_BYTES];
        if at.offset + FRAME_HEADER_BYTES as u64 <= self.layout.log_bytes {
            self.medium.read_at(tail.file, at.offset, &mut start)?;
            let next = FrameHeader::peek(&start);
            if next.is_some_and(|next| next.previous == at.chain && next.sequence == at.sequence) {
                torn = Some(tail);
            }
        }
        Ok(torn)
    }

    /// Calls `found` for every intact frame of an epoch within [`EVIDENCE_BYTES`] after an
    /// offset.
    fn later_frames(
        &self,
        epoch: u64,
        from: u64,
        mut found: impl FnMut(u64, &FrameHeader),
    ) -> Result<(), StoreError> {
        let file = StoreFile::log(epoch);
        let span = EVIDENCE_BYTES.min(self.layout.log_bytes.saturating_sub(from));
        let mut bytes = vec![0; span as usize];
        self.medium.read_at(file, from, &mut bytes)?;
        let magic = frame::FRAME_MAGIC.to_le_bytes();
        for start in memchr::memmem::find_iter(&bytes, &magic) {
            let Some(header) = FrameHeader::peek(&bytes[start..]) else {
                continue;
            };
            let Some(frame) = bytes.get(start..start + header.frame_bytes()) else {
                continue;
            };
            let at = from + start as u64;
            if frame::is_intact(self.store_id, epoch, at, frame) {
                found(at, &header);
            }
        }
        Ok(())
    }
}
