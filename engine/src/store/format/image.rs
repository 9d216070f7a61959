//! Reading and checking the blocks of an image.

use std::ops::ControlFlow;
use std::sync::Mutex;

use super::checksum::{Checksum, StoreId, checksum_at};
use super::layout::{BLOCK_BYTES, Layout};
use super::superblock::{Superblock, offset};
use crate::bytes::read_u32;
use crate::region::Memory;
use crate::store::error::{Damage, StoreError};
use crate::store::file_access::FileAccess;
use crate::store::lock::lock;
use crate::store::medium::Medium;
use crate::store::mutant::{Mutant, planted};

/// The number of blocks per read.
const BLOCKS_PER_READ: u64 = 128;
/// The part of the table that is read at once to check it.
const TABLE_PIECE_BYTES: u64 = 1 << 18;
/// From this size on, reading a region in parallel is worth starting threads.
const PARALLEL_FROM_BYTES: usize = 16 << 20;

/// Returns the checksum of a block, which is padded with zeros to its full length.
pub fn block_checksum(store_id: &StoreId, generation: u64, block: u64, bytes: &[u8]) -> u32 {
    debug_assert_eq!(bytes.len() as u64, BLOCK_BYTES);
    checksum_at(store_id, generation, block, bytes)
}

/// Returns the checksum of the table of checksums. No block has its position.
pub fn table_checksum(superblock: &Superblock, table: &[u8]) -> u32 {
    checksum_at(&superblock.store_id, superblock.generation, u64::MAX, table)
}

/// Computes the table of block checksums for a region. A region of None is all zeros.
pub fn table_of(
    store_id: &StoreId,
    generation: u64,
    layout: &Layout,
    region: Option<&[u8]>,
) -> Vec<u8> {
    let mut padded = [0; BLOCK_BYTES as usize];
    let mut table = Vec::with_capacity(layout.table_bytes() as usize);
    for block in 0..layout.blocks() {
        if let Some(region) = region {
            let bytes = &region[layout.block_range(block)];
            padded[..bytes.len()].copy_from_slice(bytes);
            padded[bytes.len()..].fill(0);
        }
        let checksum = block_checksum(store_id, generation, block, &padded);
        table.extend_from_slice(&checksum.to_le_bytes());
    }
    table
}

/// Checks the table of block checksums against the superblock, piece by piece: a file may claim
/// to have a table that does not fit into memory.
pub fn check_table(medium: &impl Medium, superblock: &Superblock) -> Result<(), StoreError> {
    let (file, layout) = (superblock.file(), superblock.layout);
    let mut checksum = Checksum::new(&superblock.store_id, superblock.generation, u64::MAX);
    let mut piece = vec![0; layout.table_bytes().min(TABLE_PIECE_BYTES) as usize];
    let mut at = 0;
    while at < layout.table_bytes() {
        let length = (layout.table_bytes() - at).min(TABLE_PIECE_BYTES) as usize;
        medium.read_at(file, layout.table_offset() + at, &mut piece[..length])?;
        checksum.update(&piece[..length]);
        at += length as u64;
    }
    let computed = checksum.finish();
    if computed != superblock.table_checksum {
        return Err(StoreError::Corrupt(Damage {
            file,
            offset: layout.table_offset(),
            expected: format!("a table with checksum {:08x}", superblock.table_checksum),
            found: format!(
                "{computed:08x} (the superblock holds the expected checksum at byte {})",
                offset::TABLE_CHECKSUM
            ),
        }));
    }
    Ok(())
}

/// Reads and checks blocks of one image. The table must have been [checked](check_table).
struct Checker<'a, M> {
    medium: &'a M,
    superblock: &'a Superblock,
}

impl<M: Medium> Checker<'_, M> {
    /// Fills `bytes` with a run of blocks of full length and returns the damage of each bad one.
    fn read(&self, first: u64, bytes: &mut [u8]) -> Result<Vec<Damage>, StoreError> {
        let (file, layout) = (self.superblock.file(), self.superblock.layout);
        self.medium
            .read_at(file, layout.block_offset(first), bytes)?;
        let mut table = vec![0; bytes.len() / BLOCK_BYTES as usize * 4];
        let table_offset = layout.table_offset() + 4 * first;
        self.medium.read_at(file, table_offset, &mut table)?;
        Ok(self.damages(first, bytes, &table).collect())
    }

    /// Returns the damage of each bad block in a run of blocks, given their part of the table.
    fn damages(&self, first: u64, bytes: &[u8], table: &[u8]) -> impl Iterator<Item = Damage> {
        let blocks = (first..).zip(bytes.chunks_exact(BLOCK_BYTES as usize));
        let checked = blocks.zip(table.chunks_exact(4));
        checked.filter_map(|((block, bytes), expected)| {
            let superblock = self.superblock;
            let expected = read_u32(expected, 0);
            let (id, generation) = (&superblock.store_id, superblock.generation);
            let computed = block_checksum(id, generation, block, bytes);
            let wrong = computed != expected && !planted(Mutant::BlocksNotChecked);
            wrong.then(|| Damage {
                file: superblock.file(),
                offset: superblock.layout.block_offset(block),
                expected: format!("block {block} with checksum {expected:08x}"),
                found: format!("{computed:08x}"),
            })
        })
    }
}

