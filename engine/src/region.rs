//! The bytes that a filter works on but does not own.
//!
//! A filter reads a region as a slice and declares which bytes it is about to change. In plain
//! memory this costs nothing. In a store a checkpoint uses it to copy blocks before they change.

use std::ops::{Deref, DerefMut, Range};

/// Bytes that can be read, and changed range by range.
pub trait Region {
    /// Returns the whole region for reading.
    fn bytes(&self) -> &[u8];

    /// Returns the bytes of `range` for writing.
    fn bytes_mut(&mut self, range: Range<usize>) -> &mut [u8];

    /// Returns the whole region for writing if changes need not be declared; else None.
    #[inline(always)]
    fn untracked(&mut self) -> Option<&mut [u8]> {
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

    #[inline(always)]
    fn untracked(&mut self) -> Option<&mut [u8]> {
        Some(self)
    }
}

/// A part of a region.
#[doc(hidden)]
pub struct SubRegion<'a, R: ?Sized> {
    region: &'a mut R,
    range: Range<usize>,
}

impl<'a, R: Region + ?Sized> SubRegion<'a, R> {
    /// Returns the part with the bytes of `range`.
    pub fn new(region: &'a mut R, range: Range<usize>) -> Self {
        SubRegion { region, range }
    }
}

impl<R: Region + ?Sized> Region for SubRegion<'_, R> {
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

    #[inline(always)]
    fn untracked(&mut self) -> Option<&mut [u8]> {
        let plain = self.region.untracked()?;
        Some(&mut plain[self.range.clone()])
    }
}

/// Memory whose first byte starts a cache line.
///
/// Large allocations are anonymous maps that request huge pages: a filter accesses random cache
/// lines, and with 4 KiB pages each access would also miss the translation cache (TLB).
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

/// The memory cannot be allocated.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot allocate {bytes} bytes of memory")]
pub struct OutOfMemory {
    /// The number of bytes requested.
    pub bytes: u64,
}

/// From this size on, a region is larger than a huge page.
#[cfg(not(target_family = "wasm"))]
const MAP_FROM_BYTES: usize = 4 << 20;
const LINE_BYTES: usize = 64;

impl Memory {
    /// Allocates `length` zero bytes. Returns an error, and never aborts, if that fails.
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
        // A hint: a kernel without huge pages refuses it, which does no harm.
        #[cfg(target_os = "linux")]
        let _ = map.advise(memmap2::Advice::HugePage);
        Ok(Self::from_map(map))
    }

    /// Allocates `length` zero bytes of which only few will be used: without huge pages, so that
    /// each use takes little memory.
    pub(crate) fn sparse(length: usize) -> Result<Self, OutOfMemory> {
        #[cfg(not(target_family = "wasm"))]
        if length >= MAP_FROM_BYTES {
            let mut options = memmap2::MmapOptions::new();
            // More than the machine has may be reserved, because it will not be used.
            options.len(length).no_reserve_swap();
            let map = options.map_anon().map_err(|_| OutOfMemory {
                bytes: length as u64,
            })?;
            // A hint: a kernel without huge pages refuses it.
            #[cfg(target_os = "linux")]
            let _ = map.advise(memmap2::Advice::NoHugePage);
            return Ok(Self::from_map(map));
        }
        Self::on_heap(length)
    }

    /// Takes over a private map of a file.
    #[cfg(not(target_family = "wasm"))]
    pub(crate) fn from_map(map: memmap2::MmapMut) -> Self {
        Memory {
            backing: Backing::Map(map),
        }
    }

    fn on_heap(length: usize) -> Result<Self, OutOfMemory> {
        let refused = OutOfMemory {
            bytes: length as u64,
        };
        let padded = length.checked_add(LINE_BYTES - 1).ok_or(refused.clone())?;
        // `vec!` gets lazily zeroed memory but aborts on failure, so a fallible request comes
        // first.
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
    fn memory_is_zeroed_and_aligned() {
        let lengths = [0, 1, 63, 64, 4096, (4 << 20) - 1, 4 << 20, (5 << 20) + 3];
        // Miri knows no advice for maps, and takes a minute for a mebibyte.
        let lengths = if cfg!(miri) {
            &lengths[..5]
        } else {
            &lengths[..]
        };
        for &length in lengths {
            let memory = Memory::zeroed(length).expect("small");
            assert_eq!(memory.len(), length);
            assert!(memory.iter().all(|&byte| byte == 0));
            if length > 0 {
                assert_eq!(memory.as_ptr() as usize % LINE_BYTES, 0, "{length}");
            }
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri ends when memory cannot be allocated")]
    fn sizes_that_cannot_be_allocated_return_an_error() {
        for length in [usize::MAX, usize::MAX / 2, isize::MAX as usize - 70] {
            assert!(Memory::zeroed(length).is_err());
        }
    }
}
