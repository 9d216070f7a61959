//! What a store says of itself, for people: the same words on a terminal and on a page.

use super::inspect::Inspection;
use crate::audit::{AuditReport, Estimate};
use crate::figures::{duration, grouped, percent, show_bits};

impl Inspection {
    /// For people: what `dedupstore inspect` prints of the store of a name. `paint` colours the
    /// filled part of the load's picture where there are colours.
    pub fn report(&self, name: &str, paint: impl Fn(&str) -> String) -> String {
        page(name, self, paint)
    }
}

fn page(name: &str, inspection: &Inspection, paint: impl Fn(&str) -> String) -> String {
    let bytes = |bytes: u64| show_bits(bytes.saturating_mul(8));
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
                "normalization",
                match inspection.normalization.as_str() {
                    "" => "none".to_owned(),
                    name => name.to_owned(),
                },
            ),
        ],
    );
    group(
        "At the last checkpoint",
        &[
            ("observations", grouped(inspection.observations)),
            ("new", grouped(inspection.new)),
            ("seen", grouped(inspection.seen)),
            ("load", picture(inspection.load, paint)),
            (
                "drop chance",
                percent(Some(inspection.estimated_fpr)) + " for the next new key",
            ),
            ("forecast", forecast(inspection)),
        ],
    );
    if let Some(audit) = &inspection.audit {
        group(
            "Audited since the beginning, 95 % interval",
            &audited(audit),
        );
    }
    if let Some(by) = inspection.predicted_by {
        let predicted = |share: Option<f64>| match share {
            Some(share) if share < 1e-6 => "0 %".to_owned(),
            share => percent(share),
        };
        let distinct = inspection.predicted_distinct.unwrap_or(0);
        let sampled = inspection.audit.as_ref();
        let title = match sampled.is_some_and(|audit| !audit.gaps.is_empty()) {
            true => "Theory, from these counts and how far back the audit's repeats lie",
            false => "Theory, from these counts, if repeats are uniform picks",
        };
        group(
            title,
            &[
                ("distinct keys", format!("about {}", grouped(distinct))),
                (
                    "FPR",
                    predicted(inspection.predicted_fpr) + " for the next new key",
                ),
                (
                    "FNR",
                    predicted(inspection.predicted_fnr) + " for the next repeat",
                ),
                ("load", predicted(inspection.predicted_load)),
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
                    true => "; the next is under way or was cut off",
                    false => "",
                }
            ),
        ),
        (
            "durable",
            match inspection.durable_sequence {
                Some(sequence) => grouped(sequence),
                None => "not known: the mark is not readable; run `dedupstore verify`".to_owned(),
            },
        ),
        ("in the log", grouped(inspection.log_sequence)),
        ("log", log(inspection)),
    ];
    group("Observations recorded up to", &sequence);
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

fn age(inspection: &Inspection) -> u64 {
    let created = inspection.created_unix_seconds;
    let until_checkpoint = inspection.checkpoint_unix_seconds.saturating_sub(created);
    until_checkpoint + inspection.checkpoint_age_seconds
}

fn log(inspection: &Inspection) -> String {
    let bytes = |bytes: u64| show_bits(bytes.saturating_mul(8));
    let mut text = format!(
        "{} of {} in use",
        bytes(inspection.log_used_bytes),
        bytes(inspection.log_bytes)
    );
    if let Some(torn) = &inspection.torn_tail {
        text += &format!(
            "; {} is torn at byte {}: nothing durable is lost",
            torn.file, torn.offset
        );
    }
    if let Some(damage) = &inspection.damage {
        text += &format!("; {damage}; run `dedupstore verify`");
    }
    text
}

/// A share as a small picture.
fn picture(share: f64, paint: impl Fn(&str) -> String) -> String {
    let filled = (20.0 * share.clamp(0.0, 1.0)).round() as usize;
    let (full, empty) = ("█".repeat(filled), "░".repeat(20 - filled));
    let full = paint(&full);
    format!("{full}{empty} {}", percent(Some(share)))
}

/// When it will be too full, and what to do then.
fn forecast(inspection: &Inspection) -> String {
    let Some(forecast) = inspection.forecast else {
        return match inspection.observations {
            0 => "nothing to go by yet".to_owned(),
            _ => "its load settles by itself".to_owned(),
        };
    };
    let comfortable = percent(Some(forecast.comfortable_load));
    match (forecast.observations_left, forecast.seconds_left) {
        (0, _) => format!(
            "past its comfortable load of {comfortable}; `dedupstore create` a larger store for \
             what is to come"
        ),
        (left, None) => format!("{comfortable} load after {} more", grouped(left)),
        (left, Some(seconds)) => format!(
            "{comfortable} load after {} more, in {} at this rate",
            grouped(left),
            duration(seconds)
        ),
    }
}

/// What the store found out about itself by knowing the truth for some keys.
fn audited(audit: &AuditReport) -> Vec<(&'static str, String)> {
    let estimate = |estimate: Option<Estimate>, what: &str| match estimate {
        None => format!("not known: no {what} sampled yet"),
        Some(Estimate {
            value,
            low,
            high,
            sample,
        }) => format!(
            "{} ({} to {}), {} {what}{}",
            percent(Some(value)),
            percent(Some(low)),
            percent(Some(high)),
            grouped(sample),
            if sample == 1 { "" } else { "s" },
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
                one_in => format!("one key in {}", grouped(one_in)),
            },
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_as_a_picture() {
        assert_eq!(picture(0.5, str::to_owned), "██████████░░░░░░░░░░ 50.0 %");
        assert_eq!(picture(7.0, str::to_owned).matches('█').count(), 20);
    }
}
