//! From a name and options to a store: found, or made.

use std::fmt::Display;
use std::fs;
use std::path::Path;
use std::time::Duration;

use dedupstore::FilterSpec;
use dedupstore::advise::DEFAULT_FILTER;
use dedupstore::lines::Normalization;
use dedupstore::store::{
    CreateOptions, Durability, OpenOptions, Parameters, RecoveryReport, Store,
};

use crate::error::Failure;
use crate::quantity;
use crate::table::grouped;

/// The memory of those who choose none; their filter is [`DEFAULT_FILTER`].
pub const DEFAULT_MEMORY: &str = "64MiB";

/// Which filter, where that is open; None leaves it to the store, or to the defaults.
#[derive(Debug, clap::Args)]
pub struct FilterArguments {
    /// Memory for the filter [default: 64MiB, or the store's]
    #[arg(short, long, value_name = "SIZE", value_parser = quantity::size, help_heading = "Filter")]
    pub memory: Option<u64>,

    /// Which filter, as name:parameter=value,…; `dedupstore filters` lists them
    /// [default: blocked:k=6,cap=85, or the store's]
    #[arg(short, long, value_name = "SPEC", help_heading = "Filter")]
    pub filter: Option<FilterSpec>,

    /// Seed of the hash and of the filter's choices [default: the store's; random for a new
    /// store; 0 without one]
    #[arg(long, value_name = "N", help_heading = "Filter")]
    pub seed: Option<u64>,
}

impl FilterArguments {
    /// What was chosen, and the defaults for the rest.
    pub fn choice(&self) -> Result<CreateOptions, Failure> {
        let filter = match &self.filter {
            Some(filter) => filter.clone(),
            None => DEFAULT_FILTER
                .parse()
                .map_err(|error| Failure::Usage(format!("{DEFAULT_FILTER}: {error}")))?,
        };
        let memory = match self.memory {
            Some(bytes) => bytes,
            None => quantity::size(DEFAULT_MEMORY).map_err(Failure::Usage)?,
        };
        let mut options = CreateOptions::new(filter, memory.saturating_mul(8));
        options.seed = self.seed;
        Ok(options)
    }

    /// What was chosen must be what the store is.
    pub fn agree_with(&self, path: &Path, store: &Parameters) -> Result<(), Failure> {
        let contradiction = |option: &str, asked: &dyn Display, is: &dyn Display| {
            Err(Failure::Usage(format!(
                "{} was made with {option} {is}; {option} {asked} contradicts it: leave it out, or name another store",
                path.display()
            )))
        };
        if let Some(memory) = self.memory
            && memory.saturating_mul(8) != store.memory_bits
        {
            let (asked, is) = (memory * 8, store.memory_bits);
            let shown = |bits| quantity::show_bits(bits).replace(' ', "");
            return contradiction("--memory", &shown(asked), &shown(is));
        }
        if let Some(filter) = &self.filter
            && filter.to_string() != store.filter
        {
            return contradiction("--filter", filter, &store.filter);
        }
        match self.seed {
            Some(seed) if seed != store.seed => contradiction("--seed", &seed, &store.seed),
            _ => Ok(()),
        }
    }
}

/// How a store's keys are normalized, which must be what was asked for.
pub fn normalization(
    path: &Path,
    store: &Parameters,
    asked: Option<Normalization>,
) -> Result<Normalization, Failure> {
    let path = path.display();
    let is: Normalization = store.normalization.parse().map_err(|_| {
        Failure::Usage(format!(
            "the keys of {path} are normalized by `{}`, which this program does not know: use a newer one",
            store.normalization
        ))
    })?;
    match asked {
        Some(asked) if asked != is => Err(Failure::Usage(format!(
            "{path} was made with --normalize {is}; --normalize {asked} contradicts it, as its keys are spelled \
             otherwise: leave the option out, or make another store: dedupstore create OTHER.dds --normalize {asked}"
        ))),
        _ => Ok(is),
    }
}

