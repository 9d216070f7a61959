//! Ranks the parts of a line that may be its key, by what the first lines of a log show.
//!
//! A key identifies what comes again: a URL, an id, a name. A time does not, nor does a column
//! with another value in every line, nor one with a handful of values, such as a status.

use std::cmp::Reverse;

use super::key::KeyReader;
use crate::fingerprint::{Fingerprint, KeyHasher};

/// Number of keys examined.
const KEYS: usize = 20_000;
/// The percentage of the keys that must look alike. Logs have stray lines.
const AGREEMENT_PERCENT: u64 = 80;
/// A column with at most this many values, on average in 20 lines each, is taken for a category.
const MOST_CATEGORIES: u64 = 64;
const LINES_PER_CATEGORY: u64 = 20;

/// Words in the names of columns with URLs, with ids, and with neither.
const URL_WORDS: [&str; 9] = [
    "url", "uri", "link", "href", "path", "page", "loc", "location", "request",
];
const ID_WORDS: [&str; 12] = [
    "id", "key", "hash", "click", "query", "item", "product", "email", "user", "guid", "uuid",
    "name",
];
const SOURCE_WORDS: [&str; 5] = ["referrer", "referer", "ref", "from", "source"];
const TIME_WORDS: [&str; 9] = [
    "time",
    "timestamp",
    "date",
    "datetime",
    "ts",
    "at",
    "when",
    "created",
    "updated",
];

/// What the first lines of a log show about a key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KeyStatistics {
    /// Lines examined.
    pub lines: u64,
    /// Lines with a key.
    pub keys: u64,
    /// Distinct keys.
    pub distinct: u64,
    urls: u64,
    times: u64,
    numbers: u64,
}

/// How likely a part of a line is its key; the most likely first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Likelihood {
    RepeatedUrl,
    RepeatedId,
    RepeatedText,
    RepeatedNumber,
    UniqueUrl,
    Unique,
    Category,
    Time,
    Missing,
}

/// The order of candidates: the smallest comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct KeyRank {
    likelihood: Likelihood,
    name: u8,
    distinct: Reverse<u64>,
}

impl KeyStatistics {
    /// Examines the keys of the first lines of a log. `is_first` says whether a key is met for the
    /// first time.
    pub fn of<'a>(
        lines: impl Iterator<Item = &'a [u8]>,
        reader: &mut KeyReader,
        mut is_first: impl FnMut(Fingerprint) -> bool,
    ) -> Self {
        let mut found = KeyStatistics::default();
        let hasher = KeyHasher::new(0);
        for line in lines.take(KEYS) {
            found.lines += 1;
            let Some(key) = reader.key(line) else {
                continue;
            };
            let key = key.to_vec();
            let shown = reader.shown(&key);
            found.keys += 1;
            found.urls += u64::from(is_url(shown));
            found.times += u64::from(is_time(shown));
            found.numbers += u64::from(is_number(shown));
            found.distinct += u64::from(is_first(hasher.fingerprint(&key)));
        }
        found
    }

    /// Returns the rank of a candidate whose column has this name; an empty name if it has none.
    pub fn rank(&self, name: &str) -> KeyRank {
        let words = words_of(name);
        let is_named = |known: &[&str]| words.iter().any(|word| known.contains(&word.as_str()));
        let likelihood = self.likelihood(is_named(&ID_WORDS), is_named(&TIME_WORDS));
        KeyRank {
            likelihood,
            name: match () {
                () if is_named(&SOURCE_WORDS) => 2,
                () if is_named(&URL_WORDS) => 0,
                () => 1,
            },
            // Of two ids, the one with more values says more.
            distinct: Reverse(match likelihood {
                Likelihood::RepeatedUrl | Likelihood::UniqueUrl => 0,
                _ => self.distinct,
            }),
        }
    }

    /// Whether the keys are times, which hardly come again.
    pub fn are_times(&self) -> bool {
        self.are_mostly(self.times)
    }

    fn likelihood(&self, is_id: bool, is_time_name: bool) -> Likelihood {
        let is_unique = self.distinct == self.keys;
        let is_category =
            self.distinct <= MOST_CATEGORIES && self.distinct * LINES_PER_CATEGORY <= self.keys;
        let are_urls = self.are_mostly(self.urls);
        let are_numbers = self.are_mostly(self.numbers);
        match () {
            () if self.keys * 2 < self.lines || self.keys == 0 => Likelihood::Missing,
            () if self.are_times() || (is_time_name && (are_numbers || is_unique)) => {
                Likelihood::Time
            }
            () if are_urls && is_unique => Likelihood::UniqueUrl,
            () if are_urls => Likelihood::RepeatedUrl,
            () if is_unique => Likelihood::Unique,
            () if is_category => Likelihood::Category,
            () if is_id => Likelihood::RepeatedId,
            () if are_numbers => Likelihood::RepeatedNumber,
            () => Likelihood::RepeatedText,
        }
    }

    fn are_mostly(&self, count: u64) -> bool {
        self.keys > 0 && count * 100 >= self.keys * AGREEMENT_PERCENT
    }
}

