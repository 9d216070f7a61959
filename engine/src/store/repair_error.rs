//! Errors of a repair.

use std::fmt;

use super::error::{Damage, StoreError};

/// The reason why a store was not repaired.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RepairError {
    /// A repair would lose durable observations. Nothing was changed.
    #[error("the store can be repaired up to observation {kept}, but {lost} would be lost")]
    WouldLose {
        /// The number of observations that a repair keeps: the first ones.
        kept: u64,
        /// The observations that it loses.
        lost: Loss,
    },
    /// No image is intact. Nothing was changed.
    #[error("the store cannot be repaired: no image is intact; {damage}")]
    NothingLeft {
        /// The first damage found.
        damage: Damage,
    },
    /// The store cannot be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Observations that were durable and cannot be recovered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loss {
    /// The number of the first, counted from 1.
    pub first: u64,
    /// The number of the last; None if the mark, which holds it, is lost too.
    pub last: Option<u64>,
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let first = self.first;
        match self.last {
            Some(last) if last == first => write!(f, "observation {first}"),
            Some(last) => write!(f, "observations {first} to {last}"),
            None => write!(f, "observations from {first} on (their number is unknown)"),
        }
    }
}
