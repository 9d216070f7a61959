//! The key of a line, in words and as options of the command line.
//!
//! Rules come as text, as a store records them. A rule that this build does not know, because it
//! lacks a feature or because the rule is newer, is shown as it is recorded.

use std::fmt::Display;

use dedupstore::lines::{KeyRule, KeySelector, ValueRule, ValueSelector};

/// Describes the key of a line: `field 7, separated by `,``.
pub fn key_in_words(rule: &str) -> String {
    let Ok(parsed) = rule.parse::<KeyRule>() else {
        return rule.to_owned();
    };
    let end = parsed.line_end.name();
    match end {
        "newline" => selector_in_words(&parsed.selector),
        _ => format!(
            "{}; lines {}",
            selector_in_words(&parsed.selector),
            line_end_in_words(end)
        ),
    }
}

fn selector_in_words(selector: &KeySelector) -> String {
    if let Some((fields, delimiter)) = selector.selected_fields() {
        let fields = fields.to_string();
        let word = match fields.contains([',', '-']) {
            true => "fields",
            false => "field",
        };
        let separated = match delimiter {
            None => "spaces or tabs".to_owned(),
            Some(b'\t') => "tabs".to_owned(),
            Some(byte) => format!("`{}`", byte.escape_ascii()),
        };
        return format!("{word} {fields}, separated by {separated}");
    }
    match (selector, selector.expression()) {
        (_, Some(expression)) => format!("match of {expression}"),
        (KeySelector::Json(path), _) => format!("JSON value {path}"),
        _ => "the whole line".to_owned(),
    }
}

/// Says which parameters are dropped besides those of the normalization:
/// `, also without the parameter ref`.
pub fn dropped_parameters(rule: Option<&str>) -> String {
    let dropped = rule.and_then(|rule| rule.parse::<KeyRule>().ok());
    let dropped = dropped.map_or(Vec::new(), |rule| rule.drop_parameters);
    match &dropped[..] {
        [] => String::new(),
        [name] => format!(", also without the parameter {name}"),
        names => {
            let names: Vec<String> = names.iter().map(ToString::to_string).collect();
            format!(", also without the parameters {}", names.join(", "))
        }
    }
}

/// Returns the words after "was created" for the selector of a rule.
pub(crate) fn created_for_key(rule: &str) -> String {
    match selector_options(rule).as_str() {
        "" => "for whole lines".to_owned(),
        options => format!("with {options}"),
    }
}

/// Returns the options for the selector of a rule, as a shell needs them; empty for whole lines.
pub(crate) fn selector_options(rule: &str) -> String {
    match rule.parse::<KeyRule>() {
        Ok(rule) => quoted_words(&selector_words(&rule.selector)),
        Err(_) => rule.to_owned(),
    }
}

/// Returns the options of the command line for a rule, as a shell needs them.
pub fn key_options_quoted(rule: &KeyRule) -> String {
    quoted_words(&key_options(rule))
}

/// Returns the options of the command line for a rule, one word each, not quoted.
pub fn key_options(rule: &KeyRule) -> Vec<String> {
    let mut words = selector_words(&rule.selector);
    let mut add = |option: &str, value: String| words.extend([option.to_owned(), value]);
    if rule.normalization.name() != "none" {
        add("--normalize", rule.normalization.to_string());
    }
    for parameter in &rule.drop_parameters {
        add("--drop-parameter", parameter.to_string());
    }
    match line_end_option(rule.line_end.name()) {
        "" => {}
        option => words.push(option.to_owned()),
    }
    // One option names the delimiter of the key, of the time and of the importance.
    let has_delimiter = |words: &[String]| words.iter().any(|word| word == "--delimiter");
    if let Some(time) = &rule.time {
        words.extend(value_words("time", time, !has_delimiter(&words)));
    }
    if let Some(importance) = &rule.importance {
        words.extend(value_words(
            "importance",
            importance,
            !has_delimiter(&words),
        ));
    }
    words
}

/// Returns the options for the time or the importance.
fn value_words<F: Display + Default + PartialEq>(
    name: &str,
    value: &ValueRule<F>,
    with_delimiter: bool,
) -> Vec<String> {
    let mut words = match &value.selector {
        ValueSelector::Field { index, delimiter } => {
            let mut words = vec![format!("--{name}-field"), (index + 1).to_string()];
            if let Some(byte) = delimiter.filter(|_| with_delimiter) {
                words.extend(["--delimiter".to_owned(), delimiter_word(byte)]);
            }
            words
        }
        ValueSelector::Json(path) => vec![format!("--{name}-json-key"), path.to_string()],
    };
    if value.format != F::default() {
        words.extend([format!("--{name}-format"), value.format.to_string()]);
    }
    words
}

/// Returns the options for the time of a rule, as a shell needs them; empty for the machine's
/// clock.
pub(crate) fn time_options(rule: &str) -> String {
    let rule = rule.parse::<KeyRule>();
    let time = rule.ok().and_then(|rule| rule.time);
    time.map_or(String::new(), |time| {
        quoted_words(&value_words("time", &time, true))
    })
}

