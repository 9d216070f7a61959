//! `cargo xtask mutants`: plants small mistakes in the engine, one at a time, and counts how many
//! the native tests notice.
//!
//! All mistakes of a sample are built into one copy of the engine, each behind a switch that is read
//! at run time, so that the tests are compiled once and not once per mistake.

mod copied_tree;
mod point;
mod search;
mod trial;

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use copied_tree::{CopiedTree, TestPrograms};
use point::{Point, with_switches};
use trial::{Outcome, STAGES, Trial, time_of_children};

const USAGE: &str = "\
cargo xtask mutants [OPTIONS]

  --seed N       the seed of the sample (1)
  --count N      the number of mutants (150)
  --below DIR    mutate the files below a directory of the engine; may be repeated
                 (engine/src/store engine/src/filter)
  --minutes N    stop after so long; the next run with the same options goes on
  --list         print the sample and stop";

/// Left out: the mistakes that the crash tests plant, and hints to the processor.
const SKIPPED_FILES: [&str; 1] = ["engine/src/store/mutant.rs"];

struct Options {
    seed: u64,
    count: usize,
    below: Vec<String>,
    time: Duration,
    list: bool,
}

fn options() -> Result<Options, Box<dyn Error>> {
    let mut options = Options {
        seed: 1,
        count: 150,
        below: Vec::new(),
        time: Duration::MAX,
        list: false,
    };
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or(format!("{argument} needs a value"));
        match argument.as_str() {
            "--seed" => options.seed = value()?.parse()?,
            "--count" => options.count = value()?.parse()?,
            "--below" => options.below.push(value()?),
            "--minutes" => options.time = Duration::from_secs_f64(60.0 * value()?.parse::<f64>()?),
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
fn shuffled(tree: &CopiedTree, options: &Options) -> Result<Vec<Mutant>, Box<dyn Error>> {
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
    count: usize,
) -> Result<(Vec<usize>, TestPrograms), Box<dyn Error>> {
    let mut not_viable = BTreeSet::new();
    loop {
        let viable = (0..mutants.len()).filter(|number| !not_viable.contains(number));
        let chosen: Vec<usize> = viable.take(count).collect();
        let mut by_file: BTreeMap<&str, Vec<(usize, &Point)>> = BTreeMap::new();
        for &number in &chosen {
            let mutant = &mutants[number];
            by_file
                .entry(&mutant.file)
                .or_default()
                .push((number, &mutant.point));
        }
        let files: BTreeSet<&str> = mutants.iter().map(|it| it.file.as_str()).collect();
        for file in files {
            let points = by_file.get(file).map_or(&[][..], Vec::as_slice);
            let text = with_switches(&tree.original(file)?, points);
            tree.write(file, text.as_bytes())?;
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
struct Results {
    file: PathBuf,
    known: BTreeMap<String, String>,
}

impl Results {
    fn open(directory: &Path, seed: u64) -> std::io::Result<Self> {
        let file = directory.join(format!("outcomes-{seed}.txt"));
        let text = fs::read_to_string(&file).unwrap_or_default();
        let pairs = text.lines().filter_map(|line| line.split_once('\t'));
        let known = pairs
            .map(|(by, mutant)| (mutant.to_owned(), by.to_owned()))
            .collect();
        Ok(Results { file, known })
    }

    fn add(&mut self, description: &str, by: &str) -> std::io::Result<()> {
        let mut file = OpenOptions::new()
            .create(true)
            .append(true)
            .open(&self.file)?;
        writeln!(file, "{by}\t{description}")?;
        self.known.insert(description.to_owned(), by.to_owned());
        Ok(())
    }
}

const SURVIVED: &str = "survived";

fn run(options: &Options) -> Result<(), Box<dyn Error>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("..")
        .canonicalize()?;
    let tree = CopiedTree::new(&root)?;
    let mutants = shuffled(&tree, options)?;
    eprintln!("{} possible mutants", mutants.len());
    if options.list {
        mutants
            .iter()
            .take(options.count)
            .for_each(|it| println!("{}", it.description));
        return Ok(());
    }
    let (chosen, programs) = build(&tree, &mutants, options.count)?;
    let mut trial = Trial {
        programs: &programs,
        limits: [Duration::from_secs(600); 3],
    };
    for (stage, name) in STAGES.iter().enumerate() {
        let before = time_of_children();
        let outcome = trial.run_stage(stage, None, "engine/src/filter/bloom.rs")?;
        if outcome != Outcome::Survived {
            return Err(format!("without a mutant, the {name} fail: {outcome:?}").into());
        }
        let taken = time_of_children() - before;
        eprintln!("{name}: {:.1} s of processor time", taken.as_secs_f64());
        trial.limits[stage] = 2 * taken + Duration::from_secs(10);
    }
    // The first stage is that of any module.
    trial.limits[0] = trial.limits[1];
    let mut results = Results::open(&root.join("target/mutants"), options.seed)?;
    let started = Instant::now();
    for &number in &chosen {
        let mutant = &mutants[number];
        if results.known.contains_key(&mutant.description) {
            continue;
        }
        if started.elapsed() > options.time {
            break;
        }
        let by = match trial.run(Some(number), &mutant.file)? {
            Outcome::Killed(by) => by,
            Outcome::Survived => SURVIVED.to_owned(),
        };
        println!("{by}: {}", mutant.description);
        results.add(&mutant.description, &by)?;
    }
    let outcomes = chosen
        .iter()
        .filter_map(|&it| results.known.get_key_value(&mutants[it].description));
    let outcomes: Vec<(&String, &String)> = outcomes.collect();
    let survivors = outcomes.iter().filter(|(_, by)| *by == SURVIVED);
    let survivors: Vec<&String> = survivors.map(|(description, _)| *description).collect();
    let killed = outcomes.len() - survivors.len();
    println!(
        "{} of {} mutants were tried; {killed} were killed",
        outcomes.len(),
        chosen.len()
    );
    survivors
        .iter()
        .for_each(|description| println!("survived: {description}"));
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
