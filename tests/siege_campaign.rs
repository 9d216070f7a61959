//! A long run of attacks on the command line: `cargo xtask siege --minutes N`.

use std::process::ExitCode;
use std::time::Duration;

const USAGE: &str = "usage: cargo xtask siege [--minutes N] [--seed N]";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some((program, options)) = arguments.split_first() else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    let (mut minutes, mut seed) = (10, 1);
    for pair in options.chunks(2) {
        let value = pair.get(1).and_then(|text| text.parse().ok());
        match (pair[0].as_str(), value) {
            ("--minutes", Some(value)) => minutes = value,
            ("--seed", Some(value)) => seed = value,
            _ => {
                eprintln!("{USAGE}");
                return ExitCode::from(2);
            }
        }
    }
    siege(program, seed, Duration::from_secs(60 * minutes))
}

#[cfg(unix)]
fn siege(program: &str, seed: u64, time: Duration) -> ExitCode {
    use dedupstore_tests::siege::{Program, run};
    match run(&Program::new(program), seed, time) {
        Ok(summary) => {
            println!("{summary}");
            ExitCode::SUCCESS
        }
        Err(failure) => {
            println!("{failure}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(not(unix))]
fn siege(_program: &str, _seed: u64, _time: Duration) -> ExitCode {
    eprintln!("the attacks need a Unix system");
    ExitCode::from(2)
}
