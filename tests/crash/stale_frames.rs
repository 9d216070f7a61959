//! Frames that a crash discarded and that must not be replayed when other frames follow.
//!
//! Random sessions rarely produce them, because the new frames need the same offset, sequence
//! number and size. Here these cases are constructed.

use dedupstore::{Fingerprint, Observation, Verdict};

use super::session::{Model, Session, check_recovery, options};
use super::simulated_medium::{Disk, SimulatedMedium, Surviving};
use super::{Failure, Outcome, tick_at};

/// The number of observations per frame, so that all frames have the same size.
const FRAME: u64 = 8;

/// What follows the crash, in place of the discarded frames.
#[derive(Clone, Copy, Debug)]
pub enum Then {
    /// The same observations again.
    SameObservations,
    /// Other observations, in frames of the same size.
    OtherObservations,
    /// A checkpoint without observations.
    Checkpoint,
}

/// Tests every way in which the later of two frames survives a crash and the earlier does not,
/// with and without a switch of logs between them, followed by each [`Then`].
pub fn every_stale_frame(filter: &str) -> Outcome {
    let mut states = 0;
    for switch_between in [false, true] {
        for then in [
            Then::SameObservations,
            Then::OtherObservations,
            Then::Checkpoint,
        ] {
            for lost in 0..6 {
                stale_frame(filter, switch_between, then, lost).map_err(|failure| {
                    failure.at(format!(
                        "{filter}, switch {switch_between}, then {then:?}, first {lost} writes lost"
                    ))
                })?;
                states += 1;
            }
        }
    }
    Ok(states)
}

/// Writes two frames across a sector boundary, of which any part survives a crash; then the
/// first frame again, of which any part survives a second crash. The two frames are written by
/// calls, or stored into a window of the log.
pub fn every_torn_frame(filter: &str) -> Outcome {
    Ok(torn_frames(filter, 0)? + torn_frames(filter, 1024)?)
}

fn torn_frames(filter: &str, window_bytes: u64) -> Outcome {
    const PARTS: u64 = 24;
    let options = options(filter, 1);
    let mut model = Model::new(&options);
    let fresh: Disk = SimulatedMedium::with_store(&options).disk().clone();
    let mut session = Session::open(fresh.with_windows(window_bytes), &mut model, 0)?;
    for number in 10..14 {
        observe_frame(&mut session, &mut model, number)?;
    }
    run(&mut session, |store| store.sync())?;
    let synced = model.len();
    observe_frame(&mut session, &mut model, 2)?;
    observe_frame(&mut session, &mut model, 3)?;
    let crashed = session.medium.disk().clone();
    drop(session);
    let mut states = 0;
    for first in 0..PARTS {
        let disk = crashed.after_crash(Surviving::Random(first));
        let mut model = Model::new(&options);
        for number in (10..14).chain([2, 3]) {
            (0..FRAME).for_each(|i| {
                model.observe(observation(number, i));
            });
        }
        let mut session = Session::open(disk, &mut model, synced)?;
        if model.len() > synced {
            continue;
        }
        observe_frame(&mut session, &mut model, 2)?;
        for second in 0..PARTS {
            let disk = session.medium.disk().after_crash(Surviving::Random(second));
            check_recovery(&disk, &model, synced)
                .map_err(|failure| failure.at(format!("{filter}, torn {first}, then {second}")))?;
            states += 1;
        }
    }
    Ok(states)
}

fn stale_frame(filter: &str, switch_between: bool, then: Then, lost: usize) -> Result<(), Failure> {
    let options = options(filter, 1);
    let mut model = Model::new(&options);
    let fresh: Disk = SimulatedMedium::with_store(&options).disk().clone();
    let mut session = Session::open(fresh, &mut model, 0)?;
    observe_frame(&mut session, &mut model, 1)?;
    run(&mut session, |store| store.sync())?;
    if !switch_between {
        observe_frame(&mut session, &mut model, 2)?;
    } else {
        run(&mut session, |store| store.begin_checkpoint())?;
    }
    observe_frame(&mut session, &mut model, 3)?;
    let disk = session.medium.disk().after_crash(Surviving::Last(lost));
    drop(session);

    let mut session = Session::open(disk, &mut model, FRAME)?;
    match then {
        Then::SameObservations => {
            observe_frame(&mut session, &mut model, if switch_between { 3 } else { 2 })?
        }
        Then::OtherObservations => observe_frame(&mut session, &mut model, 4)?,
        Then::Checkpoint => run(&mut session, |store| store.begin_checkpoint())?,
    }
    run(&mut session, |store| store.sync())?;
    let disk = session
        .medium
        .disk()
        .after_crash(Surviving::First(usize::MAX));
    check_recovery(&disk, &model, model.len())
}

fn run(
    session: &mut Session,
    act: impl FnOnce(
        &mut dedupstore::store::Store<SimulatedMedium>,
    ) -> Result<(), dedupstore::store::StoreError>,
) -> Result<(), Failure> {
    let store = session
        .store
        .as_mut()
        .ok_or(Failure("no store".to_owned()))?;
    act(store).map_err(|error| Failure(error.to_string()))
}

fn observation(number: u64, i: u64) -> Observation {
    Observation {
        fingerprint: Fingerprint((number * 100 + i).wrapping_mul(0x9e37_79b9_7f4a_7c15)),
        // Another time for each frame, and one for all observations of a frame.
        tick: tick_at(5 * number * number),
        importance: 0,
    }
}

fn observe_frame(session: &mut Session, model: &mut Model, number: u64) -> Result<(), Failure> {
    let observations: Vec<Observation> = (0..FRAME).map(|i| observation(number, i)).collect();
    for &observation in &observations {
        model.observe(observation);
    }
    let mut verdicts = vec![Verdict::New; observations.len()];
    run(session, |store| {
        store.observe_batch(&observations, &mut verdicts)
    })
}
