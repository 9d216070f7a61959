//! A store on Redis as the [`SeenKeys`] of `filter`.
//!
//! A batch is tested, its new keys are claimed, its lines are delivered, and then the keys are
//! recorded. If this process ends in between, its claims end by themselves, and the lines are printed
//! again by a later run: a line may be printed twice, but it is never lost. A key whose slices do not
//! answer is Unknown by the store's rule; then its line is printed, and counted.
//!
//! SIGINT and SIGTERM end the run between two batches, so that no claim is left behind: other runs
//! would wait for it.
//!
//! With a leaf, keys that the leaf knows are not asked about. It learns a key after the store has
//! recorded it.

use std::collections::HashSet;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use dedupstore::filter::{AnyFilter, Registers};
use dedupstore::lines::{KeyOptions, KeyRule};
use dedupstore::sites::SiteVerdict;
use dedupstore::store::{Parameters, Store};
use dedupstore::{Fingerprint, KeyHasher, Observation, Verdict};
use dedupstore_cluster::{Claimed, ClusterAddress, ClusterStore, Leaf, LeafMisses, Window};

use crate::error::Failure;
use crate::line_filter::{SeenKeys, Status};
use crate::signals::{CloseOnSignal, OnSignal, arrived};
use crate::standard_error;
use crate::table::plural;

/// The largest number of keys per batch: a few hundred per slice.
const BATCH: usize = 4096;
/// The shortest and the longest wait for the claims of others.
const FIRST_WAIT: Duration = Duration::from_micros(500);
const LONGEST_WAIT: Duration = Duration::from_millis(50);
/// After so long a wait, the user is told about it.
const NOTICED_WAIT: Duration = Duration::from_secs(2);

/// A store on Redis, with a local store in front of it if that is wanted. Closed on SIGINT and
/// SIGTERM.
pub struct ClusterBackend {
    open: CloseOnSignal<OpenCluster>,
    address: ClusterAddress,
    parameters: Parameters,
    filter: AnyFilter,
}

struct OpenCluster {
    store: ClusterStore,
    leaf: Option<(PathBuf, Store)>,
    filter: AnyFilter,
    registers: Registers,
    dry_run: bool,
    quiet: bool,
    /// Whether the user was told about a wait for claims.
    has_told: bool,
    /// With `dry_run`, the new keys of this run.
    met: HashSet<u64>,
    new: u64,
    seen: u64,
    unknown: u64,
}

impl ClusterBackend {
    pub fn new(
        mut store: ClusterStore,
        leaf: Option<(PathBuf, Store)>,
        dry_run: bool,
        quiet: bool,
    ) -> Result<Self, Failure> {
        let failed = Failure::cluster(store.address());
        let inspection = store.inspect().map_err(failed)?;
        let layout = store.layout();
        let filter = AnyFilter::build(&layout.filter, layout.memory_bits);
        let filter =
            filter.map_err(|error| Failure::Usage(format!("{}: {error}", store.address())))?;
        let mut registers = Registers::new(layout.seed);
        let cells = filter.cells() as f64;
        *registers.occupied_mut() = (inspection.fill().unwrap_or(0.0) * cells) as u64;
        Ok(ClusterBackend {
            address: store.address().clone(),
            parameters: parameters(&store),
            filter: filter.clone(),
            open: CloseOnSignal::new(OpenCluster {
                filter,
                registers,
                store,
                leaf,
                dry_run,
                quiet,
                has_told: false,
                met: HashSet::new(),
                new: 0,
                seen: 0,
                unknown: 0,
            }),
        })
    }

    /// Returns how the key of a line is found: as the store records, or as the options say.
    pub fn rule(&self, options: &KeyOptions) -> Result<KeyRule, Failure> {
        let rule = self.parameters.key_rule(options);
        rule.map_err(|error| Failure::Usage(format!("{}: {error}", self.address)))
    }

    /// Ends the run, and says what is noteworthy about it.
    pub fn close(self) -> Result<(), Failure> {
        if let Some(open) = self.open.take() {
            open.close_and_report()?;
        }
        match arrived() {
            Some(code) => Err(Failure::Signal(code)),
            None => Ok(()),
        }
    }

