//! Planted bugs, and whether the laboratory finds them.

use dedupstore::store::mutant::{Mutant, plant};

use super::rot::AtRest;
use super::{FILTERS, Failure, Outcome, cuts, faults, ghosts, walk};

/// Bugs that do no harm, each with the reason.
pub const HARMLESS: &[(Mutant, &str)] = &[(
    Mutant::OldestImageChosen,
    "the older image and its log lead to the same state, which the walks check on purpose; only \
     opening takes longer",
)];

/// Which experiment found a bug, and what it said; none if it was not found.
pub fn hunt(mutant: Mutant, walks: u64) -> Option<String> {
    plant(Some(mutant));
    let found = experiments(walks).err();
    plant(None);
    found.map(|failure| failure.to_string())
}

fn experiments(walks: u64) -> Outcome {
    let mut states = 0;
    for filter in FILTERS {
        states += caught(|| ghosts::every_ghost(filter))?;
        states += caught(|| ghosts::every_torn_ghost(filter))?;
    }
    for seed in 0..walks {
        states += caught(|| walk::walk(seed))?;
    }
    for (seed, filter) in (30..).zip(FILTERS) {
        states += caught(|| cuts::every_cut(filter, 2, seed, 30))?;
        states += caught(|| faults::every_fault(filter, 2, seed, 30))?;
        let between = AtRest::between_checkpoints(filter)?;
        let another = AtRest::another(filter)?;
        states += caught(|| between.every_foreign_file(&another))?;
        for rest in [
            AtRest::fresh(filter),
            AtRest::in_a_checkpoint(filter)?,
            between,
        ] {
            states += caught(|| rest.every_bit(3, 41))?;
            states += caught(|| rest.every_misplacement(512))?;
        }
    }
    Ok(states)
}

/// A bug may also show as a panic: a verdict that differs, an index out of range.
fn caught(experiment: impl FnOnce() -> Outcome) -> Outcome {
    let quiet = std::panic::AssertUnwindSafe(experiment);
    std::panic::catch_unwind(quiet).unwrap_or_else(|_| Err(Failure("a panic".to_owned())))
}
