//! Blocks on their way from the writer, who is about to change them, to the thread that
//! writes the image.
//!
//! A filter touches its region at random, so soon after a freeze the writer has to save
//! most blocks itself. Copying one is faster than a call to the system that writes it, and
//! two threads that write to one file wait for each other in the kernel. So the writer
//! copies into memory of a fixed size and goes on; where that is full it waits, which
//! keeps it to the pace at which the image is written.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Copies of blocks that follow each other, behind one another.
#[derive(Debug, Default)]
pub struct Copies {
    bytes: Vec<u8>,
    /// The first block of each run, and where the run ends in the bytes.
    runs: Vec<(u64, usize)>,
}

impl Copies {
    fn push(&mut self, first: u64, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        self.runs.push((first, self.bytes.len()));
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.runs.clear();
    }

    /// Each run: its first block and its bytes.
    pub fn runs(&self) -> impl Iterator<Item = (u64, &[u8])> {
        let mut start = 0;
        self.runs.iter().map(move |&(first, end)| {
            let run = &self.bytes[start..end];
            start = end;
            (first, run)
        })
    }
}

/// A place of bounded size: one puts in, one takes out.
#[derive(Debug)]
pub struct Handover {
    capacity_bytes: usize,
    waiting: Mutex<Waiting>,
    room: Condvar,
}

#[derive(Debug, Default)]
struct Waiting {
    copies: Copies,
    /// Nobody will take any more out.
    closed: bool,
}

impl Handover {
    /// For up to so many bytes at a time.
    pub fn new(capacity_bytes: usize) -> Self {
        Handover {
            capacity_bytes,
            waiting: Mutex::default(),
            room: Condvar::new(),
        }
    }

    fn locked(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns when there is room for so many bytes, or nothing waits, or all is over. Only
    /// the one who puts in makes it less, so it is still there when that one does.
    pub fn wait_for_room(&self, bytes: usize) {
        let is_full = |waiting: &mut Waiting| {
            let held = waiting.copies.bytes.len();
            held > 0 && held + bytes > self.capacity_bytes && !waiting.closed
        };
        let waited = self.room.wait_while(self.locked(), is_full);
        drop(waited);
    }

    /// Leaves a copy of blocks that follow each other.
    pub fn put(&self, first: u64, bytes: &[u8]) {
        let mut waiting = self.locked();
        if !waiting.closed {
            waiting.copies.push(first, bytes);
        }
    }

    /// Takes what waits in exchange for what was taken before; false if nothing does.
    pub fn take(&self, copies: &mut Copies) -> bool {
        copies.clear();
        let mut waiting = self.locked();
        if waiting.copies.runs.is_empty() {
            return false;
        }
        std::mem::swap(&mut waiting.copies, copies);
        drop(waiting);
        self.room.notify_one();
        true
    }

    /// When this is dropped, nothing will be taken out any more, and whoever waits goes on.
    pub fn closing(&self) -> Closing<'_> {
        Closing { handover: self }
    }
}

/// See [`Handover::closing`].
pub struct Closing<'a> {
    handover: &'a Handover,
}

impl Drop for Closing<'_> {
    fn drop(&mut self) {
        self.handover.locked().closed = true;
        self.handover.room.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn all_that_is_put_in_comes_out_once_within_the_bound() {
        let handover = Arc::new(Handover::new(64));
        let putting = Arc::clone(&handover);
        let writer = std::thread::spawn(move || {
            for block in 0..1000u64 {
                let bytes = [block as u8; 24];
                putting.wait_for_room(bytes.len());
                putting.put(block, &bytes);
            }
        });
        let (mut next, mut copies) = (0, Copies::default());
        while next < 1000 {
            handover.take(&mut copies);
            assert!(copies.bytes.len() <= 64);
            for (block, bytes) in copies.runs() {
                assert_eq!((block, bytes), (next, &[next as u8; 24][..]));
                next += 1;
            }
        }
        writer.join().expect("no panic");
        assert!(!handover.take(&mut copies));
    }

    #[test]
    fn what_is_larger_than_the_bound_passes_alone_and_a_closed_one_holds_nobody() {
        let handover = Handover::new(8);
        handover.wait_for_room(100);
        handover.put(7, &[1; 100]);
        let mut copies = Copies::default();
        assert!(handover.take(&mut copies));
        assert_eq!(copies.runs().collect::<Vec<_>>(), [(7, &[1; 100][..])]);
        handover.put(8, &[2; 8]);
        drop(handover.closing());
        handover.wait_for_room(100);
    }
}
