//! Finds a value of a JSON line by its path, and parses no more of the line than needed.
//!
//! With the path `request.url` and the line `{"id":7,"request":{"url":"/a"},"size":3}`, the
//! scanner skips `id`, enters `request` and stops at `url`. It does not read `size`. So an error
//! after the value is not noticed; an error before it means that the line has no such value.

use std::fmt;
use std::str::FromStr;

use memchr::memchr2;

/// The path to a value: `request.url`, `items[0].link`, `a["b.c"]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JsonPath {
    text: String,
    steps: Vec<Step>,
}

/// The name of a member, the index of an element, or either, as in `items.0`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Step {
    name: Option<Box<[u8]>>,
    index: Option<usize>,
}

/// The error for a path that cannot be parsed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected a path like request.url, items[0].link or a[\"b.c\"]; found {}", self.found())]
pub struct JsonPathError {
    path: String,
    rest: String,
}

impl JsonPathError {
    fn found(&self) -> String {
        let JsonPathError { path, rest } = self;
        match path.is_empty() {
            true => "an empty path".to_owned(),
            false if rest.is_empty() => format!("`{path}`, which ends too early"),
            false => format!("`{path}`, which cannot be parsed from `{rest}` on"),
        }
    }
}

impl FromStr for JsonPath {
    type Err = JsonPathError;

    fn from_str(text: &str) -> Result<Self, JsonPathError> {
        let mut steps = Vec::new();
        let mut rest = text;
        loop {
            let step = if rest.starts_with('[') {
                bracketed(rest)
            } else {
                plain(rest.strip_prefix('.').unwrap_or(rest))
            };
            let Some((step, left)) = step else {
                return Err(JsonPathError {
                    path: text.to_owned(),
                    rest: rest.to_owned(),
                });
            };
            steps.push(step);
            rest = left;
            if rest.is_empty() {
                let text = text.to_owned();
                return Ok(JsonPath { text, steps });
            }
        }
    }
}

impl fmt::Display for JsonPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

fn plain(text: &str) -> Option<(Step, &str)> {
    let end = text.find(['.', '[']).unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    let step = Step {
        name: Some(name.as_bytes().into()),
        index: name.parse().ok(),
    };
    (!name.is_empty()).then_some((step, rest))
}

fn bracketed(text: &str) -> Option<(Step, &str)> {
    let inside = text.strip_prefix('[')?;
    if let Some(quoted) = inside.strip_prefix('"') {
        let (name, rest) = quoted.split_once("\"]")?;
        let step = Step {
            name: Some(name.as_bytes().into()),
            index: None,
        };
        return Some((step, rest));
    }
    let (index, rest) = inside.split_once(']')?;
    let step = Step {
        name: None,
        index: Some(index.parse().ok()?),
    };
    Some((step, rest))
}

impl JsonPath {
    /// Returns the value in a line: the content of a string, with escapes resolved in `decoded`,
    /// or the text of any other value. None if there is no such value or if it is null.
    pub fn find<'a>(&self, line: &'a [u8], decoded: &'a mut Vec<u8>) -> Option<&'a [u8]> {
        let mut scanner = Scanner { bytes: line, at: 0 };
        for step in &self.steps {
            scanner.enter(step, decoded)?;
        }
        match scanner.peek()? {
            b'"' => {
                let (raw, escaped) = scanner.string()?;
                match escaped {
                    false => Some(raw),
                    true => decode(raw, decoded),
                }
            }
            _ => {
                let start = scanner.at;
                scanner.skip_value()?;
                let value = &line[start..scanner.at];
                (value != b"null").then_some(value)
            }
        }
    }
}

/// A position in a line of JSON.
pub(super) struct Scanner<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) at: usize,
}

impl<'a> Scanner<'a> {
    /// Skips white space and returns the next byte.
    pub(super) fn peek(&mut self) -> Option<u8> {
        loop {
            match self.bytes.get(self.at)? {
                b' ' | b'\t' | b'\r' | b'\n' => self.at += 1,
                &byte => return Some(byte),
            }
        }
    }

    /// Moves past the byte `expected`. None if another byte comes next.
    pub(super) fn pass(&mut self, expected: u8) -> Option<()> {
        (self.peek()? == expected).then(|| self.at += 1)
    }

    /// Moves from the start of a value to the start of a value inside it.
    fn enter(&mut self, step: &Step, decoded: &mut Vec<u8>) -> Option<()> {
        match (self.peek()?, &step.name, step.index) {
            (b'{', Some(name), _) => self.enter_member(name, decoded),
            (b'[', _, Some(index)) => self.enter_element(index),
            _ => None,
        }
    }

