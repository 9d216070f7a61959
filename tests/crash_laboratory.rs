//! The crash laboratory, in the time that a test has. `cargo xtask crash` takes longer.

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

#[test]
fn walks() {
    let mut total = 0;
    for seed in 0..300 {
        total += states(walk::walk(seed));
    }
    println!("{total} states");
}

#[test]
fn cut_everywhere() {
    let mut total = 0;
    for (i, filter) in FILTERS.iter().enumerate() {
        total += states(cuts::every_cut(filter, 2, 10 + i as u64, 60));
    }
    println!("{total} states");
}

#[test]
fn fail_everywhere() {
    let mut total = 0;
    for (i, filter) in FILTERS.iter().enumerate() {
        total += states(faults::every_fault(filter, 2, 20 + i as u64, 40));
    }
    println!("{total} states");
}

#[test]
fn ghosts_stay_away() {
    for filter in FILTERS {
        states(ghosts::every_ghost(filter));
    }
}

#[test]
fn flip_some() {
    for filter in FILTERS {
        let fresh = AtRest::fresh(filter);
        let busy = AtRest::in_a_checkpoint(filter).expect("made");
        let between = AtRest::between_checkpoints(filter).expect("made");
        let another = AtRest::another(filter).expect("made");
        states(between.every_foreign_file(&another));
        for rest in [&fresh, &busy, &between] {
            println!("{} states", states(rest.every_bit(0, 17)));
            println!("{} states", states(rest.every_truncation(512)));
            println!("{} states", states(rest.every_misplacement(512)));
        }
    }
}

/// A laboratory that finds nothing proves nothing: every planted bug must be found, or explained.
#[test]
fn planted_bugs_are_found() {
    std::panic::set_hook(Box::new(|_| {}));
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
