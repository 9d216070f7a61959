//! The superblock of an image: the store's identity, its filter, and the position in the log
//! from which replay continues.

use serde::{Deserialize, Serialize};

use super::checksum::{StoreId, checksum_at};
use super::layout::{
    BLOCK_BYTES, Layout, MAX_LOG_BYTES, MIN_LOG_BYTES, SUPERBLOCK_BYTES, UsedBlocks,
};
use crate::bytes::{read_u32, read_u64, write_u32, write_u64};
use crate::filter::{AnyFilter, Registers};
use crate::fingerprint::HashScheme;
use crate::lines::{KeyOptions, KeyRule, RecordedKey};
use crate::store::error::{Damage, StoreError};
use crate::store::file_access::FileAccess;
use crate::store::medium::{Medium, StoreFile};
use crate::store::mutant::{Mutant, planted};

/// The first bytes of an image.
pub const MAGIC: &[u8; 8] = b"dedupsto";
/// The format version that this program writes, and the newest that it reads.
pub const VERSION: u32 = 1;
/// A feature that a reader must know: the log may have sparse frames, which leave out
/// observations that changed nothing but counters.
pub const SPARSE_LOG: u32 = 1;
/// A feature that a reader must know: the region holds an audit after the filter.
pub const AUDIT: u32 = 2;
/// A feature that a reader must know: the store has a limit of its false positive rate.
pub const MAX_FPR: u32 = 4;
/// A feature that a reader must know: the log has timed frames, because the filter has a window
/// that is measured in seconds.
pub const TIMED_LOG: u32 = 8;
/// A feature that a reader must know: keys may have been taken out. The log may have forget frames,
/// and sequence numbers count the keys taken out like observations.
pub const FORGETS: u32 = 16;
/// A feature that a reader must know: the filter grows inside its region. Blocks that it never used
/// are not written, and have no checksum.
pub const GROWS: u32 = 32;
/// All features that this program knows.
pub const KNOWN_FEATURES: u32 = SPARSE_LOG | AUDIT | MAX_FPR | TIMED_LOG | FORGETS | GROWS;

/// Byte offsets of the fields. A test compares them with the format document.
pub mod offset {
    /// Eight letters that identify the file.
    pub const MAGIC: usize = 0;
    /// Format version.
    pub const VERSION: usize = 8;
    /// Features that an older reader may ignore.
    pub const COMPATIBLE: usize = 12;
    /// Features that a reader must know.
    pub const INCOMPATIBLE: usize = 16;
    /// How keys are hashed.
    pub const HASH_SCHEME: usize = 20;
    /// The store's identity.
    pub const STORE_ID: usize = 24;
    /// The generation of the image.
    pub const GENERATION: usize = 40;
    /// The number of observations in the image.
    pub const SEQUENCE: usize = 48;
    /// The epoch of the log that continues from the image.
    pub const LOG_EPOCH: usize = 56;
    /// The offset in that log.
    pub const LOG_OFFSET: usize = 64;
    /// The checksum of the previous frame.
    pub const LOG_CHAIN: usize = 72;
    /// The checksum of the table of checksums.
    pub const TABLE_CHECKSUM: usize = 76;
    /// The region's length.
    pub const REGION_BYTES: usize = 80;
    /// The block's length.
    pub const BLOCK_BYTES: usize = 88;
    /// The parameters' length.
    pub const PARAMETER_BYTES: usize = 92;
    /// The length of a log.
    pub const LOG_BYTES: usize = 96;
    /// When the image was finished.
    pub const UNIX_SECONDS: usize = 104;
    /// The length of the audit at the end of the region.
    pub const AUDIT_BYTES: usize = 112;
    /// The number of blocks at the start of the region that were ever used.
    pub const USED_BLOCKS: usize = 116;
    /// The limit of the false positive rate.
    pub const MAX_FPR: usize = 120;
    /// The filter's registers.
    pub const REGISTERS: usize = 128;
    /// The parameters.
    pub const PARAMETERS: usize = 640;
    /// The checksum of all bytes before it.
    pub const CHECKSUM: usize = 4092;
}

/// The largest size of the encoded parameters.
const MAX_PARAMETER_BYTES: usize = offset::CHECKSUM - offset::PARAMETERS;

/// What was chosen when the store was created. It never changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parameters {
    /// The filter, in its text form.
    pub filter: String,
    /// The memory of the filter.
    pub memory_bits: u64,
    /// The seed of the hash and of the filter's random choices.
    pub seed: u64,
    /// How callers find and change keys before they hash them: the text of a
    /// [`RecordedKey`]. Empty if the caller recorded nothing. The store only records it.
    pub normalization: String,
    /// When the store was created, in seconds since 1970.
    pub created_unix_seconds: u64,
}

