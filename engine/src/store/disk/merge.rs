//! Merging stores into a new one.

use std::path::{Path, PathBuf};

use super::create::random_id;
use super::directory::Directory;
use super::new_directory::check_free;
use crate::lines::{KeyRule, RecordedKey};
use crate::store::create::create_from_snapshot;
use crate::store::error::StoreError;
use crate::store::snapshot::Snapshot;

/// The result of a merge.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct MergeReport {
    /// The number of observations of all stores.
    pub observations: u64,
    /// The share of cells in use.
    pub load: f64,
    /// The probability that the next new key is reported as Seen.
    pub drop_chance: f64,
    /// The size of the new store on disk.
    pub disk_bytes: u64,
}

/// Why stores cannot be merged.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MergeError {
    /// No store was given.
    #[error("no store to merge was given")]
    NoSources,
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

/// Creates a store that has seen every key that any of several stores has seen. Of their limits of
/// the false positive rate it has the lowest. They are only read, without a lock, and at most two
/// of them are in memory at once. The new store is read back before it gets its name.
pub fn merge(
    destination: impl AsRef<Path>,
    sources: &[impl AsRef<Path>],
) -> Result<MergeReport, MergeError> {
    let destination = destination.as_ref();
    check_free(destination).map_err(at(destination))?;
    let [first, others @ ..] = sources else {
        return Err(MergeError::NoSources);
    };
    let first = first.as_ref();
    let mut union = snapshot(first)?;
    for other in others {
        unite(&mut union, first, other.as_ref())?;
    }
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

fn at(path: &Path) -> impl FnOnce(StoreError) -> MergeError {
    let path = path.to_owned();
    move |error| MergeError::Store { path, error }
}

fn snapshot(path: &Path) -> Result<Snapshot, MergeError> {
    let medium = Directory::open_read_only(path).map_err(at(path))?;
    Snapshot::current(&medium).map_err(at(path))
}

/// Adds the keys of the store at `second` to the union, which began with the store at `first`.
fn unite(union: &mut Snapshot, first: &Path, second: &Path) -> Result<(), MergeError> {
    let other = snapshot(second)?;
    for (what, one, other) in differences(union, &other) {
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
    } = union;
    let met = (&other.filter, &*other.region, &other.registers);
    let united = filter.merge(region, registers, met);
    united.map_err(|reason| MergeError::NoUnion {
        filter: union.spec.to_string(),
        reason,
    })?;
    // The strictest limit holds for the keys of all.
    let limits = [&*union, &other].map(|it| it.superblock.max_fpr);
    let limit = limits.into_iter().flatten().reduce(f64::min);
    union.superblock = union.superblock.clone().with_max_fpr(limit);
    Ok(())
}

/// Returns what must be equal in both stores: its name and the two values.
fn differences(one: &Snapshot, other: &Snapshot) -> [(&'static str, String, String); 5] {
    let (a, b) = (&one.superblock.parameters, &other.superblock.parameters);
    let bits = |bits: u64| format!("{bits} bits");
    let normalization = |text: &str| match RecordedKey::normalization_name(text) {
        "" => "none".to_owned(),
        name => name.to_owned(),
    };
    let key = |text: &str| match RecordedKey::rule_text(text) {
        Some(rule) => match rule.parse::<KeyRule>() {
            Ok(known) => known.canonical().to_string(),
            Err(_) => rule.to_owned(),
        },
        None => "not recorded".to_owned(),
    };
    [
        ("filters", a.filter.clone(), b.filter.clone()),
        ("memory sizes", bits(a.memory_bits), bits(b.memory_bits)),
        ("seeds", a.seed.to_string(), b.seed.to_string()),
        (
            "normalizations",
            normalization(&a.normalization),
            normalization(&b.normalization),
        ),
        ("keys", key(&a.normalization), key(&b.normalization)),
    ]
}
