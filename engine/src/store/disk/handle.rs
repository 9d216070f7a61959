//! The store as its one writer uses it.

use std::sync::Arc;

use super::appending::Appending;
use super::checkpoint::Checkpoint;
use super::claims::{Claim, Claims, Ticket};
use super::directory::Directory;
use super::durable::{Durability, Progress, SyncThread};
use super::loading::Backing;
use super::recovery::{Recovered, RecoveryReport, recover};
use super::verification::DeferredCheck;
use super::worker::{CheckpointThread, Done, Job};
use crate::audit::{AuditedFilter, Trace};
use crate::filter::{FilterSpec, Observation, Registers, Verdict};
use crate::fingerprint::{Fingerprint, KeyHasher};
use crate::store::error::StoreError;
use crate::store::frame::{Kind, Payload};
use crate::store::live::LiveRegion;
use crate::store::log::{Framed, LogWriter};
use crate::store::medium::Medium;
use crate::store::superblock::{LogPosition, SPARSE_LOG, Superblock};

/// How a store is opened.
#[derive(Clone, Copy, Debug)]
pub struct OpenOptions {
    /// When observations become durable.
    pub durability: Durability,
    /// How the region gets into memory.
    pub backing: Backing,
    /// Check every block before the first observation, or in the background after it. A
    /// block found bad later stops the store; no checkpoint is taken before all are checked.
    pub verify_first: bool,
    /// Write checkpoints and sync by threads. Without, all is done in the calls themselves.
    pub threads: bool,
}

impl Default for OpenOptions {
    fn default() -> Self {
        OpenOptions {
            durability: Durability::default(),
            backing: Backing::default(),
            verify_first: true,
            threads: true,
        }
    }
}

/// A filter whose state survives.
///
/// See the [module](crate::store) for what is promised.
pub struct Store<M: Medium = Directory> {
    pub(super) progress: Arc<Progress<M>>,
    pub(super) active: Superblock,
    pub(super) spec: FilterSpec,
    pub(super) filter: AuditedFilter,
    pub(super) hasher: KeyHasher,
    pub(super) live: LiveRegion,
    pub(super) registers: Registers,
    log: LogWriter,
    appending: Appending<M>,
    stage: Stage,
    claims: Claims,
    durability: Durability,
    pub(super) report: RecoveryReport,
    deferred: Option<DeferredCheck>,
    // Dropped before the rest: their threads use it.
    checkpoint_thread: Option<CheckpointThread>,
    sync_thread: Option<SyncThread<M>>,
}

/// How far a checkpoint has come.
enum Stage {
    Idle,
    Preparing,
    Writing(Arc<Checkpoint>),
}

impl<M: Medium> Store<M> {
    /// Recovers the state from a medium and goes on with it.
    pub fn open_on(medium: M, options: OpenOptions) -> Result<Self, StoreError> {
        let mut recovered = recover(&medium, options.backing, options.verify_first)?;
        recovered.settle(&medium)?;
        Self::go_on(medium, recovered, options)
    }

    pub(super) fn go_on(
        medium: M,
        recovered: Recovered,
        options: OpenOptions,
    ) -> Result<Self, StoreError> {
        let Recovered {
            active,
            spec,
            filter,
            live,
            registers,
            end,
            mark,
            report,
            ..
        } = recovered;
        let progress = Progress::new(medium, active.store_id, mark, end.sequence, end.epoch);
        let progress = Arc::new(progress);
        let deferred = match options.verify_first {
            true => None,
            false => Some(DeferredCheck::start(
                &progress,
                active.clone(),
                options.threads,
            )?),
        };
        let sync_thread = match (options.threads, options.durability) {
            (true, Durability::Interval(interval)) => Some(SyncThread::start(&progress, interval)?),
            _ => None,
        };
        let checkpoint_thread = match options.threads {
            true => Some(CheckpointThread::start(&progress)?),
            false => None,
        };
        // Where a thread would have to take turns with the writer, or the writer waits for
        // the sync anyway, nothing is gained by handing frames over.
        let by_thread = options.threads
            && options.durability != Durability::Every
            && std::thread::available_parallelism().is_ok_and(|processors| processors.get() > 1);
        Ok(Store {
            appending: Appending::new(&progress, by_thread),
            log: LogWriter::new(active.store_id, &active.layout, end, mark.incarnation),
            hasher: KeyHasher::new(active.parameters.seed),
            progress,
            active,
            spec,
            filter,
            live,
            registers,
            stage: Stage::Idle,
            claims: Claims::default(),
            durability: options.durability,
            report,
            deferred,
            checkpoint_thread,
            sync_thread,
        })
    }

