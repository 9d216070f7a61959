//! Taking keys out of a store.

use super::checkpointing::Stage;
use super::handle::Store;
use super::log_thread::LogAppender;
use crate::audit::AuditedFilter;
use crate::filter::{CannotForget, Registers, Verdict};
use crate::fingerprint::Fingerprint;
use crate::region::Region;
use crate::store::error::StoreError;
use crate::store::format::payload::Payload;
use crate::store::format::superblock::FORGETS;
use crate::store::medium::Medium;

impl<M: Medium> Store<M> {
    /// Takes a key out, if the filter [can](crate::AnyFilter::can_forget), and records it. Returns
    /// Seen if the key was there; it is New when it occurs next. Otherwise nothing changes. See
    /// [`AnyFilter::forget`](crate::AnyFilter::forget) for the keys that may go with it.
    ///
    /// Taking a key out has a sequence number, like an observation: it is durable when
    /// [`durable_sequence`](Store::durable_sequence) has reached [`sequence`](Store::sequence). The
    /// first one of a store takes a checkpoint, which says that keys may have been taken out:
    /// programs that cannot replay that refuse the store from then on.
    ///
    /// If the filter has a window, a key is there as long as [`contains`](Store::contains) says Seen.
    ///
    /// A key that is [claimed](Store::claim) is not there until the claim is committed, and can
    /// then be taken out. If a key is taken out while a claim of it waits, the commit records it.
    pub fn forget(&mut self, key: impl AsRef<[u8]>) -> Result<Verdict, StoreError> {
        let mut verdict = [Verdict::New];
        let fingerprint = self.hasher.fingerprint(key.as_ref());
        self.forget_batch(&[fingerprint], &mut verdict)?;
        Ok(verdict[0])
    }

    /// Takes many keys out, in order; see [`forget`](Store::forget). The keys are hashed by the
    /// store's [hasher](Store::hasher).
    ///
    /// # Panics
    /// If the two slices differ in length.
    pub fn forget_batch(
        &mut self,
        keys: &[Fingerprint],
        verdicts: &mut [Verdict],
    ) -> Result<(), StoreError> {
        assert_eq!(keys.len(), verdicts.len());
        self.check_can_forget()?;
        if keys.is_empty() {
            return self.progress.check();
        }
        if self.active.features & FORGETS == 0 {
            self.allow_forgetting()?;
        }
        let (mut from, mut taken_out) = (0, Vec::new());
        while from < keys.len() {
            let room = self.make_room(keys.len() - from)?;
            let to = from + (keys.len() - from).min(room);
            taken_out.clear();
            for at in from..to {
                verdicts[at] = self.contains_fingerprint(keys[at]);
                if verdicts[at].is_seen() {
                    self.apply_forget(keys[at]);
                    taken_out.push(keys[at]);
                }
            }
            if !taken_out.is_empty() {
                self.append(Payload::Forget(&taken_out), LogAppender::put_now)?;
            }
            from = to;
        }
        self.after_append()
    }

    /// Fails if the filter cannot take a key out.
    pub fn check_can_forget(&self) -> Result<(), StoreError> {
        match self.filter().can_forget() {
            true => Ok(()),
            false => Err(StoreError::CannotForget(CannotForget::of(self.filter()))),
        }
    }

    /// Takes a checkpoint whose image says that keys may have been taken out.
    fn allow_forgetting(&mut self) -> Result<(), StoreError> {
        self.added_features |= FORGETS;
        self.checkpoint()
    }

    /// Takes a key out in memory only.
    fn apply_forget(&mut self, fingerprint: Fingerprint) {
        let (filter, registers) = (&self.filter, &mut self.registers);
        if let Some(region) = self.live.unfrozen() {
            forget_in(filter, region, registers, fingerprint);
        } else if let Stage::Writing(checkpoint) = &self.stage {
            let saving = checkpoint.saving(&self.progress.medium);
            let mut region = self.live.tracked(saving);
            forget_in(filter, &mut region, registers, fingerprint);
        }
    }
}

/// The filter can forget, which was checked.
fn forget_in<R: Region + ?Sized>(
    filter: &AuditedFilter,
    region: &mut R,
    registers: &mut Registers,
    fingerprint: Fingerprint,
) {
    let forgotten = filter.forget(region, registers, fingerprint);
    debug_assert_eq!(forgotten, Ok(Verdict::Seen));
}
