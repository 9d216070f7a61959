//! Opens a store, or creates it.

use std::fs;
use std::path::Path;

use dedupstore::lines::{KeyOptions, KeyRule};
use dedupstore::store::{
    CreateOptions, Durability, OpenOptions, RecoveryReport, Store, StoreError, holds_store,
};
use dedupstore_server::ServerAddress;
use dedupstore_view::{CreateCommand, forgetting, key_options_quoted};

use crate::cleanup::CleanupOnSignal;
use crate::error::Failure;
use crate::leftovers;
use crate::missing_times;
use crate::standard_error;
use crate::table::plural;
use crate::value_parsers::show_bits;
use crate::wait::Wait;

/// Returns whether a path that can name a store or a file names a store: by its extension, because
/// it is a directory with any file of a store, or because it is the address of a server.
pub fn is_store(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default();
    name.as_encoded_bytes().ends_with(b".dds")
        || path.to_str().is_some_and(ServerAddress::is_address)
        || holds_store(path)
}

/// How to open the store of `filter`.
pub struct Opening<'a> {
    /// The options that an existing store must agree with.
    pub options: &'a CreateOptions,
    /// The limit of the false positive rate that a new store records. An existing one may have
    /// another.
    pub max_fpr: Option<f64>,
    pub durability: Durability,
    /// Whether to create a store that does not exist.
    pub create: bool,
    pub wait: Wait,
}

/// Opens a store for writing, or creates it if the path does not exist. Reports on standard error
/// that it was created or recovered.
pub fn open_or_create(path: &Path, opening: &Opening<'_>, quiet: bool) -> Result<Store, Failure> {
    let open = OpenOptions::new().durability(opening.durability);
    if opening.create && fs::symlink_metadata(path).is_err() {
        leftovers::report(path, quiet);
    }
    let _cleanup = CleanupOnSignal::start_ignoring_hangup();
    let (store, is_new) = opening.wait.until_free(path, quiet, || {
        if opening.create && fs::symlink_metadata(path).is_err() {
            let options = opening.options.clone();
            let options = opening
                .max_fpr
                .into_iter()
                .fold(options, CreateOptions::max_fpr);
            match open.create(path, &options) {
                // Another process has created it meanwhile.
                Err(StoreError::AlreadyExists { .. }) => {}
                created => return created.map(|store| (store, true)),
            }
        }
        Ok((open.open(path)?, false))
    })?;
    if !is_new {
        let like_it = CreateCommand::like(store.parameters(), store.max_fpr());
        let agreed = store.check_agreement(opening.options);
        agreed.map_err(Failure::agreement(path, &like_it))?;
    }
    let message = match is_new {
        false => recovered(path, store.recovery()),
        true => {
            let rule = store.parameters().key_rule(&KeyOptions::default());
            let rule = rule.map_err(Failure::store(path))?;
            let limit = store.max_fpr().map(recorded_limit);
            let recorded = [recorded_key(&rule), recorded_time(&rule), limit];
            let recorded = recorded.into_iter().flatten();
            let recorded: String = recorded.map(|it| format!("; its {it}")).collect();
            let forgets = (store.filter().window()).map(|clock| forgetting(store.spec(), clock));
            let forgets = forgets.map_or(String::new(), |forgets| format!("; it {forgets}"));
            Some(created(path, &store) + &forgets + &recorded)
        }
    };
    if let Some(message) = message
        && !quiet
    {
        standard_error::message(message);
    }
    Ok(store)
}

/// Describes a recorded rule; None if keys are unchanged lines.
pub fn recorded_key(rule: &KeyRule) -> Option<String> {
    let mut key = rule.clone();
    key.time = None;
    match key_options_quoted(&key) {
        options if options.is_empty() => None,
        options => Some(format!("key options, for every run: {options}")),
    }
}

/// Describes where lines have their time; None for the clock of the machine.
pub fn recorded_time(rule: &KeyRule) -> Option<String> {
    rule.time.as_ref()?;
    let options = missing_times::time_options(rule);
    Some(format!("time options, for every run: {options}"))
}

/// Describes a recorded limit of the false positive rate.
pub fn recorded_limit(rate: f64) -> String {
    format!("limit, for every run: --max-fpr {rate}")
}

/// Describes a new store.
pub fn created(path: &Path, store: &Store) -> String {
    format!(
        "created {}: {} in {} of memory, {} of disk (fixed size)",
        path.display(),
        store.spec(),
        show_bits(store.parameters().memory_bits),
        show_bits(8 * store.layout().disk_bytes()),
    )
}

/// Describes what was recovered; None if the store was closed.
fn recovered(path: &Path, report: &RecoveryReport) -> Option<String> {
    if report.replayed == 0 && report.torn.is_none() {
        return None;
    }
    let torn = match report.torn {
        Some(_) => {
            "; a torn write at the end of the log was discarded, it had not been acknowledged"
        }
        None => "",
    };
    Some(format!(
        "{} was not closed; recovered {} from its log{torn}",
        path.display(),
        plural(report.replayed, "observation"),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stores_are_recognized_by_their_extension() {
        for name in [
            "links.dds",
            "a/links.dds/",
            "./x.y.dds",
            ".dds",
            "redis://h/a",
        ] {
            assert!(is_store(Path::new(name)), "{name}");
        }
        for name in ["links", "links.dds.txt", "links.dds/x", "-", "ddds", ""] {
            assert!(!is_store(Path::new(name)), "{name}");
        }
    }
}
