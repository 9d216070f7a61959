//! Runs tests of the engine for 64-bit ARM in an emulator. Cache lines are in other registers there,
//! and must get the same bytes.

use crate::step::{self, Outcome, cargo, exists, run};

const TARGET: &str = "aarch64-unknown-linux-gnu";
const LINKER: &str = "aarch64-linux-gnu-gcc";
const EMULATOR: &str = "qemu-aarch64";
/// The directory of the target's C library, as the packages install it.
const LIBRARIES: &str = "/usr/aarch64-linux-gnu";
/// The packages that contain these, on Debian-based systems.
const PACKAGES: [&str; 3] = [
    "gcc-aarch64-linux-gnu",
    "libc6-dev-arm64-cross",
    "qemu-user",
];

/// Unit tests of the engine with code that is different for each processor, or that uses such code.
const UNIT_TESTS: [&str; 3] = ["filter::", "prefetch::", "simd::"];
/// Tests of all filters, among them those that compare with the golden states.
const CONFORMANCE_TESTS: &str = "conformance::";

/// Installs what is missing, and runs the tests.
pub fn emulate() -> Outcome {
    ensure()?;
    test("dedupstore", &["--lib"], &UNIT_TESTS)?;
    test(
        "dedupstore-tests",
        &["--test", "engine"],
        &[CONFORMANCE_TESTS],
    )
}

/// Installs the target, its linker and the emulator.
fn ensure() -> Outcome {
    step::ensure_target(TARGET)?;
    let has_all = || exists(LINKER) && exists(EMULATOR);
    if !has_all() {
        step::install_packages(&PACKAGES)?;
    }
    match has_all() {
        true => Ok(()),
        false => {
            Err(format!("the tests for ARM need {LINKER} and {EMULATOR}: install them").into())
        }
    }
}

fn test(package: &str, target: &[&str], names: &[&str]) -> Outcome {
    let mut test = cargo(&["test", "--quiet", "--package", package, "--target", TARGET]);
    test.args(target).arg("--").args(names);
    test.env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER", LINKER);
    let runner = format!("{EMULATOR} -L {LIBRARIES}");
    test.env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER", runner);
    run(&format!("emulated ARM, {package}"), test)
}
