//! The initial contents of a store's files.

use std::borrow::Cow;
use std::ops::Deref;

use crate::store::error::StoreError;
use crate::store::file_access::FileAccess;
use crate::store::format::checksum::StoreId;
use crate::store::format::frame::encode_log_header;
use crate::store::format::image::{entries_of, table_checksum, table_of};
use crate::store::format::layout::{BLOCK_BYTES, LOG_START, Layout};
use crate::store::format::mark::Mark;
use crate::store::format::superblock::{LogPosition, Superblock};
use crate::store::medium::{Medium, StoreFile};

/// The number of bytes per part of a region.
const PART_BYTES: usize = 32 * BLOCK_BYTES as usize;

/// The initial contents of a store's files: the first image, an empty log, and a mark that
/// says that everything is durable. All other bytes are zeros.
pub struct InitialFiles<R> {
    superblock: Superblock,
    table: Vec<u8>,
    /// None if it is all zeros.
    region: Option<R>,
}

/// Part of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilePart<'a> {
    /// The file.
    pub file: StoreFile,
    /// The offset in the file.
    pub offset: u64,
    /// The bytes at that offset.
    pub bytes: Cow<'a, [u8]>,
}

impl<R: Deref<Target = [u8]>> InitialFiles<R> {
    /// Describes a store with the parameters and registers of `described`, a new identity, and
    /// the first generation and epoch. A region of None is all zeros.
    pub(in crate::store) fn new(
        store_id: StoreId,
        described: Superblock,
        region: Option<R>,
    ) -> Self {
        let (_, chain) = encode_log_header(&store_id, 0, 0);
        let mut superblock = Superblock {
            store_id,
            generation: 0,
            log: LogPosition {
                epoch: 0,
                offset: LOG_START,
                chain,
                sequence: described.registers.sequence(),
            },
            ..described
        };
        let table = table_of(&superblock, region.as_deref());
        superblock.table_checksum = table_checksum(&superblock, &table);
        InitialFiles {
            superblock,
            table,
            region,
        }
    }

    /// Returns the sizes of the files.
    pub fn layout(&self) -> Layout {
        self.superblock.layout
    }

    /// Returns all parts that are not zeros. The superblock is last, because it makes the files
    /// a valid store.
    pub fn parts(&self) -> Result<impl Iterator<Item = FilePart<'_>>, StoreError> {
        let superblock = self.superblock_part()?;
        let before = [self.log_header()].into_iter().chain(self.marks());
        Ok(before.chain(self.region_and_table()).chain([superblock]))
    }

    /// Writes all parts into files of zeros and syncs them.
    pub(in crate::store) fn write(self, medium: &impl Medium) -> Result<Superblock, StoreError> {
        let write = |part: FilePart<'_>| medium.write_at(part.file, part.offset, &part.bytes);
        let image = self.superblock.file();
        write(self.log_header())?;
        medium.sync_file(StoreFile::log(0))?;
        self.marks().try_for_each(write)?;
        medium.sync_file(StoreFile::Mark)?;
        self.region_and_table().try_for_each(write)?;
        medium.sync_file(image)?;
        write(self.superblock_part()?)?;
        medium.sync_file(image)?;
        Ok(self.superblock)
    }

    fn log_header(&self) -> FilePart<'_> {
        let (header, _) = encode_log_header(&self.superblock.store_id, 0, 0);
        FilePart {
            file: StoreFile::log(0),
            offset: 0,
            bytes: header.into(),
        }
    }

    /// An empty store starts with one slot, one with a region with two.
    fn marks(&self) -> impl Iterator<Item = FilePart<'_>> {
        let turns = match self.region {
            None => 0..=0,
            Some(_) => 1..=2,
        };
        turns.map(|turn| {
            let mark = Mark {
                turn,
                sequence: self.superblock.log.sequence,
                incarnation: 0,
            };
            FilePart {
                file: StoreFile::Mark,
                offset: mark.offset(),
                bytes: mark.encode(&self.superblock.store_id).to_vec().into(),
            }
        })
    }

    /// The used blocks of the region, and their checksums.
    fn region_and_table(&self) -> impl Iterator<Item = FilePart<'_>> {
        let (file, layout) = (self.superblock.file(), self.superblock.layout);
        let runs = self.superblock.used().runs();
        let region = self.region.as_deref().unwrap_or_default();
        let pieces = runs.clone().into_iter().flat_map(move |run| {
            let start = (run.start * BLOCK_BYTES) as usize;
            let end = ((run.end * BLOCK_BYTES) as usize).min(region.len());
            let bytes = region.get(start..end).unwrap_or_default();
            let starts = (layout.block_offset(run.start)..).step_by(PART_BYTES);
            starts.zip(bytes.chunks(PART_BYTES))
        });
        let region = pieces.map(move |(offset, bytes)| FilePart {
            file,
            offset,
            bytes: bytes.into(),
        });
        let entries = runs.into_iter().map(|run| entries_of(&run));
        let entries = entries.filter(|entries| !entries.is_empty());
        let table = entries.map(move |entries| FilePart {
            file,
            offset: layout.table_offset() + entries.start as u64,
            bytes: self.table[entries].into(),
        });
        region.chain(table)
    }

    fn superblock_part(&self) -> Result<FilePart<'_>, StoreError> {
        Ok(FilePart {
            file: self.superblock.file(),
            offset: 0,
            bytes: self.superblock.encode()?.into(),
        })
    }
}
