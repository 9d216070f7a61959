//! `cargo xtask mutants`: plants small mistakes in the engine, one at a time, and counts how many
//! the native tests notice.
//!
//! All mistakes of a sample are built into one copy of the engine, each behind a switch that is read
//! at run time, so that the tests are compiled once and not once per mistake. Each test runs in a
//! process of its own: first without a mistake, when the switches note that they are reached, then
//! with each of the mistakes that it reaches, until a test fails.

mod copied_tree;
mod point;
mod process;
mod processors;
mod runner;
mod search;
mod trial;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use copied_tree::{CopiedTree, TestPrograms};
use point::{Point, with_switches};
use processors::{AnyError, for_each};
use runner::Runner;
use trial::{Part, tests_of, try_mutant};

const USAGE: &str = "\
cargo xtask mutants [OPTIONS]

  --seed N       the seed of the sample (1)
  --count N      the number of mutants (150)
  --below DIR    mutate the files below a directory of the engine; may be repeated
                 (engine/src/store engine/src/filter)
  --minutes N    stop after so long; the next run with the same options goes on
  --survivors    try the survivors of earlier runs again
  --tests WORD   only with tests whose names contain a word; may be repeated
  --list         print the sample and stop";

/// Left out: the mistakes that the crash tests plant, and hints to the processor.
const SKIPPED_FILES: [&str; 1] = ["engine/src/store/mutant.rs"];

struct Options {
    seed: u64,
    count: usize,
    below: Vec<String>,
    time: Option<Duration>,
    survivors: bool,
    tests: Vec<String>,
    list: bool,
}

fn options() -> Result<Options, AnyError> {
    let mut options = Options {
        seed: 1,
        count: 150,
        below: Vec::new(),
        time: None,
        survivors: false,
        tests: Vec::new(),
        list: false,
    };
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or(format!("{argument} needs a value"));
        match argument.as_str() {
            "--seed" => options.seed = value()?.parse()?,
            "--count" => options.count = value()?.parse()?,
            "--below" => options.below.push(value()?),
            "--minutes" => {
                let minutes: f64 = value()?.parse()?;
                options.time = Some(Duration::from_secs_f64(60.0 * minutes));
            }
            "--survivors" => options.survivors = true,
            "--tests" => options.tests.push(value()?),
            "--list" => options.list = true,
            _ => return Err(USAGE.into()),
        }
    }
    if options.below.is_empty() {
        options.below = ["engine/src/store", "engine/src/filter"]
            .map(str::to_owned)
            .to_vec();
    }
    Ok(options)
}

/// A mutant of the sample.
struct Mutant {
    file: String,
    point: Point,
    description: String,
}

/// Returns all possible mutants in a random order that follows from the seed.
fn shuffled(tree: &CopiedTree, options: &Options) -> Result<Vec<Mutant>, AnyError> {
    let mut mutants = Vec::new();
    for directory in &options.below {
        for file in tree.sources(directory)? {
            if SKIPPED_FILES.contains(&file.as_str()) {
                continue;
            }
            let source = tree.original(&file)?;
            let points = search::points_in(&source).map_err(|error| format!("{file}: {error}"))?;
            mutants.extend(points.into_iter().map(|point| Mutant {
                description: format!("{file}:{}: {}", point.line, point.describe(&source)),
                file: file.clone(),
                point,
            }));
        }
    }
    for at in (1..mutants.len()).rev() {
        let other = mixed(options.seed ^ (at as u64) << 32) % (at as u64 + 1);
        mutants.swap(at, other as usize);
    }
    Ok(mutants)
}

