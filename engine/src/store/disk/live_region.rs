//! The region in memory, and a frozen view of it while a checkpoint is written.
//!
//! The kernel never writes these pages back by itself: they are memory filled from the image,
//! or a private map of it. One writer changes them. While a checkpoint runs, another thread
//! reads blocks that have not changed since the freeze. The state of a block decides who may
//! access it:
//!
//! | state | the writer | the checkpoint |
//! |---|---|---|
//! | open | claims it and saves it before its first change | may claim it |
//! | claimed | waits, if the checkpoint holds it | waits, if the writer holds it |
//! | saved | may change it | never reads it again |
//!
//! This module, `log_window` and `prefetch` are the only ones with unsafe code.
#![allow(unsafe_code)]

use std::ops::Range;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::concurrency::{AtomicU8, AtomicUsize, limit, preemption_point, thread};
use crate::region::{Memory, Region};
use crate::store::format::layout::{BLOCK_BYTES, Layout, UsedBlocks};
use crate::store::mutant::{Mutant, planted};

const OPEN: u8 = 0;
const CLAIMED: u8 = 1;
const SAVED: u8 = 2;

/// The number of blocks that the writer saves together when it must save one. It will soon
/// change the others too, and one write of eight blocks takes little more than half as long as
/// two writes of four.
const BLOCKS_PER_GROUP: usize = limit(8, 2);

/// How often to try to claim a block before sleeping between attempts.
const SPINS: u32 = 64;
const SLEEP: Duration = Duration::from_micros(20);

/// The region's bytes. They are accessed only through the pointer, under the rules above.
struct Map {
    pointer: NonNull<u8>,
    length: usize,
    _memory: Memory,
}

// SAFETY: the pointer is to memory that `_memory` owns for as long as this value exists;
// `LiveRegion` and `Frozen` decide who may read or write which bytes.
unsafe impl Send for Map {}
// SAFETY: as above.
unsafe impl Sync for Map {}

/// The region, owned by its one writer.
pub struct LiveRegion {
    map: Arc<Map>,
    layout: Layout,
    frozen: Option<Arc<Frozen>>,
}

impl LiveRegion {
    /// Takes ownership of the region's memory.
    pub fn new(mut memory: Memory, layout: Layout) -> Self {
        let bytes: &mut [u8] = &mut memory;
        let length = bytes.len();
        // `Memory` holds its bytes by pointer, so moving it does not move them.
        let pointer = NonNull::from(bytes).cast();
        LiveRegion {
            map: Arc::new(Map {
                pointer,
                length,
                _memory: memory,
            }),
            layout,
            frozen: None,
        }
    }

    /// Returns the whole region for reading.
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: the only writes are through `&mut self`, which this borrow excludes. Other
        // threads, in `Frozen::take`, only read.
        unsafe { std::slice::from_raw_parts(self.map.pointer.as_ptr(), self.map.length) }
    }

    /// Returns the whole region for writing, or None if a frozen view has blocks that must be
    /// saved first. Once every block is saved, the region is free to change, even if the
    /// checkpoint is still running.
    pub fn unfrozen(&mut self) -> Option<&mut [u8]> {
        let frozen = self.frozen.as_deref();
        if frozen.is_some_and(|frozen| frozen.unsaved.load(Ordering::Acquire) > 0) {
            return None;
        }
        // SAFETY: `&mut self` excludes every other access through the one `LiveRegion`.
        // Without a frozen view, no other thread reads. With one whose blocks are all saved,
        // none will read again, and all reads happened before the count was seen at zero.
        Some(unsafe { std::slice::from_raw_parts_mut(self.map.pointer.as_ptr(), self.map.length) })
    }

    /// Freezes a view of the current contents of the used blocks. The others are zeros, which need
    /// not be saved.
    pub fn freeze(&mut self, used: &UsedBlocks) -> Arc<Frozen> {
        let state = |block: u64| match used.contains(block) {
            true => AtomicU8::new(OPEN),
            false => AtomicU8::new(SAVED),
        };
        let frozen = Arc::new(Frozen {
            map: Arc::clone(&self.map),
            layout: self.layout,
            states: (0..self.layout.blocks()).map(state).collect(),
            unsaved: AtomicUsize::new(used.count() as usize),
        });
        self.frozen = Some(Arc::clone(&frozen));
        frozen
    }

    /// Ends the frozen view. Blocks that are not saved by now never will be. Waits for a block
    /// that is being copied.
    pub fn thaw(&mut self) {
        let Some(frozen) = self.frozen.take() else {
            return;
        };
        for block in 0..frozen.states.len() {
            if frozen.claim(block) {
                frozen.release(block);
            }
        }
    }

    /// Returns a view that saves each block before its first change since the freeze.
    pub fn tracked<S: Saving>(&mut self, saving: S) -> Tracked<'_, S> {
        Tracked { live: self, saving }
    }
}

