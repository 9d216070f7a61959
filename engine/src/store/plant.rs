//! Writing a state as a new store.

use super::checkpoint::Checkpoint;
use super::checksum::StoreId;
use super::error::StoreError;
use super::layout::LOG_START;
use super::log::LogWriter;
use super::mark::Mark;
use super::medium::{Medium, StoreFile};
use super::snapshot::Snapshot;
use super::superblock::{LogPosition, Superblock};

/// Writes a state into files of zeros: its first image, an empty log, and a mark that says
/// that all of it is durable. Reads it back to be sure.
pub fn plant(
    medium: &impl Medium,
    store_id: StoreId,
    mut snapshot: Snapshot,
) -> Result<(), StoreError> {
    let (sequence, digest) = (snapshot.sequence(), snapshot.digest());
    let chain = LogWriter::start_next(medium, &store_id, 0, 0)?;
    let mut mark = Mark::default();
    for _slot in 0..2 {
        mark.advance(medium, &store_id, sequence)?;
    }
    medium
        .sync(StoreFile::Mark)
        .map_err(|error| StoreError::on_file("sync", StoreFile::Mark, error))?;
    let image = Superblock {
        store_id,
        generation: 0,
        log: LogPosition {
            epoch: 0,
            offset: LOG_START,
            chain,
            sequence,
        },
        registers: snapshot.registers.clone(),
        ..snapshot.superblock.clone()
    };
    let checkpoint = Checkpoint::new(image, snapshot.live.freeze(), false);
    checkpoint.write_some(medium, u64::MAX)?;
    let written = checkpoint.finish(medium)?;
    // One region in memory at a time: they can be large.
    drop((checkpoint, snapshot));
    let copy = Snapshot::load(medium, written)?;
    if copy.digest() == digest {
        return Ok(());
    }
    Err(StoreError::Corrupt(super::error::Damage {
        file: copy.superblock.file(),
        offset: 0,
        expected: format!("the state {digest:016x} that was written"),
        found: format!("{:016x}", copy.digest()),
    }))
}
