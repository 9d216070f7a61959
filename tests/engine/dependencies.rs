//! Checks the dependencies against deny.toml, from what cargo already knows.
//!
//! `cargo deny` has about as many dependencies as this project, so the tests do not build it. They
//! check the same lists without it: licences, duplicate versions, banned crates, and sources. The
//! workflow runs `cargo deny`, which also knows advisories.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::process::Command;

use serde_json::Value;

use dedupstore_tests::root;

#[test]
fn dependencies_are_as_deny_toml_demands() {
    let rules = Rules::parse(&fs::read_to_string(root().join("deny.toml")).expect("text"));
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let mut metadata = Command::new(cargo);
    metadata.args([
        "metadata",
        "--locked",
        "--all-features",
        "--format-version",
        "1",
    ]);
    let output = metadata.current_dir(root()).output().expect("cargo");
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "cargo metadata: {message}");
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let packages = metadata["packages"].as_array().expect("packages");
    let packages: Vec<Package> = packages.iter().map(Package::of).collect();
    assert!(packages.len() > 100, "{} packages", packages.len());
    let faults = rules.faults(&packages);
    assert!(
        faults.is_empty(),
        "deny.toml does not allow:\n  {}",
        faults.join("\n  ")
    );
}

struct Package {
    name: String,
    version: String,
    licence: String,
    /// None for a package of this repository.
    source: Option<String>,
}

impl Package {
    fn of(value: &Value) -> Self {
        let text = |name: &str| value[name].as_str().map(str::to_owned);
        Package {
            name: text("name").unwrap_or_default(),
            version: text("version").unwrap_or_default(),
            licence: text("license").unwrap_or_default(),
            source: text("source"),
        }
    }
}

/// The lists of deny.toml.
struct Rules {
    licences: Vec<String>,
    skipped: Vec<String>,
    banned: Vec<String>,
    registries: Vec<String>,
}

impl Rules {
    fn parse(text: &str) -> Self {
        Rules {
            licences: list(text, "licenses", "allow"),
            skipped: list(text, "bans", "skip"),
            banned: list(text, "bans", "deny"),
            registries: list(text, "sources", "allow-registry"),
        }
    }

    fn faults(&self, packages: &[Package]) -> Vec<String> {
        let mut faults = Vec::new();
        for package in packages {
            let Package {
                name,
                version,
                licence,
                source,
            } = package;
            if !is_allowed(licence, &self.licences) {
                faults.push(format!("{name} {version}: the licence `{licence}`"));
            }
            if self.banned.contains(name) {
                faults.push(format!("{name} {version}: it is banned"));
            }
            let known = source.as_ref().is_none_or(|source| {
                let registry = source.strip_prefix("registry+");
                registry.is_some_and(|it| self.registries.iter().any(|known| known == it))
            });
            if !known {
                faults.push(format!(
                    "{name} {version}: from {}",
                    source.as_deref().unwrap_or("")
                ));
            }
        }
        let mut versions: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for package in packages {
            versions
                .entry(&package.name)
                .or_default()
                .insert(&package.version);
        }
        let mut unused: BTreeSet<&str> = self.skipped.iter().map(String::as_str).collect();
        for (name, versions) in versions {
            let specs = versions.iter().map(|version| format!("{name}@{version}"));
            let left = specs.filter(|spec| !unused.remove(spec.as_str())).count();
            if left > 1 {
                faults.push(format!("{name}: the versions {versions:?}"));
            }
        }
        faults.extend(
            unused
                .iter()
                .map(|it| format!("{it}: it is skipped, but there is none")),
        );
        faults
    }
}

/// Returns the texts of a list in a section.
fn list(text: &str, section: &str, key: &str) -> Vec<String> {
    let lines = text.lines().map(str::trim);
    let mut lines = lines.filter(|line| !line.starts_with('#'));
    lines.find(|line| *line == format!("[{section}]"));
    let lines = lines.take_while(|line| !line.starts_with('['));
    let lines: Vec<&str> = lines.collect();
    let start = format!("{key} = [");
    let Some(at) = lines.iter().position(|line| line.starts_with(&start)) else {
        return Vec::new();
    };
    let content = lines[at..].join("\n");
    let content = content[start.len()..].split(']').next().unwrap_or("");
    content
        .split('"')
        .skip(1)
        .step_by(2)
        .map(str::to_owned)
        .collect()
}

