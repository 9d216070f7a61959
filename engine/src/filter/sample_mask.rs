//! Collects the observations of a batch that belong to a sample.
//!
//! The test runs inside the loop over the batch, where the fingerprint is already loaded and
//! the processor waits for memory. A separate pass would cost several percent of the time of
//! the fastest filter.

/// Collects the indices of the observations whose fingerprint has none of the mask's bits set.
#[derive(Debug)]
pub(crate) struct SampleMask {
    mask: u64,
    /// What is added to indices: the position of a part in its batch.
    offset: usize,
    indices: Vec<usize>,
}

impl SampleMask {
    /// Returns an empty collection for a mask.
    pub fn new(mask: u64) -> Self {
        SampleMask {
            mask,
            offset: 0,
            indices: Vec::new(),
        }
    }

    /// Returns a mask for batches that are not sampled; only the fingerprint 0 matches it.
    pub fn matching_none() -> Self {
        SampleMask::new(u64::MAX)
    }

    /// Returns the mask. A loop that tests the fingerprints itself keeps it in a register of the
    /// processor.
    pub fn mask(&self) -> u64 {
        self.mask
    }

    /// Collects the index of an observation whose fingerprint matches.
    #[cold]
    #[inline(never)]
    pub fn collect(&mut self, index: usize) {
        self.indices.push(self.offset + index);
    }

    /// Returns the collected indices, in order.
    pub fn indices(&self) -> impl Iterator<Item = usize> + Clone {
        self.indices.iter().copied()
    }
}

/// What several threads need to collect one batch.
#[cfg(not(target_family = "wasm"))]
impl SampleMask {
    /// Sets the position in the batch of the part whose observations come next.
    pub fn set_offset(&mut self, offset: usize) {
        self.offset = offset;
    }

    /// Collects indices that were found in parts, in any order.
    pub fn collect_all(&mut self, found: impl Iterator<Item = usize>) {
        let before = self.indices.len();
        self.indices.extend(found.map(|index| self.offset + index));
        self.indices[before..].sort_unstable();
    }
}
