//! Runs the program under attack.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::time::{Duration, Instant};

use crate::crash::Failure;

/// No command on a small store takes longer.
const TIMEOUT: Duration = Duration::from_secs(60);
/// The address space of a run, in KiB: file contents must not cause large allocations.
const ADDRESS_SPACE_KIB: u64 = 2 << 20;

/// The program under attack.
#[derive(Clone, Debug)]
pub struct Program {
    path: PathBuf,
}

/// How a run ended.
#[derive(Debug)]
pub struct Ended {
    pub code: Option<i32>,
    pub stdout: Vec<u8>,
    pub message: String,
}

impl Program {
    /// Names the program.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Program { path: path.into() }
    }

    /// Returns the command with arguments and empty standard input, in a bounded address space.
    pub fn command<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> Command {
        let mut command = Command::new("sh");
        let limited = format!("ulimit -v {ADDRESS_SPACE_KIB}; exec \"$0\" \"$@\"");
        command.args(["-c", &limited]).arg(&self.path);
        command
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Runs to the end. Fails if the program panics, is killed by a signal, or does not end.
    pub fn run<S: AsRef<OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = S>,
    ) -> Result<Ended, Failure> {
        let arguments: Vec<S> = arguments.into_iter().collect();
        let words: Vec<String> = arguments
            .iter()
            .map(|it| it.as_ref().to_string_lossy().into_owned())
            .collect();
        let here = |failure: Failure| failure.at(words.join(" "));
        let child = start(&mut self.command(&arguments)).map_err(here)?;
        let output = wait_with_output(child).map_err(here)?;
        checked(&output).map_err(here)
    }

    /// Runs to the end, and fails unless the exit code is 0.
    pub fn succeed<S: AsRef<OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = S>,
    ) -> Result<Ended, Failure> {
        let ended = self.run(arguments)?;
        match ended.code {
            Some(0) => Ok(ended),
            code => Err(Failure(format!("exit code {code:?}: {}", ended.message))),
        }
    }

    /// Creates a small store.
    pub fn create(&self, store: &Path, seed: u64) -> Result<(), Failure> {
        let filters = [
            "bloom:k=4",
            "blocked:k=6,cap=85",
            "stable:k=2,p=3,max=3",
            "rlbsbf:k=2",
        ];
        let filter = filters[(seed % filters.len() as u64) as usize];
        let store = store.to_string_lossy();
        self.succeed([
            "create",
            &store,
            "--memory",
            "512KiB",
            "--log-size",
            "32KiB",
            "--seed",
            "1",
            "--filter",
            filter,
        ])?;
        Ok(())
    }
}

/// Starts a command.
pub fn start(command: &mut Command) -> Result<Child, Failure> {
    command
        .spawn()
        .map_err(|error| Failure(format!("cannot start: {error}")))
}

/// Fails if a run ended by a panic or by a signal that nobody sent.
pub fn checked(output: &Output) -> Result<Ended, Failure> {
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    let code = output.status.code();
    let documented = matches!(code, Some(0..=3));
    if !documented || message.contains("panicked") {
        return Err(Failure(format!("{}: {message}", output.status)));
    }
    Ok(Ended {
        code,
        stdout: output.stdout.clone(),
        message,
    })
}

/// Waits for the end and collects the output. Fails if that takes too long.
pub fn wait_with_output(mut child: Child) -> Result<Output, Failure> {
    let collect = |pipe: Option<Box<dyn std::io::Read + Send>>| {
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            if let Some(mut pipe) = pipe {
                let _ = pipe.read_to_end(&mut bytes);
            }
            bytes
        })
    };
    let stdout = collect(child.stdout.take().map(|it| Box::new(it) as Box<_>));
    let stderr = collect(child.stderr.take().map(|it| Box::new(it) as Box<_>));
    let status = wait(&mut child)?;
    Ok(Output {
        status,
        stdout: stdout.join().unwrap_or_default(),
        stderr: stderr.join().unwrap_or_default(),
    })
}

/// Waits for the end. Fails if that takes too long.
pub fn wait(child: &mut Child) -> Result<ExitStatus, Failure> {
    let started = Instant::now();
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Ok(status),
            Ok(None) if started.elapsed() < TIMEOUT => {
                std::thread::sleep(Duration::from_millis(1));
            }
            _ => {
                let _ = child.kill();
                return Err(Failure(format!("did not end within {TIMEOUT:?}")));
            }
        }
    }
}

/// Wraps an error of the attack itself.
pub fn io(error: std::io::Error) -> Failure {
    Failure(format!("the attack itself failed: {error}"))
}

/// Returns a directory for an attack.
pub fn directory() -> Result<tempfile::TempDir, Failure> {
    tempfile::TempDir::new().map_err(io)
}

/// Writes lines to a file: numbers from `from` to before `to`, each twice, at a distance.
pub fn write_lines(path: &Path, from: u64, to: u64) -> Result<(), Failure> {
    let name = |number: u64| format!("https://harbour.example/ships/{number}\n");
    let text: String = (from..to)
        .flat_map(|number| [name(number), name(number.saturating_sub(50).max(from))])
        .collect();
    fs::write(path, text).map_err(io)
}

/// Opens a file for appending.
pub fn append(path: &Path) -> Result<File, Failure> {
    let file = File::options().create(true).append(true).open(path);
    file.map_err(io)
}
