//! How the key of a line is found, in a text form that a store records.

use std::fmt;
use std::str::FromStr;

use super::fields::{FieldList, FieldListError};
use super::importance_rule::{ImportanceRule, UnknownImportanceFormat};
use super::json_path::{JsonPath, JsonPathError};
use super::key::KeySelector;
use super::normalize::{
    Normalization, ParameterPattern, ParameterPatternError, UnknownNormalization,
};
use super::time_format::UnknownTimeFormat;
use super::time_rule::TimeRule;
use super::value_rule::ValueRule;

/// How the key of a line is found.
///
/// Its text form names the part of the line, and then what differs from the defaults:
///
/// ```
/// use dedupstore::lines::KeyRule;
///
/// for text in ["line", "field=7", "field=1+4-6,delimiter=%2C,end=crlf", "json=request.url"] {
///     let rule: KeyRule = text.parse()?;
///     assert_eq!(rule.to_string(), text);
/// }
/// # Ok::<(), dedupstore::lines::KeyRuleError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeyRule {
    /// Which part of a line is its key.
    pub selector: KeySelector,
    /// How the key is changed before it is hashed.
    pub normalization: Normalization,
    /// The query parameters that [`Normalization::Crawl`] drops besides its own, sorted.
    pub drop_parameters: Vec<ParameterPattern>,
    /// What ends a line.
    pub line_end: LineEnd,
    /// How the time of a line is found, for filters with a window. None: the time is that of the
    /// machine's clock.
    pub time: Option<TimeRule>,
    /// How the importance of a line is found, for filters that use it. None: lines have none.
    pub importance: Option<ImportanceRule>,
    /// Whether JSON numbers are hashed as written, like strings. True only for stores that
    /// record no key: they were made so.
    pub(super) bare_json_values: bool,
}

/// What ends a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum LineEnd {
    /// A newline.
    #[default]
    Newline,
    /// A newline; a carriage return before it is not part of the key.
    CrLf,
    /// A NUL byte.
    Nul,
}

