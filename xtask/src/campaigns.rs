//! Long runs and generated documents.

use crate::step::{Outcome, cargo, run};

/// Runs the crash laboratory.
pub fn crash(options: &[&str]) -> Outcome {
    let target = ["dedupstore-tests", "--example", "crash_campaign"];
    run_release("crash laboratory", target, options)
}

/// Attacks the command line with killed readers, full disks, and damaged stores.
pub fn siege(options: &[&str]) -> Outcome {
    let package = ["--package", "dedupstore-cli"];
    let mut build = cargo(&["build", "--release", "--quiet"]);
    build.args(package);
    run("command line", build)?;
    let program = crate::step::root().join("target/release/dedupstore");
    let program = program.to_string_lossy();
    let target = ["dedupstore-tests", "--example", "siege"];
    run_release("siege", target, &[&[program.as_ref()], options].concat())
}

/// Adds the golden states and the golden store of a new filter.
pub fn golden(filter: &str) -> Outcome {
    let target = ["dedupstore-tools", "--bin", "golden"];
    run_release("golden files", target, &[filter])
}

/// Writes docs/filters.
pub fn filter_pages() -> Outcome {
    let target = ["dedupstore-tools", "--bin", "filter_pages"];
    run_release("docs/filters", target, &[])
}

/// Measures and writes docs/TRADEOFFS.md, then writes docs/filters.
pub fn tradeoff(options: &[&str]) -> Outcome {
    let target = ["dedupstore-tools", "--bin", "tradeoff"];
    run_release("docs/TRADEOFFS.md", target, options)?;
    filter_pages()
}

/// Measures and writes docs/WINDOWS.md.
pub fn windows() -> Outcome {
    let target = ["dedupstore-tools", "--bin", "windows"];
    run_release("docs/WINDOWS.md", target, &[])
}

/// Measures and writes docs/IMPORTANCE.md.
pub fn importance() -> Outcome {
    let target = ["dedupstore-tools", "--bin", "importance"];
    run_release("docs/IMPORTANCE.md", target, &[])
}

fn run_release(what: &str, target: [&str; 3], options: &[&str]) -> Outcome {
    let mut command = cargo(&["run", "--release", "--quiet", "--package"]);
    command.args(target).arg("--").args(options);
    run(what, command)
}
