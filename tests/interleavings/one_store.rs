//! A writer, its store's threads, readers, and others that sync, on one disk.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use dedupstore::store::{Backing, Durability, OpenOptions, Store, StoreError, SyncHandle};
use dedupstore::{Fingerprint, Observation, Verdict};
use dedupstore_tests::crash::random_crashes::random_surviving;
use dedupstore_tests::crash::session::{INLINE, Model, check_recovery_within, options};
use dedupstore_tests::crash::simulated_medium::{Disk, Fault, FaultKind, SimulatedMedium};
use dedupstore_tests::crash::{FILTERS, Failure};
use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use shuttle::thread::JoinHandle;

use crate::medium::{FailingCall, Moments, ScheduledMedium};
use crate::readers::{self, Sight};

/// Spreads small numbers over the range of fingerprints.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;
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

/// Runs the scenario of a seed. Returns how many crashed states were opened.
pub fn run(seed: u64) -> Result<u64, Failure> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let filter = FILTERS[(rng.next_u64() % FILTERS.len() as u64) as usize];
    let options = options(filter, 1 + rng.next_u64() % 5);
    let mut model = Model::new(&options);
    let disk = SimulatedMedium::with_store(&options).disk().clone();
    let window_bytes = [0, 320, 2048][(rng.next_u64() % 3) as usize];
    let disk = SimulatedMedium::holding(disk.with_windows(window_bytes));
    fill(&disk, &mut model, &mut rng)?;
    let failure = rng.next_u64() % 6;
    if failure == 0 {
        let kinds = [FaultKind::Once, FaultKind::Permanent, FaultKind::Short];
        let at_call = disk.disk().calls() + rng.next_u64() % 150;
        let kind = kinds[(rng.next_u64() % 3) as usize];
        disk.disk().set_fault(Some(Fault { at_call, kind }));
    }
    let latest = [20, 60, 200, 600][(rng.next_u64() % 4) as usize];
    let crash_moments = (0..CRASHES).map(|_| rng.next_u64() % latest).collect();
    let moments = Moments::new(crash_moments);
    let mut medium = ScheduledMedium::new(disk.clone(), &moments);
    if failure == 1 {
        medium = medium.failing(FailingCall {
            is_sync: rng.next_u64().is_multiple_of(2),
            left: AtomicI64::new((rng.next_u64() % 8) as i64),
        });
    }
    let mut run = Run {
        medium,
        crash: None,
        promises: Arc::new(Promises {
            begun: AtomicU64::new(model.len()),
            logged: AtomicU64::new(model.len()),
            acknowledged: AtomicU64::new(model.len()),
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
    let done = run.session();
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
    fn pick(&mut self, below: u64) -> u64 {
        self.rng.next_u64() % below
    }

    /// Opens the store, uses it, and closes or drops it.
    fn session(&mut self) -> Result<(), Failure> {
        let durability = match self.pick(8) {
            0 => Durability::Every,
            1 | 2 => Durability::None,
            _ => Durability::Interval(Duration::from_secs(1)),
        };
        let opening = OpenOptions::new()
            .durability(durability)
            .backing(Backing::Anonymous)
            .verify_first(self.pick(3) > 0);
        let store = match opening.open_on(self.medium.clone()) {
            Ok(store) => store,
            Err(error) => return self.expected(error),
        };
        let done = self.use_and_end(store, durability);
        let threads = std::mem::take(&mut self.threads);
        for thread in threads {
            let joined = thread.join();
            joined.map_err(|_| Failure("a thread panicked".to_owned()))?;
        }
        done
    }

    fn use_and_end(
        &mut self,
        mut store: Store<ScheduledMedium>,
        durability: Durability,
    ) -> Result<(), Failure> {
        match store.sync_handle() {
            Ok(handle) => {
                let _ = self.promises.handle.set(handle);
            }
            Err(error) => return self.expected(error),
        }
        for _ in 0..4 + self.pick(10) {
            if let Err(error) = self.act(&mut store, durability)? {
                self.expected(error)?;
                return all_calls_fail(&mut store);
            }
        }
        let sequence = self.model.len();
        match self.pick(3) {
            0 => {
                drop(store);
                if !self.has_failed() {
                    self.promises.logged.store(sequence, Ordering::Relaxed);
                }
            }
            _ => match store.close() {
                Ok(()) if self.has_failed() => {
                    let message = "a call failed, and the store did not report it";
                    return Err(Failure(message.to_owned()));
                }
                Ok(()) => self.acknowledge(sequence),
                Err(error) => return self.expected(error),
            },
        }
        Ok(())
    }

    /// Does one thing that a program may do with a store. The inner error is the store's.
    fn act(
        &mut self,
        store: &mut Store<ScheduledMedium>,
        durability: Durability,
    ) -> Result<Result<(), StoreError>, Failure> {
        match self.pick(24) {
            0..5 => return self.observe(store, true),
            5..10 => return self.observe(store, false),
            10..12 if store.filter().can_forget() => return self.forget(store),
            10..12 => return self.observe_singly(store),
            12 | 13 => match store.sync() {
                Ok(()) => self.acknowledge(self.model.len()),
                Err(error) => return Ok(Err(error)),
            },
            14 => match store.wait_durable(self.model.len()) {
                Ok(()) => {
                    self.acknowledge(self.model.len());
                    if let Some(crash) = &self.crash {
                        crash();
                    }
                }
                Err(error) => return Ok(Err(error)),
            },
            15..18 => return Ok(store.begin_checkpoint()),
            18 => match store.checkpoint() {
                Ok(()) => self.acknowledge(self.model.len()),
                Err(error) => return Ok(Err(error)),
            },
            19..21 => return Ok(self.start_syncing(store)),
            _ => self.start_reading(),
        }
        if durability == Durability::Every && store.durable_sequence() < store.sequence() {
            return Err(Failure("a call returned before its sync".to_owned()));
        }
        Ok(Ok(()))
    }

    fn observe(
        &mut self,
        store: &mut Store<ScheduledMedium>,
        pending: bool,
    ) -> Result<Result<(), StoreError>, Failure> {
        let count = [1, 3, 12, 40][self.pick(4) as usize];
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
        for _ in 0..3 + self.pick(5) {
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
            if handle.sync().is_ok() {
                promises.acknowledged.fetch_max(sequence, Ordering::Relaxed);
                // The worst moment: nothing else has reached the disk since.
                if let Some(crash) = crash {
                    crash();
                }
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
