//! What a writer does with its store, and which call of the disk fails.

use std::sync::atomic::AtomicI64;
use std::time::Duration;

use dedupstore::store::Durability;
use dedupstore_tests::crash::FILTERS;
use dedupstore_tests::crash::simulated_medium::FaultKind;
use rand::Rng;
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::medium::{Calls, FailingCall};

/// One thing that a program may do with a store.
#[derive(Clone, Copy, Debug)]
pub enum Action {
    /// Observes so many keys. With `pending`, they are recorded after the verdicts are known.
    Observe { pending: bool, count: usize },
    /// Takes keys out. If the filter cannot, observes keys one by one.
    Forget,
    /// Syncs.
    Sync,
    /// Waits until another thread has synced everything.
    WaitDurable,
    /// Starts a checkpoint.
    BeginCheckpoint,
    /// Takes a checkpoint and waits for it.
    Checkpoint,
    /// Lets another thread sync.
    StartSyncing,
    /// Lets another thread read.
    StartReading,
}

/// Which call of the disk fails.
pub enum Failing {
    /// None.
    Nothing,
    /// One at random.
    Any { at_call: u64, kind: FaultKind },
    /// One of a kind.
    OfKind(FailingCall),
}

/// A session of a writer.
pub struct Plan {
    pub filter: &'static str,
    pub blocks: u64,
    /// The length of a part of the log that is memory; 0 for none.
    pub window_bytes: u64,
    pub failing: Failing,
    /// Crashes come before this many moments at which the disk can change.
    pub latest_crash: u64,
    pub durability: Durability,
    pub verify_first: bool,
    pub actions: Vec<Action>,
    /// Whether the store is closed, not dropped.
    pub closes: bool,
}

const SIZES: [usize; 4] = [1, 3, 12, 40];
const EVERY_SECOND: Durability = Durability::Interval(Duration::from_secs(1));

impl Plan {
    /// Returns a session of anything.
    pub fn random(rng: &mut Xoshiro256PlusPlus) -> Self {
        let failing = match pick(rng, 6) {
            0 => Failing::Any {
                at_call: pick(rng, 150),
                kind: one_of(
                    rng,
                    &[FaultKind::Once, FaultKind::Permanent, FaultKind::Short],
                ),
            },
            1 => {
                let calls = one_of(rng, &[Calls::WriteOfLog, Calls::SyncOfLog]);
                Failing::OfKind(failing_call(calls, pick(rng, 8)))
            }
            _ => Failing::Nothing,
        };
        let durability = match pick(rng, 8) {
            0 => Durability::Every,
            1 | 2 => Durability::None,
            _ => EVERY_SECOND,
        };
        let count = 4 + pick(rng, 10);
        Plan {
            filter: one_of(rng, &FILTERS),
            blocks: 1 + pick(rng, 5),
            window_bytes: one_of(rng, &[0, 320, 2048]),
            failing,
            latest_crash: one_of(rng, &[20, 60, 200, 600]),
            durability,
            verify_first: pick(rng, 3) > 0,
            actions: (0..count).map(|_| any_action(rng)).collect(),
            closes: pick(rng, 3) > 0,
        }
    }

    /// Returns a short session in which threads meet at one place, which random sessions reach too
    /// rarely.
    pub fn narrow(rng: &mut Xoshiro256PlusPlus) -> Self {
        let mut plan = Plan {
            filter: one_of(rng, &FILTERS),
            blocks: 1,
            window_bytes: one_of(rng, &[0, 0, 320]),
            failing: Failing::Nothing,
            latest_crash: 60,
            durability: one_of(rng, &[Durability::None, EVERY_SECOND]),
            verify_first: true,
            actions: Vec::new(),
            closes: pick(rng, 2) == 0,
        };
        let actions = &mut plan.actions;
        match pick(rng, 5) {
            // The log thread fails to write a frame while another thread begins to sync.
            0 => {
                plan.failing = Failing::OfKind(failing_call(Calls::WriteOfLog, 1 + pick(rng, 2)));
                actions.extend([queued(rng), Action::StartSyncing]);
                actions.extend([queued(rng), queued(rng), queued(rng), queued(rng)]);
            }
            // The writer goes to the other log while another thread begins to sync.
            1 => {
                actions.extend([small(rng), Action::BeginCheckpoint]);
                (0..4).for_each(|_| actions.extend([Action::StartSyncing, small(rng), small(rng)]));
            }
            // The checkpoint thread fails to write a block while the writer waits to queue another.
            2 => {
                plan.filter = one_of(rng, &["bloom:k=3", "stable:k=2,p=3,max=3", "rlbsbf:k=2"]);
                plan.blocks = 3 + pick(rng, 3);
                plan.failing = Failing::OfKind(failing_call(Calls::WriteOfImage, pick(rng, 6)));
                actions.extend([small(rng), Action::BeginCheckpoint]);
                (0..6).for_each(|_| actions.push(queued(rng)));
            }
            // A sync by the sync thread fails while the store is closed.
            3 => {
                plan.durability = EVERY_SECOND;
                plan.closes = true;
                plan.failing = Failing::OfKind(failing_call(Calls::SyncOfLogBySyncThread, 0));
                actions.push(small(rng));
            }
            // The sync of a checkpoint fails while another thread syncs the same log.
            _ => {
                let call = failing_call(Calls::SyncOfLogByCheckpoint, pick(rng, 2));
                plan.failing = Failing::OfKind(call);
                actions.extend([small(rng), Action::BeginCheckpoint]);
                (0..4).for_each(|_| actions.extend([small(rng), Action::StartSyncing]));
            }
        }
        plan
    }
}

/// Returns an observation of so many keys that the log thread writes the frame.
fn queued(rng: &mut Xoshiro256PlusPlus) -> Action {
    Action::Observe {
        pending: false,
        count: one_of(rng, &[20, 30, 40]),
    }
}

/// Returns an observation of a few keys, whose frame the writer writes.
fn small(rng: &mut Xoshiro256PlusPlus) -> Action {
    Action::Observe {
        pending: pick(rng, 2) == 0,
        count: one_of(rng, &[1, 2, 3]),
    }
}

fn failing_call(calls: Calls, left: u64) -> FailingCall {
    FailingCall {
        calls,
        left: AtomicI64::new(left as i64),
    }
}

fn any_action(rng: &mut Xoshiro256PlusPlus) -> Action {
    match pick(rng, 24) {
        at @ 0..10 => Action::Observe {
            pending: at < 5,
            count: one_of(rng, &SIZES),
        },
        10..12 => Action::Forget,
        12 | 13 => Action::Sync,
        14 => Action::WaitDurable,
        15..18 => Action::BeginCheckpoint,
        18 => Action::Checkpoint,
        19..21 => Action::StartSyncing,
        _ => Action::StartReading,
    }
}

fn pick(rng: &mut Xoshiro256PlusPlus, below: u64) -> u64 {
    rng.next_u64() % below
}

fn one_of<T: Copy>(rng: &mut Xoshiro256PlusPlus, choices: &[T]) -> T {
    choices[pick(rng, choices.len() as u64) as usize]
}
