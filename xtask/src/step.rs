//! Running other programs, and saying which and how long.

use std::cell::Cell;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::Instant;

pub type Outcome<T = ()> = Result<T, Box<dyn std::error::Error>>;

/// A row of steps, one after another.
pub type Row<'a> = &'a (dyn Fn() -> Outcome + Sync);

thread_local! {
    /// Whether other steps run at the same time.
    static BESIDE_OTHERS: Cell<bool> = const { Cell::new(false) };
}

/// The top of the repository.
pub fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_path_buf()
}

/// Where cargo puts what it builds.
pub fn target_directory() -> PathBuf {
    match std::env::var_os("CARGO_TARGET_DIR") {
        Some(directory) => root().join(directory),
        None => root().join("target"),
    }
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
    let ended = match BESIDE_OTHERS.get() {
        true => status_with_output_at_the_end(what, &mut command),
        false => command.status(),
    };
    let status = ended
        .map_err(|error| format!("{what}: cannot run {:?}: {error}", command.get_program()))?;
    let seconds = started.elapsed().as_secs_f64();
    if !status.success() {
        eprintln!("   {what}: FAILED after {seconds:.1} s");
        return Err(format!("{what}: failed ({status}): {command:?}").into());
    }
    eprintln!("   {what}: {seconds:.1} s");
    Ok(())
}

/// Lines of two steps would be mixed, so each shows all of its own when it ends.
fn status_with_output_at_the_end(what: &str, command: &mut Command) -> std::io::Result<ExitStatus> {
    let (mut reader, writer) = std::io::pipe()?;
    command.stdin(Stdio::null());
    command.stdout(writer.try_clone()?).stderr(writer);
    let mut child = command.spawn()?;
    // The command has a hold on the pipe's other end, which keeps it open.
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut output = Vec::new();
    reader.read_to_end(&mut output)?;
    let status = child.wait()?;
    if !output.is_empty() {
        let mut error = std::io::stderr().lock();
        writeln!(error, "── {what}: its output")?;
        error.write_all(&output)?;
    }
    Ok(status)
}

/// Runs rows of steps at once; each goes on to its end, whatever becomes of the others.
pub fn side_by_side(rows: &[Row]) -> Outcome {
    let outcomes: Vec<Result<(), String>> = std::thread::scope(|scope| {
        let started: Vec<_> = rows
            .iter()
            .map(|row| {
                scope.spawn(move || {
                    BESIDE_OTHERS.set(true);
                    row().map_err(|error| error.to_string())
                })
            })
            .collect();
        let ended = started.into_iter().map(|row| row.join());
        ended
            .map(|row| row.unwrap_or_else(|_| Err("a step panicked".to_owned())))
            .collect()
    });
    let failures: Vec<String> = outcomes.into_iter().filter_map(Result::err).collect();
    match failures.is_empty() {
        true => Ok(()),
        false => Err(failures.join("\n").into()),
    }
}

/// Whether a program can be started.
pub fn exists(program: &str) -> bool {
    let mut probe = Command::new(program_file(program));
    probe.arg("--version");
    probe.output().is_ok_and(|output| output.status.success())
}
