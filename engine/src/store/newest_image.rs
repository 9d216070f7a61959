//! The newest valid image and the filter that its superblock describes.

use super::error::{Damage, StoreError};
use super::format::layout::BLOCK_BYTES;
use super::format::superblock::{GROWS, Superblock, offset};
use super::medium::{Medium, StoreFile};
use super::mutant::{Mutant, planted};
use crate::audit::AuditedFilter;
use crate::filter::FilterSpec;
use crate::seen_set::build_for_keys;

/// Reads the newest valid superblock.
pub fn newest_superblock(medium: &impl Medium) -> Result<Superblock, StoreError> {
    let read = [StoreFile::Image0, StoreFile::Image1].map(|file| Superblock::read(medium, file));
    match read {
        [Ok(a), Ok(b)] => {
            let (older, newer) = if a.generation < b.generation {
                (a, b)
            } else {
                (b, a)
            };
            if older.store_id != newer.store_id || newer.generation - older.generation != 1 {
                return Err(StoreError::Corrupt(Damage {
                    file: newer.file(),
                    offset: offset::GENERATION as u64,
                    expected: "images of one store and of successive generations".to_owned(),
                    found: format!("generations {} and {}", older.generation, newer.generation),
                }));
            }
            match planted(Mutant::OldestImageChosen) {
                true => Ok(older),
                false => Ok(newer),
            }
        }
        // An image in a newer format may be the newer one: the other must not be used.
        [Err(error), _] | [_, Err(error)] if !matches!(error, StoreError::Corrupt(_)) => Err(error),
        [Ok(only), Err(_)] | [Err(_), Ok(only)] => Ok(only),
        [Err(error), Err(_)] => Err(error),
    }
}

/// Builds the filter that a superblock describes, and checks it against the superblock's sizes
/// and counts.
pub fn filter_of(superblock: &Superblock) -> Result<(FilterSpec, AuditedFilter), StoreError> {
    let parameters = &superblock.parameters;
    let spec: FilterSpec = parameters
        .filter
        .parse()
        .map_err(StoreError::UnknownFilter)?;
    let filter = build_for_keys(&spec, parameters.memory_bits, superblock.audit_bytes)?;
    if filter.region_bytes() as u64 != superblock.layout.region_bytes {
        return Err(StoreError::Corrupt(Damage {
            file: superblock.file(),
            offset: offset::REGION_BYTES as u64,
            expected: format!("a region of {} bytes", filter.region_bytes()),
            found: format!("{} bytes", superblock.layout.region_bytes),
        }));
    }
    if !filter.filter().accepts(&superblock.registers) {
        return Err(StoreError::Corrupt(Damage {
            file: superblock.file(),
            offset: offset::REGISTERS as u64,
            expected: "registers that the filter can have".to_owned(),
            found: "others".to_owned(),
        }));
    }
    let used_bytes = filter.filter().used_bytes(&superblock.registers) as u64;
    let is_described = superblock.features & GROWS == 0
        || u64::from(superblock.used_blocks) >= used_bytes.div_ceil(BLOCK_BYTES);
    if !is_described {
        return Err(StoreError::Corrupt(Damage {
            file: superblock.file(),
            offset: offset::USED_BLOCKS as u64,
            expected: format!("{} used blocks", used_bytes.div_ceil(BLOCK_BYTES)),
            found: superblock.used_blocks.to_string(),
        }));
    }
    if superblock.registers.sequence() != superblock.log.sequence {
        return Err(StoreError::Corrupt(Damage {
            file: superblock.file(),
            offset: offset::SEQUENCE as u64,
            expected: format!("sequence number {}", superblock.registers.sequence()),
            found: format!("sequence number {}", superblock.log.sequence),
        }));
    }
    Ok((spec, filter))
}
