//! What `dedupstore filter` says about the false positive rate of its filter.

use std::fmt;

use crate::numbers::{different_percents, grouped, percent, plural};

/// A run that stopped at its limit of the false positive rate.
#[derive(Clone, Debug, PartialEq)]
pub struct LimitReached {
    /// The path of the store; None if the filter is in memory.
    pub store: Option<String>,
    /// The command that creates a larger store.
    pub larger: String,
    /// The limit.
    pub limit: f64,
    /// Whether the store was created with it; otherwise it was given for the run.
    pub is_of_store: bool,
    /// The rate that is above the limit: after the next lines, or now if no line was read.
    pub rate: f64,
    /// The number of lines before that.
    pub lines: u64,
    /// Whether these lines were recorded in the store.
    pub recorded: bool,
}

impl fmt::Display for LimitReached {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (rate, limit) = different_percents(self.rate, self.limit);
        let name = self.store.as_deref().unwrap_or("the filter");
        let source = match self.is_of_store {
            true => "with which it was created",
            false => "of --max-fpr",
        };
        let limit = format!("the limit of {limit} {source}");
        let next = match self.store {
            Some(_) => format!("Create a larger store: {}", self.larger),
            None => "Choose a larger size with --memory".to_owned(),
        };
        match self.lines {
            0 => write!(
                f,
                "{name} reports {rate} of new keys as seen, above {limit}; nothing was printed. \
                 {next}. To accept more in this run, give a higher --max-fpr"
            ),
            lines => write!(
                f,
                "stopped before line {} of the input: with the next lines, {name} would report \
                 {rate} of new keys as seen, above {limit}. The {} before it {}. {next}. To \
                 accept more in this run, give a higher --max-fpr",
                grouped(lines + 1),
                plural(lines, "line"),
                match (self.recorded, lines) {
                    (true, 1) => "was processed and recorded",
                    (true, _) => "were processed and recorded",
                    (false, 1) => "was processed",
                    (false, _) => "were processed",
                },
            ),
        }
    }
}

/// Warns that a filter drops new keys at this rate, after so many lines of a run. `store` is the
/// path of the store, if there is one, and `larger` the command that creates a larger one. Without
/// a limit, the warning says how to set one.
pub fn drop_chance_warning(
    store: Option<&str>,
    larger: &str,
    rate: f64,
    lines: u64,
    has_limit: bool,
) -> String {
    let name = store.unwrap_or("the filter");
    let rate = percent(Some(rate));
    let when = match lines {
        0 => "at the start of this run".to_owned(),
        lines => format!("after {}", plural(lines, "line")),
    };
    let next = match store {
        Some(_) => format!("a larger store drops fewer: {larger}"),
        None => "a larger --memory drops fewer".to_owned(),
    };
    let limit = match has_limit {
        true => "",
        false => ". To stop before a rate is exceeded, use --max-fpr",
    };
    format!("warning: {name} reports {rate} of new keys as seen, {when}; {next}{limit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    const LARGER: &str = "dedupstore create OTHER.dds --expect N";

    #[test]
    fn a_limit_says_where_the_run_stopped_and_what_to_do() {
        let mut limit = LimitReached {
            store: Some("links.dds".to_owned()),
            larger: LARGER.to_owned(),
            limit: 0.01,
            is_of_store: true,
            rate: 0.010_23,
            lines: 41_216,
            recorded: true,
        };
        assert_eq!(
            limit.to_string(),
            "stopped before line 41,217 of the input: with the next lines, links.dds would report \
             1.02 % of new keys as seen, above the limit of 1.00 % with which it was created. The \
             41,216 lines before it were processed and recorded. Create a larger store: \
             dedupstore create OTHER.dds --expect N. To accept more in this run, give a higher \
             --max-fpr"
        );
        limit.lines = 0;
        limit.store = None;
        limit.is_of_store = false;
        assert_eq!(
            limit.to_string(),
            "the filter reports 1.02 % of new keys as seen, above the limit of 1.00 % of \
             --max-fpr; nothing was printed. Choose a larger size with --memory. To accept more \
             in this run, give a higher --max-fpr"
        );
    }

    #[test]
    fn a_rate_just_above_the_limit_is_shown_as_different() {
        let mut reached = LimitReached {
            store: None,
            larger: String::new(),
            limit: 0.01,
            is_of_store: false,
            rate: 0.010_000_3,
            lines: 1,
            recorded: false,
        };
        for (limit, rate, part) in [
            (
                0.01,
                0.010_003,
                "1.0003 % of new keys as seen, above the limit of 1.0000 %",
            ),
            (
                0.25,
                0.2504,
                "25.04 % of new keys as seen, above the limit of 25.00 %",
            ),
            (
                1e-12,
                2e-12,
                "2.000e-10 % of new keys as seen, above the limit of 1.000e-10 %",
            ),
            (
                0.01,
                0.010_23,
                "1.02 % of new keys as seen, above the limit of 1.00 %",
            ),
        ] {
            (reached.limit, reached.rate) = (limit, rate);
            let text = reached.to_string();
            assert!(text.contains(part), "`{part}` is not in {text}");
        }
    }

    #[test]
    fn a_warning_says_how_many_keys_are_dropped() {
        assert_eq!(
            drop_chance_warning(Some("links.dds"), LARGER, 0.0104, 1, false),
            "warning: links.dds reports 1.04 % of new keys as seen, after 1 line; a larger store \
             drops fewer: dedupstore create OTHER.dds --expect N. To stop before a rate is \
             exceeded, use --max-fpr"
        );
        let full = drop_chance_warning(None, "", 1.0, 0, true);
        assert!(
            full.contains("100 % of new keys as seen, at the start"),
            "{full}"
        );
    }
}
