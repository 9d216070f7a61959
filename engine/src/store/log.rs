//! Appending to the log.

use super::checksum::StoreId;
use super::error::StoreError;
use super::frame::{
    self, FRAME_HEADER_BYTES, Kind, MAX_PAYLOAD_BYTES, Payload, Place, SWITCH_BYTES,
};
use super::layout::{LOG_START, Layout};
use super::medium::{Medium, StoreFile};
use super::mutant::{Mutant, planted};
use super::superblock::LogPosition;

/// What the system reads and writes files in, or a multiple of it.
const PAGE_BYTES: u64 = 4096;

/// The end of the log, where frames are added.
#[derive(Debug)]
pub struct LogWriter {
    store_id: StoreId,
    log_bytes: u64,
    position: LogPosition,
    incarnation: u32,
    /// The last frame, kept for its capacity.
    frame: Vec<u8>,
}

/// A frame that is made and not written.
pub struct Framed<'a> {
    /// The frame and, if it is the first in its last page, zeros to the end of that. Who
    /// writes them may keep them and leave others, for their capacity.
    pub bytes: &'a mut Vec<u8>,
    /// Where they belong.
    pub at: LogPosition,
    /// Where the log ends behind them.
    pub end: LogPosition,
}

impl LogWriter {
    pub fn new(
        store_id: StoreId,
        layout: &Layout,
        position: LogPosition,
        incarnation: u32,
    ) -> Self {
        LogWriter {
            store_id,
            log_bytes: layout.log_bytes,
            position,
            incarnation,
            frame: Vec::new(),
        }
    }

    /// Which opening of the store this is.
    pub fn incarnation(&self) -> u32 {
        self.incarnation
    }

    /// Where the next frame goes.
    pub fn position(&self) -> LogPosition {
        self.position
    }

    /// The share of the log that is in use.
    pub fn used_bytes(&self) -> u64 {
        self.position.offset
    }

    /// How many observations the next frame can hold. Room for a switch is kept.
    pub fn room(&self, kind: Kind) -> usize {
        let reserved = (2 * FRAME_HEADER_BYTES + SWITCH_BYTES) as u64;
        let left = self
            .log_bytes
            .saturating_sub(self.position.offset + reserved);
        kind.fits(left.min(MAX_PAYLOAD_BYTES as u64) as usize)
    }

    /// Adds a frame of observations, which must fit into the [`room`](LogWriter::room);
    /// `put` has it written.
    pub fn append(
        &mut self,
        payload: Payload<'_>,
        watermark: u64,
        put: impl FnOnce(Framed<'_>) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let at = self.position;
        let place = Place {
            store: &self.store_id,
            position: at,
            incarnation: self.incarnation,
            watermark,
        };
        let chain = frame::encode(&mut self.frame, &place, payload);
        let end = LogPosition {
            epoch: at.epoch,
            offset: at.offset + self.frame.len() as u64,
            chain,
            sequence: at.sequence + payload.observations() as u64,
        };
        self.fill_page(at.offset, end.offset);
        let bytes = &mut self.frame;
        put(Framed { bytes, at, end })?;
        self.position = end;
        Ok(())
    }

    /// A frame that is the first to reach a page fills it, with zeros behind itself: to write
    /// part of a page that it does not hold in memory, the system would read it first.
    fn fill_page(&mut self, start: u64, end: u64) {
        let reached = end.next_multiple_of(PAGE_BYTES);
        if start <= reached.saturating_sub(PAGE_BYTES) && reached <= self.log_bytes {
            self.frame.resize((reached - start) as usize, 0);
        }
    }

    /// Makes the next log's file ready, durably. Returns the checksum of its header.
    pub fn start_next(
        medium: &impl Medium,
        store_id: &StoreId,
        epoch: u64,
        incarnation: u32,
    ) -> Result<u32, StoreError> {
        let file = StoreFile::log(epoch);
        let (header, checksum) = frame::encode_log_header(store_id, epoch, incarnation);
        medium
            .write(file, 0, &header)
            .map_err(|error| StoreError::on_file("write", file, error))?;
        if !planted(Mutant::NoSyncOfLogHeader) {
            medium
                .sync(file)
                .map_err(|error| StoreError::on_file("sync", file, error))?;
        }
        Ok(checksum)
    }

    /// Ends this log and goes on in the next, which has been
    /// [started](LogWriter::start_next).
    pub fn switch(
        &mut self,
        watermark: u64,
        put: impl FnOnce(Framed<'_>) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let epoch = self.position.epoch + 1;
        let (_, chain) = frame::encode_log_header(&self.store_id, epoch, self.incarnation);
        if !planted(Mutant::NoSwitchFrame) {
            self.append(Payload::Switch(chain), watermark, put)?;
        }
        self.position = LogPosition {
            epoch,
            offset: LOG_START,
            chain,
            sequence: self.position.sequence,
        };
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filter::Observation;
    use crate::fingerprint::Fingerprint;

    /// No page is written in part before it was written whole, but for the log's first,
    /// which its header is in; and nothing is written that is not the frame's but zeros.
    #[test]
    fn pages_are_first_written_whole() {
        let layout = Layout {
            region_bytes: 1,
            log_bytes: 16 * PAGE_BYTES,
        };
        let start = LogPosition {
            epoch: 1,
            offset: LOG_START,
            chain: 0,
            sequence: 0,
        };
        let mut log = LogWriter::new([1; 16], &layout, start, 1);
        let mut whole = PAGE_BYTES;
        for count in (1..).map(|n: usize| n * n * 37 % 901) {
            if count > log.room(Kind::Keys) {
                break;
            }
            let keys: Vec<Observation> =
                (0..count as u64).map(|k| Fingerprint(!k).into()).collect();
            let put = |framed: Framed<'_>| {
                let frame_bytes = (framed.end.offset - framed.at.offset) as usize;
                let (frame, behind) = framed.bytes.split_at(frame_bytes);
                assert_eq!(frame.len(), FRAME_HEADER_BYTES + 8 * count);
                assert!(behind.iter().all(|&byte| byte == 0));
                let written_to = framed.at.offset + framed.bytes.len() as u64;
                assert!(framed.at.offset <= whole && written_to <= layout.log_bytes);
                if framed.end.offset > whole {
                    assert_eq!(written_to, framed.end.offset.next_multiple_of(PAGE_BYTES));
                    whole = written_to;
                } else {
                    assert!(written_to <= whole);
                }
                Ok(())
            };
            log.append(Payload::Keys(&keys), 0, put).expect("put");
        }
        assert_eq!(whole, layout.log_bytes);
    }
}
