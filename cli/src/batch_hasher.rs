//! Extracts and hashes the keys of lines, in one thread or several.

use dedupstore::lines::{KeyReader, Line};
use dedupstore::{KeyHasher, Observation};
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::error::Failure;

/// The batch size from which several threads are faster than one.
pub const MIN_PARALLEL_LINES: usize = 2048;

/// Extracts and hashes the keys of batches of lines.
pub struct BatchHasher {
    hasher: KeyHasher,
    observations: Vec<Observation>,
    /// The indices of the lines without a key, in order.
    without_key: Vec<u32>,
    workers: Vec<Worker>,
    pool: Option<ThreadPool>,
}

struct Worker {
    keys: KeyReader,
    without_key: Vec<u32>,
}

/// The keys of a batch of lines.
pub struct HashedBatch<'a> {
    /// One observation per line that has a key.
    pub observations: &'a [Observation],
    /// The indices of the other lines.
    pub without_key: &'a [u32],
}

impl BatchHasher {
    /// Creates a hasher for batches of up to `limit` lines.
    pub fn new(
        hasher: KeyHasher,
        keys: KeyReader,
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
            keys: keys.clone(),
            without_key: Vec::new(),
        };
        Ok(BatchHasher {
            hasher,
            observations: vec![Observation::default(); limit],
            without_key: Vec::new(),
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
                self.without_key.clear();
                let observations = &mut self.observations[..lines.len()];
                match self.workers.first_mut() {
                    Some(worker) => hash_lines(
                        &mut worker.keys,
                        self.hasher,
                        lines,
                        observations,
                        &mut self.without_key,
                    ),
                    None => 0,
                }
            }
        };
        HashedBatch {
            observations: &self.observations[..keyed],
            without_key: &self.without_key,
        }
    }

    /// Moves the observations of all workers together; returns their number.
    fn join_shares(&mut self, lines: usize) -> usize {
        self.without_key.clear();
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
            worker.without_key.clear();
            scope.spawn(move |_| {
                let Worker { keys, without_key } = worker;
                hash_lines(keys, hasher, mine, room, without_key);
            });
        }
    });
}

/// Hashes the keys of lines; returns the number of lines that have one.
#[inline]
fn hash_lines(
    keys: &mut KeyReader,
    hasher: KeyHasher,
    lines: &[Line<'_>],
    observations: &mut [Observation],
    without_key: &mut Vec<u32>,
) -> usize {
    // The usual case: a simple loop that the compiler optimizes well.
    if keys.takes_whole_lines() {
        for (observation, line) in observations.iter_mut().zip(lines) {
            *observation = hasher.fingerprint(line.content).into();
        }
        return lines.len();
    }
    let mut keyed = 0;
    for (number, line) in lines.iter().enumerate() {
        match keys.key(line.content) {
            Some(key) => {
                observations[keyed] = hasher.fingerprint(key).into();
                keyed += 1;
            }
            None => without_key.push(number as u32),
        }
    }
    keyed
}

#[cfg(test)]
mod tests {
    use dedupstore::lines::{KeySelector, Normalization};

    use super::*;

    #[test]
    fn the_result_does_not_depend_on_the_number_of_threads() {
        let texts: Vec<String> = (0..5000)
            .map(|i| match i % 7 {
                0 => "alone".to_owned(),
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
        let keys = KeyReader::new(selector, Normalization::None);
        let hash = |threads: usize, count: usize| {
            let hasher = KeyHasher::new(7);
            let mut hashing =
                BatchHasher::new(hasher, keys.clone(), 5000, threads).expect("threads");
            let hashed = hashing.hash(&lines[..count]);
            (hashed.observations.to_vec(), hashed.without_key.to_vec())
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
