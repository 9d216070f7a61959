//! Reads, hashes and hands out blocks of lines, with the help of other threads.
//!
//! Blocks come out in the order of the input, whoever has read and hashed them. The main thread
//! decides about keys and prints; when it has nothing to do, it hashes, too. So all threads are
//! busy, whatever is the most expensive part. At most one thread reads at a time.
//!
//! Input that comes slowly, such as the lines of a terminal, is not worth waking a thread: the main
//! thread reads it. Other threads start with the first large block.
//!
//! A thread may wait for input forever. So nobody waits for the threads at the end: they own all
//! that they use.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use dedupstore::lines::LineBuffer;

use crate::batch_hasher::BatchHasher;
use crate::block_source::{BlockSource, Step};
use crate::error::Failure;
use crate::hashed_block::HashedBlock;

/// A read of so many bytes is worth waking a thread.
const LARGE_READ_BYTES: u64 = 16 << 10;
/// The memory of blocks that wait. A larger one waits alone.
const WAITING_BYTES: usize = 16 << 20;
/// A block with more memory, because of a long line, is not used again.
const REUSED_BYTES: usize = 1 << 20;

/// Blocks of lines, in the order of the input.
pub struct Pipeline {
    shared: Arc<Shared>,
    hasher: BatchHasher,
    /// How many threads to start, besides the main thread.
    threads_to_start: usize,
}

struct Shared {
    state: Mutex<State>,
    /// For the main thread.
    block_ready: Condvar,
    /// For the other threads.
    work_ready: Condvar,
    /// The number of threads, the main thread included.
    threads: usize,
}

struct State {
    /// None while a thread reads, and after the end.
    input: Option<Box<Input>>,
    /// Blocks that are not handed out, in the order of the input.
    waiting: VecDeque<Waiting>,
    /// The number of blocks handed out so far.
    handed_out: u64,
    waiting_bytes: usize,
    /// Memory to use again. Boxes move between threads without a copy.
    #[expect(clippy::vec_box)]
    spare: Vec<Box<HashedBlock>>,
    /// Whether the last read was large, so that the threads read.
    is_fast: bool,
    started_threads: usize,
    main_waits: bool,
    waiting_threads: usize,
    /// Whether the main thread needs no more blocks.
    is_stopped: bool,
    /// Whether a thread has panicked.
    is_broken: bool,
}

struct Input {
    source: BlockSource,
    buffer: LineBuffer,
}

enum Waiting {
    /// Its keys are not hashed.
    Read(Box<HashedBlock>),
    /// A thread hashes its keys.
    Taken,
    Hashed(Box<HashedBlock>),
}

impl Pipeline {
    /// Reads with up to `threads` threads, of which the caller's is one.
    pub fn new(
        source: BlockSource,
        buffer: LineBuffer,
        hasher: BatchHasher,
        threads: usize,
    ) -> Self {
        let state = State {
            input: Some(Box::new(Input { source, buffer })),
            waiting: VecDeque::new(),
            handed_out: 0,
            waiting_bytes: 0,
            spare: Vec::new(),
            is_fast: false,
            started_threads: 0,
            main_waits: false,
            waiting_threads: 0,
            is_stopped: false,
            is_broken: false,
        };
        Pipeline {
            shared: Arc::new(Shared {
                state: Mutex::new(state),
                block_ready: Condvar::new(),
                work_ready: Condvar::new(),
                threads,
            }),
            hasher,
            threads_to_start: threads.saturating_sub(1),
        }
    }

    /// Returns the next block, whose keys may not be hashed. None at the end of the last input.
    pub fn next(&mut self) -> Result<Option<Box<HashedBlock>>, Failure> {
        let shared = &*self.shared;
        let mut state = shared.lock();
        loop {
            if let Some(block) = state.next_block() {
                shared.wake_thread(state);
                return Ok(Some(block));
            }
            if let Some((number, block)) = state.block_to_hash() {
                state = shared.hash(state, number, block, &mut self.hasher);
            } else if state.waiting.is_empty() && state.main_reads() {
                let Some(input) = state.input.take() else {
                    return Ok(None);
                };
                state = shared.read(state, input);
                if state.is_fast && self.threads_to_start > 0 {
                    let count = std::mem::take(&mut self.threads_to_start);
                    state.started_threads = start_threads(&self.shared, &self.hasher, count);
                }
            } else if state.is_broken {
                return Err(Failure::Usage("a thread has ended unexpectedly".to_owned()));
            } else {
                state.main_waits = true;
                state = wait(&shared.block_ready, state);
                state.main_waits = false;
            }
        }
    }

    /// Takes a block back, to use its memory again.
    pub fn reuse(&self, block: Box<HashedBlock>) {
        if block.lines.memory() <= REUSED_BYTES {
            self.shared.lock().spare.push(block);
        }
    }
}

impl Drop for Pipeline {
    fn drop(&mut self) {
        self.shared.lock().is_stopped = true;
        self.shared.work_ready.notify_all();
    }
}

fn wait<'a>(condition: &Condvar, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
    condition
        .wait(state)
        .unwrap_or_else(PoisonError::into_inner)
}

