//! What users read about a store on Redis.

use dedupstore::sites::SiteFailure;
use dedupstore_cluster::{ClusterAddress, ClusterStore, Inspection, Window};
use dedupstore_view::{grouped, moment, percent, show_bits, span};

use crate::table::plural;

/// Says what was created.
pub fn created(store: &ClusterStore) -> String {
    let layout = store.layout();
    format!(
        "created {}: {} in {}, {}, rule {}{}",
        store.address(),
        layout.filter,
        show_bits(layout.memory_bits),
        layout.slicing,
        layout.rule,
        match layout.window {
            Some(window) => format!(", {}", window_text(window)),
            None => String::new(),
        }
    )
}

/// Says when keys are forgotten.
fn window_text(window: Window) -> String {
    format!(
        "keys are forgotten after {}, or up to {} later",
        span(window.span().as_secs()),
        span(window.step().as_secs().max(1))
    )
}

/// Returns the report of `inspect`.
pub fn as_text(address: &ClusterAddress, inspection: &Inspection, warnings: &[String]) -> String {
    let layout = &inspection.layout;
    let failed = inspection
        .slices
        .iter()
        .filter(|it| it.failure.is_some())
        .count();
    let nodes = match inspection.is_cluster {
        true => format!(
            "{} in a cluster",
            plural(inspection.nodes.len() as u64, "node")
        ),
        false => "one Redis, no cluster".to_owned(),
    };
    let mut lines = vec![
        format!("{address}"),
        field("nodes", &nodes),
        field("filter", &layout.filter.to_string()),
        field("memory", &show_bits(layout.memory_bits)),
        field("slices", &layout.slicing.to_string()),
        field(
            "window",
            &layout.window.map_or("none".to_owned(), window_text),
        ),
        field("rule", &format!("{} if slices do not answer", layout.rule)),
        field("recording", &layout.recording.to_string()),
        field("created", &moment(layout.created_unix_seconds)),
        field("fill", &percent(inspection.fill())),
        field("drop chance", &percent(inspection.false_positive_rate())),
        field("failed slices", &failed.to_string()),
    ];
    if let Some(counters) = &inspection.counters {
        let per_key = counters.key_messages as f64 / counters.observations().max(1) as f64;
        lines.push(field("new", &grouped(counters.new)));
        lines.push(field("seen", &grouped(counters.seen)));
        lines.push(field("unknown", &grouped(counters.unknown)));
        lines.push(field("unacknowledged", &grouped(counters.unacknowledged)));
        lines.push(field("rebuilt keys", &grouped(counters.rebuilt)));
        lines.push(field(
            "messages",
            &format!(
                "{} to nodes; {per_key:.3} per key to slices, {} of them without an answer",
                grouped(counters.node_messages),
                grouped(counters.unanswered)
            ),
        ));
    }
    for (index, slice) in inspection.slices.iter().enumerate() {
        let state = match slice.failure {
            None => percent(slice.fill),
            Some(SiteFailure::Empty) => {
                format!("lost its content: dedupstore repair {address} --from FILE")
            }
            Some(_) => "does not answer".to_owned(),
        };
        lines.push(field(
            &format!("slice {index}"),
            &format!("{}  {state}", slice.node),
        ));
    }
    lines.extend(warnings.iter().map(|warning| format!("warning: {warning}")));
    lines.join("\n")
}

fn field(name: &str, value: &str) -> String {
    format!("  {name:<15} {value}")
}
