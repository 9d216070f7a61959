//! Claims: only one of several producers is told New.
//!
//! The steps are those of the engine (`engine/src/sites/claim.rs`), for a batch at a time: test;
//! claim what is New, by `SET NX PX` at the first slice of the key that answers; test again while the
//! cells are set, because another producer may have recorded the key in between; release the claim.
//!
//! With [`claim_batch`](ClusterStore::claim_batch) and [`commit`](ClusterStore::commit), the caller
//! delivers its keys in between. If it dies before it commits, nothing is recorded, and the claims
//! end by themselves.

use std::collections::HashMap;
use std::time::Duration;

use dedupstore::Fingerprint;
use dedupstore::sites::{Operation, SiteVerdict};
use redis::Value;

use crate::error::ClusterError;
use crate::router::text;
use crate::slices::ClaimTerms;
use crate::store::ClusterStore;

/// Keys that were decided about and not recorded yet.
#[derive(Debug, Default)]
pub struct Claimed {
    /// The verdict of each key.
    pub verdicts: Vec<SiteVerdict>,
    /// Whether another producer holds a claim on one of the keys: it may record that key, or not.
    /// Then abort, wait, and try again.
    pub is_contested: bool,
    held: Vec<(Option<usize>, Fingerprint)>,
}

impl Claimed {
    /// Adds what another call has claimed, so that one commit records both.
    pub fn append(&mut self, mut other: Claimed) {
        self.verdicts.append(&mut other.verdicts);
        self.held.append(&mut other.held);
        self.is_contested |= other.is_contested;
    }
}

/// What became of the claim of a key.
enum Claim {
    /// This client holds it, at a slice; at none if no slice answered.
    Held(Option<usize>),
    /// Another client holds it.
    Refused,
}

impl ClusterStore {
    /// Observes keys with claims.
    pub(crate) fn observe_claimed(
        &mut self,
        keys: &[Fingerprint],
        verdicts: &mut Vec<SiteVerdict>,
    ) -> Result<(), ClusterError> {
        let (first, new) = self.test_first(keys, verdicts)?;
        let claims = self.claim(&new.keys, new.failed)?;
        let mut held = Vec::new();
        for (&key, claim) in new.keys.iter().zip(claims) {
            match claim {
                Claim::Held(site) => held.push((site, key)),
                // The holder is about to record the key.
                Claim::Refused => verdicts[first[&key.0]] = SiteVerdict::Seen,
            }
        }
        let recorded: Vec<Fingerprint> = held.iter().map(|(_, key)| *key).collect();
        let mut decided = Vec::new();
        let outcome = self.test_and_set(&recorded, &mut decided);
        self.release(&held);
        outcome?;
        for (key, verdict) in recorded.iter().zip(decided) {
            verdicts[first[&key.0]] = verdict;
        }
        follow_first(keys, &first, verdicts);
        Ok(())
    }

    /// Decides about keys, and claims those that are New. Nothing is recorded before
    /// [`commit`](ClusterStore::commit).
    pub fn claim_batch(&mut self, keys: &[Fingerprint]) -> Result<Claimed, ClusterError> {
        let mut claimed = Claimed::default();
        let (first, new) = self.test_first(keys, &mut claimed.verdicts)?;
        let claims = self.claim(&new.keys, new.failed)?;
        for (&key, claim) in new.keys.iter().zip(claims) {
            match claim {
                Claim::Held(site) => claimed.held.push((site, key)),
                Claim::Refused => {
                    claimed.is_contested = true;
                    claimed.verdicts[first[&key.0]] = SiteVerdict::Seen;
                }
            }
        }
        // Another producer may have recorded a key and released its claim since the test.
        let held: Vec<Fingerprint> = claimed.held.iter().map(|(_, key)| *key).collect();
        let batch = self.ask(&held, Operation::Test)?;
        let decided: Vec<SiteVerdict> = batch
            .tallies()
            .map(|(tally, _)| self.layout.rule.decide(tally))
            .collect();
        for (key, &verdict) in held.iter().zip(&decided) {
            claimed.verdicts[first[&key.0]] = verdict;
        }
        let mut decided = decided.into_iter();
        let (kept, given_back): (Vec<_>, Vec<_>) = claimed
            .held
            .drain(..)
            .partition(|_| decided.next().is_some_and(SiteVerdict::is_new));
        self.release(&given_back);
        claimed.held = kept;
        follow_first(keys, &first, &mut claimed.verdicts);
        Ok(claimed)
    }

    /// Records claimed keys that were delivered. A key whose slices fail now is not recorded there,
    /// and is New again later.
    pub fn commit(&mut self, claimed: Claimed) -> Result<(), ClusterError> {
        let keys: Vec<Fingerprint> = claimed.held.iter().map(|(_, key)| *key).collect();
        let outcome = self.ask(&keys, Operation::Set);
        self.release(&claimed.held);
        let batch = outcome?;
        let unacknowledged = batch.tallies().filter(|(_, acknowledged)| !acknowledged);
        self.counters.unacknowledged += unacknowledged.count() as u64;
        self.counters.count(&claimed.verdicts);
        self.flush_counters(false);
        Ok(())
    }

    /// Sets how long claims last unless they are renewed, a minute by default, and the owner that is
    /// recorded with them. With an owner, a claim that the same owner holds already is granted again:
    /// so a process that was started again gets the claims that it had.
    pub fn set_claims(&mut self, lifetime: Duration, owner: Option<u64>) {
        self.slices.claims = ClaimTerms { lifetime, owner };
    }