impl Parameters {
    /// Returns what the store records about its keys.
    pub fn recorded_key(&self) -> Result<RecordedKey, StoreError> {
        let unknown = |error| StoreError::UnknownKey {
            recorded: self.normalization.clone(),
            error,
        };
        self.normalization.parse().map_err(unknown)
    }

    /// Returns how the keys of the store are found. Fails if the options contradict what the
    /// store records. A store that records nothing accepts any option.
    pub fn key_rule(&self, options: &KeyOptions) -> Result<KeyRule, StoreError> {
        options
            .rule_for(&self.recorded_key()?)
            .map_err(StoreError::from)
    }

    /// Encodes with bincode 1 in its default form: little-endian, lengths as 64 bits.
    pub fn encode(&self) -> Result<Vec<u8>, StoreError> {
        let too_long = |bytes| StoreError::ParametersTooLong {
            bytes,
            maximum: MAX_PARAMETER_BYTES,
        };
        // Only a length can make this fail.
        let bytes = bincode::serialize(self).map_err(|_| too_long(usize::MAX))?;
        match bytes.len() {
            length if length > MAX_PARAMETER_BYTES => Err(too_long(length)),
            _ => Ok(bytes),
        }
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        use bincode::Options;
        bincode::DefaultOptions::new()
            .with_fixint_encoding()
            .with_limit(MAX_PARAMETER_BYTES as u64)
            .deserialize(bytes)
            .ok()
    }
}

/// The superblock of an image.
#[derive(Clone, Debug, PartialEq)]
pub struct Superblock {
    /// Features that a reader must know.
    pub features: u32,
    /// The store's identity.
    pub store_id: StoreId,
    /// The generation of the image. Generations alternate between the two image files.
    pub generation: u64,
    /// The point in the log up to which the image holds observations.
    pub log: LogPosition,
    /// The checksum of the table of block checksums.
    pub table_checksum: u32,
    /// The sizes of the files.
    pub layout: Layout,
    /// When the image was finished.
    pub unix_seconds: u64,
    /// The size of the audit; 0 if there is none.
    pub audit_bytes: u32,
    /// The number of blocks at the start of the region that were ever used, if the filter grows; see
    /// [`used`](Superblock::used).
    pub used_blocks: u32,
    /// The limit of the false positive rate, if the store has one; see
    /// [`with_max_fpr`](Superblock::with_max_fpr).
    pub max_fpr: Option<f64>,
    /// The filter's registers.
    pub registers: Registers,
    /// What was chosen when the store was created.
    pub parameters: Parameters,
}

/// A point in the log between two frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogPosition {
    /// The epoch of the log.
    pub epoch: u64,
    /// The offset in the log's file.
    pub offset: u64,
    /// The checksum of the previous frame, or of the log's header.
    pub chain: u32,
    /// The number of observations before this point.
    pub sequence: u64,
}

impl Superblock {
    /// Returns the file of the image.
    pub fn file(&self) -> StoreFile {
        StoreFile::image(self.generation)
    }

    /// Returns the blocks that are written and have a checksum.
    pub fn used(&self) -> UsedBlocks {
        match self.features & GROWS != 0 {
            true => {
                let head = self.used_blocks.into();
                UsedBlocks::of_growing(&self.layout, head, self.audit_bytes)
            }
            false => UsedBlocks::all(&self.layout),
        }
    }

    /// Sets the number of used blocks to that of the registers, if the filter grows.
    pub fn with_used_blocks(self, filter: &AnyFilter) -> Self {
        let used_blocks = match self.features & GROWS != 0 {
            true => (filter.used_bytes(&self.registers) as u64).div_ceil(BLOCK_BYTES) as u32,
            false => 0,
        };
        Superblock {
            used_blocks,
            ..self
        }
    }

    /// Sets the feature of stores from which keys were taken out, if the registers count any.
    pub fn with_forgetting(self) -> Self {
        let forgets = if self.registers.forgotten() > 0 {
            FORGETS
        } else {
            0
        };
        Superblock {
            features: self.features | forgets,
            ..self
        }
    }

    /// Sets the limit of the false positive rate, and the feature that goes with it.
    pub fn with_max_fpr(self, max_fpr: Option<f64>) -> Self {
        let features = match max_fpr {
            Some(_) => self.features | MAX_FPR,
            None => self.features & !MAX_FPR,
        };
        Superblock {
            features,
            max_fpr,
            ..self
        }
    }

