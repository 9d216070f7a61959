//! `dedupstore inspect`: what a store says of itself.

use std::path::PathBuf;

use clap::Args;
use dedupstore::store::{Inspection, inspect};
use serde_json::{Value, json};

use crate::error::Failure;
use crate::output::Output;
use crate::quantity::show_bits;
use crate::table::{grouped, percent};

/// Show a store's filter, sizes, counts and health; works beside a running writer
#[derive(Debug, Args)]
pub struct Arguments {
    /// The store
    #[arg(value_name = "STORE")]
    store: PathBuf,

    /// Print one object
    #[arg(long)]
    json: bool,
}

pub fn run(arguments: Arguments) -> Result<(), Failure> {
    let path = &arguments.store;
    let inspection = inspect(path).map_err(Failure::store(path))?;
    let mut output = Output::standard()?;
    match arguments.json {
        true => output.text(&format!("{}\n", as_json(&inspection)))?,
        false => output.text(&page(&path.display().to_string(), &inspection))?,
    }
    output.flush()
}

fn as_json(inspection: &Inspection) -> Value {
    let mut object = json!({"schema": 1});
    if let (Some(object), Ok(Value::Object(fields))) =
        (object.as_object_mut(), serde_json::to_value(inspection))
    {
        object.extend(fields);
    }
    object
}

fn page(path: &str, inspection: &Inspection) -> String {
    let bytes = |bytes: u64| show_bits(bytes.saturating_mul(8));
    let mut page = format!("{path}\n");
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
        ],
    );
    group(
        "At the last checkpoint",
        &[
            ("observations", grouped(inspection.observations)),
            ("new", grouped(inspection.new)),
            ("seen", grouped(inspection.seen)),
            ("load", picture(inspection.load)),
            (
                "estimated FPR",
                percent(Some(inspection.estimated_fpr)) + " of new keys taken for seen",
            ),
        ],
    );
    if let Some(by) = inspection.predicted_by {
        let predicted = |share: Option<f64>| match share {
            Some(share) if share < 1e-6 => "0 %".to_owned(),
            share => percent(share),
        };
        let distinct = inspection.predicted_distinct.unwrap_or(0);
        group(
            "Theory, from these counts, if repeats are uniform picks",
            &[
                ("distinct keys", format!("about {}", grouped(distinct))),
                ("FPR", predicted(inspection.predicted_fpr)),
                ("FNR", predicted(inspection.predicted_fnr)),
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
fn picture(share: f64) -> String {
    let filled = (20.0 * share.clamp(0.0, 1.0)).round() as usize;
    let (full, empty) = ("█".repeat(filled), "░".repeat(20 - filled));
    format!("{full}{empty} {}", percent(Some(share)))
}

/// A time in the largest unit that leaves at least 2.
fn duration(seconds: u64) -> String {
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7200 => format!("{} min", seconds / 60),
        7200..172_800 => format!("{} h", seconds / 3600),
        _ => format!("{} d", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_for_people() {
        for (seconds, text) in [
            (0, "0 s"),
            (119, "119 s"),
            (120, "2 min"),
            (7200, "2 h"),
            (864_000, "10 d"),
        ] {
            assert_eq!(duration(seconds), text);
        }
    }

    #[test]
    fn a_load_as_a_picture() {
        assert_eq!(picture(0.5), "██████████░░░░░░░░░░ 50.0 %");
        assert_eq!(picture(7.0).matches('█').count(), 20);
    }
}
