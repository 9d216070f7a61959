//! Runs the scenarios of many seeds.

use std::any::Any;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};

use dedupstore::store::mutant::{Mutant, plant};
use dedupstore_tests::crash::Failure;
use shuttle::{Config, FailurePersistence, MaxSteps, Runner};

use crate::schedule::{Position, Schedules};
use crate::{one_store, shared_store};

/// More decisions than any run takes that ends.
const MOST_DECISIONS: usize = 200_000;
/// Recovery has buffers on the stack.
const STACK_BYTES: usize = 1 << 18;

/// What was explored.
#[derive(Clone, Copy, Debug, Default)]
pub struct Explored {
    /// The number of schedules.
    pub schedules: u64,
    /// The number of states after a crash that were opened.
    pub crashes: u64,
}

/// A broken promise, and the seed that repeats it.
#[derive(Debug)]
pub struct Found {
    /// The seed.
    pub seed: u64,
    /// What was wrong.
    pub failure: Failure,
}

/// Runs one schedule per seed on this thread, until the first failure.
pub fn explore(seeds: Range<u64>) -> Result<Explored, Found> {
    let position = Arc::new(Position::default());
    let runner = Runner::new(Schedules::new(seeds, &position), config());
    let outcome: Arc<Mutex<Result<u64, Failure>>> = Arc::new(Mutex::new(Ok(0)));
    let (at, total) = (Arc::clone(&position), Arc::clone(&outcome));
    let scenario = move || {
        let ended = run(at.seed.load(Ordering::Relaxed));
        at.stopped.store(ended.is_err(), Ordering::Relaxed);
        let mut total = total.lock().unwrap_or_else(PoisonError::into_inner);
        *total = match (&*total, ended) {
            (Ok(before), Ok(states)) => Ok(before + states),
            (_, failed) => failed,
        };
    };
    let ran = catch_unwind(AssertUnwindSafe(|| runner.run(scenario)));
    let ran = ran.map_err(|panic| Failure(message_of(panic.as_ref())));
    let outcome = std::mem::replace(
        &mut *outcome.lock().unwrap_or_else(PoisonError::into_inner),
        Ok(0),
    );
    let explored = ran.and_then(|schedules| {
        outcome.map(|crashes| Explored {
            schedules: schedules as u64,
            crashes,
        })
    });
    explored.map_err(|failure| Found {
        seed: position.seed.load(Ordering::Relaxed),
        failure,
    })
}

/// Runs the scenario of a seed, one of which in four has a shared store.
fn run(seed: u64) -> Result<u64, Failure> {
    match seed % 4 {
        3 => shared_store::run(seed),
        _ => one_store::run(seed),
    }
}

/// Returns the failure by which one of these seeds finds a mutant, or None if none does.
pub fn find_mutant(mutant: Mutant, seeds: Range<u64>) -> Option<Found> {
    plant(Some(mutant));
    let explored = explore(seeds);
    plant(None);
    explored.err()
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
