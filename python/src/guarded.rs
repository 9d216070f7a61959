//! A value that threads share and that a forked process must not use.

use std::mem;
use std::process;
use std::sync::{Mutex, MutexGuard, TryLockError};

use pyo3::prelude::*;

use crate::errors;

/// A value under a lock.
pub struct Guarded<T> {
    value: Mutex<Option<T>>,
    /// What the value is, for messages.
    what: &'static str,
    /// The process that the value belongs to; None if a copy of its memory is all of it.
    process: Option<u32>,
}

impl<T: Send> Guarded<T> {
    /// Guards a value that has threads and files: after a fork, the child has a copy of the memory,
    /// but not the threads, and shares the files with its parent.
    pub fn with_files(what: &'static str, value: T) -> Self {
        Self::of_process(what, value, Some(process::id()))
    }

    /// Guards a value of which a forked process has a copy of its own.
    pub fn in_memory(what: &'static str, value: T) -> Self {
        Self::of_process(what, value, None)
    }

    fn of_process(what: &'static str, value: T, process: Option<u32>) -> Self {
        Guarded {
            value: Mutex::new(Some(value)),
            what,
            process,
        }
    }

    /// Fails in a forked process.
    pub fn check_process(&self) -> PyResult<()> {
        match self.process {
            Some(process) if process != process::id() => Err(errors::forked(self.what)),
            _ => Ok(()),
        }
    }

    /// Calls `work`, which is short. Keeps the global lock, unless another thread uses the value.
    #[inline]
    pub fn short<R: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut T) -> R + Send,
    ) -> PyResult<R> {
        self.check_process()?;
        match self.value.try_lock() {
            Ok(value) => self.apply(value, work),
            Err(TryLockError::WouldBlock) => self.long(py, work),
            Err(TryLockError::Poisoned(_)) => Err(errors::interrupted()),
        }
    }

    /// Calls `work` without the global lock.
    pub fn long<R: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut T) -> R + Send,
    ) -> PyResult<R> {
        self.check_process()?;
        py.detach(|| match self.value.lock() {
            Ok(value) => self.apply(value, work),
            Err(_) => Err(errors::interrupted()),
        })
    }

    fn apply<R>(
        &self,
        mut value: MutexGuard<'_, Option<T>>,
        work: impl FnOnce(&mut T) -> R,
    ) -> PyResult<R> {
        match value.as_mut() {
            Some(value) => Ok(work(value)),
            None => {
                // An exception needs the global lock, for which nobody waits while holding this one.
                drop(value);
                Err(errors::closed(self.what))
            }
        }
    }

    /// Takes the value out, so that every later call fails; None if that has happened before.
    pub fn take(&self, py: Python<'_>) -> PyResult<Option<T>> {
        self.check_process()?;
        py.detach(|| match self.value.lock() {
            Ok(mut value) => Ok(value.take()),
            Err(_) => Err(errors::interrupted()),
        })
    }
}

impl<T> Drop for Guarded<T> {
    fn drop(&mut self) {
        if self.process.is_some_and(|process| process != process::id()) {
            // Ending the value would wait for threads that this process does not have, and release
            // the lock of its parent.
            let value = self.value.get_mut();
            mem::forget(value.ok().and_then(Option::take));
        }
    }
}
