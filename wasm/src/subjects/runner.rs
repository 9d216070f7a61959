//! Passes the lines of a log to a subject.

use dedupstore::lab::Sampling;
use tsify::Ts;
use wasm_bindgen::JsError;

use super::growth::Growth;
use super::slices::Slices;
use super::trees::Trees;
use super::windows::Windows;
use super::{Subject, SubjectResult};
use crate::js_error;
use crate::key_choice::KeyChoice;
use crate::line_feed::{KeyedLine, LineFeed};

/// A subject, and the log that it reads.
pub struct Runner {
    lines: LineFeed,
    subject: Running,
    count: u64,
    has_started: bool,
}

enum Running {
    Windows(Box<Windows>),
    Slices(Box<Slices>),
    Trees(Box<Trees>),
    Growth(Box<Growth>),
}

impl Runner {
    /// The memory is that over the whole log. The error is a sentence for the page's user.
    pub fn new(
        key: &KeyChoice,
        seed: u64,
        part: Sampling,
        memory_bits: u64,
        subject: &Ts<Subject>,
    ) -> Result<Self, JsError> {
        let bits = part.memory_bits(memory_bits);
        let subject = Running::new(&subject.to_rust()?, seed, part, bits).map_err(js_error)?;
        Ok(Runner {
            lines: LineFeed::new(&key.without_importance(), seed, part),
            subject,
            count: 0,
            has_started: false,
        })
    }

    pub fn feed(&mut self, chunk: &[u8]) -> Result<(), String> {
        if let (Running::Windows(windows), false) = (&mut self.subject, self.has_started) {
            windows.recognize_times_in(chunk);
        }
        self.has_started = true;
        let (subject, count) = (&mut self.subject, &mut self.count);
        let fed = self.lines.feed(chunk, |keyed| {
            *count += 1;
            subject.observe(&keyed);
        });
        fed.map_err(|error| error.to_string())
    }

    pub fn finish(&mut self) {
        let (subject, count) = (&mut self.subject, &mut self.count);
        self.lines.finish(|keyed| {
            *count += 1;
            subject.observe(&keyed);
        });
        self.subject.finish();
    }

    pub fn is_complete(&self) -> bool {
        self.lines.is_complete()
    }

    pub fn count(&self) -> u64 {
        self.count
    }

    pub fn lines_without_key(&self) -> u64 {
        self.lines.lines_without_key()
    }

    pub fn results(&self) -> Result<SubjectResult, String> {
        Ok(match &self.subject {
            Running::Windows(windows) => SubjectResult::Windows(windows.results()?),
            Running::Slices(slices) => SubjectResult::Slices(slices.results()),
            Running::Trees(trees) => SubjectResult::Trees(trees.results()),
            Running::Growth(growth) => SubjectResult::Growth(growth.results()),
        })
    }
}

impl Running {
    fn new(subject: &Subject, seed: u64, part: Sampling, bits: u64) -> Result<Self, String> {
        Ok(match subject {
            Subject::Windows {
                span_seconds,
                now_seconds,
            } => {
                let (span, now) = (*span_seconds as u64, *now_seconds as i64);
                Running::Windows(Box::new(Windows::new(span, now, seed, bits)?))
            }
            Subject::Slices {
                slices,
                k,
                failed,
                rule,
            } => {
                let failed = *failed as u64;
                Running::Slices(Box::new(Slices::new(slices, *k, failed, rule, seed, bits)?))
            }
            Subject::Trees { trees, producer } => {
                let producer = producer.as_ref();
                Running::Trees(Box::new(Trees::new(trees, producer, seed, bits)?))
            }
            Subject::Growth { fpr, reserve } => {
                let one_key_in = part.one_key_in();
                Running::Growth(Box::new(Growth::new(
                    *fpr, *reserve, seed, bits, one_key_in,
                )?))
            }
        })
    }

    fn observe(&mut self, keyed: &KeyedLine<'_>) {
        match self {
            Running::Windows(windows) => windows.observe(keyed),
            Running::Slices(slices) => slices.observe(keyed),
            Running::Trees(trees) => trees.observe(keyed),
            Running::Growth(growth) => growth.observe(keyed),
        }
    }

    fn finish(&mut self) {
        match self {
            Running::Windows(windows) => windows.finish(),
            Running::Slices(slices) => slices.finish(),
            Running::Trees(_) => {}
            Running::Growth(growth) => growth.finish(),
        }
    }
}
