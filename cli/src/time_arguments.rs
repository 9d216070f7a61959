//! The options that say where lines have their time.

use clap::Args;
use dedupstore::lines::{JsonPath, TimeFormat, TimeOptions, ValueSelector};

use crate::value_parsers;

/// Where lines have their time, for filters with a window. A store records these options, like
/// the key options.
#[derive(Clone, Debug, Args)]
pub struct TimeArguments {
    /// Take the time from the N-th field of a line, counted from 1; --delimiter applies to it. In
    /// an access log, --time-field 4 is [10/Oct/2000:13:55:36 -0700] [default: the time of the
    /// machine]
    #[arg(long, value_name = "N", value_parser = value_parsers::field_number,
          help_heading = "Time", group = "time")]
    time_field: Option<usize>,

    /// Take the time from a value of a JSON line, a string or a number, as in request.time
    #[arg(long, value_name = "PATH", help_heading = "Time", group = "time")]
    time_json_key: Option<JsonPath>,

    /// How times are written: seconds, milliseconds, microseconds or nanoseconds since 1970, as
    /// in 2026-03-01T12:34:56Z (rfc3339), or as in access logs (clf). A time without a zone is in
    /// UTC [default: auto, recognized for each line]
    #[arg(long, value_name = "FORMAT", value_parser = value_parsers::time_format(),
          hide_possible_values = true, help_heading = "Time")]
    time_format: Option<TimeFormat>,
}

impl TimeArguments {
    /// Returns the options that were given; None if there are none. A format alone is that of the
    /// times of a store.
    pub fn options(&self, delimiter: Option<u8>) -> Option<TimeOptions> {
        let selector = match (self.time_field, &self.time_json_key) {
            (Some(number), _) => Some(ValueSelector::Field {
                index: number - 1,
                delimiter,
            }),
            (None, Some(path)) => Some(ValueSelector::Json(path.clone())),
            (None, None) => None,
        };
        let is_given = selector.is_some() || self.time_format.is_some();
        is_given.then_some(TimeOptions {
            selector,
            format: self.time_format,
        })
    }
}
