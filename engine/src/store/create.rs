//! Making a store.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::path::Path;

use super::checkpoint::{table_checksum, table_of_zeros};
use super::checksum::StoreId;
use super::directory::Directory;
use super::error::StoreError;
use super::handle::{OpenOptions, Store};
use super::layout::{LOG_START, Layout, MAX_LOG_BYTES, MIN_LOG_BYTES};
use super::log::LogWriter;
use super::mark::Mark;
use super::medium::{Medium, StoreFile};
use super::superblock::{LogPosition, Parameters, SPARSE_LOG, Superblock};
use crate::filter::{AnyFilter, FilterSpec, Registers};
use crate::seen_set::{CreateError, build_for_keys};

/// What a new store is to be.
#[derive(Clone, Debug)]
pub struct CreateOptions {
    /// Its filter.
    pub filter: FilterSpec,
    /// The memory of its filter.
    pub memory_bits: u64,
    /// The seed of its hash and of its choices; a random one if none is given, so that
    /// nobody can choose keys that collide.
    pub seed: Option<u64>,
    /// The size of each of its two logs; that of the region, within reason, if none is given.
    /// A checkpoint comes when a log is full, so larger logs mean fewer of them.
    pub log_bytes: Option<u64>,
    /// How keys are changed before they are hashed, for those who feed it to know.
    pub normalization: String,
}

impl CreateOptions {
    /// A filter in a memory size, and the defaults for the rest.
    pub fn new(filter: FilterSpec, memory_bits: u64) -> Self {
        CreateOptions {
            filter,
            memory_bits,
            seed: None,
            log_bytes: None,
            normalization: String::new(),
        }
    }

    /// How large the files will be; they never grow.
    pub fn layout(&self) -> Result<Layout, StoreError> {
        let filter = build_for_keys(&self.filter, self.memory_bits)?;
        let region_bytes = filter.region_bytes() as u64;
        let as_the_region = region_bytes.clamp(1 << 20, 2 << 30);
        let log_bytes = self.log_bytes.unwrap_or(as_the_region);
        if !(MIN_LOG_BYTES..=MAX_LOG_BYTES).contains(&log_bytes) {
            return Err(StoreError::Parameters(format!(
                "a log has {MIN_LOG_BYTES} to {MAX_LOG_BYTES} bytes; {log_bytes} were asked for"
            )));
        }
        Ok(Layout {
            region_bytes,
            log_bytes: log_bytes.next_multiple_of(4096),
        })
    }

    /// Writes a store that has observed nothing into files of zeros.
    pub fn fill(&self, medium: &impl Medium, store_id: StoreId) -> Result<(), StoreError> {
        let layout = self.layout()?;
        let seed = self.seed.unwrap_or_else(random);
        let write = |file, offset, bytes: &[u8]| {
            medium
                .write(file, offset, bytes)
                .map_err(|error| StoreError::on_file("write", file, error))
        };
        let sync = |file| {
            medium
                .sync(file)
                .map_err(|error| StoreError::on_file("sync", file, error))
        };
        let chain = LogWriter::start_next(medium, &store_id, 0, 0)?;
        let mark = Mark::default();
        write(StoreFile::Mark, mark.offset(), &mark.encode(&store_id))?;
        sync(StoreFile::Mark)?;
        let filter = AnyFilter::build(&self.filter, self.memory_bits).map_err(CreateError::from)?;
        let mut superblock = Superblock {
            features: match filter.seen_leaves_no_trace() {
                true => SPARSE_LOG,
                false => 0,
            },
            store_id,
            generation: 0,
            log: LogPosition {
                epoch: 0,
                offset: LOG_START,
                chain,
                sequence: 0,
            },
            table_checksum: 0,
            layout,
            unix_seconds: medium.unix_seconds(),
            registers: Registers::new(seed),
            parameters: Parameters {
                filter: self.filter.to_string(),
                memory_bits: self.memory_bits,
                seed,
                normalization: self.normalization.clone(),
                created_unix_seconds: medium.unix_seconds(),
            },
        };
        let table = table_of_zeros(&store_id, 0, &layout);
        superblock.table_checksum = table_checksum(&superblock, &table);
        let image = superblock.file();
        write(image, layout.table_offset(), &table)?;
        sync(image)?;
        write(image, 0, &superblock.encode()?)?;
        sync(image)
    }
}

impl Store<Directory> {
    /// Makes a store; whatever is at the path already is left alone.
    pub fn create(
        path: impl AsRef<Path>,
        create: &CreateOptions,
        open: OpenOptions,
    ) -> Result<Self, StoreError> {
        let layout = create.layout()?;
        let directory = Directory::create(path.as_ref(), &layout, |directory| {
            create.fill(directory, random_id())
        })?;
        Store::open_on(directory, open)
    }

    /// Opens a store and recovers its state.
    pub fn open(path: impl AsRef<Path>, options: OpenOptions) -> Result<Self, StoreError> {
        Store::open_on(Directory::open(path.as_ref())?, options)
    }
}

/// A new store's identity.
pub(super) fn random_id() -> StoreId {
    let mut id = [0; 16];
    id[..8].copy_from_slice(&random().to_le_bytes());
    id[8..].copy_from_slice(&random().to_le_bytes());
    id
}

/// From the keys that the standard library draws from the operating system.
pub(super) fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}
