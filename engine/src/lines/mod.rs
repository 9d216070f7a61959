//! Splits bytes into lines and finds the key of each line.
//!
//! The command line reads files with it, the page a file that was dropped on it; both get the
//! same keys. Lines are not copied, and nothing is allocated per line, unless a key must be
//! decoded or normalized.
//!
//! A [`KeyRule`] says how keys are found, and the times and the importance of lines if they have
//! their own; a store records its text form. [`KeyOptions`] are the parts of it that a caller asks for.

mod block;
mod buffer;
mod calendar;
mod clock;
mod fields;
mod importance_rule;
mod json;
mod json_members;
mod json_path;
mod json_text;
mod json_time;
mod key;
mod key_options;
mod key_rule;
mod key_statistics;
mod line;
mod normalize;
#[cfg(feature = "patterns")]
mod pattern;
mod shape;
mod time_format;
mod time_rule;
mod value_rule;

pub use block::LineBlock;
pub use buffer::{LineBuffer, LineTooLong, Part, Piece};
pub use clock::LineClock;
pub use fields::{FieldList, FieldListError};
pub use importance_rule::{
    ImportanceFormat, ImportanceOptions, ImportanceReader, ImportanceRule, LEAST_IMPORTANCE,
    UnknownImportanceFormat, importance_of_depth,
};
pub use json::{JsonBuffers, JsonValue};
pub use json_path::{JsonPath, JsonPathError};
pub use key::{KeyReader, KeySelector};
pub use key_options::{KeyOptions, KeyOptionsError, KeyRulePart, RecordedKey};
pub use key_rule::{KeyRule, KeyRuleError, LineEnd};
pub use key_statistics::{KeyRank, KeyStatistics};
pub use line::{Line, Lines};
#[cfg(feature = "normalization")]
pub use normalize::CRAWL_DROPPED;
pub use normalize::{
    Normalization, Normalizer, ParameterPattern, ParameterPatternError, UnknownNormalization,
};
#[cfg(feature = "patterns")]
pub use pattern::{KeyPattern, KeyPatternError};
pub use shape::Shape;
pub use time_format::{TimeFormat, UnknownTimeFormat};
pub use time_rule::{TimeOptions, TimeReader, TimeRule};
pub use value_rule::{ValueOptions, ValueRule, ValueSelector};
