//! `dedupstore repair`: repairs a corrupt store.

use std::path::PathBuf;

use clap::Args;
use dedupstore::lines::{KeyOptions, KeyReader, Line};
use dedupstore::store::{RepairReport, repair};
use dedupstore_cluster::ClusterStore;

use crate::cleanup::CleanupOnSignal;
use crate::cli::GlobalArguments;
use crate::cluster_backend;
use crate::error::Failure;
use crate::input::{Block, Inputs};
use crate::leftovers;
use crate::output::Output;
use crate::remote_address::{RemoteAddress, address_of};
use crate::standard_error;
use crate::table::plural;
use crate::wait::Wait;

/// How many keys a rebuild sets at a time.
const REBUILD_BATCH: usize = 4096;

/// Repair a corrupt store; change nothing if observations would be lost
///
/// A store has two images: if one is corrupt or missing, the other one and the log give the same
/// state. Other missing files are created again if nothing is lost by that. The corrupt files are
/// kept as STORE.damaged-1 and so on. If durable observations would be lost,
/// nothing is changed and the loss is reported.
#[derive(Debug, Args)]
pub struct Arguments {
    /// The store, or the address of one on Redis: its slices that have lost their content are
    /// rebuilt
    #[arg(value_name = "STORE")]
    store: PathBuf,

    /// Repair the store even if observations are lost; reports which
    #[arg(long)]
    accept_loss: bool,

    /// The lines whose keys a store on Redis had; may be given several times
    #[arg(long, value_name = "FILE")]
    from: Vec<PathBuf>,

    #[command(flatten)]
    wait: Wait,
}

pub fn run(arguments: Arguments, global: &GlobalArguments) -> Result<(), Failure> {
    let path = &arguments.store;
    if let Some(address) = address_of(path).transpose()? {
        return repair_remote(address, arguments, global.quiet);
    }
    if !arguments.from.is_empty() {
        let text = "--from is for a store on Redis; a local store repairs itself from its log";
        return Err(Failure::Usage(text.to_owned()));
    }
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

/// Rebuilds slices that have lost their content.
fn repair_remote(address: RemoteAddress, arguments: Arguments, quiet: bool) -> Result<(), Failure> {
    let RemoteAddress::Cluster(address, access) = address else {
        let text = "`dedupstore serve` has its stores open; stop it, and name the directory";
        return Err(Failure::Usage(text.to_owned()));
    };
    let failed = |error| Failure::cluster(&address)(error);
    let mut store = ClusterStore::open(&address, *access).map_err(failed)?;
    if arguments.from.is_empty() && !arguments.accept_loss {
        let failures = store.failures().map_err(failed)?;
        if failures.is_empty() {
            standard_error::message(format_args!("{address}: no slice has failed"));
            return Ok(());
        }
        return Err(Failure::Usage(format!(
            "{address}: {} failed; name the lines whose keys the store had: --from FILE, or accept \
             that these keys are new again: --accept-loss",
            plural(failures.len() as u64, "slice")
        )));
    }
    let inputs = match arguments.from.is_empty() {
        true => None,
        false => Some(Inputs::check(arguments.from)?),
    };
    let mut rebuild = store.begin_rebuild().map_err(failed)?;
    if let Some(inputs) = inputs {
        let rule = cluster_backend::key_rule(&store, &KeyOptions::default())?;
        let (hasher, mut reader) = (store.hasher(), KeyReader::of(rule.clone()));
        let mut batch = |lines: &mut dyn Iterator<Item = Line<'_>>| {
            let mut keys = Vec::new();
            for line in lines {
                keys.extend(reader.key(line.content).map(|key| hasher.fingerprint(key)));
            }
            let mut batches = keys.chunks(REBUILD_BATCH);
            let set = |keys| store.rebuild_batch(&mut rebuild, keys).map_err(failed);
            batches.try_for_each(set)
        };
        inputs.for_each_block(rule.line_end.byte(), |block| match block {
            Block::Lines(mut lines) => batch(&mut lines),
            Block::Unterminated(line) => batch(&mut std::iter::once(line)),
            Block::LongLine(_) | Block::Pause => Ok(()),
        })?;
    }
    store.finish_rebuild(&rebuild).map_err(failed)?;
    let unreachable = store.failures().map_err(failed)?.len() as u64;
    if !quiet {
        standard_error::message(format_args!(
            "{address}: rebuilt {} with {}",
            plural(rebuild.slices.len() as u64, "slice"),
            plural(rebuild.keys, "key")
        ));
    }
    store.close();
    match unreachable {
        0 => Ok(()),
        count => {
            let text = format!("not repaired: {} not answering", plural(count, "slice"));
            standard_error::message(text);
            Err(Failure::AnswerIsNo)
        }
    }
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
