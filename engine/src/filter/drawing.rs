//! A small picture of how a new key changes a few cells.

use serde::Serialize;

/// Rows of cells, one character per cell: `.` is an empty cell, `#` a set bit, a digit a counter,
/// a letter a fingerprint, `x` the fingerprint of the new key. `|` separates partitions.
#[derive(Debug, Serialize)]
pub struct Drawing {
    /// The cells before the new key.
    pub before: &'static [&'static str],
    /// The cells after it.
    pub after: &'static [&'static str],
    /// What happened, in one or two sentences.
    pub caption: &'static str,
}

#[cfg(test)]
mod tests {
    use super::super::{Descriptor, PossibleErrors, registry};

    /// Returns each cell before and after.
    fn cells(it: &Descriptor) -> Vec<(char, char)> {
        let rows = it.drawing.before.iter().zip(it.drawing.after);
        rows.flat_map(|(before, after)| before.chars().zip(after.chars()))
            .collect()
    }

    #[test]
    fn every_drawing_has_the_same_cells_before_and_after() {
        for it in registry() {
            let lengths = |rows: &[&str]| rows.iter().map(|row| row.len()).collect::<Vec<_>>();
            let name = it.name;
            assert_eq!(
                lengths(it.drawing.before),
                lengths(it.drawing.after),
                "{name}"
            );
            assert!(lengths(it.drawing.before).iter().all(|&cells| cells <= 17));
            assert!(it.drawing.caption.ends_with('.'), "{name}");
            let cells = cells(it);
            assert!(
                cells.iter().any(|(before, after)| before != after),
                "{name}"
            );
            for (before, after) in cells {
                assert_eq!(before == '|', after == '|', "{name}");
                for cell in [before, after] {
                    let known = ".#|".contains(cell) || cell.is_ascii_alphanumeric();
                    assert!(known, "{name}: {cell}");
                }
            }
        }
    }

    /// A filter has false negatives because a new key removes something of an older one, except
    /// for a table that takes no more keys when it is full.
    #[test]
    fn a_filter_with_false_negatives_is_drawn_losing_something() {
        for it in registry().iter().filter(|it| it.name != "quotient") {
            let held = |cell: char| match cell {
                '.' => 0,
                digit if digit.is_ascii_digit() => digit as u32 - '0' as u32,
                _ => 1,
            };
            let letters = |pick: fn(&(char, char)) -> char| {
                let mut found: Vec<char> = cells(it).iter().map(pick).collect();
                found.retain(|cell| cell.is_ascii_lowercase());
                found
            };
            let after = letters(|cell| cell.1);
            let lost = letters(|cell| cell.0)
                .iter()
                .any(|held| !after.contains(held));
            let lowered = cells(it).iter().any(|cell| held(cell.0) > held(cell.1));
            assert_eq!(
                lost || lowered,
                it.errors != PossibleErrors::FalsePositives,
                "{}",
                it.name
            );
        }
    }
}
