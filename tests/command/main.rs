//! The tests of the command line. They run the built program.
//!
//! All tests are one program, so that it is linked once and the tests run in parallel. A test must
//! not change the state of the process, such as its environment.

mod advice;
mod clock_jumps;
#[cfg(unix)]
mod cluster;
mod completions;
mod compressed_inputs;
mod contains;
mod drop_chance;
mod filter;
mod forget;
mod guide;
mod importance;
mod inspecting;
mod key_options;
mod keys_and_inputs;
mod long_lines;
mod maintenance;
mod processes;
mod readme;
mod recorded_keys;
#[cfg(unix)]
#[path = "../cluster/servers.rs"]
#[allow(dead_code)]
mod redis_servers;
mod reproduce;
mod run_command;
mod serve;
mod serve_addresses;
mod simulate;
mod slices;
mod snapshots;
mod standard_streams;
mod store_commands;
mod terminal;
mod threads;
mod trees;
mod warc;
mod window_reports;
mod window_sessions;
mod windows;

/// The program under test.
const DEDUPSTORE: &str = env!("CARGO_BIN_EXE_dedupstore");
