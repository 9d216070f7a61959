//! Filters with a window over a log with times.

use dedupstore::lab::{LineTime, LogTimes, NoClock, RunSummary, Simulation, Truth};
use dedupstore::lines::LineClock;
use dedupstore::{FilterSpec, Observation, registry};
use dedupstore_view::span;

use super::forgetting::Forgetting;
use super::results::{WindowOutcome, WindowsResult};
use crate::filter_name::short_name;
use crate::line_feed::KeyedLine;
use crate::setting_error::create_error;

/// How far times may be ahead of the clock, as in the command line.
const TOLERANCE_SECONDS: i64 = 86_400;

/// All filters with a window, and what windows forget.
pub struct Windows {
    simulation: Simulation,
    forgetting: Forgetting,
    span_seconds: u64,
    clock: Option<LineClock>,
    times: LogTimes,
    without_time: u64,
}

impl Windows {
    /// `now` is in seconds since 1970.
    pub fn new(span_seconds: u64, now: i64, seed: u64, memory_bits: u64) -> Result<Self, String> {
        if span_seconds == 0 {
            return Err("The window must be at least a second long.".to_owned());
        }
        let mut simulation = Simulation::new(seed, Truth::for_fingerprints());
        for filter in filters_with_window(span_seconds)? {
            let added = simulation.add_filter(&filter, memory_bits);
            added.map_err(|error| create_error(&error))?;
        }
        Ok(Windows {
            simulation,
            forgetting: Forgetting::with(span_seconds),
            span_seconds,
            clock: None,
            times: LogTimes::until(now.saturating_add(TOLERANCE_SECONDS)),
            without_time: 0,
        })
    }

    /// Finds out where the times of lines are from the first lines of the log.
    pub fn recognize_times_in(&mut self, head: &[u8]) {
        self.clock = LineClock::of(head);
    }

    pub fn observe(&mut self, keyed: &KeyedLine<'_>) {
        let Some(clock) = &mut self.clock else {
            return;
        };
        let seconds = clock.seconds(keyed.line);
        let observation: Observation = keyed.fingerprint.into();
        let (simulation, forgetting) = (&mut self.simulation, &mut self.forgetting);
        let time = self.times.record(observation, seconds, |timed| {
            simulation.push_fingerprint_at(timed.fingerprint, timed.tick, &NoClock);
            forgetting.record(timed.fingerprint, timed.tick);
        });
        self.without_time += u64::from(time != LineTime::Used);
    }

    pub fn finish(&mut self) {
        self.simulation.flush(&NoClock);
    }

    /// The error is a sentence for the page's user.
    pub fn results(&self) -> Result<WindowsResult, String> {
        if self.clock.is_none() || !self.times.has_times() {
            return Err(
                "The lines of this log have no time, so a window has nothing to measure. \
                        The sample “Access log” has times."
                    .to_owned(),
            );
        }
        let mut outcomes: Vec<WindowOutcome> = self
            .simulation
            .measurements("log")
            .into_iter()
            .map(outcome)
            .collect();
        outcomes.sort_by_key(|it| it.false_positives + it.false_negatives);
        let (spans, chosen) = self.forgetting.spans();
        Ok(WindowsResult {
            span: span(self.span_seconds),
            duration: span(self.forgetting.duration_seconds()),
            without_time: self.without_time,
            repeats: self.forgetting.repeats(),
            spans,
            chosen,
            outcomes,
        })
    }
}

/// The filters of `dedupstore simulate --window`.
fn filters_with_window(seconds: u64) -> Result<Vec<FilterSpec>, String> {
    let all = registry().iter().copied().map(FilterSpec::with_defaults);
    all.filter(|spec| spec.descriptor().parameter("span").is_some())
        .map(|spec| {
            let changed = spec.with("span", &seconds.to_string());
            changed.map_err(|error| error.to_string())
        })
        .collect()
}

fn outcome(summary: RunSummary) -> WindowOutcome {
    let name = summary.filter.parse().map(|spec| short_name(&spec));
    WindowOutcome {
        name: name.unwrap_or_else(|_| summary.filter.clone()),
        filter: summary.filter,
        distinct: summary.distinct,
        repeats: summary.repeats,
        false_positives: summary.fp,
        false_negatives: summary.false_negatives,
        fpr: summary.fpr,
        fnr: summary.fnr,
        error: summary.fpr_n.zip(summary.fnr_n).map(|(fp, fn_)| fp + fn_),
    }
}