/// Saves blocks before the writer changes them.
pub trait Saving {
    /// Waits until `bytes` can be saved. Called before blocks are claimed, so that nobody waits
    /// for the caller.
    fn make_room(&mut self, bytes: usize);

    /// Saves a run of adjacent blocks, starting with block `first`.
    fn save(&mut self, first: u64, bytes: &[u8]);
}

/// See [`LiveRegion::tracked`].
pub struct Tracked<'a, S> {
    live: &'a mut LiveRegion,
    saving: S,
}

impl<S: Saving> Region for Tracked<'_, S> {
    #[inline]
    fn bytes(&self) -> &[u8] {
        self.live.bytes()
    }

    #[inline]
    fn bytes_mut(&mut self, range: Range<usize>) -> &mut [u8] {
        assert!(range.start <= range.end && range.end <= self.live.map.length);
        if let Some(frozen) = &self.live.frozen {
            let last = range.end.max(range.start + 1) - 1;
            let block_bytes = BLOCK_BYTES as usize;
            for block in range.start / block_bytes..=last / block_bytes {
                let saved = frozen.states[block].load(Ordering::Acquire) == SAVED;
                if !saved && !planted(Mutant::NoCopyBeforeChange) {
                    frozen.save_around(block, self.live.bytes(), &mut self.saving);
                }
            }
        }
        // SAFETY: the range is inside the map (checked above), `&mut self` borrows the one
        // `LiveRegion`, and every block of the range is saved, so no other thread reads it.
        unsafe {
            let start = self.live.map.pointer.as_ptr().add(range.start);
            std::slice::from_raw_parts_mut(start, range.len())
        }
    }
}

/// The region as it was at the freeze, block by block.
pub struct Frozen {
    map: Arc<Map>,
    layout: Layout,
    states: Box<[AtomicU8]>,
    /// The number of blocks that are not saved.
    unsaved: AtomicUsize,
}

impl Frozen {
    /// Copies a block as it was at the freeze. Returns false if the writer has saved it.
    pub fn take(&self, block: u64, into: &mut [u8]) -> bool {
        let range = self.layout.block_range(block);
        let into = &mut into[..range.len()];
        if !self.claim(block as usize) {
            return false;
        }
        if planted(Mutant::CopyAfterRelease) {
            self.release(block as usize);
        }
        preemption_point();
        // SAFETY: the range is inside the map, because the layout is that of the map. The block
        // is claimed, so the writer does not change it before it is released below.
        unsafe {
            let start = self.map.pointer.as_ptr().add(range.start);
            std::ptr::copy_nonoverlapping(start, into.as_mut_ptr(), into.len());
        }
        if !planted(Mutant::CopyAfterRelease) {
            self.release(block as usize);
        }
        true
    }

    /// Saves a block for the writer, together with the open blocks of its group.
    fn save_around(&self, block: usize, bytes: &[u8], saving: &mut impl Saving) {
        saving.make_room(BLOCKS_PER_GROUP * BLOCK_BYTES as usize);
        let first = block / BLOCKS_PER_GROUP * BLOCKS_PER_GROUP;
        let group = first..(first + BLOCKS_PER_GROUP).min(self.states.len());
        let mut save_run = |run: Range<usize>| {
            if !run.is_empty() {
                let start = self.layout.block_range(run.start as u64).start;
                let end = self.layout.block_range(run.end as u64 - 1).end;
                if planted(Mutant::QueuedAfterRelease) {
                    run.clone().for_each(|block| self.release(block));
                    return saving.save(run.start as u64, &bytes[start..end]);
                }
                saving.save(run.start as u64, &bytes[start..end]);
                run.for_each(|block| self.release(block));
            }
        };
        let mut run = group.start..group.start;
        for neighbour in group {
            let mine = match neighbour == block {
                true => self.claim(block),
                false => self.try_claim(neighbour).is_ok(),
            };
            if mine {
                run.end = neighbour + 1;
            } else {
                save_run(run);
                run = neighbour + 1..neighbour + 1;
            }
        }
        save_run(run);
    }

    fn try_claim(&self, block: usize) -> Result<u8, u8> {
        self.states[block].compare_exchange(OPEN, CLAIMED, Ordering::AcqRel, Ordering::Acquire)
    }

