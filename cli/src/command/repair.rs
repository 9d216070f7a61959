//! `dedupstore repair`: repairs a corrupt store.

use std::path::PathBuf;

use clap::Args;
use dedupstore::store::{RepairReport, repair};

use crate::cleanup::CleanupOnSignal;
use crate::cli::GlobalArguments;
use crate::error::Failure;
use crate::leftovers;
use crate::output::Output;
use crate::standard_error;
use crate::table::plural;
use crate::wait::Wait;

/// Repair a corrupt store; change nothing if observations would be lost
///
/// A store has two images: if one is corrupt or missing, the other one and the log give the same
/// state. Other missing files are created again if nothing is lost by that. The corrupt files are
/// kept as STORE.damaged-1 and so on. If durable observations would be lost,
/// nothing is changed and the loss is reported.
#[derive(Debug, Args)]
pub struct Arguments {
    /// The store
    #[arg(value_name = "STORE")]
    store: PathBuf,

    /// Repair the store even if observations are lost; reports which
    #[arg(long)]
    accept_loss: bool,

    #[command(flatten)]
    wait: Wait,
}

pub fn run(arguments: Arguments, global: &GlobalArguments) -> Result<(), Failure> {
    let path = &arguments.store;
    leftovers::report(path, global.quiet);
    let _cleanup = CleanupOnSignal::start();
    let repair = || repair(path, arguments.accept_loss);
    let report = arguments.wait.until_free(path, global.quiet, repair)?;
    let mut output = Output::standard()?;
    for finding in &report.findings {
        output.text(&format!("{finding}\n"))?;
    }
    output.flush()?;
    if !global.quiet {
        standard_error::message(format_args!("{}: {}", path.display(), summary(&report)));
    }
    if report.remaining.is_empty() {
        return Ok(());
    }
    for finding in &report.remaining {
        standard_error::message(format_args!("not repaired: {finding}"));
    }
    Err(Failure::AnswerIsNo)
}

fn summary(report: &RepairReport) -> String {
    let Some(observations) = report.observations else {
        return "no corruption found; nothing was changed".to_owned();
    };
    let mut done = String::new();
    if !report.restored.is_empty() {
        let names = report.restored.iter().map(|file| file.name());
        let names: Vec<&str> = names.collect();
        done += &format!("; created again: {}", names.join(", "));
    }
    if let Some(kept) = &report.kept {
        done += &format!("; the corrupt files are in {}", kept.display());
    }
    let lost = match &report.lost {
        Some(lost) => format!("{lost} are lost"),
        None => "nothing is lost".to_owned(),
    };
    format!(
        "repaired, with {}; {lost}{done}",
        plural(observations, "observation"),
    )
}
