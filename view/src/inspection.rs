//! The report of `dedupstore inspect`, the same on a terminal and on the page.

use dedupstore::audit::{AuditReport, Estimate};
use dedupstore::store::Inspection;

use crate::create_command::CreateCommand;
use crate::growth::growth_rows;
use crate::key::{dropped_parameters, importance_options, key_in_words};
use crate::numbers::{duration, grouped, percent, plural, show_bits};
use crate::printable::printable;
use crate::window::window_rows;

/// How fast the counts of a store grow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rates {
    /// Observations per second.
    pub observations: f64,
    /// New keys per second, if their number is known.
    pub new: Option<f64>,
}

/// Formats an inspection as text. `name` is the store's path or name; `rates` are those since
/// the last inspection, if there was one; `paint` adds terminal colours to the filled part of the
/// load bar, or returns it unchanged.
pub fn inspection_report(
    inspection: &Inspection,
    name: &str,
    rates: Option<Rates>,
    paint: impl Fn(&str) -> String,
) -> String {
    let bytes = |bytes: u64| show_bits(bytes.saturating_mul(8));
    let name = &*printable(name);
    let mut page = format!("{name}\n");
    let mut group = |title: &str, rows: &[(&str, String)]| {
        page += &format!("\n{title}\n");
        for (label, text) in rows {
            page += &format!("  {label:<14} {text}\n");
        }
    };
    group(
        "Filter",
        &[
            ("filter", inspection.filter.clone()),
            ("memory", show_bits(inspection.memory_bits)),
            ("region", bytes(inspection.region_bytes)),
            (
                "hash",
                format!("{}, seed {}", inspection.hash_scheme, inspection.seed),
            ),
            (
                "key",
                match &inspection.key {
                    Some(rule) => printable(&key_in_words(rule)).into_owned(),
                    None => "not recorded; give the same key options to every run".to_owned(),
                },
            ),
            (
                "normalization",
                match inspection.normalization.as_str() {
                    "" => "none".to_owned(),
                    name => {
                        let dropped = dropped_parameters(inspection.key.as_deref());
                        printable(&format!("{name}{dropped}")).into_owned()
                    }
                },
            ),
        ]
        .into_iter()
        .chain(importance(inspection))
        .collect::<Vec<_>>(),
    );
    let in_log = inspection.log_sequence > inspection.checkpointed_sequence;
    if in_log && !inspection.exact {
        group("Now", &live_rows(inspection, &paint));
    }
    if let Some(rates) = rates {
        group("Since the last refresh", &rate_rows(rates));
    }
    let mut counts = vec![
        ("observations", grouped(inspection.observations)),
        ("new", grouped(inspection.new)),
        ("seen", grouped(inspection.seen)),
        ("load", bar(inspection.load, &paint)),
        (
            "estimated FPR",
            percent(Some(inspection.estimated_fpr)) + " for the next new key",
        ),
        (
            "limit",
            match inspection.max_fpr {
                Some(limit) => {
                    format!("`filter` stops before an FPR of {}", percent(Some(limit)))
                }
                None => "none".to_owned(),
            },
        ),
    ];
    if inspection.forgotten > 0 {
        counts.insert(3, ("forgotten", grouped(inspection.forgotten)));
    }
    counts.extend(match &inspection.growth {
        Some(growth) => growth_rows(growth, name),
        None => forecast(inspection),
    });
    let title = match in_log && inspection.exact {
        true => "Now",
        false => "At the last checkpoint",
    };
    group(title, &counts);
    if let Some(window) = &inspection.window {
        let title = match in_log && !inspection.exact && inspection.live_load.is_none() {
            true => "Window, at the last checkpoint",
            false => "Window",
        };
        group(title, &window_rows(inspection, window));
    }
    // Beside a writer, the error rates are older than the counts above.
    let when = match in_log && !inspection.exact {
        true => " at the last checkpoint",
        false => "",
    };
    match &inspection.audit {
        Some(audit) => group(
            &format!("Measured by the audit{when}, with 95 % confidence intervals"),
            &audit_rows(audit),
        ),
        None => group(
            "Measured",
            &[(
                "audit",
                "none: the store was created without one".to_owned(),
            )],
        ),
    }
    if let Some(by) = inspection.predicted_by {
        let distinct = inspection.predicted_distinct.unwrap_or(0);
        let sampled = inspection.audit.as_ref();
        let counts = match when {
            "" => "these counts",
            _ => "the counts at the last checkpoint",
        };
        let title = match sampled.is_some_and(|audit| !audit.gaps.is_empty()) {
            true => format!("Predicted from {counts} and the distances of the audited repeats"),
            false => format!("Predicted from {counts}, if every key is equally likely to repeat"),
        };
        group(
            &title,
            &[
                ("distinct keys", format!("about {}", grouped(distinct))),
                (
                    "FPR",
                    percent(inspection.predicted_fpr) + " for the next new key",
                ),
                (
                    "FNR",
                    percent(inspection.predicted_fnr) + " for the next repeat",
                ),
                ("load", percent(inspection.predicted_load)),
                ("formula", by.to_owned()),
            ],
        );
    }
    let sequence = [
        (
            "checkpoint",
            format!(
                "{}, generation {}, {} ago{}",
                grouped(inspection.checkpointed_sequence),
                inspection.generation,
                duration(inspection.checkpoint_age_seconds),
                match inspection.checkpoint_unfinished {
                    true => "; the next one is in progress or was interrupted",
                    false => "",
                }
            ),
        ),
        (
            "durable",
            match inspection.durable_sequence {
                Some(sequence) => grouped(sequence),
                None => format!("unknown: the mark cannot be read; run `dedupstore verify {name}`"),
            },
        ),
        ("recorded", grouped(inspection.log_sequence)),
        ("log space", log_space(inspection, name)),
    ];
    group("Observations", &sequence);
    group(
        "Store",
        &[
            ("id", inspection.id.clone()),
            ("format", format!("version {}", inspection.format_version)),
            ("disk", bytes(inspection.disk_bytes)),
            ("created", duration(age(inspection)) + " ago"),
        ],
    );
    page
}

