//! One short session, cut at every call, and every state that each cut can leave.

use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::Outcome;
use super::session::{Model, Session, check_recovery, options, window_bytes};
use super::simulated_medium::{Disk, Fault, FaultKind, SimulatedMedium, Surviving};

/// The number of random states per cut, in addition to the enumerated ones.
const RANDOM_STATES: u64 = 8;

/// Runs the same session of random `actions` once per call it makes, cut at that call.
pub fn every_cut(filter: &str, blocks: u64, seed: u64, actions: u32) -> Outcome {
    let options = options(filter, blocks);
    let fresh = SimulatedMedium::with_store(&options).disk().clone();
    let fresh = fresh.with_windows(window_bytes(seed));
    let mut states = 0;
    for at_call in 0.. {
        let mut model = Model::new(&options);
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut session = Session::open(fresh.clone(), &mut model, 0)?;
        let before = session.medium.disk().calls();
        session.medium.disk().set_fault(Some(Fault {
            at_call: before + at_call,
            kind: FaultKind::PowerCut,
        }));
        let cut = (0..actions).any(|_| session.act(&mut model, &mut rng).is_err());
        let disk = session.medium.disk().clone();
        for surviving in every_surviving(&disk, seed ^ at_call) {
            check_recovery(&disk.after_crash(surviving), &model, session.acknowledged).map_err(
                |failure| failure.at(format!("{filter}, cut at call {at_call}, {surviving:?}")),
            )?;
            states += 1;
        }
        if !cut {
            return Ok(states);
        }
    }
    Ok(states)
}

/// Lists every prefix and suffix of the writes, every torn write, and some random states.
fn every_surviving(disk: &Disk, seed: u64) -> Vec<Surviving> {
    let writes = disk.unsynced();
    let mut all: Vec<Surviving> = (0..=writes).map(Surviving::First).collect();
    all.extend((1..writes).map(Surviving::Last));
    for write in 0..writes {
        let sectors = disk.sectors_of(write);
        all.extend((1..sectors).map(|sector| Surviving::Torn(write, sector)));
    }
    all.extend((0..RANDOM_STATES).map(|n| Surviving::Random(seed * RANDOM_STATES + n)));
    all
}
