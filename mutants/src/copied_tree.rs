//! A copy of the repository with switches in it, and the tests that are built from it.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::processors::AnyError;

/// Decides at run time which mistake is made.
const SWITCH: &str = include_str!("switch.rs");

/// Declares the module of the switches.
const LIBRARY: &str = "engine/src/lib.rs";

/// The features with which the test command builds the engine.
const FEATURES: &str = "all-filters,normalization,patterns,mutants";

/// The packages that the test command leaves out.
const EXCLUDED: [&str; 2] = ["dedupstore-benches", "bindings"];

/// Built for speed, with the checks of a debug build: each test runs for many mutants.
const OPTIMIZED: [&str; 2] = ["dedupstore", "dedupstore-tests"];

/// A copy of the repository.
pub struct CopiedTree {
    original: PathBuf,
    copy: PathBuf,
}

/// The programs that run the tests.
pub struct TestPrograms {
    /// The unit tests of the engine.
    pub unit: PathBuf,
    /// The tests in `tests/engine`.
    pub engine: PathBuf,
}

impl CopiedTree {
    /// Copies all files of the repository that are not ignored, except Rust files below the
    /// directories that are mutated: if they were first copied and then changed, each run would
    /// compile the engine again.
    pub fn new(original: &Path, mutated: &[String]) -> io::Result<Self> {
        let copy = original.join("target/mutants");
        let tree = CopiedTree {
            original: original.to_path_buf(),
            copy,
        };
        let mut list = Command::new("git");
        list.args(["ls-files", "--cached", "--others", "--exclude-standard"]);
        let listed = list.current_dir(original).output()?;
        let is_written_later = |name: &str| {
            let mut below = mutated.iter().map(|it| name.strip_prefix(it.as_str()));
            let is_mutated = below.any(|rest| rest.is_some_and(|it| it.starts_with('/')));
            name == LIBRARY || (is_mutated && name.ends_with(".rs"))
        };
        for name in String::from_utf8_lossy(&listed.stdout).lines() {
            if is_written_later(name) {
                continue;
            }
            if let Ok(content) = fs::read(original.join(name)) {
                tree.write(name, &content)?;
            }
        }
        let library = fs::read_to_string(original.join(LIBRARY))?;
        let library = library.replace("pub mod advise;", "mod mutation_switch;\npub mod advise;");
        tree.write(LIBRARY, library.as_bytes())?;
        tree.write("engine/src/mutation_switch.rs", SWITCH.as_bytes())?;
        Ok(tree)
    }

    /// Reads a file of the original.
    pub fn original(&self, name: &str) -> io::Result<String> {
        fs::read_to_string(self.original.join(name))
    }

    /// Returns the directory of the copy.
    pub fn directory(&self) -> &Path {
        &self.copy
    }

    /// Returns the Rust files below a directory of the original, by their names from the top.
    pub fn sources(&self, directory: &str) -> io::Result<Vec<String>> {
        let mut found = Vec::new();
        let mut open = vec![directory.to_owned()];
        while let Some(directory) = open.pop() {
            for entry in fs::read_dir(self.original.join(&directory))? {
                let entry = entry?;
                let name = format!("{directory}/{}", entry.file_name().to_string_lossy());
                match entry.file_type()?.is_dir() {
                    true => open.push(name),
                    false if name.ends_with(".rs") => found.push(name),
                    false => {}
                }
            }
        }
        found.sort();
        Ok(found)
    }

    /// Writes a file of the copy, unless it has this content: cargo looks at times.
    pub fn write(&self, name: &str, content: &[u8]) -> io::Result<()> {
        let path = self.copy.join(name);
        if fs::read(&path).is_ok_and(|present| present == content) {
            return Ok(());
        }
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::write(path, content)
    }

    /// Builds the tests of the copy. Returns the numbers of switches that do not compile instead.
    pub fn build(&self) -> Result<Result<TestPrograms, BTreeSet<usize>>, AnyError> {
        let unit = ["--package", "dedupstore", "--lib", "--features", FEATURES];
        let unit = match self.build_one(&unit)? {
            Ok(unit) => unit,
            Err(numbers) => return Ok(Err(numbers)),
        };
        // Of the whole workspace, as in the test command: third-party crates are then built already.
        let mut engine = vec!["--workspace", "--test", "engine"];
        engine.extend(EXCLUDED.iter().flat_map(|package| ["--exclude", package]));
        let engine = match self.build_one(&engine)? {
            Ok(engine) => engine,
            Err(numbers) => return Ok(Err(numbers)),
        };
        Ok(Ok(TestPrograms { unit, engine }))
    }

    fn build_one(&self, options: &[&str]) -> Result<Result<PathBuf, BTreeSet<usize>>, AnyError> {
        let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
        let mut command = Command::new(cargo);
        command.args(["test", "--no-run"]).args(options);
        // Dependencies that are built already are used again.
        command.env("CARGO_TARGET_DIR", self.original.join("target"));
        command.env("CARGO_INCREMENTAL", "0");
        for package in OPTIMIZED {
            for setting in ["opt-level=2", "debug=false", "codegen-units=16"] {
                let setting = format!("profile.dev.package.{package}.{setting}");
                command.args(["--config", &setting]);
            }
        }
        let output = command.current_dir(&self.copy).output()?;
        let messages = String::from_utf8_lossy(&output.stderr).into_owned();
        if !output.status.success() {
            let numbers = self.switches_with_errors(&messages)?;
            return match numbers.is_empty() {
                true => Err(format!("the copy does not compile:\n{messages}").into()),
                false => Ok(Err(numbers)),
            };
        }
        let line = messages
            .lines()
            .find(|line| line.trim_start().starts_with("Executable"));
        let path = line.and_then(|line| line.rsplit_once('(')?.1.strip_suffix(')'));
        let path = path.ok_or_else(|| format!("cargo names no program:\n{messages}"))?;
        Ok(Ok(self.copy.join(path)))
    }

    /// Finds the switches at the places of compile errors.
    fn switches_with_errors(&self, messages: &str) -> io::Result<BTreeSet<usize>> {
        let mut numbers = BTreeSet::new();
        let mut is_error = false;
        for line in messages.lines() {
            if line.starts_with("error") || line.starts_with("warning") {
                is_error = line.starts_with("error");
            }
            let Some(place) = line.trim_start().strip_prefix("--> ") else {
                continue;
            };
            let mut parts = place.split(':');
            let (Some(file), Some(line)) = (parts.next(), parts.next()) else {
                continue;
            };
            let (true, Ok(line)) = (is_error, line.parse::<usize>()) else {
                continue;
            };
            let text = fs::read_to_string(self.copy.join(file))?;
            let lines: Vec<&str> = text.lines().take(line).collect();
            // The switch may be on one of the lines before.
            for line in lines.iter().rev().take(4) {
                let switches = line.split("is_on(").skip(1);
                let found =
                    switches.filter_map(|rest| rest.split(')').next()?.parse::<usize>().ok());
                let before = numbers.len();
                numbers.extend(found);
                if numbers.len() > before {
                    break;
                }
            }
        }
        Ok(numbers)
    }
}
