//! Encoding frames and keeping the end of the log.

use super::error::StoreError;
use super::file_access::FileAccess;
use super::format::checksum::StoreId;
use super::format::frame::{self, FRAME_HEADER_BYTES, MAX_PAYLOAD_BYTES, Place, SWITCH_BYTES};
use super::format::layout::{LOG_START, Layout};
use super::format::payload::{Encoding, Payload};
use super::format::superblock::LogPosition;
use super::medium::{Medium, StoreFile};
use super::mutant::{Mutant, planted};

/// The unit in which the operating system caches files, or a multiple of it.
const PAGE_BYTES: u64 = 4096;

/// Encodes frames and keeps the position of the end of the log.
#[derive(Debug)]
pub struct LogWriter {
    store_id: StoreId,
    log_bytes: u64,
    encoding: Encoding,
    position: LogPosition,
    incarnation: u32,
    /// A buffer for the next frame.
    frame: Vec<u8>,
}

/// A frame that is encoded and not written yet.
pub struct Framed<'a> {
    /// The frame. Its writer may take the buffer and leave another one in its place.
    pub bytes: &'a mut Vec<u8>,
    /// The number of zeros to [write](Framed::fill_page) after the frame.
    fill: usize,
    /// The position of the frame.
    pub at: LogPosition,
    /// The position after the frame.
    pub end: LogPosition,
}

impl Framed<'_> {
    /// Fills the frame's last page with zeros if no frame before it reached that page. Without
    /// that, the operating system would read the page from the disk before writing part of it.
    pub fn fill_page(&mut self) {
        self.bytes.resize(self.bytes.len() + self.fill, 0);
        self.fill = 0;
    }

    /// Returns a frame that needs no zeros after it.
    #[cfg(test)]
    pub fn alone(bytes: &mut Vec<u8>, at: LogPosition, end: LogPosition) -> Framed<'_> {
        Framed {
            bytes,
            fill: 0,
            at,
            end,
        }
    }
}

impl LogWriter {
    pub fn new(
        store_id: StoreId,
        layout: &Layout,
        encoding: Encoding,
        position: LogPosition,
        incarnation: u32,
    ) -> Self {
        LogWriter {
            store_id,
            log_bytes: layout.log_bytes,
            encoding,
            position,
            incarnation,
            frame: Vec::new(),
        }
    }

    /// Returns the incarnation: how often the store has been opened for writing.
    pub fn incarnation(&self) -> u32 {
        self.incarnation
    }

    /// Returns the position of the next frame.
    pub fn position(&self) -> LogPosition {
        self.position
    }

    /// Returns how many bytes of the log are in use.
    pub fn used_bytes(&self) -> u64 {
        self.position.offset
    }

    /// Returns what frames record of each observation.
    pub fn encoding(&self) -> Encoding {
        self.encoding
    }

    /// Returns how many observations the next frame can hold.
    pub fn room(&self) -> usize {
        self.room_from(self.position.offset)
    }

    /// Returns how many observations a frame can hold in an empty log.
    pub fn batch_limit(&self) -> usize {
        self.room_from(LOG_START)
    }

    /// Keeps room for a switch frame.
    fn room_from(&self, offset: u64) -> usize {
        let reserved = (2 * FRAME_HEADER_BYTES + SWITCH_BYTES) as u64;
        let left = self.log_bytes.saturating_sub(offset + reserved);
        self.encoding
            .fits(left.min(MAX_PAYLOAD_BYTES as u64) as usize)
    }

    /// Encodes a frame of observations, which must fit into the [`room`](LogWriter::room), and
    /// passes it to `put` for writing. Moves the position if `put` succeeds.
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
            sequence: at.sequence + payload.entries() as u64,
        };
        debug_assert!(end.offset <= self.log_bytes, "the frame must fit");
        put(Framed {
            fill: self.bytes_to_fill(at.offset, end.offset),
            bytes: &mut self.frame,
            at,
            end,
        })?;
        self.position = end;
        Ok(())
    }

    /// Returns how many bytes follow a frame in its last page, if no frame before it reached that
    /// page.
    fn bytes_to_fill(&self, start: u64, end: u64) -> usize {
        let reached = end.next_multiple_of(PAGE_BYTES);
        match start <= reached.saturating_sub(PAGE_BYTES) && reached <= self.log_bytes {
            true => (reached - end) as usize,
            false => 0,
        }
    }

    /// Writes and syncs the header of the next log. Returns the header's checksum.
    pub fn start_next(
        medium: &impl Medium,
        store_id: &StoreId,
        epoch: u64,
        incarnation: u32,
    ) -> Result<u32, StoreError> {
        let file = StoreFile::log(epoch);
        let (header, checksum) = frame::encode_log_header(store_id, epoch, incarnation);
        medium.write_at(file, 0, &header)?;
        if !planted(Mutant::NoSyncOfLogHeader) {
            medium.sync_file(file)?;
        }
        Ok(checksum)
    }

    /// Ends this log with a switch frame and continues in the next log, which must have been
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

    /// The first write to a page fills it, except for the log's first page, which holds the
    /// header. Only zeros are written after a frame.
    #[test]
    fn the_first_write_to_a_page_fills_it() {
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
        let mut log = LogWriter::new([1; 16], &layout, Encoding::Keys, start, 1);
        let mut filled = PAGE_BYTES;
        for count in (1..).map(|n: usize| n * n * 37 % 901) {
            if count > log.room() {
                break;
            }
            let keys: Vec<Observation> =
                (0..count as u64).map(|k| Fingerprint(!k).into()).collect();
            let put = |mut framed: Framed<'_>| {
                framed.fill_page();
                let frame_bytes = (framed.end.offset - framed.at.offset) as usize;
                let (frame, rest) = framed.bytes.split_at(frame_bytes);
                assert_eq!(frame.len(), FRAME_HEADER_BYTES + 8 * count);
                assert!(rest.iter().all(|&byte| byte == 0));
                let written_to = framed.at.offset + framed.bytes.len() as u64;
                assert!(framed.at.offset <= filled && written_to <= layout.log_bytes);
                if framed.end.offset > filled {
                    assert_eq!(written_to, framed.end.offset.next_multiple_of(PAGE_BYTES));
                    filled = written_to;
                } else {
                    assert!(written_to <= filled);
                }
                Ok(())
            };
            log.append(Payload::Keys(&keys), 0, put).expect("put");
        }
        assert_eq!(filled, layout.log_bytes);
    }
}
