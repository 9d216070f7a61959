//! A place in a source file where one small mistake can be switched on.

use std::ops::Range;

/// A mistake, and where it is made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Point {
    /// The bytes of the file that the switch replaces; empty for an insertion.
    pub range: Range<usize>,
    /// The line, from 1.
    pub line: usize,
    /// The function that contains it.
    pub function: String,
    /// What is changed.
    pub change: Change,
}

/// A small mistake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Another operator between two operands.
    Operator {
        /// The left operand.
        left: Range<usize>,
        /// The right operand.
        right: Range<usize>,
        /// The operator of the source.
        from: &'static str,
        /// The other one.
        to: &'static str,
    },
    /// Another number.
    Number(String),
    /// The opposite of a condition.
    Negation,
    /// A statement that is left out.
    Deletion,
    /// A function that returns at once.
    Return(&'static str),
}

impl Point {
    /// Describes the mistake in one line, given the source of the file.
    pub fn describe(&self, source: &str) -> String {
        let text = |range: &Range<usize>| {
            let words: Vec<&str> = source[range.clone()].split_whitespace().collect();
            let text = words.join(" ");
            match text.char_indices().nth(60) {
                Some((end, _)) => format!("{}…", &text[..end]),
                None => text,
            }
        };
        let change = match &self.change {
            Change::Operator { from, to, .. } => {
                format!("`{}`: {to} for {from}", text(&self.range))
            }
            Change::Number(to) => format!("{to} for {}", text(&self.range)),
            Change::Negation => format!("`{}` negated", text(&self.range)),
            Change::Deletion => format!("without `{}`", text(&self.range)),
            Change::Return(value) => format!("returns {value} at once"),
        };
        format!("in {}: {change}", self.function)
    }
}

/// Writes a source file with switches at some points, which are numbered.
pub fn with_switches(source: &str, points: &[(usize, &Point)]) -> String {
    let mut sorted = points.to_vec();
    // The outer one of two points first; an insertion before what starts at the same byte.
    sorted.sort_by_key(|(_, point)| {
        let is_insertion = !point.range.is_empty();
        (
            point.range.start,
            is_insertion,
            usize::MAX - point.range.end,
        )
    });
    render(source, 0..source.len(), &sorted)
}

fn render(source: &str, range: Range<usize>, points: &[(usize, &Point)]) -> String {
    let mut text = String::new();
    let mut at = range.start;
    let mut rest = points;
    while let Some(((number, point), after)) = rest.split_first() {
        if point.range.start < at || point.range.end > range.end {
            rest = after;
            continue;
        }
        let end = point.range.end;
        let inside = after
            .iter()
            .take_while(|(_, inner)| inner.range.start < end)
            .count();
        let (inside, outside) = after.split_at(inside);
        text += &source[at..point.range.start];
        text += &switched(source, *number, point, inside);
        at = end;
        rest = outside;
    }
    text + &source[at..range.end]
}

fn switched(source: &str, number: usize, point: &Point, inside: &[(usize, &Point)]) -> String {
    let part = |range: &Range<usize>| render(source, range.clone(), inside);
    let on = format!("crate::mutation_switch::is_on({number})");
    match &point.change {
        Change::Operator {
            left,
            right,
            from,
            to,
        } => {
            let (left, right) = (part(left), part(right));
            format!("(if {on} {{ {left} {to} {right} }} else {{ {left} {from} {right} }})")
        }
        Change::Number(to) => format!("(if {on} {{ {to} }} else {{ {} }})", part(&point.range)),
        Change::Negation => format!("({on} != ({}))", part(&point.range)),
        Change::Deletion => format!("if !{on} {{ {} }}", part(&point.range)),
        Change::Return(value) => format!(" if {on} {{ return {value}; }} "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::points_in;

    #[test]
    fn switches_inside_switches_keep_the_source() {
        let source = "fn f(a: u64) -> bool { let b = a + 10 < 20; b && a > 5 }\n";
        let points = points_in(source).expect("Rust");
        let numbered: Vec<(usize, &Point)> = points.iter().enumerate().collect();
        let text = with_switches(source, &numbered);
        syn::parse_file(&text).expect("Rust");
        // Without the switches, every part of the source is still there.
        for part in ["a + ", "10", "20", "&&", "a > "] {
            assert!(text.contains(part), "{part}: {text}");
        }
        let kinds: Vec<String> = points.iter().map(|it| it.describe(source)).collect();
        assert!(kinds.iter().any(|it| it.contains("<= for <")), "{kinds:?}");
        assert!(kinds.iter().any(|it| it.contains("|| for &&")), "{kinds:?}");
        assert!(
            kinds.iter().any(|it| it.contains("returns true")),
            "{kinds:?}"
        );
    }
}
