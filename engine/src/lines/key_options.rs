//! What a caller asks for about keys, and what a store records.

use std::str::FromStr;

use super::importance_rule::ImportanceOptions;
use super::key::KeySelector;
use super::key_rule::{KeyRule, KeyRuleError, LineEnd};
use super::normalize::{Normalization, ParameterPattern};
use super::time_rule::TimeOptions;

/// The parts of a [`KeyRule`] that a caller asks for. A store supplies the others, or the
/// defaults do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeyOptions {
    /// Which part of a line is its key. Fields without a delimiter agree with the same fields
    /// of a store that records a delimiter.
    pub selector: Option<KeySelector>,
    /// How the key is changed before it is hashed.
    pub normalization: Option<Normalization>,
    /// The query parameters that [`Normalization::Crawl`] drops besides its own, in any order.
    pub drop_parameters: Option<Vec<ParameterPattern>>,
    /// What ends a line.
    pub line_end: Option<LineEnd>,
    /// How the time of a line is found. A field without a delimiter agrees with the same field
    /// of a store that records a delimiter.
    pub time: Option<TimeOptions>,
    /// How the importance of a line is found. A field without a delimiter agrees with the same
    /// field of a store that records a delimiter.
    pub importance: Option<ImportanceOptions>,
}

/// What a store records about its keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecordedKey {
    /// The whole rule. Its text form is recorded.
    Rule(KeyRule),
    /// The normalization only: by a program that knows its keys, or by an early version. Its
    /// name is recorded, or an empty text for none.
    Normalization(Normalization),
}

/// Why a key cannot be found as asked for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyOptionsError {
    /// The store's keys were found in another way.
    #[error("the store has the {} `{stored}`; `{requested}` was asked for", part.name())]
    Mismatch {
        /// The part of the rule that differs.
        part: KeyRulePart,
        /// What the store records, in its text form.
        stored: String,
        /// What was asked for, in its text form.
        requested: String,
    },
    /// Parameters to drop, with a normalization that drops none.
    #[error("parameters are dropped only by the normalization crawl, not by {normalization}")]
    NothingDropsParameters {
        /// The normalization.
        normalization: Normalization,
    },
    /// A format of times, and nothing that says which part of a line is its time.
    #[error("there is a format of times, but nothing says which part of a line is its time")]
    FormatWithoutTime,
}

/// A part of a [`KeyRule`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum KeyRulePart {
    /// [`KeyRule::selector`]. Its text form is that of a rule with this selector.
    Selector,
    /// [`KeyRule::normalization`]. Its text form is its name.
    Normalization,
    /// [`KeyRule::drop_parameters`]. Their text form is the names, separated by blanks.
    DropParameters,
    /// [`KeyRule::line_end`]. Its text form is its name.
    LineEnd,
    /// [`KeyRule::time`]. Its text form is that of a rule for whole lines with this time.
    Time,
    /// [`KeyRule::importance`]. Its text form is that of a rule for whole lines with it.
    Importance,
}

impl KeyRulePart {
    const ALL: [KeyRulePart; 6] = [
        KeyRulePart::Selector,
        KeyRulePart::Normalization,
        KeyRulePart::DropParameters,
        KeyRulePart::LineEnd,
        KeyRulePart::Time,
        KeyRulePart::Importance,
    ];

    fn name(self) -> &'static str {
        match self {
            KeyRulePart::Selector => "key",
            KeyRulePart::Normalization => "normalization",
            KeyRulePart::DropParameters => "dropped parameters",
            KeyRulePart::LineEnd => "line end",
            KeyRulePart::Time => "time",
            KeyRulePart::Importance => "importance",
        }
    }

    /// Returns whether the part finds the same keys in both rules.
    fn agrees(self, stored: &KeyRule, requested: &KeyRule) -> bool {
        self.text(&stored.canonical()) == self.text(&requested.canonical())
    }

    fn text(self, rule: &KeyRule) -> String {
        match self {
            KeyRulePart::Selector => KeyRule::from(rule.selector.clone()).to_string(),
            KeyRulePart::Normalization => rule.normalization.to_string(),
            KeyRulePart::DropParameters => {
                let names = rule.drop_parameters.iter().map(ToString::to_string);
                names.collect::<Vec<_>>().join(" ")
            }
            KeyRulePart::LineEnd => rule.line_end.name().to_owned(),
            KeyRulePart::Time => {
                let time = rule.time.clone();
                let rule = KeyRule {
                    time,
                    ..KeyRule::default()
                };
                rule.to_string()
            }
            KeyRulePart::Importance => {
                let importance = rule.importance.clone();
                let rule = KeyRule {
                    importance,
                    ..KeyRule::default()
                };
                rule.to_string()
            }
        }
    }
}

