//! Fuzzing: `cargo xtask fuzz`.

use std::process::Command;

use crate::step::{self, Outcome, cargo};

/// Counts the edges of the control flow. The pass is part of the stable compiler.
const COVERAGE: &str = "-Cpasses=sancov-module \
                        -Cllvm-args=-sanitizer-coverage-level=3 \
                        -Cllvm-args=-sanitizer-coverage-inline-8bit-counters";

/// Runs fuzz targets guided by coverage, or without it if the options say `--unguided`. With
/// `--libfuzzer TARGET`, libFuzzer runs one.
pub fn run(options: &[&str]) -> Outcome {
    if let ["--libfuzzer", target, rest @ ..] = options {
        return libfuzzer(target, rest);
    }
    let mut command = cargo(&["run", "--quiet", "--profile", "fuzz"]);
    command.args(["--package", "dedupstore-fuzz"]);
    if !options.contains(&"--unguided") {
        // With a target, the flags are not used for build scripts and procedural macros, which
        // have no place for the counters.
        let directory = step::target_directory().join("coverage");
        command.args(["--features", "coverage", "--target", &host()?]);
        command.arg("--target-dir").arg(directory);
        command.env("RUSTFLAGS", COVERAGE);
    }
    command.arg("--").args(options);
    step::run("fuzzing", command)
}

/// Runs a target with `cargo fuzz`, from the kept corpus.
fn libfuzzer(target: &str, options: &[&str]) -> Outcome {
    let corpus = step::target_directory().join("libfuzzer").join(target);
    let mut export = cargo(&["run", "--quiet", "--package", "dedupstore-fuzz", "--"]);
    export.args([target, "--export"]).arg(&corpus);
    step::run("corpus", export)?;
    let mut command = step::command("cargo", &["+nightly", "fuzz", "run"]);
    command.args([
        "--fuzz-dir",
        "fuzz/libfuzzer",
        "--target-dir",
        "target/libfuzzer-build",
    ]);
    command.arg("target").arg(corpus);
    command.arg("--").args(options);
    // The variable of the toolchain that runs this program would win over `+nightly`.
    command.env_remove("RUSTUP_TOOLCHAIN").env_remove("CARGO");
    command.env("FUZZ_TARGET", target);
    step::run("libFuzzer", command)
}

/// Returns the name of this platform.
fn host() -> Outcome<String> {
    let output = Command::new("rustc").arg("-vV").output()?;
    let text = String::from_utf8(output.stdout)?;
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.ok_or("rustc does not name its host")?.to_owned())
}
