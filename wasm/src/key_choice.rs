//! The part of each line that is its key.

use dedupstore::lines::{FieldList, JsonPath, KeyReader, KeyRule, KeySelector, Normalization};
use dedupstore_view::key_options;
use serde::{Deserialize, Serialize};
use tsify::Tsify;

use crate::line_importance::LineImportance;

/// The longest text that the page shows of a line or a key.
const SHOWN_CHARACTERS: usize = 240;

/// The characters of a long key that are shown before and after the cut.
const SHOWN_START: usize = 40;
const SHOWN_END: usize = 55;

/// The key of a line, as the page sets it.
#[derive(Clone, Deserialize, Serialize, Tsify)]
#[tsify(missing_as_null)]
pub struct KeySpec {
    /// The part of the line.
    pub part: KeyPart,
    /// Whether URLs are normalized, so that each has one spelling.
    pub normalize: bool,
    /// Where the importance of a line is, as in the text form of a rule:
    /// `importance=2,importance-format=depth`. Null if lines have none.
    pub importance: Option<String>,
}

/// A part of a line.
#[derive(Clone, Deserialize, Serialize, Tsify)]
#[serde(rename_all = "lowercase")]
#[tsify(missing_as_null)]
pub enum KeyPart {
    /// The whole line.
    Line,
    /// One field, or several joined fields.
    Fields(Fields),
    /// A value of a JSON line, by its path: `request.url` or `items[0].link`.
    Json(String),
    /// The match of a regular expression: its first group, or the whole match.
    Regex(String),
}

/// Fields of a line.
#[derive(Clone, Deserialize, Serialize, Tsify)]
#[tsify(missing_as_null)]
pub struct Fields {
    /// Counted from 1.
    pub numbers: Vec<u32>,
    /// One byte; null if blanks separate the fields.
    pub delimiter: Option<String>,
}

/// A key specification that the engine accepted.
#[derive(Clone)]
pub struct KeyChoice {
    rule: KeyRule,
}

impl KeyChoice {
    /// Fails if the specification is invalid, or if this build of the engine lacks the
    /// feature. The error is a sentence for the page's user.
    pub fn new(spec: &KeySpec) -> Result<Self, String> {
        let selector = match &spec.part {
            KeyPart::Line => KeySelector::WholeLine,
            KeyPart::Fields(fields) => select_fields(fields)?,
            KeyPart::Json(path) => {
                KeySelector::Json(path.parse::<JsonPath>().map_err(|it| it.to_string())?)
            }
            KeyPart::Regex(expression) => pattern(expression)?,
        };
        let mut rule = KeyRule::from(selector);
        if spec.normalize {
            rule.normalization = url_normalization().ok_or(
                "This engine cannot normalize URLs. The command line can: --normalize whatwg.",
            )?;
        }
        if let Some(text) = &spec.importance {
            set_importance(&mut rule, text)?;
        }
        Ok(KeyChoice { rule })
    }

    /// The same key for a filter that does not use importance.
    pub fn without_importance(&self) -> Self {
        let mut rule = self.rule.clone();
        rule.importance = None;
        KeyChoice { rule }
    }

    /// The command-line options for the same key, one word each, not quoted.
    pub fn options(&self) -> Vec<String> {
        key_options(&self.rule)
    }

    /// A reader of the importance of lines.
    pub fn importance(&self) -> LineImportance {
        LineImportance::of(&self.rule)
    }

    /// The rule, as a store records it.
    #[cfg(feature = "stores")]
    pub fn rule(&self) -> KeyRule {
        self.rule.clone()
    }

    /// A reader of these keys.
    pub fn reader(&self) -> KeyReader {
        KeyReader::of(self.rule.clone())
    }

    /// A reader of fields, for other parts of a line than its key.
    #[cfg(feature = "all-filters")]
    pub fn reader_of_fields(fields: &Fields) -> Result<KeyReader, String> {
        Ok(KeyReader::of(KeyRule::from(select_fields(fields)?)))
    }

    /// A reader of the same keys with another normalization.
    pub fn reader_with(&self, normalization: Normalization) -> KeyReader {
        let mut rule = self.rule.clone();
        rule.normalization = normalization;
        KeyReader::of(rule)
    }
}

#[cfg(feature = "all-filters")]
fn set_importance(rule: &mut KeyRule, text: &str) -> Result<(), String> {
    let parsed = format!("line,{text}").parse::<KeyRule>();
    rule.importance = parsed.map_err(|it| it.to_string())?.importance;
    Ok(())
}

#[cfg(not(feature = "all-filters"))]
fn set_importance(_: &mut KeyRule, _: &str) -> Result<(), String> {
    Err("This engine does not read importance. The page has another one that does.".to_owned())
}

fn select_fields(Fields { numbers, delimiter }: &Fields) -> Result<KeySelector, String> {
    let byte = match delimiter.as_deref().map(str::as_bytes) {
        None | Some([]) => None,
        Some(&[byte]) => Some(byte),
        Some(_) => return Err("The delimiter must be one byte.".to_owned()),
    };
    let texts: Vec<String> = numbers.iter().map(u32::to_string).collect();
    let fields = texts.join(",").parse::<FieldList>();
    Ok(KeySelector::fields(
        fields.map_err(|it| it.to_string())?,
        byte,
    ))
}

#[cfg(feature = "patterns")]
fn pattern(expression: &str) -> Result<KeySelector, String> {
    let pattern = expression.parse::<dedupstore::lines::KeyPattern>();
    pattern
        .map(KeySelector::Pattern)
        .map_err(|it| it.to_string())
}

#[cfg(not(feature = "patterns"))]
fn pattern(_: &str) -> Result<KeySelector, String> {
    Err(
        "This engine has no regular expressions. The command line has them: --key-regex."
            .to_owned(),
    )
}

/// The normalization of URLs; None if this build of the engine has none.
pub fn url_normalization() -> Option<Normalization> {
    "whatwg".parse().ok()
}

/// Bytes as text for the page, cut if it is long.
pub fn shown(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let mut characters = text.chars();
    let mut start: String = characters.by_ref().take(SHOWN_CHARACTERS).collect();
    if characters.next().is_some() {
        start.push('…');
    }
    start
}

/// A key as text for the page. The middle of a long key is cut: keys of one site have the same
/// start, and differ at their end.
pub fn shown_without_middle(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let count = text.chars().count();
    if count <= SHOWN_START + SHOWN_END + 1 {
        return text.into_owned();
    }
    let start = text.chars().take(SHOWN_START);
    let end = text.chars().skip(count - SHOWN_END);
    start.chain(['…']).chain(end).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_keys_keep_their_start_and_their_end() {
        let short = "x".repeat(SHOWN_START + SHOWN_END + 1);
        assert_eq!(shown_without_middle(short.as_bytes()), short);
        let long = format!("https://a.example/{}/end", "ö".repeat(200));
        let shown = shown_without_middle(long.as_bytes());
        assert_eq!(shown.chars().count(), SHOWN_START + SHOWN_END + 1);
        assert!(shown.starts_with("https://a.example/ö") && shown.ends_with("ö/end"));
        assert!(shown.contains('…'));
    }
}
