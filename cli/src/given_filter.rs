//! A filter as the user wrote it, and the window that `--window` gives it.

use std::str::FromStr;

use dedupstore::filter::SpecError;
use dedupstore::{FilterSpec, registry};
use dedupstore_view::{span, span_option};

use crate::error::Failure;

/// A filter as the user wrote it.
#[derive(Clone, Debug)]
pub struct GivenFilter {
    pub spec: FilterSpec,
    /// Whether the text gives the span of the window.
    gives_span: bool,
}

impl FromStr for GivenFilter {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Self, SpecError> {
        let parameters = text
            .split_once(':')
            .map_or("", |(_, parameters)| parameters);
        let mut names = parameters
            .split(',')
            .filter_map(|part| part.split_once('='));
        Ok(GivenFilter {
            spec: text.parse()?,
            gives_span: names.any(|(name, _)| name == "span"),
        })
    }
}

impl GivenFilter {
    /// Returns the filter with a window of so many seconds, if `--window` asks for one.
    pub fn with_window(&self, window: Option<u64>) -> Result<FilterSpec, Failure> {
        let (Some(seconds), spec) = (window, &self.spec) else {
            return Ok(self.spec.clone());
        };
        if !has_window(spec) {
            return Err(Failure::Usage(format!(
                "{} has no window, so --window {} has no meaning for it; filters with a window: {}",
                spec.descriptor().name,
                span_option(seconds),
                names_with_window().join(", ")
            )));
        }
        match spec.window_seconds() {
            None => Err(Failure::Usage(format!(
                "the window of {spec} is not measured in seconds; omit clock=…, or omit --window \
                 and give span=N"
            ))),
            Some(given) if self.gives_span && given != seconds => Err(Failure::Usage(format!(
                "{spec} has a span of {given} seconds ({}), which contradicts --window {}; give \
                 one of them",
                span(given),
                span_option(seconds),
            ))),
            Some(_) => {
                let changed = spec.with("span", &seconds.to_string());
                changed.map_err(|error| Failure::Usage(format!("--window: {error}")))
            }
        }
    }
}

/// Returns whether a filter has a window, of whatever clock.
pub fn has_window(spec: &FilterSpec) -> bool {
    spec.descriptor().parameter("span").is_some()
}

/// Returns the filters with a window of so many seconds and default parameters otherwise.
pub fn all_with_window(seconds: u64) -> Result<Vec<FilterSpec>, Failure> {
    let all = registry().iter().copied().map(FilterSpec::with_defaults);
    all.filter(has_window)
        .map(|spec| {
            let given = GivenFilter {
                spec,
                gives_span: false,
            };
            given.with_window(Some(seconds))
        })
        .collect()
}

/// Returns the names of the filters with a window.
pub fn names_with_window() -> Vec<&'static str> {
    let all = registry().iter().copied().map(FilterSpec::with_defaults);
    all.filter(has_window)
        .map(|spec| spec.descriptor().name)
        .collect()
}

/// Fails if the importance of lines is asked for, and the filter does not use it.
pub fn check_importance_is_used(spec: &FilterSpec, has_importance: bool) -> Result<(), Failure> {
    if !has_importance || spec.descriptor().needs.importance {
        return Ok(());
    }
    let all = registry().iter();
    let names: Vec<&str> = all
        .filter(|it| it.needs.importance)
        .map(|it| it.name)
        .collect();
    Err(Failure::Usage(format!(
        "{spec} does not use the importance of lines; filters that do: {}. `dedupstore simulate` \
         and `dedupstore advise --weight-by-importance` compare all filters by importance. Give \
         --filter SPEC, or omit --importance-field and --importance-json-key",
        names.join(", ")
    )))
}

/// Fails if times of lines are asked for, and the filter does not use times.
pub fn check_times_are_used(spec: &FilterSpec, has_time: bool) -> Result<(), Failure> {
    if !has_time || spec.window_seconds().is_some() {
        return Ok(());
    }
    Err(Failure::Usage(match has_window(spec) {
        true => format!(
            "the window of {spec} is not measured in seconds, so the times of lines have no meaning \
             for it; omit --time-field and --time-json-key, or omit clock=…"
        ),
        false => format!(
            "{spec} has no window, so the times of lines have no meaning for it; give --window SPAN, \
             for example --window 7d, or omit --time-field and --time-json-key"
        ),
    }))
}
