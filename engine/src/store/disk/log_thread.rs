//! Frames on their way from the writer to the log.
//!
//! To put the frame of a large batch into the log takes the system a fifteenth as long as
//! the batch took, and longer while the log is being synced. A thread does that while the
//! writer is at its next batch. Small frames are not worth waking anybody: the writer puts
//! them there itself.
//!
//! **Invariant:** frames are written in their order, and [`Progress`] counts only what is
//! written; so nothing is synced or acknowledged that is still on its way. Whoever needs the
//! log to hold all that was appended [drains](Appending::drain) first.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use super::durable::Progress;
use crate::store::error::StoreError;
use crate::store::log::Framed;
use crate::store::medium::{Medium, StoreFile};
use crate::store::superblock::LogPosition;

/// How many frames may wait.
const FRAMES: usize = 8;
/// To wake a thread takes the writer half as long as to write a frame. So while frames
/// come, the thread naps and looks by itself; it is woken if so many wait.
const HURRY_FRAMES: usize = 4;
const NAP: Duration = Duration::from_millis(1);
/// After so many naps in which nothing came it sleeps until it is woken.
const NAPS: u32 = 16;
/// From here on, to wake the thread takes less than to write.
const HANDED_FROM_BYTES: usize = 16 << 10;

/// What appends to the log.
pub struct Appending<M: Medium> {
    progress: Arc<Progress<M>>,
    queue: Arc<Queue>,
    may_start: bool,
    thread: Option<JoinHandle<()>>,
}

impl<M: Medium> Appending<M> {
    /// With `by_thread`, a thread is started when the first large frame comes.
    pub fn new(progress: &Arc<Progress<M>>, by_thread: bool) -> Self {
        Appending {
            progress: Arc::clone(progress),
            queue: Arc::default(),
            may_start: by_thread,
            thread: None,
        }
    }

    /// Puts a frame into the log, or sees to it: if that fails later, so does every call
    /// from then on.
    pub fn put(&mut self, framed: Framed<'_>) -> Result<(), StoreError> {
        if framed.bytes.len() >= HANDED_FROM_BYTES && self.has_thread() {
            self.queue.put(framed);
            return Ok(());
        }
        self.put_now(framed)
    }

    /// Puts a frame into the log.
    pub fn put_now(&mut self, framed: Framed<'_>) -> Result<(), StoreError> {
        self.drain()?;
        write(&self.progress, framed.bytes, framed.at, framed.end)
    }

    /// Returns when all that was put is written.
    pub fn drain(&self) -> Result<(), StoreError> {
        if self.thread.is_some() {
            self.queue.wait_until_empty();
        }
        self.progress.check()
    }

    fn has_thread(&mut self) -> bool {
        if self.may_start {
            self.may_start = false;
            let (queue, progress) = (Arc::clone(&self.queue), Arc::clone(&self.progress));
            let started = std::thread::Builder::new()
                .name("dedupstore log".to_owned())
                .spawn(move || run(&queue, &progress));
            // If there is no thread to be had, the writer does without.
            self.thread = started.ok();
        }
        self.thread.is_some()
    }
}

