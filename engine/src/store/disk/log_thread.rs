//! The thread that writes large frames to the log.
//!
//! Writing the frame of a large batch takes a fifteenth of the time of the batch, and more
//! while the log is being synced. The log thread does it while the writer works on its next
//! batch. For small frames, waking a thread costs more than the write: the writer writes them
//! itself, or [stores](LogTail) them.
//!
//! **Invariant:** frames are written in order, and [`Progress`] counts only frames that are
//! written. So no frame is synced or acknowledged before it is written. A caller that needs
//! the log to hold everything [drains](LogAppender::drain) the queue first.

use std::collections::VecDeque;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use super::concurrency::thread::JoinHandle;
use super::concurrency::{Condvar, Mutex, MutexGuard, limit, lock, wait_at_most_while};
use super::log_tail::LogTail;
use super::progress::Progress;
use super::thread::spawn;
use crate::store::error::StoreError;
use crate::store::file_access::FileAccess;
use crate::store::format::superblock::LogPosition;
use crate::store::log::Framed;
use crate::store::medium::{Medium, StoreFile};
use crate::store::mutant::{Mutant, planted};

/// The largest number of frames in the queue.
const FRAMES: usize = limit(8, 2);
/// Waking a thread takes the writer half as long as writing a frame. So while frames arrive,
/// the thread polls the queue at this interval.
const POLL_INTERVAL: Duration = Duration::from_millis(1);
/// The writer wakes the polling thread if this many frames are waiting.
const WAKE_FROM_FRAMES: usize = 4;
/// After this many polls of an empty queue, the thread sleeps until the writer wakes it.
const EMPTY_POLLS: usize = limit(16, 1);
/// Frames of at least this size are left to the thread: waking it takes less than writing.
const THREAD_FROM_BYTES: usize = limit(16 << 10, 128);

/// Appends frames to the log, directly or through the log thread.
pub struct LogAppender<M: Medium> {
    progress: Arc<Progress<M>>,
    queue: Arc<Queue>,
    may_start: bool,
    thread: Option<JoinHandle<()>>,
    /// Whether a frame was queued since the queue was last known to be empty.
    queued: bool,
    tail: LogTail,
}

impl<M: Medium> LogAppender<M> {
    /// With `by_thread`, starts the log thread at the first large frame.
    pub fn new(progress: &Arc<Progress<M>>, by_thread: bool, tail: LogTail) -> Self {
        LogAppender {
            progress: Arc::clone(progress),
            queue: Arc::default(),
            may_start: by_thread,
            thread: None,
            queued: false,
            tail,
        }
    }

    /// Writes a frame, or queues it for the log thread. If the thread fails to write it, the
    /// store is poisoned.
    #[inline]
    pub fn put(&mut self, mut framed: Framed<'_>) -> Result<(), StoreError> {
        if framed.bytes.len() >= THREAD_FROM_BYTES && self.has_thread() {
            framed.fill_page();
            if planted(Mutant::AppendedBeforeWritten) {
                self.progress.note_appended(framed.end.sequence);
            }
            self.queue.put(framed);
            self.queued = true;
            return Ok(());
        }
        self.put_now(framed)
    }

    /// Writes a frame before returning, after all queued frames.
    #[inline]
    pub fn put_now(&mut self, mut framed: Framed<'_>) -> Result<(), StoreError> {
        self.drain()?;
        if self.tail.store(&self.progress.medium, &framed)? {
            self.progress.note_appended(framed.end.sequence);
            return Ok(());
        }
        framed.fill_page();
        write(&self.progress, framed.bytes, framed.at, framed.end)
    }

    /// Waits until all queued frames are written.
    #[inline]
    pub fn drain(&mut self) -> Result<(), StoreError> {
        if self.queued {
            self.queue.wait_until_empty();
            self.queued = false;
        }
        self.progress.check()
    }

    fn has_thread(&mut self) -> bool {
        if self.may_start {
            self.may_start = false;
            let (queue, progress) = (Arc::clone(&self.queue), Arc::clone(&self.progress));
            let started = spawn("log", move || run(&queue, &progress));
            // If the thread cannot be started, the writer writes all frames itself.
            self.thread = started.ok();
        }
        self.thread.is_some()
    }
}

