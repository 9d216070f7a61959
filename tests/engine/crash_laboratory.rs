//! The experiments of the crash laboratory, limited to the time of a test. `cargo xtask crash`
//! runs them for longer.

use std::sync::atomic::{AtomicU64, Ordering};

use dedupstore::store::mutant::Mutant;
use dedupstore_tests::crash::corruption::StoreAtRest;
use dedupstore_tests::crash::mutants::{HARMLESS, find_mutant};
use dedupstore_tests::crash::{FILTERS, Outcome, faults, power_cuts, random_crashes, stale_frames};

#[track_caller]
fn states(outcome: Outcome) -> u64 {
    match outcome {
        Ok(states) => states,
        Err(failure) => panic!("{failure}"),
    }
}

/// Runs numbered experiments on all processors. Returns how many states were opened.
#[track_caller]
fn all_of(numbers: std::ops::Range<u64>, experiment: impl Fn(u64) -> Outcome + Sync) -> u64 {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let next = AtomicU64::new(numbers.start);
    let outcomes: Vec<Outcome> = std::thread::scope(|scope| {
        let work = || {
            let mut total = 0;
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= numbers.end {
                    return Ok(total);
                }
                total += experiment(number)?;
            }
        };
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        workers
            .into_iter()
            .map(|worker| worker.join().expect("no panic"))
            .collect()
    });
    outcomes.into_iter().map(states).sum()
}

/// Opens at least 200,000 states that crashes leave. None may be wrong without an error, and
/// none may lack an acknowledged observation.
#[test]
fn crashes_lose_nothing_acknowledged() {
    let random = all_of(0..2100, random_crashes::run);
    let cut = all_of(0..8, |number| {
        let filter = FILTERS[number as usize % FILTERS.len()];
        power_cuts::every_cut(filter, 1 + number % 3, 10 + number, 80)
    });
    println!("{random} states after random crashes, {cut} after power cuts");
    assert!(random + cut >= 200_000, "{random} + {cut}");
}

/// Every call of a session fails: once, permanently, for lack of space, half-way.
#[test]
fn failed_calls_lose_nothing_acknowledged() {
    let opened = all_of(0..8, |number| {
        let filter = FILTERS[number as usize % FILTERS.len()];
        faults::every_fault(filter, 1 + number % 3, 20 + number, 60)
    });
    println!("{opened} states");
}

#[test]
fn stale_frames_are_not_replayed() {
    for filter in FILTERS {
        states(stale_frames::every_stale_frame(filter));
        assert!(states(stale_frames::every_torn_frame(filter)) > 100);
    }
}

/// Flips every bit of stores with different filters, empty and during a checkpoint, and every
/// fifth bit of stores with two valid images. Also truncates files and misplaces sectors.
#[test]
fn corruption_is_detected() {
    for filter in FILTERS {
        let between = StoreAtRest::between_checkpoints(filter).expect("created");
        let another = StoreAtRest::with_other_keys(filter).expect("created");
        states(between.every_foreign_file(&another));
        let during = StoreAtRest::during_checkpoint(filter).expect("created");
        for (rest, step) in [
            (&StoreAtRest::empty(filter), 1),
            (&during, 1),
            (&between, 5),
        ] {
            let flipped = all_of(0..8, |bit| rest.every_bit(bit * step, 8 * step));
            let cut = states(rest.every_truncation(64));
            let misplaced = states(rest.every_misplacement(512));
            println!("{filter}: {flipped} bits, {cut} truncations, {misplaced} misplacements");
        }
    }
}

/// The experiments must find every planted bug, except those explained as harmless.
#[test]
fn planted_bugs_are_found() {
    // Planted bugs may panic. Hide only the panics of this thread: other tests share the process.
    let here = std::thread::current().id();
    let report = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if std::thread::current().id() != here {
            report(panic);
        }
    }));
    let mut missed = Vec::new();
    for mutant in Mutant::ALL {
        match find_mutant(mutant, 150) {
            Some(found) => println!("{mutant:?}: {found}"),
            None => missed.push(mutant),
        }
    }
    let _ = std::panic::take_hook();
    let harmless: Vec<Mutant> = HARMLESS.iter().map(|(mutant, _)| *mutant).collect();
    assert_eq!(missed, harmless, "not found and not explained");
}
