//! Schedules: a seed decides which thread continues.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use shuttle::scheduler::{Schedule, Scheduler, Task, TaskId};

/// The longest time between two changes of a priority, in decisions.
const LONGEST_RUN: u64 = 400;

/// How far the schedules have come.
#[derive(Debug, Default)]
pub struct Position {
    /// The seed of the schedule that runs now.
    pub seed: AtomicU64,
    /// No other schedule starts.
    pub stopped: AtomicBool,
}

/// A schedule for each seed of a range.
pub struct Schedules {
    next_seed: u64,
    end_seed: u64,
    position: Arc<Position>,
    rng: Xoshiro256PlusPlus,
    strategy: Strategy,
}

/// How a schedule chooses among the threads that can continue.
enum Strategy {
    /// Each with the same probability.
    Uniform,
    /// The same again, with this probability out of 256. So one thread goes far while others wait.
    Persistent(u8),
    /// The one with the highest priority. Priorities are random, and at random times the running
    /// thread gets the lowest one: so one thread is delayed at one place until all others wait. This
    /// is probabilistic concurrency testing, by Burckhardt and others (ASPLOS 2010).
    Priorities(Priorities),
}

#[derive(Default)]
struct Priorities {
    /// A smaller number is a higher priority.
    of_task: HashMap<TaskId, u64>,
    lowest: u64,
    until_change: u64,
}

impl Schedules {
    /// Returns the schedules of a range of seeds.
    pub fn new(seeds: std::ops::Range<u64>, position: &Arc<Position>) -> Self {
        Schedules {
            next_seed: seeds.start,
            end_seed: seeds.end,
            position: Arc::clone(position),
            rng: Xoshiro256PlusPlus::seed_from_u64(0),
            strategy: Strategy::Uniform,
        }
    }
}

impl Scheduler for Schedules {
    fn new_execution(&mut self) -> Option<Schedule> {
        let seed = self.next_seed;
        if seed >= self.end_seed || self.position.stopped.load(Ordering::Relaxed) {
            return None;
        }
        self.next_seed += 1;
        self.position.seed.store(seed, Ordering::Relaxed);
        // Not the numbers that the scenario of this seed draws.
        self.rng = Xoshiro256PlusPlus::seed_from_u64(!seed);
        self.strategy = match self.rng.next_u64() % 4 {
            0 => Strategy::Uniform,
            1 => Strategy::Persistent(100 + (self.rng.next_u64() % 150) as u8),
            _ => Strategy::Priorities(Priorities::default()),
        };
        Some(Schedule::new(seed))
    }

    fn next_task(
        &mut self,
        runnable: &[&Task],
        current: Option<TaskId>,
        is_yielding: bool,
    ) -> Option<TaskId> {
        let rng = &mut self.rng;
        let ids = || runnable.iter().map(|task| task.id());
        // A thread that yields waits for another one.
        let others = ids().filter(|id| !is_yielding || Some(*id) != current);
        let others = match others.count() {
            0 => return ids().next(),
            count => count as u64,
        };
        let any = |rng: &mut Xoshiro256PlusPlus| {
            let mut candidates = ids().filter(|id| !is_yielding || Some(*id) != current);
            candidates.nth((rng.next_u64() % others) as usize)
        };
        match &mut self.strategy {
            Strategy::Uniform => any(rng),
            Strategy::Persistent(share) => {
                let again = current.filter(|id| !is_yielding && ids().any(|it| it == *id));
                match again.filter(|_| rng.next_u64() as u8 <= *share) {
                    Some(current) => Some(current),
                    None => any(rng),
                }
            }
            Strategy::Priorities(priorities) => priorities.choose(rng, ids(), current, is_yielding),
        }
    }

    fn next_u64(&mut self) -> u64 {
        self.rng.next_u64()
    }
}

impl Priorities {
    fn choose(
        &mut self,
        rng: &mut Xoshiro256PlusPlus,
        tasks: impl Iterator<Item = TaskId>,
        current: Option<TaskId>,
        is_yielding: bool,
    ) -> Option<TaskId> {
        if self.until_change == 0 || is_yielding {
            if let Some(current) = current {
                // Lower than any random one.
                self.lowest += 1;
                self.of_task.insert(current, (1 << 32) + self.lowest);
            }
            if !is_yielding {
                self.until_change = 1 + rng.next_u64() % LONGEST_RUN;
            }
        }
        self.until_change = self.until_change.saturating_sub(1);
        tasks.min_by_key(|task| {
            *self
                .of_task
                .entry(*task)
                .or_insert_with(|| rng.next_u64() >> 33)
        })
    }
}
