//! Error messages of commands that need a certain filter: `merge`, `grow` and `forget`.

use dedupstore::ByteSize;
#[cfg(not(target_family = "wasm"))]
use dedupstore::filter::filters_that_merge;
use dedupstore::filter::{CannotForget, CannotGrow};
#[cfg(not(target_family = "wasm"))]
use dedupstore::store::MergeError;

#[cfg(not(target_family = "wasm"))]
use crate::errors::error_message;
use crate::numbers::show_bits;
#[cfg(not(target_family = "wasm"))]
use crate::printable::printable;

/// Formats the error of a merge with what to do instead.
#[cfg(not(target_family = "wasm"))]
pub fn merge_error_message(error: &MergeError) -> String {
    match error {
        MergeError::Store { path, error } => error_message(path.display(), error),
        MergeError::NoUnion { .. } => format!(
            "{error}; nothing was created. Feed the logs of all of them to one store instead, or \
             use a filter that can be merged for the next stores: {}",
            filters_that_merge().join(", ")
        ),
        _ => printable(&format!(
            "{error}; nothing was created. Stores can be merged if they were created with the \
             same --filter, --memory, --seed and key options: `dedupstore inspect` shows them. \
             If they differ, feed the logs of all of them to one store instead"
        ))
        .into_owned(),
    }
}

/// Says that a filter cannot take a key out, and what to do instead.
pub(crate) fn cannot_forget_message(path: &str, error: &CannotForget) -> String {
    format!(
        "{path}: {error}; to be able to, create a store with one of them and feed the logs to it"
    )
}

/// Says that the limit of a filter cannot be raised, and what to do instead.
pub(crate) fn cannot_grow_message(path: &str, filter: &str, reason: &CannotGrow) -> String {
    match reason {
        CannotGrow::NeedsMemory { minimum_bits } => format!(
            "{path}: {filter} can grow from {} on; give --memory {} or more",
            show_bits(*minimum_bits),
            ByteSize::from_bytes(minimum_bits.div_ceil(8)),
        ),
        reason => format!(
            "{path}: {filter} cannot grow: {reason}; create a larger store, and feed the logs to it: \
             dedupstore create OTHER.dds --grow-to SIZE --fpr P"
        ),
    }
}
