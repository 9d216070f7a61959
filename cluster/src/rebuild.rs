//! Rebuilds slices whose node has come back without its memory.
//!
//! Such a slice has failed until it is rebuilt: its clear cells would be taken for new keys. A
//! rebuild sets its cells of all keys, from a log or another copy, and writes the header last. Cells
//! that producers have set in the meantime stay set.

use dedupstore::Fingerprint;
use dedupstore::sites::{Operation, SiteFailure};

use crate::batch::Batch;
use crate::error::ClusterError;
use crate::layout::layout_keys;
use crate::store::ClusterStore;

/// A rebuild of slices that is under way.
#[derive(Debug)]
pub struct Rebuild {
    /// The slices that are rebuilt.
    pub slices: Vec<usize>,
    /// The number of keys that have been set in them.
    pub keys: u64,
}

impl ClusterStore {
    /// Starts to rebuild all slices that have lost their content; there may be none. Slices that do
    /// not answer cannot be rebuilt.
    pub fn begin_rebuild(&mut self) -> Result<Rebuild, ClusterError> {
        let failures = self.failures()?;
        let empty = failures
            .into_iter()
            .filter(|(_, failure)| *failure == SiteFailure::Empty);
        let slices: Vec<usize> = empty.map(|(slice, _)| slice).collect();
        for &slice in &slices {
            let command = self.slices.prepare(slice);
            let reply = self.slices.send([command], None).pop();
            self.slices.check()?;
            if reply.is_none_or(|reply| reply.value.is_none()) {
                return Err(ClusterError::Unreachable { slice });
            }
        }
        Ok(Rebuild { slices, keys: 0 })
    }

    /// Sets the cells of keys in the slices that are rebuilt.
    pub fn rebuild_batch(
        &mut self,
        rebuild: &mut Rebuild,
        keys: &[Fingerprint],
    ) -> Result<(), ClusterError> {
        let mut wanted = vec![false; self.slices.plan.sites()];
        rebuild
            .slices
            .iter()
            .for_each(|&slice| wanted[slice] = true);
        let has_cells = |key: &&Fingerprint| {
            let mut found = false;
            self.slices
                .plan
                .for_each_cell(**key, |cell| found |= wanted[cell.site]);
            found
        };
        let affected: Vec<Fingerprint> = keys.iter().filter(has_cells).copied().collect();
        let mut batch = Batch::new(&self.slices.plan, affected.iter().copied(), Operation::Set);
        batch.requests.retain(|request| wanted[request.site]);
        self.slices.exchange_cells(&mut batch.requests, None);
        self.slices.check()?;
        let lost = batch
            .requests
            .iter()
            .find(|it| it.outcome == Err(SiteFailure::Unavailable));
        if let Some(request) = lost {
            return Err(ClusterError::Unreachable {
                slice: request.site,
            });
        }
        rebuild.keys += affected.len() as u64;
        Ok(())
    }

    /// Ends a rebuild: from now on, its slices are believed.
    pub fn finish_rebuild(&mut self, rebuild: &Rebuild) -> Result<(), ClusterError> {
        for &slice in &rebuild.slices {
            let command = self.slices.mark(slice);
            let reply = self.slices.send([command], None).pop();
            self.slices.check()?;
            if reply.is_none_or(|reply| reply.value.is_none()) {
                return Err(ClusterError::Unreachable { slice });
            }
        }
        // The node may have had a copy of the layout as well.
        let json = self.layout.to_json();
        let copies = layout_keys(&self.address.name).into_iter().map(|key| {
            let command = redis::cmd("SET")
                .arg(&key.text)
                .arg(&json)
                .arg("NX")
                .clone();
            (key.slot, command)
        });
        self.slices.send(copies.collect::<Vec<_>>(), None);
        self.slices.check()?;
        self.counters.rebuilt += rebuild.keys;
        self.flush_counters(true);
        Ok(())
    }
}
