//! `dedupstore create`: creates an empty store.

use std::path::{Path, PathBuf};

use clap::Args;
use dedupstore::DEFAULT_MEMORY;
use dedupstore::advise::Question;
use dedupstore::store::{CreateOptions, Store};
use dedupstore_view::forgetting;

use crate::cleanup::CleanupOnSignal;
use crate::cli::GlobalArguments;
use crate::cluster_arguments::{self, ClusterArguments};
use crate::cluster_report;
use crate::command::advise::Prefer;
use crate::error::Failure;
use crate::filter_arguments::FilterArguments;
use crate::filter_choice::{self, WindowQuestion};
use crate::given_filter::{check_importance_is_used, check_times_are_used};
use crate::growing_filter;
use crate::key_arguments::KeyArguments;
use crate::leftovers;
use crate::log_clock::RecognizedTimes;
use crate::log_sample::{self, LogSample};
use crate::missing_importance;
use crate::open_store;
use crate::output::Output;
use crate::remote_address::{RemoteAddress, address_of};
use crate::standard_error;
use crate::value_parsers;

/// Create a store, which remembers keys across crashes and restarts
///
/// A store is a directory of a fixed size. All its disk space is allocated now, so a full disk
/// can fail this command but no later one. The key options are recorded: later runs use them, and
/// a run with others is refused. `filter` creates a store with the default options if
/// there is none; use `create` to choose the options.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// The path of the store; it must not exist. End the name in .dds, so that `filter`
    /// recognizes it as a store. An address as in redis://127.0.0.1:7000/links creates a store on
    /// Redis
    #[arg(value_name = "STORE")]
    store: PathBuf,

    #[command(flatten)]
    filter: FilterArguments,

    /// Choose a filter for this number of distinct keys, in one window with --window [with --for,
    /// default: 4 times those of the log]
    #[arg(long, value_name = "N", value_parser = value_parsers::count, conflicts_with = "filter",
          help_heading = "Filter")]
    expect: Option<u64>,

    /// Reserve this much disk and address space, and let the filter grow in it: for an unknown
    /// number of keys. Memory is used as keys come, and the false positive rate stays below --fpr
    /// until the reserve is full. `dedupstore grow` raises the limit
    #[arg(long, value_name = "SIZE", value_parser = value_parsers::size,
          conflicts_with_all = ["filter", "memory", "expect", "log", "prefer", "window"],
          help_heading = "Filter")]
    grow_to: Option<u64>,

    #[arg(long, help = fpr_help(), value_name = "P", value_parser = value_parsers::share, conflicts_with_all = ["filter", "memory"],
          help_heading = "Filter")]
    fpr: Option<f64>,

    #[arg(long = "for", help = log_help(), value_name = "LOG", conflicts_with = "filter",
          help_heading = "Filter")]
    log: Option<PathBuf>,

    /// Which error is worse, if the filter is chosen for a given memory; see `advise`
    /// [default: balanced]
    #[arg(long, value_name = "WHICH", conflicts_with_all = ["filter", "fpr"], help_heading = "Filter")]
    prefer: Option<Prefer>,

    /// Record a limit of the false positive rate, like 0.01 or 1%: `filter` stops with exit code
    /// 3 before it is exceeded
    #[arg(long, value_name = "P", value_parser = value_parsers::limit, help_heading = "Filter")]
    max_fpr: Option<f64>,

    #[command(flatten)]
    key: KeyArguments,

    #[command(flatten)]
    cluster: ClusterArguments,

    /// The size of each of the two logs; a full log causes a checkpoint [default: the size of
    /// the memory, from 1MiB to 2GiB]
    #[arg(long, value_name = "SIZE", value_parser = value_parsers::size)]
    log_size: Option<u64>,
}

fn fpr_help() -> String {
    format!(
        "The false positive rate that may be reached with that number of keys, or when the reserve \
         is full [default: {}]",
        filter_choice::DEFAULT_FPR
    )
}

fn log_help() -> String {
    format!(
        "Choose a filter for a stream like this log, with {} times as many distinct keys, or \
         --expect N; the key options apply to it. With --importance-field or \
         --importance-json-key, errors weigh as much as the importance of their lines",
        filter_choice::HEADROOM
    )
}

const NO_KEYS: &str = "--fpr needs the number of distinct keys; give --expect N, --for LOG, or \
                       --grow-to SIZE if it is unknown";

const EXAMPLES: &str = "\
Examples:
  dedupstore create links.dds --memory 256MiB
  dedupstore create links.dds --expect 100M --fpr 0.001
  dedupstore create links.dds --grow-to 4GiB --fpr 0.1%   if the number of keys is unknown
  dedupstore create links.dds --for last-month.txt.gz --normalize crawl
  dedupstore create links.dds --for sample.txt --expect 50M --max-fpr 1%
  dedupstore create links.dds --for links.tsv --memory 1MiB --field 1 --importance-field 2
  dedupstore create pages.dds --field 7 --normalize whatwg
  dedupstore create pages.dds --window 7d --field 7 --time-field 4
  dedupstore create links.dds --memory 1GiB --filter stable:k=2,p=4,max=1
  dedupstore create redis://127.0.0.1:7000/links --slices 16 --memory 1GiB";

