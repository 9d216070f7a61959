//! The command line: options that every subcommand accepts, and the subcommands.

use clap::{Args, Parser};

use crate::color;
use crate::command::Command;

/// Deduplicates a stream of lines in bounded memory, and across restarts if given a store
///
/// Keys are bytes: lines may be binary, and of any length up to --max-line.
#[derive(Debug, Parser)]
#[command(name = "dedupstore", version, propagate_version = true, after_help = EXAMPLES)]
pub struct Cli {
    #[command(flatten)]
    pub global: GlobalArguments,

    #[command(subcommand)]
    pub command: Command,
}

/// Options that every subcommand accepts.
#[derive(Debug, Args)]
pub struct GlobalArguments {
    /// Print only data and errors
    #[arg(short, long, global = true, help_heading = "Global options")]
    pub quiet: bool,

    /// When to use colors
    #[arg(
        long,
        global = true,
        help_heading = "Global options",
        value_name = "WHEN",
        default_value = "auto"
    )]
    pub color: color::When,
}

const EXAMPLES: &str = "\
Examples:
  dedupstore filter links.txt > new.txt         print each link once, in order
  tail -f access.log | dedupstore filter --field 7 --memory 256MiB
  dedupstore filter links.dds today.txt         remember links across runs and crashes
  dedupstore simulate links.txt --memory 1MiB   measure how often each filter is wrong
  dedupstore advise links.txt --memory 1MiB     choose a filter
  dedupstore filters                            list the filters and their parameters

Exit codes:
  0         success
  1         the answer is no (contains, verify, repair)
  2         error
  3         filter stopped at a limit of the false positive rate (--max-fpr)
  130, 143  ended by SIGINT or SIGTERM";
