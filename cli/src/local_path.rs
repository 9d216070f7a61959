//! Tells the address of a server from a path, where only a path makes sense.
//!
//! Otherwise the address would be looked for among the files, and messages would repeat it with the
//! password in it.

use std::path::Path;

use dedupstore_server::ServerAddress;

use crate::error::Failure;

/// Fails if the store of a command is the address of a server.
pub fn check_store(command: &str, path: &Path) -> Result<(), Failure> {
    match is_address(path) {
        false => Ok(()),
        true => Err(Failure::Usage(format!(
            "`{command}` takes the path of a local store, not the address of a server; filter, \
             create, contains, inspect and repair take an address{}",
            match at_a_server(command) {
                Some(request) =>
                    format!("; a server of `dedupstore serve` answers {request} instead"),
                None => String::new(),
            }
        ))),
    }
}

/// Fails if an input is the address of a server.
pub fn check_input(path: &Path) -> Result<(), Failure> {
    match is_address(path) {
        false => Ok(()),
        true => Err(Failure::Usage(
            "the address of a server is not a file to read; name the store first, then the files: \
             dedupstore filter redis://127.0.0.1:6379/links links.txt"
                .to_owned(),
        )),
    }
}

/// What a client of `dedupstore serve` sends instead of running a command.
fn at_a_server(command: &str) -> Option<&'static str> {
    Some(match command {
        "checkpoint" => "DEDUP.CHECKPOINT",
        "explain" => "DEDUP.EXPLAIN",
        "forget" => "DEDUP.FORGET",
        _ => return None,
    })
}

/// Returns whether a path is the address of a server.
pub fn is_address(path: &Path) -> bool {
    path.to_str().is_some_and(ServerAddress::is_address)
}
