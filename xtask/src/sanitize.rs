//! Runs tests under sanitizers and Miri, which need a nightly compiler.
//!
//! ThreadSanitizer reports data races, AddressSanitizer accesses outside of allocated memory, Miri
//! undefined behaviour. Shuttle, which explores interleavings, treats all atomics as sequentially
//! consistent; ThreadSanitizer knows their orderings.

use std::process::Command;

use crate::step::{self, Outcome, run};

/// The sanitizers support it on Linux; Miri everywhere.
const TARGET: &str = "x86_64-unknown-linux-gnu";

/// Unit tests of the engine that use files, threads or memory maps.
const STORE_TESTS: [&str; 2] = ["store::", "workers::"];
/// Tests of whole stores in which several threads take part.
const THREADED_TESTS: [&str; 5] = [
    "concurrent_readers::",
    "live_inspection::",
    "single_keys::",
    "store::",
    "threads::",
];
/// Unit tests with unsafe code that Miri can run: no files, no maps of files. Those of `simd` run in the
/// portable form: Miri does not know all vector instructions.
const MIRI_TESTS: [&str; 7] = [
    "bytes::",
    "prefetch::",
    "region::",
    "rng::",
    "simd::",
    "store::disk::block_queue::",
    "store::disk::live_region::",
];

/// Runs all of them, or the named ones: `thread`, `address`, `miri`.
pub fn sanitize(names: &[&str]) -> Outcome {
    let known = ["thread", "address", "miri"];
    if let Some(unknown) = names.iter().find(|name| !known.contains(name)) {
        return Err(format!("{unknown}: expected thread, address or miri").into());
    }
    ensure_nightly()?;
    for name in known {
        if names.is_empty() || names.contains(&name) {
            match name {
                "miri" => miri()?,
                sanitizer => with_sanitizer(sanitizer)?,
            }
        }
    }
    Ok(())
}

/// Installs a nightly compiler with the source of the standard library, and Miri.
fn ensure_nightly() -> Outcome {
    let install = ["toolchain", "install", "nightly", "--no-self-update"];
    let mut rustup = step::command("rustup", &install);
    rustup.args(["--profile", "minimal"]);
    rustup.args(["--component", "rust-src", "--component", "miri"]);
    let has = |probe: &[&str]| {
        let mut probe = nightly(probe);
        probe.output().is_ok_and(|output| output.status.success())
    };
    let source = step::command("rustup", &["run", "nightly", "rustc", "--print", "sysroot"]);
    match has(&["miri", "--version"]) && has_source(source) {
        true => Ok(()),
        false => run("nightly compiler", rustup),
    }
}

fn has_source(mut sysroot: Command) -> bool {
    let Ok(output) = sysroot.output() else {
        return false;
    };
    let sysroot = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    std::path::Path::new(&sysroot)
        .join("lib/rustlib/src/rust/library/Cargo.lock")
        .exists()
}

/// Returns a command for the cargo of the nightly compiler.
fn nightly(arguments: &[&str]) -> Command {
    let mut command = step::command("rustup", &["run", "nightly", "cargo"]);
    command.args(arguments);
    command
}

/// Builds the standard library too: else accesses inside it are not seen, and its locks look like
/// races.
fn with_sanitizer(sanitizer: &str) -> Outcome {
    for (package, target, tests) in [
        ("dedupstore", ["--lib"].as_slice(), STORE_TESTS.as_slice()),
        ("dedupstore-tests", &["--test", "engine"], &THREADED_TESTS),
    ] {
        let mut test = nightly(&["test", "-Zbuild-std", "--target", TARGET]);
        let directory = step::target_directory().join("sanitize").join(sanitizer);
        test.arg("--target-dir").arg(directory);
        test.args(["--quiet", "--package", package]).args(target);
        test.arg("--").args(tests);
        test.env("RUSTFLAGS", format!("-Zsanitizer={sanitizer}"));
        // The tests find the command line's memory too large to reserve under a sanitizer.
        test.env("ASAN_OPTIONS", "allocator_may_return_null=1");
        test.env("TSAN_OPTIONS", "halt_on_error=1");
        run(&format!("{sanitizer} sanitizer, {package}"), test)?;
    }
    Ok(())
}

fn miri() -> Outcome {
    let mut test = nightly(&[
        "miri",
        "test",
        "--quiet",
        "--package",
        "dedupstore",
        "--lib",
    ]);
    test.arg("--target-dir");
    test.arg(step::target_directory().join("sanitize/miri"));
    test.arg("--").args(MIRI_TESTS);
    // Without isolation: tests read the clock and the environment.
    test.env("MIRIFLAGS", "-Zmiri-disable-isolation");
    // Each case of a property takes seconds.
    test.env("PROPTEST_CASES", "8");
    test.env("PROPTEST_FAILURE_PERSISTENCE", "off");
    run("Miri", test)
}
