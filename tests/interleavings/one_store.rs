//! A writer, its store's threads, readers, and others that sync, on one disk.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use dedupstore::store::{Backing, Durability, OpenOptions, Store, StoreError, SyncHandle};
use dedupstore::{Fingerprint, Observation, Verdict};
use dedupstore_tests::crash::Failure;
use dedupstore_tests::crash::random_crashes::random_surviving;
use dedupstore_tests::crash::session::{INLINE, Model, check_recovery_within, options};
use dedupstore_tests::crash::simulated_medium::{Disk, Fault, SimulatedMedium};
use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use shuttle::thread::JoinHandle;

use crate::medium::{Moments, ScheduledMedium};
use crate::plan::{Action, Failing, Plan};
use crate::readers::{self, Sight};

/// Spreads small numbers over the range of fingerprints.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;
const UNREPORTED: &str = "a call failed, and the store did not report it";
/// How many crashes a run records, besides the one at its end.
const CRASHES: usize = 3;

/// What the store has promised so far.
pub struct Promises {
    /// The number of changes whose calls have begun. No more may be recovered.
    pub begun: AtomicU64,
    /// The number of changes that the end of the process must not undo.
    logged: AtomicU64,
    /// The number of changes that a crash of the machine must not undo, by calls that returned.
    acknowledged: AtomicU64,
    /// Whether another thread was told that a sync has failed.
    reported: AtomicBool,
    /// Knows the number of durable changes as the store counts it.
    handle: OnceLock<SyncHandle<ScheduledMedium>>,
}

impl Promises {
    /// Returns how many changes are durable. Other threads may run.
    pub fn durable(&self) -> u64 {
        let counted = self.handle.get().map_or(0, SyncHandle::durable_sequence);
        counted.max(self.acknowledged.load(Ordering::Relaxed))
    }
}

/// A state that a crash finds.
struct Crash {
    disk: Disk,
    acknowledged: u64,
    logged: u64,
    begun: u64,
}

/// Runs a session of anything. Returns how many crashed states were opened.
pub fn run_random(seed: u64) -> Result<u64, Failure> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let plan = Plan::random(&mut rng);
    run(plan, rng)
}

/// Runs a short session in which threads meet at one place. Returns how many crashed states were
/// opened.
pub fn run_narrow(seed: u64) -> Result<u64, Failure> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let plan = Plan::narrow(&mut rng);
    run(plan, rng)
}

fn run(mut plan: Plan, mut rng: Xoshiro256PlusPlus) -> Result<u64, Failure> {
    let filter = plan.filter;
    let options = options(filter, plan.blocks);
    let mut model = Model::new(&options);
    let disk = SimulatedMedium::with_store(&options).disk().clone();
    let disk = SimulatedMedium::holding(disk.with_windows(plan.window_bytes));
    fill(&disk, &mut model, &mut rng)?;
    let crash_moments = (0..CRASHES).map(|_| rng.next_u64() % plan.latest_crash);
    let moments = Moments::new(crash_moments.collect());
    let mut medium = ScheduledMedium::new(disk.clone(), &moments);
    match std::mem::replace(&mut plan.failing, Failing::Nothing) {
        Failing::Nothing => {}
        Failing::Any { at_call, kind } => {
            let at_call = disk.disk().calls() + at_call;
            disk.disk().set_fault(Some(Fault { at_call, kind }));
        }
        Failing::OfKind(call) => medium = medium.failing(call),
    }
    let mut run = Run {
        medium,
        crash: None,
        promises: Arc::new(Promises {
            begun: AtomicU64::new(model.len()),
            logged: AtomicU64::new(model.len()),
            acknowledged: AtomicU64::new(model.len()),
            reported: AtomicBool::new(false),
            handle: OnceLock::new(),
        }),
        sights: Arc::default(),
        threads: Vec::new(),
        model,
        rng,
    };
    let crashes: Arc<Mutex<Vec<Crash>>> = Arc::default();
    let (promises, recorded) = (Arc::clone(&run.promises), Arc::clone(&crashes));
    let crash = move || {
        let acknowledged = promises.durable();
        // From here on no other thread runs.
        let crash = Crash {
            disk: disk.disk().clone(),
            acknowledged,
            logged: promises.logged.load(Ordering::Relaxed),
            begun: promises.begun.load(Ordering::Relaxed),
        };
        let mut recorded = recorded.lock().unwrap_or_else(PoisonError::into_inner);
        recorded.push(crash);
    };
    let crash = Arc::new(crash);
    moments.on_crash(crash.clone());
    run.crash = Some(crash.clone());
    let done = run.session(&plan);
    run.crash = None;
    moments.end();
    done?;
    crash();
    let crashes = std::mem::take(&mut *crashes.lock().unwrap_or_else(PoisonError::into_inner));
    for (number, crash) in crashes.iter().enumerate() {
        let here = |failure: Failure| failure.at(format!("{filter}, crash {number}"));
        run.check(crash).map_err(here)?;
    }
    run.check_sights().map_err(|failure| failure.at(filter))?;
    Ok(2 * crashes.len() as u64)
}

