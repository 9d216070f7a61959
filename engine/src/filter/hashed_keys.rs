//! Hashes the keys of a batch, with the threads that observe it.

use super::{Observation, Threads};
use crate::fingerprint::KeyHasher;

/// So many keys are hashed before they are observed: few enough to stay in the cache, enough that the
/// threads seldom wait for each other.
const LENGTH: usize = 1 << 16;
/// The same for one thread, which waits for nobody.
const LENGTH_ALONE: usize = 1 << 10;

/// Memory for the hashes of keys, which is used again.
#[derive(Debug, Default)]
pub(crate) struct HashedKeys(Vec<Observation>);

impl HashedKeys {
    /// Returns how many keys to hash at a time.
    pub fn batch_length(threads: Option<&Threads>) -> usize {
        threads.map_or(LENGTH_ALONE, |_| LENGTH)
    }

    /// Hashes the keys of a batch, with all threads. The observations have no time.
    pub fn hash<K: AsRef<[u8]> + Sync>(
        &mut self,
        threads: Option<&Threads>,
        hasher: KeyHasher,
        keys: &[K],
    ) -> &[Observation] {
        self.0.resize(keys.len(), Observation::default());
        match threads {
            Some(threads) => threads.hash(hasher, keys, &mut self.0),
            None => hash(hasher, keys, &mut self.0),
        }
        &self.0
    }
}

/// Hashes keys, with one thread.
pub(super) fn hash<K: AsRef<[u8]>>(
    hasher: KeyHasher,
    keys: &[K],
    observations: &mut [Observation],
) {
    for (key, observation) in keys.iter().zip(observations) {
        *observation = hasher.fingerprint(key.as_ref()).into();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_number_of_threads_gives_the_same_hashes_in_order() {
        let hasher = KeyHasher::new(5);
        let all: Vec<String> = (0..10_001).map(|i| format!("key {i}")).collect();
        for keys in [&all[..], &all[..3000], &all[..1], &[]] {
            let expected: Vec<Observation> = keys
                .iter()
                .map(|key| hasher.fingerprint(key.as_bytes()).into())
                .collect();
            let mut hashed = HashedKeys::default();
            for threads in 1..=4 {
                let threads = Threads::start(threads);
                assert_eq!(hashed.hash(threads.as_ref(), hasher, keys), expected);
            }
        }
    }
}
