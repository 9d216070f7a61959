//! Seen is not done: keys that someone is working on.
//!
//! A claim changes nothing durable. Only when the work is done is the key recorded; after
//! a crash, what was not finished is offered again.

use std::collections::HashSet;

use crate::fingerprint::Fingerprint;

/// What became of a claim.
#[derive(Debug, PartialEq, Eq)]
pub enum Claim {
    /// The key is new and now yours: commit or abort it.
    New(Ticket),
    /// The key was finished before.
    Seen,
    /// Someone else has claimed it and is not done.
    Pending,
}

/// The right to finish a key. Dropping it leaves the key pending; give it back.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "a claim is pending until it is committed or aborted"]
pub struct Ticket {
    pub(super) fingerprint: Fingerprint,
}

/// The keys claimed and not finished.
#[derive(Debug, Default)]
pub struct Claims {
    pending: HashSet<u64>,
}

impl Claims {
    /// Claims a key that is not recorded yet.
    pub fn claim(&mut self, fingerprint: Fingerprint) -> Claim {
        match self.pending.insert(fingerprint.0) {
            true => Claim::New(Ticket { fingerprint }),
            false => Claim::Pending,
        }
    }

    /// Ends a claim, either way.
    pub fn finish(&mut self, ticket: &Ticket) {
        self.pending.remove(&ticket.fingerprint.0);
    }

    /// How many are pending.
    pub fn len(&self) -> usize {
        self.pending.len()
    }
}
