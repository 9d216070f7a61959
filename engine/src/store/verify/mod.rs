//! Checking every byte of a store.

mod examination;
mod finding;

pub use examination::{Examination, examine, is_zero, verify_on};
pub use finding::{Finding, Severity};
