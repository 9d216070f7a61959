//! `cargo xtask fuzz`: runs fuzz targets, one after the other, and prints a line for each.

use std::error::Error;
use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use dedupstore_fuzz::{Campaign, Failure, TARGETS, Target, corpus, execute, record_panics};

const USAGE: &str = "\
cargo xtask fuzz [TARGET…] [OPTIONS]

  --seconds N      run each target for so long (10)
  --executions N   run each target at most so often
  --seed N         the seed of the changes (1)
  --unguided       do not look at coverage: faster, and finds less
  --keep           add inputs that reach new code to fuzz/corpus
  --replay FILE    run one target once on the bytes of a file
  --export DIR     write the corpus of one target as files
  --list           list the targets

cargo xtask fuzz --libfuzzer TARGET [OPTIONS OF LIBFUZZER]

  runs a target with libFuzzer, if `cargo fuzz` and nightly Rust are installed";

struct Options {
    targets: Vec<&'static Target>,
    campaign: Campaign,
    keep: bool,
    replay: Option<PathBuf>,
    export: Option<PathBuf>,
}

fn options(arguments: impl Iterator<Item = String>) -> Result<Option<Options>, Box<dyn Error>> {
    let mut options = Options {
        targets: Vec::new(),
        campaign: Campaign {
            seed: 1,
            executions: u64::MAX,
            time: Duration::from_secs(10),
            guided: cfg!(feature = "coverage"),
        },
        keep: false,
        replay: None,
        export: None,
    };
    let mut arguments = arguments.peekable();
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or(format!("{argument} needs a value"));
        match argument.as_str() {
            "--seconds" => options.campaign.time = Duration::from_secs_f64(value()?.parse()?),
            "--executions" => options.campaign.executions = value()?.parse()?,
            "--seed" => options.campaign.seed = value()?.parse()?,
            "--unguided" => options.campaign.guided = false,
            "--keep" => options.keep = true,
            "--replay" => options.replay = Some(value()?.into()),
            "--export" => options.export = Some(value()?.into()),
            "--list" => {
                TARGETS
                    .iter()
                    .for_each(|target| println!("{}", target.name));
                return Ok(None);
            }
            "--help" | "-h" => {
                println!("{USAGE}");
                return Ok(None);
            }
            name => {
                let target = TARGETS.iter().find(|target| target.name == name);
                let target = target.ok_or(format!("there is no target {name}\n\n{USAGE}"))?;
                options.targets.push(target);
            }
        }
    }
    if options.targets.is_empty() {
        options.targets.extend(TARGETS);
    }
    Ok(Some(options))
}

fn run(options: &Options) -> Result<bool, Box<dyn Error>> {
    if let (Some(file), [target]) = (&options.replay, &options.targets[..]) {
        let result = execute(target, &fs::read(file)?);
        println!("{}: {result:?}", target.name);
        return Ok(result.is_ok());
    }
    if let (Some(directory), [target]) = (&options.export, &options.targets[..]) {
        fs::create_dir_all(directory)?;
        for (number, input) in corpus::load(target)?.into_iter().enumerate() {
            fs::write(directory.join(number.to_string()), input)?;
        }
        return Ok(true);
    }
    record_panics();
    println!(
        "target            executions   seconds   per second   corpus   edges     new   \
         largest memory   failures"
    );
    let (mut executions, mut succeeded) = (0, true);
    for target in &options.targets {
        let report = options.campaign.run(target)?;
        let seconds = report.time.as_secs_f64();
        executions += report.executions;
        let (edges, new) = match report.edges {
            Some((before, after)) => (after.to_string(), (after - before).to_string()),
            None => ("-".to_owned(), "-".to_owned()),
        };
        println!(
            "{:<16} {:>11} {:>9.1} {:>12.0} {:>8} {edges:>7} {new:>7} {:>12} KiB {:>10}",
            target.name,
            report.executions,
            seconds,
            report.executions as f64 / seconds,
            report.corpus.len(),
            report.peak_bytes.div_ceil(1024),
            report.failed.len(),
        );
        for (input, failure) in &report.failed {
            report_failure(target, input, failure)?;
        }
        succeeded &= report.failed.is_empty();
        if options.keep && report.failed.is_empty() {
            let inputs = Campaign::smallest_cover(target, report.corpus);
            corpus::store(target, &inputs)?;
        }
    }
    println!("{executions} executions");
    Ok(succeeded)
}

fn report_failure(target: &Target, input: &[u8], failure: &Failure) -> Result<(), Box<dyn Error>> {
    let directory = PathBuf::from("target/fuzz-failures");
    fs::create_dir_all(&directory)?;
    let number = crc32fast::hash(input);
    let file = directory.join(format!("{}-{number:08x}", target.name));
    fs::write(&file, input)?;
    println!("{}: {failure}", target.name);
    println!("  the input: {}", input.escape_ascii());
    println!(
        "  again: cargo xtask fuzz {} --replay {}",
        target.name,
        file.display()
    );
    Ok(())
}

fn main() -> ExitCode {
    let ran = match options(std::env::args().skip(1)) {
        Ok(Some(options)) => run(&options),
        Ok(None) => return ExitCode::SUCCESS,
        Err(error) => Err(error),
    };
    match ran {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("fuzz: {error}");
            ExitCode::from(2)
        }
    }
}