/// Returns the words after "was created" for the time of a rule.
pub(crate) fn created_for_time(rule: &str) -> String {
    match time_options(rule).as_str() {
        "" => "for the time of the machine".to_owned(),
        options => format!("with {options}"),
    }
}

/// Returns the options for the importance of a rule, as a shell needs them; empty for none.
pub(crate) fn importance_options(rule: &str) -> String {
    let rule = rule.parse::<KeyRule>();
    let importance = rule.ok().and_then(|rule| rule.importance);
    importance.map_or(String::new(), |importance| {
        quoted_words(&value_words("importance", &importance, true))
    })
}

/// Returns the words after "was created" for the importance of a stored rule, and the options for
/// that of a requested one.
pub(crate) fn importance_contradiction(stored: &str, requested: &str) -> (String, String) {
    let created = match importance_options(stored).as_str() {
        "" => "for lines without importance".to_owned(),
        options => format!("with {options}"),
    };
    (created, importance_options(requested))
}

fn selector_words(selector: &KeySelector) -> Vec<String> {
    if let Some((fields, delimiter)) = selector.selected_fields() {
        let mut words = vec!["--field".to_owned(), fields.to_string()];
        if let Some(byte) = delimiter {
            words.extend(["--delimiter".to_owned(), delimiter_word(byte)]);
        }
        return words;
    }
    match (selector, selector.expression()) {
        (_, Some(expression)) => vec!["--key-regex".to_owned(), expression.to_owned()],
        (KeySelector::Json(path), _) => vec!["--json-key".to_owned(), path.to_string()],
        _ => Vec::new(),
    }
}

fn delimiter_word(byte: u8) -> String {
    match byte {
        b'\t' => "\\t".to_owned(),
        0 => "\\0".to_owned(),
        b'\n' => "\\n".to_owned(),
        byte => char::from(byte).to_string(),
    }
}

pub(crate) fn drop_options(names: &str) -> String {
    let options = names.split(' ').filter(|name| !name.is_empty());
    let options = options.map(|name| format!("--drop-parameter {}", quoted(name)));
    options.collect::<Vec<_>>().join(" ")
}

pub(crate) fn line_end_in_words(name: &str) -> &'static str {
    match name {
        "crlf" => "end with CR LF",
        "nul" => "end with NUL",
        _ => "end with a newline",
    }
}

pub(crate) fn line_end_option(name: &str) -> &'static str {
    match name {
        "crlf" => "--crlf",
        "nul" => "--null",
        _ => "",
    }
}

fn quoted_words(words: &[String]) -> String {
    let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
    words.join(" ")
}

/// Quotes a word for a shell if it needs it.
pub(crate) fn quoted(word: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./:=,+@%".contains(&byte);
    // A comma alone would look like part of the sentence around it.
    let has_letter = word.bytes().any(|byte| byte.is_ascii_alphanumeric());
    match has_letter && word.bytes().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_in_words_and_as_options() {
        for (rule, words, options) in [
            ("line", "the whole line", ""),
            (
                "field=7",
                "field 7, separated by spaces or tabs",
                "--field 7",
            ),
            (
                "field=1+4-6,delimiter=%2C,end=nul",
                "fields 1,4-6, separated by `,`; lines end with NUL",
                "--field 1,4-6 --delimiter ',' --null",
            ),
            (
                "field=2-,delimiter=%09,end=crlf",
                "fields 2-, separated by tabs; lines end with CR LF",
                "--field 2- --delimiter '\\t' --crlf",
            ),
            ("json=a[0]", "JSON value a[0]", "--json-key 'a[0]'"),
            ("newer=1", "newer=1", "newer=1"),
            (
                "field=7,time=4,time-format=clf",
                "field 7, separated by spaces or tabs",
                "--field 7 --time-field 4 --time-format clf",
            ),
            (
                "field=7,delimiter=%2C,time=4,time-delimiter=%2C",
                "field 7, separated by `,`",
                "--field 7 --delimiter ',' --time-field 4",
            ),
            (
                "line,time=4,time-delimiter=%2C",
                "the whole line",
                "--time-field 4 --delimiter ','",
            ),
            ("line,time-json=at", "the whole line", "--time-json-key at"),
            (
                "field=1,importance=2,importance-format=depth",
                "field 1, separated by spaces or tabs",
                "--field 1 --importance-field 2 --importance-format depth",
            ),
            (
                "line,time=4,time-delimiter=%2C,importance=5,importance-delimiter=%2C",
                "the whole line",
                "--time-field 4 --delimiter ',' --importance-field 5",
            ),
        ] {
            assert_eq!(key_in_words(rule), words);
            let found = match rule.parse::<KeyRule>() {
                Ok(rule) => key_options_quoted(&rule),
                Err(_) => selector_options(rule),
            };
            assert_eq!(found, options);
        }
        assert_eq!(quoted("it's"), "'it'\\''s'");
    }
}
