//! Everything a change must pass.

use std::process::Command;
use std::time::Instant;

use crate::step::{self, Outcome, cargo};
use crate::{browser, page};

/// Left out of all but the format: what they depend on takes minutes to build, or to lint.
const LEFT_OUT: [&str; 2] = ["dedupstore-benches", "bindings"];

/// On two processors the time is what all steps work together, so none may wait for another
/// without need. Cargo lets one build at a time work in a directory: the native tests, the
/// bindings' generator and the page's engine each have their own.
fn every_step() -> Outcome {
    step::run("format", cargo(&["fmt", "--all", "--check"]))?;
    step::side_by_side(&[&native, &page_and_documentation, &browser::ensure])?;
    browser::test()
}

fn native() -> Outcome {
    let mut lints = on_all(&["clippy", "--all-targets"]);
    lints.args(["--", "-D", "warnings"]);
    step::run("lints", lints)?;
    // Not the examples, which are linted.
    let tests = ["test", "--lib", "--bins", "--tests"];
    let mut build = on_all(&tests);
    build.arg("--no-run");
    step::run("build of native tests", build)?;
    step::run("native tests", on_all(&tests))?;
    step::run("tests in documentation", on_all(&["test", "--doc"]))
}

fn page_and_documentation() -> Outcome {
    page::build()?;
    let mut documentation = on_all(&["doc", "--no-deps"]);
    documentation.env("RUSTDOCFLAGS", "-D warnings");
    step::run("documentation", documentation)
}

/// Cargo on all packages but those that are left out.
fn on_all(arguments: &[&str]) -> Command {
    let mut command = cargo(arguments);
    command.args(["--workspace", "--quiet"]);
    command.args(LEFT_OUT.iter().flat_map(|package| ["--exclude", package]));
    command
}

/// A large log through the page, with nothing else under way.
pub fn page_large(options: &[&str]) -> Outcome {
    page::build()?;
    let mut build = cargo(&["build", "--release", "--quiet"]);
    build.args(["--package", "dedupstore-cli"]);
    step::run("command line", build)?;
    browser::test_large_log(options.first().unwrap_or(&"500"))
}

pub fn run() -> Outcome {
    let started = Instant::now();
    every_step()?;
    eprintln!(
        "all tests passed in {:.0} s",
        started.elapsed().as_secs_f64()
    );
    Ok(())
}

/// A long campaign of the crash laboratory.
pub fn crash(options: &[&str]) -> Outcome {
    let mut arguments = vec![
        "run",
        "--release",
        "--quiet",
        "--package",
        "dedupstore-tests",
    ];
    arguments.extend(["--example", "crash", "--"]);
    arguments.extend(options);
    step::run("crash laboratory", cargo(&arguments))
}

/// Writes docs/TRADEOFFS.md and docs/filters anew.
pub fn tradeoff(options: &[&str]) -> Outcome {
    for example in ["pages", "tradeoff"] {
        let mut arguments = vec!["run", "--release", "--quiet"];
        arguments.extend(["--package", "dedupstore-tests", "--example", example, "--"]);
        arguments.extend(options);
        step::run(example, cargo(&arguments))?;
    }
    Ok(())
}
