//! `dedupstore forget`: takes keys out of a store.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;
use dedupstore::filter::filters_that_forget;
use dedupstore::lines::{KeyReader, Piece};
use dedupstore::store::{OpenOptions, Store, StoreError};
use dedupstore::{Fingerprint, Verdict};

use crate::cli::GlobalArguments;
use crate::error::Failure;
use crate::input::{Block, Inputs};
use crate::key_arguments::KeyArguments;
use crate::key_report::{KeyReport, Print, Words};
use crate::local_path;
use crate::machine_clock::{TimeSource, unix_seconds};
use crate::missing_keys;
use crate::standard_error;
use crate::wait::Wait;

/// Take keys out of a store, so that they are new when they occur next
///
/// Prints each key or line, prefixed with `forgotten` or, if it was not there, with `new`, and a
/// tab. The exit code is 0 if all keys were there and 1 if not; with -q, nothing is printed. When
/// the command ends, what it took out is durable.
///
/// Take out only keys that were reported as new. A filter stores fingerprints or counters, not
/// keys: a key that shares its fingerprint with the one taken out goes with it and is new again,
/// too. How often two keys share one is the filter's false positive rate.
///
/// A line of standard input is treated as `filter` treats it: its key is found by the options that
/// the store records. An argument is the key itself. Where keys are JSON values, an argument such
/// as 7 stands for the number and for the string.
#[derive(Debug, Args)]
#[command(after_help = examples())]
pub struct Arguments {
    /// The store
    #[arg(value_name = "STORE")]
    store: PathBuf,

    /// The keys to take out [default: the lines of standard input]
    #[arg(value_name = "KEY")]
    keys: Vec<OsString>,

    #[command(flatten)]
    key: KeyArguments,

    #[command(flatten)]
    wait: Wait,

    /// Print one JSON object per key or line. Where `input` or `key` is not UTF-8, `input_bytes`
    /// or `key_bytes` has its bytes as hexadecimal digits
    #[arg(long)]
    json: bool,
}

fn examples() -> String {
    format!(
        "Filters that can take a key out: {}\n\n\
         Examples:\n  \
         dedupstore create links.dds --filter counting\n  \
         dedupstore forget links.dds https://harbour.example/\n  \
         dedupstore forget -q links.dds < failed.txt",
        filters_that_forget().join(", ")
    )
}

const WORDS: Words = Words {
    name: "result",
    found: "forgotten",
    not_found: "new",
};

/// The number of keys that become one frame of the log.
const BATCH: usize = 1024;

pub fn run(arguments: Arguments, global: &GlobalArguments) -> Result<(), Failure> {
    local_path::check_store("forget", &arguments.store)?;
    let inputs = Inputs::check(Vec::new())?;
    let inputs = match global.quiet {
        true => inputs.without_output(),
        false => inputs,
    };
    let path = &arguments.store;
    let open = || {
        let store = OpenOptions::new().open(path)?;
        store.check_can_forget()?;
        Ok::<_, StoreError>(store)
    };
    let mut store = arguments.wait.until_free(path, global.quiet, open)?;
    let rule = store.parameters().key_rule(&arguments.key.options());
    let rule = rule.map_err(Failure::store(path))?;
    if TimeSource::of(&rule) == TimeSource::Machine {
        store.advance_clock(unix_seconds());
    }
    let line_end = rule.line_end.byte();
    let print = Print::of(global.quiet, arguments.json, line_end);
    let mut forgetting = Forgetting {
        path: path.clone(),
        keys: KeyReader::of(rule.clone()),
        store,
        report: KeyReport::new(print, WORDS)?,
        waiting: Vec::new(),
        lines: 0,
        without_key: 0,
    };
    let done = match &arguments.keys[..] {
        [] => {
            if inputs.is_terminal() && !global.quiet {
                standard_error::message("reading lines from the terminal; end with Ctrl-D");
            }
            let read = inputs.for_each_block(line_end, |block| match block {
                Block::Lines(mut lines) => lines.try_for_each(|line| forgetting.line(line.content)),
                Block::Unterminated(line) => forgetting.line(line.content),
                Block::LongLine(piece) => forgetting.long_line(piece),
                Block::Pause => forgetting.pause(),
            });
            read.and_then(|_| forgetting.report.end_long_line())
        }
        keys => keys
            .iter()
            .try_for_each(|key| forgetting.written_key(key.as_encoded_bytes())),
    };
    let done = done.and_then(|()| forgetting.pause());
    let Forgetting {
        store,
        report,
        lines,
        without_key,
        ..
    } = forgetting;
    let closed = store.close().map_err(Failure::store(path));
    done?;
    closed?;
    if let Some(missing) = missing_keys::message(&rule, without_key, lines, "skipped")
        && !global.quiet
    {
        standard_error::message(missing);
    }
    match report.all_found() {
        true => Ok(()),
        false => Err(Failure::AnswerIsNo),
    }
}

