//! Appending to the log.

use super::checksum::StoreId;
use super::error::StoreError;
use super::frame::{self, FRAME_HEADER_BYTES, FrameHeader, Kind, MAX_PAYLOAD_BYTES};
use super::layout::{LOG_START, Layout};
use super::medium::{Medium, StoreFile};
use super::superblock::LogPosition;
use crate::filter::Observation;

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
        let reserved = 2 * FRAME_HEADER_BYTES as u64;
        let left = self
            .log_bytes
            .saturating_sub(self.position.offset + reserved);
        left.min(MAX_PAYLOAD_BYTES as u64) as usize / kind.observation_bytes()
    }

    /// Adds a frame of observations, which must fit into the [`room`](LogWriter::room).
    pub fn append(
        &mut self,
        medium: &impl Medium,
        kind: Kind,
        observations: &[Observation],
        watermark: u64,
    ) -> Result<(), StoreError> {
        let LogPosition {
            epoch,
            offset,
            chain,
            sequence,
        } = self.position;
        let header = FrameHeader {
            checksum: 0,
            previous: chain,
            kind,
            payload_bytes: 0,
            incarnation: self.incarnation,
            sequence,
            watermark,
        };
        let checksum = frame::encode(
            &mut self.frame,
            &self.store_id,
            epoch,
            offset,
            &header,
            observations,
        );
        let file = StoreFile::log(epoch);
        medium
            .write(file, offset, &self.frame)
            .map_err(|error| StoreError::on_file("write", file, error))?;
        self.position = LogPosition {
            epoch,
            offset: offset + self.frame.len() as u64,
            chain: checksum,
            sequence: sequence + observations.len() as u64,
        };
        Ok(())
    }

    /// Ends this log and goes on in the next, which has been [started](start_log).
    pub fn switch(&mut self, medium: &impl Medium, watermark: u64) -> Result<(), StoreError> {
        self.append(medium, Kind::Switch, &[], watermark)?;
        let epoch = self.position.epoch + 1;
        let (_, checksum) = frame::encode_log_header(&self.store_id, epoch);
        self.position = LogPosition {
            epoch,
            offset: LOG_START,
            chain: checksum,
            sequence: self.position.sequence,
        };
        Ok(())
    }
}

/// Makes a log's file ready for an epoch, durably.
pub fn start_log(medium: &impl Medium, store_id: &StoreId, epoch: u64) -> Result<(), StoreError> {
    let file = StoreFile::log(epoch);
    let (header, _) = frame::encode_log_header(store_id, epoch);
    medium
        .write(file, 0, &header)
        .map_err(|error| StoreError::on_file("write", file, error))?;
    medium
        .sync(file)
        .map_err(|error| StoreError::on_file("sync", file, error))
}
