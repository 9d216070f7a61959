//! The region in memory, and a frozen view of it while a checkpoint is written.
//!
//! The kernel never writes these pages back by itself: they are memory filled from the
//! image, or a private map of it. One writer changes them. While a checkpoint
//! runs, another thread reads blocks that have not changed since the freeze. Who may
//! touch a block is settled by its state:
//!
//! | state | the writer | the checkpoint |
//! |---|---|---|
//! | open | claims it and saves it before its first change | may claim it |
//! | claimed | waits, if the checkpoint holds it | waits, if the writer holds it |
//! | saved | may change it | never looks at it again |
//!
//! This module and `prefetch` are the only ones with unsafe code.
#![allow(unsafe_code)]

use std::ops::Range;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::time::Duration;

use memmap2::MmapMut;

use super::layout::Layout;
use super::mutant::{Mutant, planted};
use crate::region::{Memory, Region};

const OPEN: u8 = 0;
const CLAIMED: u8 = 1;
const SAVED: u8 = 2;

/// How many blocks the writer saves when it must save one: its next changes will fall on
/// the others soon, and a call that writes eight takes little more than half as long as
/// two that write four.
const BLOCKS_A_GROUP: usize = 8;

/// How often a block that the other side holds is asked for before it is slept on.
const SPINS: u32 = 64;
const NAP: Duration = Duration::from_micros(20);

/// What keeps the bytes of a region.
pub enum Owner {
    /// Memory of its own.
    Memory(Memory),
    /// A private map of the image.
    Map(MmapMut),
}

impl Owner {
    fn bytes_mut(&mut self) -> &mut [u8] {
        match self {
            Owner::Memory(memory) => memory,
            Owner::Map(map) => map,
        }
    }
}

/// The region's bytes. They are reached only through the pointer, under the rules above.
struct Map {
    pointer: NonNull<u8>,
    length: usize,
    _owner: Owner,
}

// SAFETY: the pointer is to memory that `_owner` keeps for as long as this lives;
// who may read or write which bytes is settled by `LiveRegion` and `Frozen`.
unsafe impl Send for Map {}
// SAFETY: as above.
unsafe impl Sync for Map {}

/// The region, as its one writer sees it.
pub struct LiveRegion {
    map: Arc<Map>,
    layout: Layout,
    frozen: Option<Arc<Frozen>>,
}

impl LiveRegion {
    /// Takes bytes of the region's length over.
    pub fn new(mut owner: Owner, layout: Layout) -> Self {
        let bytes = owner.bytes_mut();
        let length = bytes.len();
        // The bytes stay where they are when their owner moves: it holds them by a pointer.
        let pointer = NonNull::from(bytes).cast();
        LiveRegion {
            map: Arc::new(Map {
                pointer,
                length,
                _owner: owner,
            }),
            layout,
            frozen: None,
        }
    }

    /// All of it, to read.
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: the only writes are through `&mut self`, which this borrow excludes.
        // What other threads do meanwhile, in `Frozen::take`, is reading.
        unsafe { std::slice::from_raw_parts(self.map.pointer.as_ptr(), self.map.length) }
    }

    /// All of it, to change; unless a frozen view needs to be told first. Once every block
    /// of the view is saved, it need not be, though the checkpoint may go on for long.
    pub fn unfrozen(&mut self) -> Option<&mut [u8]> {
        let frozen = self.frozen.as_deref();
        if frozen.is_some_and(|frozen| frozen.unsaved.load(Ordering::Acquire) > 0) {
            return None;
        }
        // SAFETY: `&mut self` excludes every other access through the one `LiveRegion`.
        // Without a frozen view no other thread reads; with one whose blocks are all saved
        // none will again, and what was read was read before the count was seen at zero.
        Some(unsafe { std::slice::from_raw_parts_mut(self.map.pointer.as_ptr(), self.map.length) })
    }

    /// Freezes a view of what it is now.
    pub fn freeze(&mut self) -> Arc<Frozen> {
        let blocks = self.layout.blocks() as usize;
        let frozen = Arc::new(Frozen {
            map: Arc::clone(&self.map),
            layout: self.layout,
            states: (0..blocks).map(|_| AtomicU8::new(OPEN)).collect(),
            unsaved: AtomicUsize::new(blocks),
        });
        self.frozen = Some(Arc::clone(&frozen));
        frozen
    }

    /// Ends the frozen view. Blocks that nobody saved will never be; a block that is being
    /// copied this moment is waited for.
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

    /// A view that has each block saved before its first change since the freeze.
    pub fn tracked<S: Saving>(&mut self, saving: S) -> Tracked<'_, S> {
        Tracked { live: self, saving }
    }
}

