//! Extracts and hashes the keys of lines, their times and importance, in one thread or several.

use dedupstore::lines::{ImportanceReader, KeyReader, LEAST_IMPORTANCE, Line, TimeReader};
use dedupstore::{KeyHasher, Observation};
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::error::Failure;
use crate::line_times::{FirstTime, Unreadable};

/// The batch size from which several threads are faster than one.
pub const MIN_PARALLEL_LINES: usize = 2048;

/// Extracts and hashes the keys of batches of lines.
pub struct BatchHasher {
    hasher: KeyHasher,
    observations: Vec<Observation>,
    /// The indices of the lines without a key, in order.
    without_key: Vec<u32>,
    without_time: Unreadable,
    without_importance: Unreadable,
    /// Present if lines have their own time.
    first_time: Option<FirstTime>,
    workers: Vec<Worker>,
    pool: Option<ThreadPool>,
}

struct Worker {
    reader: LineReader,
    without_key: Vec<u32>,
    without_time: Unreadable,
    without_importance: Unreadable,
}

/// Finds the key of a line, and its time and importance if lines have their own.
#[derive(Clone)]
pub struct LineReader {
    pub keys: KeyReader,
    pub times: Option<TimeReader>,
    pub importance: Option<ImportanceReader>,
}

/// The keys of a batch of lines.
pub struct HashedBatch<'a> {
    /// One observation per line that has a key.
    pub observations: &'a [Observation],
    /// The indices of the other lines.
    pub without_key: &'a [u32],
    /// Those with a key and without a readable time, if lines have their own.
    pub without_time: Unreadable,
    /// Those with a key and without a readable importance, if lines have one.
    pub without_importance: Unreadable,
}

impl BatchHasher {
    /// Creates a hasher for batches of up to `limit` lines.
    pub fn new(
        hasher: KeyHasher,
        reader: LineReader,
        limit: usize,
        threads: usize,
    ) -> Result<Self, Failure> {
        let pool = match threads {
            0 | 1 => None,
            _ => {
                let name = |number| format!("dedupstore key {number}");
                let pool = ThreadPoolBuilder::new()
                    .num_threads(threads)
                    .thread_name(name)
                    .build();
                let failed = |error| Failure::Usage(format!("--threads {threads}: {error}"));
                Some(pool.map_err(failed)?)
            }
        };
        let worker = |_| Worker {
            reader: reader.clone(),
            without_key: Vec::new(),
            without_time: Unreadable::default(),
            without_importance: Unreadable::default(),
        };
        Ok(BatchHasher {
            hasher,
            observations: vec![Observation::default(); limit],
            without_key: Vec::new(),
            without_time: Unreadable::default(),
            without_importance: Unreadable::default(),
            first_time: reader.times.is_some().then(FirstTime::default),
            workers: (0..threads.max(1)).map(worker).collect(),
            pool,
        })
    }

