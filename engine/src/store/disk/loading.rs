//! Loading an image into the memory that a store works on.

use super::live_region::LiveRegion;
use crate::store::error::StoreError;
use crate::store::format::image::{check_table, read_region, verify_blocks};
use crate::store::format::layout::UsedBlocks;
use crate::store::format::superblock::Superblock;
use crate::store::medium::Medium;

/// How the region gets into memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Backing {
    /// A private map if blocks are verified later, memory of its own otherwise.
    #[default]
    Automatic,
    /// Memory of its own with huge pages, filled from the image.
    Anonymous,
    /// A private map of the image: pages are read when they are first touched.
    PrivateMap,
}

/// Loads the region of an image. With `verify`, checks every block; without, only the table.
pub fn load(
    medium: &impl Medium,
    superblock: &Superblock,
    backing: Backing,
    verify: bool,
) -> Result<LiveRegion, StoreError> {
    let (file, layout) = (superblock.file(), superblock.layout);
    let mapped = match backing {
        // What a file holds where the filter was never used is unknown.
        _ if superblock.used() != UsedBlocks::all(&layout) => false,
        Backing::PrivateMap => true,
        Backing::Anonymous => false,
        // Verifying reads every block anyway, so it may as well fill memory.
        Backing::Automatic => !verify,
    };
    let length = layout.region_bytes as usize;
    if mapped && let Some(map) = medium.map_private(file, layout.block_offset(0), length) {
        let map = map.map_err(|error| StoreError::on_file("map", file, error))?;
        match verify {
            true => verify_blocks(medium, superblock)?,
            false => check_table(medium, superblock)?,
        }
        return Ok(LiveRegion::new(map, layout));
    }
    let memory = read_region(medium, superblock, verify)?;
    Ok(LiveRegion::new(memory, layout))
}
