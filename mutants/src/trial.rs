//! Runs the tests with one mutant on.

use std::fs;
use std::io::{self, BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use crate::copied_tree::TestPrograms;

/// Tests of the text of the sources, which the switches change, and of files that mutants do not touch.
const SKIPPED: [&str; 8] = [
    "tidy::",
    "documents::",
    "layers::",
    "dependencies::",
    "examples::",
    "filter_pages::",
    "papers_document::",
    "errata::",
];
/// The longest time of one stage on any machine. A mutant that waits forever takes no processor time.
const LONGEST: Duration = Duration::from_secs(900);

/// How a trial ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// A test failed, or the program ended in another way than by success.
    Killed(String),
    /// All tests passed.
    Survived,
}

/// The stages of a trial: the tests that are most likely to fail come first.
pub struct Trial<'a> {
    pub programs: &'a TestPrograms,
    /// The processor time that each stage may take.
    pub limits: [Duration; 3],
}

/// The names of the stages.
pub const STAGES: [&str; 3] = ["unit tests of the module", "unit tests", "engine tests"];

impl Trial<'_> {
    /// Runs the stages with one mutant, or without any. `file` is where the mutant is.
    pub fn run(&self, number: Option<usize>, file: &str) -> io::Result<Outcome> {
        for stage in 0..STAGES.len() {
            if let Outcome::Killed(by) = self.run_stage(stage, number, file)? {
                return Ok(Outcome::Killed(by));
            }
        }
        Ok(Outcome::Survived)
    }

    /// Runs one stage.
    pub fn run_stage(
        &self,
        stage: usize,
        number: Option<usize>,
        file: &str,
    ) -> io::Result<Outcome> {
        let (program, filters): (&Path, Vec<String>) = match stage {
            0 => (&self.programs.unit, vec![module_of(file)]),
            1 => (&self.programs.unit, Vec::new()),
            _ => {
                let skipped = SKIPPED
                    .iter()
                    .flat_map(|it| ["--skip".to_owned(), (*it).to_owned()]);
                (&self.programs.engine, skipped.collect())
            }
        };
        run_tests(program, &filters, number, self.limits[stage])
    }
}

/// Returns the path of the module of a file: `filter::bloom::`.
fn module_of(file: &str) -> String {
    let path = file
        .trim_start_matches("engine/src/")
        .trim_end_matches(".rs");
    path.trim_end_matches("/mod").replace('/', "::") + "::"
}

fn run_tests(
    program: &Path,
    filters: &[String],
    number: Option<usize>,
    limit: Duration,
) -> io::Result<Outcome> {
    // Processor time, not time: the machine may be busy.
    let script = format!("ulimit -t {}; exec \"$@\"", limit.as_secs().max(1));
    let mut command = Command::new("sh");
    command
        .args(["-c", &script, "sh"])
        .arg(program)
        .args(filters);
    command.env(
        "MUTANT",
        number.map_or(String::new(), |number| number.to_string()),
    );
    command.env("PROPTEST_FAILURE_PERSISTENCE", "off");
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let directory = program
        .ancestors()
        .find(|it| it.join("mutants/tests").exists());
    if let Some(directory) = directory {
        command.current_dir(directory.join("mutants/tests"));
    }
    let mut child = command.spawn()?;
    let output = child.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?;
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            if let Some(name) = line
                .strip_prefix("test ")
                .and_then(|it| it.strip_suffix(" ... FAILED"))
            {
                // The receiver has ended if a test failed before.
                let _ = sender.send(name.to_owned());
            }
        }
    });
    let started = Instant::now();
    // The sender ends with the output.
    let failed = receiver.recv_timeout(LONGEST);
    if failed.is_ok() || started.elapsed() >= LONGEST {
        // It may have ended by itself.
        let _ = child.kill();
    }
    let status = child.wait()?;
    Ok(match failed {
        Ok(test) => Outcome::Killed(test),
        Err(_) if status.success() => Outcome::Survived,
        Err(_) => Outcome::Killed(format!("{status}")),
    })
}

/// Returns the processor time of all programs that this one has run and waited for.
pub fn time_of_children() -> Duration {
    let text = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // After the name in parentheses; the times are in hundredths of a second.
    let fields = text.rsplit(')').next().unwrap_or("").split_whitespace();
    let times = fields
        .skip(13)
        .take(2)
        .filter_map(|it| it.parse::<u64>().ok());
    Duration::from_millis(10 * times.sum::<u64>())
}
