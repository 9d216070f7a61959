//! As of which time keys are looked up.

use clap::Args;
use dedupstore::lines::{KeyRule, TimeReader};
use dedupstore::store::{Directory, KeyLookup};
use dedupstore_view::moment;

use crate::error::Failure;
use crate::given_filter::names_with_window;
use crate::machine_clock::{TimeSource, unix_seconds};
use crate::value_parsers::{self, Moment};

/// The option that says as of which time keys are looked up.
#[derive(Clone, Copy, Debug, Args)]
pub struct LookupTimeArguments {
    /// Look up as of a later time, if the filter has a window: a time like 2026-03-01T12:34:56Z,
    /// seconds since 1970, or a span like +7d or +1d12h. A span counts from the time of the machine
    /// or, if the store records where lines have their time, from the beginning of the present
    /// step [default: the time of the machine; if the store records where lines have their time,
    /// that of the line or the present step]
    #[arg(long, value_name = "TIME", value_parser = value_parsers::moment,
          allow_hyphen_values = true)]
    pub at: Option<Moment>,
}

/// As of which time keys are looked up in a store.
#[derive(Clone, Copy, Debug)]
pub struct LookupTime {
    /// When the present step of the store's clock began; None if it has no window in seconds.
    clock_seconds: Option<u64>,
    /// The time that was asked for.
    requested: Option<u64>,
}

impl LookupTime {
    /// Moves the clock of a store to the time that is asked for. The default is the time of the
    /// machine or, if lines have their own time, that of the last line.
    pub fn of(
        store: &mut KeyLookup<Directory>,
        rule: &KeyRule,
        at: Option<Moment>,
    ) -> Result<Self, Failure> {
        let Some(clock) = store.filter().tick_clock().copied() else {
            return match at {
                None => Ok(LookupTime {
                    clock_seconds: None,
                    requested: None,
                }),
                Some(_) => Err(Failure::Usage(format!(
                    "{} has no window that is measured in seconds, so --at has no meaning; \
                     filters that can have one: {}",
                    store.spec(),
                    names_with_window().join(", ")
                ))),
            };
        };
        let recorded = clock.begin_of(store.registers().clock()).unwrap_or(0);
        let now = match TimeSource::of(rule) {
            TimeSource::Machine => unix_seconds(),
            TimeSource::Lines => recorded,
        };
        let requested = at.map(|at| match at {
            Moment::UnixSeconds(seconds) => seconds,
            Moment::Later(seconds) => now.saturating_add(seconds),
        });
        store.advance_clock(requested.unwrap_or(now));
        Ok(LookupTime {
            clock_seconds: clock.begin_of(store.registers().clock()),
            requested,
        })
    }

    /// Returns a message if the time that was asked for has passed.
    pub fn warning(&self) -> Option<String> {
        let (clock, requested) = (self.clock_seconds?, self.requested?);
        (requested < clock).then(|| {
            format!(
                "the clock of the store is at {}, after {}; keys are looked up as of then, because \
                 the clock does not run backwards",
                moment(clock),
                moment(requested)
            )
        })
    }

    /// Returns a reader of the lines' times, unless one time was asked for or they have none.
    pub fn of_lines(&self, rule: &KeyRule) -> Option<TimeReader> {
        let uses_lines = self.requested.is_none() && self.clock_seconds.is_some();
        let time = rule.time.clone().filter(|_| uses_lines)?;
        Some(TimeReader::new(time))
    }
}

/// Returns when a key was last new, given the step in which it will be forgotten. None if the store
/// has had no time yet.
pub fn when_forgotten(
    store: &KeyLookup<Directory>,
    forgotten_at_step: Option<u64>,
) -> Option<KeyTimes> {
    let clock = store.filter().tick_clock()?;
    let step = forgotten_at_step.filter(|_| store.registers().clock() > 0)?;
    let set = step.checked_sub(clock.age_limit() + 1)?;
    Some(KeyTimes {
        new_from: clock.begin_of(set)?,
        new_until: clock.begin_of(set + 1)?,
        forgotten: clock.begin_of(step)?,
    })
}

/// When a key was last new and when it will be forgotten, in seconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyTimes {
    /// It was last new at this time or later,
    pub new_from: u64,
    /// and before this time.
    pub new_until: u64,
    /// It is new again from this time on.
    pub forgotten: u64,
}
