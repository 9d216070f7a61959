//! A server process under test.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::Wire;

/// A running server, which is killed when this is dropped.
pub struct ServerProcess {
    child: Child,
    address: String,
    log: Arc<Mutex<String>>,
}

impl ServerProcess {
    /// Starts `dedupstore serve` on a free port and waits until it listens.
    pub fn start(program: &Path, directory: &Path, options: &[&str]) -> Self {
        let mut command = Command::new(program);
        command.arg("serve").arg(directory);
        command.args(["--listen", "127.0.0.1:0"]).args(options);
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("started");
        let mut lines = BufReader::new(child.stderr.take().expect("piped")).lines();
        let log = Arc::new(Mutex::new(String::new()));
        let address = loop {
            let line = lines.next().expect("it listens").expect("text");
            if let Some((_, address)) = line.split_once("listening address=") {
                break address.to_owned();
            }
            add(&log, &line);
        };
        let copy = Arc::clone(&log);
        std::thread::spawn(move || {
            lines
                .map_while(Result::ok)
                .for_each(|line| add(&copy, &line))
        });
        ServerProcess {
            child,
            address,
            log,
        }
    }

    /// Returns the address on which it listens.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Returns the port on which it listens.
    pub fn port(&self) -> &str {
        self.address.rsplit(':').next().unwrap_or_default()
    }

    /// Connects to it.
    pub fn connect(&self) -> Wire {
        Wire::connect(&self.address)
    }

    /// Returns its process number.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Returns what it has written to standard error.
    pub fn log(&self) -> String {
        self.log
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Kills it with SIGKILL.
    pub fn kill(mut self) {
        self.child.kill().expect("killed");
        self.child.wait().expect("ended");
        self.check_log();
    }

    /// Sends a signal and waits for the end; returns the exit code.
    pub fn signal(mut self, name: &str) -> Option<i32> {
        let number = self.child.id().to_string();
        let sent = Command::new("kill").args(["-s", name, &number]).status();
        assert!(sent.expect("kill exists").success());
        let started = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().expect("a child") {
                self.check_log();
                return status.code();
            }
            assert!(
                started.elapsed() < Duration::from_secs(60),
                "it does not end"
            );
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Fails if the server has panicked.
    pub fn check_log(&self) {
        let log = self.log();
        assert!(!log.contains("panicked"), "{log}");
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn add(log: &Mutex<String>, line: &str) {
    let mut log = log.lock().unwrap_or_else(PoisonError::into_inner);
    *log += line;
    *log += "\n";
}

/// Returns the processor time of a process, in seconds.
pub fn cpu_seconds(process: u32) -> f64 {
    let text = fs::read_to_string(format!("/proc/{process}/stat")).expect("a process");
    // The name, in parentheses, may contain spaces.
    let after = text.rsplit(')').next().unwrap_or_default();
    let fields: Vec<&str> = after.split_whitespace().collect();
    let ticks = |index: usize| fields[index].parse::<f64>().expect("a number");
    // User and system time, in hundredths of a second on every Linux.
    (ticks(11) + ticks(12)) / 100.0
}

/// Returns the memory of a process that is in RAM.
pub fn resident_bytes(process: u32) -> u64 {
    let text = fs::read_to_string(format!("/proc/{process}/status")).expect("a process");
    let line = text
        .lines()
        .find(|line| line.starts_with("VmRSS:"))
        .expect("a line");
    let kilobytes = line.split_whitespace().nth(1).expect("a number");
    kilobytes.parse::<u64>().expect("a number") << 10
}
