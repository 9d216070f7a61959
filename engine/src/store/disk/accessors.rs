//! Read access to an open store.

use super::handle::Store;
use super::recovery::RecoveryReport;
use crate::audit::AuditReport;
use crate::filter::{AnyFilter, FilterSpec, Registers};
use crate::fingerprint::KeyHasher;
use crate::store::create::CreateOptions;
use crate::store::error::StoreError;
use crate::store::format::layout::Layout;
use crate::store::format::superblock::Parameters;
use crate::store::medium::Medium;

impl<M: Medium> Store<M> {
    /// Returns what opening the store found.
    pub fn recovery(&self) -> &RecoveryReport {
        &self.report
    }

    /// Checks that the store agrees with every option that is set.
    pub fn check_agreement(&self, options: &CreateOptions) -> Result<(), StoreError> {
        options.check_agreement(&self.active)
    }

    /// Returns the hasher of its keys.
    pub fn hasher(&self) -> KeyHasher {
        self.hasher
    }

    /// Returns the specification of its filter.
    pub fn spec(&self) -> &FilterSpec {
        &self.spec
    }

    /// Returns what was chosen when the store was created.
    pub fn parameters(&self) -> &Parameters {
        &self.active.parameters
    }

    /// Returns the sizes of the store's files.
    pub fn layout(&self) -> Layout {
        self.active.layout
    }

    /// Returns its filter.
    pub fn filter(&self) -> &AnyFilter {
        self.filter.filter()
    }

    /// Returns the size of the audit in bytes, or 0 if there is none.
    pub fn audit_bytes(&self) -> u32 {
        self.active.audit_bytes
    }

    /// Returns the measured error rates, or None if the store has no audit.
    pub fn audit(&self) -> Option<AuditReport> {
        self.filter.report(self.live.bytes(), &self.registers)
    }

    /// Returns the filter's part of the [region](Store::region).
    pub fn filter_region(&self) -> &[u8] {
        self.filter.filter_bytes(self.live.bytes())
    }

    /// Returns the large part of the state: the filter's bytes, followed by the audit's.
    pub fn region(&self) -> &[u8] {
        self.live.bytes()
    }

    /// Returns the small part of the state: counters and the random generator.
    pub fn registers(&self) -> &Registers {
        &self.registers
    }

    /// Returns the share of cells in use.
    pub fn load(&self) -> f64 {
        self.filter().load(&self.registers)
    }

    /// Returns the probability that the next new key is reported as Seen.
    pub fn false_positive_rate(&self) -> f64 {
        self.filter().false_positive_rate(&self.registers)
    }

    /// Returns the limit of the false positive rate that was set when the store was created; see
    /// [`CreateOptions::max_fpr`].
    pub fn max_fpr(&self) -> Option<f64> {
        self.active.max_fpr
    }

    /// Returns the medium that holds the files.
    pub fn medium(&self) -> &M {
        &self.progress.medium
    }

    /// Returns the generation of the newest image: the number of checkpoints taken.
    pub fn generation(&self) -> u64 {
        self.active.generation
    }

    /// Returns the time of the last checkpoint, in seconds since 1970.
    pub fn checkpoint_unix_seconds(&self) -> u64 {
        self.active.unix_seconds
    }
}
