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

#[cfg(test)]
mod tests {
    use super::*;

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