/// Gives the store a past: observations, and sometimes a checkpoint.
fn fill(
    disk: &SimulatedMedium,
    model: &mut Model,
    rng: &mut Xoshiro256PlusPlus,
) -> Result<(), Failure> {
    let failed = |error: StoreError| Failure(format!("before the session: {error}"));
    let mut store = INLINE.open_on(disk.clone()).map_err(failed)?;
    for _ in 0..rng.next_u64() % 4 {
        let count = rng.next_u64() % 30;
        let observations: Vec<Observation> = (0..count)
            .map(|_| {
                let observation = model.next_observation(key(rng).0);
                model.observe(observation);
                observation
            })
            .collect();
        let mut verdicts = vec![Verdict::New; observations.len()];
        let observed = store.observe_batch(&observations, &mut verdicts);
        observed.map_err(failed)?;
        if rng.next_u64().is_multiple_of(3) {
            store.checkpoint().map_err(failed)?;
        }
    }
    store.sync().map_err(failed)
}

fn key(rng: &mut Xoshiro256PlusPlus) -> Fingerprint {
    Fingerprint((rng.next_u64() % 700).wrapping_mul(SPREAD))
}

/// A run of a writer and all other threads.
struct Run {
    medium: ScheduledMedium,
    /// Records a crash.
    crash: Option<Arc<dyn Fn() + Send + Sync>>,
    promises: Arc<Promises>,
    /// What readers saw.
    sights: Arc<Mutex<Vec<Result<Sight, Failure>>>>,
    threads: Vec<JoinHandle<()>>,
    model: Model,
    rng: Xoshiro256PlusPlus,
}

impl Run {
    /// Opens the store, uses it, and closes or drops it.
    fn session(&mut self, plan: &Plan) -> Result<(), Failure> {
        let opening = OpenOptions::new()
            .durability(plan.durability)
            .backing(Backing::Anonymous)
            .verify_first(plan.verify_first);
        let store = match opening.open_on(self.medium.clone()) {
            Ok(store) => store,
            Err(error) => return self.expected(error),
        };
        let done = self.use_and_end(store, plan);
        self.join_threads()?;
        done
    }

    fn join_threads(&mut self) -> Result<(), Failure> {
        let threads = std::mem::take(&mut self.threads);
        threads.into_iter().try_for_each(|thread| {
            let joined = thread.join();
            joined.map_err(|_| Failure("a thread panicked".to_owned()))
        })
    }

