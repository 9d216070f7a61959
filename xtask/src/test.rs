//! Everything a change must pass.

use std::time::Instant;

use crate::step::{self, Outcome, cargo};
use crate::{browser, page, wasm};

/// Left out of all but the format: the rivals it compares with take minutes to build.
const BENCHMARKS: &str = "dedupstore-benches";

fn every_step() -> Outcome {
    step::run("format", cargo(&["fmt", "--all", "--check"]))?;
    wasm::ensure_target()?;
    step::run(
        "lints",
        cargo(&[
            "clippy",
            "--workspace",
            "--exclude",
            BENCHMARKS,
            "--all-targets",
            "--quiet",
            "--",
            "-D",
            "warnings",
        ]),
    )?;
    step::run(
        "engine for wasm32",
        cargo(&[
            "check",
            "--quiet",
            "--package",
            "dedupstore",
            "--target",
            wasm::TARGET,
        ]),
    )?;
    let everything_else = ["--workspace", "--exclude", BENCHMARKS, "--quiet"];
    let mut tests = cargo(&["test"]);
    tests.args(everything_else);
    step::run("native tests", tests)?;
    let mut docs = cargo(&["doc", "--no-deps"]);
    docs.args(everything_else);
    docs.env("RUSTDOCFLAGS", "-D warnings");
    step::run("documentation", docs)?;
    page::build()?;
    command_line()?;
    browser::test()
}

/// The browser tests compare the page with the command line that people get.
fn command_line() -> Outcome {
    let mut build = cargo(&["build", "--release", "--quiet"]);
    build.args(["--package", "dedupstore-cli"]);
    step::run("command line", build)
}

/// A large log through the page, with nothing else under way.
pub fn page_large(options: &[&str]) -> Outcome {
    page::build()?;
    command_line()?;
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