/// Returns what is known of the state with the log, if the other figures are without it.
/// Returns where the importance of lines is, if the store records that.
fn importance(inspection: &Inspection) -> Option<(&'static str, String)> {
    let options = importance_options(inspection.key.as_deref()?);
    (!options.is_empty()).then(|| ("importance", printable(&options).into_owned()))
}

fn live_rows(
    inspection: &Inspection,
    paint: impl Fn(&str) -> String,
) -> Vec<(&'static str, String)> {
    let mut rows = vec![("observations", grouped(inspection.live_observations))];
    if let (Some(new), Some(seen)) = (inspection.live_new, inspection.live_seen) {
        rows.push(("new", grouped(new)));
        rows.push(("seen", grouped(seen)));
    }
    if let (Some(load), Some(rate)) = (inspection.live_load, inspection.live_estimated_fpr) {
        rows.push(("load", bar(load, paint)));
        rows.push((
            "estimated FPR",
            percent(Some(rate)) + " for the next new key",
        ));
        rows.push((
            "more",
            "--exact shows the measured and predicted rates of now, too".to_owned(),
        ));
    } else {
        let memory = show_bits(inspection.region_bytes.saturating_mul(8));
        rows.push((
            "more",
            format!("--exact replays the log into {memory} of memory, and shows all of this"),
        ));
    }
    rows
}

fn rate_rows(rates: Rates) -> Vec<(&'static str, String)> {
    let per_second = |rate: f64| format!("{} per second", grouped(rate.round() as u64));
    vec![
        ("observations", per_second(rates.observations)),
        ("new", rates.new.map_or("unknown".to_owned(), per_second)),
    ]
}

fn age(inspection: &Inspection) -> u64 {
    let created = inspection.created_unix_seconds;
    let until_checkpoint = inspection.checkpoint_unix_seconds.saturating_sub(created);
    until_checkpoint + inspection.checkpoint_age_seconds
}

fn log_space(inspection: &Inspection, name: &str) -> String {
    let bytes = |bytes: u64| show_bits(bytes.saturating_mul(8));
    let mut text = format!(
        "{} of {} used",
        bytes(inspection.log_used_bytes),
        bytes(inspection.log_bytes)
    );
    if let Some(torn) = &inspection.torn_tail {
        text += &format!(
            "; torn write at byte {} of {}: no durable observation is lost",
            torn.offset, torn.file
        );
    }
    if let Some(damage) = &inspection.damage {
        let damage = printable(damage);
        text += &format!("; {damage}; run `dedupstore verify {name}`");
    }
    text
}

/// Draws a share as a bar.
fn bar(share: f64, paint: impl Fn(&str) -> String) -> String {
    let filled = (20.0 * share.clamp(0.0, 1.0)).round() as usize;
    let (full, empty) = ("█".repeat(filled), "░".repeat(20 - filled));
    let full = paint(&full);
    format!("{full}{empty} {}", percent(Some(share)))
}

