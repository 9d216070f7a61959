//! What a store says of itself while it is open.

use super::handle::Store;
use super::recovery::RecoveryReport;
use crate::audit::AuditReport;
use crate::filter::{AnyFilter, FilterSpec, Registers};
use crate::fingerprint::KeyHasher;
use crate::store::medium::Medium;
use crate::store::superblock::Parameters;

impl<M: Medium> Store<M> {
    /// What opening the store found.
    pub fn recovery(&self) -> &RecoveryReport {
        &self.report
    }

    /// What hashes its keys.
    pub fn hasher(&self) -> KeyHasher {
        self.hasher
    }

    /// Its filter, in its text form and as data.
    pub fn spec(&self) -> &FilterSpec {
        &self.spec
    }

    /// What was chosen when it was made.
    pub fn parameters(&self) -> &Parameters {
        &self.active.parameters
    }

    /// The filter's geometry.
    pub fn filter(&self) -> &AnyFilter {
        self.filter.filter()
    }

    /// What its audit was given; 0 if there is none.
    pub fn audit_bytes(&self) -> u32 {
        self.active.audit_bytes
    }

    /// What is known of its own error; nothing if it was made without an audit.
    pub fn audit(&self) -> Option<AuditReport> {
        self.filter.report(self.live.bytes(), &self.registers)
    }

    /// The filter's share of the [region](Store::region).
    pub fn filter_region(&self) -> &[u8] {
        self.filter.filter_bytes(self.live.bytes())
    }

    /// The large part of the state: the filter's bytes, and the audit's behind them.
    pub fn region(&self) -> &[u8] {
        self.live.bytes()
    }

    /// The small part of the state.
    pub fn registers(&self) -> &Registers {
        &self.registers
    }

    /// The share of cells in use.
    pub fn load(&self) -> f64 {
        self.filter().load(&self.registers)
    }

    /// The chance that a key never met would be taken for Seen now.
    pub fn drop_chance(&self) -> f64 {
        self.filter().drop_chance(&self.registers)
    }

    /// The files.
    pub fn medium(&self) -> &M {
        &self.progress.medium
    }
}