    fn enter_member(&mut self, name: &[u8], decoded: &mut Vec<u8>) -> Option<()> {
        self.pass(b'{')?;
        loop {
            self.peek().filter(|&byte| byte == b'"')?;
            let (raw, escaped) = self.string()?;
            self.pass(b':')?;
            let found = match escaped {
                false => raw == name,
                true => decode(raw, decoded)? == name,
            };
            if found {
                return Some(());
            }
            self.peek()?;
            self.skip_value()?;
            self.pass(b',')?;
        }
    }

    fn enter_element(&mut self, index: usize) -> Option<()> {
        self.pass(b'[')?;
        for _ in 0..index {
            self.peek()?;
            self.skip_value()?;
            self.pass(b',')?;
        }
        (self.peek()? != b']').then_some(())
    }

    /// Moves past a string. Returns its raw content, and whether the content has escapes.
    pub(super) fn string(&mut self) -> Option<(&'a [u8], bool)> {
        let start = self.at + 1;
        let mut at = start;
        let mut escaped = false;
        loop {
            at += memchr2(b'"', b'\\', self.bytes.get(at..)?)?;
            if self.bytes[at] == b'"' {
                self.at = at + 1;
                return Some((&self.bytes[start..at], escaped));
            }
            escaped = true;
            at += 2;
        }
    }

    /// Moves past the value that starts here. Counts brackets, but does not check that their
    /// kinds match.
    pub(super) fn skip_value(&mut self) -> Option<()> {
        let start = self.at;
        let mut depth = 0usize;
        loop {
            match self.bytes.get(self.at).copied() {
                Some(b'"') => {
                    self.string()?;
                }
                Some(b'{' | b'[') => {
                    depth += 1;
                    self.at += 1;
                }
                Some(b'}' | b']') if depth > 0 => {
                    depth -= 1;
                    self.at += 1;
                }
                // Inside brackets any byte is accepted; a bare word continues to its end.
                Some(byte) if depth > 0 || !b",]} \t\r\n".contains(&byte) => {
                    self.at += 1;
                    if depth == 0 && !self.bare_word_continues() {
                        return Some(());
                    }
                    continue;
                }
                None if depth > 0 => return None,
                _ => return (self.at > start).then_some(()),
            }
            if depth == 0 {
                return Some(());
            }
        }
    }

    fn bare_word_continues(&self) -> bool {
        let next = self.bytes.get(self.at);
        next.is_some_and(|byte| !b",]}: \t\r\n\"[{".contains(byte))
    }
}

/// Resolves the escapes of a string. A lone surrogate is encoded in three bytes as if it were
/// a character (WTF-8).
fn decode<'a>(raw: &[u8], decoded: &'a mut Vec<u8>) -> Option<&'a [u8]> {
    decoded.clear();
    let mut rest = raw;
    while let Some(at) = memchr::memchr(b'\\', rest) {
        decoded.extend_from_slice(&rest[..at]);
        let escape = *rest.get(at + 1)?;
        rest = &rest[at + 2..];
        let byte = match escape {
            b'"' | b'\\' | b'/' => escape,
            b'b' => 8,
            b'f' => 12,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'u' => {
                let (unit, left) = code_unit(rest)?;
                rest = left;
                let mut point = u32::from(unit);
                let low = rest.strip_prefix(b"\\u").and_then(code_unit);
                if let (0xD800..0xDC00, Some((second @ 0xDC00..0xE000, left))) = (unit, low) {
                    point = 0x10000 + ((point - 0xD800) << 10) + (u32::from(second) - 0xDC00);
                    rest = left;
                }
                push_code_point(point, decoded);
                continue;
            }
            _ => return None,
        };
        decoded.push(byte);
    }
    decoded.extend_from_slice(rest);
    Some(decoded)
}

fn code_unit(text: &[u8]) -> Option<(u16, &[u8])> {
    let (digits, rest) = text.split_at_checked(4)?;
    let digits = std::str::from_utf8(digits).ok()?;
    let unit = u16::from_str_radix(digits, 16).ok()?;
    (!digits.starts_with('+')).then_some((unit, rest))
}

