//! Keys out of bytes: lines split from chunks, and the part of a line that is its key.
//!
//! The command line feeds it from files, the page from a file dropped on it; both get
//! the same keys. Nothing is allocated a line and no line is copied.

mod buffer;
mod key;

pub use buffer::{Line, LineBuffer, LineTooLong, Lines};
pub use key::{KeySelector, KeySelectorError};
