//! What an inspection shows of a filter with a window.

use serde::Serialize;

use super::format::superblock::Parameters;
use crate::filter::{AnyFilter, ClockKind, Registers, WindowContents, tick_of};
use crate::lines::RecordedKey;

/// The window of a store's filter, and when what leaves it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct WindowInspection {
    /// What the clock counts: `seconds`, `count` (observations) or `deliveries` (New verdicts).
    pub clock: &'static str,
    /// Where the time comes from: `lines` if the store records that lines have their own time,
    /// `machine` if not. None if the clock does not count seconds.
    pub time_from: Option<&'static str>,
    /// How long a key is remembered at least, in units of the clock.
    pub span: u64,
    /// The length of a step, in units of the clock.
    pub step: u64,
    /// After which time a key is forgotten at the latest, in units of the clock.
    pub longest_memory: u64,
    /// The number of the present step.
    pub present_step: u64,
    /// When the present step began, in seconds since 1970; None if the clock does not count
    /// seconds, or if it has had no time yet.
    pub present_unix_seconds: Option<u64>,
    /// When the oldest step in the window began.
    pub oldest_unix_seconds: Option<u64>,
    /// The number of keys in the window.
    pub live_keys: u64,
    /// The share of all keys that were ever reported as New which are in the window.
    pub live_share: Option<f64>,
    /// When keys leave the window, the next ones first.
    pub leaving: Vec<Leaving>,
}

/// Keys that leave the window together.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Leaving {
    /// The step in which they have left.
    pub step: u64,
    /// When that step begins, in seconds since 1970; None if the clock does not count seconds, or
    /// if it has had no time yet.
    pub unix_seconds: Option<u64>,
    /// Their number.
    pub keys: u64,
    /// Their share of the keys in the window.
    pub share: f64,
}

impl WindowInspection {
    /// Describes the window of a filter; None if it has none. If the time is that of the machine,
    /// the window is described as of now.
    pub(super) fn of(
        filter: &AnyFilter,
        registers: &Registers,
        parameters: &Parameters,
        unix_seconds: u64,
    ) -> Option<Self> {
        let clock = filter.window()?;
        let time_from = (clock.kind() == ClockKind::Seconds).then(|| time_from(parameters));
        let mut registers = registers.clone();
        if time_from == Some("machine") {
            registers.advance_clock(clock.step_of(tick_of(unix_seconds)));
        }
        let WindowContents {
            step,
            oldest_step,
            keys,
            leaving,
        } = filter.window_contents(&registers)?;
        let new = registers.new_count();
        // Step 0 began in 1970, before any time was known.
        let begin_of = |begin: u64| match step {
            0 => None,
            _ => clock.begin_of(begin),
        };
        Some(WindowInspection {
            clock: match clock.kind() {
                ClockKind::Seconds => "seconds",
                ClockKind::Count => "count",
                ClockKind::Deliveries => "deliveries",
            },
            time_from,
            span: clock.span(),
            step: clock.step(),
            longest_memory: clock.longest_memory(),
            present_step: step,
            present_unix_seconds: begin_of(step),
            oldest_unix_seconds: begin_of(oldest_step),
            live_keys: keys.round() as u64,
            live_share: (new > 0).then(|| (keys / new as f64).min(1.0)),
            leaving: leaving
                .iter()
                .map(|it| Leaving {
                    step: it.gone_at_step,
                    unix_seconds: begin_of(it.gone_at_step),
                    keys: it.keys.round() as u64,
                    share: it.keys / keys,
                })
                .collect(),
        })
    }
}

/// Returns where the time of a store's observations comes from.
fn time_from(parameters: &Parameters) -> &'static str {
    match parameters.recorded_key() {
        Ok(RecordedKey::Rule(rule)) if rule.time.is_some() => "lines",
        _ => "machine",
    }
}