impl From<KeyRule> for KeyOptions {
    /// Asks for every part of the rule.
    fn from(rule: KeyRule) -> Self {
        KeyOptions {
            selector: Some(rule.selector),
            normalization: Some(rule.normalization),
            drop_parameters: Some(rule.drop_parameters),
            line_end: Some(rule.line_end),
            time: rule.time.map(TimeOptions::from),
            importance: rule.importance.map(ImportanceOptions::from),
        }
    }
}

impl KeyOptions {
    /// Returns the rule of a new store, or of a run without a store.
    pub fn rule(&self) -> Result<KeyRule, KeyOptionsError> {
        self.over(KeyRule::default())
    }

    /// Returns the rule for a store that exists. Fails if the options contradict it.
    pub fn rule_for(&self, recorded: &RecordedKey) -> Result<KeyRule, KeyOptionsError> {
        match recorded {
            RecordedKey::Rule(stored) => {
                let requested = self.over(stored.clone())?;
                check(&KeyRulePart::ALL, stored, &requested)?;
                // It may write the same fields in another way.
                Ok(stored.clone())
            }
            RecordedKey::Normalization(normalization) => {
                let stored = KeyRule {
                    normalization: *normalization,
                    bare_json_values: true,
                    ..KeyRule::default()
                };
                let requested = self.over(stored.clone())?;
                check(&[KeyRulePart::Normalization], &stored, &requested)?;
                Ok(requested)
            }
        }
    }

    /// Returns a rule with the parts that are asked for.
    fn over(&self, mut rule: KeyRule) -> Result<KeyRule, KeyOptionsError> {
        if let Some(selector) = &self.selector {
            rule.selector = with_delimiter_of(selector, &rule.selector);
        }
        if let Some(normalization) = self.normalization {
            rule.normalization = normalization;
        }
        if let Some(dropped) = &self.drop_parameters {
            rule.drop_parameters.clone_from(dropped);
            rule.drop_parameters.sort();
            rule.drop_parameters.dedup();
        }
        if let Some(line_end) = self.line_end {
            rule.line_end = line_end;
        }
        if let Some(time) = &self.time {
            let time = time.over(rule.time.as_ref());
            rule.time = Some(time.ok_or(KeyOptionsError::FormatWithoutTime)?);
        }
        if let Some(importance) = &self.importance {
            rule.importance = importance.over(rule.importance.as_ref());
        }
        let normalization = rule.normalization;
        match rule.drop_parameters.is_empty() || normalization.drops_parameters() {
            true => Ok(rule),
            // A contradiction with the store is reported as such.
            false if self.drop_parameters.is_none() => Ok(rule),
            false => Err(KeyOptionsError::NothingDropsParameters { normalization }),
        }
    }
}

/// Gives fields that have no delimiter that of a store.
fn with_delimiter_of(requested: &KeySelector, stored: &KeySelector) -> KeySelector {
    match (requested.selected_fields(), stored.selected_fields()) {
        (Some((fields, None)), Some((_, delimiter))) => KeySelector::fields(fields, delimiter),
        _ => requested.clone(),
    }
}

fn check(
    parts: &[KeyRulePart],
    stored: &KeyRule,
    requested: &KeyRule,
) -> Result<(), KeyOptionsError> {
    for &part in parts {
        if !part.agrees(stored, requested) {
            return Err(KeyOptionsError::Mismatch {
                part,
                stored: part.text(stored),
                requested: part.text(requested),
            });
        }
    }
    Ok(())
}

impl RecordedKey {
    /// Returns the name of the normalization in a recorded text, whether or not this program
    /// knows it.
    pub fn normalization_name(text: &str) -> &str {
        let is_rule = text == "line" || text.contains(['=', ',']);
        match is_rule {
            true => {
                let mut parts = text.split(',');
                let named = parts.find_map(|part| part.strip_prefix("normalize="));
                named.unwrap_or_default()
            }
            false => text,
        }
    }

