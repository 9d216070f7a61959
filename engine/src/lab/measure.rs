//! Measuring one filter of any type.

use super::scoreboard::Scoreboard;
use super::stream::Stream;
use super::window_truth::WindowTruth;
use crate::filter::{ClockKind, Filter, Observation, Registers, observe_one};
use crate::fingerprint::KeyHasher;
use crate::region::{Memory, OutOfMemory};

/// Runs a filter over a stream and counts its errors. Keys have the times of the stream; if it has
/// none, they come one per second. If the filter has a window, a key is a repeat if and only if
/// the filter delivered it within the span.
///
/// The filter may be of any type, also one that is not in the registry. `seed` is the seed of
/// the hash function and of the filter's random choices. To compare filters of the registry,
/// use a [`Simulation`](super::Simulation).
pub fn measure<F: Filter>(
    filter: &F,
    mut stream: Stream,
    seed: u64,
) -> Result<Scoreboard, OutOfMemory> {
    let bytes = filter.region_bytes();
    let length = usize::try_from(bytes).map_err(|_| OutOfMemory { bytes })?;
    let mut region = Memory::zeroed(length)?;
    let mut registers = Registers::new(seed);
    let hasher = KeyHasher::new(seed);
    let mut truth = stream.truth();
    let mut board = Scoreboard::default();
    let clock = filter.window().copied();
    let mut window = clock.map(WindowTruth::new);
    loop {
        let tick = stream.next_second();
        let Some(arrival) = stream.next_arrival() else {
            break;
        };
        let observation = Observation {
            tick,
            importance: arrival.importance.unwrap_or(0),
            ..hasher.fingerprint(arrival.key).into()
        };
        if let Some(clock) = clock.filter(|clock| clock.kind() == ClockKind::Seconds) {
            registers.advance_clock(clock.step_of(observation.tick));
        }
        let verdict = observe_one(filter, &mut region[..], &mut registers, observation);
        let is_first = match &mut window {
            Some(window) => window.is_new(arrival.number, observation.tick, verdict),
            None => truth.is_first(arrival.number),
        };
        board.score(&[verdict], &[is_first], registers.occupied());
        if arrival.importance.is_some() {
            board.weigh(&[verdict], &[is_first], &[observation]);
        }
    }
    Ok(board)
}
