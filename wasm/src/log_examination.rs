//! The first look at a log: its format, its likely keys, and a preview.

use dedupstore::KeyHasher;
use dedupstore::lab::Truth;
use dedupstore::lines::{KeyReader, Normalization, Shape};
use serde::Serialize;
use tsify::{Ts, Tsify};
use wasm_bindgen::prelude::*;

use crate::js_error;
use crate::key_choice::{KeyChoice, KeyPart, KeySpec, shown, url_normalization};
use crate::log_format::{self, KeyCandidate};
use crate::suggested_memory;

/// What the first lines of a log show.
#[derive(Serialize, Tsify)]
#[serde(rename_all = "camelCase")]
#[tsify(missing_as_null)]
pub struct LogExamination {
    /// The format, in words: "a web server's access log".
    pub format: &'static str,
    /// What the user should know before running this log; null if nothing.
    pub warning: Option<&'static str>,
    /// The keys to choose from, the most likely first.
    pub candidates: Vec<KeyCandidate>,
    /// The key that was asked for, or the most likely one.
    pub key: KeySpec,
    /// The command-line options for this key, one word each, not quoted.
    pub options: Vec<String>,
    /// The same with those for the importance of lines, if they have one.
    pub weighted_options: Vec<String>,
    /// The first lines.
    pub preview: Vec<PreviewRow>,
    /// About ten bits per distinct key of the whole log, estimated from its first lines.
    pub suggested_memory_bits: f64,
    /// The effect of URL normalization; null if this engine cannot normalize.
    pub normalization: Option<NormalizationEffect>,
}

/// A line and its key.
#[derive(Serialize, Tsify)]
#[tsify(missing_as_null)]
pub struct PreviewRow {
    /// The line, cut if it is long.
    pub line: String,
    /// The key; null if the line has none.
    pub key: Option<String>,
    /// The importance; null if lines have none.
    pub importance: Option<u16>,
}

/// The number of distinct keys in the first lines, with and without URL normalization.
#[derive(Serialize, Tsify)]
pub struct NormalizationEffect {
    /// Lines examined.
    pub lines: u64,
    /// Distinct keys as they are.
    pub distinct: u64,
    /// Distinct keys after normalization.
    pub normalized: u64,
}

/// Examines the first bytes of a log of `total_bytes`. Without a key, the most likely one is used.
#[wasm_bindgen(js_name = examineLog)]
pub fn examine_log(
    head: &[u8],
    key: Option<Ts<KeySpec>>,
    preview_rows: usize,
    total_bytes: f64,
) -> Result<Ts<LogExamination>, JsError> {
    let key = key.map(|key| key.to_rust()).transpose()?;
    let examination = examine(head, key, preview_rows, total_bytes).map_err(js_error)?;
    Ok(examination.into_ts()?)
}

fn examine(
    head: &[u8],
    key: Option<KeySpec>,
    preview_rows: usize,
    total_bytes: f64,
) -> Result<LogExamination, String> {
    let shape = Shape::of(head);
    let candidates = log_format::key_candidates(&shape);
    let key = key.unwrap_or_else(|| KeySpec {
        part: candidates
            .first()
            .map_or(KeyPart::Line, |it| it.part.clone()),
        normalize: false,
        importance: None,
    });
    let choice = KeyChoice::new(&key)?;
    Ok(LogExamination {
        format: log_format::name(&shape),
        warning: log_format::warning(&shape, head),
        candidates,
        key,
        options: choice.without_importance().options(),
        weighted_options: choice.options(),
        preview: preview(&choice, head, preview_rows),
        suggested_memory_bits: suggested_memory::suggested_bits(&choice, head, total_bytes),
        normalization: url_normalization().map(|it| normalization_effect(&choice, it, head)),
    })
}

fn preview(choice: &KeyChoice, head: &[u8], rows: usize) -> Vec<PreviewRow> {
    let (mut reader, mut importance) = (choice.reader(), choice.importance());
    complete_lines(head)
        .take(rows)
        .map(|line| {
            let key = reader.key(line).map(<[u8]>::to_vec);
            PreviewRow {
                line: shown(line),
                key: key.map(|key| shown(reader.shown(&key))),
                importance: importance.is_known().then(|| importance.read(line)),
            }
        })
        .collect()
}

fn normalization_effect(
    choice: &KeyChoice,
    normalization: Normalization,
    head: &[u8],
) -> NormalizationEffect {
    let count_distinct = |mut reader: KeyReader| {
        let hasher = KeyHasher::new(0);
        let mut truth = Truth::for_fingerprints();
        for line in complete_lines(head) {
            if let Some(key) = reader.key(line) {
                truth.is_first(hasher.fingerprint(key).0);
            }
        }
        truth.distinct()
    };
    NormalizationEffect {
        lines: complete_lines(head).count() as u64,
        distinct: count_distinct(choice.reader_with(Normalization::None)),
        normalized: count_distinct(choice.reader_with(normalization)),
    }
}

/// The lines of a log's first bytes, without the last one if it is cut. A single line is
/// kept even if it is cut.
pub(crate) fn complete_lines(head: &[u8]) -> impl Iterator<Item = &[u8]> {
    let end = match head.iter().rposition(|&byte| byte == b'\n') {
        Some(end) => end,
        None => head.len(),
    };
    let lines = head[..end].split(|&byte| byte == b'\n');
    lines.filter(move |_| !head.is_empty())
}
