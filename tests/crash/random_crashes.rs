//! Random sessions on one disk, each ended by a crash.

use dedupstore::store::StoreFile;
use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::session::{
    INLINE, Model, SUPERBLOCK_BIT, Session, check_recovery, options, window_bytes,
};
use super::simulated_medium::{Disk, Fault, FaultKind, SimulatedMedium, Surviving};
use super::{FILTERS, Failure, Outcome};

const SESSIONS: u64 = 12;
/// More actions than a session can do before the call that fails.
const ACTIONS: u32 = 2000;
/// The number of other states that each crash could have left, which are checked too.
const OTHER_STATES: u64 = 6;

/// Runs a dozen sessions on one disk. Returns how many states were opened.
pub fn run(seed: u64) -> Outcome {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let filter = FILTERS[(seed % FILTERS.len() as u64) as usize];
    let options = options(filter, 1 + seed % 3);
    let mut model = Model::new(&options);
    let disk = SimulatedMedium::with_store(&options).disk().clone();
    let mut disk = disk.with_windows(window_bytes(seed));
    let mut acknowledged = 0;
    let mut states = 0;
    for session in 0..SESSIONS {
        let here = |failure: Failure| failure.at(format!("seed {seed}, session {session}"));
        let ended = run_session(disk, &mut model, acknowledged, &mut rng).map_err(here)?;
        states += 1;
        acknowledged = ended.acknowledged;
        for _ in 0..OTHER_STATES {
            let surviving = random_surviving(&ended.disk, &mut rng);
            check_recovery(&ended.disk.after_crash(surviving), &model, acknowledged)
                .map_err(|failure| here(failure.at(format!("{surviving:?}"))))?;
            states += 1;
        }
        check_recovery(&ended.disk.after_kill(), &model, ended.returned)
            .map_err(|failure| here(failure.at("the process was killed")))?;
        states += 1;
        disk = match rng.next_u64() % 4 {
            // The process was killed; the machine keeps running.
            0 => ended.disk.after_kill(),
            _ => ended
                .disk
                .after_crash(random_surviving(&ended.disk, &mut rng)),
        };
    }
    Ok(states)
}

struct Ended {
    disk: Disk,
    acknowledged: u64,
    returned: u64,
}

/// Runs a session until its power is cut or a call fails. The power may also be cut while the
/// store is being opened.
fn run_session(
    mut disk: Disk,
    model: &mut Model,
    acknowledged: u64,
    rng: &mut Xoshiro256PlusPlus,
) -> Result<Ended, Failure> {
    if rng.next_u64() % 4 == 1 {
        disk = crash_while_opening(disk, rng);
    }
    let mut unreadable = None;
    if rng.next_u64() % 6 == 1 && disk.has_two_valid_superblocks() {
        // A superblock that is unreadable in this session and readable in the next.
        let file = [StoreFile::Image0, StoreFile::Image1][(rng.next_u64() % 2) as usize];
        disk.flip(file, SUPERBLOCK_BIT);
        unreadable = Some((file, disk.superblock(file).to_vec()));
    }
    let mut session = Session::open(disk, model, acknowledged)?;
    let kind = match rng.next_u64() % 4 {
        0 => FaultKind::Once,
        _ => FaultKind::PowerCut,
    };
    let at_call = session.medium.disk().calls() + rng.next_u64() % 120;
    session
        .medium
        .disk()
        .set_fault(Some(Fault { at_call, kind }));
    let error = (0..ACTIONS).find_map(|_| session.act(model, rng).err());
    if error.is_none() {
        return Err(Failure(
            "a call failed, and the store did not report it".to_owned(),
        ));
    }
    let mut disk = session.medium.disk().clone();
    if let Some((file, superblock)) = unreadable
        && disk.superblock(file) == superblock
    {
        disk.flip(file, SUPERBLOCK_BIT);
    }
    Ok(Ended {
        disk,
        acknowledged: session.acknowledged,
        returned: session.returned,
    })
}

/// Cuts the power while the store is being opened. Returns the disk after that.
fn crash_while_opening(disk: Disk, rng: &mut Xoshiro256PlusPlus) -> Disk {
    let medium = SimulatedMedium::holding(disk);
    medium.disk().set_fault(Some(Fault {
        at_call: rng.next_u64() % 30,
        kind: FaultKind::PowerCut,
    }));
    let opened = INLINE.open_on(medium.clone());
    drop(opened);
    let disk = medium.disk();
    disk.after_crash(random_surviving(&disk, rng))
}

/// Chooses one of the states that a crash could leave.
pub fn random_surviving(disk: &Disk, rng: &mut Xoshiro256PlusPlus) -> Surviving {
    let writes = disk.unsynced();
    let which = (rng.next_u64() % (writes as u64 + 1)) as usize;
    match rng.next_u64() % 5 {
        0 => Surviving::First(which),
        1 => Surviving::Last(which),
        2 => {
            let sectors = disk.sectors_of(which);
            Surviving::Torn(which, rng.next_u64() % (sectors + 1))
        }
        _ => Surviving::Random(rng.next_u64()),
    }
}
