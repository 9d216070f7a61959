//! The metrics of a run in the Prometheus text format.

use std::time::{SystemTime, UNIX_EPOCH};

use dedupstore::audit::Estimate;

use crate::line_filter::Status;

/// The counts of a run so far.
#[derive(Clone, Copy, Debug)]
pub struct Reading {
    pub before: Status,
    pub now: Status,
    pub without_key: u64,
    pub too_long: u64,
    pub without_time: u64,
    pub consumed_bytes: u64,
    pub started_unix_seconds: f64,
}

/// Returns the metrics as text.
pub fn text(reading: &Reading) -> String {
    let Reading { before, now, .. } = reading;
    let mut text = String::new();
    let mut family = |name: &str, kind: &str, help: &str, samples: &[(&str, f64)]| {
        text += &format!("# HELP dedupstore_{name} {help}\n# TYPE dedupstore_{name} {kind}\n");
        for (labels, value) in samples {
            text += &format!("dedupstore_{name}{labels} {value}\n");
        }
    };
    family(
        "items_total",
        "counter",
        "Lines of this run by verdict.",
        &[
            (
                "{verdict=\"new\"}",
                now.new.saturating_sub(before.new) as f64,
            ),
            (
                "{verdict=\"seen\"}",
                now.seen.saturating_sub(before.seen) as f64,
            ),
            ("{verdict=\"without_key\"}", reading.without_key as f64),
            ("{verdict=\"too_long\"}", reading.too_long as f64),
        ],
    );
    let bytes = reading.consumed_bytes as f64;
    family(
        "read_bytes_total",
        "counter",
        "Bytes of input read by this run.",
        &[("", bytes)],
    );
    let counters = [
        (
            "late_total",
            "Lines of this run whose time was before the present step of the clock.",
            now.clock.late,
        ),
        (
            "ahead_total",
            "Lines of this run whose time was too far ahead for the clock to follow.",
            now.clock.ahead,
        ),
        (
            "lines_without_time_total",
            "Lines of this run with a key and without a readable time.",
            reading.without_time,
        ),
    ];
    for (name, help, count) in counters {
        family(name, "counter", help, &[("", count as f64)]);
    }
    if let Some(seconds) = now.clock_unix_seconds {
        family(
            "window_clock_seconds",
            "gauge",
            "Start of the present step of the window's clock, in seconds since 1970.",
            &[("", seconds as f64)],
        );
    }
    let observations = (now.new + now.seen) as f64;
    family(
        "observations",
        "gauge",
        "Keys observed by all runs.",
        &[("", observations)],
    );
    family(
        "fill_ratio",
        "gauge",
        "Share of the filter's cells in use.",
        &[("", now.load)],
    );
    family(
        "drop_chance",
        "gauge",
        "Estimated false positive rate: chance that a new key is reported as seen.",
        &[("", now.drop_chance)],
    );
    let audits = [
        (
            "audited_fpr",
            "False positive rate: share of new keys reported as seen",
            now.audited_fpr,
        ),
        (
            "audited_fnr",
            "False negative rate: share of repeats reported as new",
            now.audited_fnr,
        ),
    ];
    for (name, help, estimate) in audits {
        if let Some(Estimate {
            value, low, high, ..
        }) = estimate
        {
            let help = format!("{help}, measured by the audit, with its 95 % interval.");
            let samples = [
                ("{bound=\"value\"}", value),
                ("{bound=\"low\"}", low),
                ("{bound=\"high\"}", high),
            ];
            family(name, "gauge", &help, &samples);
        }
    }
    let started = reading.started_unix_seconds;
    family(
        "start_time_seconds",
        "gauge",
        "Start time of this run.",
        &[("", started)],
    );
    if let Some(store) = &now.store {
        let age = (unix_seconds() - store.checkpoint_unix_seconds as f64).max(0.0);
        family(
            "checkpoint_age_seconds",
            "gauge",
            "Time since the last checkpoint.",
            &[("", age)],
        );
        let generation = store.generation as f64;
        family(
            "checkpoints",
            "gauge",
            "Checkpoints taken since the store was created.",
            &[("", generation)],
        );
        let durable = store.durable as f64;
        family(
            "durable_observations",
            "gauge",
            "Observations that survive a power loss.",
            &[("", durable)],
        );
        let recovered = store.recovered as f64;
        family(
            "recovered_observations",
            "gauge",
            "Observations replayed from the log when the store was opened.",
            &[("", recovered)],
        );
    }
    text
}

/// Returns the time in seconds since 1970.
pub fn unix_seconds() -> f64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0.0, |since| since.as_secs_f64())
}
