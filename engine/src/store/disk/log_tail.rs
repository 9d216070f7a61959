//! Decides which frames are stored into a [`LogWindow`] and which are written by a call.
//!
//! A window saves a system call per frame, but opening one costs as much as a dozen small writes.
//! So the first small frames of a run are written, and windows of growing length are opened for
//! the next ones. Large frames are written, unless a window is open at their place.

use crate::store::error::StoreError;
use crate::store::log::Framed;
use crate::store::medium::{LogWindow, Medium, StoreFile};
use crate::store::mutant::{Mutant, planted};

/// The longest frame for which a window is opened.
const SMALL_FRAME_BYTES: usize = 1 << 10;
/// So many small frames are written before a window is opened.
const FRAMES_BEFORE_WINDOW: u32 = 4;
const FIRST_WINDOW_BYTES: u64 = 16 << 10;
const LAST_WINDOW_BYTES: u64 = 256 << 10;

/// The end of the log, in memory if that pays.
pub struct LogTail {
    window: Option<(StoreFile, Box<dyn LogWindow>)>,
    /// The length of the next window; 0 if the log cannot be mapped.
    next_bytes: u64,
    log_bytes: u64,
    /// How many small frames were written since the last large one.
    small_frames: u32,
}

impl LogTail {
    /// Starts without a window. With `may_map` false, there will be none.
    pub fn new(log_bytes: u64, may_map: bool) -> Self {
        LogTail {
            window: None,
            next_bytes: if may_map { FIRST_WINDOW_BYTES } else { 0 },
            log_bytes,
            small_frames: 0,
        }
    }

    /// Stores a frame. Returns false if it must be written by a call.
    #[inline]
    pub fn store(&mut self, medium: &impl Medium, framed: &Framed<'_>) -> Result<bool, StoreError> {
        let file = StoreFile::log(framed.at.epoch);
        if !self.covers(file, framed) && !self.open(medium, file, framed)? {
            return Ok(false);
        }
        match &mut self.window {
            Some((_, window)) => {
                let stored = window.store(framed.at.offset, framed.bytes);
                stored.map_err(|error| StoreError::on_file("write", file, error))?;
                Ok(true)
            }
            None => Ok(false),
        }
    }

    /// Returns whether the window has room for a frame.
    #[inline]
    fn covers(&self, file: StoreFile, framed: &Framed<'_>) -> bool {
        self.window.as_ref().is_some_and(|(mapped, window)| {
            let range = window.range();
            let same_file = *mapped == file || planted(Mutant::WindowOfOtherLog);
            same_file && range.start <= framed.at.offset && framed.end.offset <= range.end
        })
    }

    /// Opens a window at a frame. Returns false if it does not pay or is not possible.
    #[cold]
    fn open(
        &mut self,
        medium: &impl Medium,
        file: StoreFile,
        framed: &Framed<'_>,
    ) -> Result<bool, StoreError> {
        self.window = None;
        if framed.bytes.len() > SMALL_FRAME_BYTES {
            self.small_frames = 0;
            return Ok(false);
        }
        if self.small_frames < FRAMES_BEFORE_WINDOW {
            self.small_frames += 1;
            return Ok(false);
        }
        let (offset, length) = (framed.at.offset, framed.bytes.len() as u64);
        let rest = self.log_bytes.saturating_sub(offset);
        if self.next_bytes == 0 || rest < length {
            return Ok(false);
        }
        let Some(window) = medium.map_log(file, offset, self.next_bytes.min(rest)) else {
            self.next_bytes = 0;
            return Ok(false);
        };
        let window = window.map_err(|error| StoreError::on_file("write", file, error))?;
        self.window = Some((file, window));
        self.next_bytes = (4 * self.next_bytes).min(LAST_WINDOW_BYTES);
        Ok(self.covers(file, framed))
    }
}
