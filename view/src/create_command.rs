//! The command that creates a store with given options.

use std::fmt::{self, Display};

use dedupstore::filter::FilterSpec;
use dedupstore::lines::{KeyRule, LineEnd, RecordedKey};
use dedupstore::store::{CreateOption, Parameters};
use dedupstore::{ByteSize, DEFAULT_MEMORY};

use crate::key::{key_options_quoted, quoted};
use crate::time::span_option;

/// The options of a store, as a command that creates another one like it.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateCommand {
    /// The path of the store to create.
    pub store: String,
    /// The window in seconds.
    pub window: Option<u64>,
    /// The filter; None for the default, or to choose one.
    pub filter: Option<FilterSpec>,
    /// The text of the memory; None for the default.
    pub memory: Option<String>,
    /// Whether to ask for the number of distinct keys.
    pub asks_for_keys: bool,
    /// The text of the seed; None for the default.
    pub seed: Option<String>,
    /// The key and time options.
    pub key: KeyRule,
    /// The limit of the false positive rate.
    pub max_fpr: Option<f64>,
}

impl CreateCommand {
    /// Returns the command without options.
    pub fn new(store: impl Display) -> Self {
        CreateCommand {
            store: store.to_string(),
            window: None,
            filter: None,
            memory: None,
            asks_for_keys: false,
            seed: None,
            key: KeyRule::default(),
            max_fpr: None,
        }
    }

    /// Returns the command for another store like an existing one. Its seed is another.
    pub fn like(parameters: &Parameters, max_fpr: Option<f64>) -> Self {
        let Parameters {
            filter,
            memory_bits,
            normalization,
            ..
        } = parameters;
        CreateCommand::of_recorded(filter, *memory_bits, normalization, max_fpr)
    }

    /// Returns the same from the texts that a store records.
    pub(crate) fn of_recorded(
        filter: &str,
        memory_bits: u64,
        key: &str,
        max_fpr: Option<f64>,
    ) -> Self {
        let filter: Option<FilterSpec> = filter.parse().ok();
        let bytes = ByteSize::from_bytes(memory_bits / 8);
        CreateCommand {
            window: filter.as_ref().and_then(FilterSpec::window_seconds),
            filter: filter.filter(|it| *it != FilterSpec::default()),
            memory: (bytes != DEFAULT_MEMORY).then(|| bytes.to_string()),
            key: recorded_rule(key),
            max_fpr,
            ..CreateCommand::new("OTHER.dds")
        }
    }

    /// Returns the command for a store with room for another number of keys. The filter is chosen
    /// anew, unless its window is not measured in seconds.
    pub fn for_more_keys(&self) -> Self {
        let counts = |filter: &FilterSpec| {
            let has_window = filter.descriptor().parameter("span").is_some();
            has_window && filter.window_seconds().is_none()
        };
        match self.filter.as_ref().is_some_and(counts) {
            true => CreateCommand {
                memory: Some("SIZE".to_owned()),
                ..self.clone()
            },
            false => CreateCommand {
                filter: None,
                memory: None,
                asks_for_keys: true,
                ..self.clone()
            },
        }
    }

    /// Returns the command with another value for one option, in the text form of a
    /// [`StoreError::OptionMismatch`](dedupstore::store::StoreError::OptionMismatch). None if the
    /// command has no such option.
    pub fn with(&self, option: CreateOption, value: &str) -> Option<Self> {
        let mut other = self.clone();
        let rule = || value.parse::<KeyRule>().ok();
        match option {
            CreateOption::Filter => {
                other.filter = Some(value.parse().ok()?);
                other.window = other.filter.as_ref().and_then(FilterSpec::window_seconds);
            }
            CreateOption::Memory => other.memory = Some(value.to_owned()),
            CreateOption::Seed => other.seed = Some(value.to_owned()),
            CreateOption::Window => {
                let has_window = |it: &FilterSpec| it.window_seconds().is_some();
                other.filter = other.filter.filter(has_window);
                other.window = Some(value.parse().ok()?);
            }
            CreateOption::Key => other.key.selector = rule()?.selector,
            CreateOption::Normalization => {
                other.key.normalization = value.parse().ok()?;
                if !other.key.normalization.drops_parameters() {
                    other.key.drop_parameters.clear();
                }
            }
            CreateOption::DropParameters => {
                let names = value.split(' ').filter(|name| !name.is_empty());
                let names = names.map(|name| name.parse().ok());
                other.key.drop_parameters = names.collect::<Option<_>>()?;
                other.key.normalization = "crawl".parse().ok()?;
            }
            CreateOption::LineEnd => {
                other.key.line_end = match value {
                    "crlf" => LineEnd::CrLf,
                    "nul" => LineEnd::Nul,
                    _ => LineEnd::Newline,
                }
            }
            CreateOption::Time => other.key.time = rule()?.time,
            _ => return None,
        }
        Some(other)
    }
}

