//! `dedupstore repair`: mend what can be mended.

use std::path::PathBuf;

use clap::Args;
use dedupstore::store::{RepairReport, repair};

use crate::error::Failure;
use crate::output::Output;
use crate::table::grouped;

/// Mend a damaged store without losing anything
///
/// A store keeps everything twice: if one image is damaged, the other and the log bring
/// back the same state. The damaged files are kept beside, as STORE.damaged-1 and so on.
/// If something durable would be lost, nothing is changed, and the loss is named.
#[derive(Debug, Args)]
pub struct Arguments {
    /// The store
    #[arg(value_name = "STORE")]
    store: PathBuf,

    /// Go on without what cannot be brought back; it is named
    #[arg(long)]
    accept_loss: bool,
}

pub fn run(arguments: Arguments, quiet: bool) -> Result<(), Failure> {
    let path = &arguments.store;
    let report = repair(path, arguments.accept_loss).map_err(Failure::store(path))?;
    let mut output = Output::standard()?;
    for finding in &report.findings {
        output.text(&format!("{finding}\n"))?;
    }
    output.flush()?;
    if !quiet {
        eprintln!("dedupstore: {}: {}", path.display(), in_words(&report));
    }
    if report.remaining.is_empty() {
        return Ok(());
    }
    for finding in &report.remaining {
        eprintln!("dedupstore: still there: {finding}");
    }
    Err(Failure::AnswerIsNo)
}

fn in_words(report: &RepairReport) -> String {
    let (Some(kept), Some(observations)) = (&report.kept, report.observations) else {
        return "no damage; nothing was done".to_owned();
    };
    let lost = match &report.lost {
        Some(lost) => format!("{lost} are lost"),
        None => "nothing is lost".to_owned(),
    };
    format!(
        "mended, with {} observations; {lost}; the damaged files are in {}",
        grouped(observations),
        kept.display()
    )
}
