//! What the files of a store hold when it begins.

use std::borrow::Cow;
use std::ops::Deref;

use super::checksum::StoreId;
use super::error::StoreError;
use super::frame::encode_log_header;
use super::image::{table_checksum, table_of};
use super::layout::{BLOCK_BYTES, LOG_START, Layout};
use super::mark::Mark;
use super::medium::{Medium, StoreFile};
use super::superblock::{LogPosition, Superblock};

/// How much of a region is one part.
const PART_BYTES: usize = 32 * BLOCK_BYTES as usize;

/// A store's first image, an empty log and a mark that says that all of it is durable. All
/// else in its files is zeros.
pub struct Beginning<R> {
    superblock: Superblock,
    table: Vec<u8>,
    /// Nothing if it is all zeros.
    region: Option<R>,
}

/// Bytes of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part<'a> {
    /// Which file.
    pub file: StoreFile,
    /// Where in it.
    pub offset: u64,
    /// What is there.
    pub bytes: Cow<'a, [u8]>,
}

impl<R: Deref<Target = [u8]>> Beginning<R> {
    /// Of a store that a superblock describes, which gets this identity, and the first
    /// generation and log. Its registers belong to the region; without one, to zeros.
    pub(super) fn new(store_id: StoreId, described: Superblock, region: Option<R>) -> Self {
        let (_, chain) = encode_log_header(&store_id, 0, 0);
        let mut superblock = Superblock {
            store_id,
            generation: 0,
            log: LogPosition {
                epoch: 0,
                offset: LOG_START,
                chain,
                sequence: described.registers.observations(),
            },
            ..described
        };
        let table = table_of(&store_id, 0, &superblock.layout, region.as_deref());
        superblock.table_checksum = table_checksum(&superblock, &table);
        Beginning {
            superblock,
            table,
            region,
        }
    }

    /// How large the files are.
    pub fn layout(&self) -> Layout {
        self.superblock.layout
    }

    /// All that is not zeros. What makes the store one comes last.
    pub fn parts(&self) -> Result<impl Iterator<Item = Part<'_>>, StoreError> {
        let superblock = self.head()?;
        let before = [self.log_header()].into_iter().chain(self.marks());
        Ok(before.chain(self.body()).chain([superblock]))
    }

    /// Writes all of it into files of zeros.
    pub(super) fn write(self, medium: &impl Medium) -> Result<Superblock, StoreError> {
        let write = |Part {
                         file,
                         offset,
                         bytes,
                     }: Part<'_>| {
            medium
                .write(file, offset, &bytes)
                .map_err(|error| StoreError::on_file("write", file, error))
        };
        let sync = |file: StoreFile| {
            medium
                .sync(file)
                .map_err(|error| StoreError::on_file("sync", file, error))
        };
        let image = self.superblock.file();
        write(self.log_header())?;
        sync(StoreFile::log(0))?;
        self.marks().try_for_each(write)?;
        sync(StoreFile::Mark)?;
        self.body().try_for_each(write)?;
        sync(image)?;
        write(self.head()?)?;
        sync(image)?;
        Ok(self.superblock)
    }

    fn log_header(&self) -> Part<'_> {
        let (header, _) = encode_log_header(&self.superblock.store_id, 0, 0);
        Part {
            file: StoreFile::log(0),
            offset: 0,
            bytes: header.into(),
        }
    }

    /// A store that has observed nothing starts with one slot.
    fn marks(&self) -> impl Iterator<Item = Part<'_>> {
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
            Part {
                file: StoreFile::Mark,
                offset: mark.offset(),
                bytes: mark.encode(&self.superblock.store_id).to_vec().into(),
            }
        })
    }

    /// The region and the table.
    fn body(&self) -> impl Iterator<Item = Part<'_>> {
        let (file, layout) = (self.superblock.file(), self.superblock.layout);
        let region = self.region.as_deref().unwrap_or_default();
        let pieces = region.chunks(PART_BYTES);
        let starts = (layout.block_offset(0)..).step_by(PART_BYTES);
        let region = starts.zip(pieces).map(move |(offset, bytes)| Part {
            file,
            offset,
            bytes: bytes.into(),
        });
        let table = Part {
            file,
            offset: layout.table_offset(),
            bytes: self.table.as_slice().into(),
        };
        region.chain([table])
    }

    fn head(&self) -> Result<Part<'_>, StoreError> {
        Ok(Part {
            file: self.superblock.file(),
            offset: 0,
            bytes: self.superblock.encode()?.into(),
        })
    }
}
