//! Runs one test in a process of its own, and ends it when it takes too much.

use std::fs;
use std::io;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

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
pub fn run(command: &mut Command, limit: Duration) -> io::Result<Ended> {
    command.stdin(Stdio::null()).stdout(Stdio::null());
    let mut child = command.stderr(Stdio::null()).spawn()?;
    let mut pause = Duration::from_micros(200);
    let mut looked = Instant::now();
    let mut watched = Watched {
        process: format!("/proc/{}", child.id()),
        busy: (Instant::now(), Duration::ZERO),
    };
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(match status.success() {
                true => Ended::Passed,
                false => Ended::Failed,
            });
        }
        std::thread::sleep(pause);
        pause = (pause * 5 / 4).min(Duration::from_millis(20));
        if looked.elapsed() >= LOOK {
            looked = Instant::now();
            if let Some(ended) = watched.look(limit) {
                end(&mut child)?;
                return Ok(ended);
            }
        }
    }
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
    fn look(&mut self, limit: Duration) -> Option<Ended> {
        let used = processor_time(&format!("{}/stat", self.process), OF_THE_PROCESS);
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

/// The fields of the processor time in a `stat` file, counted after the name.
const OF_THE_PROCESS: usize = 11;
const OF_ITS_CHILDREN: usize = 13;

fn processor_time(file: &str, field: usize) -> Duration {
    let text = fs::read_to_string(file).unwrap_or_default();
    // After the name in parentheses; the times are in hundredths of a second.
    let fields = text.rsplit(')').next().unwrap_or("").split_whitespace();
    let times = fields.skip(field).take(2);
    let times = times.filter_map(|it| it.parse::<u64>().ok());
    Duration::from_millis(10 * times.sum::<u64>())
}

/// Returns the processor time of all programs that this one has run and waited for.
pub fn time_of_children() -> Duration {
    processor_time("/proc/self/stat", OF_ITS_CHILDREN)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Ended {
        let limit = Duration::from_millis(300);
        run(Command::new("sh").args(["-c", script]), limit).expect("a shell")
    }

    #[test]
    fn a_process_passes_fails_or_takes_too_long() {
        assert_eq!(shell("true"), Ended::Passed);
        assert_eq!(shell("false"), Ended::Failed);
        assert_eq!(shell("kill -9 $$"), Ended::Failed);
        assert_eq!(shell("while :; do :; done"), Ended::TooLong);
    }
}
