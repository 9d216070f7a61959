//! `dedupstore inspect`: what a store says of itself.

use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::Args;
use dedupstore::audit::{AuditReport, Estimate};
use dedupstore::store::{Inspection, inspect};
use serde_json::{Value, json};

use crate::colour::{self, Colour};
use crate::error::Failure;
use crate::output::Output;
use crate::pipe;
use crate::quantity::{self, show_bits};
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

    /// Again and again, until interrupted; every 2 seconds, or as often as said
    #[arg(long, value_name = "TIME", num_args = 0..=1, default_missing_value = "2s",
          require_equals = true, value_parser = quantity::time)]
    watch: Option<Duration>,
}

pub fn run(arguments: Arguments) -> Result<(), Failure> {
    let path = &arguments.store;
    let mut output = Output::standard()?;
    loop {
        let inspection = inspect(path).map_err(Failure::store(path))?;
        let text = match arguments.json {
            true => format!("{}\n", as_json(&inspection)),
            false => page(&path.display().to_string(), &inspection),
        };
        let Some(interval) = arguments.watch else {
            output.text(&text)?;
            return output.flush();
        };
        if io::stdout().is_terminal() && !arguments.json {
            // To the top left corner, and clear what is below.
            output.text("\x1b[H\x1b[J")?;
        }
        output.text(&text)?;
        output.flush()?;
        wait(interval)?;
    }
}

/// Waits, unless the reader leaves.
fn wait(interval: Duration) -> Result<(), Failure> {
    let until = Instant::now() + interval;
    loop {
        let left = until.saturating_duration_since(Instant::now());
        if pipe::reader_is_gone() {
            return Err(Failure::ClosedPipe);
        }
        if left.is_zero() {
            return Ok(());
        }
        std::thread::sleep(left.min(Duration::from_millis(100)));
    }
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
            ("load", picture(inspection.load)),
            (
                "drop chance",
                percent(Some(inspection.estimated_fpr)) + " for the next new key",
            ),
            ("forecast", forecast(inspection)),
        ],
    );
    if let Some(audit) = &inspection.audit {
        group("Audited, 95 % interval", &audited(audit));
    }
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
    let full = colour::on_stdout(Colour::Green, &full);
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