/// Returns a number whose bits depend on all bits of the given one: the finalizer of SplitMix64.
fn mixed(mut number: u64) -> u64 {
    number = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

/// Builds the first mutants that compile. Returns their indices.
fn build(
    tree: &CopiedTree,
    mutants: &[Mutant],
    options: &Options,
) -> Result<(Vec<usize>, TestPrograms), AnyError> {
    let mut not_viable = BTreeSet::new();
    loop {
        let viable = (0..mutants.len()).filter(|number| !not_viable.contains(number));
        let chosen: Vec<usize> = viable.take(options.count).collect();
        let mut by_file: BTreeMap<&str, Vec<(usize, &Point)>> = BTreeMap::new();
        for &number in &chosen {
            let mutant = &mutants[number];
            by_file
                .entry(&mutant.file)
                .or_default()
                .push((number, &mutant.point));
        }
        for directory in &options.below {
            for file in tree.sources(directory)? {
                let points = by_file.get(file.as_str()).map_or(&[][..], Vec::as_slice);
                let text = with_switches(&tree.original(&file)?, points);
                tree.write(&file, text.as_bytes())?;
            }
        }
        match tree.build()? {
            Ok(programs) => return Ok((chosen, programs)),
            Err(numbers) => {
                for number in &numbers {
                    eprintln!("does not compile: {}", mutants[*number].description);
                }
                not_viable.extend(numbers);
            }
        }
    }
}

/// The outcomes of earlier runs with the same sample, by description.
struct Outcomes {
    file: PathBuf,
    known: BTreeMap<String, String>,
}

/// No test fails.
const SURVIVED: &str = "survived";
/// No test reaches it.
const UNREACHED: &str = "survived: no test reaches it";
/// Of the tests, only the slow ones are left.
const SLOW_ONES_LEFT: &str = "the quick tests pass";

impl Outcomes {
    fn open(directory: &Path, options: &Options) -> std::io::Result<Self> {
        let file = directory.join(format!("outcomes-{}.txt", options.seed));
        let text = fs::read_to_string(&file).unwrap_or_default();
        let pairs = text.lines().filter_map(|line| line.split_once('\t'));
        let mut known: BTreeMap<String, String> = pairs
            .map(|(by, mutant)| (mutant.to_owned(), by.to_owned()))
            .collect();
        if options.survivors {
            known.retain(|_, by| !by.starts_with(SURVIVED));
        }
        Ok(Outcomes { file, known })
    }

    /// Whether the part of the tests is still to be run with a mutant.
    fn is_left(&self, mutant: &Mutant, part: Part) -> bool {
        match self.known.get(&mutant.description) {
            Some(by) => by == SLOW_ONES_LEFT && part == Part::Slow,
            None => part == Part::Quick,
        }
    }

    fn add(&mut self, mutant: &Mutant, by: &str) -> std::io::Result<()> {
        let description = &mutant.description;
        let mut file = OpenOptions::new();
        let mut file = file.create(true).append(true).open(&self.file)?;
        writeln!(file, "{by}\t{description}")?;
        self.known.insert(description.to_owned(), by.to_owned());
        if by != SLOW_ONES_LEFT {
            println!("{by}: {description}");
        }
        Ok(())
    }

    /// Prints how many of the mutants were killed, and the others.
    fn print(&self, chosen: &[&Mutant]) {
        let by = |mutant: &Mutant| self.known.get(&mutant.description).map(String::as_str);
        let mut survivors = Vec::new();
        let (mut killed, mut slowed) = (0, 0);
        for mutant in chosen {
            match by(mutant) {
                None | Some(SLOW_ONES_LEFT) => {}
                Some(by) if by.starts_with(SURVIVED) => survivors.push((by, mutant)),
                Some(by) => {
                    killed += 1;
                    slowed += usize::from(by.ends_with(')'));
                }
            }
        }
        println!(
            "{} of {} mutants were tried; {killed} were killed, {slowed} of them by a test that did not end",
            killed + survivors.len(),
            chosen.len()
        );
        for (by, mutant) in survivors {
            println!("{by}: {}", mutant.description);
        }
    }
}

fn run(options: &Options) -> Result<(), AnyError> {
    let until = options.time.map(|time| Instant::now() + time);
    let is_over = || until.is_some_and(|until| Instant::now() > until);
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("..")
        .canonicalize()?;
    let tree = CopiedTree::new(&root, &options.below)?;
    let mutants = shuffled(&tree, options)?;
    eprintln!("{} possible mutants", mutants.len());
    if options.list {
        let sample = mutants.iter().take(options.count);
        sample.for_each(|it| println!("{}", it.description));
        return Ok(());
    }
    let (chosen, programs) = build(&tree, &mutants, options)?;
    let runner = Runner::new(&tree, programs);
    let trace = tree.directory().join("trace.txt");
    let Some(traced) = runner.trace(&trace, &options.tests, until)? else {
        println!("the time is over before every test was traced");
        return Ok(());
    };
    let seconds: f64 = traced.values().map(|it| it.time.as_secs_f64()).sum();
    eprintln!("{} tests: {seconds:.0} s of processor time", traced.len());
    let outcomes = Mutex::new(Outcomes::open(tree.directory(), options)?);
    let outcomes_of = || outcomes.lock().unwrap_or_else(PoisonError::into_inner);
    for part in [Part::Quick, Part::Slow] {
        for_each(&chosen, |_, &number| {
            let mutant = &mutants[number];
            if is_over() || !outcomes_of().is_left(mutant, part) {
                return Ok(());
            }
            let tests = tests_of(&traced, number, &mutant.file, part);
            let slow_ones = tests_of(&traced, number, &mutant.file, Part::Slow);
            let killed_by = try_mutant(&runner, &tests, number)?;
            let by = match (&killed_by, part) {
                (Some(by), _) => by,
                // Another test may notice it.
                (None, _) if !options.tests.is_empty() => return Ok(()),
                (None, Part::Quick) if !slow_ones.is_empty() => SLOW_ONES_LEFT,
                (None, Part::Quick) if tests.is_empty() => UNREACHED,
                (None, _) => SURVIVED,
            };
            Ok(outcomes_of().add(mutant, by)?)
        })?;
    }
    let chosen: Vec<&Mutant> = chosen.iter().map(|&number| &mutants[number]).collect();
    outcomes_of().print(&chosen);
    Ok(())
}

fn main() -> ExitCode {
    match options().and_then(|options| run(&options)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("mutants: {error}");
            ExitCode::from(2)
        }
    }
}
