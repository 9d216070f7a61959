//! How far the log reaches, and what it tells without replaying it.
//!
//! While a writer runs, the end of the log moves and a frame that is half written looks torn.
//! So a log that looks torn or damaged is read again, and reported only if it looks the same
//! twice.

use std::time::Duration;

use super::error::{Damage, StoreError};
use super::format::mark::Mark;
use super::format::superblock::{FORGETS, GROWS, SPARSE_LOG, Superblock};
use super::medium::Medium;
use super::replay::{TornTail, replay};
use super::snapshot::{ATTEMPTS, newest_superblock_with_retries};
use crate::filter::LoggedObservations;

/// The newest superblock and the extent of the log.
#[derive(Clone, Debug, PartialEq)]
pub struct LogExtent {
    /// The newest superblock.
    pub superblock: Superblock,
    /// The number of observations known to be durable, if the mark is readable.
    pub durable: Option<u64>,
    /// The sequence number that the image and the log reach.
    pub reached: u64,
    /// The number of keys taken out, in the image and the log.
    pub forgotten: u64,
    /// The number of them reported as New, if the log tells: if it records exactly the New ones.
    pub new: Option<u64>,
    /// How much of the current log is in use.
    pub used: u64,
    /// Where a crash tore the log, if it did.
    pub torn: Option<TornTail>,
    /// Damage in the log, if any.
    pub damage: Option<Damage>,
}

/// Reads the extent of the log. If it looks torn or damaged, reads it again until it looks the
/// same twice.
pub fn read_extent_until_stable(medium: &impl Medium) -> Result<LogExtent, StoreError> {
    let mut before = read_extent(medium)?;
    for attempt in 1..ATTEMPTS {
        if before.torn.is_none() && before.damage.is_none() {
            return Ok(before);
        }
        medium.pause(Duration::from_millis(10) * attempt);
        let again = read_extent(medium)?;
        if again == before {
            return Ok(again);
        }
        before = again;
    }
    // The log changed every time: a writer is active, and nothing is damaged.
    Ok(LogExtent {
        torn: None,
        damage: None,
        ..before
    })
}

fn read_extent(medium: &impl Medium) -> Result<LogExtent, StoreError> {
    let superblock = newest_superblock_with_retries(medium)?;
    let Superblock {
        store_id,
        layout,
        log,
        ..
    } = &superblock;
    let mark = Mark::newest(medium, store_id)?;
    let mut reached = log.sequence;
    let mut new = superblock.registers.new_count();
    let mut forgotten = superblock.registers.forgotten();
    let count = |recorded: &LoggedObservations| {
        let taken_out = recorded.forgotten.len() as u64;
        reached += recorded.count() + taken_out;
        forgotten += taken_out;
        new += recorded.observations.len() as u64;
    };
    let found = replay(
        medium,
        store_id,
        layout,
        *log,
        &mark.unwrap_or_default(),
        count,
    );
    let (used, torn, damage) = match found {
        Ok(replayed) => (replayed.end.offset, replayed.torn, None),
        Err(StoreError::Corrupt(damage)) => (damage.offset, None, Some(damage)),
        Err(error) => return Err(error),
    };
    Ok(LogExtent {
        durable: mark.map(|mark| mark.sequence),
        new: (superblock.features & !(FORGETS | GROWS) == SPARSE_LOG || reached == log.sequence)
            .then_some(new),
        reached,
        forgotten,
        used,
        torn,
        damage,
        superblock,
    })
}
