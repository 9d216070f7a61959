//! Signals that ask the process to end.
//!
//! A read that waits for input cannot be told of a signal safely. So a thread of its own
//! waits for signals and ends the process, as soon as the reader is between two batches;
//! that is settled by the lock around what must be closed.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Shared by the thread that works and the thread that waits for signals; empty when one of
/// them has begun to close it.
pub struct Closable<T> {
    value: Arc<Mutex<Option<T>>>,
    /// The exit code that a signal asks for, or zero.
    asked: Arc<AtomicUsize>,
}

impl<T: Send + 'static> Closable<T> {
    /// From now on SIGINT and SIGTERM end the process with 130 and 143 after `close`, which
    /// returns another exit code if it failed. A second signal ends it at once.
    pub fn new(value: T, close: impl FnOnce(T) -> Option<i32> + Send + 'static) -> Self {
        let closable = Closable {
            value: Arc::new(Mutex::new(Some(value))),
            asked: Arc::new(AtomicUsize::new(0)),
        };
        // Without the handlers a signal ends the process as it always does: a crash, which
        // whatever is behind this must survive anyway.
        #[cfg(unix)]
        let _ = wait_for_signals(&closable.value, &closable.asked, close);
        #[cfg(not(unix))]
        drop(close);
        closable
    }

    /// Takes hold of it for the length of a batch. Once a signal has come, never returns.
    pub fn hold(&self) -> MutexGuard<'_, Option<T>> {
        while self.asked.load(Ordering::Acquire) != 0 {
            // The other thread must get the lock, and ends the process when it is done.
            std::thread::park();
        }
        locked(&self.value)
    }

    /// Takes it, to close it in peace.
    pub fn take(&self) -> Option<T> {
        locked(&self.value).take()
    }

    /// The exit code that a signal has asked for.
    pub fn exit_code(&self) -> Option<u8> {
        u8::try_from(self.asked.load(Ordering::Acquire))
            .ok()
            .filter(|&code| code != 0)
    }
}

fn locked<T>(value: &Mutex<T>) -> MutexGuard<'_, T> {
    value.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(unix)]
fn wait_for_signals<T: Send + 'static>(
    value: &Arc<Mutex<Option<T>>>,
    asked: &Arc<AtomicUsize>,
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
        let mut held = locked(&value);
        // If it is gone, its owner is closing it this moment.
        if let Some(value) = held.take() {
            let code = close(value).unwrap_or(exit_code_of(signal));
            // Still under the lock: nobody starts another batch.
            std::process::exit(code);
        }
    };
    std::thread::Builder::new()
        .name("dedupstore signals".to_owned())
        .spawn(wait)?;
    // Only now, as whoever sees the flag relies on that thread.
    let already = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        // In this order: the first signal passes the shutdown by and arms it.
        signal_hook::flag::register_conditional_shutdown(
            signal,
            exit_code_of(signal),
            Arc::clone(&already),
        )?;
        signal_hook::flag::register(signal, Arc::clone(&already))?;
        let code = exit_code_of(signal) as usize;
        signal_hook::flag::register_usize(signal, Arc::clone(asked), code)?;
    }
    Ok(())
}

/// As shells count it.
#[cfg(unix)]
fn exit_code_of(signal: i32) -> i32 {
    128 + signal
}
