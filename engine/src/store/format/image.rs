//! An image as bytes: its checksums, and reading and checking what it holds.

use super::checksum::{StoreId, placed};
#[cfg(not(target_family = "wasm"))]
use super::disk::{THREADS_FROM_BYTES, fill_by_threads};
use super::error::{Damage, StoreError};
use super::layout::{BLOCK_BYTES, Layout};
use super::medium::Medium;
use super::mutant::{Mutant, planted};
use super::superblock::{Superblock, offset};
use crate::bytes::read_u32;
use crate::region::Memory;
use crate::seen_set::CreateError;

/// How many blocks are read at a time.
pub const BLOCKS_A_READ: u64 = 128;

/// The checksum of a block, padded with zeros to its full length.
pub fn block_checksum(store_id: &StoreId, generation: u64, block: u64, bytes: &[u8]) -> u32 {
    debug_assert_eq!(bytes.len() as u64, BLOCK_BYTES);
    placed(store_id, generation, block, bytes)
}

/// The checksum of the table of checksums. Its place is one that no block has.
pub fn table_checksum(superblock: &Superblock, table: &[u8]) -> u32 {
    placed(&superblock.store_id, superblock.generation, u64::MAX, table)
}

/// The table of an image of a region; of one that is all zeros if none is given.
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

/// The table of block checksums, checked against the superblock.
pub fn read_table(medium: &impl Medium, superblock: &Superblock) -> Result<Vec<u8>, StoreError> {
    let file = superblock.file();
    let layout = superblock.layout;
    let mut table = vec![0; layout.table_bytes() as usize];
    medium
        .read(file, layout.table_offset(), &mut table)
        .map_err(|error| StoreError::on_file("read", file, error))?;
    let computed = table_checksum(superblock, &table);
    if computed != superblock.table_checksum {
        return Err(StoreError::Corrupt(Damage {
            file,
            offset: layout.table_offset(),
            expected: format!("a table with checksum {:08x}", superblock.table_checksum),
            found: format!(
                "{computed:08x} (the superblock names it at byte {})",
                offset::TABLE_CHECKSUM
            ),
        }));
    }
    Ok(table)
}

/// What checks the blocks of one image.
pub struct Checker<'a> {
    superblock: &'a Superblock,
    table: Vec<u8>,
}

impl Checker<'_> {
    /// What is wrong with blocks that follow each other, each of full length.
    fn damages(&self, first: u64, bytes: &[u8]) -> impl Iterator<Item = Damage> {
        let blocks = (first..).zip(bytes.chunks_exact(BLOCK_BYTES as usize));
        blocks.filter_map(|(block, bytes)| {
            let superblock = self.superblock;
            let expected = read_u32(&self.table, 4 * block as usize);
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

/// Checks every block of an image; each one that is not right is handed over.
pub fn check_blocks(
    medium: &impl Medium,
    superblock: &Superblock,
    mut found: impl FnMut(Damage),
) -> Result<(), StoreError> {
    let table = read_table(medium, superblock)?;
    let checker = Checker { superblock, table };
    let (file, layout) = (superblock.file(), superblock.layout);
    let mut bytes = vec![0; (BLOCKS_A_READ.min(layout.blocks()) * BLOCK_BYTES) as usize];
    let mut first = 0;
    while first < layout.blocks() {
        let count = BLOCKS_A_READ.min(layout.blocks() - first);
        let bytes = &mut bytes[..(count * BLOCK_BYTES) as usize];
        medium
            .read(file, layout.block_offset(first), bytes)
            .map_err(|error| StoreError::on_file("read", file, error))?;
        checker.damages(first, bytes).for_each(&mut found);
        first += count;
    }
    Ok(())
}

/// Part of the region of an image, the blocks it lies in checked.
pub fn read_part(
    medium: &impl Medium,
    superblock: &Superblock,
    range: std::ops::Range<usize>,
) -> Result<Vec<u8>, StoreError> {
    let table = read_table(medium, superblock)?;
    let checker = Checker { superblock, table };
    let (file, layout) = (superblock.file(), superblock.layout);
    let first = range.start as u64 / BLOCK_BYTES;
    let end = (range.end as u64)
        .div_ceil(BLOCK_BYTES)
        .min(layout.blocks());
    let mut bytes = vec![0; ((end - first) * BLOCK_BYTES) as usize];
    medium
        .read(file, layout.block_offset(first), &mut bytes)
        .map_err(|error| StoreError::on_file("read", file, error))?;
    fail_on(checker.damages(first, &bytes).next())?;
    let start = range.start - (first * BLOCK_BYTES) as usize;
    bytes.drain(..start);
    bytes.truncate(range.len());
    Ok(bytes)
}

/// The region of an image in memory of its own. With `verify`, every block is checked on the
/// way; without, only the table is.
pub fn read_region(
    medium: &impl Medium,
    superblock: &Superblock,
    verify: bool,
) -> Result<Memory, StoreError> {
    let length = superblock.layout.region_bytes as usize;
    let mut region = Memory::zeroed(length).map_err(CreateError::from)?;
    let table = read_table(medium, superblock)?;
    let checker = Checker { superblock, table };
    #[cfg(not(target_family = "wasm"))]
    if length >= THREADS_FROM_BYTES {
        fill_by_threads(medium, &checker, verify, &mut region)?;
        return Ok(region);
    }
    let parts = region.chunks_mut((BLOCKS_A_READ * BLOCK_BYTES) as usize);
    for (first, bytes) in (0..).step_by(BLOCKS_A_READ as usize).zip(parts) {
        fill_part(medium, &checker, verify, first, bytes)?;
    }
    Ok(region)
}

/// Reads blocks straight to where they belong; only a block that the region does not fill
/// goes by way of a buffer.
pub fn fill_part(
    medium: &impl Medium,
    checker: &Checker<'_>,
    verify: bool,
    first: u64,
    into: &mut [u8],
) -> Result<(), StoreError> {
    let (file, layout) = (checker.superblock.file(), checker.superblock.layout);
    let read = |first: u64, bytes: &mut [u8]| {
        medium
            .read(file, layout.block_offset(first), bytes)
            .map_err(|error| StoreError::on_file("read", file, error))?;
        match verify {
            true => fail_on(checker.damages(first, bytes).next()),
            false => Ok(()),
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

pub fn fail_on(damage: Option<Damage>) -> Result<(), StoreError> {
    damage.map_or(Ok(()), |damage| Err(StoreError::Corrupt(damage)))
}