fn push_code_point(point: u32, bytes: &mut Vec<u8>) {
    match char::from_u32(point) {
        Some(character) => {
            bytes.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
        }
        None => bytes.extend_from_slice(&[
            0xE0 | (point >> 12) as u8,
            0x80 | (point >> 6 & 0x3F) as u8,
            0x80 | (point & 0x3F) as u8,
        ]),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    fn find(path: &str, line: &str) -> Option<String> {
        let path: JsonPath = path.parse().expect("a path");
        let mut decoded = Vec::new();
        let found = path.find(line.as_bytes(), &mut decoded)?;
        Some(String::from_utf8(found.to_vec()).expect("text"))
    }

    #[test]
    fn values_are_found_by_path() {
        let line = r#" {"id" : 7, "request":{"no":[1,{"url":"x"}],"url":"/a"}, "a.b":"dot",
            "items":[ {"link":"l0"}, [true, "deep"], -1.5e3 ], "0":"zero", "gone":null}"#;
        for (path, value) in [
            ("id", Some("7")),
            ("request.url", Some("/a")),
            ("request.no[1].url", Some("x")),
            ("items[0].link", Some("l0")),
            ("items.1.1", Some("deep")),
            ("items[1][0]", Some("true")),
            ("items[2]", Some("-1.5e3")),
            ("[\"a.b\"]", Some("dot")),
            ("0", Some("zero")),
            ("request.no", Some(r#"[1,{"url":"x"}]"#)),
            ("gone", None),
            ("items[3]", None),
            ("items.link", None),
            ("id.x", None),
            ("url", None),
        ] {
            assert_eq!(find(path, line).as_deref(), value, "{path}");
        }
    }

    #[test]
    fn escapes_are_resolved_in_names_and_values() {
        assert_eq!(
            find("k", r#"{"\u006b":"\/\u00e9\n\ud83d\ude00"}"#).as_deref(),
            Some("/é\n😀")
        );
        assert_eq!(find("k", r#"{"k":"\q"}"#), None);
        assert_eq!(find("k", r#"{"k":"\u12"}"#), None);
        let path: JsonPath = "k".parse().expect("a path");
        let mut decoded = Vec::new();
        let lone = path.find(br#"{"k":"\ud800"}"#, &mut decoded);
        assert_eq!(lone, Some(&[0xED, 0xA0, 0x80][..]));
    }

    #[test]
    fn bytes_after_the_value_are_not_read() {
        assert_eq!(find("a", r#"{"a":1,"b" nonsense"#).as_deref(), Some("1"));
        assert_eq!(find("b", r#"{"a":1,"b" nonsense"#), None);
    }

    #[test]
    fn lines_that_are_not_json_have_no_value() {
        for line in [
            "",
            "{",
            "[",
            "{\"a\"",
            "{\"a\":",
            "{\"a\":\"x",
            "a",
            "{a:1}",
            "{\"b\":{\"a\":1",
        ] {
            assert_eq!(find("a", line), None, "{line}");
        }
    }

    #[test]
    fn malformed_paths_are_refused() {
        for path in ["", ".", "a..b", "a[", "a[x]", "a[\"b", "a.", "a[-1]"] {
            assert!(path.parse::<JsonPath>().is_err(), "{path}");
        }
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            any::<bool>().prop_map(Value::from),
            any::<i32>().prop_map(Value::from),
            "[a-c\"\\\\{}:,é\n]{0,6}".prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 24, 4, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                proptest::collection::btree_map("[a-c\"\\\\]{1,2}", inner, 0..4)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    /// Lists every value of a document with its path.
    fn paths<'a>(value: &'a Value, path: Vec<Step>, found: &mut Vec<(Vec<Step>, &'a Value)>) {
        let with = |name: Option<&str>, index| {
            let mut path = path.clone();
            let name = name.map(|name| name.as_bytes().into());
            path.push(Step { name, index });
            path
        };
        match value {
            Value::Object(members) => members
                .iter()
                .for_each(|(name, value)| paths(value, with(Some(name), None), found)),
            Value::Array(elements) => elements
                .iter()
                .enumerate()
                .for_each(|(i, value)| paths(value, with(None, Some(i)), found)),
            _ => {}
        }
        found.push((path, value));
    }

    proptest! {
        #[test]
        fn every_value_equals_that_of_a_parser(document in any_json(), pretty: bool) {
            let line = match pretty {
                true => serde_json::to_string_pretty(&document),
                false => serde_json::to_string(&document),
            };
            let line = line.expect("text");
            let mut found = Vec::new();
            paths(&document, Vec::new(), &mut found);
            for (steps, value) in found {
                let path = JsonPath { text: String::new(), steps };
                let mut decoded = Vec::new();
                let key = path.find(line.as_bytes(), &mut decoded).expect("it is there");
                match value {
                    Value::String(text) => prop_assert_eq!(key, text.as_bytes()),
                    other => {
                        let read: Value = serde_json::from_slice(key).expect("a value");
                        prop_assert_eq!(&read, other);
                    }
                }
            }
        }

        #[test]
        fn malformed_lines_do_not_panic(line in proptest::collection::vec(
            prop_oneof![Just(b'"'), Just(b'\\'), Just(b'{'), Just(b'['), Just(b'a'), Just(b':'), Just(b','), any::<u8>()], 0..40)
        ) {
            for path in ["a", "[0]", "a.a[1]"] {
                let path: JsonPath = path.parse().expect("a path");
                path.find(&line, &mut Vec::new());
            }
        }
    }
}
