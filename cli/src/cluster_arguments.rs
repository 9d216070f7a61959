//! The options of a store on Redis, and how it is opened and created.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use dedupstore::sites::{FailureRule, Slicing};
use dedupstore::store::{CreateOptions as LocalOptions, OpenOptions, Store};
use dedupstore::{DEFAULT_MEMORY, FilterSpec};
use dedupstore_cluster::{
    Access, Acknowledgement, ClusterAddress, ClusterError, ClusterStore, CreateOptions, Degrade,
    Window,
};
use dedupstore_view::{show_bits, span};

use crate::cluster_backend::ClusterBackend;
use crate::cluster_report;
use crate::error::Failure;
use crate::filter_arguments::FilterArguments;
use crate::key_arguments::KeyArguments;
use crate::local_path;
use crate::standard_error;

/// The filter of a new store on Redis: one command per key, and two bytes per key.
const FILTER: &str = "slot:values=65535";
/// How many slices a new store has.
const SLICES: u64 = 16;
/// How long to wait for copies.
const COPY_TIMEOUT: Duration = Duration::from_secs(1);

/// The options of a new store on Redis.
#[derive(Clone, Copy, Debug, Default, Args)]
pub struct ClusterArguments {
    /// Divide a store on Redis into so many slices, or as vertical:16 or diced:4x4 say; see
    /// docs/SITES.md [default: 16]
    #[arg(long, value_name = "N|SLICES", value_parser = slicing, help_heading = "Redis")]
    slices: Option<Slicing>,

    /// What to decide about a key if slices of a store on Redis do not answer: unknown, new, seen,
    /// or live-zero:x=N, which means Seen if at least N bits are known and all are set
    /// [default: unknown]
    #[arg(long, value_name = "RULE", help_heading = "Redis")]
    rule: Option<FailureRule>,
}

impl ClusterArguments {
    /// Returns whether one of them is given.
    pub fn is_given(self) -> bool {
        self.slices.is_some() || self.rule.is_some()
    }
}

/// When a key counts as recorded on Redis.
#[derive(Clone, Copy, Debug, Default, Args)]
pub struct AcknowledgementArguments {
    /// Wait until N replicas have what is recorded on Redis. Keys for which that is not confirmed
    /// within a second are counted and reported
    #[arg(long, value_name = "N", help_heading = "Redis")]
    replicas: Option<u32>,

    /// Wait until what is recorded on Redis is on disk there, and at the replicas of --replicas;
    /// needs Redis 7.2 or Valkey, with appendonly yes
    #[arg(long, help_heading = "Redis")]
    on_disk: bool,
}

impl AcknowledgementArguments {
    /// Returns whether one of them is given.
    pub fn is_given(self) -> bool {
        self.replicas.is_some() || self.on_disk
    }

    fn acknowledgement(self) -> Option<Acknowledgement> {
        self.is_given().then(|| Acknowledgement {
            replicas: self.replicas.unwrap_or(0),
            on_disk: self.on_disk,
            timeout: COPY_TIMEOUT,
        })
    }
}

fn slicing(text: &str) -> Result<Slicing, String> {
    match text.parse() {
        Ok(slices) => Ok(Slicing::Horizontal { slices }),
        Err(_) => text
            .parse()
            .map_err(|error: dedupstore::sites::SlicingError| {
                format!("expected a number of slices; {error}")
            }),
    }
}

/// Creates a store on Redis.
pub fn create(
    address: &ClusterAddress,
    access: Access,
    filter: &FilterArguments,
    key: &KeyArguments,
    cluster: ClusterArguments,
) -> Result<ClusterStore, Failure> {
    let spec = match &filter.filter {
        Some(given) => given.spec.clone(),
        None => FILTER
            .parse::<FilterSpec>()
            .map_err(|error| Failure::Usage(error.to_string()))?,
    };
    let memory = filter.memory.unwrap_or(DEFAULT_MEMORY.bytes());
    let window = filter.window.map(window).transpose()?;
    let slicing = cluster
        .slices
        .unwrap_or(Slicing::Horizontal { slices: SLICES });
    let options = CreateOptions {
        filter: spec,
        memory_bits: CreateOptions::bits_in(memory, slicing, window),
        window,
        slicing,
        rule: cluster.rule.unwrap_or(FailureRule::Unknown),
        recording: None,
        seed: filter.seed,
        key: key.rule()?.canonical().to_string(),
    };
    ClusterStore::create(address, access, &options).map_err(Failure::cluster(address))
}

fn window(seconds: u64) -> Result<Window, Failure> {
    let window = Window::of_span(Duration::from_secs(seconds));
    window.map_err(|reason| Failure::Usage(format!("--window: {reason}")))
}