/// Starts threads; returns how many the system has allowed.
fn start_threads(shared: &Arc<Shared>, hasher: &BatchHasher, count: usize) -> usize {
    let start = |number: &usize| {
        let (shared, mut hasher) = (Arc::clone(shared), hasher.clone());
        let work = move || {
            let _guard = ReportsPanic(&shared);
            shared.work(&mut hasher);
        };
        let thread = std::thread::Builder::new().name(format!("dedupstore key {number}"));
        thread.spawn(work).is_ok()
    };
    (1..=count).take_while(start).count()
}

/// Tells the main thread that a thread has panicked, which would otherwise wait forever.
struct ReportsPanic<'a>(&'a Shared);

impl Drop for ReportsPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.lock().is_broken = true;
            self.0.block_ready.notify_all();
        }
    }
}

impl State {
    /// Returns the next block, unless a thread still hashes it.
    fn next_block(&mut self) -> Option<Box<HashedBlock>> {
        if matches!(self.waiting.front(), Some(Waiting::Taken)) {
            return None;
        }
        match self.waiting.pop_front()? {
            Waiting::Taken => None,
            Waiting::Read(block) | Waiting::Hashed(block) => {
                self.handed_out += 1;
                self.waiting_bytes -= block.lines.memory();
                Some(block)
            }
        }
    }

    /// Takes the first block that nobody has hashed, with its number.
    fn block_to_hash(&mut self) -> Option<(u64, Box<HashedBlock>)> {
        let is_read = |it: &Waiting| matches!(it, Waiting::Read(_));
        let index = self.waiting.iter().position(is_read)?;
        let number = self.handed_out + index as u64;
        match std::mem::replace(&mut self.waiting[index], Waiting::Taken) {
            Waiting::Read(block) => Some((number, block)),
            Waiting::Taken | Waiting::Hashed(_) => None,
        }
    }

    /// Returns the number of blocks that nobody has hashed.
    fn unhashed(&self) -> usize {
        let is_read = |it: &&Waiting| matches!(it, Waiting::Read(_));
        self.waiting.iter().filter(is_read).count()
    }

    /// Returns whether the main thread reads, once no block is left.
    fn main_reads(&self) -> bool {
        // After the end nobody reads, and nobody holds the input.
        !self.is_fast || self.started_threads == 0
    }

    /// Returns whether a thread should read, because there is too little to hash.
    fn should_read(&self, threads: usize) -> bool {
        self.is_fast
            && self.input.is_some()
            && self.unhashed() < threads
            && self.waiting.len() < 2 * threads + 2
            && (self.waiting_bytes < WAITING_BYTES || self.waiting.is_empty())
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes a thread, if one waits and there is something to do.
    fn wake_thread(&self, state: MutexGuard<'_, State>) {
        let wake =
            state.waiting_threads > 0 && (state.should_read(self.threads) || state.unhashed() > 0);
        drop(state);
        if wake {
            self.work_ready.notify_one();
        }
    }

    /// What a thread besides the main thread does.
    fn work(&self, hasher: &mut BatchHasher) {
        let mut state = self.lock();
        while !state.is_stopped {
            if state.should_read(self.threads)
                && let Some(input) = state.input.take()
            {
                state = self.read(state, input);
            } else if let Some((number, block)) = state.block_to_hash() {
                state = self.hash(state, number, block, hasher);
            } else {
                state.waiting_threads += 1;
                state = wait(&self.work_ready, state);
                state.waiting_threads -= 1;
            }
        }
    }

    /// Reads a block, without the lock.
    fn read<'a>(
        &'a self,
        mut state: MutexGuard<'a, State>,
        mut input: Box<Input>,
    ) -> MutexGuard<'a, State> {
        let mut block = state.spare.pop().unwrap_or_default();
        drop(state);
        block.read(&mut input.source, &mut input.buffer);
        let mut state = self.lock();
        match block.step {
            Step::End => {
                // The main thread finds no input and ends.
                state.is_fast = false;
            }
            Step::Read { bytes, .. } => {
                state.is_fast = bytes >= LARGE_READ_BYTES;
                state.input = Some(input);
                state.push(block);
            }
            Step::EndOfInput | Step::Failed(_) => {
                state.input = Some(input);
                state.push(block);
            }
        }
        self.wake_others(state)
    }

    /// Hashes a block, without the lock.
    fn hash<'a>(
        &'a self,
        state: MutexGuard<'a, State>,
        number: u64,
        mut block: Box<HashedBlock>,
        hasher: &mut BatchHasher,
    ) -> MutexGuard<'a, State> {
        drop(state);
        block.hash(hasher);
        let mut state = self.lock();
        let index = (number - state.handed_out) as usize;
        state.waiting[index] = Waiting::Hashed(block);
        self.wake_others(state)
    }

    /// Wakes whoever waits for the change that the caller has made.
    fn wake_others<'a>(&'a self, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        if state.main_waits {
            self.block_ready.notify_one();
        }
        if state.waiting_threads > 0 && (state.should_read(self.threads) || state.unhashed() > 0) {
            self.work_ready.notify_one();
        }
        state
    }
}

impl State {
    fn push(&mut self, block: Box<HashedBlock>) {
        self.waiting_bytes += block.lines.memory();
        self.waiting.push_back(Waiting::Read(block));
    }
}