    fn use_and_end(
        &mut self,
        mut store: Store<ScheduledMedium>,
        plan: &Plan,
    ) -> Result<(), Failure> {
        match store.sync_handle() {
            Ok(handle) => {
                let _ = self.promises.handle.set(handle);
            }
            Err(error) => return self.expected(error),
        }
        for &action in &plan.actions {
            if let Err(error) = self.act(&mut store, action)? {
                self.expected(error)?;
                return all_calls_fail(&mut store);
            }
            let must_sync = plan.durability == Durability::Every;
            if must_sync && store.durable_sequence() < store.sequence() {
                return Err(Failure("a call returned before its sync".to_owned()));
            }
        }
        let sequence = self.model.len();
        match plan.closes {
            false => {
                drop(store);
                if !self.has_failed() {
                    self.promises.logged.store(sequence, Ordering::Relaxed);
                }
            }
            true => {
                let had_failed = self.has_failed();
                match store.close() {
                    Ok(()) if had_failed => return Err(Failure(UNREPORTED.to_owned())),
                    Ok(()) => self.acknowledge(sequence),
                    Err(error) => return self.expected(error),
                }
                self.join_threads()?;
                // Another thread may sync after the store, and learn of the failure instead of it.
                let is_reported = self.promises.reported.load(Ordering::Relaxed);
                if self.has_failed() && !is_reported {
                    return Err(Failure(UNREPORTED.to_owned()));
                }
            }
        }
        Ok(())
    }

    /// Does one thing that a program may do with a store. The inner error is the store's.
    fn act(
        &mut self,
        store: &mut Store<ScheduledMedium>,
        action: Action,
    ) -> Result<Result<(), StoreError>, Failure> {
        let done = match action {
            Action::Observe { pending, count } => return self.observe(store, pending, count),
            Action::Forget if store.filter().can_forget() => return self.forget(store),
            Action::Forget => return self.observe_singly(store),
            Action::Sync => store.sync(),
            Action::WaitDurable => store.wait_durable(self.model.len()),
            Action::BeginCheckpoint => return Ok(store.begin_checkpoint()),
            Action::Checkpoint => store.checkpoint(),
            Action::StartSyncing => return Ok(self.start_syncing(store)),
            Action::StartReading => {
                self.start_reading();
                return Ok(Ok(()));
            }
        };
        if done.is_ok() {
            self.acknowledge(self.model.len());
            if let (Action::WaitDurable, Some(crash)) = (action, &self.crash) {
                crash();
            }
        }
        Ok(done)
    }

    fn observe(
        &mut self,
        store: &mut Store<ScheduledMedium>,
        pending: bool,
        count: usize,
    ) -> Result<Result<(), StoreError>, Failure> {
        let (observations, expected): (Vec<_>, Vec<_>) =
            (0..count).map(|_| self.next_observation()).unzip();
        self.begin();
        let mut verdicts = vec![Verdict::New; observations.len()];
        let done = match pending {
            true => {
                let pending = store.observe_pending(&observations, &mut verdicts);
                pending.and_then(|pending| pending.commit())
            }
            false => store.observe_batch(&observations, &mut verdicts),
        };
        if done.is_ok() {
            equal(&verdicts, &expected)?;
            if pending {
                self.logged();
            }
        }
        Ok(done)
    }

    fn observe_singly(
        &mut self,
        store: &mut Store<ScheduledMedium>,
    ) -> Result<Result<(), StoreError>, Failure> {
        for _ in 0..3 + self.rng.next_u64() % 5 {
            let (observation, expected) = self.next_observation();
            self.begin();
            match store.observe_one(observation) {
                Ok(verdict) => equal(&[verdict], &[expected])?,
                Err(error) => return Ok(Err(error)),
            }
        }
        Ok(Ok(()))
    }

    fn forget(
        &mut self,
        store: &mut Store<ScheduledMedium>,
    ) -> Result<Result<(), StoreError>, Failure> {
        let keys: Vec<Fingerprint> = (0..4).map(|_| key(&mut self.rng)).collect();
        let expected: Vec<Verdict> = keys.iter().map(|&key| self.model.forget(key)).collect();
        self.begin();
        let mut verdicts = vec![Verdict::New; keys.len()];
        let done = store.forget_batch(&keys, &mut verdicts);
        if done.is_ok() {
            equal(&verdicts, &expected)?;
        }
        Ok(done)
    }