/// How `filter` opens a store on Redis.
pub struct Opening<'a> {
    pub filter: &'a FilterArguments,
    pub key: &'a KeyArguments,
    pub leaf: Option<&'a Path>,
    pub acknowledgement: AcknowledgementArguments,
    pub create: bool,
    pub dry_run: bool,
    pub quiet: bool,
}

impl Opening<'_> {
    /// Opens the store, or creates it with the defaults if there is none.
    pub fn open(&self, address: ClusterAddress, access: Access) -> Result<ClusterBackend, Failure> {
        if self.leaf.is_some_and(local_path::is_address) {
            return Err(Failure::Usage(
                "--leaf takes the path of a local store, not the address of a server".to_owned(),
            ));
        }
        let mut store = match ClusterStore::open(&address, access.clone()) {
            Err(ClusterError::NotFound { .. }) if self.create => {
                let cluster = ClusterArguments::default();
                let store = create(&address, access, self.filter, self.key, cluster)?;
                if !self.quiet {
                    standard_error::message(cluster_report::created(&store));
                }
                store
            }
            opened => {
                let store = opened.map_err(Failure::cluster(&address))?;
                self.check_agreement(&store)?;
                store
            }
        };
        if !self.quiet {
            store
                .warnings()
                .into_iter()
                .for_each(standard_error::message);
        }
        store.set_acknowledgement(self.acknowledgement.acknowledgement(), Degrade::Count);
        let leaf = self
            .leaf
            .map(|path| self.open_leaf(path, &store))
            .transpose()?;
        ClusterBackend::new(store, leaf, self.dry_run, self.quiet)
    }

    /// Fails if an option contradicts what an existing store records. With a leaf, --memory is that
    /// of the leaf.
    fn check_agreement(&self, store: &ClusterStore) -> Result<(), Failure> {
        let layout = store.layout();
        let given = self.filter.filter.as_ref().map(|given| given.spec.clone());
        let memory = self.filter.memory.filter(|_| self.leaf.is_none());
        let window = self.filter.window.map(window).transpose()?;
        let differing = [
            window
                .filter(|_| window != layout.window)
                .map(|given| match layout.window {
                    Some(found) => format!(
                        "a window of {}; {} was asked for",
                        span(found.span().as_secs()),
                        span(given.span().as_secs())
                    ),
                    None => "no window; one was asked for".to_owned(),
                }),
            given
                .filter(|given| *given != layout.filter)
                .map(|given| format!("the filter `{}`; `{given}` was asked for", layout.filter)),
            memory
                .filter(|&memory| {
                    // What of it the slices use follows from the sizes of the allocator.
                    let least = CreateOptions::bits_in(memory, layout.slicing, layout.window);
                    !(least..=memory.saturating_mul(8)).contains(&layout.memory_bits)
                })
                .map(|memory| {
                    let found = show_bits(layout.memory_bits);
                    format!(
                        "{found}; {} was asked for",
                        show_bits(memory.saturating_mul(8))
                    )
                }),
            self.filter
                .seed
                .filter(|&seed| seed != layout.seed)
                .map(|seed| format!("the seed {}; {seed} was asked for", layout.seed)),
        ];
        match differing.into_iter().flatten().next() {
            Some(text) => Err(Failure::Usage(format!(
                "{}: the store has {text}; leave the option out, or use another name",
                store.address()
            ))),
            None => Ok(()),
        }
    }

    fn open_leaf(&self, path: &Path, store: &ClusterStore) -> Result<(PathBuf, Store), Failure> {
        let exists = std::fs::symlink_metadata(path).is_ok();
        let failed = |error| Failure::store(path)(error);
        let seed = store.layout().seed;
        let leaf = match exists {
            true => OpenOptions::default().open(path).map_err(failed)?,
            false => {
                let spec = FILTER.parse::<FilterSpec>();
                let spec = spec.map_err(|error| Failure::Usage(error.to_string()))?;
                let memory = self.filter.memory.unwrap_or(DEFAULT_MEMORY.bytes());
                let options = LocalOptions::default()
                    .filter(spec)
                    .memory(memory)
                    .seed(seed);
                Store::create(path, &options).map_err(failed)?
            }
        };
        match leaf.parameters().seed == seed {
            true => Ok((path.to_owned(), leaf)),
            false => Err(Failure::Usage(format!(
                "{}: the leaf has another seed than {}, so it belongs to another store; name \
                 another leaf, which is created",
                path.display(),
                store.address()
            ))),
        }
    }
}
