//! Extracts and hashes the keys of lines, their times and importance.

use dedupstore::lines::{ImportanceReader, KeyReader, LEAST_IMPORTANCE, Line, Lines, TimeReader};
use dedupstore::{KeyHasher, Observation};

use crate::line_times::Unreadable;

/// Extracts and hashes the keys of batches of lines. Each thread has a clone.
#[derive(Clone)]
pub struct BatchHasher {
    hasher: KeyHasher,
    reader: LineReader,
    /// The largest number of lines per batch.
    limit: usize,
}

/// Finds the key of a line, and its time and importance if lines have their own.
#[derive(Clone)]
pub struct LineReader {
    pub keys: KeyReader,
    pub times: Option<TimeReader>,
    pub importance: Option<ImportanceReader>,
}

/// A batch of lines with their keys. Lines are positions in a text, so that a batch can go to
/// another thread together with the text.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct HashedBatch {
    /// Where the first line begins.
    start: usize,
    /// Where each line ends, with its delimiter.
    ends: Vec<usize>,
    /// One observation per line that has a key.
    pub observations: Vec<Observation>,
    /// The indices of the other lines, in order.
    pub without_key: Vec<u32>,
    /// Those with a key and without a readable time, if lines have their own.
    pub without_time: Unreadable,
    /// Those with a key and without a readable importance, if lines have one.
    pub without_importance: Unreadable,
}

impl HashedBatch {
    /// Returns the number of lines.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns the lines with their delimiters. `text` is the text that was hashed.
    #[inline]
    pub fn lines<'a>(&'a self, text: &'a [u8]) -> impl Iterator<Item = &'a [u8]> {
        let mut start = self.start;
        self.ends.iter().map(move |&end| {
            let line = &text[start..end];
            start = end;
            line
        })
    }

    fn start(&mut self, start: usize) {
        self.start = start;
        self.ends.clear();
        self.observations.clear();
        self.without_key.clear();
        self.without_time = Unreadable::default();
        self.without_importance = Unreadable::default();
    }
}

impl BatchHasher {
    /// Creates a hasher for batches of up to `limit` lines.
    pub fn new(hasher: KeyHasher, reader: LineReader, limit: usize) -> Self {
        BatchHasher {
            hasher,
            reader,
            limit,
        }
    }

    /// Hashes the keys of the next lines. Returns false if these are the last ones.
    pub fn hash(&mut self, lines: &mut Lines<'_>, batch: &mut HashedBatch) -> bool {
        let text = lines.text();
        batch.start(text.len() - lines.rest().len());
        let ends = std::iter::from_fn(|| lines.next_end());
        batch.ends.extend(ends.take(self.limit));
        self.hash_lines(text, 1, batch);
        batch.len() == self.limit
    }

    /// Hashes the key of the last line of an input, which has no delimiter.
    pub fn hash_unterminated(&mut self, line: Line<'_>, batch: &mut HashedBatch) {
        batch.start(0);
        batch.ends.push(line.content.len());
        self.hash_lines(line.content, 0, batch);
    }

    // One copy, whoever calls it.
    #[inline(never)]
    fn hash_lines(&mut self, text: &[u8], delimiter_bytes: usize, batch: &mut HashedBatch) {
        let hasher = self.hasher;
        let HashedBatch {
            start,
            ends,
            observations,
            without_key,
            without_time,
            without_importance,
        } = batch;
        let mut start = *start;
        let contents = ends.iter().map(|&end| {
            let content = &text[start..end - delimiter_bytes];
            start = end;
            content
        });
        let LineReader {
            keys,
            times,
            importance,
        } = &mut self.reader;
        // The usual cases: simple loops that the compiler optimizes well.
        if times.is_none() && importance.is_none() {
            let observation = |key: &[u8]| Observation::from(hasher.fingerprint(key));
            return match keys.takes_whole_lines() {
                true => observations.extend(contents.map(observation)),
                false => each_key(keys, contents, without_key, |key, _, _| {
                    observations.push(observation(key));
                }),
            };
        }
        each_key(keys, contents, without_key, |key, number, line| {
            let mut observation = Observation::from(hasher.fingerprint(key));
            if let Some(times) = times {
                observation.tick = times.tick(line).unwrap_or_else(|| {
                    without_time.add(number);
                    0
                });
            }
            if let Some(importance) = importance {
                observation.importance = importance.importance(line).unwrap_or_else(|| {
                    without_importance.add(number);
                    LEAST_IMPORTANCE
                });
            }
            observations.push(observation);
        });
    }
}

/// Passes each key to `found`, with the index of its line and the line. Notes the lines without one.
#[inline(always)]
fn each_key<'a>(
    keys: &mut KeyReader,
    lines: impl Iterator<Item = &'a [u8]>,
    without_key: &mut Vec<u32>,
    mut found: impl FnMut(&[u8], u32, &[u8]),
) {
    for (number, line) in lines.enumerate() {
        let number = number as u32;
        match keys.key(line) {
            Some(key) => found(key, number, line),
            None => without_key.push(number),
        }
    }
}

#[cfg(test)]
mod tests {
    use dedupstore::lines::{
        ImportanceFormat, ImportanceRule, KeySelector, Normalization, TimeFormat, TimeRule,
        ValueSelector,
    };

    use super::*;

    #[test]
    fn a_batch_has_lines_keys_times_and_importance() {
        let selector = KeySelector::field(2, None).expect("from 1");
        let times = TimeRule {
            selector: ValueSelector::Field {
                index: 0,
                delimiter: None,
            },
            format: TimeFormat::Seconds,
        };
        let importance = ImportanceRule {
            selector: times.selector.clone(),
            format: ImportanceFormat::Number,
        };
        let reader = LineReader {
            keys: KeyReader::new(selector, Normalization::None),
            times: Some(TimeReader::new(times)),
            importance: Some(ImportanceReader::new(importance)),
        };
        let keys = KeyHasher::new(7);
        let mut hasher = BatchHasher::new(keys, reader, 2);
        let text = b"12 a\nalone\nnow a\nlater b\n";
        let (mut lines, rest) = Lines::complete(b'\n', text);
        assert!(rest.is_empty());
        let mut batch = HashedBatch::default();
        let observation = |key: &str, tick, importance| Observation {
            tick,
            importance,
            ..keys.fingerprint(key.as_bytes()).into()
        };
        assert!(hasher.hash(&mut lines, &mut batch));
        assert_eq!(batch.observations, [observation("a", 12, 12)]);
        assert_eq!(
            (&batch.without_key[..], batch.without_time.count),
            (&[1][..], 0)
        );
        assert!(batch.lines(text).eq([&b"12 a\n"[..], b"alone\n"]));
        assert!(hasher.hash(&mut lines, &mut batch));
        let least = LEAST_IMPORTANCE;
        let expected = [observation("a", 0, least), observation("b", 0, least)];
        assert_eq!(batch.observations, expected);
        assert_eq!(batch.without_importance, Unreadable { count: 2, first: 0 });
        assert!(batch.lines(text).eq([&b"now a\n"[..], b"later b\n"]));
        assert!(!hasher.hash(&mut lines, &mut batch));
        assert_eq!(batch.len(), 0);
        let last = Line {
            content: b"5 c",
            with_delimiter: b"5 c",
        };
        hasher.hash_unterminated(last, &mut batch);
        assert_eq!(batch.observations, [observation("c", 5, 5)]);
        assert!(batch.lines(last.content).eq([&b"5 c"[..]]));
    }
}
