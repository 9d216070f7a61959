//! The head of an image: who the store is, what its filter is, and where the log goes on.

use serde::{Deserialize, Serialize};

use super::checksum::{StoreId, placed};
use super::error::{Damage, StoreError};
use super::layout::{BLOCK_BYTES, Layout, MAX_LOG_BYTES, MIN_LOG_BYTES, SUPERBLOCK_BYTES};
use super::medium::{Medium, StoreFile};
use super::mutant::{Mutant, planted};
use crate::bytes::{read_u32, read_u64, write_u32, write_u64};
use crate::filter::Registers;
use crate::fingerprint::HashScheme;

/// The first bytes of an image.
pub const MAGIC: &[u8; 8] = b"dedupsto";
/// The format this program writes, and the newest it reads.
pub const VERSION: u32 = 1;
/// A feature that a reader must know: the log may have frames that leave out observations
/// without trace.
pub const SPARSE_LOG: u32 = 1;
/// Another: an audit lies behind the filter in the region.
pub const AUDIT: u32 = 2;
/// All such features.
pub const KNOWN_FEATURES: u32 = SPARSE_LOG | AUDIT;

/// Byte offsets of the fields. The format document lists the same, and a test compares.
pub mod offset {
    /// Eight letters.
    pub const MAGIC: usize = 0;
    /// Format version.
    pub const VERSION: usize = 8;
    /// Features an older reader may ignore.
    pub const COMPATIBLE: usize = 12;
    /// Features a reader must know.
    pub const INCOMPATIBLE: usize = 16;
    /// How keys are hashed.
    pub const HASH_SCHEME: usize = 20;
    /// The store's identity.
    pub const STORE_ID: usize = 24;
    /// Which image this is.
    pub const GENERATION: usize = 40;
    /// Observations in the image.
    pub const SEQUENCE: usize = 48;
    /// The log that goes on from here.
    pub const LOG_EPOCH: usize = 56;
    /// Where in it.
    pub const LOG_OFFSET: usize = 64;
    /// The checksum of the frame before.
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
    /// The filter's registers.
    pub const REGISTERS: usize = 128;
    /// The parameters.
    pub const PARAMETERS: usize = 640;
    /// The checksum of all before.
    pub const CHECKSUM: usize = 4092;
}

/// The most the parameters may take.
const MAX_PARAMETER_BYTES: usize = offset::CHECKSUM - offset::PARAMETERS;

/// What was chosen when the store was made, and never changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parameters {
    /// The filter, in its text form.
    pub filter: String,
    /// The memory it was given.
    pub memory_bits: u64,
    /// The seed of its hash and of its choices.
    pub seed: u64,
    /// How keys were changed before they were hashed; empty if not at all. The store only
    /// keeps it for those who feed it.
    pub normalization: String,
    /// When the store was made, in seconds since 1970.
    pub created_unix_seconds: u64,
}

impl Parameters {
    /// bincode 1 in its default form: little-endian, lengths as 64 bits.
    pub fn encode(&self) -> Result<Vec<u8>, StoreError> {
        let bytes = bincode::serialize(self)
            .map_err(|error| StoreError::Parameters(format!("cannot encode: {error}")))?;
        if bytes.len() > MAX_PARAMETER_BYTES {
            return Err(StoreError::Parameters(format!(
                "the filter's text and the normalization take {} bytes; at most {MAX_PARAMETER_BYTES} fit",
                bytes.len()
            )));
        }
        Ok(bytes)
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

/// The head of an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Superblock {
    /// Features that a reader must know.
    pub features: u32,
    /// The store's identity.
    pub store_id: StoreId,
    /// Which image this is; they alternate.
    pub generation: u64,
    /// Observations in the image.
    pub log: LogPosition,
    /// The checksum of the table of block checksums.
    pub table_checksum: u32,
    /// The sizes of the files.
    pub layout: Layout,
    /// When the image was finished.
    pub unix_seconds: u64,
    /// What the audit was given; 0 if there is none.
    pub audit_bytes: u32,
    /// The filter's registers.
    pub registers: Registers,
    /// What never changes.
    pub parameters: Parameters,
}

/// A point between two frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogPosition {
    /// Which log.
    pub epoch: u64,
    /// Where in it.
    pub offset: u64,
    /// The checksum of the frame before, or of the log's header.
    pub chain: u32,
    /// Observations before this point.
    pub sequence: u64,
}

