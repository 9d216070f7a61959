//! A table for people: columns as wide as they must be.

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

/// 1234567 as `1,234,567`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A share as a percentage with three digits that mean something.
pub fn percent(share: Option<f64>) -> String {
    match share.map(|share| 100.0 * share) {
        None => "–".to_owned(),
        Some(0.0) => "0 %".to_owned(),
        Some(percent) if percent >= 10.0 => format!("{percent:.1} %"),
        Some(percent) if percent >= 1.0 => format!("{percent:.2} %"),
        Some(percent) if percent >= 0.001 => format!("{percent:.3} %"),
        Some(percent) if percent >= 1e-9 => format!("{percent:.1e} %"),
        Some(_) => "under 1e-9 %".to_owned(),
    }
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

    #[test]
    fn numbers_for_people() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(999), "999");
        assert_eq!(grouped(1_234_567), "1,234,567");
        assert_eq!(percent(None), "–");
        assert_eq!(percent(Some(0.0)), "0 %");
        assert_eq!(percent(Some(0.16361)), "16.4 %");
        assert_eq!(percent(Some(0.0163)), "1.63 %");
        assert_eq!(percent(Some(0.000_163)), "0.016 %");
        assert_eq!(percent(Some(0.000_001)), "1.0e-4 %");
    }
}
