//! Keys out of bytes: lines split from chunks, and the part of a line that is its key.
//!
//! The command line feeds it from files, the page from a file dropped on it; both get
//! the same keys. No line is copied, and nothing is allocated a line, unless a key must be
//! normalized.

mod buffer;
mod clock;
mod json;
mod json_members;
mod key;
mod normalization;
#[cfg(feature = "patterns")]
mod pattern;
mod shape;

pub use buffer::{Line, LineBuffer, LineTooLong, Lines};
pub use clock::LineClock;
pub use json::{JsonPath, JsonPathError};
pub use key::{KeyReader, KeySelector, KeySelectorError};
pub use normalization::{Normalization, UnknownNormalization};
#[cfg(feature = "patterns")]
pub use pattern::{KeyPattern, KeyPatternError};
pub use shape::Shape;
