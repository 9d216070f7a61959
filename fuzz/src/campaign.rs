//! Many executions of one target with changed inputs.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use crate::corpus;
#[cfg(feature = "coverage")]
use crate::coverage::Coverage;
use crate::execution::{Failure, execute, process_time};
use crate::mutation::Mutator;
use crate::target::Target;

/// An execution that has not ended when the process has worked for this time never will.
const HANG: Duration = Duration::from_secs(60);
/// How many executions are between two looks at the clock.
const EXECUTIONS_PER_LOOK: u64 = 64;

/// After so many kinds of failures, a campaign stops.
const MAX_FAILURES: usize = 20;

/// How long to run a target.
#[derive(Clone, Copy, Debug)]
pub struct Campaign {
    /// The seed of the changes.
    pub seed: u64,
    /// The most executions.
    pub executions: u64,
    /// The longest time.
    pub time: Duration,
    /// Whether to keep inputs that reach new code, in a build that can tell.
    pub guided: bool,
}

/// What a campaign did.
#[derive(Debug)]
pub struct Report {
    /// The number of executions.
    pub executions: u64,
    /// How long they took.
    pub time: Duration,
    /// The inputs at the end.
    pub corpus: Vec<Vec<u8>>,
    /// The most memory that an execution held at once.
    pub peak_bytes: usize,
    /// The edges of the control flow that the kept corpus reached, and that all executions reached, if
    /// that is known.
    pub edges: Option<(usize, usize)>,
    /// The inputs that failed, and why: one per kind of failure. The campaign goes on without them.
    pub failed: Vec<(Vec<u8>, Failure)>,
}

impl Campaign {
    /// Runs every input of the corpus, then changed ones.
    pub fn run(&self, target: &Target) -> io::Result<Report> {
        let corpus = corpus::load(target)?;
        let mut report = Report {
            executions: 0,
            time: Duration::ZERO,
            corpus: Vec::new(),
            peak_bytes: 0,
            edges: None,
            failed: Vec::new(),
        };
        let started = Instant::now();
        let watched = Watched::start(target.name);
        let mut feedback = Feedback::new(self.guided);
        for input in corpus {
            run_one(target, &input, &watched, &mut report);
            feedback.has_new_code();
            report.corpus.push(input);
        }
        let edges_of_corpus = feedback.edges();
        let mut mutator = Mutator::new(self.seed, target.dictionary, target.max_bytes);
        let mut input = Vec::new();
        while report.failed.len() < MAX_FAILURES && report.executions < self.executions {
            let is_look = report.executions.is_multiple_of(EXECUTIONS_PER_LOOK);
            if is_look && started.elapsed() >= self.time {
                break;
            }
            let inputs = report.corpus.len();
            let base = match mutator.below(4) {
                // What was found last is explored more.
                0 => inputs - 1 - mutator.below(inputs.min(16)),
                _ => mutator.below(inputs),
            };
            input.clear();
            input.extend_from_slice(&report.corpus[base]);
            let other = mutator.below(inputs);
            mutator.mutate(&mut input, &report.corpus[other]);
            run_one(target, &input, &watched, &mut report);
            if feedback.has_new_code() {
                report.corpus.push(input.clone());
            }
        }
        report.time = started.elapsed();
        report.edges = edges_of_corpus.zip(feedback.edges());
        Ok(report)
    }

    /// Returns few of the inputs that together reach the same code, the shorter ones first. Without
    /// coverage, returns all of them.
    pub fn smallest_cover(target: &Target, mut inputs: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
        inputs.sort_by_key(Vec::len);
        inputs.dedup();
        let mut feedback = Feedback::new(true);
        if !feedback.is_known() {
            return inputs;
        }
        let seeds = (target.seeds)();
        for seed in &seeds {
            (target.run)(seed);
            feedback.has_new_code();
        }
        inputs.retain(|input| {
            (target.run)(input);
            feedback.has_new_code() && !seeds.contains(input)
        });
        inputs
    }
}

fn run_one(target: &Target, input: &[u8], watched: &Watched, report: &mut Report) {
    watched.begin(input);
    report.executions += 1;
    match execute(target, input) {
        Ok(measured) => report.peak_bytes = report.peak_bytes.max(measured.peak_bytes),
        Err(failure) => {
            let mut known = report.failed.iter();
            if !known.any(|(_, other)| other.is_same_kind(&failure)) {
                report.failed.push((input.to_vec(), failure));
            }
        }
    }
}

/// Tells whether an execution reached new code.
struct Feedback {
    #[cfg(feature = "coverage")]
    coverage: Option<Coverage>,
}

impl Feedback {
    #[cfg_attr(not(feature = "coverage"), allow(unused_variables))]
    fn new(guided: bool) -> Self {
        #[cfg(feature = "coverage")]
        return Feedback {
            coverage: guided.then(Coverage::new),
        };
        #[cfg(not(feature = "coverage"))]
        Feedback {}
    }

    fn is_known(&self) -> bool {
        self.edges().is_some()
    }

    /// Returns whether the execution before reached new code.
    fn has_new_code(&mut self) -> bool {
        #[cfg(feature = "coverage")]
        return self.coverage.as_mut().is_some_and(Coverage::record);
        #[cfg(not(feature = "coverage"))]
        false
    }

    fn edges(&self) -> Option<usize> {
        #[cfg(feature = "coverage")]
        return self.coverage.as_ref().map(Coverage::edges);
        #[cfg(not(feature = "coverage"))]
        None
    }
}

/// Ends the process if an execution does not end, and prints its input.
struct Watched {
    current: Arc<Current>,
}

struct Current {
    target: &'static str,
    input: Mutex<Vec<u8>>,
    executions: AtomicU64,
}

impl Watched {
    fn start(target: &'static str) -> Self {
        let current = Arc::new(Current {
            target,
            input: Mutex::default(),
            executions: AtomicU64::new(0),
        });
        let weak = Arc::downgrade(&current);
        std::thread::spawn(move || watch(&weak));
        Watched { current }
    }

    fn begin(&self, input: &[u8]) {
        let mut held = lock(&self.current.input);
        held.clear();
        held.extend_from_slice(input);
        self.current.executions.fetch_add(1, Ordering::Relaxed);
    }
}

fn watch(current: &Weak<Current>) {
    let (mut executions, mut since) = (0, process_time());
    while let Some(current) = current.upgrade() {
        let now = current.executions.load(Ordering::Relaxed);
        if now != executions {
            (executions, since) = (now, process_time());
        } else if now > 0 && process_time().saturating_sub(since) > HANG {
            let input = lock(&current.input).escape_ascii().to_string();
            eprintln!("{}: an execution does not end:\n{input}", current.target);
            std::process::exit(3);
        }
        drop(current);
        std::thread::sleep(Duration::from_millis(200));
    }
}

fn lock(input: &Mutex<Vec<u8>>) -> std::sync::MutexGuard<'_, Vec<u8>> {
    input.lock().unwrap_or_else(PoisonError::into_inner)
}
