//! Counts of a running server, which other threads read.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use crate::batch::Live;

/// Returns a count of a store.
type Value = fn(&Live) -> f64;

/// Counts of a running server.
#[derive(Debug)]
pub struct Counters {
    /// When the server was started.
    pub started: Instant,
    /// Open connections.
    pub connections: AtomicU64,
    /// Connections accepted.
    pub accepted: AtomicU64,
    /// Connections refused.
    pub rejected: AtomicU64,
    /// Requests carried out.
    pub commands: AtomicU64,
    /// Keys given to stores.
    pub keys: AtomicU64,
    /// Batches given to stores.
    pub batches: AtomicU64,
    /// Malformed requests.
    pub protocol_errors: AtomicU64,
    /// Bytes received.
    pub read_bytes: AtomicU64,
    /// Bytes sent.
    pub written_bytes: AtomicU64,
    /// Bytes of all buffers of connections.
    pub buffered_bytes: AtomicU64,
    /// Whether the server accepts requests.
    pub ready: AtomicBool,
    stores: Mutex<BTreeMap<String, Live>>,
}

impl Default for Counters {
    fn default() -> Self {
        Counters {
            started: Instant::now(),
            connections: AtomicU64::new(0),
            accepted: AtomicU64::new(0),
            rejected: AtomicU64::new(0),
            commands: AtomicU64::new(0),
            keys: AtomicU64::new(0),
            batches: AtomicU64::new(0),
            protocol_errors: AtomicU64::new(0),
            read_bytes: AtomicU64::new(0),
            written_bytes: AtomicU64::new(0),
            buffered_bytes: AtomicU64::new(0),
            ready: AtomicBool::new(false),
            stores: Mutex::default(),
        }
    }
}

impl Counters {
    /// Adds to a count.
    pub(crate) fn add(count: &AtomicU64, by: u64) {
        count.fetch_add(by, Ordering::Relaxed);
    }

    fn stores(&self) -> MutexGuard<'_, BTreeMap<String, Live>> {
        self.stores.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes the counts of a store.
    pub(crate) fn set_store(&self, name: &[u8], live: Live) {
        let name = String::from_utf8_lossy(name).into_owned();
        self.stores().insert(name, live);
    }

    /// Forgets a store that is closed.
    pub(crate) fn remove_store(&self, name: &[u8]) {
        self.stores().remove(&*String::from_utf8_lossy(name));
    }

    /// Returns the counts of the open stores.
    pub(crate) fn open_stores(&self) -> Vec<(String, Live)> {
        let stores = self.stores();
        let copy = |(name, live): (&String, &Live)| (name.clone(), *live);
        stores.iter().map(copy).collect()
    }

    /// Returns the counts in the Prometheus text format.
    pub fn prometheus(&self) -> String {
        let mut text = String::new();
        let mut family = |name: &str, kind: &str, help: &str, samples: &[(String, f64)]| {
            text += &format!("# HELP dedupstore_{name} {help}\n# TYPE dedupstore_{name} {kind}\n");
            for (labels, value) in samples {
                text += &format!("dedupstore_{name}{labels} {value}\n");
            }
        };
        let of_server = [
            (
                "server_clients",
                "gauge",
                "Open connections.",
                &self.connections,
            ),
            (
                "server_accepted_total",
                "counter",
                "Connections accepted.",
                &self.accepted,
            ),
            (
                "server_rejected_total",
                "counter",
                "Connections refused.",
                &self.rejected,
            ),
            (
                "server_commands_total",
                "counter",
                "Requests carried out.",
                &self.commands,
            ),
            (
                "server_keys_total",
                "counter",
                "Keys added, looked up or claimed.",
                &self.keys,
            ),
            (
                "server_batches_total",
                "counter",
                "Batches given to stores.",
                &self.batches,
            ),
            (
                "server_protocol_errors_total",
                "counter",
                "Malformed requests.",
                &self.protocol_errors,
            ),
            (
                "server_read_bytes_total",
                "counter",
                "Bytes received.",
                &self.read_bytes,
            ),
            (
                "server_written_bytes_total",
                "counter",
                "Bytes sent.",
                &self.written_bytes,
            ),
            (
                "server_buffered_bytes",
                "gauge",
                "Bytes of incomplete requests and unread replies.",
                &self.buffered_bytes,
            ),
        ];
        for (name, kind, help, count) in of_server {
            let value = count.load(Ordering::Relaxed) as f64;
            family(name, kind, help, &[(String::new(), value)]);
        }
        let uptime = self.started.elapsed().as_secs_f64();
        family(
            "server_uptime_seconds",
            "gauge",
            "Time since the start.",
            &[(String::new(), uptime)],
        );
        let stores = self.open_stores();
        let per_store = |value: Value| -> Vec<(String, f64)> {
            let sample = |(name, live): &(String, Live)| {
                let name = name.replace('\\', "\\\\").replace('"', "\\\"");
                (
                    format!("{{store=\"{}\"}}", name.replace('\n', "\\n")),
                    value(live),
                )
            };
            stores.iter().map(sample).collect()
        };
        let verdicts = |verdict: &str, value: Value| {
            let relabel = |(labels, value): (String, f64)| {
                (
                    labels.replace('}', &format!(",verdict=\"{verdict}\"}}")),
                    value,
                )
            };
            per_store(value)
                .into_iter()
                .map(relabel)
                .collect::<Vec<_>>()
        };
        let mut items = verdicts("new", |live| live.new as f64);
        items.extend(verdicts("seen", |live| live.seen as f64));
        family(
            "store_observations",
            "gauge",
            "Keys observed by verdict.",
            &items,
        );
        let gauges: [(&str, &str, Value); 6] = [
            (
                "store_fill_ratio",
                "Share of the filter's cells in use.",
                |it| it.load,
            ),
            (
                "store_drop_chance",
                "Chance that a new key is reported as seen.",
                |it| it.false_positive_rate,
            ),
            ("store_sequence", "Observations recorded.", |it| {
                it.sequence as f64
            }),
            (
                "store_durable",
                "Observations that survive a power loss.",
                |it| it.durable as f64,
            ),
            ("store_claims", "Keys claimed and not committed.", |it| {
                it.claims as f64
            }),
            (
                "store_checkpoints",
                "Checkpoints taken since the store was created.",
                |it| it.generation as f64,
            ),
        ];
        for (name, help, value) in gauges {
            family(name, "gauge", help, &per_store(value));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_have_a_line_per_store() {
        let counters = Counters::default();
        Counters::add(&counters.keys, 3);
        let live = Live {
            new: 2,
            ..Live::default()
        };
        counters.set_store(b"a\"b", live);
        let text = counters.prometheus();
        assert!(
            text.contains("\ndedupstore_server_keys_total 3\n"),
            "{text}"
        );
        let line = "dedupstore_store_observations{store=\"a\\\"b\",verdict=\"new\"} 2\n";
        assert!(text.contains(line), "{text}");
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            assert!(line.split(' ').count() >= 2, "{line}");
        }
        counters.remove_store(b"a\"b");
        assert!(!counters.prometheus().contains("store=\""));
    }
}
