//! The format of a log, in words, and the keys that its lines may have.

use dedupstore::lines::Shape;
use serde::Serialize;
use tsify::Tsify;

use crate::key_choice::{Fields, KeyPart};

/// The most columns of a table that are offered as keys.
const MOST_COLUMNS: usize = 40;

/// A first line longer than this gets a warning.
const LONG_LINE_BYTES: usize = 256 << 10;

/// A key that the lines of a log may have.
#[derive(Serialize, Tsify)]
pub struct KeyCandidate {
    /// A name for the page's user.
    pub label: String,
    /// The part of the line.
    pub part: KeyPart,
}

impl KeyCandidate {
    fn whole_line() -> Self {
        KeyCandidate {
            label: "The whole line".to_owned(),
            part: KeyPart::Line,
        }
    }

    fn fields(label: &str, numbers: &[u32], delimiter: Option<u8>) -> Self {
        KeyCandidate {
            label: label.to_owned(),
            part: KeyPart::Fields(Fields {
                numbers: numbers.to_vec(),
                delimiter: delimiter.map(|byte| char::from(byte).to_string()),
            }),
        }
    }

    fn json(path: &str) -> Self {
        KeyCandidate {
            label: path.to_owned(),
            part: KeyPart::Json(path.to_owned()),
        }
    }
}

/// Names the format of a log.
pub fn name(shape: &Shape) -> &'static str {
    match shape {
        Shape::Empty => "an empty file",
        Shape::Binary => "binary data, not lines of text",
        Shape::Urls => "one URL per line",
        Shape::AccessLog => "a web server's access log",
        Shape::Table { delimiter, .. } => match delimiter {
            b'\t' => "a table with tabs (TSV)",
            b',' => "a table with commas (CSV)",
            _ => "a table with semicolons",
        },
        Shape::JsonLines { .. } => "JSON lines",
        _ => "lines of text",
    }
}

/// Lists the keys that the lines may have, the most likely first.
pub fn key_candidates(shape: &Shape) -> Vec<KeyCandidate> {
    let mut candidates = match shape {
        Shape::AccessLog => vec![
            KeyCandidate::fields("Requested URL", &[7], None),
            KeyCandidate::fields("IP address", &[1], None),
            KeyCandidate::fields("IP address and URL", &[1, 7], None),
        ],
        Shape::Table {
            delimiter,
            names,
            columns,
            ..
        } => {
            let column = |index: usize| {
                let number = index as u32 + 1;
                let label = match names.get(index) {
                    Some(name) => format!("Column {number}: {name}"),
                    None => format!("Column {number}"),
                };
                KeyCandidate::fields(&label, &[number], Some(*delimiter))
            };
            (0..(*columns).min(MOST_COLUMNS)).map(column).collect()
        }
        Shape::JsonLines { paths } => paths.iter().map(|path| KeyCandidate::json(path)).collect(),
        _ => Vec::new(),
    };
    candidates.push(KeyCandidate::whole_line());
    candidates
}

/// Returns what the page's user should know before running this log; None if there is
/// nothing unusual.
pub fn warning(shape: &Shape, head: &[u8]) -> Option<&'static str> {
    match shape {
        Shape::Binary => Some(
            "This is not a text file. A run would split it wherever a byte equals a newline, \
             and the results would mean little.",
        ),
        Shape::Table { quoted: true, .. } => Some(
            "Some quoted fields contain the delimiter, and the delimiter inside quotes also \
             separates fields, as with `cut`. Columns after such a field are shifted. Use a \
             regular expression to select the key.",
        ),
        _ if head.len() >= LONG_LINE_BYTES && !head.contains(&b'\n') => {
            Some("The first line is very long. Is this a line-based log?")
        }
        _ => None,
    }
}
