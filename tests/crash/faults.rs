//! Every call of a session failing: once, permanently, for lack of space, half-way.

use dedupstore::store::StoreError;
use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::session::{Model, Session, check_recovery, options, window_bytes};
use super::simulated_medium::{Fault, FaultKind, SimulatedMedium, Surviving};
use super::{Failure, Outcome};

const KINDS: [FaultKind; 4] = [
    FaultKind::Once,
    FaultKind::Permanent,
    FaultKind::NoSpace,
    FaultKind::Short,
];

/// Runs the same session of random actions once per call and kind of failure. After the failure
/// the store must be poisoned. Opened again, it must hold what was acknowledged, also after
/// more actions and a power cut.
pub fn every_fault(filter: &str, blocks: u64, seed: u64, actions: u32) -> Outcome {
    let options = options(filter, blocks);
    let fresh = SimulatedMedium::with_store(&options).disk().clone();
    let fresh = fresh.with_windows(window_bytes(seed));
    let mut states = 0;
    for kind in KINDS {
        for at_call in 0.. {
            let here =
                |failure: Failure| failure.at(format!("{filter}, {kind:?} at call {at_call}"));
            let mut model = Model::new(&options);
            let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
            let mut session = Session::open(fresh.clone(), &mut model, 0)?;
            let before = session.medium.disk().calls();
            session.medium.disk().set_fault(Some(Fault {
                at_call: before + at_call,
                kind,
            }));
            let failed = (0..actions).any(|_| session.act(&mut model, &mut rng).is_err());
            if !failed {
                break;
            }
            check_poisoned(&mut session).map_err(here)?;
            let acknowledged = session.acknowledged;
            let disk = session.medium.disk().after_kill();
            drop(session);
            for surviving in [
                Surviving::First(0),
                Surviving::First(usize::MAX),
                Surviving::Random(at_call),
            ] {
                check_recovery(&disk.after_crash(surviving), &model, acknowledged).map_err(here)?;
                states += 1;
            }
            // The process starts again on the same machine, continues, and its power is cut.
            let mut session = Session::open(disk, &mut model, acknowledged).map_err(here)?;
            for _ in 0..6 {
                session
                    .act(&mut model, &mut rng)
                    .map_err(|error| here(Failure(format!("after opening again: {error}"))))?;
            }
            let disk = session.medium.disk().clone();
            for surviving in [Surviving::First(0), Surviving::Random(at_call)] {
                check_recovery(&disk.after_crash(surviving), &model, session.acknowledged)
                    .map_err(|failure| here(failure.at(format!("then {surviving:?}"))))?;
                states += 1;
            }
        }
    }
    Ok(states)
}

fn check_poisoned(session: &mut Session) -> Result<(), Failure> {
    let Some(store) = &mut session.store else {
        return Ok(());
    };
    match store.observe(b"one more") {
        Err(StoreError::Poisoned { .. }) => Ok(()),
        other => Err(Failure(format!(
            "after a failure, the store returned {other:?}"
        ))),
    }
}