    /// Hashes the keys of at most `limit` lines.
    pub fn hash(&mut self, lines: &[Line<'_>]) -> HashedBatch<'_> {
        let keyed = match &self.pool {
            Some(pool) if lines.len() >= MIN_PARALLEL_LINES / 2 => {
                hash_in_parallel(
                    pool,
                    &mut self.workers,
                    self.hasher,
                    lines,
                    &mut self.observations,
                );
                self.join_shares(lines.len())
            }
            _ => {
                let observations = &mut self.observations[..lines.len()];
                match self.workers.first_mut() {
                    Some(worker) => {
                        let keyed = worker.hash_lines(self.hasher, lines, observations);
                        std::mem::swap(&mut self.without_key, &mut worker.without_key);
                        self.without_time = worker.without_time;
                        self.without_importance = worker.without_importance;
                        keyed
                    }
                    None => 0,
                }
            }
        };
        if let Some(first_time) = &mut self.first_time {
            first_time.apply(&mut self.observations[..keyed]);
        }
        HashedBatch {
            observations: &self.observations[..keyed],
            without_key: &self.without_key,
            without_time: self.without_time,
            without_importance: self.without_importance,
        }
    }

    /// Moves the observations of all workers together; returns their number.
    fn join_shares(&mut self, lines: usize) -> usize {
        self.without_key.clear();
        self.without_time = Unreadable::default();
        self.without_importance = Unreadable::default();
        let share = lines.div_ceil(self.workers.len());
        let mut keyed = 0;
        for (number, worker) in self.workers.iter().enumerate() {
            let start = (number * share).min(lines);
            let end = (start + share).min(lines);
            let found = end - start - worker.without_key.len();
            if keyed != start {
                self.observations.copy_within(start..start + found, keyed);
            }
            keyed += found;
            let missing = worker.without_key.iter();
            self.without_key
                .extend(missing.map(|line| line + start as u32));
            self.without_time.append(worker.without_time, start as u32);
            self.without_importance
                .append(worker.without_importance, start as u32);
        }
        keyed
    }
}

/// Gives each worker an equal share of the lines. Its observations start at the index of its
/// first line.
fn hash_in_parallel(
    pool: &ThreadPool,
    workers: &mut [Worker],
    hasher: KeyHasher,
    lines: &[Line<'_>],
    observations: &mut [Observation],
) {
    let share = lines.len().div_ceil(workers.len());
    pool.scope(|scope| {
        let mut lines = lines;
        let mut observations = &mut observations[..lines.len()];
        for worker in workers {
            let count = share.min(lines.len());
            let (mine, others) = lines.split_at(count);
            let (room, rest) = observations.split_at_mut(count);
            (lines, observations) = (others, rest);
            scope.spawn(move |_| {
                worker.hash_lines(hasher, mine, room);
            });
        }
    });
}

impl Worker {
    /// Hashes the keys of lines; returns the number of lines that have one.
    #[inline]
    fn hash_lines(
        &mut self,
        hasher: KeyHasher,
        lines: &[Line<'_>],
        observations: &mut [Observation],
    ) -> usize {
        self.without_key.clear();
        self.without_time = Unreadable::default();
        self.without_importance = Unreadable::default();
        let LineReader {
            keys,
            times,
            importance,
        } = &mut self.reader;
        if times.is_some() || importance.is_some() {
            let (without_time, without_importance) =
                (&mut self.without_time, &mut self.without_importance);
            let mut tick = |line: &[u8], number: u32| match times {
                None => 0,
                Some(times) => times.tick(line).unwrap_or_else(|| {
                    without_time.add(number);
                    0
                }),
            };
            let mut importance = |line: &[u8], number: u32| match importance {
                None => 0,
                Some(importance) => importance.importance(line).unwrap_or_else(|| {
                    without_importance.add(number);
                    LEAST_IMPORTANCE
                }),
            };
            return hash_keys(
                keys,
                lines,
                observations,
                &mut self.without_key,
                |key, number, line| Observation {
                    fingerprint: hasher.fingerprint(key),
                    tick: tick(line, number),
                    importance: importance(line, number),
                },
            );
        }
        // The usual case: a simple loop that the compiler optimizes well.
        if keys.takes_whole_lines() {
            for (observation, line) in observations.iter_mut().zip(lines) {
                *observation = hasher.fingerprint(line.content).into();
            }
            return lines.len();
        }
        let observation = |key: &[u8], _, _: &[u8]| hasher.fingerprint(key).into();
        hash_keys(
            keys,
            lines,
            observations,
            &mut self.without_key,
            observation,
        )
    }
}

/// Finds the keys of lines and turns them into observations; returns the number of lines that
/// have one. `observation` gets the key, the index of the line and the line.
#[inline(always)]
fn hash_keys(
    keys: &mut KeyReader,
    lines: &[Line<'_>],
    observations: &mut [Observation],
    without_key: &mut Vec<u32>,
    mut observation: impl FnMut(&[u8], u32, &[u8]) -> Observation,
) -> usize {
    let mut keyed = 0;
    for (number, line) in lines.iter().enumerate() {
        match keys.key(line.content) {
            Some(key) => {
                observations[keyed] = observation(key, number as u32, line.content);
                keyed += 1;
            }
            None => without_key.push(number as u32),
        }
    }
    keyed
}

#[cfg(test)]
mod tests {
    use dedupstore::lines::{
        ImportanceFormat, ImportanceRule, KeySelector, Normalization, TimeFormat, TimeRule,
        ValueSelector,
    };

    use super::*;

    #[test]
    fn the_result_does_not_depend_on_the_number_of_threads() {
        let texts: Vec<String> = (0..5000)
            .map(|i| match i % 7 {
                0 => "alone".to_owned(),
                5 => format!("now key-{}", i / 3),
                _ => format!("{i} key-{}", i / 3),
            })
            .collect();
        let lines: Vec<Line<'_>> = texts
            .iter()
            .map(|text| Line {
                content: text.as_bytes(),
                with_delimiter: text.as_bytes(),
            })
            .collect();
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
        let hash = |threads: usize, count: usize| {
            let hasher = KeyHasher::new(7);
            let mut hashing =
                BatchHasher::new(hasher, reader.clone(), 5000, threads).expect("threads");
            let hashed = hashing.hash(&lines[..count]);
            (
                hashed.observations.to_vec(),
                hashed.without_key.to_vec(),
                hashed.without_time,
                hashed.without_importance,
            )
        };
        for count in [0, 1, 1024, 1025, 4999, 5000] {
            let expected = hash(1, count);
            assert_eq!(expected.0.len() + expected.1.len(), count);
            for threads in [2, 3, 8] {
                assert!(
                    hash(threads, count) == expected,
                    "{threads} threads, {count} lines"
                );
            }
        }
    }
}