impl<M: Medium> Drop for Appending<M> {
    fn drop(&mut self) {
        self.queue.locked().ending = true;
        self.queue.came.notify_one();
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
    progress
        .medium
        .write(file, at.offset, frame)
        .map_err(|error| StoreError::on_file("write", file, error))?;
    progress.note_appended(end.sequence, end.epoch);
    Ok(())
}

/// Writes what comes, until there is an end of it. After a failure, nothing more.
fn run<M: Medium>(queue: &Queue, progress: &Progress<M>) {
    let _closing = Closing { queue, progress };
    while let Some(frame) = queue.next() {
        if progress.check().is_ok()
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
    came: Condvar,
    went: Condvar,
}

#[derive(Debug, Default)]
struct State {
    waiting: VecDeque<Frame>,
    /// The thread has one that is not written yet.
    in_hand: bool,
    /// The thread sleeps until it is woken.
    asleep: bool,
    /// What earlier frames lay in, to be used again.
    spare: Vec<Vec<u8>>,
    /// Nothing will come any more.
    ending: bool,
    /// Nothing will be taken any more.
    closed: bool,
}

impl Queue {
    fn locked(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait_while(&self, condition: impl Fn(&State) -> bool) -> MutexGuard<'_, State> {
        let waited = self
            .went
            .wait_while(self.locked(), |state| condition(state) && !state.closed);
        waited.unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a frame's bytes and leaves others in their place.
    fn put(&self, framed: Framed<'_>) {
        let mut state = self.wait_while(|state| state.waiting.len() >= FRAMES);
        let spare = state.spare.pop().unwrap_or_default();
        state.waiting.push_back(Frame {
            bytes: std::mem::replace(framed.bytes, spare),
            at: framed.at,
            end: framed.end,
        });
        let must_wake = state.asleep || state.waiting.len() >= HURRY_FRAMES;
        drop(state);
        if must_wake {
            self.came.notify_one();
        }
    }

    fn wait_until_empty(&self) {
        if !self.locked().waiting.is_empty() {
            self.came.notify_one();
        }
        drop(self.wait_while(|state| state.in_hand || !state.waiting.is_empty()));
    }

    fn next(&self) -> Option<Frame> {
        let mut state = self.locked();
        let mut naps = 0;
        while state.waiting.is_empty() && !state.ending {
            state.asleep = naps == NAPS;
            state = match state.asleep {
                true => self
                    .came
                    .wait(state)
                    .unwrap_or_else(PoisonError::into_inner),
                false => {
                    let waited = self.came.wait_timeout(state, NAP);
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
            };
            naps = (naps + 1).min(NAPS);
        }
        state.asleep = false;
        let frame = state.waiting.pop_front()?;
        state.in_hand = true;
        Some(frame)
    }

    fn give_back(&self, bytes: Vec<u8>) {
        let mut state = self.locked();
        state.in_hand = false;
        state.spare.push(bytes);
        drop(state);
        self.went.notify_one();
    }
}

/// However the thread ends, nobody is left waiting for it, nor taken in.
struct Closing<'a, M: Medium> {
    queue: &'a Queue,
    progress: &'a Progress<M>,
}

impl<M: Medium> Drop for Closing<'_, M> {
    fn drop(&mut self) {
        let mut state = self.queue.locked();
        state.closed = true;
        let unwritten = state.in_hand || !state.waiting.is_empty();
        drop(state);
        if unwritten {
            self.progress.poison(StoreError::Poisoned {
                cause: "the thread that writes the log broke off".to_owned(),
            });
        }
        self.queue.went.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;
    use crate::store::mark::Mark;

    /// Takes its time, notes the offsets it was asked to write, and fails at one of them.
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
            assert_eq!(bytes[0], offset as u8, "its own bytes");
            self.offsets.lock().expect("no panic").push(offset);
            match self.fails_at == Some(offset) {
                true => Err(io::ErrorKind::StorageFull.into()),
                false => Ok(()),
            }
        }

        fn sync(&self, _: StoreFile) -> io::Result<()> {
            Ok(())
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

    fn put(appending: &mut Appending<Slow>, number: u64, length: usize) -> Result<(), StoreError> {
        let mut bytes = vec![number as u8; length];
        appending.put(Framed {
            bytes: &mut bytes,
            at: position(number),
            end: position(number + 1),
        })
    }

    fn written(progress: &Progress<Slow>) -> Vec<u64> {
        progress.medium.offsets.lock().expect("no panic").clone()
    }

    #[test]
    fn large_and_small_frames_are_written_in_order() {
        let progress = progress(Slow::default());
        let mut appending = Appending::new(&progress, true);
        let large = HANDED_FROM_BYTES;
        for (number, length) in (0..).zip([large, large, 1, large, 2, 3, large]) {
            put(&mut appending, number, length).expect("taken");
        }
        appending.drain().expect("written");
        assert_eq!(written(&progress), [0, 1, 2, 3, 4, 5, 6]);
        assert_eq!(progress.appended(), 70);
    }

    #[test]
    fn what_waits_is_bounded_not_counted_and_not_lost() {
        let progress = progress(Slow::default());
        let mut appending = Appending::new(&progress, true);
        let mut most = 0;
        for number in 0..12 {
            put(&mut appending, number, HANDED_FROM_BYTES).expect("taken");
            let state = appending.queue.locked();
            most = most.max(state.waiting.len());
            assert!(progress.appended() <= 10 * (number + 1 - state.waiting.len() as u64));
        }
        assert_eq!(most, FRAMES, "the writer is faster than this disk");
        drop(appending);
        assert_eq!(written(&progress), (0..12).collect::<Vec<_>>());
    }

    #[test]
    fn after_a_failure_nothing_is_written_and_every_call_fails() {
        let progress = progress(Slow {
            fails_at: Some(1),
            ..Slow::default()
        });
        let mut appending = Appending::new(&progress, true);
        for number in 0..4 {
            put(&mut appending, number, HANDED_FROM_BYTES).expect("nobody knows yet");
        }
        let error = appending.drain().expect_err("it failed");
        assert!(matches!(error, StoreError::Poisoned { .. }), "{error}");
        assert_eq!(written(&progress), [0, 1]);
        assert_eq!(progress.appended(), 10);
        assert!(put(&mut appending, 4, 1).is_err());
    }
}