/// A line whose key is about to be taken out.
struct WaitingLine {
    input: Vec<u8>,
    /// None if the line has no key.
    key: Option<(Fingerprint, Vec<u8>)>,
}

struct Forgetting {
    /// The store's path, for error messages.
    path: PathBuf,
    store: Store,
    keys: KeyReader,
    report: KeyReport,
    waiting: Vec<WaitingLine>,
    lines: u64,
    without_key: u64,
}

impl Forgetting {
    fn line(&mut self, line: &[u8]) -> Result<(), Failure> {
        self.lines += 1;
        let hasher = self.store.hasher();
        let key = self.keys.key(line);
        let key = key.map(|key| (hasher.fingerprint(key), key.to_vec()));
        self.without_key += u64::from(key.is_none());
        self.waiting.push(WaitingLine {
            input: line.to_vec(),
            key,
        });
        match self.waiting.len() >= BATCH {
            true => self.forget_waiting(),
            false => Ok(()),
        }
    }

    /// Takes out the keys of the lines that wait, and reports them in order.
    fn forget_waiting(&mut self) -> Result<(), Failure> {
        let waiting = std::mem::take(&mut self.waiting);
        let known = waiting.iter().filter_map(|line| line.key.as_ref());
        let keys: Vec<Fingerprint> = known.map(|(fingerprint, _)| *fingerprint).collect();
        let mut verdicts = vec![Verdict::New; keys.len()];
        let forgotten = self.store.forget_batch(&keys, &mut verdicts);
        forgotten.map_err(Failure::store(&self.path))?;
        let mut verdicts = verdicts.into_iter();
        for WaitingLine { input, key } in &waiting {
            let (key, verdict) = match key {
                Some((_, key)) => (Some(&key[..]), verdicts.next()),
                None => (None, None),
            };
            let found = verdict.is_some_and(Verdict::is_seen);
            self.report.report(&self.keys, input, key, found)?;
        }
        Ok(())
    }

    /// Takes out a key that is an argument.
    fn written_key(&mut self, written: &[u8]) -> Result<(), Failure> {
        let mut key = self.keys.written_key(written).to_vec();
        let store = &mut self.store;
        let mut forget = |key: &[u8]| store.forget(key).map_err(Failure::store(&self.path));
        let mut verdict = forget(&key)?;
        if verdict.is_new()
            && let Some(value) = self.keys.written_json_value(written)
            && forget(value)?.is_seen()
        {
            verdict = Verdict::Seen;
            key = value.to_vec();
        }
        self.report
            .report(&self.keys, written, Some(&key), verdict.is_seen())
    }

    fn long_line(&mut self, piece: Piece<'_>) -> Result<(), Failure> {
        self.forget_waiting()?;
        self.report.long_line(piece)
    }

    fn pause(&mut self) -> Result<(), Failure> {
        self.forget_waiting()?;
        self.report.output.flush()
    }
}
