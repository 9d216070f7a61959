//! Merging two stores into a new one.

use std::path::{Path, PathBuf};

use super::create::random_id;
use super::directory::Directory;
use crate::store::create::create_from_snapshot;
use crate::store::error::StoreError;
use crate::store::snapshot::Snapshot;

/// The result of a merge.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct MergeReport {
    /// The number of observations of both stores.
    pub observations: u64,
    /// The share of cells in use.
    pub load: f64,
    /// The probability that the next new key is reported as Seen.
    pub drop_chance: f64,
    /// The size of the new store on disk.
    pub disk_bytes: u64,
}

/// Why two stores cannot be merged.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MergeError {
    /// They were created with different parameters.
    #[error("{} and {} cannot be merged: their {what} differ, {one} and {other}", first.display(), second.display())]
    Different {
        /// The path of the first store.
        first: PathBuf,
        /// The path of the second store.
        second: PathBuf,
        /// The parameter that differs.
        what: &'static str,
        /// Its value in the first store.
        one: String,
        /// Its value in the second store.
        other: String,
    },
    /// The states of their filter cannot be united.
    #[error("{filter} cannot be merged: {reason}")]
    NoUnion {
        /// The filter, in its text form.
        filter: String,
        /// Why.
        reason: &'static str,
    },
    /// One of the stores cannot be read, or the new one cannot be written.
    #[error("{error}")]
    Store {
        /// The path of that store.
        path: PathBuf,
        /// Why.
        #[source]
        error: StoreError,
    },
}

/// Creates a store that has seen every key that either of two stores has seen. Of two limits of
/// the false positive rate it has the lower one. Both stores are only read, without a lock. The new store is read back before it gets its name.
pub fn merge(
    destination: impl AsRef<Path>,
    first: impl AsRef<Path>,
    second: impl AsRef<Path>,
) -> Result<MergeReport, MergeError> {
    let (destination, first, second) = (destination.as_ref(), first.as_ref(), second.as_ref());
    let at = |path: &Path| {
        let path = path.to_owned();
        move |error| MergeError::Store { path, error }
    };
    if std::fs::symlink_metadata(destination).is_ok() {
        let path = destination.to_owned();
        return Err(at(destination)(StoreError::AlreadyExists { path }));
    }
    let snapshot = |path: &Path| {
        let medium = Directory::open_read_only(path).map_err(at(path))?;
        Snapshot::current(&medium).map_err(at(path))
    };
    let mut union = snapshot(first)?;
    let other = snapshot(second)?;
    for (what, one, other) in differences(&union, &other) {
        if one != other {
            return Err(MergeError::Different {
                first: first.to_owned(),
                second: second.to_owned(),
                what,
                one,
                other,
            });
        }
    }
    let Snapshot {
        region,
        registers,
        filter,
        ..
    } = &mut union;
    let met = (&other.filter, &*other.region, &other.registers);
    let united = filter.merge(region, registers, met);
    united.map_err(|reason| MergeError::NoUnion {
        filter: union.spec.to_string(),
        reason,
    })?;
    // The stricter limit holds for the keys of both.
    let limits = [&union, &other].map(|it| it.superblock.max_fpr);
    let limit = limits.into_iter().flatten().reduce(f64::min);
    union.superblock = union.superblock.with_max_fpr(limit);
    drop(other);
    let layout = union.superblock.layout;
    let report = MergeReport {
        observations: union.sequence(),
        load: union.filter.filter().load(&union.registers),
        drop_chance: union.filter.filter().false_positive_rate(&union.registers),
        disk_bytes: layout.disk_bytes(),
    };
    let created = Directory::create(destination, &layout, |directory| {
        create_from_snapshot(directory, random_id(), union)
    });
    created.map_err(at(destination))?;
    Ok(report)
}

/// Returns what must be equal in both stores: its name and the two values.
fn differences(one: &Snapshot, other: &Snapshot) -> [(&'static str, String, String); 4] {
    let (a, b) = (&one.superblock.parameters, &other.superblock.parameters);
    let bits = |bits: u64| format!("{bits} bits");
    let named = |name: &str| match name {
        "" => "none".to_owned(),
        name => name.to_owned(),
    };
    [
        ("filters", a.filter.clone(), b.filter.clone()),
        ("memory sizes", bits(a.memory_bits), bits(b.memory_bits)),
        ("seeds", a.seed.to_string(), b.seed.to_string()),
        (
            "normalizations",
            named(&a.normalization),
            named(&b.normalization),
        ),
    ]
}
