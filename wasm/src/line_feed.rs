//! Chunks of a log in, keys out: the same for all that reads a log.

use dedupstore::lab::Sampling;
use dedupstore::lines::{KeyReader, LineBuffer, LineTooLong, Lines};
use dedupstore::{Fingerprint, KeyHasher};

use crate::key::KeyChoice;

const DELIMITER: u8 = b'\n';

/// A line that is wanted, and its key.
pub struct Keyed<'a> {
    pub line: &'a [u8],
    pub key: &'a [u8],
    pub fingerprint: Fingerprint,
}

/// A log that comes in chunks, read line by line.
pub struct LineFeed {
    lines: LineBuffer,
    sieve: Sieve,
}

/// Finds the keys of lines, and leaves out those that are not wanted.
struct Sieve {
    keys: KeyReader,
    hasher: KeyHasher,
    sampling: Sampling,
    read: u64,
    without_key: u64,
}

impl Sieve {
    #[inline]
    fn look(&mut self, line: &[u8], take: &mut impl FnMut(Keyed<'_>)) {
        self.read += 1;
        let Some(key) = self.keys.key(line) else {
            self.without_key += 1;
            return;
        };
        let fingerprint = self.hasher.fingerprint(key);
        if self.sampling.takes(fingerprint) {
            take(Keyed {
                line,
                key,
                fingerprint,
            });
        }
    }

    fn look_at_all(&mut self, lines: Lines<'_>, take: &mut impl FnMut(Keyed<'_>)) {
        for line in lines {
            if self.is_over() {
                break;
            }
            self.look(line.content, take);
        }
    }

    fn is_over(&self) -> bool {
        self.sampling.is_over_after(self.read)
    }
}

impl LineFeed {
    pub fn new(key: &KeyChoice, seed: u64, sampling: Sampling) -> Self {
        LineFeed {
            lines: LineBuffer::new(DELIMITER),
            sieve: Sieve {
                keys: key.reader(),
                hasher: KeyHasher::new(seed),
                sampling,
                read: 0,
                without_key: 0,
            },
        }
    }

    /// The next bytes of the log.
    pub fn feed(
        &mut self,
        mut chunk: &[u8],
        mut take: impl FnMut(Keyed<'_>),
    ) -> Result<(), LineTooLong> {
        while !chunk.is_empty() && !self.sieve.is_over() {
            if self.lines.is_empty() {
                let (whole, rest) = Lines::complete(DELIMITER, chunk);
                self.sieve.look_at_all(whole, &mut take);
                chunk = rest;
            }
            // Only a line that is in two chunks is copied.
            let rest = chunk.iter().position(|&byte| byte == DELIMITER);
            let space = self.lines.space()?;
            let count = rest.map_or(chunk.len(), |at| at + 1).min(space.len());
            space[..count].copy_from_slice(&chunk[..count]);
            self.lines.filled(count);
            chunk = &chunk[count..];
            self.sieve
                .look_at_all(self.lines.complete_lines(), &mut take);
        }
        Ok(())
    }

    /// The log has ended: what follows the last newline is a line too.
    pub fn finish(&mut self, mut take: impl FnMut(Keyed<'_>)) {
        if let (false, Some(line)) = (self.sieve.is_over(), self.lines.last_line()) {
            self.sieve.look(line.content, &mut take);
        }
    }

    /// Whether no more of the log is wanted.
    pub fn is_over(&self) -> bool {
        self.sieve.is_over()
    }

    /// Lines read so far, wanted or not.
    pub fn read(&self) -> u64 {
        self.sieve.read
    }

    /// Those among them that had no key.
    pub fn without_key(&self) -> u64 {
        self.sieve.without_key
    }

    pub fn sampling(&self) -> Sampling {
        self.sieve.sampling
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys_of(log: &str, piece: usize, sampling: Sampling) -> Vec<String> {
        let mut feed = LineFeed::new(&KeyChoice::whole_line(), 1, sampling);
        let mut keys = Vec::new();
        let mut take =
            |keyed: Keyed<'_>| keys.push(String::from_utf8_lossy(keyed.key).into_owned());
        for chunk in log.as_bytes().chunks(piece) {
            feed.feed(chunk, &mut take).expect("short lines");
        }
        feed.finish(&mut take);
        keys
    }

    #[test]
    fn the_first_lines_end_where_they_end_however_they_come() {
        for piece in [1, 3, 100] {
            let first = |lines| keys_of("a\nb\nc\nd", piece, Sampling::FirstLines(lines));
            assert_eq!(first(2), ["a", "b"]);
            assert_eq!(first(4), ["a", "b", "c", "d"]);
            assert_eq!(first(9), ["a", "b", "c", "d"]);
        }
    }

    #[test]
    fn of_a_key_all_lines_come_or_none() {
        let lines: Vec<String> = (0..4000).map(|i| format!("{}\n", i % 1000)).collect();
        let taken = keys_of(&lines.concat(), 77, Sampling::OneKeyIn(4));
        let times = |key: &String| taken.iter().filter(|it| *it == key).count();
        assert!(taken.iter().all(|key| times(key) == 4));
        // A quarter of 1,000 keys, with a standard error of 14.
        assert!((200..300).contains(&(taken.len() / 4)), "{}", taken.len());
    }
}