    /// Whether a key is new; from now on it is not.
    pub fn observe(&mut self, key: &[u8]) -> Result<Verdict, StoreError> {
        self.observe_one(self.hasher.fingerprint(key).into())
    }

    /// [`observe`](Store::observe) for a key already hashed.
    pub fn observe_one(&mut self, observation: Observation) -> Result<Verdict, StoreError> {
        let mut verdict = [Verdict::New];
        self.observe_batch(&[observation], &mut verdict)?;
        Ok(verdict[0])
    }

    /// Observes many keys in order. On return they are in the log, or on their way to it by
    /// a thread if they are many; when they are durable is up to the [`Durability`].
    ///
    /// # Panics
    /// If the two slices differ in length.
    pub fn observe_batch(
        &mut self,
        observations: &[Observation],
        verdicts: &mut [Verdict],
    ) -> Result<(), StoreError> {
        assert_eq!(observations.len(), verdicts.len());
        let mut from = 0;
        while from < observations.len() {
            let left = observations.len() - from;
            let room = self.make_room(left)?;
            let to = from + left.min(room);
            let trace = self.trace();
            self.apply(&observations[from..to], &mut verdicts[from..to]);
            let payload = self.payload(&observations[from..to], &verdicts[from..to], trace);
            self.append(payload, Appending::put)?;
            from = to;
        }
        self.after_append()
    }

    /// Whether a key was met before; nothing is recorded.
    pub fn contains(&self, key: &[u8]) -> Verdict {
        self.contains_fingerprint(self.hasher.fingerprint(key))
    }

    /// [`contains`](Store::contains) for a key already hashed.
    pub fn contains_fingerprint(&self, fingerprint: Fingerprint) -> Verdict {
        self.filter
            .contains(self.live.bytes(), &self.registers, fingerprint)
    }

    /// Claims a key to work on; see [`Claim`].
    pub fn claim(&mut self, key: &[u8]) -> Claim {
        let fingerprint = self.hasher.fingerprint(key);
        match self.contains_fingerprint(fingerprint) {
            Verdict::Seen => Claim::Seen,
            Verdict::New => self.claims.claim(fingerprint),
        }
    }

    /// The work on a claimed key is done: records it.
    pub fn commit(&mut self, ticket: Ticket) -> Result<(), StoreError> {
        self.observe_one(ticket.fingerprint.into())?;
        self.claims.finish(&ticket);
        Ok(())
    }

    /// The work on a claimed key failed: the next one may claim it.
    pub fn abort(&mut self, ticket: Ticket) {
        self.claims.finish(&ticket);
    }

    /// Keys claimed and neither committed nor aborted.
    pub fn pending_claims(&self) -> usize {
        self.claims.len()
    }

    pub(super) fn frame_kind(&self) -> Kind {
        let needs = self.spec.descriptor().needs;
        if needs.tick || needs.importance {
            Kind::Full
        } else if self.active.features & SPARSE_LOG != 0 {
            Kind::Sparse
        } else {
            Kind::Keys
        }
    }

    /// Which of the observations to come the log must hold.
    pub(super) fn trace(&self) -> Trace {
        self.filter.trace(self.live.bytes())
    }