/// Whether a licence expression can be met by the allowed licences.
fn is_allowed(expression: &str, allowed: &[String]) -> bool {
    // An old form of OR.
    let expression = expression.replace('/', " OR ");
    let spaced = expression.replace('(', " ( ").replace(')', " ) ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut rest = &words[..];
    let result = any_of(&mut rest, allowed);
    rest.is_empty() && result.unwrap_or(false)
}

fn any_of(words: &mut &[&str], allowed: &[String]) -> Option<bool> {
    let mut result = all_of(words, allowed)?;
    while let ["OR", rest @ ..] = *words {
        *words = rest;
        result |= all_of(words, allowed)?;
    }
    Some(result)
}

fn all_of(words: &mut &[&str], allowed: &[String]) -> Option<bool> {
    let mut result = one(words, allowed)?;
    while let ["AND", rest @ ..] = *words {
        *words = rest;
        result &= one(words, allowed)?;
    }
    Some(result)
}

fn one(words: &mut &[&str], allowed: &[String]) -> Option<bool> {
    let (name, rest) = match *words {
        ["(", rest @ ..] => {
            *words = rest;
            let result = any_of(words, allowed)?;
            *words = words.strip_prefix(&[")"])?;
            return Some(result);
        }
        [licence, "WITH", exception, rest @ ..] => (format!("{licence} WITH {exception}"), rest),
        [licence, rest @ ..] => ((*licence).to_owned(), rest),
        [] => return None,
    };
    *words = rest;
    Some(allowed.contains(&name))
}

const RULES: &str = "
[licenses]
# A comment.
allow = [
    \"MIT\",
    \"Apache-2.0 WITH LLVM-exception\",
]
[bans]
skip = [\"old@1.0.0\"]
deny = [\"bad\"]
[sources]
allow-registry = [\"https://registry.example\"]
";

fn package(name: &str, version: &str, licence: &str, source: &str) -> Package {
    Package {
        name: name.to_owned(),
        version: version.to_owned(),
        licence: licence.to_owned(),
        source: Some(source.to_owned()),
    }
}

#[test]
fn licence_expressions_are_evaluated() {
    let allowed = Rules::parse(RULES).licences;
    for (expression, expected) in [
        ("MIT", true),
        ("GPL-3.0 OR MIT", true),
        ("GPL-3.0/MIT", true),
        ("GPL-3.0 AND MIT", false),
        ("(GPL-3.0 OR MIT) AND Apache-2.0 WITH LLVM-exception", true),
        ("Apache-2.0", false),
        ("", false),
        ("MIT OR", false),
        ("(MIT", false),
    ] {
        assert_eq!(is_allowed(expression, &allowed), expected, "{expression}");
    }
}

#[test]
fn every_kind_of_fault_is_found() {
    let rules = Rules::parse(RULES);
    let known = "registry+https://registry.example";
    let good = [
        package("a", "1.0.0", "MIT", known),
        package("old", "1.0.0", "MIT", known),
        package("old", "2.0.0", "MIT", known),
    ];
    assert_eq!(rules.faults(&good), Vec::<String>::new());
    let bad = [
        package("a", "1.0.0", "GPL-3.0", known),
        package("a", "2.0.0", "MIT", known),
        package("bad", "1.0.0", "MIT", known),
        package("c", "1.0.0", "MIT", "git+https://elsewhere.example"),
    ];
    let faults = rules.faults(&bad).join("\n");
    for expected in [
        "GPL-3.0",
        "a: the versions",
        "banned",
        "elsewhere",
        "old@1.0.0",
    ] {
        assert!(faults.contains(expected), "{expected}: {faults}");
    }
}
