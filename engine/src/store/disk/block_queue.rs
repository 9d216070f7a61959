//! A queue of blocks from the writer, which is about to change them, to the checkpoint thread,
//! which writes them to the image.
//!
//! A filter accesses its region at random, so soon after a freeze the writer has to save most
//! blocks itself. Copying a block is faster than a system call that writes it, and two threads
//! that write to one file wait for each other in the kernel. So the writer copies blocks into
//! a queue of bounded size. If the queue is full, the writer waits for the checkpoint thread.

use super::concurrency::{Condvar, Mutex, MutexGuard, lock};
use crate::store::mutant::{Mutant, planted};

/// Copies of runs of adjacent blocks, in one buffer.
#[derive(Debug, Default)]
pub struct Copies {
    bytes: Vec<u8>,
    /// The first block of each run, and the end of the run in `bytes`.
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

    /// Returns the first block and the bytes of each run.
    pub fn runs(&self) -> impl Iterator<Item = (u64, &[u8])> {
        let mut start = 0;
        self.runs.iter().map(move |&(first, end)| {
            let run = &self.bytes[start..end];
            start = end;
            (first, run)
        })
    }
}

/// A bounded queue with one producer and one consumer.
#[derive(Debug)]
pub struct BlockQueue {
    capacity_bytes: usize,
    waiting: Mutex<Waiting>,
    room: Condvar,
}

#[derive(Debug, Default)]
struct Waiting {
    copies: Copies,
    /// The consumer has stopped.
    closed: bool,
}

impl BlockQueue {
    /// Creates a queue for up to `capacity_bytes`.
    pub fn new(capacity_bytes: usize) -> Self {
        BlockQueue {
            capacity_bytes,
            waiting: Mutex::default(),
            room: Condvar::new(),
        }
    }

    fn locked(&self) -> MutexGuard<'_, Waiting> {
        lock(&self.waiting)
    }

    /// Waits until there is room for `bytes`, the queue is empty, or the consumer has stopped.
    /// The room remains until the caller puts blocks in: it is the only producer.
    pub fn wait_for_room(&self, bytes: usize) {
        let is_full = |waiting: &mut Waiting| {
            let held = waiting.copies.bytes.len();
            held > 0 && held + bytes > self.capacity_bytes && !waiting.closed
        };
        let waited = self.room.wait_while(self.locked(), is_full);
        drop(waited);
    }

    /// Puts in a copy of a run of adjacent blocks. Drops it if the consumer has stopped.
    pub fn put(&self, first: u64, bytes: &[u8]) {
        let mut waiting = self.locked();
        if !waiting.closed {
            waiting.copies.push(first, bytes);
        }
    }

    /// Moves all blocks of the queue into `copies`, whose buffers the queue reuses. Returns
    /// false if the queue was empty.
    pub fn take(&self, copies: &mut Copies) -> bool {
        copies.clear();
        let mut waiting = self.locked();
        if waiting.copies.runs.is_empty() {
            return false;
        }
        std::mem::swap(&mut waiting.copies, copies);
        drop(waiting);
        if !planted(Mutant::NoWakeForRoom) {
            self.room.notify_one();
        }
        true
    }

    /// Returns a guard that closes the queue when it is dropped: the producer no longer waits.
    pub fn close_on_drop(&self) -> CloseOnDrop<'_> {
        CloseOnDrop { queue: self }
    }
}

/// See [`BlockQueue::close_on_drop`].
pub struct CloseOnDrop<'a> {
    queue: &'a BlockQueue,
}

impl Drop for CloseOnDrop<'_> {
    fn drop(&mut self) {
        self.queue.locked().closed = true;
        if !planted(Mutant::NoWakeAfterCheckpoint) {
            self.queue.room.notify_one();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn every_block_passes_the_queue_once_and_in_order() {
        let queue = Arc::new(BlockQueue::new(64));
        let producer = Arc::clone(&queue);
        let writer = std::thread::spawn(move || {
            for block in 0..1000u64 {
                let bytes = [block as u8; 24];
                producer.wait_for_room(bytes.len());
                producer.put(block, &bytes);
            }
        });
        let (mut next, mut copies) = (0, Copies::default());
        while next < 1000 {
            queue.take(&mut copies);
            assert!(copies.bytes.len() <= 64);
            for (block, bytes) in copies.runs() {
                assert_eq!((block, bytes), (next, &[next as u8; 24][..]));
                next += 1;
            }
        }
        writer.join().expect("no panic");
        assert!(!queue.take(&mut copies));
    }

    #[test]
    fn a_run_larger_than_the_queue_passes_and_a_closed_queue_does_not_block() {
        let queue = BlockQueue::new(8);
        queue.wait_for_room(100);
        queue.put(7, &[1; 100]);
        let mut copies = Copies::default();
        assert!(queue.take(&mut copies));
        assert_eq!(copies.runs().collect::<Vec<_>>(), [(7, &[1; 100][..])]);
        queue.put(8, &[2; 8]);
        drop(queue.close_on_drop());
        queue.wait_for_room(100);
    }
}
