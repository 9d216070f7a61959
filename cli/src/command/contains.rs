//! `dedupstore contains`: looks up keys without recording them.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;
use dedupstore::Verdict;
use dedupstore::lines::{KeyReader, Piece, TimeReader};
use dedupstore::store::{Directory, KeyLookup};
use dedupstore_view::CreateCommand;

use crate::cli::GlobalArguments;
use crate::error::Failure;
use crate::input::{Block, Inputs};
use crate::key_arguments::KeyArguments;
use crate::key_report::{KeyReport, Print, Words};
use crate::lookup_time::{LookupTime, LookupTimeArguments};
use crate::missing_keys;
use crate::missing_times::{self, MissingTimes, Treatment};
use crate::remote_address::address_of;
use crate::remote_lookup;
use crate::standard_error;

/// Look up keys without recording them
///
/// Prints each key or line, prefixed with `seen` or `new` and a tab. The exit code is 0 if all keys
/// were seen and 1 if not; with -q, nothing is printed. Works while another process writes to the
/// store, and then sees at least what was durable at the start.
///
/// A line of standard input is treated as `filter` treats it: its key is found by the options that
/// the store records. A line without a key is new. An argument is the key itself. Where keys are
/// JSON values, an argument such as 7 stands for the number and for the string.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// The store, or the address of one on a server, as in redis://127.0.0.1:6379/links
    #[arg(value_name = "STORE")]
    store: PathBuf,

    /// The keys to look up [default: the lines of standard input]
    #[arg(value_name = "KEY")]
    pub keys: Vec<OsString>,

    #[command(flatten)]
    pub time: LookupTimeArguments,

    #[command(flatten)]
    pub key: KeyArguments,

    /// Print one JSON object per key or line. Where `input` or `key` is not UTF-8, `input_bytes`
    /// or `key_bytes` has its bytes as hexadecimal digits
    #[arg(long)]
    pub json: bool,
}

const EXAMPLES: &str = "\
Examples:
  dedupstore contains -q links.dds https://harbour.example/ && echo seen
  dedupstore contains links.dds < links.txt | grep -c ^new
  dedupstore contains pages.dds < access.log   if pages.dds was created with --field 7
  dedupstore contains pages.dds --at +7d /index.html   will it be new again in a week?";

pub fn run(arguments: Arguments, global: &GlobalArguments) -> Result<(), Failure> {
    let inputs = Inputs::check(Vec::new())?;
    let inputs = match global.quiet {
        true => inputs.without_output(),
        false => inputs,
    };
    let path = &arguments.store;
    if let Some(address) = address_of(path).transpose()? {
        return remote_lookup::run(address, &inputs, &arguments, global);
    }
    let mut store = KeyLookup::open(path).map_err(Failure::store(path))?;
    let like_it = CreateCommand::like(store.parameters(), store.max_fpr());
    let rule = store.parameters().key_rule(&arguments.key.options());
    let rule = rule.map_err(Failure::agreement(path, &like_it))?;
    let time = LookupTime::of(&mut store, &rule, arguments.time.at)?;
    if let Some(warning) = time.warning()
        && !global.quiet
    {
        standard_error::message(warning);
    }
    let line_end = rule.line_end.byte();
    let print = Print::of(global.quiet, arguments.json, line_end);
    let mut lookup = Lookup {
        path: path.clone(),
        keys: KeyReader::of(rule.clone()),
        times: time.of_lines(&rule),
        store,
        report: KeyReport::new(print, WORDS)?,
        lines: 0,
        without_key: 0,
        without_time: MissingTimes::default(),
    };
    let looked_up = match &arguments.keys[..] {
        [] => {
            if inputs.is_terminal() && !global.quiet {
                standard_error::message("reading lines from the terminal; end with Ctrl-D");
            }
            let read = inputs.for_each_block(line_end, |block| match block {
                Block::Lines(mut lines) => lines.try_for_each(|line| lookup.line(line.content)),
                Block::Unterminated(line) => lookup.line(line.content),
                Block::LongLine(piece) => lookup.long_line(piece),
                Block::Pause => lookup.report.output.flush(),
            });
            read.and_then(|_| lookup.report.end_long_line())
        }
        keys => {
            let mut keys = keys.iter();
            keys.try_for_each(|key| lookup.written_key(key.as_encoded_bytes()))
        }
    };
    let flushed = lookup.report.output.flush();
    looked_up?;
    flushed?;
    let (missing, lines) = (lookup.without_key, lookup.lines);
    if let Some(message) = missing_keys::message(&rule, missing, lines, "reported as new")
        && !global.quiet
    {
        standard_error::message(message);
    }
    let with_key = lines - missing;
    let missing = missing_times::message(&rule, lookup.without_time, with_key, Treatment::LookedUp);
    if let Some(missing) = missing
        && !global.quiet
    {
        standard_error::message(missing);
    }
    match lookup.report.all_found() {
        true => Ok(()),
        false => Err(Failure::AnswerIsNo),
    }
}