/// Whether an argument that could be a store or a file is a store: by its name, or by what
/// is there.
pub fn is_store(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default();
    name.as_encoded_bytes().ends_with(b".dds") || path.join("image.0").is_file()
}

/// Opens a store to write to it; one that is not there is made.
pub fn open_or_create(
    path: &Path,
    arguments: &FilterArguments,
    asked: Option<Normalization>,
    durability: Durability,
    quiet: bool,
) -> Result<Store, Failure> {
    let opening = OpenOptions {
        durability,
        ..OpenOptions::default()
    };
    if fs::symlink_metadata(path).is_err() {
        let mut choice = arguments.choice()?;
        choice.normalization = asked.unwrap_or_default().recorded().to_owned();
        let (store, made) = create(path, &choice, opening)?;
        if !quiet {
            eprintln!("dedupstore: {made}");
        }
        return Ok(store);
    }
    let store = Store::open(path, opening).map_err(Failure::store(path))?;
    arguments.agree_with(path, store.parameters())?;
    normalization(path, store.parameters(), asked)?;
    if let Some(recovered) = recovered(path, store.recovery())
        && !quiet
    {
        eprintln!("dedupstore: {recovered}");
    }
    Ok(store)
}

/// Makes a store, and says what it is.
pub fn create(
    path: &Path,
    options: &CreateOptions,
    opening: OpenOptions,
) -> Result<(Store, String), Failure> {
    let failed = |error| Failure::store(path)(error);
    let disk_bytes = options.layout().map_err(failed)?.disk_bytes();
    let store = Store::create(path, options, opening).map_err(failed)?;
    let said = format!(
        "made {}: {} in {} of memory; {} of disk, which never grows",
        path.display(),
        options.filter,
        quantity::show_bits(options.memory_bits),
        quantity::show_bits(8 * disk_bytes),
    );
    Ok((store, said))
}

/// What there is to say about a store that was not closed.
fn recovered(path: &Path, report: &RecoveryReport) -> Option<String> {
    if report.replayed == 0 && report.torn.is_none() {
        return None;
    }
    let torn = match report.torn {
        Some(_) => "; what a crash tore off behind had not been acknowledged",
        None => "",
    };
    let count = match report.replayed {
        1 => "1 observation was".to_owned(),
        more => format!("{} observations were", grouped(more)),
    };
    Some(format!(
        "{} was not closed; {count} recovered from its log{torn}",
        path.display(),
    ))
}

/// When what was met becomes durable: `every`, `none`, or an interval.
pub fn durability(text: &str) -> Result<Durability, String> {
    let expected = || format!("expected every, none, or a time like 1s or 500ms; found `{text}`");
    match text {
        "every" => Ok(Durability::Every),
        "none" => Ok(Durability::None),
        _ => match quantity::time(text) {
            Ok(Duration::ZERO) => Err(format!("{}; for no delay at all, every", expected())),
            Ok(interval) => Ok(Durability::Interval(interval)),
            Err(_) => Err(expected()),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stores_are_told_by_their_name() {
        for name in ["links.dds", "a/links.dds/", "./x.y.dds", ".dds"] {
            assert!(is_store(Path::new(name)), "{name}");
        }
        for name in ["links", "links.dds.txt", "links.dds/x", "-", "ddds", ""] {
            assert!(!is_store(Path::new(name)), "{name}");
        }
    }

    #[test]
    fn durability_as_people_write_it() {
        assert_eq!(durability("every"), Ok(Durability::Every));
        assert_eq!(durability("none"), Ok(Durability::None));
        assert_eq!(durability("1s"), Ok(Durability::default()));
        let half = Durability::Interval(Duration::from_millis(500));
        assert_eq!(durability("500ms"), Ok(half));
        for text in ["", "never", "0s", "1", "-1s"] {
            assert!(durability(text).is_err(), "{text}");
        }
    }
}
