//! Every call of a life failing: once, for good, for want of space, half-way.

use dedupstore::store::StoreError;
use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::life::{Life, Model, options};
use super::medium::{Fault, FaultKind, Kept, SimulatedMedium};
use super::walk::look;
use super::{Failure, Outcome};

const KINDS: [FaultKind; 4] = [
    FaultKind::Once,
    FaultKind::ForGood,
    FaultKind::NoSpace,
    FaultKind::Short,
];

/// Lives the same random things once for every call and kind of failure. After the failure
/// the store must refuse to go on; opened again it must hold what was acknowledged, and
/// still after it has gone on and the power has been cut.
pub fn every_fault(filter: &str, blocks: u64, seed: u64, actions: u32) -> Outcome {
    let options = options(filter, blocks);
    let fresh = SimulatedMedium::with_store(&options).disk().clone();
    let mut states = 0;
    for kind in KINDS {
        for at_call in 0.. {
            let told = |failure: Failure| {
                Failure(format!("{filter}, {kind:?} at call {at_call}: {failure}"))
            };
            let mut model = Model::new(&options);
            let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
            let mut life = Life::begin(fresh.clone(), &mut model, 0)?;
            let before = life.medium.disk().calls();
            life.medium.disk().set_fault(Some(Fault {
                at_call: before + at_call,
                kind,
            }));
            let failed = (0..actions).any(|_| life.act(&mut model, &mut rng).is_err());
            if !failed {
                break;
            }
            refuses_to_go_on(&mut life).map_err(told)?;
            let acknowledged = life.acknowledged;
            let disk = life.medium.disk().after_kill();
            drop(life);
            for kept in [
                Kept::First(0),
                Kept::First(usize::MAX),
                Kept::Coins(at_call),
            ] {
                look(&disk.after_crash(kept), &model, acknowledged).map_err(told)?;
                states += 1;
            }
            // The process starts again on the same machine, goes on, and loses its power.
            let mut life = Life::begin(disk, &mut model, acknowledged).map_err(told)?;
            for _ in 0..6 {
                life.act(&mut model, &mut rng)
                    .map_err(|error| told(Failure(format!("after opening again: {error}"))))?;
            }
            let disk = life.medium.disk().clone();
            for kept in [Kept::First(0), Kept::Coins(at_call)] {
                look(&disk.after_crash(kept), &model, life.acknowledged)
                    .map_err(|failure| told(Failure(format!("then {kept:?}: {failure}"))))?;
                states += 1;
            }
        }
    }
    Ok(states)
}

fn refuses_to_go_on(life: &mut Life) -> Result<(), Failure> {
    let Some(store) = &mut life.store else {
        return Ok(());
    };
    match store.observe(b"one more") {
        Err(StoreError::Poisoned { .. }) => Ok(()),
        other => Err(Failure(format!("after a failure it said {other:?}"))),
    }
}
