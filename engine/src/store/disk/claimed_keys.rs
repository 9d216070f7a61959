//! Claims by fingerprint, for callers that keep their claims elsewhere, such as in a queue on disk.

use super::claims::{Claim, Ticket};
use super::handle::Store;
use crate::filter::{Observation, Verdict};
use crate::fingerprint::Fingerprint;
use crate::store::error::StoreError;
use crate::store::medium::Medium;

impl<M: Medium> Store<M> {
    /// [Claims](Store::claim) a key that is already hashed by the store's
    /// [hasher](Store::hasher).
    pub fn claim_fingerprint(&mut self, fingerprint: Fingerprint) -> Claim {
        let observation = self.observation_now(fingerprint);
        self.claim_observation(observation)
    }

    /// Returns the ticket of a key that is claimed, again; None if the key is not claimed. Its
    /// commit records the key at the present time.
    ///
    /// ```
    /// use dedupstore::store::{Claim, CreateOptions, Store};
    ///
    /// # let directory = tempfile::tempdir()?;
    /// # let path = directory.path().join("links.dds");
    /// let mut store = Store::create(&path, &CreateOptions::new("bloom:k=4")?.memory("1MiB"))?;
    /// let fingerprint = store.hasher().fingerprint(b"https://harbour.example/");
    /// assert!(matches!(store.claim_fingerprint(fingerprint), Claim::New(_)));
    /// let ticket = store.claimed(fingerprint).expect("claimed");
    /// store.commit_all(vec![ticket])?;
    /// assert!(store.claimed(fingerprint).is_none());
    /// assert!(store.contains("https://harbour.example/").is_seen());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn claimed(&mut self, fingerprint: Fingerprint) -> Option<Ticket> {
        match self.claims.is_claimed(fingerprint) {
            true => Some(Ticket {
                observation: self.observation_now(fingerprint),
            }),
            false => None,
        }
    }

    /// Records many claimed keys in one batch; see [`commit`](Store::commit).
    pub fn commit_all(&mut self, tickets: Vec<Ticket>) -> Result<(), StoreError> {
        let observations: Vec<Observation> = tickets.iter().map(|it| it.observation).collect();
        let mut verdicts = vec![Verdict::New; observations.len()];
        self.observe_batch(&observations, &mut verdicts)?;
        tickets.iter().for_each(|ticket| self.claims.finish(ticket));
        Ok(())
    }
}
