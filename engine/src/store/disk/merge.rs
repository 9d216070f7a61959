//! Two stores made one.

use std::path::{Path, PathBuf};

use super::directory::Directory;
use super::making::random_id;
use crate::store::error::StoreError;
use crate::store::plant::plant;
use crate::store::snapshot::Snapshot;

/// What a merged store holds.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct MergeReport {
    /// Observations of both.
    pub observations: u64,
    /// The share of cells in use.
    pub load: f64,
    /// The chance that a key never met would be taken for Seen.
    pub drop_chance: f64,
    /// Its size on disk.
    pub disk_bytes: u64,
}

/// Why two stores cannot be one.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MergeError {
    /// They were made differently.
    #[error("{} and {} cannot be merged: their {what} differ, {one} and {other}", first.display(), second.display())]
    Different {
        /// The first.
        first: PathBuf,
        /// The second.
        second: PathBuf,
        /// In what.
        what: &'static str,
        /// What the first has.
        one: String,
        /// What the second has.
        other: String,
    },
    /// Their filter has no union.
    #[error("{filter} cannot be merged: {reason}")]
    NoUnion {
        /// The filter, in its text form.
        filter: String,
        /// Why.
        reason: &'static str,
    },
    /// One of them cannot be read, or the new one cannot be written.
    #[error("{error}")]
    Store {
        /// Which.
        path: PathBuf,
        /// Why.
        error: StoreError,
    },
}

/// Makes a store that has met what either of two others has. Both are only read, without a
/// lock; the new one is read back before it gets its name.
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
    let united = filter.unite(region, registers, met);
    united.map_err(|reason| MergeError::NoUnion {
        filter: union.spec.to_string(),
        reason,
    })?;
    drop(other);
    let layout = union.superblock.layout;
    let report = MergeReport {
        observations: union.sequence(),
        load: union.filter.filter().load(&union.registers),
        drop_chance: union.filter.filter().drop_chance(&union.registers),
        disk_bytes: layout.disk_bytes(),
    };
    let planted = Directory::create(destination, &layout, |directory| {
        plant(directory, random_id(), union)
    });
    planted.map_err(at(destination))?;
    Ok(report)
}

/// What must be the same, in both.
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