impl Superblock {
    /// The image it heads.
    pub fn file(&self) -> StoreFile {
        StoreFile::image(self.generation)
    }

    /// As bytes, with its checksum.
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
        bytes[offset::REGISTERS..offset::REGISTERS + Registers::BYTES]
            .copy_from_slice(&self.registers.to_bytes());
        bytes[offset::PARAMETERS..offset::PARAMETERS + parameters.len()]
            .copy_from_slice(&parameters);
        let checksum = checksum_of(&bytes);
        write_u32(&mut bytes, offset::CHECKSUM, checksum);
        Ok(bytes)
    }

    /// Reads the head of an image; whatever is wrong with it, or with the size of any file,
    /// is said.
    pub fn read(medium: &impl Medium, file: StoreFile) -> Result<Self, StoreError> {
        let superblock = Self::read_alone(medium, file)?;
        for file in StoreFile::ALL {
            let expected = superblock.layout.file_bytes(file);
            let found = medium
                .len(file)
                .map_err(|error| StoreError::on_file("look at", file, error))?;
            if found != expected {
                let (expected, found) = (format!("{expected} bytes"), format!("{found}"));
                return Err(damage(file, 0, expected, found));
            }
        }
        Ok(superblock)
    }

    /// Reads the head of an image and looks at nothing else.
    pub fn read_alone(medium: &impl Medium, file: StoreFile) -> Result<Self, StoreError> {
        let length = medium
            .len(file)
            .map_err(|error| StoreError::on_file("look at", file, error))?;
        if length < SUPERBLOCK_BYTES {
            return Err(damage(
                file,
                0,
                format!("at least {SUPERBLOCK_BYTES} bytes"),
                format!("{length}"),
            ));
        }
        let mut bytes = vec![0; SUPERBLOCK_BYTES as usize];
        medium
            .read(file, 0, &mut bytes)
            .map_err(|error| StoreError::on_file("read", file, error))?;
        Self::decode(file, &bytes)
    }

    fn decode(file: StoreFile, bytes: &[u8]) -> Result<Self, StoreError> {
        let wrong = |offset: usize, expected: &str, found: String| {
            Err(damage(file, offset as u64, expected.to_owned(), found))
        };
        if &bytes[..8] != MAGIC {
            let found = match bytes.iter().all(|&byte| byte == 0) {
                true => "an image that is not finished".to_owned(),
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
            return wrong(offset::VERSION, "a version from 1", version.to_string());
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
                "a generation of this image",
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
                "a size that can be",
                region_bytes.to_string(),
            );
        }
        let log_bytes = read_u64(bytes, offset::LOG_BYTES);
        if !(MIN_LOG_BYTES..=MAX_LOG_BYTES).contains(&log_bytes) {
            return wrong(
                offset::LOG_BYTES,
                "a size that can be",
                log_bytes.to_string(),
            );
        }
        let parameter_bytes = read_u32(bytes, offset::PARAMETER_BYTES) as usize;
        let parameters = bytes
            .get(offset::PARAMETERS..offset::PARAMETERS + parameter_bytes.min(MAX_PARAMETER_BYTES))
            .and_then(Parameters::decode);
        let Some(parameters) = parameters else {
            return wrong(
                offset::PARAMETERS,
                "parameters",
                "bytes that are none".to_owned(),
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
            registers: Registers::from_bytes(&registers),
            parameters,
        })
    }
}

fn checksum_of(bytes: &[u8]) -> u32 {
    placed(&[0; 16], 0, 0, &bytes[..offset::CHECKSUM])
}

fn damage(file: StoreFile, offset: u64, expected: String, found: String) -> StoreError {
    StoreError::Corrupt(Damage {
        file,
        offset,
        expected,
        found,
    })
}
