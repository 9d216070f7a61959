//! The options that describe a filter.

use clap::Args;
use dedupstore::store::CreateOptions;
use dedupstore::{DEFAULT_FILTER, DEFAULT_MEMORY};

use crate::error::Failure;
use crate::given_filter::GivenFilter;
use crate::value_parsers;

/// The filter of a new store, or of a run without a store. An existing store keeps its own: options
/// that are given must agree with it.
#[derive(Debug, Args)]
pub struct FilterArguments {
    #[arg(short, long, help = memory_help(), value_name = "SIZE",
          value_parser = value_parsers::size, help_heading = "Filter")]
    pub memory: Option<u64>,

    #[arg(short, long, help = filter_help(), value_name = "SPEC", help_heading = "Filter",
          value_parser = value_parsers::given_filter(), hide_possible_values = true)]
    pub filter: Option<GivenFilter>,

    /// Forget a key when this time has passed since it was last new, as in 7d, 1d12h, 90m or 30s:
    /// then it is new again. Without --filter, chooses a filter with a window
    #[arg(long, value_name = "SPAN", value_parser = value_parsers::window, allow_hyphen_values = true,
          help_heading = "Filter")]
    pub window: Option<u64>,

    /// The seed of the hash and of the filter's random choices [default: random for a store, 0
    /// for a run in memory]
    #[arg(long, value_name = "N", help_heading = "Filter")]
    pub seed: Option<u64>,
}

fn memory_help() -> String {
    format!("Memory for the filter [default: {DEFAULT_MEMORY}]")
}

fn filter_help() -> String {
    format!(
        "The filter, as name:parameter=value,…; `dedupstore filters` lists them [default: \
         {DEFAULT_FILTER}]"
    )
}

impl FilterArguments {
    /// Returns the options that were given; the others are left unset.
    pub fn options(&self) -> Result<CreateOptions, Failure> {
        let mut options = CreateOptions::default();
        if let Some(filter) = &self.filter {
            options = options.filter(filter.with_window(self.window)?);
        }
        if let Some(seconds) = self.window {
            options = options.window(seconds);
        }
        if let Some(bytes) = self.memory {
            options = options.memory(bytes);
        }
        if let Some(seed) = self.seed {
            options = options.seed(seed);
        }
        Ok(options)
    }
}
