//! Where a state starts: the newest whole superblock, and the filter that it describes.

use super::error::{Damage, StoreError};
use super::medium::{Medium, StoreFile};
use super::mutant::{Mutant, planted};
use super::superblock::{Superblock, offset};
use crate::audit::AuditedFilter;
use crate::filter::FilterSpec;
use crate::seen_set::build_for_keys;

/// The superblock to start from: the newest whole one.
pub fn newest_superblock(medium: &impl Medium) -> Result<Superblock, StoreError> {
    let read = [StoreFile::Image0, StoreFile::Image1].map(|file| Superblock::read(medium, file));
    match read {
        [Ok(a), Ok(b)] => {
            let (older, newer) = if a.generation < b.generation {
                (a, b)
            } else {
                (b, a)
            };
            if older.store_id != newer.store_id || older.generation + 1 != newer.generation {
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
        // An image of a newer format may be the newer one: nothing is safe to assume.
        [Err(error), _] | [_, Err(error)] if !matches!(error, StoreError::Corrupt(_)) => Err(error),
        [Ok(only), Err(_)] | [Err(_), Ok(only)] => Ok(only),
        [Err(error), Err(_)] => Err(error),
    }
}

/// The filter that a superblock describes, if it fits the sizes it claims.
pub fn filter_of(superblock: &Superblock) -> Result<(FilterSpec, AuditedFilter), StoreError> {
    let parameters = &superblock.parameters;
    let spec: FilterSpec = parameters.filter.parse().map_err(|error| {
        StoreError::Parameters(format!("the store's filter is not known here: {error}"))
    })?;
    let filter = build_for_keys(&spec, parameters.memory_bits, superblock.audit_bytes)?;
    if filter.region_bytes() as u64 != superblock.layout.region_bytes {
        return Err(StoreError::Corrupt(Damage {
            file: superblock.file(),
            offset: offset::REGION_BYTES as u64,
            expected: format!("a region of {} bytes", filter.region_bytes()),
            found: superblock.layout.region_bytes.to_string(),
        }));
    }
    if superblock.registers.observations() != superblock.log.sequence {
        return Err(StoreError::Corrupt(Damage {
            file: superblock.file(),
            offset: offset::SEQUENCE as u64,
            expected: format!("{} observations", superblock.registers.observations()),
            found: superblock.log.sequence.to_string(),
        }));
    }
    Ok((spec, filter))
}