pub fn run(arguments: Arguments, global: &GlobalArguments) -> Result<(), Failure> {
    if let Some(address) = address_of(&arguments.store).transpose()? {
        return create_remote(address, &arguments, global.quiet);
    }
    if arguments.cluster.is_given() {
        let text =
            "--slices and --rule are for a store on Redis, as in redis://127.0.0.1:7000/links";
        return Err(Failure::Usage(text.to_owned()));
    }
    let mut rule = arguments.key.rule()?;
    let (options, mut reasons) = choice(&arguments, global.quiet)?;
    let spec = options.spec().cloned().unwrap_or_default();
    check_times_are_used(&spec, rule.time.is_some())?;
    if is_weighted(&arguments)? && !spec.descriptor().needs.importance {
        // The importance of the log took part in the choice, and the store needs none.
        let is_weighed = arguments.filter.memory.is_some() || arguments.prefer.is_some();
        reasons.push(missing_importance::not_recorded(is_weighed).to_owned());
        rule.importance = None;
    }
    check_importance_is_used(&spec, rule.importance.is_some())?;
    if spec.descriptor().needs.importance && rule.importance.is_none() && !global.quiet {
        standard_error::message(missing_importance::NO_OPTION);
    }
    let mut options = options.key(rule.clone());
    if let Some(bytes) = arguments.log_size {
        options = options.log_size(bytes);
    }
    if let Some(rate) = arguments.max_fpr {
        options = options.max_fpr(rate);
    }
    let path = &arguments.store;
    leftovers::report(path, global.quiet);
    let _cleanup = CleanupOnSignal::start();
    // First, so that nothing is created if the report cannot be written.
    let output = match global.quiet {
        true => None,
        false => Some(Output::standard()?),
    };
    let store = Store::create(path, &options).map_err(Failure::store(path))?;
    let created = open_store::created(path, &store);
    let recorded = [
        open_store::recorded_key(&rule),
        open_store::recorded_time(&rule),
    ];
    let [key, time] = recorded.map(|options| options.map(|options| format!("its {options}")));
    let forgets = (store.filter().window()).map(|clock| forgetting(store.spec(), clock));
    store.close().map_err(Failure::store(path))?;
    let Some(mut output) = output else {
        return Ok(());
    };
    let limit = arguments.max_fpr.map(open_store::recorded_limit);
    let limit = limit.map(|limit| format!("its {limit}"));
    let forgets = forgets.map(|forgets| format!("it {forgets}"));
    let lines = [Some(created), forgets, key, time, limit];
    let mut lines = lines.into_iter().flatten().chain(reasons);
    let written = lines.try_for_each(|line| output.text(&format!("{line}\n")));
    match written.and_then(|()| output.flush()) {
        Err(Failure::Output(error)) => Err(Failure::Report {
            path: path.clone(),
            removed: remove_empty(path),
            error,
        }),
        written => written,
    }
}

/// Creates a store on Redis.
fn create_remote(
    address: RemoteAddress,
    arguments: &Arguments,
    quiet: bool,
) -> Result<(), Failure> {
    let RemoteAddress::Cluster(address, access) = address else {
        let text = "`dedupstore serve` creates its stores itself, on first use or by BF.RESERVE";
        return Err(Failure::Usage(text.to_owned()));
    };
    let given = [
        (arguments.expect.is_some(), "--expect"),
        (arguments.grow_to.is_some(), "--grow-to"),
        (arguments.fpr.is_some(), "--fpr"),
        (arguments.log.is_some(), "--for"),
        (arguments.prefer.is_some(), "--prefer"),
        (arguments.max_fpr.is_some(), "--max-fpr"),
        (arguments.log_size.is_some(), "--log-size"),
    ];
    if let Some((_, option)) = given.into_iter().find(|(is_given, _)| *is_given) {
        return Err(Failure::Usage(format!(
            "{option} is not for a store on Redis; give --memory and --slices"
        )));
    }
    let (filter, key) = (&arguments.filter, &arguments.key);
    let store = cluster_arguments::create(&address, *access, filter, key, arguments.cluster)?;
    if quiet {
        return Ok(());
    }
    let mut output = Output::standard()?;
    output.text(&format!("{}\n", cluster_report::created(&store)))?;
    output.flush()
}

/// Removes a store whose creation cannot be reported: the caller takes that for a failure, and
/// tries again. Returns false if another process has begun to use it.
fn remove_empty(path: &Path) -> bool {
    let store = Store::open(path).ok().filter(|store| store.sequence() == 0);
    store.is_some_and(|store| store.delete().is_ok())
}

