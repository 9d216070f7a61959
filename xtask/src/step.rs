//! Runs other programs, and prints which one runs and how long it takes.

use std::cell::Cell;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::Instant;

pub type Outcome<T = ()> = Result<T, Box<dyn std::error::Error>>;

/// Steps that run one after another.
pub type Sequence<'a> = &'a (dyn Fn() -> Outcome + Sync);

thread_local! {
    /// Whether other steps run at the same time.
    static IN_PARALLEL: Cell<bool> = const { Cell::new(false) };
}

/// The root directory of the repository.
pub fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_path_buf()
}

/// Cargo's target directory.
pub fn target_directory() -> PathBuf {
    match std::env::var_os("CARGO_TARGET_DIR") {
        Some(directory) => root().join(directory),
        None => root().join("target"),
    }
}

/// Returns a command that runs in the root directory of the repository.
pub fn command(program: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(program_file(program));
    command.args(arguments).current_dir(root());
    command
}

/// On Windows, npm is a script that is found only by its full name.
fn program_file(program: &str) -> &str {
    match program {
        "npm" if cfg!(windows) => "npm.cmd",
        other => other,
    }
}

/// Returns a command for the cargo that runs this program.
pub fn cargo(arguments: &[&str]) -> Command {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    command(&cargo, arguments)
}

/// Runs a command to its end. Fails if the command cannot be started or does not succeed.
pub fn run(what: &str, mut command: Command) -> Outcome {
    eprintln!("── {what}");
    let started = Instant::now();
    let ended = match IN_PARALLEL.get() {
        true => status_with_output_at_end(what, &mut command),
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

/// Runs a command and prints its output when it ends, so that the output of steps that run at
/// the same time is not mixed.
fn status_with_output_at_end(what: &str, command: &mut Command) -> std::io::Result<ExitStatus> {
    let (mut reader, writer) = std::io::pipe()?;
    command.stdin(Stdio::null());
    command.stdout(writer.try_clone()?).stderr(writer);
    let mut child = command.spawn()?;
    // `command` owns the write end of the pipe; reading would not end while it is open.
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut output = Vec::new();
    reader.read_to_end(&mut output)?;
    let status = child.wait()?;
    if !output.is_empty() {
        let mut error = std::io::stderr().lock();
        writeln!(error, "── output of {what}")?;
        error.write_all(&output)?;
    }
    Ok(status)
}

/// Runs sequences of steps at the same time. Each runs to its end even if another fails.
pub fn in_parallel(sequences: &[Sequence]) -> Outcome {
    let outcomes: Vec<Result<(), String>> = std::thread::scope(|scope| {
        let started: Vec<_> = sequences
            .iter()
            .map(|sequence| {
                scope.spawn(move || {
                    IN_PARALLEL.set(true);
                    sequence().map_err(|error| error.to_string())
                })
            })
            .collect();
        let ended = started.into_iter().map(|sequence| sequence.join());
        ended
            .map(|outcome| outcome.unwrap_or_else(|_| Err("a step panicked".to_owned())))
            .collect()
    });
    let failures: Vec<String> = outcomes.into_iter().filter_map(Result::err).collect();
    match failures.is_empty() {
        true => Ok(()),
        false => Err(failures.join("\n").into()),
    }
}

/// Installs packages on Debian-based systems, if this user may. Does nothing on others.
pub fn install_packages(packages: &[&str]) -> Outcome {
    if !exists("apt-get") {
        return Ok(());
    }
    let install = ["install", "--quiet", "--yes"];
    for arguments in [&["update", "--quiet"][..], &[&install, packages].concat()] {
        let mut apt = command("apt-get", arguments);
        apt.env("DEBIAN_FRONTEND", "noninteractive");
        run(&format!("install {}", packages.join(", ")), apt)?;
    }
    Ok(())
}

/// Installs a target of the compiler if rustup is there; without rustup the compiler reports what
/// is missing.
pub fn ensure_target(target: &str) -> Outcome {
    if !exists("rustup") {
        return Ok(());
    }
    let add = command("rustup", &["target", "add", target]);
    run(&format!("target {target}"), add)
}

/// Returns whether a program can be started.
pub fn exists(program: &str) -> bool {
    let mut probe = Command::new(program_file(program));
    probe.arg("--version");
    probe.output().is_ok_and(|output| output.status.success())
}
