//! What finds the keys of lines: rules, JSON, fields, expressions, URLs.

use dedupstore::lines::{
    ImportanceReader, JsonBuffers, JsonPath, JsonValue, KeyOptions, KeyReader, KeyRule,
    KeySelector, LineEnd, Normalization, Normalizer, RecordedKey, TimeReader,
};
use serde_json::Value;

use super::{lossy, split_line};

/// A rule in its first line, and a line of a log after it.
pub fn rule(input: &[u8]) {
    let (text, line) = split_line(input);
    let text = lossy(text);
    if let Ok(recorded) = text.parse::<RecordedKey>() {
        let _ = KeyOptions::default().rule_for(&recorded);
    }
    let _ = RecordedKey::normalization_name(&text);
    let Ok(rule) = text.parse::<KeyRule>() else {
        return;
    };
    let written = rule.to_string();
    assert_eq!(written.parse().as_ref(), Ok(&rule), "{written}");
    let canonical = rule.canonical();
    let mut reader = KeyReader::of(rule.clone());
    let key = reader.key(line).map(<[u8]>::to_vec);
    assert_eq!(
        KeyReader::of(canonical).key(line),
        key.as_deref(),
        "{written}"
    );
    let is_json = matches!(rule.selector, KeySelector::Json(_));
    if rule.normalization == Normalization::None && rule.line_end == LineEnd::Nul && !is_json {
        assert_eq!(key, naive_key(&rule.selector, line), "{written}");
    }
    if let Some(time) = rule.time {
        let mut times = TimeReader::new(time);
        // The second time, the reader remembers the first one.
        assert_eq!(times.seconds(line), times.seconds(line), "{written}");
    }
    if let Some(importance) = rule.importance {
        let _ = ImportanceReader::new(importance).importance(line);
    }
}

/// Finds a key as the documentation says, without any care for speed. JSON has a target of its own.
fn naive_key(selector: &KeySelector, line: &[u8]) -> Option<Vec<u8>> {
    if let Some(expression) = selector.expression() {
        let expression = regex::bytes::Regex::new(expression).expect("parsed before");
        let found = expression.captures(line)?;
        let group = usize::from(found.len() > 1);
        return Some(found.get(group)?.as_bytes().to_vec());
    }
    let Some((list, delimiter)) = selector.selected_fields() else {
        return Some(line.to_vec());
    };
    let fields: Vec<&[u8]> = match delimiter {
        Some(delimiter) => line.split(|&byte| byte == delimiter).collect(),
        None => {
            let words = line.split(|&byte| byte == b' ' || byte == b'\t');
            words.filter(|word| !word.is_empty()).collect()
        }
    };
    let mut chosen = Vec::new();
    for part in list.to_string().split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let first: usize = first.parse().expect("a number");
        let last = match last {
            "" => fields.len().max(first),
            last => last.parse().expect("a number"),
        };
        chosen.extend_from_slice(fields.get(first - 1..last)?);
    }
    Some(chosen.join(&[delimiter.unwrap_or(b' ')][..]))
}

/// A path in the first line, and a document after it, compared with serde_json.
pub fn json(input: &[u8]) {
    let (path, document) = split_line(input);
    let path = lossy(path);
    let Ok(path) = path.parse::<JsonPath>() else {
        return;
    };
    let written = path.to_string();
    assert_eq!(written.parse().as_ref(), Ok(&path), "{written}");
    let mut buffers = JsonBuffers::default();
    let found = path.find(document, &mut buffers);
    match serde_json::from_slice::<Value>(document) {
        Ok(parsed) => {
            let expected = naive_find(&written, &parsed).filter(|it| !it.is_null());
            match (found, expected) {
                (None, None) => {}
                (Some(JsonValue::Text(text)), Some(Value::String(expected))) => {
                    assert_eq!(text, expected.as_bytes(), "{written}");
                }
                (Some(JsonValue::Other(text)), Some(expected)) if !expected.is_string() => {
                    let text: Value = serde_json::from_slice(text).expect("part of a document");
                    assert_eq!(&text, expected, "{written}");
                }
                other => panic!("{written}: {other:?}"),
            }
        }
        Err(error) => {
            // serde_json limits the depth and the size of numbers, and refuses what is not Unicode.
            let error = error.to_string();
            let is_limit = [
                "recursion",
                "range",
                "surrogate",
                "unicode",
                "UTF-8",
                "hex escape",
            ];
            let is_limit = is_limit.iter().any(|word| error.contains(word));
            assert!(found.is_none() || is_limit, "{error}: {found:?}");
        }
    }
}

/// Follows the text form of a path: names, `["names"]` and `[indices]`.
fn naive_find<'a>(path: &str, document: &'a Value) -> Option<&'a Value> {
    let mut rest = path;
    let mut value = document;
    while !rest.is_empty() {
        rest = rest.strip_prefix('.').unwrap_or(rest);
        if let Some(inside) = rest.strip_prefix('[') {
            let mut parsed = serde_json::Deserializer::from_str(inside).into_iter::<Value>();
            let step = parsed.next()?.expect("a name or an index");
            rest = inside[parsed.byte_offset()..]
                .strip_prefix(']')
                .expect("an end");
            value = match step {
                Value::String(name) => value.as_object()?.get(&name)?,
                index => value.as_array()?.get(index.as_u64()? as usize)?,
            };
        } else {
            let end = rest.find(['.', '[']).unwrap_or(rest.len());
            let (name, after) = rest.split_at(end);
            value = match value {
                Value::Object(members) => members.get(name)?,
                Value::Array(elements) => {
                    let index: usize = name.parse().ok()?;
                    elements.get(index).filter(|_| index.to_string() == name)?
                }
                _ => return None,
            };
            rest = after;
        }
    }
    Some(value)
}

/// A URL, compared with the crate `url`, whose result must also be a fixed point.
pub fn url(input: &[u8]) {
    let apply = |normalization, key: &[u8]| Normalizer::new(normalization, &[]).apply(key).to_vec();
    let whatwg = apply(Normalization::Whatwg, input);
    if let Ok(text) = str::from_utf8(input) {
        let expected = match url::Url::parse(text) {
            Ok(mut url) => {
                url.set_fragment(None);
                url.to_string().into_bytes()
            }
            Err(_) => input.to_vec(),
        };
        assert_eq!(
            whatwg.escape_ascii().to_string(),
            expected.escape_ascii().to_string(),
            "{text}"
        );
    }
    let crawl = apply(Normalization::Crawl, input);
    // What the standard does not call a URL stays as it is.
    let repaired = input.utf8_chunks().map(|chunk| {
        let invalid = chunk.invalid().iter();
        let escaped: String = invalid.map(|byte| format!("%{byte:02X}")).collect();
        chunk.valid().to_owned() + &escaped
    });
    if url::Url::parse(&repaired.collect::<String>()).is_err() {
        assert_eq!(
            crawl.escape_ascii().to_string(),
            input.escape_ascii().to_string()
        );
    }
    // The crate itself writes some of these differently the second time: `file://.///C|/a`.
    if crawl.starts_with(b"file:") {
        return;
    }
    assert_eq!(
        apply(Normalization::Crawl, &crawl)
            .escape_ascii()
            .to_string(),
        crawl.escape_ascii().to_string(),
        "not a fixed point: {}",
        input.escape_ascii()
    );
}
