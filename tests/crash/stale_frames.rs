//! Frames that a crash undid and that must not come back when others take their place.
//!
//! Random walks meet these only by rare coincidence: the same place, the same number, the
//! same size. Here the coincidence is arranged.

use dedupstore::{Fingerprint, Observation, Verdict};

use super::life::{Life, Model, options};
use super::medium::{Disk, Kept, SimulatedMedium};
use super::walk::look;
use super::{Failure, Outcome};

/// As many observations as make frames of one size.
const FRAME: u64 = 8;

/// What follows the crash, in the place of what was undone.
#[derive(Clone, Copy, Debug)]
pub enum Then {
    /// The same observations, fed again.
    TheSame,
    /// Others, in frames of the same size.
    Others,
    /// None, but a checkpoint.
    ACheckpoint,
}

/// Every way in which a crash can keep the later of two frames and lose the earlier, with
/// or without a switch of logs between them, and every sequel.
pub fn every_ghost(filter: &str) -> Outcome {
    let mut states = 0;
    for switch_between in [false, true] {
        for then in [Then::TheSame, Then::Others, Then::ACheckpoint] {
            for lost in 0..6 {
                ghost(filter, switch_between, then, lost).map_err(|failure| {
                    Failure(format!(
                        "{filter}, {switch_between}, {then:?}, {lost}: {failure}"
                    ))
                })?;
                states += 1;
            }
        }
    }
    Ok(states)
}

/// Two frames across a border of sectors, of which a crash keeps any part; then the first
/// again, of which a second crash keeps any part.
pub fn every_torn_ghost(filter: &str) -> Outcome {
    const PARTS: u64 = 24;
    let options = options(filter, 1);
    let mut model = Model::new(&options);
    let fresh: Disk = SimulatedMedium::with_store(&options).disk().clone();
    let mut life = Life::begin(fresh, &mut model, 0)?;
    for number in 10..14 {
        feed(&mut life, &mut model, number)?;
    }
    acted(&mut life, |store| store.sync())?;
    let synced = model.len();
    feed(&mut life, &mut model, 2)?;
    feed(&mut life, &mut model, 3)?;
    let crashed = life.medium.disk().clone();
    drop(life);
    let mut states = 0;
    for first in 0..PARTS {
        let disk = crashed.after_crash(Kept::Coins(first));
        let mut model = Model::new(&options);
        for number in (10..14).chain([2, 3]) {
            (0..FRAME).for_each(|i| {
                model.observe(observation(number, i));
            });
        }
        let mut life = Life::begin(disk, &mut model, synced)?;
        if model.len() > synced {
            continue;
        }
        feed(&mut life, &mut model, 2)?;
        for second in 0..PARTS {
            let disk = life.medium.disk().after_crash(Kept::Coins(second));
            look(&disk, &model, synced).map_err(|failure| {
                Failure(format!("{filter}, torn {first}, then {second}: {failure}"))
            })?;
            states += 1;
        }
    }
    Ok(states)
}

fn ghost(filter: &str, switch_between: bool, then: Then, lost: usize) -> Result<(), Failure> {
    let options = options(filter, 1);
    let mut model = Model::new(&options);
    let fresh: Disk = SimulatedMedium::with_store(&options).disk().clone();
    let mut life = Life::begin(fresh, &mut model, 0)?;
    feed(&mut life, &mut model, 1)?;
    acted(&mut life, |store| store.sync())?;
    if !switch_between {
        feed(&mut life, &mut model, 2)?;
    } else {
        acted(&mut life, |store| store.begin_checkpoint())?;
    }
    feed(&mut life, &mut model, 3)?;
    let disk = life.medium.disk().after_crash(Kept::Last(lost));
    drop(life);

    let mut life = Life::begin(disk, &mut model, FRAME)?;
    match then {
        Then::TheSame => feed(&mut life, &mut model, if switch_between { 3 } else { 2 })?,
        Then::Others => feed(&mut life, &mut model, 4)?,
        Then::ACheckpoint => acted(&mut life, |store| store.begin_checkpoint())?,
    }
    acted(&mut life, |store| store.sync())?;
    let disk = life.medium.disk().after_crash(Kept::First(usize::MAX));
    look(&disk, &model, model.len())
}

fn acted(
    life: &mut Life,
    act: impl FnOnce(
        &mut dedupstore::store::Store<SimulatedMedium>,
    ) -> Result<(), dedupstore::store::StoreError>,
) -> Result<(), Failure> {
    let store = life.store.as_mut().ok_or(Failure("no store".to_owned()))?;
    act(store).map_err(|error| Failure(error.to_string()))
}

fn observation(number: u64, i: u64) -> Observation {
    Fingerprint((number * 100 + i).wrapping_mul(0x9e37_79b9_7f4a_7c15)).into()
}

fn feed(life: &mut Life, model: &mut Model, number: u64) -> Result<(), Failure> {
    let observations: Vec<Observation> = (0..FRAME).map(|i| observation(number, i)).collect();
    for &observation in &observations {
        model.observe(observation);
    }
    let mut verdicts = vec![Verdict::New; observations.len()];
    acted(life, |store| {
        store.observe_batch(&observations, &mut verdicts)
    })
}
