//! Planted bugs, and whether the experiments find them.

use dedupstore::store::mutant::{Mutant, plant};

use super::corruption::StoreAtRest;
use super::{FILTERS, Failure, Outcome, faults, power_cuts, random_crashes, stale_frames};

/// Mutants that do no harm, each with the reason.
pub const HARMLESS: &[(Mutant, &str)] = &[(
    Mutant::OldestImageChosen,
    "the older image and its log lead to the same state, which the random sessions check on \
     purpose; only opening takes longer",
)];

/// Returns the failure by which an experiment found a mutant, or None if none did.
pub fn find_mutant(mutant: Mutant, random_seeds: u64) -> Option<String> {
    plant(Some(mutant));
    let found = experiments(random_seeds).err();
    plant(None);
    found.map(|failure| failure.to_string())
}

fn experiments(random_seeds: u64) -> Outcome {
    let mut states = 0;
    for filter in FILTERS {
        states += caught(|| stale_frames::every_stale_frame(filter))?;
        states += caught(|| stale_frames::every_torn_frame(filter))?;
    }
    for seed in 0..random_seeds {
        states += caught(|| random_crashes::run(seed))?;
    }
    for (seed, filter) in (30..).zip(FILTERS) {
        states += caught(|| power_cuts::every_cut(filter, 2, seed, 30))?;
        states += caught(|| faults::every_fault(filter, 2, seed, 30))?;
        let between = StoreAtRest::between_checkpoints(filter)?;
        let another = StoreAtRest::with_other_keys(filter)?;
        states += caught(|| between.every_foreign_file(&another))?;
        for rest in [
            StoreAtRest::empty(filter),
            StoreAtRest::during_checkpoint(filter)?,
            between,
        ] {
            states += caught(|| rest.every_bit(3, 41))?;
            states += caught(|| rest.every_misplacement(512))?;
        }
    }
    Ok(states)
}

/// Turns a panic into a failure: a mutant may also cause a wrong verdict or an index out of range.
fn caught(experiment: impl FnOnce() -> Outcome) -> Outcome {
    let experiment = std::panic::AssertUnwindSafe(experiment);
    std::panic::catch_unwind(experiment).unwrap_or_else(|_| Err(Failure("a panic".to_owned())))
}
