//! The stages of a checkpoint, as the writer goes through them.
//!
//! ```text
//! Idle --start--> Preparing --prepared: freeze--> Writing --written--> Idle
//! ```
//!
//! The checkpoint thread prepares and writes; the writer learns of it at its next call
//! ([`poll_checkpoint`](Store::poll_checkpoint)). It waits only if the log is full. Without
//! threads the writer does the same work in its own calls. What each stage does to the files
//! is in [`checkpoint`](super::checkpoint).

use std::sync::Arc;

use super::checkpoint::Checkpoint;
use super::checkpoint_thread::{Done, Job};
use super::handle::Store;
use crate::store::error::StoreError;
use crate::store::format::superblock::Superblock;
use crate::store::medium::Medium;

/// How far a checkpoint has come.
pub enum Stage {
    /// There is none.
    Idle,
    /// The other image is being invalidated and the other log started.
    Preparing,
    /// The region is frozen and being written.
    Writing(Arc<Checkpoint>),
}

impl<M: Medium> Store<M> {
    /// Writes the current state as a new image and returns when it is durable. The log
    /// before it is then free to be reused.
    pub fn checkpoint(&mut self) -> Result<(), StoreError> {
        self.progress.check()?;
        self.finish_checkpoint()?;
        self.start_checkpoint()?;
        self.finish_checkpoint()?;
        self.sync()
    }

    /// Returns how many observations fit into the log: at least one, and `wanted` or a full
    /// batch if a checkpoint can make that much room.
    pub(super) fn make_room(&mut self, wanted: usize) -> Result<usize, StoreError> {
        self.progress.check()?;
        let room = self.log.room();
        if room >= wanted.max(1) {
            return Ok(room);
        }
        let enough = wanted.min(self.log.batch_limit()).max(1);
        while self.log.room() < enough {
            // A checkpoint that could not switch logs frees none; the next one will.
            let epoch = self.log.position().epoch;
            self.start_checkpoint()?;
            while self.log.position().epoch == epoch && !matches!(self.stage, Stage::Idle) {
                self.poll_checkpoint(true)?;
            }
        }
        Ok(self.log.room())
    }

    /// Handles what the checkpoint thread has finished; with `wait`, waits for it. Starts a
    /// checkpoint if seven eighths of the log are full: the rest is for observations that
    /// come while the other log is being prepared.
    pub(super) fn poll_checkpoint(&mut self, wait: bool) -> Result<(), StoreError> {
        let idle = matches!(self.stage, Stage::Idle);
        if idle && self.log.used_bytes() > self.active.layout.log_bytes / 8 * 7 {
            self.start_checkpoint()?;
        } else if idle {
            return Ok(());
        }
        match &mut self.checkpoint_thread {
            Some(thread) => match thread.result(wait) {
                Some(done) => self.complete(done),
                None => Ok(()),
            },
            None if wait => self.advance_by(u64::MAX),
            None => Ok(()),
        }
    }

    /// Waits until no checkpoint is under way.
    pub(super) fn finish_checkpoint(&mut self) -> Result<(), StoreError> {
        while !matches!(self.stage, Stage::Idle) {
            self.poll_checkpoint(true)?;
        }
        Ok(())
    }

    /// Starts a checkpoint, unless one is under way.
    fn start_checkpoint(&mut self) -> Result<(), StoreError> {
        self.progress.check()?;
        if !matches!(self.stage, Stage::Idle) {
            return Ok(());
        }
        if let Some(check) = self.background_check.take() {
            check.wait()?;
            self.progress.check()?;
        }
        self.stage = Stage::Preparing;
        self.submit(Job::Prepare {
            active: Box::new(self.active.clone()),
            current_epoch: self.log.position().epoch,
            incarnation: self.log.incarnation(),
        })
    }

    /// Hands a job to the checkpoint thread. Without one, prepares at once and leaves
    /// writing to [`advance_by`](Store::advance_by).
    fn submit(&mut self, job: Job) -> Result<(), StoreError> {
        match (&self.checkpoint_thread, job) {
            (Some(thread), job) => thread.submit(job),
            (None, Job::Write(_)) => Ok(()),
            (None, job) => {
                let done = job.run(&self.progress);
                self.complete(done)
            }
        }
    }

    /// Enters the stage that follows a finished job. After a failure the store is poisoned.
    fn complete(&mut self, done: Result<Done, StoreError>) -> Result<(), StoreError> {
        match done {
            Ok(Done::Prepared(can_switch)) => self.freeze(can_switch),
            Ok(Done::Written(superblock)) => {
                self.live.thaw();
                self.active = *superblock;
                self.stage = Stage::Idle;
                Ok(())
            }
            Err(error) => {
                self.live.thaw();
                self.stage = Stage::Idle;
                Err(self.progress.poison(error))
            }
        }
    }

    /// Ends the log and freezes the region: the image will hold the state of this moment.
    fn freeze(&mut self, can_switch: bool) -> Result<(), StoreError> {
        // The image will be valid only after a sync of the log up to here.
        self.appender.drain()?;
        if can_switch {
            let (durable, appender) = (self.progress.durable(), &mut self.appender);
            let switched = self.log.switch(durable, |framed| appender.put_now(framed));
            switched.map_err(|error| self.progress.poison(error))?;
            self.progress.note_switched(self.log.position().epoch);
        }
        let next = Superblock {
            features: self.active.features | self.added_features,
            generation: self.active.generation + 1,
            log: self.log.position(),
            registers: self.registers.clone(),
            ..self.active.clone()
        };
        let next = next
            .with_used_blocks(self.filter.filter())
            .with_forgetting();
        let frozen = self.live.freeze(&next.used());
        let by_thread = self.checkpoint_thread.is_some();
        let checkpoint = Arc::new(Checkpoint::new(next, frozen, by_thread));
        self.stage = Stage::Writing(Arc::clone(&checkpoint));
        self.submit(Job::Write(checkpoint))
    }

    /// Without threads: writes up to `blocks` more blocks of the checkpoint under way, and
    /// finishes it after the last block.
    #[doc(hidden)]
    pub fn advance_by(&mut self, blocks: u64) -> Result<(), StoreError> {
        let Stage::Writing(checkpoint) = &self.stage else {
            return Ok(());
        };
        let checkpoint = Arc::clone(checkpoint);
        let done = match checkpoint.write_some(&self.progress.medium, blocks) {
            Ok(false) => return Ok(()),
            Ok(true) => checkpoint
                .finish(&self.progress)
                .map(|superblock| Done::Written(Box::new(superblock))),
            Err(error) => Err(error),
        };
        self.complete(done)
    }

    /// Starts a checkpoint and returns. A thread writes it, and calls that observe go on with it; the
    /// [generation](Store::generation) grows when it is complete. Does nothing while a checkpoint is
    /// under way.
    pub fn begin_checkpoint(&mut self) -> Result<(), StoreError> {
        self.start_checkpoint()
    }
}
