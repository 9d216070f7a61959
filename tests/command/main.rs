//! The tests of the command line. They run the built program.
//!
//! All tests are one program, so that it is linked once and the tests run in parallel. A test must
//! not change the state of the process, such as its environment.

mod advice;
mod drop_chance;
mod filter;
mod guide;
mod keys_and_inputs;
mod maintenance;
mod processes;
mod readme;
mod reproduce;
mod run_command;
mod simulate;
mod snapshots;
mod store_commands;
mod terminal;

/// The program under test.
const DEDUPSTORE: &str = env!("CARGO_BIN_EXE_dedupstore");
