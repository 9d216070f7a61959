//! Tests the page in a browser.

use std::env::consts::EXE_SUFFIX;
use std::path::PathBuf;
use std::process::Command;

use crate::page;
use crate::step::{self, Outcome, command, root, run, target_directory};

const NAMES: [&str; 4] = [
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
];
#[rustfmt::skip]
const PLACES: [&str; 3] = [
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "C:\\Program Files\\Google\\Chrome\\Application\\chrome.exe",
    "C:\\Program Files (x86)\\Google\\Chrome\\Application\\chrome.exe",
];

/// This test measures input latency, so it runs alone.
const LARGE_LOG: &str = "large.test.mjs";

/// Runs the browser tests. They compare the page with the debug build of the command line,
/// which gives the same numbers as the release build.
pub fn test() -> Outcome {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(root().join("web/tests"))? {
        files.push(entry?.file_name().to_string_lossy().into_owned());
    }
    files.retain(|name| name.ends_with(".test.mjs") && name != LARGE_LOG);
    files.sort();
    let mut others = tests("debug")?;
    others.args(files.iter().map(|name| format!("tests/{name}")));
    run("browser tests", others)?;
    let mut large_log = tests("debug")?;
    large_log.arg(format!("tests/{LARGE_LOG}"));
    run("browser test with a large log", large_log)
}

/// Times a large log in the page and in the release build of the command line.
pub fn test_large_log(megabytes: &str) -> Outcome {
    run("large log in the page", large_log(megabytes)?)
}

/// Returns the command that times a large log.
pub fn large_log(megabytes: &str) -> Outcome<Command> {
    let mut tests = tests("release")?;
    tests.arg(format!("tests/{LARGE_LOG}"));
    tests.env("DEDUPSTORE_LARGE_MEGABYTES", megabytes);
    Ok(tests)
}

/// Returns the test command; the caller adds the test files.
fn tests(profile: &str) -> Outcome<Command> {
    let chromium = find_or_install()?;
    page::ensure_packages()?;
    let program = format!("dedupstore{EXE_SUFFIX}");
    let program = target_directory().join(profile).join(program);
    let mut npm = command("npm", &["run", "--silent", "test", "--"]);
    npm.current_dir(root().join("web"))
        .env("CHROMIUM", chromium)
        .env("DEDUPSTORE", program);
    Ok(npm)
}

/// Installs a browser if there is none.
pub fn ensure() -> Outcome {
    find_or_install().map(|_| ())
}

fn find_or_install() -> Outcome<PathBuf> {
    if let Some(found) = find() {
        return Ok(found);
    }
    step::install_packages(&["chromium"])?;
    find().ok_or_else(|| {
        "the browser tests need Chromium or Chrome: install it, or set CHROMIUM to its path".into()
    })
}

fn find() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os("CHROMIUM") {
        return Some(named.into());
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let named =
        std::env::split_paths(&path).flat_map(|directory| NAMES.map(|name| directory.join(name)));
    let placed = PLACES.iter().map(PathBuf::from);
    named.chain(placed).find(|candidate| candidate.is_file())
}
