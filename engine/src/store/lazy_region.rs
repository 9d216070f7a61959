//! A region whose blocks are read from an image when they are needed, each checked by its
//! checksum.
//!
//! A filter reads a region as a slice and does not say which bytes it reads. So the caller loads
//! the blocks first that hold the evidence for a key. Bytes that a filter is about to write are
//! loaded when it declares them.

use std::ops::Range;

use super::error::StoreError;
use super::format::image::{read_block, read_region};
use super::format::layout::BLOCK_BYTES;
use super::format::superblock::Superblock;
use super::medium::Medium;
use crate::filter::{Evidence, EvidenceCell};
use crate::region::{Memory, Region};

/// If more than this share of the blocks is needed, reading all of them in order is faster.
const ALL_FROM_SHARE: u64 = 16;
/// The largest access to a cell: cells are read and written in words of eight bytes.
const WORD_BYTES: u64 = 8;

/// The region of an image, in part in memory. Parts that were not loaded are zeros.
pub struct LazyRegion {
    memory: Memory,
    /// One bit per block.
    loaded: Vec<u64>,
    loaded_blocks: u64,
    is_complete: bool,
    /// Why a block could not be loaded that a filter was about to write.
    failure: Option<StoreError>,
}

impl LazyRegion {
    /// Loads nothing yet. The image's table of checksums must have been checked.
    pub fn new(superblock: &Superblock) -> Result<Self, StoreError> {
        let layout = superblock.layout;
        Ok(LazyRegion {
            memory: Memory::sparse(layout.region_bytes as usize)?,
            loaded: vec![0; layout.blocks().div_ceil(64) as usize],
            loaded_blocks: 0,
            is_complete: false,
            failure: None,
        })
    }

    /// Returns whether every block is in memory.
    pub fn is_complete(&self) -> bool {
        self.is_complete
    }

    /// Returns the bytes that were loaded, between zeros.
    pub fn bytes(&self) -> &[u8] {
        &self.memory
    }

    /// Returns why a block could not be loaded since the last call, if one could not.
    pub fn take_failure(&mut self) -> Option<StoreError> {
        self.failure.take()
    }

    /// Returns the region for a filter to work on.
    pub fn loading<'a, M: Medium>(
        &'a mut self,
        medium: &'a M,
        superblock: &'a Superblock,
    ) -> Loading<'a, M> {
        Loading {
            region: self,
            medium,
            superblock,
        }
    }

    fn is_loaded(&self, block: u64) -> bool {
        self.loaded[(block / 64) as usize] & (1 << (block % 64)) != 0
    }

    /// Loads the blocks that hold some bytes. Returns whether any was not in memory.
    fn load(
        &mut self,
        medium: &impl Medium,
        superblock: &Superblock,
        range: Range<u64>,
    ) -> Result<bool, StoreError> {
        let mut any = false;
        for block in range.start / BLOCK_BYTES..range.end.div_ceil(BLOCK_BYTES) {
            if self.is_complete || self.is_loaded(block) {
                continue;
            }
            any = true;
            if self.loaded_blocks >= superblock.used().count() / ALL_FROM_SHARE {
                self.load_all(medium, superblock)?;
                break;
            }
            read_block(medium, superblock, block, &mut self.memory)?;
            self.loaded[(block / 64) as usize] |= 1 << (block % 64);
            self.loaded_blocks += 1;
        }
        Ok(any)
    }

    /// Loads every block that is not in memory yet.
    pub fn load_all(
        &mut self,
        medium: &impl Medium,
        superblock: &Superblock,
    ) -> Result<(), StoreError> {
        if self.is_complete {
            return Ok(());
        }
        let mut whole = read_region(medium, superblock, true)?;
        // Loaded blocks may have changed since.
        for block in (0..superblock.layout.blocks()).filter(|&block| self.is_loaded(block)) {
            let range = superblock.layout.block_range(block);
            whole[range.clone()].copy_from_slice(&self.memory[range]);
        }
        self.memory = whole;
        self.is_complete = true;
        Ok(())
    }
}

/// A [`LazyRegion`] with the image that it is loaded from.
pub struct Loading<'a, M> {
    region: &'a mut LazyRegion,
    medium: &'a M,
    superblock: &'a Superblock,
}

impl<M: Medium> Loading<'_, M> {
    /// Loads the blocks that hold the evidence for a key. `evidence` returns it as it follows
    /// from the blocks in memory; links lead on from block to block.
    pub fn load_evidence(
        &mut self,
        evidence: impl Fn(&[u8]) -> Evidence,
    ) -> Result<Evidence, StoreError> {
        loop {
            let found = evidence(&self.region.memory);
            let mut any = false;
            for cell in found.links.iter().chain(found.cells()) {
                let range = bytes_around(cell, self.superblock.layout.region_bytes);
                any |= self.region.load(self.medium, self.superblock, range)?;
            }
            if !any {
                return Ok(found);
            }
        }
    }
}

/// Returns the bytes that an access to a cell can touch.
fn bytes_around(cell: &EvidenceCell, region_bytes: u64) -> Range<u64> {
    let end = (cell.offset_bits + u64::from(cell.width_bits)).div_ceil(8);
    let start = (cell.offset_bits / 8).saturating_sub(WORD_BYTES);
    start..(end + WORD_BYTES).min(region_bytes)
}

impl<M: Medium> Region for Loading<'_, M> {
    fn bytes(&self) -> &[u8] {
        &self.region.memory
    }

    fn bytes_mut(&mut self, range: Range<usize>) -> &mut [u8] {
        let bytes = range.start as u64..range.end as u64;
        if let Err(error) = self.region.load(self.medium, self.superblock, bytes) {
            self.region.failure.get_or_insert(error);
        }
        &mut self.region.memory[range]
    }

    fn untracked(&mut self) -> Option<&mut [u8]> {
        match self.region.is_complete {
            true => Some(&mut self.region.memory),
            false => None,
        }
    }
}
