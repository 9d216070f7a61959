//! The text form of a filter: `name:param=value,param=value`.
//!
//! The command line, the page, documents, stores and tests all use it. A parameter that is
//! left out has its default value; the printed form always contains every parameter. A
//! [preset](Preset) is a name for a filter with some parameters fixed; the printed form then has
//! this name and leaves them out.

use std::convert::Infallible;
use std::fmt;
use std::str::FromStr;

use super::parameter::{Parameter, Value};
use super::preset::{Preset, presets};
use super::{DEFAULT_FILTER, Descriptor, registry};

/// A filter of the registry with a value for each of its parameters.
#[derive(Clone, Debug)]
pub struct FilterSpec {
    descriptor: &'static Descriptor,
    /// The name for the fixed parameters, if the text had one and they are unchanged.
    preset: Option<&'static Preset>,
    values: Vec<Value>,
}

impl FilterSpec {
    /// Returns the filter with every parameter at its default.
    pub fn with_defaults(descriptor: &'static Descriptor) -> Self {
        let parameters = descriptor.parameters.iter();
        let values = parameters.map(|p| p.kind.default_value()).collect();
        FilterSpec {
            descriptor,
            preset: None,
            values,
        }
    }

    /// Returns the filter of a preset with every other parameter at its default.
    pub fn with_preset(preset: &'static Preset) -> Result<Self, SpecError> {
        let Some(descriptor) = descriptor_of(preset.filter) else {
            return Err(SpecError::unknown_filter(preset.filter));
        };
        let mut spec = FilterSpec::with_defaults(descriptor);
        for (parameter, value) in preset.fixed {
            spec.assign(parameter, value)?;
        }
        spec.preset = Some(preset);
        Ok(spec)
    }

    /// Returns the name of the filter in its text form: that of the registry, or of a preset.
    pub fn name(&self) -> &'static str {
        self.preset.map_or(self.descriptor.name, |it| it.name)
    }

    /// Returns the filter's entry in the registry.
    pub fn descriptor(&self) -> &'static Descriptor {
        self.descriptor
    }

    /// Returns each parameter with its value, in the order of the text form.
    pub fn values(&self) -> impl Iterator<Item = (&'static Parameter, Value)> + '_ {
        self.descriptor
            .parameters
            .iter()
            .zip(self.values.iter().copied())
    }

    /// Returns the same filter with one parameter changed.
    pub fn with(&self, parameter: &str, value: &str) -> Result<Self, SpecError> {
        let mut changed = self.clone();
        changed.assign(parameter, value)?;
        Ok(changed)
    }

    /// Returns the span of the filter's window if it has one that is measured in seconds.
    pub fn window_seconds(&self) -> Option<u64> {
        let is_in_seconds = self.is_choice("clock", "seconds");
        let span = is_in_seconds.then(|| self.integer("span"));
        span.filter(|&seconds| seconds > 0)
    }

    /// Whether the filter has a window, of whatever clock. Some filters can have one and do without
    /// if their span is 0.
    pub fn has_window(&self) -> bool {
        self.integer("span") > 0
    }

    /// Returns the value of an integer parameter. A filter asks only for parameters that its
    /// descriptor lists; for others the value is 0.
    pub(crate) fn integer(&self, name: &str) -> u64 {
        match self.value(name) {
            Some(Value::Integer(number)) => number,
            _ => 0,
        }
    }

    /// Returns the value of a decimal parameter, in millionths.
    pub(super) fn millionths(&self, name: &str) -> u64 {
        match self.value(name) {
            Some(Value::Decimal(millionths)) => millionths,
            _ => 0,
        }
    }

    /// Whether a choice parameter has this value.
    pub(super) fn is_choice(&self, name: &str, word: &str) -> bool {
        matches!(self.value(name), Some(Value::Choice(chosen)) if chosen == word)
    }

    fn value(&self, name: &str) -> Option<Value> {
        let (index, _) = self.descriptor.parameter(name)?;
        self.values.get(index).copied()
    }

    fn assign(&mut self, name: &str, text: &str) -> Result<(), SpecError> {
        let Some((index, parameter)) = self.descriptor.parameter(name) else {
            return Err(SpecError::UnknownParameter {
                filter: self.descriptor.name,
                found: name.to_owned(),
                allowed: names(self.descriptor.parameters.iter().map(|p| p.name)),
            });
        };
        let value = parameter
            .kind
            .parse(text)
            .ok_or_else(|| SpecError::BadValue {
                filter: self.descriptor.name,
                parameter: parameter.name,
                found: text.to_owned(),
                allowed: parameter.kind.allowed(),
            })?;
        if self.values[index] != value && self.preset.is_some_and(|it| it.fixes(name)) {
            self.preset = None;
        }
        self.values[index] = value;
        Ok(())
    }
}