    /// Changes memory only.
    pub(super) fn apply(&mut self, observations: &[Observation], verdicts: &mut [Verdict]) {
        let (filter, registers) = (&self.filter, &mut self.registers);
        if let Some(region) = self.live.unfrozen() {
            filter.observe_batch(region, registers, observations, verdicts);
        } else if let Stage::Writing(checkpoint) = &self.stage {
            let saving = checkpoint.saving(&self.progress.medium);
            let mut region = self.live.tracked(saving);
            filter.observe_batch(&mut region, registers, observations, verdicts);
        }
    }

    /// What the log is to hold of observations.
    pub(super) fn payload<'a>(
        &self,
        observations: &'a [Observation],
        verdicts: &'a [Verdict],
        trace: Trace,
    ) -> Payload<'a> {
        match self.frame_kind() {
            Kind::Full => Payload::Full(observations),
            Kind::Sparse => Payload::Sparse(observations, verdicts, trace),
            Kind::Keys | Kind::Switch => Payload::Keys(observations),
        }
    }

    pub(super) fn append(
        &mut self,
        payload: Payload<'_>,
        put: fn(&mut Appending<M>, Framed<'_>) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let (durable, appending) = (self.progress.durable(), &mut self.appending);
        let appended = self
            .log
            .append(payload, durable, |framed| put(appending, framed));
        appended.map_err(|error| self.progress.poison(error))
    }

    pub(super) fn after_append(&mut self) -> Result<(), StoreError> {
        if self.durability == Durability::Every {
            self.progress.sync(false)?;
        }
        self.advance(false)
    }

    /// Room in the log for at least one observation and for up to `wanted`.
    pub(super) fn make_room(&mut self, wanted: usize) -> Result<usize, StoreError> {
        self.progress.check()?;
        let kind = self.frame_kind();
        let enough = wanted.min(self.batch_limit()).max(1);
        while self.log.room(kind) < enough {
            // A checkpoint that could not switch logs frees none; the next one will.
            let epoch = self.log.position().epoch;
            self.start_checkpoint()?;
            while self.log.position().epoch == epoch && !matches!(self.stage, Stage::Idle) {
                self.advance(true)?;
            }
        }
        Ok(self.log.room(kind))
    }

    /// Starts a checkpoint, unless one is under way.
    fn start_checkpoint(&mut self) -> Result<(), StoreError> {
        self.progress.check()?;
        if !matches!(self.stage, Stage::Idle) {
            return Ok(());
        }
        if let Some(deferred) = self.deferred.take() {
            deferred.wait()?;
            self.progress.check()?;
        }
        self.stage = Stage::Preparing;
        self.ask(Job::Prepare {
            active: Box::new(self.active.clone()),
            current_epoch: self.log.position().epoch,
            incarnation: self.log.incarnation(),
        })
    }

    fn ask(&mut self, job: Job) -> Result<(), StoreError> {
        match &self.checkpoint_thread {
            Some(thread) => thread.ask(job),
            None => match (job, &self.stage) {
                // Written step by step, by `advance`.
                (Job::Write(_), _) => Ok(()),
                (job, _) => {
                    let done = job.run(&self.progress.medium);
                    self.take_up(done)
                }
            },
        }
    }

    /// Takes up what the checkpoint thread has done; starts one if the log is nearly full:
    /// the rest is for what comes while the other log is made ready.
    fn advance(&mut self, wait: bool) -> Result<(), StoreError> {
        let idle = matches!(self.stage, Stage::Idle);
        if idle && self.log.used_bytes() > self.active.layout.log_bytes / 8 * 7 {
            self.start_checkpoint()?;
        } else if idle {
            return Ok(());
        }
        match &self.checkpoint_thread {
            Some(thread) => match thread.answer(wait) {
                Some(done) => self.take_up(done),
                None => Ok(()),
            },
            None if wait => self.advance_by(u64::MAX),
            None => Ok(()),
        }
    }

    fn take_up(&mut self, done: Result<Done, StoreError>) -> Result<(), StoreError> {
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

    /// Ends the log and freezes the region: from here on, the image is the past.
    fn freeze(&mut self, can_switch: bool) -> Result<(), StoreError> {
        // The image will be valid only after a sync of the log up to here.
        self.appending.drain()?;
        if can_switch {
            let (durable, appending) = (self.progress.durable(), &mut self.appending);
            let switched = self.log.switch(durable, |framed| appending.put_now(framed));
            switched.map_err(|error| self.progress.poison(error))?;
            let LogPosition {
                sequence, epoch, ..
            } = self.log.position();
            self.progress.note_appended(sequence, epoch);
        }
        let next = Superblock {
            generation: self.active.generation + 1,
            log: self.log.position(),
            registers: self.registers.clone(),
            ..self.active.clone()
        };
        let by_thread = self.checkpoint_thread.is_some();
        let checkpoint = Arc::new(Checkpoint::new(next, self.live.freeze(), by_thread));
        self.stage = Stage::Writing(Arc::clone(&checkpoint));
        self.ask(Job::Write(checkpoint))
    }

    /// Without threads: writes up to `blocks` more blocks of the checkpoint under way, and
    /// ends it with the last.
    #[doc(hidden)]
    pub fn advance_by(&mut self, blocks: u64) -> Result<(), StoreError> {
        let Stage::Writing(checkpoint) = &self.stage else {
            return Ok(());
        };
        let checkpoint = Arc::clone(checkpoint);
        let medium = &self.progress.medium;
        let done = match checkpoint.write_some(medium, blocks) {
            Ok(false) => return Ok(()),
            Ok(true) => checkpoint
                .finish(medium)
                .map(|superblock| Done::Written(Box::new(superblock))),
            Err(error) => Err(error),
        };
        self.take_up(done)
    }

    /// Without threads: starts a checkpoint and leaves it to [`advance_by`](Store::advance_by).
    #[doc(hidden)]
    pub fn begin_checkpoint(&mut self) -> Result<(), StoreError> {
        self.start_checkpoint()
    }

    fn finish_checkpoint(&mut self) -> Result<(), StoreError> {
        while !matches!(self.stage, Stage::Idle) {
            self.advance(true)?;
        }
        Ok(())
    }

    /// Folds the log into an image, and returns when that is durable.
    pub fn checkpoint(&mut self) -> Result<(), StoreError> {
        self.progress.check()?;
        self.finish_checkpoint()?;
        self.start_checkpoint()?;
        self.finish_checkpoint()?;
        self.sync()
    }

    /// Makes everything observed so far durable.
    pub fn sync(&mut self) -> Result<(), StoreError> {
        self.appending.drain()?;
        self.progress.sync(true)
    }

    /// The number of the last observation; wait for it to be durable with
    /// [`wait_durable`](Store::wait_durable).
    pub fn sequence(&self) -> u64 {
        self.log.position().sequence
    }

    /// How many observations are durable: acknowledged.
    pub fn durable_sequence(&self) -> u64 {
        self.progress.durable()
    }

    /// Returns when the first `sequence` observations are durable.
    pub fn wait_durable(&mut self, sequence: u64) -> Result<(), StoreError> {
        let sequence = sequence.min(self.sequence());
        match &self.sync_thread {
            Some(_) => self.progress.wait(sequence),
            None if self.progress.durable() < sequence => self.sync(),
            None => self.progress.check(),
        }
    }

    /// Takes a last checkpoint, if anything has happened since the one before, and ends.
    pub fn close(mut self) -> Result<(), StoreError> {
        self.progress.check()?;
        self.finish_checkpoint()?;
        if self.active.log != self.log.position() {
            self.checkpoint()?;
        }
        if let Some(deferred) = self.deferred.take() {
            deferred.wait()?;
        }
        self.sync()
    }
}

impl<M: Medium> Drop for Store<M> {
    fn drop(&mut self) {
        // The checkpoint thread reads the frozen region: it goes first.
        self.checkpoint_thread.take();
        self.live.thaw();
    }
}
