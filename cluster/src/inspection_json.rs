//! The present state of a store as JSON. Its keys are part of the interface and are never renamed.

use dedupstore::sites::SiteFailure;
use serde_json::{Value, json};

use crate::address::ClusterAddress;
use crate::inspection::Inspection;

impl Inspection {
    /// Returns the state of the store at an address as one JSON object, with what endangers it (see
    /// [`warnings`](crate::ClusterStore::warnings)).
    pub fn to_json(&self, address: &ClusterAddress, warnings: &[String]) -> Value {
        let layout = &self.layout;
        let slices = self.slices.iter().map(|slice| {
            json!({
                "key": slice.key,
                "node": slice.node,
                "bytes": slice.bytes,
                "fill": slice.fill,
                "failure": slice.failure.map(|failure| match failure {
                    SiteFailure::Empty => "empty",
                    _ => "unavailable",
                }),
            })
        });
        let counters = self.counters.map(|counters| {
            let named = counters.named().into_iter();
            named
                .map(|(name, count)| (name.to_owned(), count.into()))
                .collect::<serde_json::Map<_, _>>()
        });
        json!({
            "schema": 1,
            "address": address.to_string(),
            "cluster": self.is_cluster,
            "nodes": self.nodes,
            "filter": layout.filter.to_string(),
            "memory_bits": layout.memory_bits,
            "window_seconds": layout.window.map(|window| window.span().as_secs_f64()),
            "step_seconds": layout.window.map(|window| window.step().as_secs_f64()),
            "seed": layout.seed,
            "layout": layout.slicing.to_string(),
            "rule": layout.rule.to_string(),
            "recording": layout.recording.to_string(),
            "key": layout.key,
            "created_unix_seconds": layout.created_unix_seconds,
            "load": self.fill(),
            "drop_chance": self.false_positive_rate(),
            "failed_slices": self.slices.iter().filter(|it| it.failure.is_some()).count(),
            "counts": counters,
            "slices": slices.collect::<Vec<_>>(),
            "warnings": warnings,
        })
    }
}
