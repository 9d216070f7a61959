//! A store on a server as the [`SeenKeys`] of `filter`.
//!
//! A batch is claimed, its lines are delivered, and then the claims are committed. If this process
//! ends in between, its connection closes, the server gives the claims back, and the lines are
//! printed again by the next run: a line may be printed twice, but it is never lost. If the server ends in
//! between, the commit fails, and so does this run.
//!
//! A key that another client has claimed is neither new nor seen yet. Then this batch gives all its
//! claims back, waits, and tries again. Nobody holds claims while waiting, so two runs cannot wait
//! for each other.

use std::collections::HashSet;
use std::time::Duration;

use dedupstore::filter::{AnyFilter, Registers};
use dedupstore::lines::{KeyOptions, KeyRule};
use dedupstore::{KeyHasher, Observation, Verdict};
use dedupstore_server::HashedTicket;

use crate::error::Failure;
use crate::line_filter::{SeenKeys, Status, StoreStatus, clock_unix_seconds};
use crate::remote_store::{MOST_KEYS, RemoteStore};

/// How often the counters are asked for, in batches.
const REFRESH_BATCHES: u64 = 64;
/// The shortest and the longest wait for the claims of others.
const FIRST_WAIT: Duration = Duration::from_micros(500);
const LONGEST_WAIT: Duration = Duration::from_millis(50);

/// A store on a server.
pub struct RemoteBackend {
    store: RemoteStore,
    /// Whether nothing is recorded.
    dry_run: bool,
    /// The counts of this run.
    new: u64,
    seen: u64,
    batches: u64,
    /// With `dry_run`, the new keys of this run.
    met: HashSet<u64>,
}

impl RemoteBackend {
    pub fn new(store: RemoteStore, dry_run: bool) -> Self {
        RemoteBackend {
            store,
            dry_run,
            new: 0,
            seen: 0,
            batches: 0,
            met: HashSet::new(),
        }
    }

    /// Returns how the key of a line is found: as the store records, or as the options say.
    pub fn rule(&self, options: &KeyOptions) -> Result<KeyRule, Failure> {
        self.store.rule(options)
    }

    /// Looks keys up, and remembers the new ones for this run.
    fn look_up(&mut self, keys: &[Observation], verdicts: &mut [Verdict]) -> Result<(), Failure> {
        let found = self.store.client.contains(keys);
        let found = found.map_err(Failure::server(&self.store.address))?;
        for ((key, verdict), seen) in keys.iter().zip(verdicts).zip(found) {
            *verdict = match seen || !self.met.insert(key.fingerprint.0) {
                true => Verdict::Seen,
                false => Verdict::New,
            };
        }
        Ok(())
    }

    /// Claims keys; returns the tickets of the new ones.
    fn claim(
        &mut self,
        keys: &[Observation],
        verdicts: &mut [Verdict],
    ) -> Result<Vec<u64>, Failure> {
        let mut wait = FIRST_WAIT;
        loop {
            let answers = self.store.client.claim(keys);
            let answers = answers.map_err(Failure::server(&self.store.address))?;
            let mut tickets = Vec::new();
            let mut own = HashSet::new();
            let mut others = false;
            for ((key, verdict), answer) in keys.iter().zip(&mut *verdicts).zip(answers) {
                *verdict = match answer {
                    HashedTicket::New(ticket) => {
                        tickets.push(ticket);
                        own.insert(key.fingerprint.0);
                        Verdict::New
                    }
                    HashedTicket::Seen => Verdict::Seen,
                    HashedTicket::Pending => {
                        others |= !own.contains(&key.fingerprint.0);
                        Verdict::Seen
                    }
                };
            }
            if !others {
                return Ok(tickets);
            }
            let aborted = self.store.client.abort(&tickets);
            aborted.map_err(Failure::server(&self.store.address))?;
            std::thread::sleep(wait);
            // Processes differ in their numbers, so they do not try again at the same time.
            let jitter = Duration::from_micros(u64::from(std::process::id() % 997));
            wait = (2 * wait + jitter).min(LONGEST_WAIT);
        }
    }
}

impl SeenKeys for RemoteBackend {
    const DELIVERS_BEFORE_RECORDING: bool = true;

    fn batch_limit(&self) -> usize {
        MOST_KEYS
    }

    fn hasher(&self) -> KeyHasher {
        self.store.hasher()
    }

    fn observe_then<T>(
        &mut self,
        observations: &[Observation],
        verdicts: &mut [Verdict],
        deliver: impl FnOnce(&[Verdict], &Registers) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        if observations.is_empty() {
            return deliver(verdicts, &self.store.registers);
        }
        let tickets = match self.dry_run {
            true => self.look_up(observations, verdicts).map(|()| Vec::new()),
            false => self.claim(observations, verdicts),
        }?;
        // If this fails, the claims end with the connection.
        let delivered = deliver(verdicts, &self.store.registers)?;
        let committed = self.store.client.commit(&tickets);
        committed.map_err(Failure::server(&self.store.address))?;
        let new = verdicts.iter().filter(|verdict| verdict.is_new()).count() as u64;
        self.new += new;
        self.seen += verdicts.len() as u64 - new;
        self.batches += 1;
        if self.batches.is_multiple_of(REFRESH_BATCHES) {
            self.store.refresh()?;
        }
        Ok(delivered)
    }

    fn filter(&self) -> AnyFilter {
        self.store.filter.clone()
    }

    fn status(&mut self) -> Status {
        // The last counters that are known are better than none.
        let _ = self.store.refresh();
        let (filter, registers) = (&self.store.filter, &self.store.registers);
        Status {
            new: self.new,
            seen: self.seen,
            load: filter.load(registers),
            drop_chance: filter.false_positive_rate(registers),
            clock_unix_seconds: clock_unix_seconds(filter, registers),
            store: Some(StoreStatus {
                generation: self.store.generation,
                checkpoint_unix_seconds: 0,
                durable: self.store.durable,
                recovered: 0,
            }),
            ..Status::default()
        }
    }

    /// The metrics get by with what each block publishes.
    fn look(&self) -> impl Fn() -> Option<Status> + Send + 'static {
        || None
    }
}
