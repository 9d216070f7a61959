//! A run of `filter`, whatever remembers the keys.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use dedupstore::filter::Needs;
use dedupstore::lines::{ImportanceReader, KeyReader, KeyRule, TimeReader};
use dedupstore_view::{CreateCommand, LimitReached, clock_ahead_warning, drop_chance_warning};
use serde_json::json;

use crate::batch_hasher::LineReader;
use crate::block_source::{Step, Stop};
use crate::command::filter::{Arguments, StatsFormat};
use crate::drop_guard::{DropChance, DropGuard, FprLimit};
use crate::error::Failure;
use crate::input::Inputs;
use crate::line_filter::{FilterSettings, LineFilter, Print, RunCounts, SeenKeys, Status};
use crate::machine_clock;
use crate::metrics::Metrics;
use crate::missing_importance;
use crate::missing_keys;
use crate::missing_times::{self, MissingTimes, Treatment};
use crate::pipeline::Pipeline;
use crate::progress::Progress;
use crate::standard_error;
use crate::warc::{RecordFilter, RecordSettings, WarcKey};

/// A run of the command.
pub struct FilterRun<'a> {
    started: Instant,
    inputs: Inputs,
    arguments: &'a Arguments,
    /// The store's path, for messages.
    store: Option<String>,
    quiet: bool,
    counts: Arc<RunCounts>,
}

/// What was read of all inputs.
#[derive(Debug, Default)]
struct ReadInputs {
    /// The size of their text in bytes.
    bytes: u64,
    /// The number of inputs that could not be read.
    failed: u64,
    /// Why not everything was read.
    problem: Option<Failure>,
}

/// The counts of a finished run.
pub struct Outcome {
    before: Status,
    after: Status,
    bytes: u64,
    /// Whether the run stopped at a limit of the false positive rate.
    stopped_at_limit: bool,
    /// Why not all inputs were read.
    problem: Option<Failure>,
}

impl<'a> FilterRun<'a> {
    pub fn new(
        inputs: Inputs,
        arguments: &'a Arguments,
        store: Option<&Path>,
        quiet: bool,
    ) -> Self {
        FilterRun {
            started: Instant::now(),
            inputs,
            arguments,
            store: store.map(|path| path.display().to_string()),
            quiet,
            counts: Arc::default(),
        }
    }

    fn settings(&self, rule: &KeyRule, needs: Needs, limit: Option<FprLimit>) -> FilterSettings {
        let time = rule.time.clone().filter(|_| needs.tick);
        let importance = rule.importance.clone().filter(|_| needs.importance);
        FilterSettings {
            reader: LineReader {
                keys: KeyReader::of(rule.clone()),
                times: time.map(TimeReader::new),
                importance: importance.map(ImportanceReader::new),
            },
            print: match (self.arguments.annotate, self.arguments.repeated) {
                (true, _) => Print::All,
                (false, true) => Print::Repeats,
                (false, false) => Print::New,
            },
            line_end: rule.line_end.byte(),
            line_buffered: self.arguments.line_buffered,
            limit,
        }
    }

    /// Returns the limit of the false positive rate: that of the run, or else the store's.
    fn limit(&self, of_store: Option<f64>) -> Option<FprLimit> {
        let rate = self.arguments.max_fpr.or(of_store)?;
        Some(FprLimit {
            rate,
            is_of_store: self.arguments.max_fpr.is_none(),
        })
    }

    /// Completes the message about a limit; returns other failures unchanged.
    fn named(&self, failure: Failure, like_it: Option<&CreateCommand>) -> Failure {
        match failure {
            Failure::Limit(limit) => Failure::Limit(LimitReached {
                store: self.store.clone(),
                larger: larger(like_it),
                recorded: self.store.is_some() && !self.arguments.dry_run,
                ..limit
            }),
            failure => failure,
        }
    }

    /// Warns of the false positive rate, if that is due.
    fn warn(&self, guard: &mut DropGuard, like_it: Option<&CreateCommand>) {
        if let Some(DropChance { rate, lines }) = guard.take_warning()
            && !self.quiet
        {
            let store = self.store.as_deref();
            let larger = larger(like_it);
            let warning = drop_chance_warning(store, &larger, rate, lines, guard.has_limit());
            standard_error::message(warning);
        }
    }

