//! Counts of all clients of a store, kept beside its slices.

use dedupstore::sites::{SiteVerdict, Traffic};
use redis::Value;

use crate::layout::counter_key;
use crate::router::text;
use crate::store::ClusterStore;

/// After how many observations a client adds its counts to those of the store.
const FLUSH_EVERY: u64 = 100_000;

/// Counts of verdicts and messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Keys that were New.
    pub new: u64,
    /// Keys that were Seen.
    pub seen: u64,
    /// Keys whose slices did not answer, or did not acknowledge.
    pub unknown: u64,
    /// New keys for which copies were not confirmed in time.
    pub unacknowledged: u64,
    /// Keys set by a rebuild.
    pub rebuilt: u64,
    /// Messages to nodes; each carries all requests of a batch for its node.
    pub node_messages: u64,
    /// Messages about one key to one slice.
    pub key_messages: u64,
    /// Messages about one key to a slice that did not answer.
    pub unanswered: u64,
}

const FIELDS: usize = 8;

impl Counters {
    /// Returns the number of observations.
    pub fn observations(&self) -> u64 {
        self.new + self.seen + self.unknown
    }

    pub(crate) fn count(&mut self, verdicts: &[SiteVerdict]) {
        for verdict in verdicts {
            match verdict {
                SiteVerdict::New => self.new += 1,
                SiteVerdict::Seen => self.seen += 1,
                SiteVerdict::Unknown => self.unknown += 1,
            }
        }
    }

    /// Returns the counts with their names.
    pub fn named(&self) -> [(&'static str, u64); FIELDS] {
        [
            ("new", self.new),
            ("seen", self.seen),
            ("unknown", self.unknown),
            ("unacknowledged", self.unacknowledged),
            ("rebuilt", self.rebuilt),
            ("node_messages", self.node_messages),
            ("key_messages", self.key_messages),
            ("unanswered", self.unanswered),
        ]
    }

    fn field(&mut self, name: &str) -> Option<&mut u64> {
        Some(match name {
            "new" => &mut self.new,
            "seen" => &mut self.seen,
            "unknown" => &mut self.unknown,
            "unacknowledged" => &mut self.unacknowledged,
            "rebuilt" => &mut self.rebuilt,
            "node_messages" => &mut self.node_messages,
            "key_messages" => &mut self.key_messages,
            "unanswered" => &mut self.unanswered,
            _ => return None,
        })
    }
}

impl ClusterStore {
    /// Adds the counts of this client to those of the store, at once or if there are many.
    pub(crate) fn flush_counters(&mut self, at_once: bool) {
        let pending = self.counters.observations() - self.flushed.observations();
        if pending < FLUSH_EVERY && !at_once {
            return;
        }
        self.counters.node_messages = self.slices.router.counts.messages;
        let mut traffic = Traffic::default();
        self.traffic.iter().for_each(|it| traffic.add(it));
        self.counters.key_messages = traffic.messages();
        self.counters.unanswered = traffic.unanswered;
        let key = counter_key(&self.address.name);
        let counts = self.counters.named().into_iter().zip(self.flushed.named());
        let changed = counts.filter_map(|((name, now), (_, before))| {
            let added = now.checked_sub(before).filter(|&it| it > 0)?;
            let mut command = redis::cmd("HINCRBY");
            command.arg(&key.text).arg(name).arg(added);
            Some((key.slot, command))
        });
        let changed: Vec<_> = changed.collect();
        if !changed.is_empty() {
            self.slices.send(changed, None);
            // Counts are a convenience: a node that refuses them fails no batch.
            let _ = self.slices.check();
        }
        self.flushed = self.counters;
    }

    /// Returns the counts of all clients, as far as they have been added.
    pub fn recorded_counters(&mut self) -> Option<Counters> {
        self.flush_counters(true);
        let key = counter_key(&self.address.name);
        let command = redis::cmd("HGETALL").arg(&key.text).clone();
        let reply = self.slices.send([(key.slot, command)], None).pop()?.value;
        let _ = self.slices.check();
        let Some(Value::Array(values)) = reply else {
            return None;
        };
        let mut counters = Counters::default();
        for pair in values.chunks_exact(2) {
            if let Some(field) = counters.field(&text(&pair[0])) {
                *field = text(&pair[1]).parse().unwrap_or(0);
            }
        }
        Some(counters)
    }
}
