//! Checks of the documents: what they name exists, and they stay short and plain.

use std::fs;
use std::path::Path;

use dedupstore_tests::root;

use crate::source_files::{source_files, test_names};

fn document(name: &str) -> String {
    fs::read_to_string(root().join(name)).expect("a document of the project")
}

#[test]
fn readme_and_architecture_stay_short() {
    for (name, most) in [("README.md", 700), ("ARCHITECTURE.md", 1500)] {
        let words = document(name).split_whitespace().count();
        assert!(
            words <= most,
            "{name} has {words} words; the limit is {most}"
        );
    }
}

/// The targets of Markdown links to files.
fn linked_paths(text: &str) -> impl Iterator<Item = &str> {
    let links = text.split("](").skip(1);
    let links = links.filter_map(|rest| rest.split([')', '#']).next());
    links.filter(|link| !link.is_empty() && !link.contains("://"))
}

/// The paths of source files in backticks, outside code blocks.
fn quoted_paths(text: &str) -> impl Iterator<Item = &str> {
    let extensions = [".rs", ".ts", ".md", ".html", ".toml", ".mjs"];
    let prose = text.split("```").step_by(2);
    let quoted = prose.flat_map(|prose| prose.split('`').skip(1).step_by(2));
    quoted
        .filter(move |word| word.contains('/') && extensions.iter().any(|it| word.ends_with(it)))
        .filter(|word| !word.contains(['*', ' ', '{', '<', '$']))
}

/// A path may be given from the top of the repository, or from a crate's sources.
fn exists_somewhere(name: &str, beside: &Path) -> bool {
    let tops = [
        "",
        "engine/src",
        "engine/src/store",
        "cli/src",
        "web/src",
        "tests",
    ];
    let places = tops.iter().map(|top| root().join(top).join(name));
    places.chain([beside.join(name)]).any(|path| path.exists())
}

#[test]
fn every_path_that_a_document_names_exists() {
    let mut missing = Vec::new();
    for (path, text) in source_files(&[".md"]) {
        let beside = root().join(&path);
        let beside = beside.parent().expect("a directory");
        let links = linked_paths(&text);
        let links = links.filter(|link| !beside.join(link).exists());
        let quoted = quoted_paths(&text);
        let quoted = quoted.filter(|name| !exists_somewhere(name, beside));
        let found = links.chain(quoted);
        missing.extend(found.map(|name| format!("{}: {name}", path.display())));
    }
    assert!(missing.is_empty(), "missing:\n{}", missing.join("\n"));
}

#[test]
fn every_dependency_has_its_line() {
    let list = document("docs/DEPENDENCIES.md");
    let manifest = document("Cargo.toml");
    let dependencies = manifest
        .split("[workspace.dependencies]")
        .nth(1)
        .and_then(|rest| rest.split("\n[").next())
        .expect("a section");
    for line in dependencies.lines().filter(|line| line.contains('=')) {
        let name = line.split(['=', ' ']).next().unwrap_or("");
        assert!(
            name.starts_with("dedupstore") || list.contains(&format!("`{name}`")),
            "docs/DEPENDENCIES.md does not say what {name} is for"
        );
    }
}

#[test]
fn every_guarantee_names_a_test_that_exists() {
    let guarantees = document("docs/GUARANTEES.md");
    let tests = test_names("tests");
    let table = guarantees.split("## What survives what?").nth(1);
    let rows = table.expect("the table").lines();
    let rows: Vec<&str> = rows.filter(|line| line.starts_with("| ")).collect();
    assert!(rows.len() > 8, "{} rows", rows.len());
    // All but the header.
    for row in &rows[1..] {
        let proofs = row.trim_end_matches(" |").rsplit('|').next().unwrap_or("");
        let mut named = proofs.split('`').skip(1).step_by(2).peekable();
        assert!(named.peek().is_some(), "no test is named for: {row}");
        for name in named {
            assert!(tests.contains(name), "there is no test {name}");
        }
    }
}

#[test]
fn every_line_of_the_threat_model_names_a_test_that_exists() {
    let model = document("SECURITY.md");
    let mut tests = test_names("");
    for (_, text) in source_files(&[".test.mjs"]) {
        let names = text.split("\ntest('").skip(1);
        tests.extend(names.filter_map(|rest| Some(rest.split('\'').next()?.to_owned())));
    }
    let rows = model.lines().filter(|line| line.starts_with("| "));
    let rows: Vec<&str> = rows.filter(|line| !line.contains("held by")).collect();
    assert!(rows.len() > 15, "{} rows", rows.len());
    for row in rows {
        let proofs = row.trim_end_matches(" |").rsplit('|').next().unwrap_or("");
        // What is in parentheses are other names.
        let proofs = proofs.split(" (").next().unwrap_or("");
        let mut named = proofs.split('`').skip(1).step_by(2).peekable();
        assert!(named.peek().is_some(), "no test is named for: {row}");
        for name in named {
            assert!(tests.contains(name), "there is no test {name}");
        }
    }
}

/// "One per line", not with an article in place of "per".
#[test]
fn rates_are_written_with_per() {
    let counts = ["one", "two", "bytes", "bits", "ns", "a", "an"];
    let units = [
        "line",
        "key",
        "batch",
        "field",
        "file",
        "cell",
        "filter",
        "command",
        "observation",
        "frame",
    ];
    let mut found = Vec::new();
    for (path, text) in source_files(&[".rs", ".md", ".ts", ".html"]) {
        if path.ends_with("documents.rs") {
            continue;
        }
        for (number, line) in text.lines().enumerate() {
            let words = line.split(|c: char| !c.is_alphanumeric() && c != '_');
            let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
            let mannered = words.windows(3).any(|words| {
                counts.contains(&words[0])
                    && ["a", "an"].contains(&words[1])
                    && units.contains(&words[2])
            });
            if mannered {
                found.push(format!(
                    "{}:{}: {}",
                    path.display(),
                    number + 1,
                    line.trim()
                ));
            }
        }
    }
    assert!(found.is_empty(), "write \"per\":\n{}", found.join("\n"));
}
