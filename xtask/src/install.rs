//! Builds the page, then installs or runs the command that contains it.

use crate::page;
use crate::step::{Outcome, cargo, run};

/// Installs the command, with the page, by `cargo install`.
pub fn install(options: &[&str]) -> Outcome {
    page::build()?;
    let mut install = cargo(&["install", "--locked", "--path", "cli"]);
    install.args(options);
    run("install", install)
}

/// Serves the page on this machine.
pub fn playground(options: &[&str]) -> Outcome {
    page::build()?;
    let mut playground = cargo(&["run", "--release", "--quiet", "--package", "dedupstore-cli"]);
    playground.args(["--", "playground"]).args(options);
    run("playground", playground)
}
