//! The options that say where lines have their importance.

use clap::Args;
use dedupstore::lines::{ImportanceFormat, ImportanceOptions, JsonPath, ValueSelector};

use crate::value_parsers;

/// Where lines have their importance, for filters that use it. A store records these options, like
/// the key options.
#[derive(Clone, Debug, Args)]
pub struct ImportanceArguments {
    /// Take the importance from the N-th field of a line, counted from 1; --delimiter applies to
    /// it. A line without a readable importance has importance 1
    #[arg(long, value_name = "N", value_parser = value_parsers::field_number,
          help_heading = "Importance", group = "importance")]
    importance_field: Option<usize>,

    /// Take the importance from a value of a JSON line, as in page.rank
    #[arg(
        long,
        value_name = "PATH",
        help_heading = "Importance",
        group = "importance"
    )]
    importance_json_key: Option<JsonPath>,

    /// What the value is: an importance from 0 to 65535, rounded (number); a link depth d, whose
    /// importance is 50 / (d + 1) and at least 1 (depth); or a PageRank p, whose importance is 50 +
    /// 2 log2(p), from 1 to 50 (pagerank) [default: number]
    #[arg(long, value_name = "FORMAT", value_parser = value_parsers::importance_format(),
          hide_possible_values = true, requires = "importance", help_heading = "Importance")]
    importance_format: Option<ImportanceFormat>,
}

impl ImportanceArguments {
    /// Returns the options that were given; None if lines have no importance.
    pub fn options(&self, delimiter: Option<u8>) -> Option<ImportanceOptions> {
        let selector = match (self.importance_field, &self.importance_json_key) {
            (Some(number), _) => ValueSelector::Field {
                index: number - 1,
                delimiter,
            },
            (None, Some(path)) => ValueSelector::Json(path.clone()),
            (None, None) => return None,
        };
        Some(ImportanceOptions {
            selector: Some(selector),
            format: self.importance_format,
        })
    }
}