impl Display for CreateCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "dedupstore create {}", quoted(&self.store))?;
        if let Some(seconds) = self.window {
            write!(f, " --window {}", span_option(seconds))?;
        }
        if let Some(filter) = &self.filter {
            let filter = without_defaults(filter, self.window.is_some());
            write!(f, " --filter {}", quoted(&filter))?;
        }
        if let Some(memory) = &self.memory {
            write!(f, " --memory {memory}")?;
        }
        if self.asks_for_keys {
            f.write_str(" --expect N")?;
        }
        if let Some(seed) = &self.seed {
            write!(f, " --seed {seed}")?;
        }
        match key_options_quoted(&self.key) {
            options if options.is_empty() => {}
            options => write!(f, " {options}")?,
        }
        match self.max_fpr {
            Some(rate) => write!(f, " --max-fpr {rate}"),
            None => Ok(()),
        }
    }
}

/// Returns the rule that a store records, as far as this program knows it.
fn recorded_rule(key: &str) -> KeyRule {
    match key.parse() {
        Ok(RecordedKey::Rule(rule)) => rule,
        Ok(RecordedKey::Normalization(normalization)) => {
            let mut rule = KeyRule::default();
            rule.normalization = normalization;
            rule
        }
        Err(_) => KeyRule::default(),
    }
}

/// Returns a filter without the parameters that have their default, and without its span if
/// `--window` gives it.
fn without_defaults(filter: &FilterSpec, has_window: bool) -> String {
    let defaults = FilterSpec::with_defaults(filter.descriptor()).to_string();
    let is_default = |part: &str| parameters_of(&defaults).any(|other| other == part);
    let is_span = |part: &str| has_window && part.starts_with("span=");
    let text = filter.to_string();
    let given = parameters_of(&text).filter(|part| !is_default(part) && !is_span(part));
    let given: Vec<&str> = given.collect();
    let name = filter.descriptor().name;
    match given.is_empty() {
        true => name.to_owned(),
        false => format!("{name}:{}", given.join(",")),
    }
}

fn parameters_of(filter: &str) -> impl Iterator<Item = &str> {
    let parameters = filter.split_once(':').map(|(_, parameters)| parameters);
    parameters.into_iter().flat_map(|text| text.split(','))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn like(filter: &str, memory_bits: u64, key: &str) -> CreateCommand {
        let parameters = Parameters {
            filter: filter.parse::<FilterSpec>().expect(filter).to_string(),
            memory_bits,
            seed: 7,
            normalization: key.to_owned(),
            created_unix_seconds: 0,
        };
        CreateCommand::like(&parameters, None)
    }

    #[test]
    fn a_command_keeps_every_option_of_the_store() {
        let mut log = like("stamped:bits=20,span=604800", 8 << 20, "field=7,time=4");
        log.max_fpr = Some(0.01);
        let start = "dedupstore create OTHER.dds --window 7d";
        for (command, options) in [
            (
                log.clone(),
                "--filter stamped:bits=20 --memory 1MiB --field 7 --time-field 4",
            ),
            (log.for_more_keys(), "--expect N --field 7 --time-field 4"),
            (
                log.with(CreateOption::Time, "line,time=5").expect("a time"),
                "--filter stamped:bits=20 --memory 1MiB --field 7 --time-field 5",
            ),
            (
                log.with(CreateOption::Seed, "9").expect("a seed"),
                "--filter stamped:bits=20 --memory 1MiB --seed 9 --field 7 --time-field 4",
            ),
        ] {
            let expected = format!("{start} {options} --max-fpr 0.01");
            assert_eq!(command.to_string(), expected);
        }
    }

    #[test]
    fn defaults_are_left_out() {
        let default = like(
            &FilterSpec::default().to_string(),
            DEFAULT_MEMORY.bits(),
            "line",
        );
        assert_eq!(default.to_string(), "dedupstore create OTHER.dds");
        let window = default
            .with(CreateOption::Window, "3600")
            .expect("a window");
        assert_eq!(
            window.to_string(),
            "dedupstore create OTHER.dds --window 1h"
        );
        let count = like("window:span=600,clock=count", DEFAULT_MEMORY.bits(), "line");
        assert_eq!(
            count.for_more_keys().to_string(),
            "dedupstore create OTHER.dds --filter window:span=600,clock=count --memory SIZE"
        );
    }
}
