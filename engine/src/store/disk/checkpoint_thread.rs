//! The thread that writes checkpoints while the store goes on.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use super::checkpoint::{Checkpoint, prepare};
use super::durable::Progress;
use crate::store::error::StoreError;
use crate::store::medium::Medium;
use crate::store::superblock::Superblock;

/// What the thread is asked for.
pub enum Job {
    /// Make the other image and log ready.
    Prepare {
        active: Box<Superblock>,
        current_epoch: u64,
        incarnation: u32,
    },
    /// Write a frozen region.
    Write(Arc<Checkpoint>),
}

/// What it answers.
pub enum Done {
    /// Whether the log can be switched.
    Prepared(bool),
    /// The new image's superblock.
    Written(Box<Superblock>),
}

impl Job {
    /// Does it, here and now.
    pub fn run(&self, medium: &impl Medium) -> Result<Done, StoreError> {
        match self {
            Job::Prepare {
                active,
                current_epoch,
                incarnation,
            } => prepare(medium, active, *current_epoch, *incarnation).map(Done::Prepared),
            Job::Write(checkpoint) => {
                checkpoint.write_some(medium, u64::MAX)?;
                let superblock = checkpoint.finish(medium)?;
                Ok(Done::Written(Box::new(superblock)))
            }
        }
    }
}

/// A thread that does jobs in turn until it is dropped.
pub struct CheckpointThread {
    jobs: Option<Sender<Job>>,
    answers: Receiver<Result<Done, StoreError>>,
    thread: Option<JoinHandle<()>>,
}

impl CheckpointThread {
    pub fn start<M: Medium>(progress: &Arc<Progress<M>>) -> Result<Self, StoreError> {
        let (job_sender, jobs) = channel::<Job>();
        let (answer_sender, answers) = channel();
        let progress = Arc::clone(progress);
        let thread = std::thread::Builder::new()
            .name("dedupstore checkpoint".to_owned())
            .spawn(move || {
                for job in jobs {
                    if answer_sender.send(job.run(&progress.medium)).is_err() {
                        return;
                    }
                }
            })
            .map_err(|error| StoreError::Io {
                operation: "start",
                place: "a thread".to_owned(),
                error,
            })?;
        Ok(CheckpointThread {
            jobs: Some(job_sender),
            answers,
            thread: Some(thread),
        })
    }

    /// Asks for a job.
    pub fn ask(&self, job: Job) -> Result<(), StoreError> {
        let sent = self.jobs.as_ref().map(|jobs| jobs.send(job));
        match sent {
            Some(Ok(())) => Ok(()),
            _ => Err(gone()),
        }
    }

    /// The answer to the job, if there is one yet; with `wait`, when there is one.
    pub fn answer(&self, wait: bool) -> Option<Result<Done, StoreError>> {
        if wait {
            return Some(self.answers.recv().unwrap_or_else(|_| Err(gone())));
        }
        self.answers.try_recv().ok()
    }
}

fn gone() -> StoreError {
    StoreError::Poisoned {
        cause: "the checkpoint thread is gone".to_owned(),
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