pub const WORDS: Words = Words {
    name: "verdict",
    found: "seen",
    not_found: "new",
};

struct Lookup {
    /// The store's path, for error messages.
    path: PathBuf,
    store: KeyLookup<Directory>,
    keys: KeyReader,
    /// Present if lines have their own time.
    times: Option<TimeReader>,
    report: KeyReport,
    lines: u64,
    without_key: u64,
    /// The lines with a key and without a readable time, if lines have their own.
    without_time: MissingTimes,
}

impl Lookup {
    /// Looks up the key of a line.
    fn line(&mut self, line: &[u8]) -> Result<(), Failure> {
        self.lines += 1;
        match self.keys.key(line) {
            Some(key) => {
                let seconds = self.times.as_mut().and_then(|times| times.tick(line));
                if self.times.is_some() && seconds.is_none() {
                    self.without_time.add(self.lines);
                }
                let found = match seconds {
                    Some(seconds) => self.store.contains_at(key, seconds.into()),
                    None => self.store.contains(key),
                };
                let verdict = found.map_err(Failure::store(&self.path))?;
                if self.report.shows_keys() {
                    let key = key.to_vec();
                    return self.report(line, Some(&key), verdict);
                }
                self.report(line, None, verdict)
            }
            None => {
                self.without_key += 1;
                self.report(line, None, Verdict::New)
            }
        }
    }

    /// Looks up a key that is an argument.
    fn written_key(&mut self, written: &[u8]) -> Result<(), Failure> {
        let mut key = self.keys.written_key(written).to_vec();
        let store = &mut self.store;
        let mut contains = |key: &[u8]| store.contains(key).map_err(Failure::store(&self.path));
        let mut verdict = contains(&key)?;
        if verdict.is_new()
            && let Some(value) = self.keys.written_json_value(written)
            && contains(value)?.is_seen()
        {
            verdict = Verdict::Seen;
            key = value.to_vec();
        }
        self.report(written, Some(&key), verdict)
    }

    /// Prints a verdict. `key` is what was looked up; only JSON shows it.
    fn report(
        &mut self,
        input: &[u8],
        key: Option<&[u8]>,
        verdict: Verdict,
    ) -> Result<(), Failure> {
        self.report
            .report(&self.keys, input, key, verdict.is_seen())?;
        self.stop_early()
    }

    /// Handles a piece of a line that is too long for `filter` to record.
    fn long_line(&mut self, piece: Piece<'_>) -> Result<(), Failure> {
        self.report.long_line(piece)?;
        self.stop_early()
    }

    /// Ends the command if nothing is printed and the answer cannot change any more, as grep does.
    fn stop_early(&self) -> Result<(), Failure> {
        match self.report.is_silent() && !self.report.all_found() {
            true => Err(Failure::AnswerIsNo),
            false => Ok(()),
        }
    }
}