/// Splits a name at signs and capital letters: `request.URL`, `pageUrl`, `visited_at`. The known
/// words are ASCII, so other letters need no lower case.
fn words_of(name: &str) -> Vec<String> {
    let mut words: Vec<String> = vec![String::new()];
    let mut was_lower = false;
    for character in name.chars() {
        let is_sign = character.is_ascii() && !character.is_ascii_alphanumeric();
        if is_sign || (was_lower && character.is_ascii_uppercase()) {
            words.push(String::new());
        }
        was_lower = character.is_ascii_lowercase();
        if let Some(word) = words.last_mut()
            && !is_sign
        {
            word.push(character.to_ascii_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// `https://a.example/x`, `www.a.example/x`, `/x/y`.
fn is_url(key: &[u8]) -> bool {
    let has_scheme = key.windows(3).take(12).any(|part| part == b"://");
    has_scheme || key.starts_with(b"/") || key.starts_with(b"www.")
}

/// A date, with or without a time, or a number of seconds to nanoseconds since 1970.
fn is_time(key: &[u8]) -> bool {
    let key = key.strip_prefix(b"[").unwrap_or(key);
    let is_digit = |at: usize| key.get(at).is_some_and(u8::is_ascii_digit);
    let is = |at: usize, signs: &[u8]| key.get(at).is_some_and(|byte| signs.contains(byte));
    let is_date =
        (0..4).all(is_digit) && is(4, b"-/") && is_digit(5) && is_digit(6) && is(7, b"-/");
    let is_log_date = is_digit(0) && is_digit(1) && is(2, b"/") && is(6, b"/") && is_digit(7);
    is_date || is_log_date || is_time_of_day(key) || is_unix_time(key)
}

/// `12:34:56`
fn is_time_of_day(key: &[u8]) -> bool {
    let mut parts = key.split(|&byte| byte == b':');
    let is_pair = |part: Option<&[u8]>| {
        part.is_some_and(|part| part.len() == 2 && part.iter().all(u8::is_ascii_digit))
    };
    let starts = is_pair(parts.next()) && is_pair(parts.next());
    starts
        && parts
            .next()
            .is_some_and(|part| part.len() >= 2 && part[0].is_ascii_digit())
}

/// Whole or decimal seconds from 2001 to 2096, or the same in smaller units.
fn is_unix_time(key: &[u8]) -> bool {
    let whole = key.split(|&byte| byte == b'.').next().unwrap_or(key);
    let is_length = matches!(whole.len(), 10 | 13 | 16 | 19);
    is_length && matches!(whole[0], b'1'..=b'3') && is_number(key)
}

fn is_number(key: &[u8]) -> bool {
    let digits = key.strip_prefix(b"-").unwrap_or(key);
    let is_part = |byte: &u8| byte.is_ascii_digit() || *byte == b'.';
    digits.first().is_some_and(u8::is_ascii_digit) && digits.iter().all(is_part)
}

#[cfg(test)]
mod tests {
    use super::super::{KeyRule, KeySelector};
    use super::*;

    fn statistics(values: &[String]) -> KeyStatistics {
        let mut reader = KeyReader::of(KeyRule::from(KeySelector::WholeLine));
        let mut met = std::collections::HashSet::new();
        let lines = values.iter().map(|value| value.as_bytes());
        KeyStatistics::of(lines, &mut reader, |key| met.insert(key))
    }

    fn column(value: impl Fn(usize) -> String) -> KeyStatistics {
        statistics(&(0..2000).map(value).collect::<Vec<_>>())
    }

    #[test]
    fn keys_are_ranked_by_meaning() {
        let ranked = [
            ("url", column(|i| format!("https://a.example/{}", i % 700))),
            ("target", column(|i| format!("/p/{}", i % 900))),
            (
                "referrer",
                column(|i| format!("https://b.example/{}", i % 50)),
            ),
            ("visitor.id", column(|i| (i % 900).to_string())),
            ("note", column(|i| format!("word{}", i % 400))),
            ("bytes", column(|i| (i % 800).to_string())),
            ("url", column(|i| format!("https://a.example/{i}"))),
            ("row", column(|i| format!("row{i}"))),
            ("status", column(|i| (200 + i % 3).to_string())),
            (
                "at",
                column(|i| format!("2026-03-01T00:{:02}:{:02}Z", i / 60, i % 60)),
            ),
        ];
        for pair in ranked.windows(2) {
            let [(name, above), (lower_name, below)] = pair else {
                continue;
            };
            let (rank, lower_rank) = (above.rank(name), below.rank(lower_name));
            assert!(
                rank < lower_rank,
                "{name} {rank:?}, {lower_name} {lower_rank:?}"
            );
        }
    }

    #[test]
    fn times_are_recognized() {
        for time in [
            "2026-03-01",
            "2026/03/01 12:00:00",
            "2026-03-01T12:34:56.789Z",
            "[01/Mar/2026:00:43:37",
            "12:34:56,789",
            "1772323200",
            "1772323200.25",
            "1772323200123",
        ] {
            assert!(is_time(time.as_bytes()), "{time}");
        }
        for other in [
            "",
            "12",
            "10.0.0.1",
            "/2026/03/01",
            "4000000000000",
            "a:b:c",
            "98:7",
        ] {
            assert!(!is_time(other.as_bytes()), "{other}");
        }
    }

    #[test]
    fn names_are_split_into_words() {
        assert_eq!(
            words_of("request.pageURL_id"),
            ["request", "page", "url", "id"]
        );
        assert_eq!(words_of(""), Vec::<String>::new());
    }
}
