//! Closes a value when SIGINT or SIGTERM arrives.
//!
//! A read that waits for input cannot be interrupted safely. So a separate thread waits for
//! signals. It takes the value's lock, which the main thread holds during a batch, closes the
//! value between two batches, and ends the process.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A value shared by the main thread and the signal thread; None once one of them has started
/// to close it.
pub struct CloseOnSignal<T> {
    value: Arc<Mutex<Option<T>>>,
    /// The exit code of the signal that arrived; zero if none has.
    signal_exit_code: Arc<AtomicUsize>,
}

impl<T: Send + 'static> CloseOnSignal<T> {
    /// Registers the signal handlers. SIGINT and SIGTERM then end the process with 130 and 143
    /// after `close`, which returns another exit code if it fails. A second signal ends the
    /// process at once.
    pub fn new(value: T, close: impl FnOnce(T) -> Option<i32> + Send + 'static) -> Self {
        let closable = CloseOnSignal {
            value: Arc::new(Mutex::new(Some(value))),
            signal_exit_code: Arc::new(AtomicUsize::new(0)),
        };
        // If the handlers cannot be registered, a signal ends the process at once. That is a
        // crash, which the value must survive anyway.
        #[cfg(unix)]
        let _ = wait_for_signals(&closable.value, &closable.signal_exit_code, close);
        #[cfg(not(unix))]
        drop(close);
        closable
    }

    /// Locks the value for one batch. Does not return after a signal has arrived.
    pub fn lock(&self) -> MutexGuard<'_, Option<T>> {
        while self.signal_exit_code.load(Ordering::Acquire) != 0 {
            // Leaves the lock to the signal thread, which ends the process.
            std::thread::park();
        }
        lock_ignoring_poison(&self.value)
    }

    /// Takes the value out, so that the caller closes it.
    pub fn take(&self) -> Option<T> {
        lock_ignoring_poison(&self.value).take()
    }

    /// Returns the exit code of the signal that has arrived, if any.
    pub fn exit_code(&self) -> Option<u8> {
        u8::try_from(self.signal_exit_code.load(Ordering::Acquire))
            .ok()
            .filter(|&code| code != 0)
    }
}

fn lock_ignoring_poison<T>(value: &Mutex<T>) -> MutexGuard<'_, T> {
    value.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(unix)]
fn wait_for_signals<T: Send + 'static>(
    value: &Arc<Mutex<Option<T>>>,
    signal_exit_code: &Arc<AtomicUsize>,
    close: impl FnOnce(T) -> Option<i32> + Send + 'static,
) -> std::io::Result<()> {
    use signal_hook::consts::{SIGINT, SIGTERM};
    use std::sync::atomic::AtomicBool;

    let mut signals = signal_hook::iterator::Signals::new([SIGINT, SIGTERM])?;
    let value = Arc::clone(value);
    let wait = move || {
        let Some(signal) = signals.forever().next() else {
            return;
        };
        let mut guard = lock_ignoring_poison(&value);
        // If it is None, the main thread is closing the value.
        if let Some(value) = guard.take() {
            let code = close(value).unwrap_or(exit_code_of(signal));
            // The lock is still held, so no other batch starts.
            std::process::exit(code);
        }
    };
    std::thread::Builder::new()
        .name("dedupstore signals".to_owned())
        .spawn(wait)?;
    // After the thread has started, because `lock` relies on it once the exit code is set.
    let signaled = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        // The order matters: the first signal skips the shutdown and arms it.
        signal_hook::flag::register_conditional_shutdown(
            signal,
            exit_code_of(signal),
            Arc::clone(&signaled),
        )?;
        signal_hook::flag::register(signal, Arc::clone(&signaled))?;
        let code = exit_code_of(signal) as usize;
        signal_hook::flag::register_usize(signal, Arc::clone(signal_exit_code), code)?;
    }
    Ok(())
}

/// Returns the exit code by which shells report a signal.
#[cfg(unix)]
fn exit_code_of(signal: i32) -> i32 {
    128 + signal
}
