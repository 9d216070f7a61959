//! Splits bytes into lines and finds the key of each line.
//!
//! The command line reads files with it, the page a file that was dropped on it; both get the
//! same keys. Lines are not copied, and nothing is allocated per line, unless a key must be
//! decoded or normalized.

mod buffer;
mod clock;
mod json;
mod json_members;
mod key;
mod line;
mod normalization;
#[cfg(feature = "patterns")]
mod pattern;
mod shape;

pub use buffer::{LineBuffer, LineTooLong, Part, Piece};
pub use clock::LineClock;
pub use json::{JsonPath, JsonPathError};
pub use key::{KeyReader, KeySelector, KeySelectorError};
pub use line::{Line, Lines};
pub use normalization::{Normalization, UnknownNormalization};
#[cfg(feature = "patterns")]
pub use pattern::{KeyPattern, KeyPatternError};
pub use shape::Shape;