    /// Claims an open block and returns true, or waits until it is saved and returns false. The
    /// holder copies only 8 KiB, so this spins at first. It sleeps after that, because the
    /// holder may not be scheduled.
    fn claim(&self, block: usize) -> bool {
        let mut spins = 0;
        loop {
            match self.try_claim(block) {
                Ok(_) => return true,
                Err(SAVED) => return false,
                Err(_) if planted(Mutant::NoWaitForCopy) => return false,
                Err(_) if spins < SPINS => {
                    spins += 1;
                    thread::yield_now();
                }
                Err(_) => thread::sleep(SLEEP),
            }
        }
    }

    fn release(&self, block: usize) {
        self.states[block].store(SAVED, Ordering::Release);
        // Release: a thread that sees zero also sees that all reads are done.
        self.unsaved.fetch_sub(1, Ordering::AcqRel);
    }
}

/// Maps part of a file privately: changes to the memory do not reach the file.
pub fn map_privately(file: &std::fs::File, offset: u64, length: usize) -> std::io::Result<Memory> {
    let mut options = memmap2::MmapOptions::new();
    options.offset(offset).len(length);
    // SAFETY: the file is an image of a store whose lock this process holds, and other
    // processes respect the lock. When this process writes a later image into the same file,
    // each page that is still shared with the file receives the bytes it already holds.
    unsafe { options.map_copy(file).map(Memory::from_map) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The blocks that the writer saved, with their numbers.
    struct Kept<'a>(&'a mut Vec<(u64, Vec<u8>)>);

    impl Saving for Kept<'_> {
        fn make_room(&mut self, _: usize) {}

        fn save(&mut self, first: u64, bytes: &[u8]) {
            let blocks = bytes.chunks(BLOCK_BYTES as usize).map(<[u8]>::to_vec);
            self.0.extend((first..).zip(blocks));
        }
    }

    fn layout() -> Layout {
        Layout {
            region_bytes: 12 * BLOCK_BYTES - 100,
            log_bytes: 4096,
        }
    }

    fn region() -> LiveRegion {
        let mut memory = Memory::zeroed(layout().region_bytes as usize).expect("small");
        for (block, bytes) in memory.chunks_mut(BLOCK_BYTES as usize).enumerate() {
            bytes.fill(block as u8);
        }
        LiveRegion::new(memory, layout())
    }

    #[test]
    fn each_block_is_saved_once_as_it_was_at_the_freeze() {
        let mut live = region();
        let frozen = live.freeze(&UsedBlocks::all(&layout()));
        assert!(live.unfrozen().is_none());
        let checkpoint = std::thread::spawn(move || {
            let (mut taken, mut block) = (Vec::new(), vec![0; BLOCK_BYTES as usize]);
            for number in (0..12).rev() {
                if frozen.take(number, &mut block) {
                    let length = layout().block_range(number).len();
                    taken.push((number, block[..length].to_vec()));
                }
            }
            taken
        });
        let mut saved = Vec::new();
        for number in 0..12 {
            let start = number * BLOCK_BYTES as usize;
            let mut tracked = live.tracked(Kept(&mut saved));
            tracked.bytes_mut(start + 5..start + 7).fill(0xFF);
            assert_eq!(&tracked.bytes()[start + 4..start + 6], [number as u8, 0xFF]);
        }
        saved.extend(checkpoint.join().expect("no panic"));
        saved.sort();
        let expected = (0..12).map(|number| {
            let length = layout().block_range(number).len();
            (number, vec![number as u8; length])
        });
        assert!(saved.into_iter().eq(expected));
        let changed = live.unfrozen().expect("every block is saved");
        assert_eq!(changed.iter().filter(|&&byte| byte == 0xFF).count(), 24);
    }

    #[test]
    fn after_a_thaw_nothing_is_saved() {
        let mut live = region();
        let frozen = live.freeze(&UsedBlocks::of_growing(&layout(), 3, 0));
        let mut block = vec![0; BLOCK_BYTES as usize];
        assert!(frozen.take(1, &mut block));
        assert!(!frozen.take(1, &mut block) && !frozen.take(3, &mut block));
        live.thaw();
        assert!(!frozen.take(0, &mut block));
        let mut saved = Vec::new();
        live.tracked(Kept(&mut saved)).bytes_mut(0..1)[0] = 9;
        assert!(saved.is_empty() && live.unfrozen().is_some());
        assert_eq!(live.bytes()[0], 9);
    }
}
