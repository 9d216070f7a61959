//! The command line's grammar.

use clap::{Parser, Subcommand};

use crate::{
    advise, backup, checkpoint, colour, completions, contains, create, explain, filter, filters,
    generate, inspect, man, merge, playground, repair, reproduce, simulate, verify,
};

/// The memory of a long crawl: prints each line whose key has not been met before, in
/// bounded memory, and across restarts if you give it a store.
#[derive(Debug, Parser)]
#[command(name = "dedupstore", version, propagate_version = true, after_help = EXAMPLES)]
pub struct Cli {
    /// Say nothing but data and errors
    #[arg(short, long, global = true)]
    pub quiet: bool,

    /// When to colour what people read; NO_COLOR is honoured
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub color: colour::When,

    #[command(subcommand)]
    pub command: Command,
}

const EXAMPLES: &str = "\
Examples:
  dedupstore filter links.txt > new.txt         each link once, in order, in 64 MiB
  tail -f access.log | dedupstore filter --field 7 --memory 256MiB
  dedupstore filter links.dds today.txt         remembers across runs, crashes and power cuts
  dedupstore simulate links.txt --memory 1MiB   how often each filter would be wrong
  dedupstore advise links.txt --memory 1MiB     which filter to take
  dedupstore filters                            the filters and their parameters

Keys are bytes: lines may be binary and of any length. Exit codes: 0 fine,
1 the answer is no, 2 an error, 130 or 143 after a signal.";

#[derive(Debug, Subcommand)]
pub enum Command {
    Filter(filter::Arguments),
    Create(create::Arguments),
    Contains(contains::Arguments),
    Simulate(simulate::Arguments),
    Advise(advise::Arguments),
    Generate(generate::Arguments),
    Reproduce(reproduce::Arguments),
    Filters(filters::Arguments),
    Inspect(inspect::Arguments),
    Verify(verify::Arguments),
    Repair(repair::Arguments),
    Backup(backup::Arguments),
    Checkpoint(checkpoint::Arguments),
    Merge(merge::Arguments),
    Explain(explain::Arguments),
    Playground(playground::Arguments),
    Completions(completions::Arguments),
    Man(man::Arguments),
}
