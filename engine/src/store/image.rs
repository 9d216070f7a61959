//! Bringing an image into memory, and checking it.

use memmap2::MmapMut;

use super::checkpoint::{block_checksum, table_checksum};
use super::error::{Damage, StoreError};
use super::layout::BLOCK_BYTES;
use super::live::LiveRegion;
use super::medium::Medium;
use super::mutant::{Mutant, planted};
use super::superblock::{Superblock, offset};
use crate::bytes::read_u32;

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

/// Reads the blocks of an image in order and checks each against the table.
fn read_blocks(
    medium: &impl Medium,
    superblock: &Superblock,
    table: &[u8],
    mut take: impl FnMut(u64, &[u8], Option<Damage>) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let (file, layout) = (superblock.file(), superblock.layout);
    let mut bytes = vec![0; (BLOCKS_A_READ.min(layout.blocks()) * BLOCK_BYTES) as usize];
    let mut first = 0;
    while first < layout.blocks() {
        let count = BLOCKS_A_READ.min(layout.blocks() - first);
        let bytes = &mut bytes[..(count * BLOCK_BYTES) as usize];
        medium
            .read(file, layout.block_offset(first), bytes)
            .map_err(|error| StoreError::on_file("read", file, error))?;
        for (block, bytes) in (first..).zip(bytes.chunks_exact(BLOCK_BYTES as usize)) {
            let expected = read_u32(table, 4 * block as usize);
            let (id, generation) = (&superblock.store_id, superblock.generation);
            let computed = block_checksum(id, generation, block, bytes);
            let wrong = computed != expected && !planted(Mutant::BlocksNotChecked);
            let damage = wrong.then(|| Damage {
                file,
                offset: layout.block_offset(block),
                expected: format!("block {block} with checksum {expected:08x}"),
                found: format!("{computed:08x}"),
            });
            take(block, bytes, damage)?;
        }
        first += count;
    }
    Ok(())
}

/// Checks every block of an image; each one that is not right is handed over.
pub fn check_blocks(
    medium: &impl Medium,
    superblock: &Superblock,
    mut found: impl FnMut(Damage),
) -> Result<(), StoreError> {
    let table = read_table(medium, superblock)?;
    read_blocks(medium, superblock, &table, |_, _, damage| {
        damage.into_iter().for_each(&mut found);
        Ok(())
    })
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
    let table = read_table(medium, superblock)?;
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
            read_blocks(medium, superblock, &table, |_, _, damage| fail_on(damage))?;
        }
        return Ok(LiveRegion::new(map, layout));
    }
    let out_of_memory = |_| crate::region::OutOfMemory {
        bytes: layout.region_bytes,
    };
    let mut map = MmapMut::map_anon(length)
        .map_err(out_of_memory)
        .map_err(crate::seen_set::CreateError::from)?;
    #[cfg(target_os = "linux")]
    let _ = map.advise(memmap2::Advice::HugePage);
    read_blocks(medium, superblock, &table, |block, bytes, damage| {
        if verify {
            fail_on(damage)?;
        }
        let range = layout.block_range(block);
        let used = range.len();
        map[range].copy_from_slice(&bytes[..used]);
        Ok(())
    })?;
    Ok(LiveRegion::new(map, layout))
}

fn fail_on(damage: Option<Damage>) -> Result<(), StoreError> {
    damage.map_or(Ok(()), |damage| Err(StoreError::Corrupt(damage)))
}
