//! Runs the scenarios of many seeds.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};

use dedupstore_tests::crash::Failure;
use shuttle::{Config, FailurePersistence, MaxSteps, Runner};

use crate::schedule::{Position, Schedules};
use crate::{block_queue, one_store, server, shared_store};

/// More decisions than any run takes that ends.
const MOST_DECISIONS: usize = 200_000;
/// Recovery has buffers on the stack.
const STACK_BYTES: usize = 1 << 18;

/// What was explored.
#[derive(Clone, Copy, Debug, Default)]
pub struct Explored {
    /// The number of schedules with crashes.
    pub schedules: u64,
    /// The number of states after a crash that were opened.
    pub crashes: u64,
}

impl Explored {
    fn with_schedule(self, crashes: u64) -> Self {
        Explored {
            schedules: self.schedules + u64::from(crashes > 0),
            crashes: self.crashes + crashes,
        }
    }
}

/// A broken promise, and the seed that repeats it.
#[derive(Debug)]
pub struct Found {
    /// The seed.
    pub seed: u64,
    /// What was wrong.
    pub failure: Failure,
}

/// What runs under a schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scenario {
    /// A writer and others do anything.
    OneStore,
    /// A writer and others meet at one place.
    Narrow,
    /// Several clients of a shared store.
    SharedStore,
    /// Several clients of a server.
    Server,
    /// The queue from the writer to the checkpoint thread, alone.
    BlockQueue,
}

impl Scenario {
    /// The scenarios of successive seeds.
    const OF_SEEDS: [Scenario; 8] = [
        Scenario::OneStore,
        Scenario::Server,
        Scenario::Narrow,
        Scenario::OneStore,
        Scenario::Server,
        Scenario::Narrow,
        Scenario::SharedStore,
        Scenario::BlockQueue,
    ];

    /// Returns the scenario of a seed.
    pub fn of(seed: u64) -> Scenario {
        Scenario::OF_SEEDS[(seed % Scenario::OF_SEEDS.len() as u64) as usize]
    }

    fn run(self, seed: u64) -> Result<u64, Failure> {
        match self {
            Scenario::OneStore => one_store::run_random(seed),
            Scenario::Narrow => one_store::run_narrow(seed),
            Scenario::SharedStore => shared_store::run(seed),
            Scenario::Server => server::run(seed),
            Scenario::BlockQueue => block_queue::run(seed),
        }
    }
}

/// Runs one schedule per seed on this thread, until the first failure.
pub fn explore(seeds: impl Iterator<Item = u64> + Send + 'static) -> Result<Explored, Found> {
    let position = Arc::new(Position::default());
    let runner = Runner::new(Schedules::new(seeds, &position), config());
    let outcome = Arc::new(Mutex::new(Ok(Explored::default())));
    let (at, total) = (Arc::clone(&position), Arc::clone(&outcome));
    let scenario = move || {
        let seed = at.seed.load(Ordering::Relaxed);
        let ended = Scenario::of(seed).run(seed);
        at.stopped.store(ended.is_err(), Ordering::Relaxed);
        let mut total = total.lock().unwrap_or_else(PoisonError::into_inner);
        *total = match (&*total, ended) {
            (Ok(before), Ok(crashes)) => Ok(before.with_schedule(crashes)),
            (_, Err(failure)) => Err(failure),
            (Err(_), Ok(_)) => return,
        };
    };
    let ran = catch_unwind(AssertUnwindSafe(|| runner.run(scenario)));
    let mut outcome = outcome.lock().unwrap_or_else(PoisonError::into_inner);
    // After a failure, the threads that are left may wait for ever.
    let explored = std::mem::replace(&mut *outcome, Ok(Explored::default()));
    let explored = explored.and_then(|explored| match ran {
        Ok(_) => Ok(explored),
        Err(panic) => Err(Failure(message_of(panic.as_ref()))),
    });
    explored.map_err(|failure| Found {
        seed: position.seed.load(Ordering::Relaxed),
        failure,
    })
}

fn config() -> Config {
    let mut config = Config::new();
    config.stack_size = STACK_BYTES;
    config.max_steps = MaxSteps::FailAfter(MOST_DECISIONS);
    config.failure_persistence = FailurePersistence::None;
    config.silence_warnings = true;
    config
}

/// Returns what a panic said: that of a deadlock, of a thread that never ends, or of the store.
fn message_of(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().cloned();
    let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
    text.unwrap_or_else(|| "a panic".to_owned())
}
