//! Reading and checking the blocks of an image.

use std::ops::{ControlFlow, Range};
use std::sync::Mutex;

use super::checksum::{Checksum, StoreId, checksum_at};
use super::layout::BLOCK_BYTES;
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

/// Returns the checksum of the table of checksums: of the entries of used blocks. No block has its
/// position.
pub fn table_checksum(superblock: &Superblock, table: &[u8]) -> u32 {
    let mut checksum = Checksum::new(&superblock.store_id, superblock.generation, u64::MAX);
    for run in superblock.used().runs() {
        checksum.update(&table[entries_of(&run)]);
    }
    checksum.finish()
}

/// Returns the bytes of the table that hold the checksums of some blocks.
pub fn entries_of(blocks: &Range<u64>) -> Range<usize> {
    4 * blocks.start as usize..4 * blocks.end as usize
}

/// Computes the table of block checksums for a region. A region of None is all zeros. Blocks that
/// are not used have none.
pub fn table_of(superblock: &Superblock, region: Option<&[u8]>) -> Vec<u8> {
    let Superblock {
        store_id,
        generation,
        layout,
        ..
    } = superblock;
    let used = superblock.used();
    let mut padded = [0; BLOCK_BYTES as usize];
    let mut table = vec![0; layout.table_bytes() as usize];
    for block in used.runs().into_iter().flatten() {
        if let Some(region) = region {
            let bytes = &region[layout.block_range(block)];
            padded[..bytes.len()].copy_from_slice(bytes);
            padded[bytes.len()..].fill(0);
        }
        let checksum = block_checksum(store_id, *generation, block, &padded);
        table[entries_of(&(block..block + 1))].copy_from_slice(&checksum.to_le_bytes());
    }
    table
}

/// Checks the table of block checksums against the superblock, piece by piece: a file may claim
/// to have a table that does not fit into memory.
pub fn check_table(medium: &impl Medium, superblock: &Superblock) -> Result<(), StoreError> {
    let (file, layout) = (superblock.file(), superblock.layout);
    let mut checksum = Checksum::new(&superblock.store_id, superblock.generation, u64::MAX);
    let mut piece = vec![0; layout.table_bytes().min(TABLE_PIECE_BYTES) as usize];
    for run in superblock.used().runs() {
        let Range { start, end } = entries_of(&run);
        let (mut at, end) = (start as u64, end as u64);
        while at < end {
            let length = (end - at).min(TABLE_PIECE_BYTES) as usize;
            medium.read_at(file, layout.table_offset() + at, &mut piece[..length])?;
            checksum.update(&piece[..length]);
            at += length as u64;
        }
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

/// Checks every used block of an image and calls `found` for each bad one until it breaks.
pub fn check_blocks(
    medium: &impl Medium,
    superblock: &Superblock,
    mut found: impl FnMut(Damage) -> ControlFlow<()>,
) -> Result<(), StoreError> {
    check_table(medium, superblock)?;
    let checker = Checker { medium, superblock };
    let layout = superblock.layout;
    let mut bytes = vec![0; (BLOCKS_PER_READ.min(layout.blocks()) * BLOCK_BYTES) as usize];
    for Range { start, end } in superblock.used().runs() {
        let mut first = start;
        while first < end {
            let count = BLOCKS_PER_READ.min(end - first);
            let bytes = &mut bytes[..(count * BLOCK_BYTES) as usize];
            let damages = checker.read(first, bytes)?;
            if damages.into_iter().try_for_each(&mut found).is_break() {
                return Ok(());
            }
            first += count;
        }
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
    range: Range<usize>,
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

/// Reads one block into the region and checks it, unless it was never used. The table must have been
/// [checked](check_table). `region` is the whole region.
pub fn read_block(
    medium: &impl Medium,
    superblock: &Superblock,
    block: u64,
    region: &mut [u8],
) -> Result<(), StoreError> {
    if !superblock.used().contains(block) {
        return Ok(());
    }
    let range = superblock.layout.block_range(block);
    fill_part(
        &Checker { medium, superblock },
        true,
        block,
        &mut region[range],
    )
}

/// Reads the region of an image into memory of its own. With `verify`, checks every block;
/// without, only the table. Memory of blocks that were never used is not touched.
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
            if let Err(error) = fill_used(&checker, verify, first, bytes) {
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

/// Reads the used blocks among those from `first` on into their part of the region.
fn fill_used(
    checker: &Checker<'_, impl Medium>,
    verify: bool,
    first: u64,
    part: &mut [u8],
) -> Result<(), StoreError> {
    let end = first + (part.len() as u64).div_ceil(BLOCK_BYTES);
    for run in checker.superblock.used().runs() {
        let blocks = run.start.max(first)..run.end.min(end);
        if !blocks.is_empty() {
            let at = |block: u64| ((block - first) * BLOCK_BYTES) as usize;
            let bytes = at(blocks.start)..at(blocks.end).min(part.len());
            fill_part(checker, verify, blocks.start, &mut part[bytes])?;
        }
    }
    Ok(())
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