impl PartialEq for FilterSpec {
    fn eq(&self, other: &Self) -> bool {
        self.descriptor.name == other.descriptor.name && self.values == other.values
    }
}

impl Eq for FilterSpec {}

impl fmt::Display for FilterSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        let is_fixed = |name| self.preset.is_some_and(|preset| preset.fixes(name));
        let shown = self.values().filter(|(it, _)| !is_fixed(it.name));
        for (i, (parameter, value)) in shown.enumerate() {
            let separator = if i == 0 { ':' } else { ',' };
            write!(f, "{separator}{}={value}", parameter.name)?;
        }
        Ok(())
    }
}

impl FromStr for FilterSpec {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Self, SpecError> {
        let (name, rest) = match text.split_once(':') {
            Some((name, rest)) => (name, Some(rest)),
            None => (text, None),
        };
        let mut spec = match presets().iter().find(|preset| preset.name == name) {
            Some(preset) => FilterSpec::with_preset(preset)?,
            None => match descriptor_of(name) {
                Some(descriptor) => FilterSpec::with_defaults(descriptor),
                None => return Err(SpecError::unknown_filter(name)),
            },
        };
        let descriptor = spec.descriptor;
        let mut given: Vec<&str> = Vec::new();
        for part in rest.into_iter().flat_map(|rest| rest.split(',')) {
            let Some((parameter, value)) = part.split_once('=') else {
                return Err(SpecError::NotAnAssignment {
                    filter: descriptor.name,
                    found: part.to_owned(),
                    allowed: names(descriptor.parameters.iter().map(|p| p.name)),
                });
            };
            if given.contains(&parameter) {
                return Err(SpecError::GivenTwice {
                    filter: descriptor.name,
                    parameter: parameter.to_owned(),
                });
            }
            spec.assign(parameter, value)?;
            given.push(parameter);
        }
        Ok(spec)
    }
}

impl TryFrom<&str> for FilterSpec {
    type Error = SpecError;

    fn try_from(text: &str) -> Result<Self, SpecError> {
        text.parse()
    }
}

impl From<&FilterSpec> for FilterSpec {
    fn from(spec: &FilterSpec) -> Self {
        spec.clone()
    }
}

/// [`DEFAULT_FILTER`].
impl Default for FilterSpec {
    fn default() -> Self {
        // A test checks that the text parses.
        let parsed = DEFAULT_FILTER.parse();
        parsed.unwrap_or_else(|_| FilterSpec::with_defaults(registry()[0]))
    }
}

/// The text does not describe a filter.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SpecError {
    /// No filter has this name.
    #[error("there is no filter `{found}`{}; there are: {allowed}", hint(.suggestion))]
    UnknownFilter {
        /// The name given.
        found: String,
        /// A similar name, if there is one.
        suggestion: Option<&'static str>,
        /// The names of all filters, separated by commas.
        allowed: String,
    },
    /// The filter has no such parameter.
    #[error("{filter} has no parameter `{found}`; it has: {allowed}")]
    UnknownParameter {
        /// The filter.
        filter: &'static str,
        /// The name given.
        found: String,
        /// The names of its parameters, separated by commas.
        allowed: String,
    },
    /// A part between commas has no equals sign.
    #[error("{filter}: expected `parameter=value`, found `{found}`; the parameters are: {allowed}")]
    NotAnAssignment {
        /// The filter.
        filter: &'static str,
        /// The part.
        found: String,
        /// The names of its parameters, separated by commas.
        allowed: String,
    },
    /// A parameter is given twice.
    #[error("{filter}: `{parameter}` is given twice")]
    GivenTwice {
        /// The filter.
        filter: &'static str,
        /// The parameter.
        parameter: String,
    },
    /// The parameter does not allow the value.
    #[error("{filter}: `{parameter}` must be {allowed}; found `{found}`")]
    BadValue {
        /// The filter.
        filter: &'static str,
        /// The parameter.
        parameter: &'static str,
        /// The value given.
        found: String,
        /// A description of the allowed values.
        allowed: String,
    },
}

impl From<Infallible> for SpecError {
    fn from(never: Infallible) -> Self {
        match never {}
    }
}

