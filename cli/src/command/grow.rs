//! `dedupstore grow`: raises the limit of a growing store.
