//! The exploration of interleavings, limited to the time of a test. `cargo xtask interleavings` runs
//! it for longer.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use dedupstore_interleavings::exploration::explore;
use dedupstore_interleavings::planted::PLANTED;

/// Calls a function with each number below a limit, on all processors.
fn in_parallel(limit: usize, work: impl Fn(usize) + Sync) {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= limit {
                        return;
                    }
                    work(number);
                }
            });
        }
    });
}

/// At any moment of any interleaving the machine may crash. What is recovered is the state after a
/// prefix of the changes, with all that were acknowledged.
#[test]
fn no_interleaving_breaks_a_promise() {
    const CHUNK: u64 = 200;
    let (schedules, crashes) = (AtomicU64::new(0), AtomicU64::new(0));
    let failures = Mutex::new(Vec::new());
    in_parallel(20, |chunk| {
        let from = chunk as u64 * CHUNK;
        match explore(from..from + CHUNK) {
            Ok(explored) => {
                schedules.fetch_add(explored.schedules, Ordering::Relaxed);
                crashes.fetch_add(explored.crashes, Ordering::Relaxed);
            }
            Err(found) => failures.lock().expect("no panic").push(found),
        }
    });
    let failures = failures.into_inner().expect("no panic");
    for found in &failures {
        let (seed, failure) = (found.seed, &found.failure);
        println!("cargo xtask interleavings --replay {seed}: {failure}");
    }
    println!("{schedules:?} schedules, {crashes:?} states after a crash");
    assert!(failures.is_empty(), "{} broken promises", failures.len());
    assert!(crashes.into_inner() > 20_000);
}

/// The exploration must find every planted bug of threads, starting with the first seed: no schedule
/// is kept for a bug, so a change of the store or of the scenarios needs no new ones.
#[test]
fn planted_bugs_of_threads_are_found() {
    // Deadlocks and endless waits are panics of the model checker. Its own report of them is long.
    explore(0..1).expect("no failure");
    std::panic::set_hook(Box::new(|_| {}));
    let missed = Mutex::new(Vec::new());
    in_parallel(PLANTED.len(), |index| {
        let planted = &PLANTED[index];
        match planted.find() {
            Some((schedules, found)) => {
                let (seed, failure) = (found.seed, found.failure);
                println!("{planted:?}: schedule {schedules}, seed {seed}: {failure}");
            }
            None => missed.lock().expect("no panic").push(planted),
        }
    });
    let _ = std::panic::take_hook();
    let missed = missed.into_inner().expect("no panic");
    assert!(missed.is_empty(), "not found: {missed:?}");
}
