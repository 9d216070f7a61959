//! A key's coming, drawn: a few cells before and after.

use serde::Serialize;

/// Rows of cells, a character each: `.` is empty, `#` a bit that is set, a digit a count, a
/// letter a fingerprint, `x` that of the key that comes; `|` parts what is kept apart.
#[derive(Debug, Serialize)]
pub struct Drawing {
    /// Before a new key comes.
    pub before: &'static [&'static str],
    /// After it came.
    pub after: &'static [&'static str],
    /// What happened, in a sentence or two.
    pub caption: &'static str,
}

#[cfg(test)]
mod tests {
    use super::super::{Descriptor, Errs, registry};

    /// Each cell before and after.
    fn cells(it: &Descriptor) -> Vec<(char, char)> {
        let rows = it.drawing.before.iter().zip(it.drawing.after);
        rows.flat_map(|(before, after)| before.chars().zip(after.chars()))
            .collect()
    }

    #[test]
    fn every_filter_is_drawn_in_cells_that_stay_where_they_are() {
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

    /// A filter misses repeats because something of them is lost when others come.
    #[test]
    fn what_forgets_is_drawn_forgetting() {
        for it in registry() {
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
            let gone = letters(|cell| cell.0)
                .iter()
                .any(|held| !after.contains(held));
            let lowered = cells(it).iter().any(|cell| held(cell.0) > held(cell.1));
            assert_eq!(gone || lowered, it.errs != Errs::DropsNew, "{}", it.name);
        }
    }
}
