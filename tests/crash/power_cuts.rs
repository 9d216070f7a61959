//! One short life, cut at every call; and every state that each cut can leave.

use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::life::{Life, Model, options};
use super::medium::{Disk, Fault, FaultKind, Kept, SimulatedMedium};
use super::walk::look;
use super::{Failure, Outcome};

/// How many states are made by tossing coins, beside those that are listed.
const COINS: u64 = 8;

/// Lives the same `actions` random things once for every call they make, cut at that call.
pub fn every_cut(filter: &str, blocks: u64, seed: u64, actions: u32) -> Outcome {
    let options = options(filter, blocks);
    let fresh = SimulatedMedium::with_store(&options).disk().clone();
    let mut states = 0;
    for at_call in 0.. {
        let mut model = Model::new(&options);
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut life = Life::begin(fresh.clone(), &mut model, 0)?;
        let before = life.medium.disk().calls();
        life.medium.disk().set_fault(Some(Fault {
            at_call: before + at_call,
            kind: FaultKind::PowerCut,
        }));
        let cut = (0..actions).any(|_| life.act(&mut model, &mut rng).is_err());
        let disk = life.medium.disk().clone();
        for kept in every_kept(&disk, seed ^ at_call) {
            look(&disk.after_crash(kept), &model, life.acknowledged).map_err(|failure| {
                Failure(format!(
                    "{filter}, cut at call {at_call}, {kept:?}: {failure}"
                ))
            })?;
            states += 1;
        }
        if !cut {
            return Ok(states);
        }
    }
    Ok(states)
}

/// Every prefix and suffix of the writes, every torn write, and some mixtures.
fn every_kept(disk: &Disk, seed: u64) -> Vec<Kept> {
    let writes = disk.unsynced();
    let mut all: Vec<Kept> = (0..=writes).map(Kept::First).collect();
    all.extend((1..writes).map(Kept::Last));
    for write in 0..writes {
        let sectors = disk.sectors_of(write);
        all.extend((1..sectors).map(|sector| Kept::Torn(write, sector)));
    }
    all.extend((0..COINS).map(|coin| Kept::Coins(seed * COINS + coin)));
    all
}
