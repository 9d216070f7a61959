//! The path to a value of a JSON document.

use std::fmt;
use std::str::FromStr;

use super::json_text::decode;

/// The path to a value: `request.url`, `items[0].link`, `a["b.c"]`.
///
/// The forms of other tools are understood, too: `.request.url` (jq), `$.request.url` and
/// `$['request']` (JSONPath), `/request/url` (JSON pointer). Two paths are equal if they lead to
/// the same value, in whatever form they were written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JsonPath {
    steps: Vec<Step>,
}

/// The name of a member, the index of an element, or either, as in `items.0`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Step {
    pub(super) name: Option<Box<str>>,
    pub(super) index: Option<usize>,
}

/// The error for a path that cannot be parsed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected a path like request.url, items[0].link, a[\"b.c\"] or /request/url; found {}", self.found())]
pub struct JsonPathError {
    path: String,
    rest: String,
}

impl JsonPathError {
    fn found(&self) -> String {
        let JsonPathError { path, rest } = self;
        match (path.as_str(), rest.as_str()) {
            ("", _) => "an empty path".to_owned(),
            ("$" | ".", _) => format!(
                "`{path}`, the whole document; without the option, the whole line is the key"
            ),
            (_, "") => format!("`{path}`, which ends too early"),
            (_, rest)
                if ["*", ".*", "[*]", "[]", ".[]"]
                    .iter()
                    .any(|it| rest.starts_with(it)) =>
            {
                format!(
                    "`{path}`, which asks for several values at `{rest}`; a line has one key. A \
                     member named * is written [\"*\"]"
                )
            }
            _ => format!("`{path}`, which cannot be parsed from `{rest}` on"),
        }
    }
}

impl FromStr for JsonPath {
    type Err = JsonPathError;

    fn from_str(text: &str) -> Result<Self, JsonPathError> {
        let failed = |rest: &str| JsonPathError {
            path: text.to_owned(),
            rest: rest.to_owned(),
        };
        if let Some(pointer) = text.strip_prefix('/') {
            let steps: Option<Vec<Step>> = pointer.split('/').map(pointer_step).collect();
            return match steps {
                Some(steps) => Ok(JsonPath { steps }),
                None => Err(failed(text)),
            };
        }
        let mut rest = match text.strip_prefix('$') {
            Some(after) if after.is_empty() || after.starts_with(['.', '[']) => after,
            _ => text,
        };
        let mut steps = Vec::new();
        loop {
            let step = match rest.strip_prefix('.') {
                // jq also writes `.["name"]`.
                Some(after) if after.starts_with('[') => bracketed(after),
                Some(after) => plain(after),
                None if rest.starts_with('[') => bracketed(rest),
                None => plain(rest),
            };
            let (step, left) = step.ok_or_else(|| failed(rest))?;
            steps.push(step);
            rest = left;
            if rest.is_empty() {
                return Ok(JsonPath { steps });
            }
        }
    }
}

/// Parses the name before the next `.` or `[`.
fn plain(text: &str) -> Option<(Step, &str)> {
    let end = text.find(['.', '[']).unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    (!name.is_empty() && name != "*").then(|| (named_or_indexed(name), rest))
}

/// Parses `[0]`, `["name"]` or `['name']`. Names have the escapes of JSON strings.
fn bracketed(text: &str) -> Option<(Step, &str)> {
    let inside = text.strip_prefix('[')?;
    let Some(quote) = inside.chars().next().filter(|c| ['"', '\''].contains(c)) else {
        let (index, rest) = inside.split_once(']')?;
        let step = Step {
            name: None,
            index: Some(index_of(index)?),
        };
        return Some((step, rest));
    };
    let mut escaped = false;
    let end = inside[1..].find(|c: char| {
        let ends = c == quote && !escaped;
        escaped = c == '\\' && !escaped;
        ends
    })? + 1;
    let raw = without_escaped_quotes(&inside[1..end])?;
    let mut decoded = Vec::new();
    decode(raw.as_bytes(), &mut decoded)?;
    let step = Step {
        name: Some(String::from_utf8(decoded).ok()?.into()),
        index: None,
    };
    Some((step, inside[end + 1..].strip_prefix(']')?))
}

/// Resolves `\'`, the only escape that JSON strings do not have.
fn without_escaped_quotes(text: &str) -> Option<String> {
    let mut raw = String::new();
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => match characters.next()? {
                '\'' => raw.push('\''),
                other => raw.extend(['\\', other]),
            },
            other => raw.push(other),
        }
    }
    Some(raw)
}

/// Parses a token of a JSON pointer: `~1` stands for `/`, and `~0` for `~`.
fn pointer_step(token: &str) -> Option<Step> {
    let valid = |rest: &str| rest.starts_with(['0', '1']);
    if !token.split('~').skip(1).all(valid) {
        return None;
    }
    Some(named_or_indexed(
        &token.replace("~1", "/").replace("~0", "~"),
    ))
}

