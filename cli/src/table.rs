//! Renders tables of text.

pub use dedupstore_view::{grouped, percent, plural};

/// The greatest width of lists in the help.
const LINE_WIDTH: usize = 80;

/// Returns the width of lists in the help. Clap wraps lines that are wider than the terminal,
/// without indentation, so they must not be; it finds the width in the same way.
fn line_width() -> usize {
    let columns = match terminal_size::terminal_size() {
        Some((width, _)) => Some(usize::from(width.0)),
        None => std::env::var("COLUMNS")
            .ok()
            .and_then(|text| text.parse().ok()),
    };
    columns.map_or(LINE_WIDTH, |columns| columns.min(LINE_WIDTH))
}

/// Renders terms and their descriptions in two columns; long descriptions are wrapped.
pub fn definitions<'a>(rows: impl Iterator<Item = (&'a str, String)> + Clone) -> String {
    let width = rows.clone().map(|(term, _)| term.len()).max().unwrap_or(0);
    let line_width = line_width();
    let mut text = String::new();
    for (term, description) in rows {
        let mut line = format!("  {term:width$} ");
        for word in description.split_whitespace() {
            if line.chars().count() + 1 + word.chars().count() > line_width {
                text += &format!("{line}\n");
                line = " ".repeat(width + 3);
            }
            line += &format!(" {word}");
        }
        text += &format!("{line}\n");
    }
    text
}

/// Formats a number with four significant digits.
pub fn significant(number: f64) -> String {
    if number == 0.0 {
        return "0".to_owned();
    }
    let whole_digits = number.abs().max(1e-9).log10().floor() as i32 + 1;
    format!("{number:.*}", (4 - whole_digits).clamp(0, 6) as usize)
}

/// Renders rows under a header. The first column is left-aligned, the others right-aligned.
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
    fn columns_are_aligned() {
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
