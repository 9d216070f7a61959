//! Which part of a line is its key, chosen on the page and found by the engine.

use dedupstore::KeyHasher;
use dedupstore::lab::Truth;
use dedupstore::lines::{JsonPath, KeyReader, KeySelector, Normalization};
use wasm_bindgen::prelude::*;

/// As much of a line as a preview shows.
const SHOWN_CHARACTERS: usize = 240;

/// A choice of key.
#[wasm_bindgen]
#[derive(Clone)]
pub struct KeyChoice {
    selector: KeySelector,
    normalization: Normalization,
    options: Vec<String>,
}

#[wasm_bindgen]
impl KeyChoice {
    /// The whole line.
    #[wasm_bindgen(js_name = wholeLine)]
    pub fn whole_line() -> KeyChoice {
        KeyChoice::of(KeySelector::WholeLine, Vec::new())
    }

    /// Fields counted from 1, between a delimiter of one byte or, without one, between
    /// blanks; several are joined.
    pub fn fields(numbers: Vec<u32>, delimiter: Option<String>) -> Result<KeyChoice, JsError> {
        let byte = match delimiter.as_deref().map(str::as_bytes) {
            None | Some([]) => None,
            Some(&[byte]) => Some(byte),
            Some(_) => return Err(JsError::new("The delimiter must be one byte.")),
        };
        let numbers: Vec<usize> = numbers.iter().map(|&number| number as usize).collect();
        let texts: Vec<String> = numbers.iter().map(usize::to_string).collect();
        let mut options = vec!["--field".to_owned(), texts.join(",")];
        if let Some(byte) = byte {
            let tab = byte == b'\t';
            let text = if tab {
                "\\t".into()
            } else {
                char::from(byte).to_string()
            };
            options.extend(["--delimiter".to_owned(), text]);
        }
        Ok(KeyChoice::of(KeySelector::fields(&numbers, byte)?, options))
    }

    /// A value of a JSON line.
    pub fn json(path: &str) -> Result<KeyChoice, JsError> {
        let selector = KeySelector::Json(path.parse::<JsonPath>()?);
        let options = vec!["--json-key".to_owned(), path.to_owned()];
        Ok(KeyChoice::of(selector, options))
    }

    /// What a regular expression finds: its first group, or all of it. An engine without
    /// the feature refuses.
    #[cfg_attr(not(feature = "patterns"), allow(unused_variables))]
    pub fn pattern(expression: &str) -> Result<KeyChoice, JsError> {
        #[cfg(feature = "patterns")]
        return Ok(KeyChoice::of(
            KeySelector::Pattern(expression.parse::<dedupstore::lines::KeyPattern>()?),
            vec!["--key-regex".to_owned(), expression.to_owned()],
        ));
        #[cfg(not(feature = "patterns"))]
        Err(JsError::new(
            "This engine has no regular expressions; the command line has: --key-regex.",
        ))
    }

    /// The same with URLs in one spelling each. An engine without the feature refuses.
    pub fn normalized(&self) -> Result<KeyChoice, JsError> {
        if one_spelling() == Normalization::None {
            return Err(JsError::new(
                "This engine cannot normalize URLs; the command line can: --normalize whatwg.",
            ));
        }
        let mut options = self.options.clone();
        options.extend(["--normalize".to_owned(), "whatwg".to_owned()]);
        Ok(KeyChoice {
            selector: self.selector.clone(),
            normalization: one_spelling(),
            options,
        })
    }

    /// The command line's options for the same, a word each, not quoted.
    #[wasm_bindgen(getter)]
    pub fn options(&self) -> Vec<String> {
        self.options.clone()
    }

    /// The first lines of a log with the keys found in them.
    pub fn preview(&self, head: &[u8], most: usize) -> Vec<PreviewRow> {
        let mut reader = self.reader();
        complete_lines(head)
            .take(most)
            .map(|line| PreviewRow {
                line: shown(line),
                key: reader.key(line).map(shown),
            })
            .collect()
    }

    /// How many different keys the first lines of a log have, as they are and normalized;
    /// nothing in an engine that cannot normalize.
    pub fn merging(&self, head: &[u8]) -> Option<Merging> {
        if one_spelling() == Normalization::None {
            return None;
        }
        let hasher = KeyHasher::new(0);
        let mut as_they_are = KeyReader::new(self.selector.clone(), Normalization::None);
        let mut normalized = KeyReader::new(self.selector.clone(), one_spelling());
        let mut plain = Truth::for_fingerprints();
        let mut merged = Truth::for_fingerprints();
        let mut lines = 0u32;
        for line in complete_lines(head) {
            lines += 1;
            if let Some(key) = as_they_are.key(line) {
                plain.is_first(hasher.fingerprint(key).0);
            }
            if let Some(key) = normalized.key(line) {
                merged.is_first(hasher.fingerprint(key).0);
            }
        }
        Some(Merging {
            lines,
            distinct: plain.distinct() as f64,
            normalized: merged.distinct() as f64,
        })
    }
}

impl KeyChoice {
    fn of(selector: KeySelector, options: Vec<String>) -> Self {
        KeyChoice {
            selector,
            normalization: Normalization::None,
            options,
        }
    }

    #[cfg(feature = "stores")]
    pub(crate) fn normalization(&self) -> Normalization {
        self.normalization
    }

    pub(crate) fn reader(&self) -> KeyReader {
        KeyReader::new(self.selector.clone(), self.normalization)
    }
}

/// The last that the engine knows; the first is none.
fn one_spelling() -> Normalization {
    Normalization::ALL.last().copied().unwrap_or_default()
}

/// A line and its key.
#[wasm_bindgen(getter_with_clone)]
pub struct PreviewRow {
    /// The line, cut where it is long.
    #[wasm_bindgen(readonly)]
    pub line: String,
    /// The key, if the line has one.
    #[wasm_bindgen(readonly)]
    pub key: Option<String>,
}

/// What normalization does to the keys of a log's first lines.
#[wasm_bindgen]
pub struct Merging {
    /// Lines looked at.
    #[wasm_bindgen(readonly)]
    pub lines: u32,
    /// Different keys as they are.
    #[wasm_bindgen(readonly)]
    pub distinct: f64,
    /// Different keys when normalized.
    #[wasm_bindgen(readonly)]
    pub normalized: f64,
}

/// The lines of a log's first bytes. The last is cut short unless it is all there is.
fn complete_lines(head: &[u8]) -> impl Iterator<Item = &[u8]> {
    let end = match head.iter().rposition(|&byte| byte == b'\n') {
        Some(end) => end,
        None => head.len(),
    };
    let lines = head[..end].split(|&byte| byte == b'\n');
    lines.filter(move |_| !head.is_empty())
}

pub(crate) fn shown(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let mut characters = text.chars();
    let mut start: String = characters.by_ref().take(SHOWN_CHARACTERS).collect();
    if characters.next().is_some() {
        start.push('…');
    }
    start
}
