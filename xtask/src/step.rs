//! Running other programs, and saying which and how long.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

pub type Outcome<T = ()> = Result<T, Box<dyn std::error::Error>>;

/// The top of the repository.
pub fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_path_buf()
}

/// A command that works at the top of the repository.
pub fn command(program: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(program_file(program));
    command.args(arguments).current_dir(root());
    command
}

/// npm is a script that Windows finds only by its full name.
fn program_file(program: &str) -> &str {
    match program {
        "npm" if cfg!(windows) => "npm.cmd",
        other => other,
    }
}

/// Cargo itself, the one that runs this.
pub fn cargo(arguments: &[&str]) -> Command {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    command(&cargo, arguments)
}

/// Runs a command to its end; anything but success is an error that names it.
pub fn run(what: &str, mut command: Command) -> Outcome {
    eprintln!("── {what}");
    let started = Instant::now();
    let status = command
        .status()
        .map_err(|error| format!("{what}: cannot run {:?}: {error}", command.get_program()))?;
    if !status.success() {
        return Err(format!("{what}: failed ({status}): {command:?}").into());
    }
    eprintln!("   {what}: {:.1} s", started.elapsed().as_secs_f64());
    Ok(())
}

/// Runs two rows of steps at once; both go on to their end.
pub fn side_by_side(
    here: impl FnOnce() -> Outcome,
    beside: impl FnOnce() -> Outcome + Send,
) -> Outcome {
    std::thread::scope(|scope| {
        let beside = scope.spawn(|| beside().map_err(|error| error.to_string()));
        let here = here();
        let beside = beside.join().map_err(|_| "a step panicked")?;
        here?;
        Ok(beside?)
    })
}

/// Whether a program can be started.
pub fn exists(program: &str) -> bool {
    let mut probe = Command::new(program_file(program));
    probe.arg("--version");
    probe.output().is_ok_and(|output| output.status.success())
}
