//! Long runs and generated documents.

use crate::step::{Outcome, cargo, run};

/// Runs the crash laboratory.
pub fn crash(options: &[&str]) -> Outcome {
    let target = ["dedupstore-tests", "--example", "crash_campaign"];
    run_release("crash laboratory", target, options)
}

/// Explores the interleavings of the threads of stores and servers.
pub fn interleavings(options: &[&str]) -> Outcome {
    let mut command = cargo(&["run", "--release", "--quiet"]);
    command.args(["--package", "dedupstore-interleavings"]);
    command.args([
        "--features",
        "explore",
        "--example",
        "interleavings_campaign",
    ]);
    command.arg("--").args(options);
    run("interleavings", command)
}

/// Attacks the command line with killed readers, full disks, and damaged stores.
pub fn siege(options: &[&str]) -> Outcome {
    with_command_line("siege", ["dedupstore-tests", "--example", "siege"], options)
}

/// Builds the command line, and runs a program that is given its path.
fn with_command_line(what: &str, target: [&str; 3], options: &[&str]) -> Outcome {
    let mut build = cargo(&["build", "--release", "--quiet"]);
    build.args(["--package", "dedupstore-cli"]);
    run("command line", build)?;
    let program = crate::step::root().join("target/release/dedupstore");
    let program = program.to_string_lossy();
    run_release(what, target, &[&[program.as_ref()], options].concat())
}

/// Attacks or measures `serve`.
pub fn serve(options: &[&str]) -> Outcome {
    if options.first() == Some(&"bench") {
        crate::redis_clients::ensure_server()?;
    }
    with_command_line("serve", ["dedupstore-tests", "--example", "serve"], options)
}

/// Measures a store on Redis beside SADD. The processor time is that of the server, so the client
/// need not be optimized.
pub fn cluster_bench(options: &[&str]) -> Outcome {
    cluster_example("cluster_bench", options)
}

/// Kills masters and clients of a store on Redis.
pub fn cluster_campaign(options: &[&str]) -> Outcome {
    cluster_example("cluster_campaign", options)
}

fn cluster_example(name: &str, options: &[&str]) -> Outcome {
    crate::redis_clients::ensure_server()?;
    let mut command = cargo(&["run", "--quiet", "--package", "dedupstore-cluster"]);
    command.args(["--example", name, "--"]).args(options);
    run(name, command)
}

/// Plants mistakes in the engine and counts those that the tests notice.
pub fn mutants(options: &[&str]) -> Outcome {
    let mut command = cargo(&["run", "--quiet", "--package", "dedupstore-mutants"]);
    command.arg("--").args(options);
    run("mutants", command)
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

/// Measures how long filters that use importance take, and writes that into docs/IMPORTANCE.md.
pub fn importance_speed(machine: &[&str]) -> Outcome {
    let target = ["dedupstore-tools", "--bin", "importance_speed"];
    run_release("docs/IMPORTANCE.md", target, machine)
}

fn run_release(what: &str, target: [&str; 3], options: &[&str]) -> Outcome {
    let mut command = cargo(&["run", "--release", "--quiet", "--package"]);
    command.args(target).arg("--").args(options);
    run(what, command)
}
