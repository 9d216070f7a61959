//! What the cells of a filter are and how they are arranged, for displaying them.

/// The cells of a filter, in words and numbers. [`AnyFilter::cells`](super::AnyFilter::cells) is
/// their number. An empty cell has the value 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CellLayout {
    /// The name of a cell, such as "bit".
    pub cell: &'static str,
    /// What a cell stores of a key, such as "fingerprint".
    pub content: &'static str,
    /// The name of a group of cells, such as "cache line".
    pub row: &'static str,
    /// The number of cells in a group.
    pub row_cells: u64,
    /// The largest value of a cell.
    pub max_value: u64,
    /// What newer keys do to the cells of a key; follows "was" or "were". Empty if they do
    /// nothing.
    pub loss: &'static str,
}

impl CellLayout {
    /// Returns the layout of bits in one group.
    pub(super) fn of_bits(count: u64, loss: &'static str) -> Self {
        CellLayout {
            cell: "bit",
            content: "bit",
            row: "filter",
            row_cells: count,
            max_value: 1,
            loss,
        }
    }

    /// Returns the layout of counters in one group.
    pub(super) fn of_counters(count: u64, max: u32, loss: &'static str) -> Self {
        CellLayout {
            cell: "counter",
            content: "count",
            max_value: u64::from(max),
            ..CellLayout::of_bits(count, loss)
        }
    }

    /// Formats the value of a cell: a number, or the hexadecimal digits of a whole fingerprint.
    pub fn value_in_words(&self, value: u64) -> String {
        match self.max_value {
            u64::MAX => format!("{value:016x}"),
            _ => value.to_string(),
        }
    }
}
