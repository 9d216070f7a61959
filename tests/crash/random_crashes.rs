//! Random lives on one disk, each ended by a crash.

use dedupstore::store::{Store, StoreFile};
use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::life::{INLINE, Life, Model, options};
use super::medium::{Disk, Fault, FaultKind, Kept, SimulatedMedium};
use super::{FILTERS, Failure, Outcome};

const LIVES: u64 = 12;
/// More than a life can do before the call that fails.
const ACTIONS: u32 = 2000;
/// Other states that each crash could have left, looked at and left behind.
const ASIDE: u64 = 6;
/// A bit of a superblock, in the middle of what it says of the log.
const WEAK_BIT: u64 = 8 * 60;

/// One disk, from creation through a dozen lives. Returns how many states were opened.
pub fn walk(seed: u64) -> Outcome {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let filter = FILTERS[(seed % 3) as usize];
    let options = options(filter, 1 + seed % 3);
    let mut model = Model::new(&options);
    let mut disk = SimulatedMedium::with_store(&options).disk().clone();
    let mut acknowledged = 0;
    let mut states = 0;
    for life_number in 0..LIVES {
        let told =
            |failure: Failure| Failure(format!("walk {seed}, life {life_number}: {failure}"));
        let ended = live(disk, &mut model, acknowledged, &mut rng).map_err(told)?;
        states += 1;
        acknowledged = ended.acknowledged;
        for _ in 0..ASIDE {
            let kept = any_kept(&ended.disk, &mut rng);
            look(&ended.disk.after_crash(kept), &model, acknowledged)
                .map_err(|failure| told(Failure(format!("{kept:?}: {failure}"))))?;
            states += 1;
        }
        disk = match rng.next_u64() % 4 {
            // The process died, the machine did not.
            0 => ended.disk.after_kill(),
            _ => ended.disk.after_crash(any_kept(&ended.disk, &mut rng)),
        };
    }
    Ok(states)
}

struct Ended {
    disk: Disk,
    acknowledged: u64,
}

/// A life until its power is cut or something fails. A power cut may come while it is
/// still recovering.
fn live(
    mut disk: Disk,
    model: &mut Model,
    acknowledged: u64,
    rng: &mut Xoshiro256PlusPlus,
) -> Result<Ended, Failure> {
    if rng.next_u64() % 4 == 1 {
        disk = die_while_opening(disk, rng);
    }
    let mut weak = None;
    if rng.next_u64() % 6 == 1 && disk.has_two_whole_images() {
        // A superblock that cannot be read in this life, though it can in the next.
        let file = [StoreFile::Image0, StoreFile::Image1][(rng.next_u64() % 2) as usize];
        disk.flip(file, WEAK_BIT);
        weak = Some((file, disk.superblock(file).to_vec()));
    }
    let mut life = Life::begin(disk, model, acknowledged)?;
    let kind = match rng.next_u64() % 4 {
        0 => FaultKind::Once,
        _ => FaultKind::PowerCut,
    };
    let at_call = life.medium.disk().calls() + rng.next_u64() % 120;
    life.medium.disk().set_fault(Some(Fault { at_call, kind }));
    let lived = (0..ACTIONS).find_map(|_| life.act(model, rng).err());
    if lived.is_none() {
        return Err(Failure("a call failed, and nobody was told".to_owned()));
    }
    let mut disk = life.medium.disk().clone();
    if let Some((file, superblock)) = weak
        && disk.superblock(file) == superblock
    {
        disk.flip(file, WEAK_BIT);
    }
    Ok(Ended {
        disk,
        acknowledged: life.acknowledged,
    })
}

/// Opens, and is cut off in the middle of it; what that leaves is a disk like any other.
fn die_while_opening(disk: Disk, rng: &mut Xoshiro256PlusPlus) -> Disk {
    let medium = SimulatedMedium::holding(disk);
    medium.disk().set_fault(Some(Fault {
        at_call: rng.next_u64() % 30,
        kind: FaultKind::PowerCut,
    }));
    let opened = Store::open_on(medium.clone(), INLINE);
    drop(opened);
    let disk = medium.disk();
    disk.after_crash(any_kept(&disk, rng))
}

/// Opens a state and checks it, without going on from it.
pub fn look(disk: &Disk, model: &Model, acknowledged: u64) -> Result<(), Failure> {
    let medium = SimulatedMedium::holding(disk.clone());
    let store =
        Store::open_on(medium, INLINE).map_err(|error| Failure(format!("refused: {error}")))?;
    model.check(&store, acknowledged)?;
    if !disk.has_two_whole_images() {
        return Ok(());
    }
    // Either image must lead to the same state, should the other rot.
    for file in [StoreFile::Image0, StoreFile::Image1] {
        let mut rotten = disk.clone();
        rotten.flip(file, WEAK_BIT);
        let store = Store::open_on(SimulatedMedium::holding(rotten), INLINE)
            .map_err(|error| Failure(format!("without {file} refused: {error}")))?;
        model.check(&store, acknowledged)?;
    }
    Ok(())
}

/// One of the states that a crash could leave.
pub fn any_kept(disk: &Disk, rng: &mut Xoshiro256PlusPlus) -> Kept {
    let writes = disk.unsynced();
    let which = (rng.next_u64() % (writes as u64 + 1)) as usize;
    match rng.next_u64() % 5 {
        0 => Kept::First(which),
        1 => Kept::Last(which),
        2 => {
            let sectors = disk.sectors_of(which);
            Kept::Torn(which, rng.next_u64() % (sectors + 1))
        }
        _ => Kept::Coins(rng.next_u64()),
    }
}