fn named_or_indexed(name: &str) -> Step {
    Step {
        name: Some(name.into()),
        index: index_of(name),
    }
}

/// Parses an index without signs or leading zeros.
fn index_of(digits: &str) -> Option<usize> {
    let index: usize = digits.parse().ok()?;
    (index.to_string() == digits).then_some(index)
}

impl fmt::Display for JsonPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, Step { name, index }) in self.steps.iter().enumerate() {
            match (name, index) {
                (Some(name), index) if is_plain(name) && *index == index_of(name) => {
                    let dot = if position > 0 { "." } else { "" };
                    write!(f, "{dot}{name}")?;
                }
                (Some(name), _) => write!(f, "[{}]", quoted(name))?,
                (None, index) => write!(f, "[{}]", index.unwrap_or(0))?,
            }
        }
        Ok(())
    }
}

/// Returns whether a name stands for itself in a path.
pub(super) fn is_plain(name: &str) -> bool {
    !name.is_empty()
        && name != "*"
        && !name.starts_with(['$', '/'])
        && !name.contains(['.', '[', '"'])
}

/// Returns a name as a JSON string.
fn quoted(name: &str) -> String {
    let mut text = String::from("\"");
    for character in name.chars() {
        match character {
            '"' | '\\' => text.extend(['\\', character]),
            '\0'..' ' => text += &format!("\\u{:04x}", character as u32),
            _ => text.push(character),
        }
    }
    text + "\""
}

impl JsonPath {
    /// Returns the path to the document itself, which has no text form.
    pub(super) fn document() -> Self {
        JsonPath { steps: Vec::new() }
    }

    pub(super) fn steps(&self) -> &[Step] {
        &self.steps
    }

    #[cfg(test)]
    pub(super) fn of(steps: Vec<Step>) -> Self {
        JsonPath { steps }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn path(text: &str) -> JsonPath {
        text.parse().expect(text)
    }

    #[test]
    fn the_forms_of_jq_jsonpath_and_json_pointer_are_understood() {
        for (text, canonical) in [
            ("request.url", "request.url"),
            (".request.url", "request.url"),
            (".request[\"url\"]", "request.url"),
            (".[\"a.b\"]", "[\"a.b\"]"),
            ("$.request.url", "request.url"),
            ("$['request'][\"u\\u0072l\"]", "request.url"),
            ("/request/url", "request.url"),
            ("/a~1b/m~0n/0", "a/b.m~n.0"),
            ("/", "[\"\"]"),
            ("items[0].link", "items[0].link"),
            ("$[0]", "[0]"),
            ("$schema", "[\"$schema\"]"),
            ("a[\"it.s \\\"b\\\" \\\\\"]", "a[\"it.s \\\"b\\\" \\\\\"]"),
            ("a['it\\'s']", "a.it's"),
        ] {
            assert_eq!(path(text).to_string(), canonical, "{text}");
        }
        // Only a plain name can also be an index.
        assert_ne!(path("items.0"), path("items[0]"));
        assert_ne!(path("items.0"), path("items[\"0\"]"));
        assert_eq!(path("/items/0"), path("$.items.0"));
    }

    #[test]
    fn malformed_paths_are_refused_with_a_reason() {
        for (text, reason) in [
            ("", "an empty path"),
            (".", "the whole document"),
            ("$", "the whole document"),
            ("a..b", "from `..b` on"),
            ("$..a", "from `..a` on"),
            ("a[", "from `[` on"),
            ("a[x]", "from `[x]` on"),
            ("a[\"b", "from `[\"b` on"),
            ("a[-1]", "from `[-1]` on"),
            ("a[01]", "from `[01]` on"),
            ("a[+1]", "from `[+1]` on"),
            ("a[\"\\ud800\"]", "cannot be parsed"),
            ("a.", "from `.` on"),
            ("a[*]", "several values"),
            ("a.*", "several values"),
            (".a[]", "several values"),
            ("/a~2", "cannot be parsed"),
        ] {
            let error = text.parse::<JsonPath>().expect_err(text).to_string();
            assert!(error.contains(reason), "{text}: {error}");
        }
    }

    proptest! {
        #[test]
        fn the_text_form_is_parsed_back(
            steps in proptest::collection::vec(
                prop_oneof![
                    "[a0.\\[\\]\"'\\\\/~$* é\n]{0,4}".prop_map(|name| Step {
                        name: Some(name.as_str().into()),
                        index: None,
                    }),
                    "[0-9a]{1,3}".prop_map(|name| named_or_indexed(&name)),
                    (0usize..20).prop_map(|index| Step { name: None, index: Some(index) }),
                ],
                1..4,
            ),
        ) {
            let path = JsonPath::of(steps);
            prop_assert_eq!(path.to_string().parse(), Ok(path));
        }
    }
}
