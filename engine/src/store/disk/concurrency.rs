//! The threads, locks and atomics of an open store.
//!
//! They are those of the standard library. With the feature `interleavings` they are those of a
//! model checker, which runs one thread at a time and decides at each operation on them which
//! thread continues. Then a store works only inside the model checker.

#[cfg(not(feature = "interleavings"))]
pub use self::standard::*;
#[cfg(feature = "interleavings")]
pub use super::explored::*;

#[cfg(not(feature = "interleavings"))]
mod standard {
    use std::sync::PoisonError;
    pub use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, AtomicUsize};
    pub use std::sync::{Condvar, Mutex, MutexGuard, mpsc};
    pub use std::thread;
    use std::time::Duration;

    pub use crate::store::lock::lock;

    /// Waits while the condition holds, and at most for a time. The guard is that of the mutex.
    pub fn wait_at_most_while<'a, T>(
        condvar: &Condvar,
        _mutex: &'a Mutex<T>,
        guard: MutexGuard<'a, T>,
        time: Duration,
        condition: impl FnMut(&mut T) -> bool,
    ) -> MutexGuard<'a, T> {
        let waited = condvar.wait_timeout_while(guard, time, condition);
        waited.unwrap_or_else(PoisonError::into_inner).0
    }

    /// Returns whether two threads can run at the same time.
    pub fn has_several_processors() -> bool {
        thread::available_parallelism().is_ok_and(|processors| processors.get() > 1)
    }

    /// Returns the first of two limits. A model checker uses the second, which short runs reach.
    pub const fn limit(usual: usize, _explored: usize) -> usize {
        usual
    }

    /// Marks a moment at which another thread may run. The operating system needs no such marks; a
    /// model checker does, where no operation on a lock or an atomic is near.
    #[inline(always)]
    pub fn preemption_point() {}
}
