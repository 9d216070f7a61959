//! `filter --warc`: passes on the records of captures whose key is new.

mod capture;
mod record;

use std::io::BufRead;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use clap::ValueEnum;
use dedupstore::filter::Registers;
use dedupstore::lines::KeyReader;
use dedupstore::{Observation, Verdict};

use self::capture::Capture;
use self::record::{Header, pass_content, read_header};
use crate::closed_pipe;
use crate::drop_guard::{DropGuard, FprLimit};
use crate::error::Failure;
use crate::line_filter::{Print, RunCounts, SeenKeys, Status};
use crate::output::Output;

/// Which part of a WARC record is its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum WarcKey {
    /// The target URI
    Uri,
    /// The digest of the payload
    Digest,
}

/// How records are judged and printed.
pub struct RecordSettings {
    pub key: WarcKey,
    /// Normalizes target URIs.
    pub reader: KeyReader,
    pub print: Print,
    /// A larger record is passed on without being judged.
    pub largest: u64,
    pub limit: Option<FprLimit>,
}

/// Decides about records and prints those asked for.
pub struct RecordFilter<'a, S> {
    seen: &'a mut S,
    settings: RecordSettings,
    guard: DropGuard,
    output: Output,
    counts: Arc<RunCounts>,
    capture: Capture,
    header: Header,
    record: Vec<u8>,
    /// The number of records handled so far.
    records: u64,
}

impl<'a, S: SeenKeys> RecordFilter<'a, S> {
    pub fn new(
        seen: &'a mut S,
        settings: RecordSettings,
        counts: Arc<RunCounts>,
    ) -> Result<Self, Failure> {
        let drop_chance = seen.status().drop_chance;
        Ok(RecordFilter {
            guard: DropGuard::new(settings.limit, seen.filter(), drop_chance)?,
            seen,
            settings,
            output: Output::standard()?,
            counts,
            capture: Capture::default(),
            header: Header::default(),
            record: Vec::new(),
            records: 0,
        })
    }

    /// Handles the next record of an input; returns false at its end.
    pub fn next(&mut self, name: &str, input: &mut impl BufRead) -> Result<bool, Failure> {
        let failed = |error| Failure::reading(name, error);
        if !read_header(input, &mut self.header).map_err(failed)? {
            self.end_of_input()?;
            return Ok(false);
        }
        if closed_pipe::stdout_is_closed() {
            return Err(Failure::ClosedPipe);
        }
        self.records += 1;
        if self.header.content_bytes > self.settings.largest {
            self.end_of_input()?;
            self.counts.too_long.fetch_add(1, Ordering::Relaxed);
            let wanted = self.wanted(Verdict::New);
            self.put_if(wanted, Part::Header)?;
            let output = &mut self.output;
            pass_content(input, &self.header, failed, |part| match wanted {
                true => output.put(part),
                false => Ok(()),
            })?;
            return Ok(true);
        }
        self.record.clear();
        self.record.extend_from_slice(&self.header.bytes);
        let record = &mut self.record;
        pass_content(input, &self.header, failed, |part| {
            record.extend_from_slice(part);
            Ok(())
        })?;
        self.judge()?;
        Ok(true)
    }

    /// Decides about the record that was read.
    fn judge(&mut self) -> Result<(), Failure> {
        let (target, kind) = (self.header.target(), self.header.record_type());
        if !self.capture.has(target, kind) {
            let held = self.capture.begin(target);
            if !held.is_empty() && self.settings.print != Print::Repeats {
                self.output.put(&held)?;
            }
        }
        self.capture.add(kind);
        if let Some(verdict) = self.capture.verdict {
            return self.put_if(self.wanted(verdict), Part::Record);
        }
        let key = match self.settings.key {
            WarcKey::Uri => target.and_then(|target| self.settings.reader.key(target)),
            // That of a request says nothing about the page.
            WarcKey::Digest if kind == b"request" => None,
            WarcKey::Digest => self.header.field("WARC-Payload-Digest"),
        };
        let Some(key) = key else {
            // The record with the key may follow.
            if target.is_some() && self.capture.held.len() + self.record.len() <= LARGEST_HELD {
                self.capture.held.extend_from_slice(&self.record);
                return Ok(());
            }
            self.counts.without_key.fetch_add(1, Ordering::Relaxed);
            return self.put_if(self.wanted(Verdict::New), Part::Record);
        };
        let observation = Observation::from(self.seen.hasher().fingerprint(key));
        let held = std::mem::take(&mut self.capture.held);
        let (guard, output, record) = (&mut self.guard, &mut self.output, &self.record);
        let (print, number) = (self.settings.print, self.records);
        let deliver = |verdicts: &[Verdict], registers: &Registers| {
            guard.check(registers, number - 1..number)?;
            let verdict = verdicts.first().copied().unwrap_or(Verdict::New);
            if is_wanted(print, verdict) {
                output.put(&held)?;
                output.put(record)?;
            }
            if S::DELIVERS_BEFORE_RECORDING {
                output.flush()?;
            }
            Ok(verdict)
        };
        let mut verdicts = [Verdict::New];
        let verdict = self
            .seen
            .observe_then(&[observation], &mut verdicts, deliver)?;
        self.capture.verdict = Some(verdict);
        Ok(())
    }

    /// Passes on records that are held for one that does not come.
    fn end_of_input(&mut self) -> Result<(), Failure> {
        let held = self.capture.begin(None);
        match self.settings.print {
            Print::Repeats => Ok(()),
            _ => self.output.put(&held),
        }
    }

    fn wanted(&self, verdict: Verdict) -> bool {
        is_wanted(self.settings.print, verdict)
    }

    fn put_if(&mut self, wanted: bool, part: Part) -> Result<(), Failure> {
        match (wanted, part) {
            (false, _) => Ok(()),
            (true, Part::Header) => self.output.put(&self.header.bytes),
            (true, Part::Record) => self.output.put(&self.record),
        }
    }

    /// Writes what is buffered.
    pub fn flush(&mut self) -> Result<(), Failure> {
        self.output.flush()
    }

    /// Returns the number of records handled so far.
    pub fn record_count(&self) -> u64 {
        self.records
    }

    /// Returns counts, load and error rates.
    pub fn status(&mut self) -> Status {
        self.seen.status()
    }

    /// Returns the guard of the false positive rate.
    pub fn guard(&mut self) -> &mut DropGuard {
        &mut self.guard
    }
}

/// What to print of the present record.
enum Part {
    Header,
    Record,
}

/// Records without a key are held for the one that has it up to this size.
const LARGEST_HELD: usize = 1 << 20;

fn is_wanted(print: Print, verdict: Verdict) -> bool {
    match print {
        Print::New => verdict == Verdict::New,
        Print::Repeats => verdict == Verdict::Seen,
        Print::All => true,
    }
}
