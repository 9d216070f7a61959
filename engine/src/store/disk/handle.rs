//! The store as its one writer uses it.

use std::fmt;
use std::sync::Arc;

use super::background_check::BackgroundCheck;
use super::checkpoint_thread::CheckpointThread;
use super::checkpointing::Stage;
use super::claims::{Claim, Claims, Ticket};
use super::concurrency::has_several_processors;
use super::directory::Directory;
use super::durability::Durability;
use super::live_region::LiveRegion;
use super::log_tail::LogTail;
use super::log_thread::LogAppender;
use super::open_options::OpenOptions;
use super::progress::Progress;
use super::recovery::{Recovered, RecoveryReport, recover};
use super::sync_thread::SyncThread;
use crate::audit::{AuditedFilter, LogPolicy};
use crate::filter::{
    FilterSpec, HashedKeys, Observation, ObservationTime, Registers, Run, Threads, Verdict, tick_of,
};
use crate::fingerprint::{Fingerprint, KeyHasher};
use crate::store::error::StoreError;
use crate::store::format::payload::{Encoding, Payload};
use crate::store::format::superblock::{SPARSE_LOG, Superblock, TIMED_LOG};
use crate::store::log::{Framed, LogWriter};
use crate::store::medium::Medium;
use crate::store::mutant::{Mutant, planted};

/// A filter whose state survives crashes and restarts. The [module](crate::store) says what
/// is guaranteed.
///
/// # Dropping
///
/// Dropping a store without [closing](Store::close) it loses no observation: the log receives
/// everything that was observed, the store's threads end, and its lock is released. But a
/// drop does not sync, so a power cut can still undo observations after
/// [`durable_sequence`](Store::durable_sequence). It takes no checkpoint, so the next opening
/// replays the log. And it cannot report an error. Close a store to get all three.
pub struct Store<M: Medium = Directory> {
    pub(super) progress: Arc<Progress<M>>,
    pub(super) active: Superblock,
    pub(super) spec: FilterSpec,
    pub(super) filter: AuditedFilter,
    pub(super) hasher: KeyHasher,
    pub(super) live: LiveRegion,
    pub(super) registers: Registers,
    pub(super) log: LogWriter,
    pub(super) appender: LogAppender<M>,
    pub(super) stage: Stage,
    pub(super) time: ObservationTime,
    /// Features that the next image has besides those of the active one.
    pub(super) added_features: u32,
    pub(super) claims: Claims,
    durability: Durability,
    pub(super) report: RecoveryReport,
    pub(super) background_check: Option<BackgroundCheck>,
    pub(super) checkpoint_thread: Option<CheckpointThread>,
    sync_thread: Option<SyncThread<M>>,
    observing: Option<Threads>,
    hashed: HashedKeys,
}

impl<M: Medium> Store<M> {
    /// Recovers the state from a medium.
    pub(super) fn open_on(medium: M, options: OpenOptions) -> Result<Self, StoreError> {
        let mut recovered = recover(&medium, options.backing, options.verify_first)?;
        recovered.make_durable(&medium)?;
        Self::start(medium, recovered, options)
    }

