//! Locking a mutex whose holder cannot leave it half-changed.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks a mutex and ignores its poisoning: what the store keeps under a mutex is consistent
/// after every statement, and a store that failed has a poisoned state of its own.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
