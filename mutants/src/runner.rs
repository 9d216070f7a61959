//! The tests, what each of them takes, and which switches it reaches.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, OpenOptions};
use std::hash::{DefaultHasher, Hasher};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::copied_tree::{CopiedTree, TestPrograms};
use crate::process::{self, Ended};
use crate::processors::{AnyError, for_each};

/// Tests of the text of the sources, which the switches change, of files that mutants do not touch, and
/// of the number of allocations: the first switch that is reached reads the environment.
const SKIPPED: [&str; 9] = [
    "tidy::",
    "documents::",
    "layers::",
    "dependencies::",
    "examples::",
    "filter_pages::",
    "papers_document::",
    "errata::",
    "conformance::only_the_region_grows_with_the_memory",
];

/// The longest processor time of a test without a mutant.
const LONGEST: Duration = Duration::from_secs(600);

/// Which program a test is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// The unit tests of the engine.
    Unit,
    /// Those in `tests/engine`.
    Engine,
}

/// A test.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Test {
    /// Its program.
    pub kind: Kind,
    /// Its name with the path of its module.
    pub name: String,
}

/// What is known about a test from a run without mutants.
#[derive(Clone, Debug)]
pub struct Traced {
    /// Its processor time.
    pub time: Duration,
    /// The switches that it reaches.
    pub reached: BTreeSet<usize>,
}

/// Runs tests.
pub struct Runner {
    programs: TestPrograms,
    /// The directory of the copy.
    directory: PathBuf,
}

impl Runner {
    /// Creates a runner of programs that were built in a copy.
    pub fn new(tree: &CopiedTree, programs: TestPrograms) -> Self {
        Runner {
            programs,
            directory: tree.directory().to_path_buf(),
        }
    }

    fn program(&self, kind: Kind) -> &Path {
        match kind {
            Kind::Unit => &self.programs.unit,
            Kind::Engine => &self.programs.engine,
        }
    }

    fn command(&self, test: &Test) -> Command {
        let mut command = Command::new(self.program(test.kind));
        command.args([&test.name, "--exact", "--test-threads=1"]);
        command.env("PROPTEST_FAILURE_PERSISTENCE", "off");
        command.current_dir(self.directory.join(match test.kind {
            Kind::Unit => "engine",
            Kind::Engine => "tests",
        }));
        command
    }

    /// Returns all tests but the ignored ones.
    fn list(&self) -> io::Result<Vec<Test>> {
        let mut tests = Vec::new();
        for kind in [Kind::Unit, Kind::Engine] {
            let lines = |option: &[&str]| -> io::Result<BTreeSet<String>> {
                let mut command = Command::new(self.program(kind));
                let listed = command.args(["--list", "--format=terse"]).args(option);
                let text = String::from_utf8_lossy(&listed.output()?.stdout).into_owned();
                let names = text.lines().filter_map(|it| it.strip_suffix(": test"));
                Ok(names.map(str::to_owned).collect())
            };
            let ignored = lines(&["--ignored"])?;
            let names = lines(&[])?.into_iter().filter(|it| !ignored.contains(it));
            let is_skipped = |name: &str| {
                kind == Kind::Engine && SKIPPED.iter().any(|start| name.starts_with(start))
            };
            let names = names.filter(|name| !is_skipped(name));
            tests.extend(names.map(|name| Test { kind, name }));
        }
        Ok(tests)
    }

    /// Runs a test with a mutant.
    pub fn run(
        &self,
        test: &Test,
        mutant: usize,
        limit: Duration,
    ) -> io::Result<(Ended, Duration)> {
        let mut command = self.command(test);
        process::run(command.env("MUTANT", mutant.to_string()), limit)
    }

    /// Runs every test without a mutant, or those whose names contain one of some words. Goes on with
    /// the trace in `file` if it is of these programs. Returns None if the time is over.
    pub fn trace(
        &self,
        file: &Path,
        words: &[String],
        until: Option<Instant>,
    ) -> Result<Option<BTreeMap<Test, Traced>>, AnyError> {
        let digest = format!("programs {:016x}\n", self.digest()?);
        let known = fs::read_to_string(file).unwrap_or_default();
        if !known.starts_with(&digest) {
            fs::write(file, &digest)?;
        }
        let lines = known.strip_prefix(&digest).unwrap_or_default().lines();
        let mut traced: BTreeMap<Test, Traced> = lines.filter_map(read_line).collect();
        let is_wanted = |test: &Test| {
            words.is_empty() || words.iter().any(|word| test.name.contains(word.as_str()))
        };
        traced.retain(|test, _| is_wanted(test));
        let mut left = self.list()?;
        left.retain(|test| is_wanted(test) && !traced.contains_key(test));
        let is_over = || until.is_some_and(|until| Instant::now() > until);
        let output = OpenOptions::new().append(true).open(file)?;
        let found = Mutex::new((traced, output));
        for_each(&left, |thread, test| {
            if is_over() {
                return Ok(());
            }
            let reached = file.with_extension(format!("reached-{thread}"));
            let one = self.trace_one(test, &reached)?;
            let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
            found.1.write_all(write_line(test, &one).as_bytes())?;
            found.0.insert(test.clone(), one);
            Ok(())
        })?;
        let (traced, _) = found.into_inner().unwrap_or_else(PoisonError::into_inner);
        let is_complete = left.iter().all(|test| traced.contains_key(test));
        Ok(is_complete.then_some(traced))
    }

    fn trace_one(&self, test: &Test, reached: &Path) -> Result<Traced, AnyError> {
        fs::write(reached, "")?;
        let mut command = self.command(test);
        let (ended, time) = process::run(command.env("MUTANTS_REACHED", reached), LONGEST)?;
        if ended != Ended::Passed {
            return Err(format!("without a mutant, {} fails: {ended:?}", test.name).into());
        }
        let numbers = fs::read_to_string(reached)?;
        Ok(Traced {
            time,
            reached: numbers.lines().filter_map(|it| it.parse().ok()).collect(),
        })
    }

    fn digest(&self) -> io::Result<u64> {
        let mut hasher = DefaultHasher::new();
        for kind in [Kind::Unit, Kind::Engine] {
            hasher.write(&fs::read(self.program(kind))?);
        }
        Ok(hasher.finish())
    }
}

fn write_line(test: &Test, traced: &Traced) -> String {
    let reached: Vec<String> = traced.reached.iter().map(usize::to_string).collect();
    format!(
        "{:?}\t{}\t{}\t{}\n",
        test.kind,
        test.name,
        traced.time.as_millis(),
        reached.join(" ")
    )
}

fn read_line(line: &str) -> Option<(Test, Traced)> {
    let mut parts = line.split('\t');
    let kind = match parts.next()? {
        "Unit" => Kind::Unit,
        "Engine" => Kind::Engine,
        _ => return None,
    };
    let name = parts.next()?.to_owned();
    let time = Duration::from_millis(parts.next()?.parse().ok()?);
    let numbers = parts.next()?.split_whitespace();
    let reached = numbers.map(str::parse).collect::<Result<_, _>>().ok()?;
    Some((Test { kind, name }, Traced { time, reached }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_trace_is_read_back() {
        let test = Test {
            kind: Kind::Engine,
            name: "store::a_test".to_owned(),
        };
        let traced = Traced {
            time: Duration::from_millis(1230),
            reached: [3, 77].into(),
        };
        let line = write_line(&test, &traced);
        let (read, found) = read_line(line.trim_end_matches('\n')).expect("a line");
        assert_eq!((read, found.time), (test, traced.time));
        assert_eq!(found.reached, traced.reached);
    }
}