    /// Starts the threads of a store whose state is recovered and durable.
    pub(super) fn start(
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
        let background_check = match options.verify_first {
            true => None,
            false => Some(BackgroundCheck::start(
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
        // A log thread gains nothing on one processor, or if the writer waits for each sync.
        let by_thread =
            options.threads && options.durability != Durability::Every && has_several_processors();
        // A sync after each frame would make every store into a map fault.
        let may_map = options.map_log && options.durability != Durability::Every;
        let tail = LogTail::new(active.layout.log_bytes, may_map);
        Ok(Store {
            appender: LogAppender::new(&progress, by_thread, tail),
            log: LogWriter::new(
                active.store_id,
                &active.layout,
                encoding_of(&filter, &active),
                end,
                mark.incarnation,
            ),
            time: ObservationTime::new(filter.filter().tick_clock()),
            hasher: KeyHasher::new(active.parameters.seed),
            progress,
            active,
            spec,
            filter,
            live,
            registers,
            stage: Stage::Idle,
            added_features: 0,
            claims: Claims::default(),
            durability: options.durability,
            report,
            background_check,
            checkpoint_thread,
            sync_thread,
            observing: Threads::start(options.observing_threads),
            hashed: HashedKeys::default(),
        })
    }

    /// Reports whether a key is new, and records it. If the filter has a window that is measured
    /// in seconds, the time is that of the machine; see [`observe_at`](Store::observe_at).
    pub fn observe(&mut self, key: impl AsRef<[u8]>) -> Result<Verdict, StoreError> {
        self.observe_fingerprint(self.hasher.fingerprint(key.as_ref()))
    }

    /// [`observe`](Store::observe) for a key that is already hashed by the store's
    /// [hasher](Store::hasher).
    pub fn observe_fingerprint(&mut self, fingerprint: Fingerprint) -> Result<Verdict, StoreError> {
        let observation = self.observation_now(fingerprint);
        self.observe_one(observation)
    }

    /// Observes a hashed key with its time and importance.
    pub fn observe_one(&mut self, observation: Observation) -> Result<Verdict, StoreError> {
        let mut verdict = [Verdict::New];
        match self.time.is_needed() {
            true => self.observe_batch(&[observation], &mut verdict)?,
            false => {
                self.observe_run(0, &[observation], &mut verdict)?;
                self.after_append()?;
            }
        }
        Ok(verdict[0])
    }

    /// Observes many keys in order.
    ///
    /// A small batch is in the log on return; a thread may still be writing a large one. The
    /// [`Durability`] decides when the observations are durable.
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
        let runs = self.runs(observations);
        for run in &runs {
            let range = from..run.end;
            self.observe_run(run.step, &observations[range.clone()], &mut verdicts[range])?;
            from = run.end;
        }
        self.time.reuse(runs);
        self.after_append()
    }

    /// Hashes many keys and observes them in order, both with all
    /// [threads](OpenOptions::observing_threads). If the filter has a window that is measured in
    /// seconds, the time is that of the machine. After an error, the keys before it may be recorded.
    ///
    /// # Panics
    /// If the two slices differ in length.
    pub fn observe_keys<K: AsRef<[u8]> + Sync>(
        &mut self,
        keys: &[K],
        verdicts: &mut [Verdict],
    ) -> Result<(), StoreError> {
        assert_eq!(keys.len(), verdicts.len());
        self.follow_machine_clock();
        let mut hashed = std::mem::take(&mut self.hashed);
        let length = HashedKeys::batch_length(self.observing.as_ref());
        let mut batches = keys.chunks(length).zip(verdicts.chunks_mut(length));
        let result = batches.try_for_each(|(keys, verdicts)| {
            let observations = hashed.hash(self.observing.as_ref(), self.hasher, keys);
            self.observe_batch(observations, verdicts)
        });
        self.hashed = hashed;
        result
    }

    /// Observes keys at one step and appends them to the log, in as many frames as needed.
    fn observe_run(
        &mut self,
        step: u64,
        observations: &[Observation],
        verdicts: &mut [Verdict],
    ) -> Result<(), StoreError> {
        let mut from = 0;
        while from < observations.len() {
            let left = observations.len() - from;
            let room = self.make_room(left)?;
            let to = from + left.min(room);
            let log_policy = self.log_policy();
            let (observed, verdicts) = (&observations[from..to], &mut verdicts[from..to]);
            self.apply(step, observed, verdicts);
            let encoding = self.log.encoding();
            let payload = encoding.payload(step, observed, verdicts, log_policy);
            self.append(payload, LogAppender::put)?;
            from = to;
        }
        Ok(())
    }

    /// Reports whether a key was observed before. Records nothing.
    pub fn contains(&self, key: impl AsRef<[u8]>) -> Verdict {
        self.contains_fingerprint(self.hasher.fingerprint(key.as_ref()))
    }

    /// [`contains`](Store::contains) for a key that is already hashed by the store's
    /// [hasher](Store::hasher).
    pub fn contains_fingerprint(&self, fingerprint: Fingerprint) -> Verdict {
        match self.time.is_needed() {
            true => self.contains_observation(fingerprint.into()),
            false => self
                .filter
                .contains(self.live.bytes(), &self.registers, fingerprint),
        }
    }

    /// Claims a key to work on; see [`Claim`].
    pub fn claim(&mut self, key: impl AsRef<[u8]>) -> Claim {
        let fingerprint = self.hasher.fingerprint(key.as_ref());
        let observation = self.observation_now(fingerprint);
        self.claim_observation(observation)
    }

    /// [`claim`](Store::claim) for a key that is already hashed by the store's
    /// [hasher](Store::hasher), with its time and importance.
    pub fn claim_observation(&mut self, observation: Observation) -> Claim {
        match self.contains_observation(observation) {
            Verdict::Seen => Claim::Seen,
            Verdict::New => self.claims.claim(observation),
        }
    }

    /// Records a claimed key: the work on it is done.
    pub fn commit(&mut self, ticket: Ticket) -> Result<(), StoreError> {
        self.observe_one(ticket.observation)?;
        self.claims.finish(&ticket);
        Ok(())
    }

    /// Records many claimed keys, in fewer writes than one by one. On return they are in the log,
    /// so that killing the process does not undo them.
    pub fn commit_batch(&mut self, tickets: Vec<Ticket>) -> Result<(), StoreError> {
        let observations: Vec<_> = tickets.iter().map(|ticket| ticket.observation).collect();
        let mut verdicts = vec![Verdict::New; observations.len()];
        let limit = self.batch_limit();
        for (observed, verdicts) in observations.chunks(limit).zip(verdicts.chunks_mut(limit)) {
            self.observe_pending(observed, verdicts)?.commit()?;
        }
        for ticket in &tickets {
            self.claims.finish(ticket);
        }
        Ok(())
    }

    /// Ends a claim without recording the key, which can then be claimed again.
    pub fn abort(&mut self, ticket: Ticket) {
        self.claims.finish(&ticket);
    }

    /// Returns the number of keys claimed and neither committed nor aborted.
    pub fn pending_claims(&self) -> usize {
        self.claims.len()
    }

    /// Decides which of the next observations the log must hold.
    pub(super) fn log_policy(&self) -> LogPolicy {
        self.filter.log_policy(self.live.bytes())
    }

    /// Divides observations into runs that count at one step each.
    pub(super) fn runs(&mut self, observations: &[Observation]) -> Vec<Run> {
        let medium = &self.progress.medium;
        let machine = || Some(tick_of(medium.unix_seconds()));
        self.time
            .runs(self.registers.clock(), machine, observations)
    }

    /// Observes in memory only, at a step.
    pub(super) fn apply(
        &mut self,
        step: u64,
        observations: &[Observation],
        verdicts: &mut [Verdict],
    ) {
        self.registers.advance_clock(step);
        let (filter, registers) = (&self.filter, &mut self.registers);
        if let Some(region) = self.live.unfrozen() {
            let threads = self.observing.as_mut();
            filter.observe_batch(region, registers, observations, verdicts, threads);
        } else if let Stage::Writing(checkpoint) = &self.stage {
            let saving = checkpoint.saving(&self.progress.medium);
            let mut region = self.live.tracked(saving);
            filter.observe_batch(&mut region, registers, observations, verdicts, None);
        }
    }

    /// Appends a frame to the log; `put` writes it at once or hands it to the log thread.
    pub(super) fn append(
        &mut self,
        payload: Payload<'_>,
        put: fn(&mut LogAppender<M>, Framed<'_>) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let (durable, appender) = (self.progress.durable(), &mut self.appender);
        let appended = self
            .log
            .append(payload, durable, |framed| put(appender, framed));
        appended.map_err(|error| self.progress.poison(error))
    }

    /// Syncs if every call must, and advances a checkpoint.
    pub(super) fn after_append(&mut self) -> Result<(), StoreError> {
        if self.durability == Durability::Every {
            self.progress.sync(false)?;
        }
        self.poll_checkpoint(false)
    }

    /// Makes everything observed so far durable.
    pub fn sync(&mut self) -> Result<(), StoreError> {
        self.appender.drain()?;
        self.progress.sync(true)
    }

    /// Returns the sequence number: the number of observations, and of keys
    /// [taken out](Store::forget).
    /// [`wait_durable`](Store::wait_durable) waits until it is durable.
    pub fn sequence(&self) -> u64 {
        self.log.position().sequence
    }

    /// Returns the sequence number up to which everything is durable, that is, acknowledged.
    pub fn durable_sequence(&self) -> u64 {
        self.progress.durable()
    }

    /// Returns when everything up to a sequence number is durable.
    pub fn wait_durable(&mut self, sequence: u64) -> Result<(), StoreError> {
        let sequence = sequence.min(self.sequence());
        match &self.sync_thread {
            Some(_) => self.progress.wait(sequence),
            None if self.progress.durable() < sequence => self.sync(),
            None => self.progress.check(),
        }
    }

    /// Closes the store: takes a checkpoint if there were observations since the last one,
    /// syncs, and reports any error.
    pub fn close(mut self) -> Result<(), StoreError> {
        // Before the last sync. A sync of this thread could fail after it, and no call would report that.
        if !planted(Mutant::SyncThreadOutlivesClose) {
            self.sync_thread = None;
        }
        self.settle()
    }

    /// Does what [`close`](Store::close) does, and keeps the store open. Dropping it then loses
    /// nothing, and its [generation](Store::generation) and
    /// [`durable_sequence`](Store::durable_sequence) are those of the closed store.
    pub fn settle(&mut self) -> Result<(), StoreError> {
        self.progress.check()?;
        self.finish_checkpoint()?;
        if self.active.log != self.log.position() {
            self.checkpoint()?;
        }
        if let Some(background_check) = self.background_check.take() {
            background_check.wait()?;
        }
        self.sync()
    }
}

/// Chooses what frames record: all of an observation if the filter needs more than its
/// fingerprint.
fn encoding_of(filter: &AuditedFilter, superblock: &Superblock) -> Encoding {
    if filter.filter().needs().importance {
        Encoding::Full
    } else if superblock.features & TIMED_LOG != 0 {
        Encoding::Timed
    } else if superblock.features & SPARSE_LOG != 0 {
        Encoding::Sparse
    } else {
        Encoding::Keys
    }
}

impl<M: Medium> fmt::Debug for Store<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store")
            .field("filter", &self.active.parameters.filter)
            .field("memory_bits", &self.active.parameters.memory_bits)
            .field("sequence", &self.sequence())
            .field("durable_sequence", &self.durable_sequence())
            .field("generation", &self.active.generation)
            .finish_non_exhaustive()
    }
}

impl<M: Medium> Drop for Store<M> {
    fn drop(&mut self) {
        // The checkpoint thread reads the frozen region, so it ends first. The other threads
        // end when their fields are dropped.
        self.checkpoint_thread.take();
        self.live.thaw();
    }
}
