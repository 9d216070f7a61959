//! The sizes of the files and the offsets of their parts.

use crate::store::medium::StoreFile;

/// The size of the superblock, at the start of an image.
pub const SUPERBLOCK_BYTES: u64 = 4096;
/// The unit that is checksummed and copied. CRC-32 detects every error of up to three bits in
/// a block of this size.
pub const BLOCK_BYTES: u64 = 8192;
/// The size of a log's header; frames follow.
pub const LOG_START: u64 = 512;
/// The mark: two slots, in different pages.
pub const MARK_BYTES: u64 = 8192;
/// The smallest log. It holds a few frames.
pub const MIN_LOG_BYTES: u64 = 4096;
/// The largest log.
pub const MAX_LOG_BYTES: u64 = 1 << 34;

/// The sizes of a store's files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// The filter's region.
    pub region_bytes: u64,
    /// Each of the logs.
    pub log_bytes: u64,
}

impl Layout {
    /// Returns the number of blocks in an image.
    pub fn blocks(&self) -> u64 {
        self.region_bytes.div_ceil(BLOCK_BYTES)
    }

    /// Returns the offset of a block in an image.
    pub fn block_offset(&self, block: u64) -> u64 {
        SUPERBLOCK_BYTES + block * BLOCK_BYTES
    }

    /// Returns the bytes of the region that a block holds. The last block may hold fewer.
    pub fn block_range(&self, block: u64) -> std::ops::Range<usize> {
        let start = block * BLOCK_BYTES;
        let end = (start + BLOCK_BYTES).min(self.region_bytes);
        start as usize..end as usize
    }

    /// Returns the offset of the table of block checksums in an image.
    pub fn table_offset(&self) -> u64 {
        self.block_offset(self.blocks())
    }

    /// Returns the length of the table of block checksums.
    pub fn table_bytes(&self) -> u64 {
        4 * self.blocks()
    }

    /// Returns the size of a file.
    pub fn file_bytes(&self, file: StoreFile) -> u64 {
        match file {
            StoreFile::Image0 | StoreFile::Image1 => {
                (self.table_offset() + self.table_bytes()).next_multiple_of(4096)
            }
            StoreFile::Log0 | StoreFile::Log1 => self.log_bytes,
            StoreFile::Mark => MARK_BYTES,
            StoreFile::Lock => 0,
        }
    }

    /// Returns the size of all files together.
    pub fn disk_bytes(&self) -> u64 {
        StoreFile::ALL
            .iter()
            .map(|&file| self.file_bytes(file))
            .sum()
    }
}

/// The blocks of an image that are written and have a checksum. All blocks, unless the filter grows
/// inside its region: then a run of blocks at the start, and those of the audit at the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UsedBlocks {
    /// The number of blocks at the start.
    head: u64,
    /// The first block after the gap.
    tail: u64,
    /// The number of all blocks.
    end: u64,
}

impl UsedBlocks {
    /// Returns all blocks.
    pub fn all(layout: &Layout) -> Self {
        let end = layout.blocks();
        UsedBlocks {
            head: end,
            tail: end,
            end,
        }
    }

    /// Returns `head` blocks at the start, and those that may hold an audit of so many bytes.
    pub fn of_growing(layout: &Layout, head: u64, audit_bytes: u32) -> Self {
        let before_audit = layout.region_bytes.saturating_sub(audit_bytes.into());
        let tail = match audit_bytes {
            0 => layout.blocks(),
            _ => before_audit / BLOCK_BYTES,
        };
        let end = layout.blocks();
        UsedBlocks {
            head: head.min(tail),
            tail,
            end,
        }
    }

    /// Returns the two runs of used blocks; either may be empty.
    pub fn runs(&self) -> [std::ops::Range<u64>; 2] {
        [0..self.head, self.tail..self.end]
    }

    /// Returns the number of used blocks.
    pub fn count(&self) -> u64 {
        self.head + self.end - self.tail
    }

    /// Whether a block is used.
    pub fn contains(&self, block: u64) -> bool {
        self.runs().iter().any(|run| run.contains(&block))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_growing_filter_uses_blocks_at_the_start_and_those_of_the_audit() {
        let layout = Layout {
            region_bytes: 100 * BLOCK_BYTES + 700,
            log_bytes: MIN_LOG_BYTES,
        };
        let runs = |head, audit| UsedBlocks::of_growing(&layout, head, audit).runs();
        assert_eq!(runs(3, 0), [0..3, 101..101]);
        assert_eq!(runs(3, 600), [0..3, 100..101]);
        assert_eq!(runs(3, 800), [0..3, 99..101]);
        assert_eq!(runs(100, 800), [0..99, 99..101]);
        assert_eq!(runs(5, 1 << 30), [0..0, 0..101]);
        let used = UsedBlocks::of_growing(&layout, 3, 800);
        let counted = (0..101).filter(|&block| used.contains(block)).count();
        assert_eq!((counted as u64, used.count()), (5, 5));
        assert_eq!(UsedBlocks::all(&layout).runs(), [0..101, 101..101]);
    }

    #[test]
    fn parts_do_not_overlap() {
        for region_bytes in [1, 8191, 8192, 8193, 1 << 20] {
            let layout = Layout {
                region_bytes,
                log_bytes: MIN_LOG_BYTES,
            };
            let last = layout.blocks() - 1;
            assert_eq!(layout.block_range(last).end as u64, region_bytes);
            assert!(layout.block_offset(last) + BLOCK_BYTES <= layout.table_offset());
            let end = layout.table_offset() + layout.table_bytes();
            assert!(end <= layout.file_bytes(StoreFile::Image0));
        }
    }
}