    fn closed(&self) -> Failure {
        Failure::Usage(format!("{}: it is being closed", self.address))
    }
}

impl OnSignal for OpenCluster {
    /// What is recorded is on the servers.
    fn checkpoint(&mut self) {}

    fn close(self) -> Option<u8> {
        let failure = self.close_and_report().err()?;
        standard_error::failure(&failure);
        Some(2)
    }
}

impl OpenCluster {
    fn close_and_report(self) -> Result<(), Failure> {
        let messages = self.messages();
        let closed = match self.leaf {
            Some((path, leaf)) => leaf.close().map_err(Failure::store(&path)),
            None => Ok(()),
        };
        self.store.close();
        if !self.quiet {
            messages.into_iter().for_each(standard_error::message);
        }
        closed
    }

    /// Returns what is noteworthy about the run.
    fn messages(&self) -> Vec<String> {
        let address = self.store.address();
        let mut messages = Vec::new();
        if self.unknown > 0 {
            messages.push(format!(
                "{address}: {} could not be decided about, because slices did not answer; their \
                 lines were treated as new; `dedupstore inspect {address}` shows the slices",
                plural(self.unknown, "key"),
            ));
        }
        let unacknowledged = self.store.counters().unacknowledged;
        if unacknowledged > 0 {
            messages.push(format!(
                "{address}: {} not confirmed by the wanted copies in time; if the node is lost \
                 before they exist, these keys are new again",
                match unacknowledged {
                    1 => "1 key was".to_owned(),
                    more => format!("{} were", plural(more, "key")),
                }
            ));
        }
        messages
    }

    /// Looks keys up, and remembers the new ones for this run.
    fn look_up(&mut self, keys: &[Fingerprint]) -> Result<Vec<SiteVerdict>, Failure> {
        let mut verdicts = Vec::new();
        let looked_up = self.store.contains_batch(keys, &mut verdicts);
        looked_up.map_err(Failure::cluster(self.store.address()))?;
        for (key, verdict) in keys.iter().zip(&mut verdicts) {
            if !verdict.is_seen() && !self.met.insert(key.0) {
                *verdict = SiteVerdict::Seen;
            }
        }
        Ok(verdicts)
    }

    /// Claims keys. Waits while another producer holds a claim on one of them.
    fn claim(&mut self, keys: &[Fingerprint]) -> Result<Claimed, Failure> {
        let (mut wait, started) = (FIRST_WAIT, Instant::now());
        loop {
            let claimed = self.store.claim_batch(keys);
            let claimed = claimed.map_err(Failure::cluster(self.store.address()))?;
            if !claimed.is_contested {
                return Ok(claimed);
            }
            let aborted = self.store.abort(claimed);
            aborted.map_err(Failure::cluster(self.store.address()))?;
            if let Some(code) = arrived() {
                return Err(Failure::Signal(code));
            }
            if started.elapsed() >= NOTICED_WAIT && !self.has_told && !self.quiet {
                self.has_told = true;
                standard_error::message(format_args!(
                    "{}: waiting for another run that has claimed the same new lines; if it was \
                     killed, its claims end within a minute",
                    self.store.address()
                ));
            }
            std::thread::sleep(wait);
            // Processes differ in their numbers, so they do not try again at the same time.
            let jitter = Duration::from_micros(u64::from(std::process::id() % 997));
            wait = (2 * wait + jitter).min(LONGEST_WAIT);
        }
    }

