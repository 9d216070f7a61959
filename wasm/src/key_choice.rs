//! The part of each line that is its key.

use dedupstore::lines::{JsonPath, KeyReader, KeySelector, Normalization};
use serde::{Deserialize, Serialize};
use tsify::Tsify;

/// The longest text that the page shows of a line or a key.
const SHOWN_CHARACTERS: usize = 240;

/// The key of a line, as the page sets it.
#[derive(Clone, Deserialize, Serialize, Tsify)]
#[tsify(missing_as_null)]
pub struct KeySpec {
    /// The part of the line.
    pub part: KeyPart,
    /// Whether URLs are normalized, so that each has one spelling.
    pub normalize: bool,
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
    selector: KeySelector,
    normalization: Normalization,
    options: Vec<String>,
}

impl KeyChoice {
    /// Fails if the specification is invalid, or if this build of the engine lacks the
    /// feature. The error is a sentence for the page's user.
    pub fn new(spec: &KeySpec) -> Result<Self, String> {
        let (selector, mut options) = match &spec.part {
            KeyPart::Line => (KeySelector::WholeLine, Vec::new()),
            KeyPart::Fields(fields) => select_fields(fields)?,
            KeyPart::Json(path) => {
                let path_parsed = path.parse::<JsonPath>().map_err(|it| it.to_string())?;
                let options = vec!["--json-key".to_owned(), path.clone()];
                (KeySelector::Json(path_parsed), options)
            }
            KeyPart::Regex(expression) => (
                pattern(expression)?,
                vec!["--key-regex".to_owned(), expression.clone()],
            ),
        };
        let mut normalization = Normalization::None;
        if spec.normalize {
            normalization = url_normalization().ok_or(
                "This engine cannot normalize URLs. The command line can: --normalize whatwg.",
            )?;
            options.extend(["--normalize".to_owned(), "whatwg".to_owned()]);
        }
        Ok(KeyChoice {
            selector,
            normalization,
            options,
        })
    }

    /// The command-line options for the same key, one word each, not quoted.
    pub fn options(&self) -> &[String] {
        &self.options
    }

    /// The normalization of keys.
    #[cfg(feature = "stores")]
    pub fn normalization(&self) -> Normalization {
        self.normalization
    }

    /// A reader of these keys.
    pub fn reader(&self) -> KeyReader {
        KeyReader::new(self.selector.clone(), self.normalization)
    }

    /// A reader of the same keys with another normalization.
    pub fn reader_with(&self, normalization: Normalization) -> KeyReader {
        KeyReader::new(self.selector.clone(), normalization)
    }
}

fn select_fields(fields: &Fields) -> Result<(KeySelector, Vec<String>), String> {
    let Fields { numbers, delimiter } = fields;
    let byte = match delimiter.as_deref().map(str::as_bytes) {
        None | Some([]) => None,
        Some(&[byte]) => Some(byte),
        Some(_) => return Err("The delimiter must be one byte.".to_owned()),
    };
    let texts: Vec<String> = numbers.iter().map(u32::to_string).collect();
    let mut options = vec!["--field".to_owned(), texts.join(",")];
    if let Some(byte) = byte {
        let text = match byte {
            b'\t' => "\\t".to_owned(),
            other => char::from(other).to_string(),
        };
        options.extend(["--delimiter".to_owned(), text]);
    }
    let numbers: Vec<usize> = numbers.iter().map(|&number| number as usize).collect();
    let selector = KeySelector::fields(&numbers, byte).map_err(|it| it.to_string())?;
    Ok((selector, options))
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
    let last = Normalization::ALL.last().copied();
    last.filter(|&normalization| normalization != Normalization::None)
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
