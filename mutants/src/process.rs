//! Runs one test in a process of its own, and ends it when it takes too much.

use std::fs;
use std::io;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};

/// The memory that a test may hold. Those of the engine hold less than 1 GiB.
const MEMORY_BYTES: u64 = 4 << 30;
/// A process all of whose threads wait for so long will wait forever.
const WAITING: Duration = Duration::from_secs(20);
/// The time between two looks at the memory and the threads of a process.
const LOOK: Duration = Duration::from_millis(100);

/// How a test ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// It passed.
    Passed,
    /// It failed, or its process ended in another way than by success.
    Failed,
    /// It took too much processor time.
    TooLong,
    /// All of its threads waited.
    Stuck,
    /// It held too much memory.
    TooMuchMemory,
}

/// Runs a command whose output does not matter until it ends or has used the processor for `limit`.
/// Returns how it ended and its processor time, with that of the programs that it ran.
pub fn run(command: &mut Command, limit: Duration) -> io::Result<(Ended, Duration)> {
    command.stdin(Stdio::null()).stdout(Stdio::null());
    let mut child = command.stderr(Stdio::null()).spawn()?;
    let mut pause = Duration::from_micros(200);
    let mut looked = Instant::now();
    let mut watched = Watched {
        process: format!("/proc/{}", child.id()),
        busy: (Instant::now(), Duration::ZERO),
    };
    loop {
        if has_ended(&child)? {
            // Before the wait, which removes the process.
            let used = processor_time(&watched.stat(), WITH_CHILDREN);
            return Ok(match child.wait()?.success() {
                true => (Ended::Passed, used),
                false => (Ended::Failed, used),
            });
        }
        std::thread::sleep(pause);
        pause = (pause * 5 / 4).min(Duration::from_millis(20));
        if looked.elapsed() >= LOOK {
            looked = Instant::now();
            if let Some(ended) = watched.look(limit) {
                end(&mut child)?;
                return Ok((ended, limit));
            }
        }
    }
}

/// Whether a process has ended, without removing it.
fn has_ended(child: &Child) -> io::Result<bool> {
    let process = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let process = process.ok_or(io::ErrorKind::InvalidInput)?;
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    Ok(waitid(WaitId::Pid(process), options)?.is_some())
}

fn end(child: &mut Child) -> io::Result<()> {
    // It may have ended by itself.
    let _ = child.kill();
    child.wait().map(|_| ())
}

struct Watched {
    /// Its directory in /proc.
    process: String,
    /// When it was last seen at work, and the processor time it had used.
    busy: (Instant, Duration),
}

impl Watched {
    /// Returns the file with its processor time.
    fn stat(&self) -> String {
        format!("{}/stat", self.process)
    }

    fn look(&mut self, limit: Duration) -> Option<Ended> {
        let used = processor_time(&self.stat(), WITHOUT_CHILDREN);
        if used > limit {
            return Some(Ended::TooLong);
        }
        if self.resident_bytes() > MEMORY_BYTES {
            return Some(Ended::TooMuchMemory);
        }
        // A thread that only wakes to look at a clock does not count.
        if used > self.busy.1 + WAITING / 100 || self.has_runnable_thread() {
            self.busy = (Instant::now(), used);
        }
        (self.busy.0.elapsed() > WAITING).then_some(Ended::Stuck)
    }

    fn resident_bytes(&self) -> u64 {
        let text = fs::read_to_string(format!("{}/statm", self.process)).unwrap_or_default();
        let pages = text.split_whitespace().nth(1);
        4096 * pages.and_then(|it| it.parse::<u64>().ok()).unwrap_or(0)
    }

    /// Whether a thread is running, waits for the processor or for a disk, or was stopped by somebody.
    fn has_runnable_thread(&self) -> bool {
        let Ok(threads) = fs::read_dir(Path::new(&self.process).join("task")) else {
            return false;
        };
        threads.flatten().any(|thread| {
            let text = fs::read_to_string(thread.path().join("stat")).unwrap_or_default();
            let state = text.rsplit(')').next().unwrap_or("").trim_start();
            state.starts_with(['R', 'D', 'T'])
        })
    }
}

/// How many fields of a `stat` file hold the processor time: of the process, then of its children that
/// have ended.
const WITHOUT_CHILDREN: usize = 2;
const WITH_CHILDREN: usize = 4;

fn processor_time(file: &str, fields: usize) -> Duration {
    let text = fs::read_to_string(file).unwrap_or_default();
    // The first is number 11 after the name in parentheses; the times are in hundredths of a second.
    let all = text.rsplit(')').next().unwrap_or("").split_whitespace();
    let times = all.skip(11).take(fields);
    let times = times.filter_map(|it| it.parse::<u64>().ok());
    Duration::from_millis(10 * times.sum::<u64>())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Ended {
        let limit = Duration::from_millis(300);
        let ran = run(Command::new("sh").args(["-c", script]), limit);
        ran.expect("a shell").0
    }

    #[test]
    fn a_process_passes_fails_or_takes_too_long() {
        assert_eq!(shell("true"), Ended::Passed);
        assert_eq!(shell("false"), Ended::Failed);
        assert_eq!(shell("kill -9 $$"), Ended::Failed);
        assert_eq!(shell("while :; do :; done"), Ended::TooLong);
    }

    #[test]
    fn the_time_of_a_process_includes_that_of_its_children() {
        let script = "sh -c 'i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done'; true";
        let ran = run(
            Command::new("sh").args(["-c", script]),
            Duration::from_secs(60),
        );
        let (ended, used) = ran.expect("a shell");
        assert_eq!(ended, Ended::Passed);
        assert!(used >= Duration::from_millis(30), "{used:?}");
    }
}