impl<M: Medium> Drop for LogAppender<M> {
    fn drop(&mut self) {
        self.queue.locked().ending = true;
        self.queue.added.notify_one();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn write<M: Medium>(
    progress: &Progress<M>,
    frame: &[u8],
    at: LogPosition,
    end: LogPosition,
) -> Result<(), StoreError> {
    let file = StoreFile::log(at.epoch);
    progress.medium.write_at(file, at.offset, frame)?;
    progress.note_appended(end.sequence);
    Ok(())
}

/// Writes queued frames until the appender is dropped. Writes none after a failure.
fn run<M: Medium>(queue: &Queue, progress: &Progress<M>) {
    let _guard = CloseOnDrop { queue, progress };
    while let Some(frame) = queue.next() {
        if (progress.check().is_ok() || planted(Mutant::WrittenAfterFailure))
            && let Err(error) = write(progress, &frame.bytes, frame.at, frame.end)
        {
            progress.poison(error);
        }
        queue.give_back(frame.bytes);
    }
}

#[derive(Debug)]
struct Frame {
    bytes: Vec<u8>,
    at: LogPosition,
    end: LogPosition,
}

#[derive(Debug, Default)]
struct Queue {
    state: Mutex<State>,
    /// The writer has added a frame.
    added: Condvar,
    /// The thread has written a frame.
    written: Condvar,
}

#[derive(Debug, Default)]
struct State {
    waiting: VecDeque<Frame>,
    /// The thread is writing a frame.
    writing: bool,
    /// The thread sleeps until the writer wakes it.
    asleep: bool,
    /// Buffers of earlier frames, for reuse.
    spare: Vec<Vec<u8>>,
    /// The writer will add no more frames.
    ending: bool,
    /// The thread has ended.
    closed: bool,
}

impl State {
    /// Whether the thread has nothing to do.
    fn is_idle(&mut self) -> bool {
        self.waiting.is_empty() && !self.ending
    }
}

impl Queue {
    fn locked(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    fn wait_while(&self, condition: impl Fn(&State) -> bool) -> MutexGuard<'_, State> {
        let waited = self
            .written
            .wait_while(self.locked(), |state| condition(state) && !state.closed);
        waited.unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the frame's buffer and leaves an empty one in its place.
    fn put(&self, framed: Framed<'_>) {
        let mut state = self.wait_while(|state| state.waiting.len() >= FRAMES);
        let spare = state.spare.pop().unwrap_or_default();
        state.waiting.push_back(Frame {
            bytes: std::mem::replace(framed.bytes, spare),
            at: framed.at,
            end: framed.end,
        });
        let must_wake = state.asleep || state.waiting.len() >= WAKE_FROM_FRAMES;
        drop(state);
        if must_wake && !planted(Mutant::NoWakeOfLogThread) {
            self.added.notify_one();
        }
    }

    fn wait_until_empty(&self) {
        if !self.locked().waiting.is_empty() {
            self.added.notify_one();
        }
        drop(self.wait_while(|state| state.writing || !state.waiting.is_empty()));
    }

    fn next(&self) -> Option<Frame> {
        let mut state = self.locked();
        let mut polls = 0;
        while state.is_idle() {
            state.asleep = polls == EMPTY_POLLS;
            state = match state.asleep {
                true => self
                    .added
                    .wait(state)
                    .unwrap_or_else(PoisonError::into_inner),
                false => {
                    let (added, mutex) = (&self.added, &self.state);
                    wait_at_most_while(added, mutex, state, POLL_INTERVAL, State::is_idle)
                }
            };
            polls = (polls + 1).min(EMPTY_POLLS);
        }
        state.asleep = false;
        let frame = state.waiting.pop_front()?;
        state.writing = true;
        Some(frame)
    }

    fn give_back(&self, bytes: Vec<u8>) {
        let mut state = self.locked();
        state.writing = false;
        state.spare.push(bytes);
        drop(state);
        if !planted(Mutant::NoWakeAfterWrite) {
            self.written.notify_one();
        }
    }
}

/// On exit, unblocks waiters and poisons the handle if frames were lost.
struct CloseOnDrop<'a, M: Medium> {
    queue: &'a Queue,
    progress: &'a Progress<M>,
}

impl<M: Medium> Drop for CloseOnDrop<'_, M> {
    fn drop(&mut self) {
        let mut state = self.queue.locked();
        state.closed = true;
        let unwritten = state.writing || !state.waiting.is_empty();
        drop(state);
        if unwritten {
            self.progress.poison(StoreError::Poisoned {
                cause: "the log thread ended before it wrote all frames".to_owned(),
            });
        }
        self.queue.written.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;
    use crate::store::format::mark::Mark;

    /// A slow medium that records the offsets of writes and fails at one of them.
    #[derive(Default)]
    struct Slow {
        offsets: Mutex<Vec<u64>>,
        fails_at: Option<u64>,
    }

    impl Medium for Slow {
        fn len(&self, _: StoreFile) -> io::Result<u64> {
            Ok(0)
        }

        fn read(&self, _: StoreFile, _: u64, _: &mut [u8]) -> io::Result<()> {
            Err(io::ErrorKind::Unsupported.into())
        }

        fn write(&self, _: StoreFile, offset: u64, bytes: &[u8]) -> io::Result<()> {
            std::thread::sleep(Duration::from_millis(2));
            assert_eq!(bytes[0], offset as u8, "the bytes of this frame");
            self.offsets
                .lock()
                .expect("no thread panicked")
                .push(offset);
            match self.fails_at == Some(offset) {
                true => Err(io::ErrorKind::StorageFull.into()),
                false => Ok(()),
            }
        }

        fn sync(&self, _: StoreFile) -> io::Result<()> {
            Ok(())
        }

        fn unix_seconds(&self) -> u64 {
            0
        }
    }

    fn position(number: u64) -> LogPosition {
        LogPosition {
            epoch: 3,
            offset: number,
            chain: 0,
            sequence: 10 * number,
        }
    }

    fn progress(medium: Slow) -> Arc<Progress<Slow>> {
        Arc::new(Progress::new(medium, [0; 16], Mark::default(), 0, 3))
    }

    fn put(appender: &mut LogAppender<Slow>, number: u64, length: usize) -> Result<(), StoreError> {
        let mut bytes = vec![number as u8; length];
        appender.put(Framed::alone(
            &mut bytes,
            position(number),
            position(number + 1),
        ))
    }

    fn written(progress: &Progress<Slow>) -> Vec<u64> {
        progress
            .medium
            .offsets
            .lock()
            .expect("no thread panicked")
            .clone()
    }

    #[test]
    fn large_and_small_frames_are_written_in_order() {
        let progress = progress(Slow::default());
        let mut appender = LogAppender::new(&progress, true, LogTail::new(0, true));
        let large = THREAD_FROM_BYTES;
        for (number, length) in (0..).zip([large, large, 1, large, 2, 3, large]) {
            put(&mut appender, number, length).expect("queued");
        }
        appender.drain().expect("written");
        assert_eq!(written(&progress), [0, 1, 2, 3, 4, 5, 6]);
        assert_eq!(progress.appended(), 70);
    }

    #[test]
    fn the_queue_is_bounded_and_its_frames_are_counted_only_when_written() {
        let progress = progress(Slow::default());
        let mut appender = LogAppender::new(&progress, true, LogTail::new(0, true));
        let mut most = 0;
        for number in 0..12 {
            put(&mut appender, number, THREAD_FROM_BYTES).expect("queued");
            let state = appender.queue.locked();
            most = most.max(state.waiting.len());
            assert!(progress.appended() <= 10 * (number + 1 - state.waiting.len() as u64));
        }
        assert_eq!(most, FRAMES, "the writer is faster than the medium");
        drop(appender);
        assert_eq!(written(&progress), (0..12).collect::<Vec<_>>());
    }

    #[test]
    fn after_a_failed_write_nothing_is_written_and_every_call_fails() {
        let progress = progress(Slow {
            fails_at: Some(1),
            ..Slow::default()
        });
        let mut appender = LogAppender::new(&progress, true, LogTail::new(0, true));
        for number in 0..4 {
            put(&mut appender, number, THREAD_FROM_BYTES).expect("the failure is not known yet");
        }
        let error = appender.drain().expect_err("it failed");
        assert!(matches!(error, StoreError::Poisoned { .. }), "{error}");
        assert_eq!(written(&progress), [0, 1]);
        assert_eq!(progress.appended(), 10);
        assert!(put(&mut appender, 4, 1).is_err());
    }
}
