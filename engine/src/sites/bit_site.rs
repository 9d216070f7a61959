//! A site in this process: bits in memory that can be made to fail.

use std::collections::BTreeSet;

use super::{Site, SiteFailure};
use crate::bytes::{bit, count_ones, set_bit};
use crate::fingerprint::Fingerprint;

/// A site whose bits are in the memory of this process.
///
/// ```
/// use dedupstore::sites::{BitSite, Site};
///
/// let mut site = BitSite::new(100);
/// let mut was_set = Vec::new();
/// site.test_and_set(&[3, 9], &mut was_set)?;
/// site.test(&[9, 10], &mut was_set)?;
/// assert_eq!(was_set, [false, false, true, false]);
/// # Ok::<(), dedupstore::sites::SiteFailure>(())
/// ```
#[derive(Clone, Debug)]
pub struct BitSite {
    bytes: Vec<u8>,
    bits: u64,
    failure: Option<SiteFailure>,
    /// An ordered set, so that nothing depends on a random hash.
    claims: BTreeSet<u64>,
}

impl BitSite {
    /// Creates a site with all bits clear.
    pub fn new(bits: u64) -> Self {
        BitSite {
            bytes: vec![0; bits.div_ceil(8) as usize],
            bits,
            failure: None,
            claims: BTreeSet::new(),
        }
    }

    /// Lets the site fail: it answers nothing until it [restarts](BitSite::restart_empty) or
    /// [recovers](BitSite::recover).
    pub fn fail(&mut self) {
        self.failure = Some(SiteFailure::Unavailable);
    }

    /// Starts the site again without its bits and claims. It counts as failed until it is
    /// [rebuilt](BitSite::rebuild).
    pub fn restart_empty(&mut self) {
        self.bytes.fill(0);
        self.claims.clear();
        self.failure = Some(SiteFailure::Empty);
    }

    /// Lets a site that was only unreachable answer again, with the bits that it had. A site that
    /// has lost its bits stays failed.
    pub fn recover(&mut self) {
        if self.failure == Some(SiteFailure::Unavailable) {
            self.failure = None;
        }
    }

    /// Gives the site its bits back, for example by setting those of all keys in a log, and lets it
    /// answer again. Bits that are already set stay set.
    pub fn rebuild(&mut self, positions: impl IntoIterator<Item = u64>) {
        for position in positions {
            set_bit(&mut self.bytes[..], position);
        }
        self.failure = None;
    }

    /// Returns the failure, if the site has failed.
    pub fn failure(&self) -> Option<SiteFailure> {
        self.failure
    }

    /// Returns the number of bits that are set.
    pub fn set_bits(&self) -> u64 {
        count_ones(&self.bytes, 0..self.bits)
    }

    /// Returns the bits: bit `i` is bit `i % 8` of byte `i / 8`.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    fn answering(&self) -> Result<(), SiteFailure> {
        self.failure.map_or(Ok(()), Err)
    }
}

impl Site for BitSite {
    fn bits(&self) -> u64 {
        self.bits
    }

    fn test(&mut self, positions: &[u64], was_set: &mut Vec<bool>) -> Result<(), SiteFailure> {
        self.answering()?;
        was_set.extend(positions.iter().map(|&at| bit(&self.bytes, at)));
        Ok(())
    }

    fn set(&mut self, positions: &[u64]) -> Result<(), SiteFailure> {
        self.answering()?;
        for &position in positions {
            set_bit(&mut self.bytes[..], position);
        }
        Ok(())
    }

    fn test_and_set(
        &mut self,
        positions: &[u64],
        was_set: &mut Vec<bool>,
    ) -> Result<(), SiteFailure> {
        self.answering()?;
        let bytes = &mut self.bytes[..];
        was_set.extend(positions.iter().map(|&at| !set_bit(bytes, at)));
        Ok(())
    }

    fn claim(&mut self, key: Fingerprint) -> Result<bool, SiteFailure> {
        self.answering()?;
        Ok(self.claims.insert(key.0))
    }

    fn release(&mut self, key: Fingerprint) -> Result<(), SiteFailure> {
        self.answering()?;
        self.claims.remove(&key.0);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Operation, Request, SiteGroup};
    use super::*;

    #[test]
    fn a_call_handles_its_positions_in_order() {
        let mut site = BitSite::new(20);
        let mut was_set = Vec::new();
        site.test_and_set(&[5, 19, 5], &mut was_set).expect("alive");
        assert_eq!(was_set, [false, false, true]);
        assert_eq!(site.set_bits(), 2);
        site.set(&[0]).expect("alive");
        assert_eq!(site.bytes(), [0b0010_0001, 0, 0b1000]);
    }

    #[test]
    fn a_site_that_comes_back_empty_is_dead_until_it_is_rebuilt() {
        let mut site = BitSite::new(20);
        site.set(&[5]).expect("alive");
        site.fail();
        assert_eq!(site.set(&[6]), Err(SiteFailure::Unavailable));
        site.recover();
        assert_eq!(site.set_bits(), 1, "an unreachable site keeps its bits");
        site.restart_empty();
        site.recover();
        let mut was_set = Vec::new();
        assert_eq!(site.test(&[5], &mut was_set), Err(SiteFailure::Empty));
        site.rebuild([5]);
        site.test(&[5], &mut was_set).expect("rebuilt");
        assert_eq!(was_set, [true]);
    }

    #[test]
    fn one_of_several_claims_wins_until_it_is_released() {
        let mut site = BitSite::new(8);
        let key = Fingerprint(7);
        assert_eq!(site.claim(key), Ok(true));
        assert_eq!(site.claim(key), Ok(false));
        assert_eq!(site.claim(Fingerprint(8)), Ok(true));
        site.release(key).expect("alive");
        site.release(key).expect("no error");
        assert_eq!(site.claim(key), Ok(true));
    }

    #[test]
    fn a_failed_site_fails_only_its_own_requests() {
        let mut sites = vec![BitSite::new(8), BitSite::new(8)];
        sites[0].fail();
        let mut round = [0, 1, 2].map(|site| Request {
            positions: vec![3],
            ..Request::new(site, Operation::TestAndSet)
        });
        sites.exchange(&mut round);
        assert_eq!(round[0].outcome, Err(SiteFailure::Unavailable));
        assert_eq!(
            (round[1].outcome, &round[1].was_set[..]),
            (Ok(()), &[false][..])
        );
        assert_eq!(
            round[2].outcome,
            Err(SiteFailure::Unavailable),
            "no such site"
        );
    }
}