    /// Encodes the superblock with its checksum.
    pub fn encode(&self) -> Result<Vec<u8>, StoreError> {
        let parameters = self.parameters.encode()?;
        let mut bytes = vec![0; SUPERBLOCK_BYTES as usize];
        bytes[offset::MAGIC..offset::MAGIC + 8].copy_from_slice(MAGIC);
        write_u32(&mut bytes, offset::VERSION, VERSION);
        write_u32(&mut bytes, offset::COMPATIBLE, 0);
        write_u32(&mut bytes, offset::INCOMPATIBLE, self.features);
        write_u32(&mut bytes, offset::HASH_SCHEME, HashScheme::default().id());
        bytes[offset::STORE_ID..offset::STORE_ID + 16].copy_from_slice(&self.store_id);
        write_u64(&mut bytes, offset::GENERATION, self.generation);
        write_u64(&mut bytes, offset::SEQUENCE, self.log.sequence);
        write_u64(&mut bytes, offset::LOG_EPOCH, self.log.epoch);
        write_u64(&mut bytes, offset::LOG_OFFSET, self.log.offset);
        write_u32(&mut bytes, offset::LOG_CHAIN, self.log.chain);
        write_u32(&mut bytes, offset::TABLE_CHECKSUM, self.table_checksum);
        write_u64(&mut bytes, offset::REGION_BYTES, self.layout.region_bytes);
        write_u32(&mut bytes, offset::BLOCK_BYTES, BLOCK_BYTES as u32);
        write_u32(&mut bytes, offset::PARAMETER_BYTES, parameters.len() as u32);
        write_u64(&mut bytes, offset::LOG_BYTES, self.layout.log_bytes);
        write_u64(&mut bytes, offset::UNIX_SECONDS, self.unix_seconds);
        write_u32(&mut bytes, offset::AUDIT_BYTES, self.audit_bytes);
        write_u32(&mut bytes, offset::USED_BLOCKS, self.used_blocks);
        let max_fpr = self.max_fpr.map_or(0, f64::to_bits);
        write_u64(&mut bytes, offset::MAX_FPR, max_fpr);
        bytes[offset::REGISTERS..offset::REGISTERS + Registers::BYTES]
            .copy_from_slice(&self.registers.to_bytes());
        bytes[offset::PARAMETERS..offset::PARAMETERS + parameters.len()]
            .copy_from_slice(&parameters);
        let checksum = checksum_of(&bytes);
        write_u32(&mut bytes, offset::CHECKSUM, checksum);
        Ok(bytes)
    }

    /// Reads and checks the superblock of an image, and checks the size of every file.
    pub fn read(medium: &impl Medium, file: StoreFile) -> Result<Self, StoreError> {
        let superblock = Self::read_alone(medium, file)?;
        for file in StoreFile::ALL {
            let expected = superblock.layout.file_bytes(file);
            let found = medium.file_bytes(file)?;
            if found != expected {
                let (expected, found) = (format!("{expected} bytes"), format!("{found} bytes"));
                return Err(damage(file, 0, expected, found));
            }
        }
        Ok(superblock)
    }

    /// Reads and checks the superblock of an image. Does not check the sizes of the files.
    pub fn read_alone(medium: &impl Medium, file: StoreFile) -> Result<Self, StoreError> {
        let length = medium.file_bytes(file)?;
        if length < SUPERBLOCK_BYTES {
            return Err(damage(
                file,
                0,
                format!("at least {SUPERBLOCK_BYTES} bytes"),
                format!("{length} bytes"),
            ));
        }
        let mut bytes = vec![0; SUPERBLOCK_BYTES as usize];
        medium.read_at(file, 0, &mut bytes)?;
        Self::decode(file, &bytes)
    }

