//! The tests of the command line, by running it. One program, so that it is linked once and
//! its tests share the processors; a test that changes the process for others has no place
//! here.

mod around_a_store;
mod command_line;
mod guide;
mod keys_and_inputs;
mod processes;
mod readme;
mod reproduce_cli;
mod running;
mod snapshots;
mod terminal;
mod upkeep_cli;

/// The program under test.
const DEDUPSTORE: &str = env!("CARGO_BIN_EXE_dedupstore");
