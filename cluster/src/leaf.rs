//! A local filter in front of a store: it answers repeats without a message.
//!
//! This is a dense tree of two levels (`dedupstore::sites::BloomTree`): every key that the root has
//! answered is recorded in the leaf. The leaf is set only after the root has acknowledged, so it
//! never knows more than the root, except by its own false positives.

use std::collections::HashMap;

use dedupstore::sites::SiteVerdict;
use dedupstore::store::{Medium, Store};
use dedupstore::{Fingerprint, Observation, SeenSet, Verdict};

use crate::error::ClusterError;
use crate::store::ClusterStore;

/// A local filter of fingerprints. They must be made with the seed of the store behind it.
pub trait Leaf {
    /// Returns whether a key was recorded.
    fn contains(&self, key: Fingerprint) -> bool;

    /// Records keys.
    fn record(&mut self, keys: &[Fingerprint]) -> Result<(), ClusterError>;
}

impl Leaf for SeenSet {
    fn contains(&self, key: Fingerprint) -> bool {
        self.contains_fingerprint(key).is_seen()
    }

    fn record(&mut self, keys: &[Fingerprint]) -> Result<(), ClusterError> {
        for &key in keys {
            self.observe_fingerprint(key);
        }
        Ok(())
    }
}

impl<M: Medium> Leaf for Store<M> {
    fn contains(&self, key: Fingerprint) -> bool {
        self.contains_fingerprint(key).is_seen()
    }

    fn record(&mut self, keys: &[Fingerprint]) -> Result<(), ClusterError> {
        let observations: Vec<Observation> = keys.iter().map(|&key| key.into()).collect();
        let mut verdicts = vec![Verdict::New; observations.len()];
        Ok(self.observe_batch(&observations, &mut verdicts)?)
    }
}

/// The keys of a batch that a leaf does not know.
#[derive(Debug)]
pub struct LeafMisses {
    /// These keys, each once.
    pub keys: Vec<Fingerprint>,
    /// For each key of the batch, the index of its first occurrence among the misses; None if the
    /// leaf knows it.
    places: Vec<Option<usize>>,
}

impl LeafMisses {
    /// Looks a batch up in a leaf.
    pub fn of(leaf: &impl Leaf, keys: &[Fingerprint]) -> Self {
        let mut first: HashMap<u64, usize> = HashMap::new();
        let mut misses = LeafMisses {
            keys: Vec::new(),
            places: Vec::with_capacity(keys.len()),
        };
        for &key in keys {
            let place = match leaf.contains(key) {
                true => None,
                false => Some(*first.entry(key.0).or_insert_with(|| {
                    misses.keys.push(key);
                    misses.keys.len() - 1
                })),
            };
            misses.places.push(place);
        }
        misses
    }

    /// Returns the verdicts of the whole batch from those of the misses. A key that occurs again in
    /// the batch is Seen, as the leaf would know it by then.
    pub fn verdicts(&self, of_misses: &[SiteVerdict]) -> Vec<SiteVerdict> {
        let mut told = vec![false; self.keys.len()];
        let verdict = |place: &Option<usize>| match *place {
            None => SiteVerdict::Seen,
            Some(at) => match (of_misses[at], std::mem::replace(&mut told[at], true)) {
                (SiteVerdict::New, true) => SiteVerdict::Seen,
                (verdict, _) => verdict,
            },
        };
        self.places.iter().map(verdict).collect()
    }

    /// Returns the misses that the root has answered: what the leaf may record.
    pub fn answered(&self, of_misses: &[SiteVerdict]) -> Vec<Fingerprint> {
        let answered = self.keys.iter().zip(of_misses);
        let answered = answered.filter(|(_, verdict)| **verdict != SiteVerdict::Unknown);
        answered.map(|(&key, _)| key).collect()
    }
}

impl ClusterStore {
    /// Observes keys, and asks the store only about those that a leaf does not know.
    pub fn observe_through(
        &mut self,
        leaf: &mut impl Leaf,
        keys: &[Fingerprint],
        verdicts: &mut Vec<SiteVerdict>,
    ) -> Result<(), ClusterError> {
        let misses = LeafMisses::of(leaf, keys);
        let mut of_misses = Vec::new();
        self.observe_batch(&misses.keys, &mut of_misses)?;
        leaf.record(&misses.answered(&of_misses))?;
        *verdicts = misses.verdicts(&of_misses);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use dedupstore::SeenSetBuilder;

    use super::*;

    #[test]
    fn a_leaf_learns_only_what_the_root_has_answered() {
        let spec = "slot:values=65535".parse().expect("a filter");
        let mut leaf = SeenSetBuilder::new(&spec)
            .memory_bits(1 << 16)
            .build()
            .expect("small");
        leaf.record(&[Fingerprint(7 << 40)]).expect("in memory");
        let keys = [7u64, 8, 9, 8, 9].map(|it| Fingerprint(it << 40));
        let misses = LeafMisses::of(&leaf, &keys);
        assert_eq!(misses.keys, [keys[1], keys[2]]);
        let of_misses = [SiteVerdict::New, SiteVerdict::Unknown];
        let (new, seen, unknown) = (SiteVerdict::New, SiteVerdict::Seen, SiteVerdict::Unknown);
        assert_eq!(
            misses.verdicts(&of_misses),
            [seen, new, unknown, seen, unknown]
        );
        assert_eq!(misses.answered(&of_misses), [keys[1]]);
    }
}
