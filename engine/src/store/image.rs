//! Bringing an image into memory, and checking it.

use std::sync::{Mutex, MutexGuard, PoisonError};

use super::checkpoint::{block_checksum, table_checksum};
use super::error::{Damage, StoreError};
use super::layout::BLOCK_BYTES;
use super::live::{LiveRegion, Owner};
use super::medium::Medium;
use super::mutant::{Mutant, planted};
use super::superblock::{Superblock, offset};
use crate::bytes::read_u32;
use crate::region::Memory;
use crate::seen_set::CreateError;

/// How the region gets into memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Backing {
    /// Whatever was measured to be best for the size and for how it is checked.
    #[default]
    Automatic,
    /// Memory of its own with huge pages, filled from the image.
    Anonymous,
    /// The image itself, mapped privately: pages come in when they are touched.
    PrivateMap,
}

/// How many blocks are read at a time.
const BLOCKS_A_READ: u64 = 128;
/// From here on several threads are worth their start.
const THREADS_FROM_BYTES: usize = 16 << 20;

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
struct Checker<'a> {
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

/// The region of an image in memory. With `verify`, every block is checked on the way;
/// without, only the table is.
pub fn load(
    medium: &impl Medium,
    superblock: &Superblock,
    backing: Backing,
    verify: bool,
) -> Result<LiveRegion, StoreError> {
    let (file, layout) = (superblock.file(), superblock.layout);
    let mapped = match backing {
        Backing::PrivateMap => true,
        Backing::Anonymous => false,
        // Filling memory of its own means reading everything, which also checks it; when
        // checking is put off, so is reading.
        Backing::Automatic => !verify,
    };
    let length = layout.region_bytes as usize;
    if mapped && let Some(map) = medium.map_private(file, layout.block_offset(0), length) {
        let map = map.map_err(|error| StoreError::on_file("map", file, error))?;
        if verify {
            let mut first = None;
            check_blocks(medium, superblock, |damage| {
                first.get_or_insert(damage);
            })?;
            fail_on(first)?;
        } else {
            read_table(medium, superblock)?;
        }
        return Ok(LiveRegion::new(Owner::Map(map), layout));
    }
    let mut memory = Memory::zeroed(length).map_err(CreateError::from)?;
    let table = read_table(medium, superblock)?;
    let checker = Checker { superblock, table };
    fill(medium, &checker, verify, &mut memory)?;
    Ok(LiveRegion::new(Owner::Memory(memory), layout))
}

/// Fills a region from an image, by several threads if it is large. Whatever their order,
/// the error is that of the lowest block: parts are begun in order, and a part begun is
/// ended.
fn fill(
    medium: &impl Medium,
    checker: &Checker<'_>,
    verify: bool,
    region: &mut [u8],
) -> Result<(), StoreError> {
    let threads = match region.len() >= THREADS_FROM_BYTES {
        true => std::thread::available_parallelism().map_or(1, |count| count.get().min(4)),
        false => 1,
    };
    let parts = region.chunks_mut((BLOCKS_A_READ * BLOCK_BYTES) as usize);
    let parts = Mutex::new(parts.enumerate());
    let failed = Mutex::new(None);
    let work = || {
        loop {
            let next = locked(&parts).next();
            let Some((part, bytes)) = next.filter(|_| locked(&failed).is_none()) else {
                return;
            };
            let filled = fill_part(medium, checker, verify, part as u64 * BLOCKS_A_READ, bytes);
            if let Err(error) = filled {
                let mut failed = locked(&failed);
                match &*failed {
                    Some((earlier, _)) if *earlier < part => {}
                    _ => *failed = Some((part, error)),
                }
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads {
            // If there is no thread to be had, this one does it all.
            let _ = std::thread::Builder::new().spawn_scoped(scope, work);
        }
        work();
    });
    let failed = failed.into_inner().unwrap_or_else(PoisonError::into_inner);
    failed.map_or(Ok(()), |(_, error)| Err(error))
}

/// Reads blocks straight to where they belong; only a block that the region does not fill
/// goes by way of a buffer.
fn fill_part(
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

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn fail_on(damage: Option<Damage>) -> Result<(), StoreError> {
    damage.map_or(Ok(()), |damage| Err(StoreError::Corrupt(damage)))
}
