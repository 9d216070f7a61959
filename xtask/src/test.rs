//! Everything that a change must pass.

use std::process::Command;
use std::time::Instant;

use crate::step::{self, Outcome, cargo};
use crate::{browser, format, package, page, python, redis_clients, wasm};

/// Packages that only the format check covers: their dependencies take minutes to build.
const EXCLUDED: [&str; 2] = ["dedupstore-benches", "bindings"];

/// Runs the steps. Independent ones run at the same time. Cargo allows one build at a time per
/// target directory, so the native tests, the bindings generator and the page's engine each
/// use their own.
fn all_steps() -> Outcome {
    format::check()?;
    // The native tests of `cluster` start servers.
    redis_clients::ensure_server()?;
    let tools = || {
        browser::ensure()
            .and_then(|()| redis_clients::ensure())
            .and_then(|()| python::prepare())
    };
    step::in_parallel(&[&native, &page_and_documentation, &tools])?;
    redis_clients::test()?;
    browser::test()?;
    python::test()
}

fn native() -> Outcome {
    let mut lints = on_workspace(&["clippy", "--all-targets"]);
    lints.args(["--", "-D", "warnings"]);
    step::run("lints", lints)?;
    // Without the examples of the tests package, which clippy has checked.
    let tests = ["test", "--lib", "--bins", "--tests"];
    let mut build = on_workspace(&tests);
    build.arg("--no-run");
    step::run("build of native tests", build)?;
    step::run("native tests", on_workspace(&tests))?;
    step::run("documentation tests", on_workspace(&["test", "--doc"]))?;
    interleavings()
}

/// Runs the tests in which stores have the threads of a model checker. On the whole
/// workspace, so that third-party crates are built with the same features as for the other tests.
fn interleavings() -> Outcome {
    let test = || {
        let mut test = on_workspace(&["test", "--features", "dedupstore-interleavings/explore"]);
        test.args(["--test", "interleavings"]);
        test
    };
    let mut build = test();
    build.arg("--no-run");
    step::run("build of interleavings", build)?;
    step::run("interleavings", test())
}

fn page_and_documentation() -> Outcome {
    page::build()?;
    package::check_content()?;
    wasm::lint()?;
    let mut documentation = on_workspace(&["doc", "--no-deps"]);
    documentation.env("RUSTDOCFLAGS", "-D warnings");
    step::run("documentation", documentation)
}

/// Returns a cargo command for all packages that are not excluded.
fn on_workspace(arguments: &[&str]) -> Command {
    let mut command = cargo(arguments);
    command.args(["--workspace", "--quiet"]);
    command.args(EXCLUDED.iter().flat_map(|package| ["--exclude", package]));
    command
}

/// Times a large log in the page, with nothing else running.
pub fn page_large(options: &[&str]) -> Outcome {
    page::build()?;
    let mut build = cargo(&["build", "--release", "--quiet"]);
    build.args(["--package", "dedupstore-cli"]);
    step::run("command line", build)?;
    browser::test_large_log(options.first().unwrap_or(&"500"))
}

pub fn run() -> Outcome {
    let started = Instant::now();
    all_steps()?;
    let seconds = started.elapsed().as_secs_f64();
    eprintln!("all tests passed in {seconds:.0} s");
    Ok(())
}
