//! The format of a log, in words, and the keys that its lines may have.

use dedupstore::Fingerprint;
use dedupstore::lab::Truth;
use dedupstore::lines::{KeyRank, KeyStatistics, Shape};
use dedupstore_view::grouped;
use serde::Serialize;
use tsify::Tsify;

use crate::key_choice::{Fields, KeyChoice, KeyPart, KeySpec};

/// The most columns of a table that are offered as keys.
const MOST_COLUMNS: usize = 40;

/// A first line longer than this gets a warning.
const LONG_LINE_BYTES: usize = 256 << 10;

/// Fewer keys than this without a repeat are no reason for a warning.
const FEW_KEYS: u64 = 20;

/// A key that the lines of a log may have.
#[derive(Serialize, Tsify)]
pub struct KeyCandidate {
    /// A name for the page's user.
    pub label: String,
    /// The name of the column or of the JSON value; empty if it has none.
    #[serde(skip)]
    #[tsify(type = "never")]
    name: String,
    /// The part of the line.
    pub part: KeyPart,
}

impl KeyCandidate {
    fn whole_line() -> Self {
        KeyCandidate {
            label: "The whole line".to_owned(),
            name: String::new(),
            part: KeyPart::Line,
        }
    }

    fn fields(label: &str, numbers: &[u32], delimiter: Option<u8>) -> Self {
        KeyCandidate {
            label: label.to_owned(),
            name: String::new(),
            part: KeyPart::Fields(Fields {
                numbers: numbers.to_vec(),
                delimiter: delimiter.map(|byte| char::from(byte).to_string()),
            }),
        }
    }

    fn json(path: &str) -> Self {
        KeyCandidate {
            label: path.to_owned(),
            name: path.to_owned(),
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
        Shape::Table {
            delimiter, names, ..
        } => match (delimiter, names.is_empty()) {
            (b'\t', true) => "a table with tabs (TSV)",
            (b',', true) => "a table with commas (CSV)",
            (_, true) => "a table with semicolons",
            (b'\t', false) => "a table with tabs (TSV), with column names in its first line",
            (b',', false) => "a table with commas (CSV), with column names in its first line",
            (_, false) => "a table with semicolons, with column names in its first line",
        },
        Shape::JsonLines { .. } => "JSON lines",
        _ => "lines of text",
    }
}

/// Lists the keys that the lines may have, the most likely first. The lines say which values are
/// URLs, times or ids, and which come again.
pub fn key_candidates(shape: &Shape, lines: &[&[u8]]) -> Vec<KeyCandidate> {
    let mut ranked: Vec<(KeyRank, KeyCandidate)> = Vec::new();
    for candidate in parts_of_lines(shape) {
        let statistics = match shape {
            // The order is known.
            Shape::AccessLog => KeyStatistics::default(),
            _ => statistics_of(&candidate.part, lines),
        };
        let rank = statistics.rank(&candidate.name);
        let place = ranked.iter().position(|(other, _)| rank < *other);
        ranked.insert(place.unwrap_or(ranked.len()), (rank, candidate));
    }
    let mut candidates: Vec<KeyCandidate> = ranked.into_iter().map(|it| it.1).collect();
    candidates.push(KeyCandidate::whole_line());
    candidates
}

/// Examines the keys of lines. There are none if the part of a line cannot be read.
fn statistics_of(part: &KeyPart, lines: &[&[u8]]) -> KeyStatistics {
    let key = KeySpec {
        part: part.clone(),
        normalize: false,
        importance: None,
    };
    let Ok(choice) = KeyChoice::new(&key) else {
        return KeyStatistics::default();
    };
    examine_keys(&choice, lines)
}

/// Examines the keys of lines.
pub fn examine_keys(choice: &KeyChoice, lines: &[&[u8]]) -> KeyStatistics {
    let mut truth = Truth::for_fingerprints();
    let is_first = |key: Fingerprint| truth.is_first(key.0);
    KeyStatistics::of(lines.iter().copied(), &mut choice.reader(), is_first)
}

/// Returns the number of lines before the data: 1 if the first line names the columns.
pub fn header_lines(shape: &Shape) -> usize {
    match shape {
        Shape::Table { names, .. } => usize::from(!names.is_empty()),
        _ => 0,
    }
}

fn parts_of_lines(shape: &Shape) -> Vec<KeyCandidate> {
    match shape {
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
                KeyCandidate {
                    name: names.get(index).cloned().unwrap_or_default(),
                    ..KeyCandidate::fields(&label, &[number], Some(*delimiter))
                }
            };
            (0..(*columns).min(MOST_COLUMNS)).map(column).collect()
        }
        Shape::JsonLines { paths } => paths.iter().map(|path| KeyCandidate::json(path)).collect(),
        _ => Vec::new(),
    }
}

/// Returns what the page's user should know before running this log with a key; None if there
/// is nothing unusual.
pub fn warning(shape: &Shape, head: &[u8], key: &KeyStatistics) -> Option<String> {
    format_warning(shape, head)
        .map(str::to_owned)
        .or_else(|| key_warning(key))
}

fn key_warning(key: &KeyStatistics) -> Option<String> {
    let KeyStatistics { keys, distinct, .. } = *key;
    if keys < FEW_KEYS || distinct < keys {
        return None;
    }
    let keys = grouped(keys);
    Some(match key.are_times() {
        true => format!(
            "This key is a time, and none of the first {keys} comes twice. Choose the part of \
             the line that identifies what comes again."
        ),
        false => format!(
            "None of the first {keys} keys comes twice. If the log has repeats, choose another \
             part of the line."
        ),
    })
}

fn format_warning(shape: &Shape, head: &[u8]) -> Option<&'static str> {
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
