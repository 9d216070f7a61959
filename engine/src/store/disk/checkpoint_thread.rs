//! The thread that writes checkpoints while the store is in use.

use std::sync::{Arc, PoisonError};

use super::checkpoint::{Checkpoint, prepare};
use super::concurrency::Mutex;
use super::concurrency::mpsc::{Receiver, Sender, channel};
use super::concurrency::thread::JoinHandle;
use super::progress::Progress;
use super::thread::spawn;
use crate::store::error::StoreError;
use crate::store::format::superblock::Superblock;
use crate::store::medium::Medium;

/// A job for the checkpoint thread.
pub enum Job {
    /// Prepare the other image and log.
    Prepare {
        active: Box<Superblock>,
        current_epoch: u64,
        incarnation: u32,
    },
    /// Write a frozen region.
    Write(Arc<Checkpoint>),
}

/// The result of a job.
pub enum Done {
    /// Whether the log can be switched.
    Prepared(bool),
    /// The new image's superblock.
    Written(Box<Superblock>),
}

impl Job {
    /// Runs the job on this thread.
    pub fn run<M: Medium>(&self, progress: &Progress<M>) -> Result<Done, StoreError> {
        let medium = &progress.medium;
        match self {
            Job::Prepare {
                active,
                current_epoch,
                incarnation,
            } => prepare(medium, active, *current_epoch, *incarnation).map(Done::Prepared),
            Job::Write(checkpoint) => {
                checkpoint.write_some(medium, u64::MAX)?;
                let superblock = checkpoint.finish(progress)?;
                Ok(Done::Written(Box::new(superblock)))
            }
        }
    }
}

/// A thread that runs jobs in order until this is dropped.
pub struct CheckpointThread {
    jobs: Option<Sender<Job>>,
    /// Under a mutex, so that a store can be shared between threads.
    results: Mutex<Receiver<Result<Done, StoreError>>>,
    thread: Option<JoinHandle<()>>,
}

impl CheckpointThread {
    pub fn start<M: Medium>(progress: &Arc<Progress<M>>) -> Result<Self, StoreError> {
        let (job_sender, jobs) = channel::<Job>();
        let (result_sender, results) = channel();
        let progress = Arc::clone(progress);
        let thread = spawn("checkpoint", move || {
            for job in jobs {
                if result_sender.send(job.run(&progress)).is_err() {
                    return;
                }
            }
        })?;
        Ok(CheckpointThread {
            jobs: Some(job_sender),
            results: Mutex::new(results),
            thread: Some(thread),
        })
    }

    /// Queues a job.
    pub fn submit(&self, job: Job) -> Result<(), StoreError> {
        let sent = self.jobs.as_ref().map(|jobs| jobs.send(job));
        match sent {
            Some(Ok(())) => Ok(()),
            _ => Err(thread_ended()),
        }
    }

    /// Returns the result of a finished job, or None if there is none yet. With `wait`, waits
    /// for it.
    pub fn result(&mut self, wait: bool) -> Option<Result<Done, StoreError>> {
        let results = self
            .results
            .get_mut()
            .unwrap_or_else(PoisonError::into_inner);
        if wait {
            return Some(results.recv().unwrap_or_else(|_| Err(thread_ended())));
        }
        results.try_recv().ok()
    }
}

fn thread_ended() -> StoreError {
    StoreError::Poisoned {
        cause: "the checkpoint thread has ended".to_owned(),
    }
}

impl Drop for CheckpointThread {
    fn drop(&mut self) {
        drop(self.jobs.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