/// Whether a filter is chosen for a log whose lines have importance.
fn is_weighted(arguments: &Arguments) -> Result<bool, Failure> {
    let is_chosen = arguments.log.is_some() && arguments.filter.window.is_none();
    Ok(is_chosen && arguments.key.rule()?.importance.is_some())
}

/// Returns the options of the store, and the reasons if the filter was chosen, one per line.
fn choice(arguments: &Arguments, quiet: bool) -> Result<(CreateOptions, Vec<String>), Failure> {
    if let Some(bytes) = arguments.grow_to {
        let rate = arguments.fpr.unwrap_or(filter_choice::DEFAULT_FPR);
        let chosen = growing_filter::up_to(bytes.saturating_mul(8), rate)?;
        let options = arguments.filter.options()?;
        let options = options
            .filter(chosen.filter)
            .memory_bits(chosen.memory_bits);
        return Ok((options, vec![chosen.reason]));
    }
    let window = arguments.filter.window;
    let log = match &arguments.log {
        Some(log) => {
            let log = Some(log.clone());
            Some(log_sample::read(log, &arguments.key, window, quiet)?)
        }
        None => None,
    };
    match window {
        Some(seconds) if arguments.filter.filter.is_none() => {
            return window_choice(arguments, seconds, log.as_ref());
        }
        _ => {}
    }
    let of_log = log.as_ref().map(|log| log.distinct);
    let with_headroom = of_log.map(|keys| keys.saturating_mul(filter_choice::HEADROOM));
    let distinct = arguments.expect.or(with_headroom);
    let memory_bits = arguments.filter.memory.map(|bytes| bytes.saturating_mul(8));
    let chosen = match (distinct, memory_bits, arguments.prefer) {
        (None, _, None) if arguments.fpr.is_some() => {
            return Err(Failure::Usage(NO_KEYS.to_owned()));
        }
        (None, _, None) => return Ok((arguments.filter.options()?, Vec::new())),
        (Some(distinct), None, None) => filter_choice::for_fpr(
            distinct,
            arguments.fpr.unwrap_or(filter_choice::DEFAULT_FPR),
        )?,
        (_, memory_bits, preference) => {
            let memory_bits = memory_bits.unwrap_or(DEFAULT_MEMORY.bits());
            let preference = preference.unwrap_or_default().into();
            let question = Question {
                distinct,
                preference,
                sample: log.as_ref().map(|log| &log.sample),
                weighted: is_weighted(arguments)?,
                ..Question::of_memory(memory_bits)
            };
            filter_choice::in_memory(&question)?
        }
    };
    let options = arguments.filter.options()?;
    let options = options
        .filter(chosen.filter)
        .memory_bits(chosen.memory_bits);
    let headroom = of_log.filter(|_| arguments.expect.is_none());
    let headroom = headroom.map(filter_choice::headroom);
    let reasons = [Some(chosen.reason), headroom].into_iter().flatten();
    Ok((options, reasons.collect()))
}

/// Chooses a filter with a window, as without one: for the default rate if there is a number of
/// keys and no memory.
fn window_choice(
    arguments: &Arguments,
    seconds: u64,
    log: Option<&LogSample>,
) -> Result<(CreateOptions, Vec<String>), Failure> {
    let of_log = log.map(|log| log.keys_in_window(seconds));
    let with_headroom = of_log.map(|keys| keys.saturating_mul(filter_choice::HEADROOM));
    let question = WindowQuestion {
        distinct: arguments.expect.or(with_headroom),
        log,
        preference: arguments.prefer.unwrap_or_default().into(),
        ..WindowQuestion::of(seconds)
    };
    let chosen = match (arguments.filter.memory, question.distinct, arguments.prefer) {
        (None, None, None) if arguments.fpr.is_some() => {
            return Err(Failure::Usage(NO_KEYS.to_owned()));
        }
        (None, Some(_), None) => {
            let rate = arguments.fpr.unwrap_or(filter_choice::DEFAULT_FPR);
            // By formulas, as without a window.
            let by_formulas = WindowQuestion {
                log: None,
                ..question
            };
            by_formulas.choose_for(rate)?
        }
        (memory, _, _) => {
            let memory = memory.map(|bytes| bytes.saturating_mul(8));
            question.choose(memory.unwrap_or(DEFAULT_MEMORY.bits()))?
        }
    };
    let options = arguments.filter.options()?;
    let options = options
        .filter(chosen.filter)
        .memory_bits(chosen.memory_bits);
    let log_decides = log.filter(|_| arguments.expect.is_none());
    let room = log_decides.map(|log| filter_choice::headroom_in_window(log, seconds));
    let recognized = log.and_then(|log| log.times.as_ref());
    let unused = recognized.map(RecognizedTimes::unused);
    let reasons = [Some(chosen.reason), room, unused].into_iter().flatten();
    Ok((options, reasons.collect()))
}