/// Says when the store will be too full, what it becomes after that, and what to do.
fn forecast(inspection: &Inspection) -> Vec<(&'static str, String)> {
    if inspection.observations == 0 {
        return vec![("forecast", "no observations yet".to_owned())];
    }
    let passed = inspection.forecast.map(|forecast| {
        let comfortable = percent(Some(forecast.comfortable_load));
        match (forecast.observations_left, forecast.seconds_left) {
            (0, _) => format!(
                "above the recommended load of {comfortable}; create a larger store for the next \
                 keys: {}",
                larger(inspection)
            ),
            (left, None) => format!(
                "{comfortable} load after {}",
                plural(left, "more observation")
            ),
            (left, Some(seconds)) => format!(
                "{comfortable} load after {}, in {} at this rate",
                plural(left, "more observation"),
                duration(seconds)
            ),
        }
    });
    let in_the_end = match (inspection.steady_state, inspection.only_fills) {
        (Some(state), _) => Some(format!(
            "settles at {} load, where {} of new keys are reported as seen",
            percent(Some(state.load)),
            percent(Some(state.fpr)),
        )),
        (None, Some(true)) => {
            Some("only fills, until every new key is reported as seen".to_owned())
        }
        (None, _) => None,
    };
    let rows: Vec<(&'static str, String)> = passed
        .map(|text| ("forecast", text))
        .into_iter()
        .chain(in_the_end.map(|text| ("in the end", text)))
        .collect();
    match rows.is_empty() {
        true => vec![(
            "forecast",
            "unknown: there is no formula for this filter".to_owned(),
        )],
        false => rows,
    }
}

/// Returns the command that creates a larger store with the same options.
fn larger(inspection: &Inspection) -> CreateCommand {
    let key = inspection.key.as_ref();
    let like_it = CreateCommand::of_recorded(
        &inspection.filter,
        inspection.memory_bits,
        key.unwrap_or(&inspection.normalization),
        inspection.max_fpr,
    );
    like_it.for_more_keys()
}

/// Returns the rows of the audit: error rates measured on a sample of the keys.
fn audit_rows(audit: &AuditReport) -> Vec<(&'static str, String)> {
    let estimate = |estimate: Option<Estimate>, what: &str| match estimate {
        None => format!("unknown: no {what} in the sample yet"),
        Some(Estimate {
            value,
            low,
            high,
            sample,
        }) => format!(
            "{} ({} to {}), from {}",
            percent(Some(value)),
            percent(Some(low)),
            percent(Some(high)),
            plural(sample, what),
        ),
    };
    let round = |count: f64| grouped(count.round() as u64);
    let distinct = audit.distinct;
    vec![
        ("FPR", estimate(audit.fpr, "new key")),
        ("FNR", estimate(audit.fnr, "repeat")),
        (
            "distinct keys",
            match audit.one_in {
                1 => round(distinct.value),
                _ => format!(
                    "{} ({} to {})",
                    round(distinct.value),
                    round(distinct.low),
                    round(distinct.high)
                ),
            },
        ),
        (
            "sample",
            match audit.one_in {
                1 => "every key".to_owned(),
                one_in => format!("one in {} keys", grouped(one_in)),
            },
        ),
    ]
}

#[cfg(test)]
mod tests {
    use dedupstore::store::{CreateOptions, InMemory, StoreFile, inspect_on};

    use super::*;

    /// Inspects a store whose filter has observed so many different keys.
    fn inspected(options: &CreateOptions, keys: u64) -> Inspection {
        let mut set = options.in_memory().expect("small");
        for key in 0..keys {
            set.observe(key.to_le_bytes());
        }
        let primed = options.primed(set, [1; 16], 900).expect("the same options");
        let layout = primed.layout();
        let mut files = StoreFile::ALL.map(|file| vec![0; layout.file_bytes(file) as usize]);
        for part in primed.parts().expect("encoded") {
            let at = part.offset as usize;
            files[part.file as usize][at..at + part.bytes.len()].copy_from_slice(&part.bytes);
        }
        inspect_on(&InMemory::holding(files, 1000)).expect("inspected")
    }

    fn report(filter: &str, keys: u64) -> String {
        let options = CreateOptions::new(filter).expect("a filter");
        let options = options.memory("4KiB").seed(1).log_size("1MiB");
        inspection_report(&inspected(&options, keys), "a.dds", None, str::to_owned)
    }

    #[test]
    fn the_forecast_says_whether_the_filter_settles() {
        for (filter, keys, parts) in [
            ("bloom:k=4", 0, ["forecast       no observations yet", ""]),
            (
                "blocked:k=6,cap=100",
                100,
                [
                    "50.0 % load after",
                    "in the end     only fills, until every",
                ],
            ),
            (
                "blocked:k=6,cap=100",
                100_000,
                ["100 %\n", "above the recommended load of 50.0 %"],
            ),
            (
                "blocked:k=6,cap=85",
                100,
                [
                    "50.0 % load after",
                    "in the end     settles at 84.8 % load, where 37.1 %",
                ],
            ),
            (
                "stable",
                100,
                [
                    "in the end     settles at 33.3 % load, where 11.1 %",
                    "limit          none",
                ],
            ),
            ("slot:values=1", 100, ["in the end     only fills", ""]),
        ] {
            let report = report(filter, keys);
            for part in parts {
                assert!(
                    report.contains(part),
                    "{filter}: `{part}` is not in {report}"
                );
            }
        }
    }

    #[test]
    fn the_limit_of_a_store_is_shown() {
        let options = CreateOptions::default().memory("4KiB").log_size("1MiB");
        let inspection = inspected(&options.max_fpr(0.02), 10);
        let report = inspection_report(&inspection, "a.dds", None, str::to_owned);
        let limit = "limit          `filter` stops before an FPR of 2.00 %";
        assert!(report.contains(limit), "{report}");
    }

    #[test]
    fn the_load_bar_has_twenty_cells() {
        assert_eq!(bar(0.5, str::to_owned), "██████████░░░░░░░░░░ 50.0 %");
        assert_eq!(bar(7.0, str::to_owned).matches('█').count(), 20);
    }
}
