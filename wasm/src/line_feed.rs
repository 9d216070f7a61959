//! Splits chunks of a log into lines and finds their keys.

use dedupstore::lab::Sampling;
use dedupstore::lines::{KeyReader, LineBuffer, LineTooLong, Lines};
use dedupstore::{Fingerprint, KeyHasher};

use crate::key_choice::{KeyChoice, shown};
use crate::line_importance::LineImportance;

const DELIMITER: u8 = b'\n';

/// A line of the sample, and its key.
pub struct KeyedLine<'a> {
    pub line: &'a [u8],
    pub key: &'a [u8],
    pub fingerprint: Fingerprint,
    /// 0 if lines have none.
    pub importance: u16,
}

impl KeyedLine<'_> {
    /// The key and its importance.
    pub fn owned(&self) -> (Vec<u8>, u16) {
        (self.key.to_vec(), self.importance)
    }

    /// The observation of the key, without a time.
    #[cfg(feature = "all-filters")]
    pub fn observation(&self) -> dedupstore::Observation {
        dedupstore::Observation {
            importance: self.importance,
            ..self.fingerprint.into()
        }
    }
}

/// Reads the lines of a log that arrives in chunks.
pub struct LineFeed {
    lines: LineBuffer,
    extractor: KeyExtractor,
}

/// Finds the keys of lines and skips lines outside the sample.
struct KeyExtractor {
    keys: KeyReader,
    importance: LineImportance,
    hasher: KeyHasher,
    sampling: Sampling,
    lines_read: u64,
    lines_without_key: u64,
}

impl KeyExtractor {
    #[inline]
    fn extract(&mut self, line: &[u8], take: &mut impl FnMut(KeyedLine<'_>)) {
        self.lines_read += 1;
        let Some(key) = self.keys.key(line) else {
            self.lines_without_key += 1;
            return;
        };
        let fingerprint = self.hasher.fingerprint(key);
        if self.sampling.includes(fingerprint) {
            take(KeyedLine {
                line,
                key,
                fingerprint,
                importance: self.importance.read(line),
            });
        }
    }

    fn extract_all(&mut self, lines: Lines<'_>, take: &mut impl FnMut(KeyedLine<'_>)) {
        for line in lines {
            if self.is_complete() {
                break;
            }
            self.extract(line.content, take);
        }
    }

    fn is_complete(&self) -> bool {
        self.sampling.ends_after(self.lines_read)
    }
}

impl LineFeed {
    pub fn new(key: &KeyChoice, seed: u64, sampling: Sampling) -> Self {
        LineFeed {
            lines: LineBuffer::new(DELIMITER),
            extractor: KeyExtractor {
                keys: key.reader(),
                importance: key.importance(),
                hasher: KeyHasher::new(seed),
                sampling,
                lines_read: 0,
                lines_without_key: 0,
            },
        }
    }

    /// Reads the next bytes of the log.
    pub fn feed(
        &mut self,
        mut chunk: &[u8],
        mut take: impl FnMut(KeyedLine<'_>),
    ) -> Result<(), LineTooLong> {
        while !chunk.is_empty() && !self.extractor.is_complete() {
            if self.lines.is_empty() {
                let (whole, rest) = Lines::complete(DELIMITER, chunk);
                self.extractor.extract_all(whole, &mut take);
                chunk = rest;
            }
            // Copies only a line that spans two chunks.
            let rest = chunk.iter().position(|&byte| byte == DELIMITER);
            let space = self.lines.space()?;
            let count = rest.map_or(chunk.len(), |at| at + 1).min(space.len());
            space[..count].copy_from_slice(&chunk[..count]);
            self.lines.filled(count);
            chunk = &chunk[count..];
            self.extractor
                .extract_all(self.lines.complete_lines(), &mut take);
        }
        Ok(())
    }

    /// Ends the log. Text after the last newline is a line too.
    pub fn finish(&mut self, mut take: impl FnMut(KeyedLine<'_>)) {
        if let (false, Some(line)) = (self.extractor.is_complete(), self.lines.last_line()) {
            self.extractor.extract(line.content, &mut take);
        }
    }

    /// Whether the requested part of the log has been read.
    pub fn is_complete(&self) -> bool {
        self.extractor.is_complete()
    }

    /// A key as text for the page.
    pub fn shown_key(&self, key: &[u8]) -> String {
        shown(self.extractor.keys.shown(key))
    }

    /// Lines read so far, inside the sample or not.
    pub fn lines_read(&self) -> u64 {
        self.extractor.lines_read
    }

    /// Lines read so far that have no key.
    pub fn lines_without_key(&self) -> u64 {
        self.extractor.lines_without_key
    }

    /// Whether lines have an importance.
    pub fn has_importance(&self) -> bool {
        self.extractor.importance.is_known()
    }

    /// Lines of the sample with a key whose importance could not be read.
    pub fn lines_without_importance(&self) -> u64 {
        self.extractor.importance.lines_without()
    }

    /// The part of the log that is read.
    #[cfg(feature = "all-filters")]
    pub fn sampling(&self) -> Sampling {
        self.extractor.sampling
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key_choice::{KeyPart, KeySpec};

    fn keys_of(log: &str, chunk_bytes: usize, sampling: Sampling) -> Vec<String> {
        let whole_line = KeySpec {
            part: KeyPart::Line,
            normalize: false,
            importance: None,
        };
        let key = KeyChoice::new(&whole_line).expect("a valid key");
        let mut feed = LineFeed::new(&key, 1, sampling);
        let mut keys = Vec::new();
        let mut take =
            |keyed: KeyedLine<'_>| keys.push(String::from_utf8_lossy(keyed.key).into_owned());
        for chunk in log.as_bytes().chunks(chunk_bytes) {
            feed.feed(chunk, &mut take).expect("short lines");
        }
        feed.finish(&mut take);
        keys
    }

    #[test]
    fn the_first_lines_do_not_depend_on_chunk_boundaries() {
        for chunk_bytes in [1, 3, 100] {
            let first = |lines| keys_of("a\nb\nc\nd", chunk_bytes, Sampling::FirstLines(lines));
            assert_eq!(first(2), ["a", "b"]);
            assert_eq!(first(4), ["a", "b", "c", "d"]);
            assert_eq!(first(9), ["a", "b", "c", "d"]);
        }
    }

    #[test]
    fn a_sample_of_keys_has_all_lines_of_each_of_its_keys() {
        let lines: Vec<String> = (0..4000).map(|i| format!("{}\n", i % 1000)).collect();
        let taken = keys_of(&lines.concat(), 77, Sampling::OneKeyIn(4));
        let times = |key: &String| taken.iter().filter(|it| *it == key).count();
        assert!(taken.iter().all(|key| times(key) == 4));
        // A quarter of 1,000 keys, with a standard error of 14.
        assert!((200..300).contains(&(taken.len() / 4)), "{}", taken.len());
    }
}