    /// Lets claims last as long again as new ones. One that has ended stays ended.
    pub fn renew(&mut self, claimed: &Claimed) -> Result<(), ClusterError> {
        let held = claimed
            .held
            .iter()
            .filter_map(|&(site, key)| Some((site?, key)));
        let commands: Vec<_> = held
            .map(|(site, key)| self.slices.renewal_command(site, key))
            .collect();
        self.slices.send(commands, None);
        self.slices.check()
    }

    /// Gives claimed keys back.
    pub fn abort(&mut self, claimed: Claimed) -> Result<(), ClusterError> {
        self.release(&claimed.held);
        self.slices.check()
    }

    /// Tests keys. Returns where each key occurs first, and the New ones among these.
    fn test_first(
        &mut self,
        keys: &[Fingerprint],
        verdicts: &mut Vec<SiteVerdict>,
    ) -> Result<(HashMap<u64, usize>, NewKeys), ClusterError> {
        let batch = self.ask(keys, Operation::Test)?;
        verdicts.clear();
        verdicts.extend(
            batch
                .tallies()
                .map(|(tally, _)| self.layout.rule.decide(tally)),
        );
        let mut first = HashMap::with_capacity(keys.len());
        let mut new = NewKeys {
            keys: Vec::new(),
            failed: batch.failed(self.slices.plan.sites()),
        };
        for (index, key) in keys.iter().enumerate() {
            let known = first.insert(key.0, index);
            match known {
                Some(earlier) => {
                    first.insert(key.0, earlier);
                }
                None if verdicts[index].is_new() => new.keys.push(*key),
                None => {}
            }
        }
        Ok((first, new))
    }

    /// Claims keys at the first of their slices that answers.
    fn claim(
        &mut self,
        keys: &[Fingerprint],
        mut failed: Vec<bool>,
    ) -> Result<Vec<Claim>, ClusterError> {
        let mut claims: Vec<Option<Claim>> = keys.iter().map(|_| None).collect();
        loop {
            let mut asked = Vec::new();
            for (index, claim) in claims.iter_mut().enumerate() {
                if claim.is_some() {
                    continue;
                }
                let mut site = None;
                self.slices.plan.for_each_cell(keys[index], |cell| {
                    site = site.or((!failed[cell.site]).then_some(cell.site));
                });
                match site {
                    Some(site) => asked.push((index, site)),
                    None => *claim = Some(Claim::Held(None)),
                }
            }
            if asked.is_empty() {
                return Ok(claims.into_iter().flatten().collect());
            }
            let command =
                |&(index, site): &(usize, usize)| self.slices.claim_command(site, keys[index]);
            let commands: Vec<_> = asked.iter().map(command).collect();
            let replies = self.slices.send(commands, None);
            self.slices.check()?;
            let mut refused = Vec::new();
            for ((index, site), reply) in asked.into_iter().zip(replies) {
                self.traffic[site].count_claim(reply.value.is_some());
                match reply.value {
                    Some(Value::Okay) => claims[index] = Some(Claim::Held(Some(site))),
                    Some(_) => {
                        claims[index] = Some(Claim::Refused);
                        refused.push((index, site));
                    }
                    None => failed[site] = true,
                }
            }
            for (index, site) in self.own_claims(keys, refused)? {
                claims[index] = Some(Claim::Held(Some(site)));
            }
        }
    }

    /// Returns which claims the owner of this client holds already.
    fn own_claims(
        &mut self,
        keys: &[Fingerprint],
        mut refused: Vec<(usize, usize)>,
    ) -> Result<Vec<(usize, usize)>, ClusterError> {
        let Some(owner) = self.slices.claims.owner else {
            return Ok(Vec::new());
        };
        let command =
            |&(index, site): &(usize, usize)| self.slices.owner_command(site, keys[index]);
        let commands: Vec<_> = refused.iter().map(command).collect();
        let mut replies = self.slices.send(commands, None).into_iter();
        self.slices.check()?;
        let mut is_own = || {
            let found = replies.next().and_then(|reply| reply.value);
            found.is_some_and(|found| text(&found) == owner.to_string())
        };
        refused.retain(|_| is_own());
        Ok(refused)
    }

    /// Gives up claims. One that cannot be given up ends by itself.
    fn release(&mut self, held: &[(Option<usize>, Fingerprint)]) {
        let held = held.iter().filter_map(|&(site, key)| Some((site?, key)));
        let held: Vec<(usize, Fingerprint)> = held.collect();
        let command = |&(site, key): &(usize, Fingerprint)| self.slices.release_command(site, key);
        let commands: Vec<_> = held.iter().map(command).collect();
        let replies = self.slices.send(commands, None);
        for ((site, _), reply) in held.into_iter().zip(replies) {
            self.traffic[site].count_claim(reply.value.is_some());
        }
    }
}

/// Keys that are New at their first occurrence in a batch, and the slices that failed.
struct NewKeys {
    keys: Vec<Fingerprint>,
    failed: Vec<bool>,
}

/// Gives later occurrences of a key in a batch their verdict: the key has been decided about.
fn follow_first(keys: &[Fingerprint], first: &HashMap<u64, usize>, verdicts: &mut [SiteVerdict]) {
    for (index, key) in keys.iter().enumerate() {
        let earlier = first[&key.0];
        if earlier != index {
            verdicts[index] = match verdicts[earlier] {
                SiteVerdict::Unknown => SiteVerdict::Unknown,
                SiteVerdict::New | SiteVerdict::Seen => SiteVerdict::Seen,
            };
        }
    }
}
