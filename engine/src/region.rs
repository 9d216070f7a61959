//! The bytes a filter works on and does not own.
//!
//! A filter reads a region as a slice and says which bytes it is about to change. In
//! memory that costs nothing; under a store it is how a checkpoint learns, block by
//! block, what must be copied before it changes.

use std::ops::{Deref, DerefMut, Range};

/// Bytes that can be read, and changed range by range.
pub trait Region {
    /// All of the region.
    fn bytes(&self) -> &[u8];

    /// The bytes of `range`, which are about to change.
    fn bytes_mut(&mut self, range: Range<usize>) -> &mut [u8];

    /// All of it, where nobody wants to know what changes.
    fn plain(&mut self) -> Option<&mut [u8]> {
        None
    }
}

impl Region for [u8] {
    #[inline(always)]
    fn bytes(&self) -> &[u8] {
        self
    }

    #[inline(always)]
    fn bytes_mut(&mut self, range: Range<usize>) -> &mut [u8] {
        &mut self[range]
    }

    fn plain(&mut self) -> Option<&mut [u8]> {
        Some(self)
    }
}

/// Part of a region, as a region.
pub struct Part<'a, R: ?Sized> {
    region: &'a mut R,
    range: Range<usize>,
}

impl<'a, R: Region + ?Sized> Part<'a, R> {
    /// The bytes of `range`.
    pub fn new(region: &'a mut R, range: Range<usize>) -> Self {
        Part { region, range }
    }
}

impl<R: Region + ?Sized> Region for Part<'_, R> {
    #[inline(always)]
    fn bytes(&self) -> &[u8] {
        &self.region.bytes()[self.range.clone()]
    }

    #[inline(always)]
    fn bytes_mut(&mut self, range: Range<usize>) -> &mut [u8] {
        debug_assert!(range.end <= self.range.len());
        let start = self.range.start;
        self.region
            .bytes_mut(start + range.start..start + range.end)
    }

    fn plain(&mut self) -> Option<&mut [u8]> {
        let plain = self.region.plain()?;
        Some(&mut plain[self.range.clone()])
    }
}

/// Zeroed memory whose first byte starts a cache line.
///
/// Large ones are anonymous maps that ask for huge pages: a filter touches lines at
/// random, and with 4 KiB pages every touch would also miss the address cache.
#[derive(Debug)]
pub struct Memory {
    backing: Backing,
}

#[derive(Debug)]
enum Backing {
    Heap {
        bytes: Vec<u8>,
        range: Range<usize>,
    },
    #[cfg(not(target_family = "wasm"))]
    Map(memmap2::MmapMut),
}

/// The memory asked for is not to be had.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot get {bytes} bytes of memory")]
pub struct OutOfMemory {
    /// How many bytes were asked for.
    pub bytes: u64,
}

/// From here on a huge page is smaller than the region.
#[cfg(not(target_family = "wasm"))]
const MAP_FROM_BYTES: usize = 4 << 20;
const LINE_BYTES: usize = 64;

impl Memory {
    /// `length` zero bytes, or an error: never an abort.
    pub fn zeroed(length: usize) -> Result<Self, OutOfMemory> {
        #[cfg(not(target_family = "wasm"))]
        if length >= MAP_FROM_BYTES {
            return Self::mapped(length);
        }
        Self::on_heap(length)
    }

    #[cfg(not(target_family = "wasm"))]
    fn mapped(length: usize) -> Result<Self, OutOfMemory> {
        let map = memmap2::MmapMut::map_anon(length).map_err(|_| OutOfMemory {
            bytes: length as u64,
        })?;
        // Only a hint: a kernel without huge pages refuses it, and all still works.
        #[cfg(target_os = "linux")]
        let _ = map.advise(memmap2::Advice::HugePage);
        Ok(Memory {
            backing: Backing::Map(map),
        })
    }

    fn on_heap(length: usize) -> Result<Self, OutOfMemory> {
        let refused = OutOfMemory {
            bytes: length as u64,
        };
        let padded = length.checked_add(LINE_BYTES - 1).ok_or(refused.clone())?;
        // Asked first in a way that may fail; `vec!` gets lazily zeroed memory but aborts.
        Vec::<u8>::new()
            .try_reserve_exact(padded)
            .map_err(|_| refused)?;
        let bytes = vec![0u8; padded];
        let start = bytes.as_ptr().align_offset(LINE_BYTES);
        Ok(Memory {
            backing: Backing::Heap {
                bytes,
                range: start..start + length,
            },
        })
    }
}

impl Deref for Memory {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &self.backing {
            Backing::Heap { bytes, range } => &bytes[range.clone()],
            #[cfg(not(target_family = "wasm"))]
            Backing::Map(map) => map,
        }
    }
}

impl DerefMut for Memory {
    fn deref_mut(&mut self) -> &mut [u8] {
        match &mut self.backing {
            Backing::Heap { bytes, range } => &mut bytes[range.clone()],
            #[cfg(not(target_family = "wasm"))]
            Backing::Map(map) => map,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_zeroed_aligned_and_of_the_length_asked_for() {
        for length in [0, 1, 63, 64, 4096, (4 << 20) - 1, 4 << 20, (5 << 20) + 3] {
            let memory = Memory::zeroed(length).expect("small");
            assert_eq!(memory.len(), length);
            assert!(memory.iter().all(|&byte| byte == 0));
            if length > 0 {
                assert_eq!(memory.as_ptr() as usize % LINE_BYTES, 0, "{length}");
            }
        }
    }

    #[test]
    fn absurd_sizes_are_refused_without_an_abort() {
        for length in [usize::MAX, usize::MAX / 2, isize::MAX as usize - 70] {
            assert!(Memory::zeroed(length).is_err());
        }
    }
}
