//! What can be said of a store while it works.

use super::handle::Store;
use crate::store::medium::Medium;

impl<M: Medium> Store<M> {
    /// How many checkpoints have been taken.
    pub fn generation(&self) -> u64 {
        self.active.generation
    }

    /// When the last one was.
    pub fn checkpoint_unix_seconds(&self) -> u64 {
        self.active.unix_seconds
    }
}