/// Where blocks go before they change.
pub trait Saving {
    /// Called before blocks are claimed, while nobody waits for the caller: may wait until so
    /// many bytes can be saved.
    fn make_room(&mut self, bytes: usize);

    /// Saves blocks that follow each other, of which the first is given.
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
            let block_bytes = super::layout::BLOCK_BYTES as usize;
            for block in range.start / block_bytes..=last / block_bytes {
                let saved = frozen.states[block].load(Ordering::Acquire) == SAVED;
                if !saved && !planted(Mutant::NoCopyBeforeChange) {
                    frozen.save_around(block, self.live.bytes(), &mut self.saving);
                }
            }
        }
        // SAFETY: the range is inside the map (checked above); `&mut self` borrows the one
        // `LiveRegion`; and every block of the range is saved, so no other thread reads it.
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
    /// How many blocks are not saved.
    unsaved: AtomicUsize,
}

impl Frozen {
    /// Copies a block as it was at the freeze, unless the writer has saved it already.
    pub fn take(&self, block: u64, into: &mut [u8]) -> bool {
        let range = self.layout.block_range(block);
        let into = &mut into[..range.len()];
        if !self.claim(block as usize) {
            return false;
        }
        // SAFETY: the range is inside the map, as the layout is that of the map. The block
        // is claimed, so the writer does not change it before it is released below.
        unsafe {
            let start = self.map.pointer.as_ptr().add(range.start);
            std::ptr::copy_nonoverlapping(start, into.as_mut_ptr(), into.len());
        }
        self.release(block as usize);
        true
    }

    /// For the writer: saves a block, with those of its group that nobody holds.
    fn save_around(&self, block: usize, bytes: &[u8], saving: &mut impl Saving) {
        saving.make_room(BLOCKS_A_GROUP * super::layout::BLOCK_BYTES as usize);
        let first = block / BLOCKS_A_GROUP * BLOCKS_A_GROUP;
        let group = first..(first + BLOCKS_A_GROUP).min(self.states.len());
        let mut save_run = |run: Range<usize>| {
            if !run.is_empty() {
                let start = self.layout.block_range(run.start as u64).start;
                let end = self.layout.block_range(run.end as u64 - 1).end;
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

    /// Claims an open block, or waits until it is saved and says no. Who holds it copies 8 KiB,
    /// and is soon done, unless it lost its processor on the way: then there is nothing to
    /// be gained by burning ours.
    fn claim(&self, block: usize) -> bool {
        let mut spins = 0;
        loop {
            match self.try_claim(block) {
                Ok(_) => return true,
                Err(SAVED) => return false,
                Err(_) if spins < SPINS => {
                    spins += 1;
                    std::thread::yield_now();
                }
                Err(_) => std::thread::sleep(NAP),
            }
        }
    }

    fn release(&self, block: usize) {
        self.states[block].store(SAVED, Ordering::Release);
        // Release, so that whoever sees zero sees every reading done.
        self.unsaved.fetch_sub(1, Ordering::AcqRel);
    }
}

/// A private map of part of a file: changes stay in memory.
pub fn map_privately(file: &std::fs::File, offset: u64, length: usize) -> std::io::Result<MmapMut> {
    let mut options = memmap2::MmapOptions::new();
    options.offset(offset).len(length);
    // SAFETY: the file is part of a store whose lock this process holds; others who keep to
    // the lock do not change it, and what this process writes to it is what the pages hold.
    unsafe { options.map_copy(file) }
}