    fn decode(file: StoreFile, bytes: &[u8]) -> Result<Self, StoreError> {
        let wrong = |offset: usize, expected: &str, found: String| {
            Err(damage(file, offset as u64, expected.to_owned(), found))
        };
        if &bytes[..8] != MAGIC {
            let found = match bytes.iter().all(|&byte| byte == 0) {
                true => "zeros: an unfinished image".to_owned(),
                false => format!("{:02x?}", &bytes[..8]),
            };
            return wrong(0, "the superblock's magic", found);
        }
        let (stored, computed) = (read_u32(bytes, offset::CHECKSUM), checksum_of(bytes));
        if stored != computed && !planted(Mutant::SuperblockNotChecked) {
            return wrong(
                offset::CHECKSUM,
                &format!("checksum {computed:08x}"),
                format!("{stored:08x}"),
            );
        }
        let version = read_u32(bytes, offset::VERSION);
        if version > VERSION {
            return Err(StoreError::NewerVersion {
                file,
                found: version,
                supported: VERSION,
            });
        }
        if version == 0 {
            return wrong(
                offset::VERSION,
                "a version of at least 1",
                version.to_string(),
            );
        }
        let features = read_u32(bytes, offset::INCOMPATIBLE);
        let unknown = features & !KNOWN_FEATURES;
        if unknown != 0 {
            return Err(StoreError::UnknownFeatures {
                file,
                bits: unknown,
            });
        }
        let scheme = read_u32(bytes, offset::HASH_SCHEME);
        if HashScheme::from_id(scheme).is_none() {
            return wrong(
                offset::HASH_SCHEME,
                "a known hash scheme",
                scheme.to_string(),
            );
        }
        let generation = read_u64(bytes, offset::GENERATION);
        if StoreFile::image(generation) != file {
            return wrong(
                offset::GENERATION,
                "a generation that belongs to this file",
                generation.to_string(),
            );
        }
        if u64::from(read_u32(bytes, offset::BLOCK_BYTES)) != BLOCK_BYTES {
            let found = read_u32(bytes, offset::BLOCK_BYTES).to_string();
            return wrong(offset::BLOCK_BYTES, &BLOCK_BYTES.to_string(), found);
        }
        let region_bytes = read_u64(bytes, offset::REGION_BYTES);
        if !(1..=crate::filter::MAX_MEMORY_BITS / 8).contains(&region_bytes) {
            return wrong(
                offset::REGION_BYTES,
                "a possible size",
                region_bytes.to_string(),
            );
        }
        let log_bytes = read_u64(bytes, offset::LOG_BYTES);
        if !(MIN_LOG_BYTES..=MAX_LOG_BYTES).contains(&log_bytes) {
            return wrong(offset::LOG_BYTES, "a possible size", log_bytes.to_string());
        }
        let max_fpr = f64::from_bits(read_u64(bytes, offset::MAX_FPR));
        let max_fpr = (features & MAX_FPR != 0).then_some(max_fpr);
        if let Some(found) = max_fpr.filter(|&rate| !is_fpr_limit(rate)) {
            let expected = "a rate above 0 and at most 1";
            return wrong(offset::MAX_FPR, expected, found.to_string());
        }
        let parameter_bytes = read_u32(bytes, offset::PARAMETER_BYTES) as usize;
        let parameters = bytes
            .get(offset::PARAMETERS..offset::PARAMETERS + parameter_bytes.min(MAX_PARAMETER_BYTES))
            .and_then(Parameters::decode);
        let Some(parameters) = parameters else {
            return wrong(
                offset::PARAMETERS,
                "parameters",
                "bytes that do not decode".to_owned(),
            );
        };
        let mut store_id = [0; 16];
        store_id.copy_from_slice(&bytes[offset::STORE_ID..offset::STORE_ID + 16]);
        let mut registers = [0; Registers::BYTES];
        registers.copy_from_slice(&bytes[offset::REGISTERS..offset::REGISTERS + Registers::BYTES]);
        Ok(Superblock {
            features,
            store_id,
            generation,
            log: LogPosition {
                epoch: read_u64(bytes, offset::LOG_EPOCH),
                offset: read_u64(bytes, offset::LOG_OFFSET),
                chain: read_u32(bytes, offset::LOG_CHAIN),
                sequence: read_u64(bytes, offset::SEQUENCE),
            },
            table_checksum: read_u32(bytes, offset::TABLE_CHECKSUM),
            layout: Layout {
                region_bytes,
                log_bytes,
            },
            unix_seconds: read_u64(bytes, offset::UNIX_SECONDS),
            audit_bytes: read_u32(bytes, offset::AUDIT_BYTES),
            used_blocks: read_u32(bytes, offset::USED_BLOCKS),
            max_fpr,
            registers: Registers::from_bytes(&registers),
            parameters,
        })
    }
}

/// Returns whether a store can have this limit of its false positive rate.
pub fn is_fpr_limit(rate: f64) -> bool {
    rate > 0.0 && rate <= 1.0
}

fn checksum_of(bytes: &[u8]) -> u32 {
    checksum_at(&[0; 16], 0, 0, &bytes[..offset::CHECKSUM])
}

fn damage(file: StoreFile, offset: u64, expected: String, found: String) -> StoreError {
    StoreError::Corrupt(Damage {
        file,
        offset,
        expected,
        found,
    })
}
