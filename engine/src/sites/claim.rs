//! The claim of a key: only one of several producers may be told New.
//!
//! 1. A producer tests a key. If the verdict is not New, it is done.
//! 2. It claims the key at the first of its sites that answers. If another producer holds the claim,
//!    that one is about to record the key: the verdict is Seen.
//! 3. With the claim, it tests and sets all bits. If they are set now, another producer has recorded
//!    the key since step 1, and has released its claim: the verdict is Seen. Otherwise it is New.
//! 4. It releases the claim.
//!
//! `interleaving.rs` tries all orders in which the messages of two and three producers can arrive.

use super::{SiteGroup, SiteVerdict, SlicedFilter};
use crate::fingerprint::Fingerprint;

impl<G: SiteGroup> SlicedFilter<G> {
    /// Decides about a key that has just been tested and found New: steps 2 to 4. If no site grants
    /// or refuses the claim, the key is recorded without one.
    pub(super) fn claim_and_set(&mut self, key: Fingerprint) -> SiteVerdict {
        let mut holder = None;
        let sites: Vec<usize> = self.plan.site_bits_of(key).map(|bit| bit.site).collect();
        for (index, &site) in sites.iter().enumerate() {
            if self.failed[site] || sites[..index].contains(&site) {
                continue;
            }
            let claimed = self.sites.claim(site, key);
            self.traffic[site].count_claim(claimed.is_ok());
            match claimed {
                Ok(false) => return SiteVerdict::Seen,
                Ok(true) => {
                    holder = Some(site);
                    break;
                }
                Err(_) => self.failed[site] = true,
            }
        }
        let verdict = self.test_and_set(key);
        if let Some(site) = holder {
            let released = self.sites.release(site, key);
            self.traffic[site].count_claim(released.is_ok());
        }
        verdict
    }
}