    /// Lets another thread sync what was observed so far.
    fn start_syncing(&mut self, store: &mut Store<ScheduledMedium>) -> Result<(), StoreError> {
        let handle = store.sync_handle()?;
        self.logged();
        let (promises, sequence) = (Arc::clone(&self.promises), self.model.len());
        let crash = self.crash.clone();
        self.threads.push(shuttle::thread::spawn(move || {
            if handle.sync().is_err() {
                return promises.reported.store(true, Ordering::Relaxed);
            }
            promises.acknowledged.fetch_max(sequence, Ordering::Relaxed);
            // The worst moment: nothing else has reached the disk since.
            if let Some(crash) = crash {
                crash();
            }
        }));
        Ok(())
    }

    fn start_reading(&mut self) {
        let (medium, promises) = (self.medium.clone(), Arc::clone(&self.promises));
        let (sights, number) = (Arc::clone(&self.sights), self.rng.next_u64());
        self.threads.push(shuttle::thread::spawn(move || {
            let seen = readers::look(medium, &promises, number);
            let mut sights = sights.lock().unwrap_or_else(PoisonError::into_inner);
            sights.push(seen);
        }));
    }

    /// Returns an observation and its verdict.
    fn next_observation(&mut self) -> (Observation, Verdict) {
        let observation = self.model.next_observation(key(&mut self.rng).0);
        let verdict = self.model.observe(observation);
        (observation, verdict)
    }

    /// Notes that calls for all changes of the model have begun.
    fn begin(&self) {
        self.promises
            .begun
            .store(self.model.len(), Ordering::Relaxed);
    }

    fn logged(&self) {
        self.promises
            .logged
            .store(self.model.len(), Ordering::Relaxed);
    }

    fn acknowledge(&self, sequence: u64) {
        let acknowledged = &self.promises.acknowledged;
        acknowledged.fetch_max(sequence, Ordering::Relaxed);
        self.promises.logged.fetch_max(sequence, Ordering::Relaxed);
    }

    fn has_failed(&self) -> bool {
        self.medium.disk().disk().has_failed()
    }

    /// An error is expected only if the disk has failed.
    fn expected(&self, error: StoreError) -> Result<(), Failure> {
        match self.has_failed() {
            true => Ok(()),
            false => Err(Failure(format!("an error without a cause: {error}"))),
        }
    }

    /// Checks what is recovered after a crash of the machine, and after the end of the process.
    fn check(&mut self, crash: &Crash) -> Result<(), Failure> {
        let &Crash {
            acknowledged,
            logged,
            begun,
            ..
        } = crash;
        let surviving = random_surviving(&crash.disk, &mut self.rng);
        let disk = crash.disk.after_crash(surviving);
        check_recovery_within(&disk, &self.model, acknowledged..=begun)
            .map_err(|failure| failure.at(format!("{surviving:?}")))?;
        check_recovery_within(&crash.disk.after_kill(), &self.model, logged..=begun)
            .map_err(|failure| failure.at("the process was killed"))
    }

    fn check_sights(&self) -> Result<(), Failure> {
        let sights =
            std::mem::take(&mut *self.sights.lock().unwrap_or_else(PoisonError::into_inner));
        sights
            .into_iter()
            .try_for_each(|sight| sight?.check(&self.model))
    }
}

fn equal(verdicts: &[Verdict], expected: &[Verdict]) -> Result<(), Failure> {
    match verdicts == expected {
        true => Ok(()),
        false => Err(Failure("a verdict differs from the model's".to_owned())),
    }
}

/// After a failure, every call must fail.
fn all_calls_fail(store: &mut Store<ScheduledMedium>) -> Result<(), Failure> {
    let sequence = store.sequence();
    let calls = [
        ("observe", store.observe("key").is_err()),
        ("sync", store.sync().is_err()),
        ("checkpoint", store.checkpoint().is_err()),
        ("begin_checkpoint", store.begin_checkpoint().is_err()),
        ("settle", store.settle().is_err()),
    ];
    // A sync that was under way may have succeeded.
    let waited = store.wait_durable(sequence).is_err() || store.durable_sequence() >= sequence;
    for (name, failed) in calls.into_iter().chain([("wait_durable", waited)]) {
        if !failed {
            return Err(Failure(format!("after a failure, {name} succeeded")));
        }
    }
    Ok(())
}