    /// Does what [`SeenKeys::observe_then`] does.
    fn observe_then<T>(
        &mut self,
        observations: &[Observation],
        verdicts: &mut [Verdict],
        deliver: impl FnOnce(&[Verdict], &Registers) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        if observations.is_empty() {
            return deliver(verdicts, &self.registers);
        }
        let keys: Vec<Fingerprint> = observations.iter().map(|it| it.fingerprint).collect();
        let misses = self
            .leaf
            .as_ref()
            .map(|(_, leaf)| LeafMisses::of(leaf, &keys));
        let asked = misses.as_ref().map_or(&keys, |misses| &misses.keys);
        let (claimed, of_asked) = match self.dry_run {
            true => (None, self.look_up(asked)?),
            false => {
                let claimed = self.claim(asked)?;
                let of_asked = claimed.verdicts.clone();
                (Some(claimed), of_asked)
            }
        };
        let all = match &misses {
            Some(misses) => misses.verdicts(&of_asked),
            None => of_asked.clone(),
        };
        for (verdict, found) in verdicts.iter_mut().zip(&all) {
            *verdict = match found {
                SiteVerdict::Seen => Verdict::Seen,
                SiteVerdict::New | SiteVerdict::Unknown => Verdict::New,
            };
        }
        // If this fails, the claims end by themselves; give them back at once if possible.
        let delivered = match (deliver(verdicts, &self.registers), claimed) {
            (Ok(delivered), None) => delivered,
            (Ok(delivered), Some(claimed)) => {
                let committed = self.store.commit(claimed);
                committed.map_err(Failure::cluster(self.store.address()))?;
                delivered
            }
            (Err(failure), claimed) => {
                if let Some(claimed) = claimed {
                    let _ = self.store.abort(claimed);
                }
                return Err(failure);
            }
        };
        if let (Some((_, leaf)), Some(misses), false) = (&mut self.leaf, &misses, self.dry_run) {
            let recorded = leaf.record(&misses.answered(&of_asked));
            recorded.map_err(Failure::cluster(self.store.address()))?;
        }
        let new = verdicts.iter().filter(|verdict| verdict.is_new()).count() as u64;
        self.new += new;
        self.seen += verdicts.len() as u64 - new;
        let unknown = all.iter().filter(|it| **it == SiteVerdict::Unknown).count() as u64;
        self.unknown += unknown;
        // An estimate until the next run looks at the slices: no two of the new keys share a cell.
        let added = self.store.layout().cells_per_key() * (new - unknown.min(new));
        let occupied = self.registers.occupied_mut();
        *occupied = (*occupied + added).min(self.filter.cells());
        Ok(delivered)
    }

    fn status(&self) -> Status {
        let rate = self.filter.false_positive_rate(&self.registers);
        let generations = self.store.layout().window.map_or(1, Window::generations);
        Status {
            new: self.new,
            seen: self.seen,
            load: self.filter.load(&self.registers),
            // A key is dropped if one of the generations seems to have it.
            drop_chance: 1.0 - (1.0 - rate).powi(generations as i32),
            ..Status::default()
        }
    }
}

/// Returns how the keys of a store are found.
pub fn key_rule(store: &ClusterStore, options: &KeyOptions) -> Result<KeyRule, Failure> {
    let rule = parameters(store).key_rule(options);
    rule.map_err(|error| Failure::Usage(format!("{}: {error}", store.address())))
}

fn parameters(store: &ClusterStore) -> Parameters {
    let layout = store.layout();
    Parameters {
        filter: layout.filter.to_string(),
        memory_bits: layout.memory_bits,
        seed: layout.seed,
        normalization: layout.key.clone(),
        created_unix_seconds: layout.created_unix_seconds,
    }
}

impl SeenKeys for ClusterBackend {
    const DELIVERS_BEFORE_RECORDING: bool = true;

    fn batch_limit(&self) -> usize {
        BATCH
    }

    fn hasher(&self) -> KeyHasher {
        KeyHasher::new(self.parameters.seed)
    }

    fn observe_then<T>(
        &mut self,
        observations: &[Observation],
        verdicts: &mut [Verdict],
        deliver: impl FnOnce(&[Verdict], &Registers) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let mut guard = self.open.lock();
        let open = guard.as_mut().ok_or_else(|| self.closed())?;
        open.observe_then(observations, verdicts, deliver)
    }

    fn filter(&self) -> AnyFilter {
        self.filter.clone()
    }

    fn status(&mut self) -> Status {
        let guard = self.open.lock();
        guard
            .as_ref()
            .map_or_else(Status::default, OpenCluster::status)
    }

    /// The metrics get by with what each block publishes.
    fn look(&self) -> impl Fn() -> Option<Status> + Send + 'static {
        || None
    }
}
