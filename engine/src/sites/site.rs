//! The seam to a site: what it is asked, what it answers, how it fails.

use crate::fingerprint::Fingerprint;

/// Some of the bits of a Bloom filter, on one machine.
///
/// Positions are relative to the site, below [`bits`](Site::bits). A call may carry the positions
/// of many keys: this is how requests are batched. A site handles the positions of a call in their
/// order and without calls of others in between. In Redis, a site is one string and a call is one
/// `BITFIELD` command.
///
/// A failed call has either been carried out completely or not at all; the caller cannot know
/// which. Both are harmless: a bit that was set by a lost *set* belongs to a key that was reported
/// as New.
pub trait Site {
    /// Returns the number of bits. It never changes.
    fn bits(&self) -> u64;

    /// Appends to `was_set`, for each position, whether its bit is set. Changes nothing.
    fn test(&mut self, positions: &[u64], was_set: &mut Vec<bool>) -> Result<(), SiteFailure>;

    /// Sets the bits.
    fn set(&mut self, positions: &[u64]) -> Result<(), SiteFailure>;

    /// Sets the bits and appends to `was_set`, for each position, whether its bit was set before.
    /// If a position occurs twice in a call, the second one was set.
    fn test_and_set(
        &mut self,
        positions: &[u64],
        was_set: &mut Vec<bool>,
    ) -> Result<(), SiteFailure>;

    /// Claims a key: returns true if nobody holds a claim on it. In Redis: `SET key NX PX`.
    ///
    /// The holder must [release](Site::release) the claim. A site on a network lets it expire, in
    /// case the holder has crashed.
    fn claim(&mut self, key: Fingerprint) -> Result<bool, SiteFailure>;

    /// Gives up a claim. A claim that does not exist is no error: it may have expired.
    fn release(&mut self, key: Fingerprint) -> Result<(), SiteFailure>;
}

/// Why a site gave no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SiteFailure {
    /// There was no answer: the site is down or cannot be reached.
    #[error("the site does not answer")]
    Unavailable,
    /// The site answers, but has lost its bits, for example by a restart. Until it is rebuilt it
    /// counts as failed: its clear bits would be taken for new keys.
    #[error("the site has lost its bits and must be rebuilt")]
    Empty,
}

/// What a site is asked to do with positions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operation {
    /// [`Site::test`]
    Test,
    /// [`Site::set`]
    Set,
    /// [`Site::test_and_set`]
    TestAndSet,
}

/// A request to one site in a round, with its answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The index of the site.
    pub site: usize,
    /// What to do.
    pub operation: Operation,
    /// The positions at this site.
    pub positions: Vec<u64>,
    /// The answer: for each position, whether its bit was set before. Empty for
    /// [`Operation::Set`] and for a failed request.
    pub was_set: Vec<bool>,
    /// Whether the site has answered.
    pub outcome: Result<(), SiteFailure>,
}

impl Request {
    /// Returns a request without positions.
    pub fn new(site: usize, operation: Operation) -> Self {
        Request {
            site,
            operation,
            positions: Vec::new(),
            was_set: Vec::new(),
            outcome: Ok(()),
        }
    }

    /// Sends the request to its site and records the answer.
    pub fn send<S: Site + ?Sized>(&mut self, site: &mut S) {
        self.was_set.clear();
        self.outcome = match self.operation {
            Operation::Test => site.test(&self.positions, &mut self.was_set),
            Operation::Set => site.set(&self.positions),
            Operation::TestAndSet => site.test_and_set(&self.positions, &mut self.was_set),
        };
        if self.outcome.is_err() {
            self.was_set.clear();
        }
    }
}

/// All sites of a filter.
///
/// A network implements this trait instead of [`Site`] if it can send the requests of a round at
/// once. Requests of a round are independent of each other: they may be carried out in any order.
/// A failed site fails its own requests and no others.
pub trait SiteGroup {
    /// Returns the number of sites.
    fn site_count(&self) -> usize;

    /// Returns the number of bits of a site.
    fn site_bits(&self, site: usize) -> u64;

    /// Sends all requests and waits for all answers.
    fn exchange(&mut self, round: &mut [Request]);

    /// Claims a key at a site; see [`Site::claim`].
    fn claim(&mut self, site: usize, key: Fingerprint) -> Result<bool, SiteFailure>;

    /// Gives up a claim at a site; see [`Site::release`].
    fn release(&mut self, site: usize, key: Fingerprint) -> Result<(), SiteFailure>;
}

impl<S: Site> SiteGroup for Vec<S> {
    fn site_count(&self) -> usize {
        self.len()
    }

    fn site_bits(&self, site: usize) -> u64 {
        self.get(site).map_or(0, Site::bits)
    }

    fn exchange(&mut self, round: &mut [Request]) {
        for request in round {
            match self.get_mut(request.site) {
                Some(site) => request.send(site),
                None => {
                    request.was_set.clear();
                    request.outcome = Err(SiteFailure::Unavailable);
                }
            }
        }
    }

    fn claim(&mut self, site: usize, key: Fingerprint) -> Result<bool, SiteFailure> {
        let site = self.get_mut(site).ok_or(SiteFailure::Unavailable)?;
        site.claim(key)
    }

    fn release(&mut self, site: usize, key: Fingerprint) -> Result<(), SiteFailure> {
        let site = self.get_mut(site).ok_or(SiteFailure::Unavailable)?;
        site.release(key)
    }
}
