//! Bringing an image into the memory that a store works on.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::store::error::StoreError;
use crate::store::image::{
    BLOCKS_A_READ, Checker, check_blocks, fail_on, fill_part, read_region, read_table,
};
use crate::store::layout::BLOCK_BYTES;
use crate::store::live::{LiveRegion, Owner};
use crate::store::medium::Medium;
use crate::store::superblock::Superblock;

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

/// From here on several threads are worth their start.
pub const THREADS_FROM_BYTES: usize = 16 << 20;

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
    let memory = read_region(medium, superblock, verify)?;
    Ok(LiveRegion::new(Owner::Memory(memory), layout))
}

/// Fills a large region from an image. Whatever the threads' order, the error is that of the
/// lowest block: parts are begun in order, and a part begun is ended.
pub fn fill_by_threads(
    medium: &impl Medium,
    checker: &Checker<'_>,
    verify: bool,
    region: &mut [u8],
) -> Result<(), StoreError> {
    let threads = std::thread::available_parallelism().map_or(1, |count| count.get().min(4));
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

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
