//! Schedules: a seed decides which thread continues.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use shuttle::scheduler::{Schedule, Scheduler, Task, TaskId};

/// The longest time between two changes of a priority, in decisions: one of these per schedule.
const LONGEST_RUNS: [u64; 4] = [10, 30, 100, 400];
/// The delayed threads are among the first of a run, so many.
const DELAYED_TASKS: u64 = 8;
/// The logarithm of the latest decision of a thread at which it is delayed.
const LOG_OF_LATEST_DELAY: u64 = 8;

/// How far the schedules have come.
#[derive(Debug, Default)]
pub struct Position {
    /// The seed of the schedule that runs now.
    pub seed: AtomicU64,
    /// No other schedule starts.
    pub stopped: AtomicBool,
}

/// A schedule per seed.
pub struct Schedules {
    seeds: Box<dyn Iterator<Item = u64> + Send>,
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
    /// is probabilistic concurrency testing, by Burckhardt and others (ASPLOS 2010). In other schedules
    /// only a few threads are delayed, each once, at one of its first decisions: a thread that makes
    /// few decisions is delayed at each of them as often as one that makes many.
    Priorities(Priorities),
}

struct Priorities {
    /// A smaller number is a higher priority.
    of_task: HashMap<TaskId, u64>,
    lowest: u64,
    /// The longest time between two changes; None if there are none but the delays.
    longest_run: Option<u64>,
    until_change: u64,
    delays: Vec<Delay>,
}

/// A thread gets the lowest priority after so many of its decisions.
struct Delay {
    task: usize,
    left: u64,
}

impl Schedules {
    /// Returns the schedules of these seeds.
    pub fn new(
        seeds: impl Iterator<Item = u64> + Send + 'static,
        position: &Arc<Position>,
    ) -> Self {
        Schedules {
            seeds: Box::new(seeds),
            position: Arc::clone(position),
            rng: Xoshiro256PlusPlus::seed_from_u64(0),
            strategy: Strategy::Uniform,
        }
    }
}

impl Scheduler for Schedules {
    fn new_execution(&mut self) -> Option<Schedule> {
        if self.position.stopped.load(Ordering::Relaxed) {
            return None;
        }
        let seed = self.seeds.next()?;
        self.position.seed.store(seed, Ordering::Relaxed);
        // Not the numbers that the scenario of this seed draws.
        self.rng = Xoshiro256PlusPlus::seed_from_u64(!seed);
        let random = self.rng.next_u64();
        self.strategy = match random % 6 {
            0 => Strategy::Uniform,
            1 => Strategy::Persistent(100 + (self.rng.next_u64() % 150) as u8),
            2 | 3 => {
                let longest = LONGEST_RUNS[(random >> 8) as usize % LONGEST_RUNS.len()];
                Strategy::Priorities(Priorities::changing(longest))
            }
            _ => Strategy::Priorities(Priorities::delaying(&mut self.rng)),
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
    fn changing(longest_run: u64) -> Self {
        Priorities {
            of_task: HashMap::new(),
            lowest: 0,
            longest_run: Some(longest_run),
            until_change: 0,
            delays: Vec::new(),
        }
    }

    fn delaying(rng: &mut Xoshiro256PlusPlus) -> Self {
        let delays = (0..1 + rng.next_u64() % 3).map(|_| {
            let magnitude = 1 << (rng.next_u64() % LOG_OF_LATEST_DELAY);
            Delay {
                task: (rng.next_u64() % DELAYED_TASKS) as usize,
                left: magnitude + rng.next_u64() % magnitude,
            }
        });
        Priorities {
            longest_run: None,
            delays: delays.collect(),
            ..Priorities::changing(0)
        }
    }

    /// Returns whether it is time to lower the priority of the running thread.
    fn changes(&mut self, rng: &mut Xoshiro256PlusPlus, current: TaskId) -> bool {
        let mut changes = false;
        for delay in &mut self.delays {
            if delay.task == usize::from(current) && delay.left > 0 {
                delay.left -= 1;
                changes |= delay.left == 0;
            }
        }
        if let Some(longest) = self.longest_run {
            if self.until_change == 0 {
                self.until_change = 1 + rng.next_u64() % longest;
                changes = true;
            }
            self.until_change -= 1;
        }
        changes
    }

    fn choose(
        &mut self,
        rng: &mut Xoshiro256PlusPlus,
        tasks: impl Iterator<Item = TaskId>,
        current: Option<TaskId>,
        is_yielding: bool,
    ) -> Option<TaskId> {
        if let Some(current) = current
            && (self.changes(rng, current) || is_yielding)
        {
            // Lower than any random one.
            self.lowest += 1;
            self.of_task.insert(current, (1 << 32) + self.lowest);
        }
        tasks.min_by_key(|task| {
            *self
                .of_task
                .entry(*task)
                .or_insert_with(|| rng.next_u64() >> 33)
        })
    }
}
