//! Finds a value of a JSON line by its path.
//!
//! One pass reads the whole line, so that a line that is torn or is not JSON has no value, and so
//! that the last of several members of one name counts, as in jq. The depth of nesting is limited
//! only by memory: the open containers are a stack of one byte each, which the next line reuses.

use super::json_path::{JsonPath, Step};
use super::json_text::{JsonString, JsonText, decode};

/// A value of a JSON document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JsonValue<'a> {
    /// The content of a string, with escapes resolved.
    Text(&'a [u8]),
    /// A number, a boolean, an object or an array, as written in the document.
    Other(&'a [u8]),
}

impl<'a> JsonValue<'a> {
    /// Returns the content of a string, or the value as written.
    pub fn bytes(self) -> &'a [u8] {
        match self {
            JsonValue::Text(bytes) | JsonValue::Other(bytes) => bytes,
        }
    }
}

/// Memory that [`JsonPath::find`] uses and that the next line reuses.
#[derive(Clone, Debug, Default)]
pub struct JsonBuffers {
    decoded: Vec<u8>,
    /// The open containers: `{` or `[`.
    containers: Vec<u8>,
    /// For each open array on the path, the index of its current element.
    indices: Vec<usize>,
}

/// Where the value was found.
enum Found<'a> {
    String(JsonString<'a>),
    Other(&'a [u8]),
}

impl JsonPath {
    /// Returns the value in a line. None if there is no such value, if it is null, or if the line
    /// is not JSON.
    pub fn find<'a>(&self, line: &'a [u8], buffers: &'a mut JsonBuffers) -> Option<JsonValue<'a>> {
        buffers.containers.clear();
        buffers.indices.clear();
        buffers.indices.resize(self.steps().len(), 0);
        let search = Search {
            text: JsonText { bytes: line, at: 0 },
            steps: self.steps(),
            matched: 0,
            target_start: 0,
            found: None,
            buffers: &mut *buffers,
        };
        match search.run()? {
            Found::String(JsonString { raw, has_escapes }) => {
                Some(JsonValue::Text(match has_escapes {
                    false => raw,
                    true => decode(raw, &mut buffers.decoded)?,
                }))
            }
            Found::Other(b"null") => None,
            Found::Other(value) => Some(JsonValue::Other(value)),
        }
    }

    /// Returns whether a text is one JSON value, and neither a string nor null.
    pub(super) fn is_value_other_than_string(text: &[u8], buffers: &mut JsonBuffers) -> bool {
        let document = JsonPath::document();
        matches!(document.find(text, buffers), Some(JsonValue::Other(_)))
    }
}

struct Search<'a, 's> {
    text: JsonText<'a>,
    steps: &'s [Step],
    /// The number of steps that lead to the current value: if it equals the number of open
    /// containers, the value is on the path. It never exceeds that number.
    matched: usize,
    target_start: usize,
    found: Option<Found<'a>>,
    buffers: &'s mut JsonBuffers,
}

impl<'a, 's> Search<'a, 's> {
    fn run(mut self) -> Option<Found<'a>> {
        loop {
            let opened = self.begin_value()?;
            if opened {
                continue;
            }
            if self.end_values()? {
                return match self.text.is_at_end() {
                    true => self.found,
                    false => None,
                };
            }
        }
    }

    fn depth(&self) -> usize {
        self.buffers.containers.len()
    }

    fn is_on_path(&self) -> bool {
        self.matched == self.depth()
    }

    fn is_target(&self) -> bool {
        self.matched == self.steps.len() && self.is_on_path()
    }

    /// Reads a whole value, or enters a container up to its first value. Returns whether a value
    /// comes next.
    fn begin_value(&mut self) -> Option<bool> {
        let first = self.text.peek()?;
        if self.is_target() {
            self.target_start = self.text.at;
        }
        match first {
            b'"' => {
                let string = self.text.string()?;
                if self.is_target() {
                    self.found = Some(Found::String(string));
                }
                Some(false)
            }
            b'{' => {
                self.text.at += 1;
                self.buffers.containers.push(b'{');
                if self.text.peek()? == b'}' {
                    return Some(false);
                }
                self.name()?;
                Some(true)
            }
            b'[' => {
                self.text.at += 1;
                self.buffers.containers.push(b'[');
                if self.text.peek()? == b']' {
                    return Some(false);
                }
                self.element(0);
                Some(true)
            }
            _ => {
                self.text.number_or_word()?;
                self.found_other();
                Some(false)
            }
        }
    }

    /// Closes the containers that end here, and moves to the next value. Returns whether the
    /// document is complete.
    fn end_values(&mut self) -> Option<bool> {
        loop {
            let Some(&container) = self.buffers.containers.last() else {
                return Some(true);
            };
            self.matched = self.matched.min(self.depth() - 1);
            match (container, self.text.peek()?) {
                (b'{', b'}') | (b'[', b']') => {
                    self.text.at += 1;
                    self.buffers.containers.pop();
                    self.found_other();
                }
                (b'{', b',') => {
                    self.text.at += 1;
                    self.name()?;
                    return Some(false);
                }
                (b'[', b',') => {
                    self.text.at += 1;
                    let array = self.depth() - 1;
                    let next = self.buffers.indices.get(array).map_or(0, |index| index + 1);
                    self.element(next);
                    return Some(false);
                }
                _ => return None,
            }
        }
    }

    /// Records the value that ends here if it is the target.
    fn found_other(&mut self) {
        if self.is_target() {
            let value = &self.text.bytes[self.target_start..self.text.at];
            self.found = Some(Found::Other(value));
        }
    }

    /// Returns the step that leads from the innermost container to its values, if the container
    /// is on the path.
    fn next_step(&self) -> Option<&'s Step> {
        let container = self.depth() - 1;
        self.steps
            .get(container)
            .filter(|_| self.matched == container)
    }

    /// Reads the name of a member and its colon.
    fn name(&mut self) -> Option<()> {
        self.text.peek().filter(|&byte| byte == b'"')?;
        let JsonString { raw, has_escapes } = self.text.string()?;
        let step = self.next_step();
        if let Some(wanted) = step.and_then(|step| step.name.as_deref()) {
            let name = match has_escapes {
                false => raw,
                true => decode(raw, &mut self.buffers.decoded)?,
            };
            if name == wanted.as_bytes() {
                self.matched += 1;
                // A later member of the same name replaces an earlier one.
                self.found = None;
            }
        }
        self.text.pass(b':')
    }

    /// Starts the element of an array.
    fn element(&mut self, index: usize) {
        let Some(step) = self.next_step() else {
            return;
        };
        let is_match = step.index == Some(index);
        let array = self.depth() - 1;
        if let Some(current) = self.buffers.indices.get_mut(array) {
            *current = index;
        }
        self.matched += usize::from(is_match);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    fn find(path: &str, line: &str) -> Option<String> {
        let path: JsonPath = path.parse().expect("a path");
        let mut buffers = JsonBuffers::default();
        let found = path.find(line.as_bytes(), &mut buffers)?.bytes();
        Some(String::from_utf8(found.to_vec()).expect("text"))
    }

    #[test]
    fn values_are_found_by_path() {
        let line = r#" {"id" : 7, "request":{"no":[1,{"url":"x"}],"url":"/a"}, "a.b":"dot",
            "items":[ {"link":"l0"}, [true, "deep"], -1.5e3 ], "0":"zero", "gone":null} "#;
        for (path, value) in [
            ("id", Some("7")),
            ("request.url", Some("/a")),
            ("/request/url", Some("/a")),
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
        let path: JsonPath = "k".parse().expect("a path");
        let mut buffers = JsonBuffers::default();
        let lone = path.find(br#"{"k":"\ud800"}"#, &mut buffers);
        assert_eq!(lone, Some(JsonValue::Text(&[0xED, 0xA0, 0x80])));
    }

    #[test]
    fn the_last_of_several_members_counts() {
        assert_eq!(find("a", r#"{"a":1,"a":2}"#).as_deref(), Some("2"));
        assert_eq!(
            find("a.b", r#"{"a":{"b":1},"a":{"b":2}}"#).as_deref(),
            Some("2")
        );
        assert_eq!(find("a.b", r#"{"a":{"b":1},"a":{"c":2}}"#), None);
        assert_eq!(find("a.b", r#"{"a":{"b":1},"a":2}"#), None);
        assert_eq!(find("a", r#"{"a":1,"\u0061":null}"#), None);
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
            r#"{"a":1,"b" nonsense"#,
            r#"{"a":"x""#,
            r#"{"a":x}"#,
            r#"{"a":1}}"#,
            r#"{"a":1} {}"#,
            r#"{"a":1]"#,
            r#"{"a":1,}"#,
            r#"{"a":01}"#,
            r#"{"a":"\q"}"#,
            r#"{"a":"\u12"}"#,
            r#"{"a":1,"b":"\u+123"}"#,
            r#"{"a":1,"b":[1,]}"#,
            r#"{"a":1,"b":nul}"#,
            "{\"a\":\"tab\there\"}",
        ] {
            assert_eq!(find("a", line), None, "{line}");
        }
    }

    #[test]
    fn deep_nesting_needs_no_recursion() {
        let depth = 100_000;
        let nested = format!("{}1{}", "[".repeat(depth), "]".repeat(depth));
        let line = format!("{{\"deep\":{nested},\"a\":\"x\"}}");
        assert_eq!(find("a", &line).as_deref(), Some("x"));
        assert_eq!(find("deep", &line), Some(nested));
        assert_eq!(find("a", &line[..line.len() - 9]), None);
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i32>().prop_map(Value::from),
            any::<i16>().prop_map(|number| Value::from(f64::from(number) / 4.0)),
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

    fn text_of(document: &Value, pretty: bool) -> String {
        match pretty {
            true => serde_json::to_string_pretty(document),
            false => serde_json::to_string(document),
        }
        .expect("text")
    }

    /// Lists every value of a document with its path.
    fn paths<'a>(value: &'a Value, path: Vec<Step>, found: &mut Vec<(Vec<Step>, &'a Value)>) {
        let with = |name: Option<&str>, index| {
            let mut path = path.clone();
            let name = name.map(Into::into);
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

    /// Finds a value as a parser does that keeps the last of several members.
    fn parsed<'a>(document: &'a Value, steps: &[Step]) -> Option<&'a Value> {
        let value = steps.iter().try_fold(document, |value, step| match value {
            Value::Object(members) => members.get(&**step.name.as_ref()?),
            Value::Array(elements) => elements.get(step.index?),
            _ => None,
        })?;
        (!value.is_null()).then_some(value)
    }

    fn assert_same(found: Option<JsonValue<'_>>, expected: Option<&Value>, line: &str) {
        match (found, expected) {
            (None, None) => {}
            (Some(JsonValue::Text(text)), Some(Value::String(expected))) => {
                assert_eq!(text, expected.as_bytes(), "{line}");
            }
            (Some(JsonValue::Other(text)), Some(expected)) => {
                let read: Value = serde_json::from_slice(text).expect("a value");
                assert_eq!(&read, expected, "{line}");
            }
            (found, expected) => panic!("{line}: {found:?} instead of {expected:?}"),
        }
    }

    proptest! {
        #[test]
        fn every_value_equals_that_of_a_parser(document in any_json(), pretty: bool) {
            let line = text_of(&document, pretty);
            let mut found = Vec::new();
            paths(&document, Vec::new(), &mut found);
            let mut buffers = JsonBuffers::default();
            for (steps, value) in found {
                let path = JsonPath::of(steps);
                let found = path.find(line.as_bytes(), &mut buffers);
                assert_same(found, Some(value).filter(|value| !value.is_null()), &line);
            }
        }

        /// Bytes are replaced, removed, doubled and swapped; what is left may be JSON or not.
        #[test]
        fn damaged_documents_have_the_values_that_a_parser_finds(
            document in any_json(),
            pretty: bool,
            damage in proptest::collection::vec((0usize..400, 0u8..4, any::<u8>()), 0..4),
            steps in proptest::collection::vec(("[a-c\"\\\\]{1,2}", 0usize..3), 0..3),
        ) {
            let mut line = text_of(&document, pretty).into_bytes();
            for (at, kind, byte) in damage {
                let at = at % line.len().max(1);
                let marks = b"{}[]:,\"\\ 01.-+eEtrufalsn\tabc";
                match kind {
                    _ if line.is_empty() => {}
                    0 => line[at] = marks[byte as usize % marks.len()],
                    1 => drop(line.remove(at)),
                    2 => line.truncate(at),
                    _ => {
                        let part: Vec<u8> = line[at..].iter().copied().take(8).collect();
                        let to = byte as usize % (line.len() + 1);
                        line.splice(to..to, part);
                    }
                }
            }
            // A parser refuses lone surrogates and bytes that are not UTF-8; a key may have them.
            prop_assume!(memchr::memmem::find(&line, b"\\ud").is_none());
            let Ok(line) = String::from_utf8(line) else {
                return Ok(());
            };
            let steps: Vec<Step> = steps
                .into_iter()
                .map(|(name, index)| Step { name: Some(name.as_str().into()), index: Some(index) })
                .collect();
            let document: Option<Value> = serde_json::from_str(&line).ok();
            // A number such as 1e1000 is JSON, but no f64.
            let is_json = serde_json::from_str::<serde::de::IgnoredAny>(&line).is_ok();
            prop_assume!(document.is_some() || !is_json);
            let expected = document.as_ref().and_then(|document| parsed(document, &steps));
            let path = JsonPath::of(steps);
            let mut buffers = JsonBuffers::default();
            assert_same(path.find(line.as_bytes(), &mut buffers), expected, &line);
        }
    }
}
