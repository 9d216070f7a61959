//! Checks the dependencies against deny.toml, from what cargo already knows and without network.
//!
//! `cargo deny` has about as many dependencies as this project, so the tests do not build it. They
//! check the same lists without it. `Cargo.lock` tells duplicate versions, banned crates and sources,
//! of all platforms. Licences are in the packages themselves; those that were not downloaded, because
//! they are for other platforms or for benchmarks, are left to the workflow, which runs `cargo deny`.
//! That also knows advisories.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::process::Command;

use dedupstore_tests::root;

/// Packages whose dependencies the tests do not download.
const LEFT_OUT: [&str; 2] = ["dedupstore-benches", "bindings"];

#[test]
fn dependencies_are_as_deny_toml_demands() {
    let read = |name: &str| fs::read_to_string(root().join(name)).expect("text");
    let rules = Rules::parse(&read("deny.toml"));
    let locked = locked(&read("Cargo.lock"));
    assert!(locked.len() > 250, "{} packages", locked.len());
    let used = used();
    assert!(used.len() > 150, "{} packages", used.len());
    let mut faults = rules.faults(&locked);
    faults.extend(rules.licence_faults(&used));
    assert!(
        faults.is_empty(),
        "deny.toml does not allow:\n  {}",
        faults.join("\n  ")
    );
}

/// A package of `Cargo.lock`.
struct Package {
    name: String,
    version: String,
    /// None for a package of this repository.
    source: Option<String>,
}

/// Returns the packages of `Cargo.lock`.
fn locked(text: &str) -> Vec<Package> {
    let packages = text.split("[[package]]").skip(1);
    let package = |text: &str| {
        let value = |key: &str| {
            let mut lines = text.lines();
            let value = lines.find_map(|line| line.strip_prefix(key)?.strip_prefix(" = \""));
            Some(value?.strip_suffix('"')?.to_owned())
        };
        Package {
            name: value("name").expect("a name"),
            version: value("version").expect("a version"),
            source: value("source"),
        }
    };
    packages.map(package).collect()
}

/// Returns the packages that are built on this platform, and their licences.
fn used() -> BTreeMap<String, String> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let mut tree = Command::new(cargo);
    tree.args(["tree", "--offline", "--locked", "--workspace"]);
    tree.args(LEFT_OUT.iter().flat_map(|package| ["--exclude", package]));
    tree.arg("--all-features");
    tree.args(["--prefix", "none", "--format", "{p}|{l}"]);
    let output = tree.current_dir(root()).output().expect("cargo");
    let message = String::from_utf8_lossy(&output.stderr);
    let remedy = "`cargo fetch` downloads all packages";
    assert!(output.status.success(), "{remedy}: {message}");
    let text = String::from_utf8(output.stdout).expect("text");
    // A package that was printed before ends with a star.
    let lines = text.lines().filter(|line| !line.ends_with(" (*)"));
    let lines = lines.filter_map(|line| line.split_once('|'));
    lines
        .map(|(package, licence)| (package.to_owned(), licence.to_owned()))
        .collect()
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

    /// Returns the packages whose licence is not allowed.
    fn licence_faults(&self, used: &BTreeMap<String, String>) -> Vec<String> {
        let wrong = used
            .iter()
            .filter(|(_, licence)| !is_allowed(licence, &self.licences));
        wrong
            .map(|(package, licence)| format!("{package}: the licence `{licence}`"))
            .collect()
    }

    /// Returns the packages that are banned, of another source, or there in several versions.
    fn faults(&self, packages: &[Package]) -> Vec<String> {
        let mut faults = Vec::new();
        for package in packages {
            let Package {
                name,
                version,
                source,
            } = package;
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

fn package(name: &str, version: &str, source: &str) -> String {
    format!("\n[[package]]\nname = \"{name}\"\nversion = \"{version}\"\nsource = \"{source}\"\n")
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
        package("a", "1.0.0", known),
        package("old", "1.0.0", known),
        package("old", "2.0.0", known),
        "[[package]]\nname = \"own\"\nversion = \"0.1.0\"\n".to_owned(),
    ];
    let good = locked(&good.concat());
    assert_eq!(good.len(), 4);
    assert_eq!(rules.faults(&good), Vec::<String>::new());
    let bad = [
        package("a", "1.0.0", known),
        package("a", "2.0.0", known),
        package("bad", "1.0.0", known),
        package("c", "1.0.0", "git+https://elsewhere.example"),
    ];
    let faults = rules.faults(&locked(&bad.concat())).join("\n");
    for expected in ["a: the versions", "banned", "elsewhere", "old@1.0.0"] {
        assert!(faults.contains(expected), "{expected}: {faults}");
    }
    let used = [
        ("a v1.0.0", "MIT"),
        ("b v1.0.0", "GPL-3.0"),
        ("c v1.0.0", ""),
    ];
    let used = used.map(|(package, licence)| (package.to_owned(), licence.to_owned()));
    assert_eq!(
        rules.licence_faults(&used.into()),
        [
            "b v1.0.0: the licence `GPL-3.0`",
            "c v1.0.0: the licence ``"
        ]
    );
}
