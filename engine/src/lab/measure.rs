//! Measuring one filter of any type.

use super::scoreboard::Scoreboard;
use super::stream::Stream;
use crate::filter::{Filter, Registers, observe_one};
use crate::fingerprint::KeyHasher;
use crate::region::{Memory, OutOfMemory};

/// Runs a filter over a stream and counts its errors.
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
    while let Some((key, number)) = stream.next_key() {
        let observation = hasher.fingerprint(key).into();
        let verdict = observe_one(filter, &mut region[..], &mut registers, observation);
        let is_first = truth.is_first(number);
        board.score(&[verdict], &[is_first], registers.occupied());
    }
    Ok(board)
}
