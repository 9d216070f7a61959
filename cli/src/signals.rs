//! Closes a value when SIGINT or SIGTERM arrives, and takes a checkpoint on SIGHUP.
//!
//! A read that waits for input cannot be interrupted safely. So a separate thread waits for
//! signals. It takes the value's lock, which the main thread holds during a batch, and closes the
//! value between two batches. A batch that waits for the reader of the output gives up soon after
//! a signal: see [`interruptible_file`](crate::interruptible_file).

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

/// A value that a signal checkpoints or closes.
#[cfg_attr(not(unix), allow(dead_code))]
pub trait OnSignal: Send + 'static {
    /// Makes the state durable; the run goes on.
    fn checkpoint(&mut self);

    /// Closes the value. Returns an exit code if that fails.
    fn close(self) -> Option<u8>;
}

/// A value shared by the main thread and the signal thread; None once one of them has started
/// to close it.
pub struct CloseOnSignal<T> {
    value: Arc<Mutex<Option<T>>>,
}

impl<T: OnSignal> CloseOnSignal<T> {
    /// Registers the signal handlers. SIGINT and SIGTERM then close the value and end the process
    /// with 130 and 143, unless they were ignored when it started. A second signal ends it at
    /// once. SIGHUP takes a checkpoint.
    pub fn new(value: T) -> Self {
        let value = Arc::new(Mutex::new(Some(value)));
        // If the handlers cannot be registered, a signal ends the process at once. That is a
        // crash, which the value must survive anyway.
        #[cfg(unix)]
        let _ = unix::wait_for_signals(&value);
        CloseOnSignal { value }
    }

    /// Locks the value for one batch. Does not return after a signal has arrived.
    pub fn lock(&self) -> MutexGuard<'_, Option<T>> {
        while arrived().is_some() {
            // Leaves the lock to the signal thread, which ends the process.
            std::thread::park();
        }
        lock_ignoring_poison(&self.value)
    }

    /// Takes the value out, so that the caller closes it.
    pub fn take(&self) -> Option<T> {
        lock_ignoring_poison(&self.value).take()
    }

    /// Returns a function for other threads that looks at the value; its result is None while
    /// a batch uses the value, and once it is closed.
    pub fn look<R>(&self, look: fn(&T) -> R) -> impl Fn() -> Option<R> + Send + use<T, R> {
        let value = Arc::clone(&self.value);
        move || {
            let guard = match value.try_lock() {
                Ok(guard) => guard,
                Err(TryLockError::Poisoned(guard)) => guard.into_inner(),
                Err(TryLockError::WouldBlock) => return None,
            };
            guard.as_ref().map(look)
        }
    }
}

fn lock_ignoring_poison<T>(value: &Mutex<T>) -> MutexGuard<'_, T> {
    value.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(unix)]
mod unix {
    use std::io;
    use std::os::unix::net::UnixStream;
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
    use std::sync::{Arc, Mutex, OnceLock};

    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
    use signal_hook::iterator::Signals;
    use signal_hook::{flag, low_level};

    use super::{OnSignal, lock_ignoring_poison};
    use crate::{inherited, signal_mask};

    /// What the signal handlers change. Handlers are a property of the process.
    struct Handled {
        /// The exit code of the signal that arrived; zero if none has.
        exit_code: Arc<AtomicUsize>,
        /// Readable once a signal has arrived; never read, so that it stays so.
        wake: UnixStream,
    }

    static HANDLED: OnceLock<Handled> = OnceLock::new();

    /// Returns the exit code of the signal that has arrived, if any.
    pub fn arrived() -> Option<u8> {
        let code = HANDLED.get()?.exit_code.load(Ordering::Acquire);
        u8::try_from(code).ok().filter(|&code| code != 0)
    }

    /// Returns what becomes readable when a signal arrives; None if none is handled.
    pub fn wake() -> Option<&'static UnixStream> {
        HANDLED.get().map(|handled| &handled.wake)
    }

    /// Lets a write above the limit of `ulimit -f` fail, instead of killing the process.
    pub fn report_large_files_as_errors() {
        // A handler that sets a flag which nobody reads; an ignored signal needs unsafe code.
        let _ = flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false)));
    }

    pub fn wait_for_signals<T: OnSignal>(value: &Arc<Mutex<Option<T>>>) -> io::Result<()> {
        let ending = [SIGINT, SIGTERM]
            .into_iter()
            .filter(|&signal| !inherited::is_ignored(signal));
        let all: Vec<i32> = ending.clone().chain([SIGHUP]).collect();
        let mut signals = Signals::new(&all)?;
        let (wake, waker) = UnixStream::pair()?;
        let exit_code = Arc::new(AtomicUsize::new(0));
        let handled = Handled {
            exit_code: Arc::clone(&exit_code),
            wake,
        };
        if HANDLED.set(handled).is_err() {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        let value = Arc::clone(value);
        let wait = move || {
            for signal in signals.forever() {
                let mut guard = lock_ignoring_poison(&value);
                if signal == SIGHUP {
                    if let Some(value) = guard.as_mut() {
                        value.checkpoint();
                    }
                    continue;
                }
                // If it is None, the main thread is closing the value.
                let Some(value) = guard.take() else { return };
                let code = value.close().map_or(exit_code_of(signal), i32::from);
                // The lock is still held, so no other batch starts.
                std::process::exit(code);
            }
        };
        std::thread::Builder::new()
            .name("dedupstore signals".to_owned())
            .spawn(wait)?;
        // After the thread has started, because `lock` relies on it once the exit code is set.
        let signaled = Arc::new(AtomicBool::new(false));
        for signal in ending {
            let code = exit_code_of(signal);
            // The order matters: the first signal skips the shutdown and arms it, and whoever
            // wakes up finds the exit code.
            flag::register_conditional_shutdown(signal, code, Arc::clone(&signaled))?;
            flag::register(signal, Arc::clone(&signaled))?;
            flag::register_usize(signal, Arc::clone(&exit_code), code as usize)?;
            low_level::pipe::register(signal, waker.try_clone()?)?;
        }
        signal_mask::block(&all);
        Ok(())
    }

    /// Returns the exit code by which shells report a signal.
    fn exit_code_of(signal: i32) -> i32 {
        128 + signal
    }
}

#[cfg(unix)]
pub use unix::{arrived, report_large_files_as_errors, wake};

/// Signals are not handled here.
#[cfg(not(unix))]
pub fn arrived() -> Option<u8> {
    None
}

/// There is no such limit here.
#[cfg(not(unix))]
pub fn report_large_files_as_errors() {}
