//! What [`concurrency`](super::concurrency) provides, for the model checker `shuttle`.

use std::sync::PoisonError;
use std::time::Duration;

pub use shuttle::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, AtomicUsize};
pub use shuttle::sync::{Condvar, Mutex, MutexGuard, mpsc};
pub use shuttle::thread;

/// Locks a mutex, as [`lock`](crate::store::lock::lock) does.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Lets other threads run for any time if the condition holds. `shuttle` has no clock: its own timed
/// waits end only after a notification.
pub fn wait_at_most_while<'a, T>(
    _condvar: &Condvar,
    mutex: &'a Mutex<T>,
    mut guard: MutexGuard<'a, T>,
    _time: Duration,
    mut condition: impl FnMut(&mut T) -> bool,
) -> MutexGuard<'a, T> {
    if !condition(&mut guard) {
        return guard;
    }
    drop(guard);
    thread::yield_now();
    lock(mutex)
}

/// Returns true, so that every store has all its threads.
pub fn has_several_processors() -> bool {
    true
}

/// Returns the second of two limits.
pub const fn limit(_usual: usize, explored: usize) -> usize {
    explored
}

/// Lets another thread run, or none.
pub fn preemption_point() {
    // Not `yield_now`, after which a scheduler may prefer other threads.
    AtomicU8::new(0).store(1, std::sync::atomic::Ordering::SeqCst);
}
