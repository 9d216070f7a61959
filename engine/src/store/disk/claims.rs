//! Claims: keys that are being worked on and not recorded yet.
//!
//! A claim changes nothing durable. The key is recorded when the work is done, so that after a
//! crash unfinished keys can be claimed again.

use std::collections::HashSet;
use std::hash::BuildHasherDefault;

use crate::filter::Observation;
use crate::fingerprint::{Fingerprint, IdentityHasher};

/// The answer to a claim.
#[derive(Debug, PartialEq, Eq)]
pub enum Claim {
    /// The key is new and yours to work on: commit or abort the ticket.
    New(Ticket),
    /// The key is recorded.
    Seen,
    /// The key is claimed and neither committed nor aborted.
    Pending,
}

/// The right to commit or abort a claimed key. Dropping it leaves the key claimed until the
/// store is opened again.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "the key stays claimed until the ticket is committed or aborted"]
pub struct Ticket {
    pub(super) observation: Observation,
}

impl Ticket {
    /// Returns the fingerprint of the claimed key.
    pub fn fingerprint(&self) -> Fingerprint {
        self.observation.fingerprint
    }
}

/// The keys that are claimed.
#[derive(Debug, Default)]
pub struct Claims {
    pending: HashSet<u64, BuildHasherDefault<IdentityHasher>>,
}

impl Claims {
    /// Claims a key that is not recorded yet.
    pub fn claim(&mut self, observation: Observation) -> Claim {
        match self.pending.insert(observation.fingerprint.0) {
            true => Claim::New(Ticket { observation }),
            false => Claim::Pending,
        }
    }

    /// Ends a claim.
    pub fn finish(&mut self, ticket: &Ticket) {
        self.pending.remove(&ticket.observation.fingerprint.0);
    }

    /// Returns whether a key is claimed.
    pub fn is_claimed(&self, fingerprint: Fingerprint) -> bool {
        self.pending.contains(&fingerprint.0)
    }

    /// Returns the number of claimed keys.
    pub fn len(&self) -> usize {
        self.pending.len()
    }
}
