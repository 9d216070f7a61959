//! Reading the log back, and telling a torn tail from rot.

use std::ops::Range;

use super::checksum::StoreId;
use super::error::{Damage, StoreError};
use super::frame::{
    self, FRAME_HEADER_BYTES, FrameHeader, Kind, MAX_PAYLOAD_BYTES, check_log_header,
};
use super::layout::{LOG_START, Layout};
use super::mark::Mark;
use super::medium::{Medium, StoreFile};
use super::mutant::{Mutant, planted};
use super::superblock::LogPosition;
use crate::filter::Recorded;

/// How far behind a bad frame evidence is looked for. Frames written within one sync of
/// each other lie closer; what lies farther is vouched for by the mark.
const EVIDENCE_BYTES: u64 = 1 << 20;

/// What came out of the log.
#[derive(Debug)]
pub struct Replayed {
    /// Where the next frame goes.
    pub end: LogPosition,
    /// The highest incarnation met.
    pub incarnation: u32,
    /// Observations replayed.
    pub observations: u64,
    /// A frame that a crash tore, if there was one: it and what follows was never
    /// acknowledged.
    pub torn: Option<TornTail>,
    /// What may have reached only the operating system's memory, not the disk.
    pub doubtful: Vec<(StoreFile, Range<u64>)>,
}

/// Where a crash tore the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct TornTail {
    /// Which log.
    pub file: StoreFile,
    /// Where in it.
    pub offset: u64,
}

/// Hands what every frame from `start` on holds to `apply`, in order.
pub fn replay(
    medium: &impl Medium,
    store_id: &StoreId,
    layout: &Layout,
    start: LogPosition,
    mark: &Mark,
    mut apply: impl FnMut(&Recorded),
) -> Result<Replayed, StoreError> {
    let mut replayed = Replayed {
        end: start,
        incarnation: 0,
        observations: 0,
        torn: None,
        doubtful: Vec::new(),
    };
    let reader = LogReader {
        medium,
        store_id,
        layout,
    };
    reader.check_header(&start)?;
    let mut window = Window::default();
    let mut recorded = Recorded::default();
    loop {
        let at = replayed.end;
        let file = StoreFile::log(at.epoch);
        let Some((header, payload)) = reader.next_frame(&mut window, &at)? else {
            reader.judge_the_end(&at, mark)?;
            replayed.torn = reader.torn_tail(&at)?;
            return Ok(replayed);
        };
        replayed.incarnation = replayed.incarnation.max(header.incarnation);
        frame::decode_payload(&header, payload, &mut recorded);
        apply(&recorded);
        replayed.observations += header.observations as u64;
        let after = at.offset + header.frame_bytes() as u64;
        if header.sequence_after() > mark.sequence || header.kind == Kind::Switch {
            add_range(&mut replayed.doubtful, file, at.offset..after);
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
                chain: frame::switch_target(payload),
                sequence: header.sequence,
            };
            reader.check_header(&replayed.end)?;
            add_range(&mut replayed.doubtful, StoreFile::log(epoch), 0..LOG_START);
            window = Window::default();
        }
    }
}

fn add_range(ranges: &mut Vec<(StoreFile, Range<u64>)>, file: StoreFile, range: Range<u64>) {
    match ranges.last_mut() {
        Some((last_file, last)) if *last_file == file && last.end == range.start => {
            last.end = range.end;
        }
        _ => ranges.push((file, range)),
    }
}

/// Part of a log in memory, so that small frames do not cost a system call each.
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
    /// At least `length` bytes from `offset`, if the log has so many.
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
            self.medium
                .read(file, offset, &mut window.bytes)
                .map_err(|error| StoreError::on_file("read", file, error))?;
        }
        let start = (offset - window.start) as usize;
        Ok(Some(&window.bytes[start..start + length]))
    }

    fn check_header(&self, position: &LogPosition) -> Result<(), StoreError> {
        let file = StoreFile::log(position.epoch);
        let mut header = vec![0; LOG_START as usize];
        self.medium
            .read(file, 0, &mut header)
            .map_err(|error| StoreError::on_file("read", file, error))?;
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
            found: "something else".to_owned(),
        }))
    }

    /// The frame at a position, if one that belongs there is there, whole.
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

    /// No frame follows. If anything says that one was durable, the log is damaged.
    fn judge_the_end(&self, at: &LogPosition, mark: &Mark) -> Result<(), StoreError> {
        let mut durable = mark.sequence;
        let mut witness = StoreFile::Mark;
        for epoch in [at.epoch, at.epoch + 1] {
            let from = if epoch == at.epoch {
                at.offset
            } else {
                LOG_START
            };
            self.later_frames(epoch, from, |_, header| {
                if header.watermark > durable {
                    durable = header.watermark;
                    witness = StoreFile::log(epoch);
                }
            })?;
        }
        if durable <= at.sequence || planted(Mutant::RotTakenForTornTail) {
            return Ok(());
        }
        Err(StoreError::Corrupt(Damage {
            file: StoreFile::log(at.epoch),
            offset: at.offset,
            expected: format!(
                "a frame with observation {}, as {witness} says that {durable} are durable",
                at.sequence + 1
            ),
            found: "no whole frame".to_owned(),
        }))
    }

    /// Whether something that was being written lies behind the end.
    fn torn_tail(&self, at: &LogPosition) -> Result<Option<TornTail>, StoreError> {
        let mut torn = None;
        let tail = TornTail {
            file: StoreFile::log(at.epoch),
            offset: at.offset,
        };
        self.later_frames(at.epoch, at.offset, |_, _| torn = Some(tail))?;
        let mut start = [0; FRAME_HEADER_BYTES];
        if at.offset + FRAME_HEADER_BYTES as u64 <= self.layout.log_bytes {
            self.medium
                .read(tail.file, at.offset, &mut start)
                .map_err(|error| StoreError::on_file("read", tail.file, error))?;
            let next = FrameHeader::peek(&start);
            if next.is_some_and(|next| next.previous == at.chain && next.sequence == at.sequence) {
                torn = Some(tail);
            }
        }
        Ok(torn)
    }

    /// Every whole frame of an epoch that starts not far behind an offset.
    fn later_frames(
        &self,
        epoch: u64,
        from: u64,
        mut found: impl FnMut(u64, &FrameHeader),
    ) -> Result<(), StoreError> {
        let file = StoreFile::log(epoch);
        let span = EVIDENCE_BYTES.min(self.layout.log_bytes.saturating_sub(from));
        let mut bytes = vec![0; span as usize];
        self.medium
            .read(file, from, &mut bytes)
            .map_err(|error| StoreError::on_file("read", file, error))?;
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
