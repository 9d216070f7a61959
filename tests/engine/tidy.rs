//! House habits that a compiler does not check.

use std::fs;
use std::path::{Path, PathBuf};

use dedupstore_tests::root;

/// Where `unsafe` may stand; see ARCHITECTURE.md.
const UNSAFE_MODULES: &[&str] = &[
    "engine/src/prefetch.rs",
    "engine/src/store/live.rs",
    "tests/benches/contenders/mod.rs",
    "tests/benches/store/rival.rs",
    "tests/engine/conformance.rs",
];
/// Longer than this, a file holds a second concept.
const LONGEST_FILE_LINES: usize = 500;
const VAGUE_NAMES: &[&str] = &["util", "utils", "helpers", "common", "misc"];

fn sources(extensions: &[&str]) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    let mut directories = vec![root()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(&directory).expect("readable") {
            let path = entry.expect("an entry").path();
            let name = path.file_name().and_then(|name| name.to_str());
            let name = name.unwrap_or("").to_owned();
            if path.is_dir() {
                let generated = [
                    "target",
                    "node_modules",
                    "dist",
                    "wasm-bindings",
                    "test-output",
                ];
                let bindings = path.ends_with("web/src/wasm");
                if !name.starts_with('.') && !generated.contains(&name.as_str()) && !bindings {
                    directories.push(path);
                }
            } else if extensions.iter().any(|extension| name.ends_with(extension)) {
                let text = fs::read_to_string(&path).expect("text");
                let relative = path.strip_prefix(root()).expect("below the root");
                found.push((relative.to_path_buf(), text));
            }
        }
    }
    assert!(!found.is_empty());
    found
}

fn is(path: &Path, names: &[&str]) -> bool {
    names.iter().any(|name| path == Path::new(name))
}

#[test]
fn files_are_short_and_named_for_what_they_hold() {
    for (path, text) in sources(&[".rs", ".ts", ".css", ".html", ".mjs"]) {
        let lines = text.lines().count();
        assert!(
            lines <= LONGEST_FILE_LINES,
            "{}: {lines} lines",
            path.display()
        );
        let stem = path
            .file_stem()
            .and_then(|stem| stem.to_str())
            .unwrap_or("");
        assert!(
            !VAGUE_NAMES.contains(&stem),
            "{} names no concept",
            path.display()
        );
    }
}

#[test]
fn unsafe_stays_where_it_is_allowed() {
    for (path, text) in sources(&[".rs"]) {
        let allowed = is(&path, UNSAFE_MODULES) || path.ends_with("tidy.rs");
        let used = text.lines().any(|line| {
            let code = line.split("//").next().unwrap_or("");
            code.contains("unsafe {") || code.contains("unsafe impl") || code.contains("unsafe fn")
        });
        assert!(allowed || !used, "{} has unsafe code", path.display());
    }
}

#[test]
fn what_users_reach_does_not_panic_on_purpose() {
    for (path, text) in sources(&[".rs"]) {
        if !(path.starts_with("engine/src") || path.starts_with("cli/src")) {
            continue;
        }
        let code = text.split("#[cfg(test)]").next().unwrap_or("");
        for (number, line) in code.lines().enumerate() {
            let comment = line.trim_start().starts_with("//");
            let panics = [
                ".unwrap()",
                ".expect(",
                "panic!(",
                "todo!(",
                "unimplemented!(",
            ];
            let found = panics.iter().any(|word| line.contains(word));
            assert!(
                comment || !found,
                "{}:{}: {line}",
                path.display(),
                number + 1
            );
        }
    }
}

/// The project speaks of itself alone.
#[test]
fn no_paths_of_a_machine() {
    for (path, text) in sources(&[
        ".rs", ".ts", ".md", ".toml", ".html", ".css", ".mjs", ".yml", ".json",
    ]) {
        if path.ends_with("tidy.rs") {
            continue;
        }
        for word in ["/work/", "/root/", "/home/", "../shared"] {
            assert!(!text.contains(word), "{} contains {word}", path.display());
        }
    }
}

#[test]
fn every_dependency_earns_a_line_in_the_architecture() {
    let architecture = fs::read_to_string(root().join("ARCHITECTURE.md")).expect("kept");
    let manifest = fs::read_to_string(root().join("Cargo.toml")).expect("kept");
    let dependencies = manifest
        .split("[workspace.dependencies]")
        .nth(1)
        .and_then(|rest| rest.split("\n[").next())
        .expect("a section");
    for line in dependencies.lines().filter(|line| line.contains('=')) {
        let name = line.split(['=', ' ']).next().unwrap_or("");
        if name.starts_with("dedupstore") {
            continue;
        }
        assert!(
            architecture.contains(&format!("`{name}`")),
            "{name} is not explained"
        );
    }
}

/// A guarantee without a test is a wish.
#[test]
fn every_guarantee_names_a_test_that_exists() {
    let guarantees = fs::read_to_string(root().join("docs/GUARANTEES.md")).expect("kept");
    let tests: Vec<String> = sources(&[".rs"])
        .into_iter()
        .filter(|(path, _)| path.starts_with("tests"))
        .flat_map(|(_, text)| {
            let names = text.split("#[test]").skip(1);
            let names = names.filter_map(|rest| rest.split("fn ").nth(1)?.split('(').next());
            names.map(str::to_owned).collect::<Vec<_>>()
        })
        .collect();
    let table = guarantees.split("## What survives what?").nth(1);
    let rows = table.expect("the table").lines();
    let rows: Vec<&str> = rows.filter(|line| line.starts_with("| ")).collect();
    assert!(rows.len() > 8, "{} rows", rows.len());
    // All but the header.
    for row in &rows[1..] {
        let proofs = row.trim_end_matches(" |").rsplit('|').next().unwrap_or("");
        let mut named = proofs.split('`').skip(1).step_by(2).peekable();
        assert!(named.peek().is_some(), "nothing proves: {row}");
        for name in named {
            assert!(
                tests.iter().any(|test| test == name),
                "there is no test {name}"
            );
        }
    }
}