/// The error for a text that is no rule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyRuleError {
    /// A part that this program does not know.
    #[error("`{0}` is unknown")]
    Unknown(String),
    /// A part that this build of the program does not support.
    #[error("this build has no regular expressions")]
    NoPatterns,
    /// The fields.
    #[error(transparent)]
    Fields(#[from] FieldListError),
    /// The path to a JSON value.
    #[error(transparent)]
    Json(#[from] JsonPathError),
    /// The regular expression.
    #[cfg(feature = "patterns")]
    #[error(transparent)]
    Pattern(#[from] super::pattern::KeyPatternError),
    /// The normalization.
    #[error(transparent)]
    Normalization(#[from] UnknownNormalization),
    /// A query parameter.
    #[error(transparent)]
    Parameter(#[from] ParameterPatternError),
    /// The format of times.
    #[error(transparent)]
    TimeFormat(#[from] UnknownTimeFormat),
    /// The format of an importance.
    #[error(transparent)]
    ImportanceFormat(#[from] UnknownImportanceFormat),
}

impl LineEnd {
    /// Returns the byte that ends a line.
    pub const fn byte(self) -> u8 {
        match self {
            LineEnd::Nul => 0,
            LineEnd::Newline | LineEnd::CrLf => b'\n',
        }
    }

    pub(super) const fn strips_carriage_return(self) -> bool {
        matches!(self, LineEnd::CrLf)
    }

    /// Returns its name in a rule's text form.
    pub const fn name(self) -> &'static str {
        match self {
            LineEnd::Newline => "newline",
            LineEnd::CrLf => "crlf",
            LineEnd::Nul => "nul",
        }
    }
}

impl KeyRule {
    /// Returns the rule that finds the same keys and writes its fields in the shortest way:
    /// `1-2` and `1,2` have the same text then.
    pub fn canonical(&self) -> Self {
        KeyRule {
            selector: self.selector.canonical(),
            ..self.clone()
        }
    }
}

impl From<KeySelector> for KeyRule {
    /// Returns the rule with this selector, and with the defaults for the rest.
    fn from(selector: KeySelector) -> Self {
        KeyRule {
            selector,
            ..KeyRule::default()
        }
    }
}

impl fmt::Display for KeyRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.selector {
            KeySelector::WholeLine => f.write_str("line")?,
            KeySelector::Json(path) => write!(f, "json={}", escaped(path.to_string().as_bytes()))?,
            #[cfg(feature = "patterns")]
            KeySelector::Pattern(pattern) => {
                write!(f, "regex={}", escaped(pattern.to_string().as_bytes()))?;
            }
            fields => {
                if let Some((fields, delimiter)) = fields.selected_fields() {
                    write!(f, "field={}", fields.to_string().replace(',', "+"))?;
                    if let Some(delimiter) = delimiter {
                        write!(f, ",delimiter={}", escaped(&[delimiter]))?;
                    }
                }
            }
        }
        if self.normalization != Normalization::None {
            write!(f, ",normalize={}", self.normalization)?;
        }
        for parameter in &self.drop_parameters {
            write!(f, ",drop={}", escaped(parameter.to_string().as_bytes()))?;
        }
        match self.line_end {
            LineEnd::Newline => {}
            end => write!(f, ",end={}", end.name())?,
        }
        if let Some(time) = &self.time {
            time.write(f, "time")?;
        }
        if let Some(importance) = &self.importance {
            importance.write(f, "importance")?;
        }
        Ok(())
    }
}

impl FromStr for KeyRule {
    type Err = KeyRuleError;

    fn from_str(text: &str) -> Result<Self, KeyRuleError> {
        let unknown = |part: &str| KeyRuleError::Unknown(part.to_owned());
        let mut parts = text.split(',');
        let mut rule = KeyRule {
            selector: selector(parts.next().unwrap_or_default())?,
            ..KeyRule::default()
        };
        for part in parts {
            let (name, value) = part.split_once('=').ok_or_else(|| unknown(part))?;
            let value = unescaped(value).ok_or_else(|| unknown(part))?;
            let value_text = || str::from_utf8(&value).map_err(|_| unknown(part));
            match (name, &mut rule.selector) {
                (
                    "delimiter",
                    KeySelector::Field { delimiter, .. } | KeySelector::Fields { delimiter, .. },
                ) => match value[..] {
                    [byte] => *delimiter = Some(byte),
                    _ => return Err(unknown(part)),
                },
                ("normalize", _) => rule.normalization = value_text()?.parse()?,
                ("drop", _) => rule.drop_parameters.push(value_text()?.parse()?),
                ("end", _) => {
                    rule.line_end = match &value[..] {
                        b"crlf" => LineEnd::CrLf,
                        b"nul" => LineEnd::Nul,
                        _ => return Err(unknown(part)),
                    }
                }
                _ => {
                    let added = if let Some(suffix) = name.strip_prefix("time") {
                        ValueRule::parse(&mut rule.time, suffix, &value)?
                    } else if let Some(suffix) = name.strip_prefix("importance") {
                        ValueRule::parse(&mut rule.importance, suffix, &value)?
                    } else {
                        None
                    };
                    added.ok_or_else(|| unknown(part))?;
                }
            }
        }
        Ok(rule)
    }
}

fn selector(part: &str) -> Result<KeySelector, KeyRuleError> {
    let unknown = || KeyRuleError::Unknown(part.to_owned());
    if part == "line" {
        return Ok(KeySelector::WholeLine);
    }
    let (name, value) = part.split_once('=').ok_or_else(unknown)?;
    let value = unescaped(value).ok_or_else(unknown)?;
    let value = str::from_utf8(&value).map_err(|_| unknown())?;
    match name {
        "field" => {
            let fields: FieldList = value.replace('+', ",").parse()?;
            Ok(KeySelector::fields(fields, None))
        }
        "json" => Ok(KeySelector::Json(value.parse::<JsonPath>()?)),
        #[cfg(feature = "patterns")]
        "regex" => Ok(KeySelector::Pattern(value.parse()?)),
        #[cfg(not(feature = "patterns"))]
        "regex" => Err(KeyRuleError::NoPatterns),
        _ => Err(unknown()),
    }
}

/// Percent-encodes what would end a part, and what is not printable.
pub(super) fn escaped(value: &[u8]) -> String {
    let mut text = String::new();
    for chunk in value.utf8_chunks() {
        for character in chunk.valid().chars() {
            match character {
                ',' | '%' | '\0'..=' ' | '\x7F' => text += &format!("%{:02X}", character as u8),
                _ => text.push(character),
            }
        }
        for byte in chunk.invalid() {
            text += &format!("%{byte:02X}");
        }
    }
    text
}

fn unescaped(text: &str) -> Option<Vec<u8>> {
    let mut parts = text.split('%');
    let mut value = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        let digits = part.get(..2)?;
        if !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        value.push(u8::from_str_radix(digits, 16).ok()?);
        value.extend_from_slice(&part.as_bytes()[2..]);
    }
    Some(value)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::importance_rule::ImportanceFormat;
    use super::super::time_format::TimeFormat;
    use super::super::value_rule::ValueSelector;
    use super::*;

    #[test]
    fn what_a_text_does_not_say_is_the_default() {
        assert_eq!("line".parse(), Ok(KeyRule::default()));
        assert_eq!(KeyRule::default().to_string(), "line");
    }

    #[test]
    fn unknown_texts_are_refused() {
        for text in [
            "",
            "whatwg",
            "lines",
            "field",
            "field=0",
            "field=1,",
            "field=1,delimiter=ab",
            "field=1,delimiter=%2",
            "line,delimiter=%2C",
            "json=a..b",
            "json=%FF",
            "line,normalize=idna",
            "line,end=newline",
            "line,end=cr",
            "line,drop=*",
            "line,salt=1",
            "word=1",
            "line,time=0",
            "line,time=1-2",
            "line,time=1,time=2",
            "line,time-format=clf",
            "line,time=1,time-format=iso",
            "line,time-json=a,time-delimiter=%2C",
            "line,timely=1",
            "line,importance=0",
            "line,importance=1-2",
            "line,importance=1,importance=2",
            "line,importance-format=depth",
            "line,importance=1,importance-format=rank",
            "line,importance-json=a,importance-delimiter=%2C",
        ] {
            assert!(text.parse::<KeyRule>().is_err(), "{text}");
        }
    }

    fn any_selector() -> impl Strategy<Value = KeySelector> {
        let fields = ("[1-9](-[1-9]{2})?", proptest::option::of(any::<u8>()));
        prop_oneof![
            Just(KeySelector::WholeLine),
            (fields, proptest::option::of(1usize..9)).prop_map(|((list, delimiter), more)| {
                let list = match more {
                    Some(more) => format!("{list},{more}-"),
                    None => list,
                };
                KeySelector::fields(list.parse().expect("fields"), delimiter)
            }),
            "[a,%é \"]{1,6}(\\[[0-9]\\])?"
                .prop_map(|path| KeySelector::Json(path.parse().expect("a path"))),
            any_pattern(),
        ]
    }

    fn any_value<F: Copy + std::fmt::Debug>(
        formats: &'static [F],
    ) -> impl Strategy<Value = ValueRule<F>> {
        let field = (0usize..20, proptest::option::of(any::<u8>()))
            .prop_map(|(index, delimiter)| ValueSelector::Field { index, delimiter });
        let json =
            "[a,%é \"]{1,6}".prop_map(|path| ValueSelector::Json(path.parse().expect("a path")));
        let format = (0..formats.len()).prop_map(|index| formats[index]);
        (prop_oneof![field, json], format)
            .prop_map(|(selector, format)| ValueRule { selector, format })
    }

    #[cfg(feature = "patterns")]
    fn any_pattern() -> impl Strategy<Value = KeySelector> {
        "[a,%é \\\\n=+]{0,5}x"
            .prop_map(|text| KeySelector::Pattern(regex::escape(&text).parse().expect("a pattern")))
    }

    #[cfg(not(feature = "patterns"))]
    fn any_pattern() -> impl Strategy<Value = KeySelector> {
        Just(KeySelector::WholeLine)
    }

    proptest! {
        #[test]
        fn the_text_form_is_parsed_back_and_printable(
            selector in any_selector(),
            normalization in 0..Normalization::ALL.len(),
            drop_parameters in proptest::collection::btree_set("[a-c,%]{1,3}[*]?", 0..3),
            line_end in 0usize..3,
            time in proptest::option::of(any_value(&TimeFormat::ALL)),
            importance in proptest::option::of(any_value(&ImportanceFormat::ALL)),
        ) {
            let rule = KeyRule {
                selector,
                normalization: Normalization::ALL[normalization],
                drop_parameters: drop_parameters.iter().map(|it| it.parse().expect("a name")).collect(),
                line_end: [LineEnd::Newline, LineEnd::CrLf, LineEnd::Nul][line_end],
                time,
                importance,
                bare_json_values: false,
            };
            let text = rule.to_string();
            prop_assert!(!text.contains(|c: char| c.is_control() || c == ' '), "{}", text);
            prop_assert_eq!(text.parse(), Ok(rule));
        }
    }
}