    /// Returns a recorded text if it is that of a whole rule.
    pub fn rule_text(text: &str) -> Option<&str> {
        (text == "line" || text.contains(['=', ','])).then_some(text)
    }
}

impl FromStr for RecordedKey {
    type Err = KeyRuleError;

    fn from_str(text: &str) -> Result<Self, KeyRuleError> {
        match (text, RecordedKey::rule_text(text)) {
            (_, Some(rule)) => Ok(RecordedKey::Rule(rule.parse()?)),
            ("", None) => Ok(RecordedKey::Normalization(Normalization::None)),
            (name, None) => Ok(RecordedKey::Normalization(name.parse()?)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recorded(text: &str) -> RecordedKey {
        text.parse().expect(text)
    }

    fn asking(text: &str) -> KeyOptions {
        let rule: KeyRule = text.parse().expect(text);
        KeyOptions {
            selector: Some(rule.selector),
            ..KeyOptions::default()
        }
    }

    #[test]
    fn a_recorded_rule_is_used_if_nothing_is_asked_for() {
        for text in ["line", "field=7,delimiter=%2C,end=nul", "json=a.b,end=crlf"] {
            let rule = KeyOptions::default().rule_for(&recorded(text)).expect(text);
            assert_eq!(rule.to_string(), text);
            // Asking for what is recorded changes nothing.
            let all = KeyOptions::from(rule.clone());
            assert_eq!(all.rule_for(&recorded(text)), Ok(rule));
        }
    }

    #[test]
    fn a_contradiction_names_the_part_that_differs() {
        let mismatch = |options: KeyOptions, text: &str| match options.rule_for(&recorded(text)) {
            Err(KeyOptionsError::Mismatch {
                part,
                stored,
                requested,
            }) => (part, stored, requested),
            other => panic!("{other:?}"),
        };
        let found = mismatch(asking("field=7"), "line");
        assert_eq!(
            found,
            (KeyRulePart::Selector, "line".into(), "field=7".into())
        );
        let found = mismatch(asking("field=7,delimiter=;"), "field=7,delimiter=%2C");
        assert_eq!(found.1, "field=7,delimiter=%2C");
        let options = KeyOptions {
            line_end: Some(LineEnd::Nul),
            ..KeyOptions::default()
        };
        let found = mismatch(options, "line,end=crlf");
        assert_eq!(found, (KeyRulePart::LineEnd, "crlf".into(), "nul".into()));
    }

    #[test]
    fn fields_without_a_delimiter_take_that_of_the_store() {
        let rule = asking("field=7").rule_for(&recorded("field=7,delimiter=%2C"));
        assert_eq!(rule.expect("agrees").to_string(), "field=7,delimiter=%2C");
    }

    #[test]
    fn the_same_fields_agree_however_they_are_written() {
        for (asked, stored) in [
            ("field=1-2", "field=1+2"),
            ("field=1+2", "field=1-2,delimiter=%2C"),
            ("field=1+2-3+4", "field=1-4"),
            ("field=7-7", "field=7"),
        ] {
            let rule = asking(asked).rule_for(&recorded(stored)).expect(stored);
            assert_eq!(rule.to_string(), stored);
        }
        for (asked, stored) in [
            ("field=2+1", "field=1-2"),
            ("field=1+2-", "field=1-"),
            ("field=1+1", "field=1"),
        ] {
            assert!(asking(asked).rule_for(&recorded(stored)).is_err());
        }
    }

    #[test]
    fn a_time_must_agree_and_takes_what_it_leaves_out_from_the_store() {
        let asking = |text: &str| {
            let rule: KeyRule = text.parse().expect(text);
            let options = KeyOptions::from(rule);
            let time = options.time.map(|time| TimeOptions {
                format: None,
                ..time
            });
            KeyOptions {
                time,
                ..KeyOptions::default()
            }
        };
        let stored = recorded("field=7,delimiter=%2C,time=4,time-delimiter=%2C,time-format=clf");
        for text in ["line,time=4", "line,time=4,time-delimiter=%2C"] {
            let rule = asking(text).rule_for(&stored).expect(text);
            assert_eq!(RecordedKey::Rule(rule), stored);
        }
        for (stored, text) in [
            ("line,time=4", "line,time=3"),
            ("line,time=4", "line,time-json=a"),
            (
                "line,time=4,time-delimiter=%2C",
                "line,time=4,time-delimiter=;",
            ),
            ("line", "line,time=4"),
        ] {
            let found = asking(text).rule_for(&recorded(stored));
            let is_time = matches!(
                &found,
                Err(KeyOptionsError::Mismatch {
                    part: KeyRulePart::Time,
                    ..
                })
            );
            assert!(is_time, "{found:?}");
        }
        let rule = asking("line,time=4").rule_for(&recorded("")).expect("any");
        assert_eq!(rule.to_string(), "line,time=4");
    }

    #[test]
    fn an_importance_must_agree_like_a_time() {
        let asking = |text: &str| {
            let rule: KeyRule = text.parse().expect(text);
            KeyOptions {
                importance: rule.importance.map(ImportanceOptions::from),
                ..KeyOptions::default()
            }
        };
        let stored = "line,time=1,importance=3,importance-delimiter=%2C,importance-format=depth";
        let same = "line,importance=3,importance-format=depth";
        let rule = asking(same).rule_for(&recorded(stored)).expect("agrees");
        assert_eq!(rule.to_string(), stored);
        for other in [
            "line,importance=2",
            "line,importance=3",
            "line,importance-json=a",
        ] {
            let found = asking(other).rule_for(&recorded(stored));
            let is_importance = matches!(
                &found,
                Err(KeyOptionsError::Mismatch {
                    part: KeyRulePart::Importance,
                    ..
                })
            );
            assert!(is_importance, "{found:?}");
        }
    }

    #[test]
    fn a_store_that_records_no_rule_accepts_any() {
        for text in ["field=7", "json=a"] {
            let rule = asking(text).rule_for(&recorded("")).expect(text);
            assert_eq!(rule.to_string(), text);
            assert!(rule.bare_json_values);
        }
    }

    #[cfg(feature = "normalization")]
    #[test]
    fn normalizations_and_dropped_parameters_must_agree() {
        let with = |normalization, dropped: &[&str]| KeyOptions {
            normalization,
            drop_parameters: (!dropped.is_empty()).then(|| {
                dropped
                    .iter()
                    .map(|it| it.parse().expect("a name"))
                    .collect()
            }),
            ..KeyOptions::default()
        };
        let crawl = Some(Normalization::Crawl);
        let rule = with(crawl, &["b", "a*", "B"]).rule().expect("a rule");
        assert_eq!(rule.to_string(), "line,normalize=crawl,drop=a*,drop=b");
        let stored = RecordedKey::Rule(rule.clone());
        assert_eq!(with(None, &["a*", "b"]).rule_for(&stored), Ok(rule));
        for (options, expected) in [
            (with(None, &["b"]), KeyRulePart::DropParameters),
            (
                with(Some(Normalization::Whatwg), &[]),
                KeyRulePart::Normalization,
            ),
        ] {
            let found = options.rule_for(&stored);
            let is_expected =
                matches!(&found, Err(KeyOptionsError::Mismatch { part, .. }) if *part == expected);
            assert!(is_expected, "{found:?}");
        }
        for options in [
            with(None, &["b"]),
            with(Some(Normalization::Whatwg), &["b"]),
        ] {
            let refused = matches!(
                options.rule(),
                Err(KeyOptionsError::NothingDropsParameters { .. })
            );
            assert!(refused);
        }
        for (text, name) in [
            ("", ""),
            ("whatwg", "whatwg"),
            ("mine", "mine"),
            ("line", ""),
            ("field=1,normalize=crawl,drop=a", "crawl"),
        ] {
            assert_eq!(RecordedKey::normalization_name(text), name, "{text}");
        }
        let only = recorded("whatwg");
        assert_eq!(only, RecordedKey::Normalization(Normalization::Whatwg));
        assert!(
            with(Some(Normalization::None), &[])
                .rule_for(&only)
                .is_err()
        );
        assert!("mine".parse::<RecordedKey>().is_err());
    }
}
