//! A table for people: columns as wide as they must be.

pub use dedupstore::figures::{grouped, percent};

/// Rows of cells under a header; the first column is text, the others are numbers.
pub fn render(header: &[&str], rows: &[Vec<String>]) -> String {
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        let widest = cells.map(|cell| cell.chars().count()).max().unwrap_or(0);
        widest.max(header[column].chars().count())
    };
    let widths: Vec<usize> = (0..header.len()).map(width).collect();
    let line = |cells: &mut dyn Iterator<Item = &str>| {
        let padded = cells
            .zip(&widths)
            .enumerate()
            .map(|(i, (cell, &width))| match i {
                0 => format!("{cell:<width$}"),
                _ => format!("{cell:>width$}"),
            });
        let joined = padded.collect::<Vec<_>>().join("  ");
        format!("{}\n", joined.trim_end())
    };
    let mut text = line(&mut header.iter().copied());
    for row in rows {
        text += &line(&mut row.iter().map(String::as_str));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up() {
        let rows = vec![
            vec!["bloom".to_owned(), "1".to_owned()],
            vec!["a".to_owned(), "1,000".to_owned()],
        ];
        assert_eq!(
            render(&["filter", "lines"], &rows),
            "filter  lines\nbloom       1\na       1,000\n"
        );
    }
}
