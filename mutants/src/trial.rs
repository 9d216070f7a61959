//! Tries one mutant with the tests that reach it.

use std::collections::BTreeMap;
use std::io;
use std::time::Duration;

use crate::process::Ended;
use crate::runner::{Kind, Runner, Test, Traced};

/// A test with a mutant may take this many times its processor time without one.
const FACTOR: u32 = 10;
/// And so much more.
const GRACE: Duration = Duration::from_secs(5);
/// Most mutants are found by a test that is quicker than this. The slower ones run when all mutants
/// were tried with the quick ones.
const QUICK: Duration = Duration::from_secs(1);

/// Which of the tests to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The quick ones.
    Quick,
    /// The others.
    Slow,
}

/// Returns the tests of a part that reach a mutant, in the order in which they run: the unit tests of
/// its own module before others that take as long.
pub fn tests_of<'a>(
    traced: &'a BTreeMap<Test, Traced>,
    mutant: usize,
    file: &str,
    part: Part,
) -> Vec<(&'a Test, &'a Traced)> {
    let module = module_of(file);
    let is_in_part = |time: Duration| (time < QUICK) == (part == Part::Quick);
    let mut tests: Vec<(&Test, &Traced)> = traced
        .iter()
        .filter(|(_, it)| it.reached.contains(&mutant) && is_in_part(it.time))
        .collect();
    tests.sort_by_key(|(test, traced)| {
        let is_near = test.kind == Kind::Unit && test.name.starts_with(&module);
        traced.time / if is_near { 10 } else { 1 }
    });
    tests
}

/// Runs tests with a mutant until one notices it. Returns what noticed it.
pub fn try_mutant(
    runner: &Runner,
    tests: &[(&Test, &Traced)],
    mutant: usize,
) -> io::Result<Option<String>> {
    for (test, traced) in tests {
        let limit = FACTOR * traced.time + GRACE;
        let how = match runner.run(test, mutant, limit)?.0 {
            Ended::Passed => continue,
            Ended::Failed => "",
            Ended::TooLong => " (takes more than 10 times as long)",
            Ended::Stuck => " (waits forever)",
            Ended::TooMuchMemory => " (holds more than 4 GiB)",
        };
        return Ok(Some(format!("{}{how}", test.name)));
    }
    Ok(None)
}

/// Returns the path of the module of a file: `filter::bloom::`.
fn module_of(file: &str) -> String {
    let path = file
        .trim_start_matches("engine/src/")
        .trim_end_matches(".rs");
    path.trim_end_matches("/mod").replace('/', "::") + "::"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_that_reach_a_mutant_run_the_nearest_and_quickest_first() {
        let test = |kind, name: &str, millis, reached: &[usize]| {
            let test = Test {
                kind,
                name: name.to_owned(),
            };
            let traced = Traced {
                time: Duration::from_millis(millis),
                reached: reached.iter().copied().collect(),
            };
            (test, traced)
        };
        let traced: BTreeMap<Test, Traced> = [
            test(Kind::Engine, "store::a", 60, &[1, 2]),
            test(Kind::Unit, "filter::bloom::b", 200, &[2]),
            test(Kind::Unit, "filter::bloom::c", 10, &[1]),
            test(Kind::Engine, "long_run::d", 60_000, &[2]),
        ]
        .into();
        let names = |part| {
            let tests = tests_of(&traced, 2, "engine/src/filter/bloom.rs", part);
            let names = tests.iter().map(|(test, _)| test.name.as_str());
            names.map(str::to_owned).collect::<Vec<String>>()
        };
        assert_eq!(names(Part::Quick), ["filter::bloom::b", "store::a"]);
        assert_eq!(names(Part::Slow), ["long_run::d"]);
    }
}
