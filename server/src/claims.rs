//! Claims as clients see them: numbers instead of tickets, which end after a time.
//!
//! The numbers of a later run of the server are larger than those of an earlier one, as long as the
//! clock of the machine is not set back by more than the run lasted. So a client that commits a ticket after a restart is told
//! that there is no such claim, and never records the key of somebody else. Numbers are below 2^53,
//! which every language can represent.

use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use dedupstore::Observation;
use dedupstore::store::{Claim, StoreError, Ticket};

use crate::concurrency::{Store, now};

/// The first second of 2020, which numbers of tickets count from.
const EPOCH_SECONDS: u64 = 1_577_836_800;
/// Numbers grow by 4,096 per millisecond.
const NUMBERS_PER_MILLISECOND: u64 = 1 << 12;

/// The answer to a claim of a key that is not new.
pub const SEEN: i64 = 0;
/// The answer to a claim of a key that somebody else has claimed.
pub const PENDING: i64 = -1;

/// The claims of one store.
#[derive(Debug)]
pub struct NumberedClaims {
    claims: HashMap<u64, Claimed>,
    /// When each claim ends, in the order in which they were made.
    ends: VecDeque<(Instant, u64)>,
    next: u64,
    timeout: Duration,
    limit: usize,
}

#[derive(Debug)]
struct Claimed {
    ticket: Ticket,
    /// The connection with which the claim ends.
    owner: Option<u64>,
}

/// There are too many claims.
#[derive(Debug, PartialEq, Eq)]
pub struct TooManyClaims;

impl NumberedClaims {
    /// Starts without claims. A claim ends after `timeout`; there are at most `limit` at a time.
    pub fn new(timeout: Duration, limit: usize) -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        let milliseconds = since.map_or(0, |since| since.as_millis() as u64);
        let milliseconds = milliseconds.saturating_sub(1000 * EPOCH_SECONDS);
        NumberedClaims {
            claims: HashMap::new(),
            ends: VecDeque::new(),
            next: milliseconds * NUMBERS_PER_MILLISECOND + 1,
            timeout,
            limit,
        }
    }

    /// Returns the number of claims.
    pub fn len(&self) -> usize {
        self.claims.len()
    }

    /// Claims keys. Adds to `answers`, per key, the number of a ticket, [`SEEN`] or [`PENDING`]. If
    /// there would be too many claims, makes none.
    pub fn claim(
        &mut self,
        store: &mut Store,
        keys: &[Observation],
        owner: Option<u64>,
        answers: &mut Vec<i64>,
    ) -> Result<(), TooManyClaims> {
        self.expire(store, now());
        if self.claims.len().saturating_add(keys.len()) > self.limit {
            return Err(TooManyClaims);
        }
        let end = now() + self.timeout;
        for &key in keys {
            answers.push(match store.claim_observation(key) {
                Claim::Seen => SEEN,
                Claim::Pending => PENDING,
                Claim::New(ticket) => {
                    let number = self.next;
                    self.next += 1;
                    self.claims.insert(number, Claimed { ticket, owner });
                    self.ends.push_back((end, number));
                    number as i64
                }
            });
        }
        Ok(())
    }

    /// Records claimed keys. Returns, per number, whether there was such a claim.
    pub fn commit(&mut self, store: &mut Store, numbers: &[u64]) -> Result<Vec<i64>, StoreError> {
        self.expire(store, now());
        let mut found = Vec::with_capacity(numbers.len());
        let mut tickets = Vec::with_capacity(numbers.len());
        for number in numbers {
            let claimed = self.claims.remove(number);
            found.push(i64::from(claimed.is_some()));
            tickets.extend(claimed.map(|claimed| claimed.ticket));
        }
        store.commit_batch(tickets)?;
        Ok(found)
    }

    /// Gives claimed keys back. Returns, per number, whether there was such a claim.
    pub fn abort(&mut self, store: &mut Store, numbers: &[u64]) -> Vec<i64> {
        let claimed = numbers.iter().map(|number| self.claims.remove(number));
        let claimed: Vec<_> = claimed.collect();
        let abort = |claimed: Option<Claimed>| {
            let found = i64::from(claimed.is_some());
            claimed.into_iter().for_each(|it| store.abort(it.ticket));
            found
        };
        claimed.into_iter().map(abort).collect()
    }

    /// Gives back what a connection has claimed.
    pub fn abort_owned(&mut self, store: &mut Store, owner: u64) {
        let of_owner = |_: &u64, claimed: &mut Claimed| claimed.owner == Some(owner);
        for (_, claimed) in self.claims.extract_if(of_owner) {
            store.abort(claimed.ticket);
        }
    }

    /// Gives back what was claimed too long ago.
    fn expire(&mut self, store: &mut Store, now: Instant) {
        while let Some(&(end, number)) = self.ends.front()
            && (end <= now || !self.claims.contains_key(&number))
        {
            self.ends.pop_front();
            if let Some(claimed) = self.claims.remove(&number) {
                store.abort(claimed.ticket);
            }
        }
        // Committed claims may lie behind one that still waits.
        if self.ends.len() > 2 * self.claims.len() + 1024 {
            let claims = &self.claims;
            self.ends.retain(|(_, number)| claims.contains_key(number));
        }
    }
}

#[cfg(test)]
mod tests {
    use dedupstore::store::CreateOptions;

    use super::*;

    fn store(directory: &tempfile::TempDir) -> Store {
        let options = CreateOptions::new("bloom:k=4")
            .expect("valid")
            .memory("64KiB");
        Store::create(directory.path().join("a.dds"), &options).expect("created")
    }

    fn keys(store: &Store, names: &[&str]) -> Vec<Observation> {
        let hasher = store.hasher();
        let key = |name: &&str| hasher.fingerprint(name.as_bytes()).into();
        names.iter().map(key).collect()
    }

    #[test]
    fn a_claim_ends_by_commit_abort_owner_or_time() {
        let directory = tempfile::tempdir().expect("directory");
        let mut store = store(&directory);
        let mut claims = NumberedClaims::new(Duration::from_secs(60), 4);
        let wanted = keys(&store, &["a", "b", "a", "c"]);
        let mut answers = Vec::new();
        let claimed = claims.claim(&mut store, &wanted, Some(7), &mut answers);
        assert_eq!(claimed, Ok(()));
        let (a, b, c) = (answers[0] as u64, answers[1] as u64, answers[3] as u64);
        assert_eq!(answers[2], PENDING, "the same key in the same call");
        assert!(a > 0 && a < b && b < c && c < 1 << 53);
        let too_many = keys(&store, &["d", "e"]);
        let refused = claims.claim(&mut store, &too_many, None, &mut Vec::new());
        assert_eq!(refused, Err(TooManyClaims));
        assert_eq!(
            claims.commit(&mut store, &[a, 5]).expect("recorded"),
            [1, 0]
        );
        assert_eq!(claims.commit(&mut store, &[a]).expect("recorded"), [0]);
        assert_eq!(claims.abort(&mut store, &[b, b]), [1, 0]);
        claims.abort_owned(&mut store, 7);
        assert!(claims.len() == 0);
        let mut answers = Vec::new();
        let claimed = claims.claim(&mut store, &wanted, None, &mut answers);
        assert_eq!(claimed, Ok(()));
        assert_eq!(answers[0], SEEN);
        assert!(answers[1] as u64 > c && answers[3] > 0, "{answers:?}");
        claims.expire(&mut store, Instant::now() + Duration::from_secs(61));
        assert!(claims.len() == 0 && store.pending_claims() == 0);
    }
}