    /// Reads all inputs and prints the lines asked for. `like_it` creates another store with the
    /// options of the present one, if there is one.
    pub fn filter<S: SeenKeys>(
        &self,
        seen: &mut S,
        rule: &KeyRule,
        like_it: Option<&CreateCommand>,
    ) -> Result<Outcome, Failure> {
        if let Some(key) = self.arguments.warc {
            return self.filter_records(seen, key, rule, like_it);
        }
        if self.inputs.is_terminal() && !self.quiet {
            standard_error::message("reading lines from the terminal; end with Ctrl-D");
        }
        let before = seen.status();
        let metrics = self.start_metrics(seen, before)?;
        let needs = seen.filter().needs();
        if needs.importance && rule.importance.is_none() && !self.quiet {
            standard_error::message(missing_importance::NO_OPTION);
        }
        let limit = self.limit(like_it.and_then(|it| it.max_fpr));
        let settings = self.settings(rule, needs, limit);
        let line_end = settings.line_end;
        let finished_at_close = metrics
            .as_ref()
            .is_some_and(|metrics| seen.finish_metrics_at_close(metrics));
        let line_filter = LineFilter::new(seen, settings, Arc::clone(&self.counts));
        let mut line_filter = line_filter.map_err(|failure| self.named(failure, like_it))?;
        let mut progress = Progress::new(&self.inputs, &self.counts, self.quiet);
        self.warn(line_filter.guard(), like_it);
        let handled = |line_filter: &mut LineFilter<'_, S>| {
            self.warn(line_filter.guard(), like_it);
            progress.show(|| line_filter.line_count());
            if let Some(metrics) = &metrics {
                metrics.publish(|| line_filter.status());
            }
        };
        let read = self.read_all(line_end, &mut line_filter, handled);
        drop(progress);
        // Also if the input failed: lines whose verdict is known are delivered.
        let flushed = match read {
            Err(Failure::ClosedPipe | Failure::Signal(_)) => Ok(()),
            _ => line_filter.flush(),
        };
        let (read, limit) = match read {
            Err(failure @ Failure::Limit(_)) => {
                let read = ReadInputs {
                    bytes: self.counts.consumed_bytes.load(Ordering::Relaxed),
                    problem: Some(self.named(failure, like_it)),
                    ..ReadInputs::default()
                };
                (Ok(read), true)
            }
            read => (read, false),
        };
        let after = match limit {
            true => line_filter.accepted_status(before),
            false => line_filter.status(),
        };
        let lines = line_filter.line_count();
        line_filter.guard().note(after.drop_chance, lines);
        self.warn(line_filter.guard(), like_it);
        if let Some(metrics) = &metrics
            && !finished_at_close
        {
            metrics.finish(Some(after));
        }
        let read = read?;
        flushed?;
        Ok(Outcome {
            before,
            after,
            bytes: read.bytes,
            stopped_at_limit: limit,
            problem: read.problem,
        })
    }

    /// Handles the lines of all inputs, also if some inputs cannot be read. If there are several,
    /// each problem is reported when it happens. Calls `handled` after each block.
    fn read_all<S: SeenKeys>(
        &self,
        line_end: u8,
        line_filter: &mut LineFilter<'_, S>,
        mut handled: impl FnMut(&mut LineFilter<'_, S>),
    ) -> Result<ReadInputs, Failure> {
        let mut pipeline = Pipeline::new(
            self.inputs.source(),
            self.inputs.line_buffer(line_end),
            line_filter.hasher().clone(),
            self.arguments.threads(),
        );
        let mut read = ReadInputs::default();
        while let Some(mut block) = pipeline.next()? {
            let consumed = &self.counts.consumed_bytes;
            consumed.store(block.consumed_bytes, Ordering::Relaxed);
            line_filter.block(&mut block)?;
            match std::mem::replace(&mut block.step, Step::End) {
                Step::Read { bytes, may_wait } => {
                    read.bytes += bytes;
                    if may_wait {
                        line_filter.flush()?;
                    }
                }
                Step::Failed(Stop::Run(failure)) => return Err(failure),
                Step::Failed(Stop::Input(failure)) => self.note_problem(&mut read, failure),
                Step::EndOfInput | Step::End => {}
            }
            handled(line_filter);
            pipeline.reuse(block);
        }
        Ok(read)
    }

    /// Reports why an input was not read, if there are several.
    fn note_problem(&self, read: &mut ReadInputs, failure: Failure) {
        read.failed += 1;
        read.problem = Some(match self.inputs.count() {
            1 => failure,
            total => {
                standard_error::failure(&failure);
                Failure::Inputs {
                    failed: read.failed,
                    total,
                }
            }
        });
    }

    /// Reads WARC records from all inputs and prints those asked for.
    fn filter_records<S: SeenKeys>(
        &self,
        seen: &mut S,
        key: WarcKey,
        rule: &KeyRule,
        like_it: Option<&CreateCommand>,
    ) -> Result<Outcome, Failure> {
        let before = seen.status();
        let settings = RecordSettings {
            key,
            reader: KeyReader::of(rule.clone()),
            print: match self.arguments.repeated {
                true => Print::Repeats,
                false => Print::New,
            },
            largest: self.inputs.max_line_bytes(),
            limit: self.limit(like_it.and_then(|it| it.max_fpr)),
        };
        let records = RecordFilter::new(seen, settings, Arc::clone(&self.counts));
        let mut records = records.map_err(|failure| self.named(failure, like_it))?;
        let mut progress = Progress::new(&self.inputs, &self.counts, self.quiet);
        self.warn(records.guard(), like_it);
        let consumed = Arc::default();
        let mut read = ReadInputs::default();
        for (name, input) in self.inputs.readers(&consumed) {
            let judge = || {
                let mut input = input?;
                while records.next(&name, &mut input)? {
                    let bytes = consumed.load(Ordering::Relaxed);
                    self.counts.consumed_bytes.store(bytes, Ordering::Relaxed);
                    self.warn(records.guard(), like_it);
                    progress.show(|| records.record_count());
                }
                Ok(())
            };
            match judge() {
                Ok(()) => {}
                Err(failure @ Failure::Read { .. }) => self.note_problem(&mut read, failure),
                Err(failure) => return Err(self.named(failure, like_it)),
            }
        }
        drop(progress);
        read.bytes = consumed.load(Ordering::Relaxed);
        records.flush()?;
        Ok(Outcome {
            before,
            after: records.status(),
            bytes: read.bytes,
            stopped_at_limit: false,
            problem: read.problem,
        })
    }

    fn start_metrics(
        &self,
        seen: &impl SeenKeys,
        before: Status,
    ) -> Result<Option<Arc<Metrics>>, Failure> {
        let Some(path) = &self.arguments.metrics else {
            return Ok(None);
        };
        let metrics = Metrics::start(
            path,
            self.arguments.metrics_every,
            before,
            Arc::clone(&self.counts),
            self.quiet,
            seen.look(),
        )?;
        Ok(Some(Arc::new(metrics)))
    }

    fn without_key(&self) -> u64 {
        self.counts.without_key.load(Ordering::Relaxed)
    }

    fn without_time(&self) -> u64 {
        self.counts.without_time.load(Ordering::Relaxed)
    }

    fn without_importance(&self) -> u64 {
        self.counts.without_importance.load(Ordering::Relaxed)
    }

    fn too_long(&self) -> u64 {
        self.counts.too_long.load(Ordering::Relaxed)
    }

    /// Returns the number of lines of this run.
    fn lines(&self, before: &Status, now: &Status) -> u64 {
        let judged = (now.new + now.seen).saturating_sub(before.new + before.seen);
        judged + self.without_key() + self.too_long()
    }

    /// Reports what is noteworthy, and the statistics if asked for. Fails if an input could not
    /// be read.
    pub fn report(&self, outcome: Outcome, rule: &KeyRule) -> Result<(), Failure> {
        const TREATMENT: &str = "treated as new, but not recorded";
        let lines = self.lines(&outcome.before, &outcome.after);
        let judged = lines - self.too_long();
        let missing = missing_keys::message(rule, self.without_key(), judged, TREATMENT);
        let too_long = self.inputs.too_long(self.too_long(), TREATMENT);
        let with_key = judged - self.without_key();
        let without_time = missing_times::message(
            rule,
            MissingTimes {
                count: self.without_time(),
                first: self.counts.first_without_time.load(Ordering::Relaxed),
            },
            with_key,
            Treatment::Counted,
        );
        let without_importance = missing_importance::message(
            rule,
            self.without_importance(),
            self.counts.first_without_importance.load(Ordering::Relaxed),
            with_key,
        );
        let after = &outcome.after;
        let ahead = missing_times::ahead(after.clock);
        let late = missing_times::late(after.clock, with_key);
        let clock = after.clock_unix_seconds.and_then(|seconds| {
            let name = self.store.as_deref()?;
            clock_ahead_warning(name, seconds, machine_clock::unix_seconds())
        });
        if !self.quiet {
            let messages = [
                missing,
                too_long,
                without_time,
                without_importance,
                ahead,
                late,
                clock,
            ];
            for message in messages.into_iter().flatten() {
                standard_error::message(message);
            }
        }
        if let Some(StatsFormat::Json) = self.arguments.stats {
            standard_error::line(self.statistics(&outcome, lines));
        }
        match outcome.problem {
            Some(problem) => Err(problem),
            None => Ok(()),
        }
    }

    /// Counts are of this run; load and error rates depend on all runs.
    fn statistics(&self, outcome: &Outcome, lines: u64) -> serde_json::Value {
        let Outcome { before, after, .. } = outcome;
        let seconds = self.started.elapsed().as_secs_f64();
        json!({
            "schema": 1,
            "lines": lines,
            "new": after.new - before.new,
            "seen": after.seen - before.seen,
            "without_key": self.without_key(),
            "too_long": self.too_long(),
            "lines_without_time": self.without_time(),
            "lines_without_importance": self.without_importance(),
            "late": after.clock.late,
            "ahead": after.clock.ahead,
            "bytes": outcome.bytes,
            "seconds": seconds,
            "lines_per_second": lines as f64 / seconds.max(1e-9),
            "load": after.load,
            "drop_chance": after.drop_chance,
            "stopped_at_limit": outcome.stopped_at_limit,
            "estimated_fpr": after.audited_fpr.map_or(after.drop_chance, |fpr| fpr.value),
            "estimated_fpr_interval": after.audited_fpr.map(|fpr| [fpr.low, fpr.high]),
            "estimated_fnr": after.audited_fnr.map(|fnr| fnr.value),
            "estimated_fnr_interval": after.audited_fnr.map(|fnr| [fnr.low, fnr.high]),
        })
    }
}

/// Returns the command that creates a larger store.
fn larger(like_it: Option<&CreateCommand>) -> String {
    let fallback = || CreateCommand::new("OTHER.dds");
    let like_it = like_it.cloned().unwrap_or_else(fallback);
    like_it.for_more_keys().to_string()
}
