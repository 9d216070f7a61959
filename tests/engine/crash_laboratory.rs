//! The crash laboratory, in the time that a test has. `cargo xtask crash` takes longer.

use std::sync::atomic::{AtomicU64, Ordering};

use dedupstore::store::mutant::Mutant;
use dedupstore_tests::crash::hunt::{HARMLESS, hunt};
use dedupstore_tests::crash::rot::AtRest;
use dedupstore_tests::crash::{FILTERS, Outcome, cuts, faults, ghosts, walk};

#[track_caller]
fn states(outcome: Outcome) -> u64 {
    match outcome {
        Ok(states) => states,
        Err(failure) => panic!("{failure}"),
    }
}

/// Runs numbered experiments on every processor; returns how many states were opened.
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

/// What a crash can leave: at least 200,000 states, none of them silently wrong and none
/// with anything acknowledged lost.
#[test]
fn crashes() {
    let walked = all_of(0..2100, walk::walk);
    let cut = all_of(0..6, |number| {
        let filter = FILTERS[number as usize % 3];
        cuts::every_cut(filter, 1 + number % 3, 10 + number, 80)
    });
    println!("{walked} states of walks, {cut} of cuts");
    assert!(walked + cut >= 200_000, "{walked} + {cut}");
}

/// Every call of a life fails: once, for good, for want of space, half-way.
#[test]
fn failures() {
    let opened = all_of(0..6, |number| {
        let filter = FILTERS[number as usize % 3];
        faults::every_fault(filter, 1 + number % 3, 20 + number, 60)
    });
    println!("{opened} states");
}

#[test]
fn ghosts_stay_away() {
    for filter in FILTERS {
        states(ghosts::every_ghost(filter));
        assert!(states(ghosts::every_torn_ghost(filter)) > 100);
    }
}

/// Every bit of three stores of different filters, fresh and in the middle of a checkpoint;
/// and every fifth bit of the same with two whole images.
#[test]
fn rot() {
    for filter in FILTERS {
        let between = AtRest::between_checkpoints(filter).expect("made");
        let another = AtRest::another(filter).expect("made");
        states(between.every_foreign_file(&another));
        let busy = AtRest::in_a_checkpoint(filter).expect("made");
        for (rest, step) in [(&AtRest::fresh(filter), 1), (&busy, 1), (&between, 5)] {
            let flipped = all_of(0..8, |bit| rest.every_bit(bit * step, 8 * step));
            let cut = states(rest.every_truncation(64));
            let misplaced = states(rest.every_misplacement(512));
            println!("{filter}: {flipped} bits, {cut} truncations, {misplaced} misplacements");
        }
    }
}

/// A laboratory that finds nothing proves nothing: every planted bug must be found, or explained.
#[test]
fn planted_bugs_are_found() {
    // Panics are expected here, and only here: other tests share the process.
    let here = std::thread::current().id();
    let report = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if std::thread::current().id() != here {
            report(panic);
        }
    }));
    let mut missed = Vec::new();
    for mutant in Mutant::ALL {
        match hunt(mutant, 150) {
            Some(found) => println!("{mutant:?}: {found}"),
            None => missed.push(mutant),
        }
    }
    let _ = std::panic::take_hook();
    let harmless: Vec<Mutant> = HARMLESS.iter().map(|(mutant, _)| *mutant).collect();
    assert_eq!(missed, harmless, "not found, and not explained");
}
