//! The subcommands, one file each.
//!
//! A file defines `Arguments`, whose doc comment is the command's help, and `run`. To add a
//! command, write its file, declare the module and add a line to the list below, in the order
//! in which `dedupstore --help` shows the commands.

mod advice_text;
mod advise;
mod backup;
mod checkpoint;
mod completions;
pub mod contains;
mod create;
mod explain;
pub mod filter;
mod filters;
mod forget;
mod generate;
mod grow;
mod inspect;
mod man;
mod merge;
mod playground;
mod repair;
mod reproduce;
mod serve;
mod simulate;
mod simulate_slices;
pub mod simulate_tree;
mod simulated_log;
mod simulated_stream;
mod verify;
mod weighted_tables;

use clap::Subcommand;

use crate::cli::GlobalArguments;
use crate::error::Failure;

macro_rules! commands {
    ($($name:ident($module:ident),)*) => {
        /// The subcommand and its arguments.
        #[derive(Debug, Subcommand)]
        pub enum Command {
            $($name($module::Arguments),)*
        }

        impl Command {
            /// Runs the subcommand.
            pub fn run(self, global: &GlobalArguments) -> Result<(), Failure> {
                match self {
                    $(Command::$name(arguments) => $module::run(arguments, global),)*
                }
            }

            /// Returns whether the command does nothing useful without standard output. The
            /// others change stores and report that on standard error, or only if asked to, or
            /// their answer is the exit code.
            pub fn prints_data(&self, global: &GlobalArguments) -> bool {
                match self {
                    Command::Create(_)
                    | Command::Backup(_)
                    | Command::Checkpoint(_)
                    | Command::Merge(_)
                    | Command::Serve(_)
                    | Command::Grow(_) => false,
                    Command::Contains(_) | Command::Forget(_) => !global.quiet,
                    _ => true,
                }
            }
        }
    };
}

commands! {
    Filter(filter),
    Create(create),
    Contains(contains),
    Forget(forget),
    Simulate(simulate),
    Advise(advise),
    Generate(generate),
    Reproduce(reproduce),
    Filters(filters),
    Inspect(inspect),
    Verify(verify),
    Repair(repair),
    Backup(backup),
    Checkpoint(checkpoint),
    Merge(merge),
    Grow(grow),
    Explain(explain),
    Serve(serve),
    Playground(playground),
    Completions(completions),
    Man(man),
}