/// Checks every block of an image and calls `found` for each bad one until it breaks.
pub fn check_blocks(
    medium: &impl Medium,
    superblock: &Superblock,
    mut found: impl FnMut(Damage) -> ControlFlow<()>,
) -> Result<(), StoreError> {
    check_table(medium, superblock)?;
    let checker = Checker { medium, superblock };
    let layout = superblock.layout;
    let mut bytes = vec![0; (BLOCKS_PER_READ.min(layout.blocks()) * BLOCK_BYTES) as usize];
    let mut first = 0;
    while first < layout.blocks() {
        let count = BLOCKS_PER_READ.min(layout.blocks() - first);
        let bytes = &mut bytes[..(count * BLOCK_BYTES) as usize];
        let damages = checker.read(first, bytes)?;
        if damages.into_iter().try_for_each(&mut found).is_break() {
            return Ok(());
        }
        first += count;
    }
    Ok(())
}

/// Checks every block of an image; fails at the first bad one.
pub fn verify_blocks(medium: &impl Medium, superblock: &Superblock) -> Result<(), StoreError> {
    let mut first = None;
    check_blocks(medium, superblock, |damage| {
        first = Some(damage);
        ControlFlow::Break(())
    })?;
    fail_on(first)
}

/// Reads part of the region of an image and checks the blocks that hold it.
pub fn read_part(
    medium: &impl Medium,
    superblock: &Superblock,
    range: std::ops::Range<usize>,
) -> Result<Vec<u8>, StoreError> {
    check_table(medium, superblock)?;
    let checker = Checker { medium, superblock };
    let layout = superblock.layout;
    let first = range.start as u64 / BLOCK_BYTES;
    let end = (range.end as u64)
        .div_ceil(BLOCK_BYTES)
        .min(layout.blocks());
    let mut bytes = vec![0; ((end - first) * BLOCK_BYTES) as usize];
    fail_on(checker.read(first, &mut bytes)?.into_iter().next())?;
    let start = range.start - (first * BLOCK_BYTES) as usize;
    bytes.drain(..start);
    bytes.truncate(range.len());
    Ok(bytes)
}

/// Reads one block into the region and checks it. The table must have been
/// [checked](check_table). `region` is the whole region.
pub fn read_block(
    medium: &impl Medium,
    superblock: &Superblock,
    block: u64,
    region: &mut [u8],
) -> Result<(), StoreError> {
    let range = superblock.layout.block_range(block);
    fill_part(
        &Checker { medium, superblock },
        true,
        block,
        &mut region[range],
    )
}

/// Reads the region of an image into memory of its own. With `verify`, checks every block;
/// without, only the table.
///
/// A large region is read in parallel. The error is always that of the lowest bad block:
/// parts are started in order, and a part that was started is finished.
pub fn read_region(
    medium: &impl Medium,
    superblock: &Superblock,
    verify: bool,
) -> Result<Memory, StoreError> {
    let length = superblock.layout.region_bytes as usize;
    check_table(medium, superblock)?;
    let mut region = Memory::zeroed(length)?;
    let checker = Checker { medium, superblock };
    let parts = region.chunks_mut((BLOCKS_PER_READ * BLOCK_BYTES) as usize);
    let parts = Mutex::new(parts.enumerate());
    let failed = Mutex::new(None);
    let work = || {
        loop {
            let next = lock(&parts).next();
            let Some((part, bytes)) = next.filter(|_| lock(&failed).is_none()) else {
                return;
            };
            let first = part as u64 * BLOCKS_PER_READ;
            if let Err(error) = fill_part(&checker, verify, first, bytes) {
                let mut failed = lock(&failed);
                match &*failed {
                    Some((earlier, _)) if *earlier < part => {}
                    _ => *failed = Some((part, error)),
                }
            }
        }
    };
    match length >= PARALLEL_FROM_BYTES {
        true => medium.in_parallel(&work),
        false => work(),
    }
    let failed = lock(&failed).take();
    failed.map_or(Ok(region), |(_, error)| Err(error))
}

/// Reads blocks directly into the region. Only the last block goes through a buffer, if the
/// region does not fill it.
fn fill_part(
    checker: &Checker<'_, impl Medium>,
    verify: bool,
    first: u64,
    into: &mut [u8],
) -> Result<(), StoreError> {
    let read = |first: u64, bytes: &mut [u8]| match verify {
        true => fail_on(checker.read(first, bytes)?.into_iter().next()),
        false => {
            let offset = checker.superblock.layout.block_offset(first);
            let file = checker.superblock.file();
            checker.medium.read_at(file, offset, bytes)
        }
    };
    let (whole, rest) = into.split_at_mut(into.len() / BLOCK_BYTES as usize * BLOCK_BYTES as usize);
    if !whole.is_empty() {
        read(first, whole)?;
    }
    if !rest.is_empty() {
        let mut block = [0; BLOCK_BYTES as usize];
        read(first + whole.len() as u64 / BLOCK_BYTES, &mut block)?;
        rest.copy_from_slice(&block[..rest.len()]);
    }
    Ok(())
}

fn fail_on(damage: Option<Damage>) -> Result<(), StoreError> {
    damage.map_or(Ok(()), |damage| Err(StoreError::Corrupt(damage)))
}