impl SpecError {
    fn unknown_filter(found: &str) -> Self {
        let presets = presets().iter().map(|preset| preset.name);
        let known = registry().iter().map(|d| d.name).chain(presets);
        let closest = known
            .clone()
            .min_by_key(|name| strsim::damerau_levenshtein(found, name));
        SpecError::UnknownFilter {
            found: found.to_owned(),
            suggestion: closest
                .filter(|name| strsim::damerau_levenshtein(found, name) <= 1 + name.len() / 4),
            allowed: names(known),
        }
    }
}

fn descriptor_of(name: &str) -> Option<&'static Descriptor> {
    registry().iter().copied().find(|it| it.name == name)
}

fn hint(suggestion: &Option<&'static str>) -> String {
    match suggestion {
        Some(name) => format!(" (did you mean `{name}`?)"),
        None => String::new(),
    }
}

fn names(names: impl Iterator<Item = &'static str>) -> String {
    names.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error_of(text: &str) -> String {
        text.parse::<FilterSpec>().expect_err(text).to_string()
    }

    #[test]
    fn every_filter_round_trips_through_its_text() {
        for descriptor in registry() {
            let spec = FilterSpec::with_defaults(descriptor);
            assert_eq!(spec.to_string().parse(), Ok(spec.clone()));
            assert_eq!(descriptor.name.parse(), Ok(spec));
        }
    }

    #[test]
    fn an_omitted_parameter_has_its_default() {
        let spec: FilterSpec = "stable:max=3".parse().expect("a filter");
        assert_eq!(spec.to_string(), "stable:k=2,p=4,max=3");
    }

    #[test]
    fn the_default_spec_is_the_default_filter() {
        assert_eq!(DEFAULT_FILTER.parse(), Ok(FilterSpec::default()));
        assert_eq!(FilterSpec::default().to_string(), DEFAULT_FILTER);
    }

    #[test]
    fn a_preset_is_a_name_for_fixed_parameters() {
        let spec: FilterSpec = "ibf3:k=4,p=7,max=4".parse().expect("a filter");
        let text = "ibf3:by=one,map=floor,keep=new,k=4,p=7,max=4,priority=4,top=50";
        assert_eq!((spec.name(), spec.to_string().as_str()), ("ibf3", text));
        let in_full = "ibf:insert=max,delete=probabilistic-p,weight=cumulative";
        assert_eq!(in_full.parse(), Ok(spec.clone()));
        let same = spec.with("delete", "probabilistic-p").expect("allowed");
        assert_eq!(same.name(), "ibf3");
        let changed = spec.with("delete", "min").expect("allowed");
        assert!(
            changed
                .to_string()
                .starts_with("ibf:insert=max,delete=min,")
        );
        for preset in presets() {
            let spec = FilterSpec::with_preset(preset).expect(preset.name);
            assert_eq!(spec.to_string().parse(), Ok(spec.clone()));
            assert_eq!(spec.name(), preset.name);
            assert!(
                preset
                    .fixed
                    .iter()
                    .all(|(name, _)| spec.descriptor.parameter(name).is_some())
            );
            assert!(registry().iter().all(|it| it.name != preset.name));
        }
        assert!(error_of("ibf7").contains("did you mean `ibf"));
    }

    #[test]
    fn parameters_may_be_given_in_any_order() {
        let a: FilterSpec = "stable:p=9,k=3".parse().expect("a filter");
        let b: FilterSpec = "stable:k=3,p=9".parse().expect("a filter");
        assert_eq!(a, b);
    }

    #[test]
    fn errors_name_the_wrong_part_and_the_allowed_values() {
        assert!(error_of("blom").contains("did you mean `bloom`?"));
        assert!(error_of("nonsense:k=x").starts_with("there is no filter `nonsense`; there are: "));
        assert!(error_of("").starts_with("there is no filter ``; there are: "));
        assert_eq!(
            error_of("stable:q=1"),
            "stable has no parameter `q`; it has: k, p, max"
        );
        assert_eq!(
            error_of("stable:k=x"),
            "stable: `k` must be a whole number from 1 to 32; found `x`"
        );
        assert_eq!(
            error_of("stable:k=0"),
            "stable: `k` must be a whole number from 1 to 32; found `0`"
        );
        assert!(error_of("stable:k=+2").contains("found `+2`"));
        assert!(error_of("stable:k=99999999999999999999").contains("a whole number"));
        assert_eq!(
            error_of("stable:k"),
            "stable: expected `parameter=value`, found `k`; the parameters are: k, p, max"
        );
        assert!(error_of("stable:").contains("found ``"));
        assert_eq!(error_of("stable:k=1,k=2"), "stable: `k` is given twice");
        assert_eq!(
            error_of("bloom:layout=heap"),
            "bloom: `layout` must be one of shared, partitioned; found `heap`"
        );
    }
}
