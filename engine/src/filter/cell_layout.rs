//! What the cells of a filter are and how they lie, for people to look at.

use serde::Serialize;

/// A filter's cells in words and numbers. How many there are is
/// [`AnyFilter::cells`](super::AnyFilter::cells); 0 in one is an empty one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Anatomy {
    /// What a cell is called: "bit".
    pub cell: &'static str,
    /// What a cell in use holds of a key: "fingerprint".
    pub content: &'static str,
    /// What cells that belong together are called: "line".
    pub row: &'static str,
    /// How many cells belong together.
    pub row_cells: u64,
    /// The largest value of a cell.
    pub most: u64,
    /// What becomes of a key's cells, or of the key, as others come; it follows "was" or
    /// "were". Empty if nothing does.
    pub loss: &'static str,
}

impl Anatomy {
    /// Cells that hold one bit and are one row.
    pub(super) fn of_bits(count: u64, loss: &'static str) -> Self {
        Anatomy {
            cell: "bit",
            content: "bit",
            row: "filter",
            row_cells: count,
            most: 1,
            loss,
        }
    }

    /// Cells that count and are one row.
    pub(super) fn of_counters(count: u64, most: u32, loss: &'static str) -> Self {
        Anatomy {
            cell: "counter",
            content: "count",
            most: u64::from(most),
            ..Anatomy::of_bits(count, loss)
        }
    }

    /// What a cell holds, as it is shown: a number, or of a whole fingerprint its digits.
    pub fn value_in_words(&self, value: u64) -> String {
        match self.most {
            u64::MAX => format!("{value:016x}"),
            _ => value.to_string(),
        }
    }
}
