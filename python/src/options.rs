//! Options that come from Python: sizes, filters, durability.

use std::time::Duration;

use dedupstore::advise::{Question, advise};
use dedupstore::store::{CreateOptions, Durability, OpenOptions};
use dedupstore::{ByteSize, DEFAULT_MEMORY, FilterSpec};
use pyo3::prelude::*;

use crate::{errors, store_hasher};

/// A size: a number of bytes, or a text such as `"64MiB"`.
#[derive(Clone, Debug, FromPyObject)]
pub enum Size {
    Bytes(u64),
    Text(String),
}

impl Size {
    pub fn parse(&self) -> PyResult<ByteSize> {
        match self {
            Size::Bytes(bytes) => Ok(ByteSize::from_bytes(*bytes)),
            Size::Text(text) => {
                let size = text.parse::<ByteSize>();
                size.map_err(|error| errors::invalid(error.to_string()))
            }
        }
    }
}

/// When observations become durable: `"every"`, `"none"`, or an interval in seconds.
#[derive(Clone, Debug, FromPyObject)]
pub enum Sync {
    Seconds(f64),
    Name(String),
}

impl Sync {
    pub fn durability(&self) -> PyResult<Durability> {
        match self {
            Sync::Name(name) if name == "every" => Ok(Durability::Every),
            Sync::Name(name) if name == "none" => Ok(Durability::None),
            Sync::Seconds(seconds) => match Duration::try_from_secs_f64(*seconds) {
                Ok(interval) if !interval.is_zero() => Ok(Durability::Interval(interval)),
                _ => Err(wrong_sync(&seconds.to_string())),
            },
            Sync::Name(name) => Err(wrong_sync(name)),
        }
    }
}

fn wrong_sync(found: &str) -> PyErr {
    errors::invalid(format!(
        "expected \"every\", \"none\" or an interval in seconds; found {found}"
    ))
}

/// Parses the text form of a filter.
pub fn filter(text: &str) -> PyResult<FilterSpec> {
    text.parse().map_err(|error| errors::of_spec(&error))
}

/// The options of a new set or store.
#[derive(Debug, Default)]
pub struct New {
    pub filter: Option<String>,
    pub memory: Option<Size>,
    pub seed: Option<u64>,
    pub window: Option<u64>,
    pub audit: Option<Size>,
    pub log_size: Option<Size>,
    pub max_fpr: Option<f64>,
    pub normalization: Option<String>,
    pub shards: Option<usize>,
}

impl New {
    /// Returns the options for the engine. With `choose`, a window without a filter has the
    /// adviser choose one, as the command line does for a new store.
    pub fn options(&self, choose: bool) -> PyResult<CreateOptions> {
        let mut options = CreateOptions::default();
        let memory = self.memory.as_ref().map(Size::parse).transpose()?;
        match (&self.filter, self.window) {
            (Some(text), _) => options = options.filter(filter(text)?),
            (None, Some(_)) if choose => {
                let question = Question {
                    window: self.window,
                    ..Question::of_memory(memory.unwrap_or(DEFAULT_MEMORY).bits())
                };
                let advice = advise(&question).map_err(|error| errors::of_creation(&error))?;
                options = options.filter(advice.choice.filter);
            }
            _ => {}
        }
        if let Some(memory) = memory {
            options = options.memory_bits(memory.bits());
        }
        if let Some(seed) = self.seed {
            options = options.seed(seed);
        }
        if let Some(seconds) = self.window {
            options = options.window(seconds);
        }
        if let Some(audit) = &self.audit {
            options = options.audit(audit.parse()?.bytes());
        }
        if let Some(log_size) = &self.log_size {
            options = options.log_size(log_size.parse()?.bytes());
        }
        if let Some(rate) = self.max_fpr {
            options = options.max_fpr(rate);
        }
        if let Some(name) = &self.normalization {
            // Before a store is created that could not be opened.
            store_hasher::check_rule(name)?;
            options = options.normalization(name.as_str());
        }
        if let Some(shards) = self.shards {
            options = options.shards(shards);
        }
        Ok(options)
    }
}

/// Returns the options of an open store.
pub fn open_options(sync: Option<&Sync>) -> PyResult<OpenOptions> {
    let durability = sync.map(Sync::durability).transpose()?;
    Ok(OpenOptions::new().durability(durability.unwrap_or_default()))
}
