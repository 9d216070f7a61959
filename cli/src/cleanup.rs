//! Removes half-made stores when a signal ends the process.
//!
//! `create`, `backup`, `merge` and `repair` write gigabytes under a temporary name. A thread waits
//! for signals, removes what is unfinished, and ends the process.

#[cfg(unix)]
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

#[cfg(unix)]
use crate::inherited;

/// Removes unfinished stores on SIGINT, SIGTERM and SIGHUP until it is dropped. Signals that the
/// parent process has told this one to ignore, as nohup does, stay ignored.
pub struct CleanupOnSignal {
    #[cfg(unix)]
    signals: Option<signal_hook::iterator::Handle>,
}

impl CleanupOnSignal {
    /// Registers the signal handlers. If that fails, a signal ends the process at once, and leaves
    /// what a crash leaves.
    pub fn start() -> Self {
        Self::with_hangup(Hangup::Ends)
    }

    /// Registers the signal handlers for `filter`, to which SIGHUP means a checkpoint: as long as
    /// it opens its store, there is nothing to save, and SIGHUP does nothing.
    pub fn start_ignoring_hangup() -> Self {
        Self::with_hangup(Hangup::IsIgnored)
    }

    #[cfg(unix)]
    fn with_hangup(hangup: Hangup) -> Self {
        CleanupOnSignal {
            signals: wait_for_signals(hangup).ok(),
        }
    }

    #[cfg(not(unix))]
    fn with_hangup(_hangup: Hangup) -> Self {
        CleanupOnSignal {}
    }
}

/// What SIGHUP does.
#[derive(Clone, Copy, PartialEq)]
enum Hangup {
    Ends,
    IsIgnored,
}

#[cfg(unix)]
impl Drop for CleanupOnSignal {
    fn drop(&mut self) {
        if let Some(signals) = self.signals.take() {
            signals.close();
        }
    }
}

#[cfg(unix)]
fn wait_for_signals(hangup: Hangup) -> std::io::Result<signal_hook::iterator::Handle> {
    let wanted = [SIGINT, SIGTERM, SIGHUP].into_iter();
    let wanted = wanted.filter(|&signal| !inherited::is_ignored(signal));
    let mut signals = signal_hook::iterator::Signals::new(wanted)?;
    let handle = signals.handle();
    let wait = move || {
        let ends = |signal: &i32| *signal != SIGHUP || hangup == Hangup::Ends;
        // None if the handle is closed.
        if let Some(signal) = signals.forever().find(ends) {
            dedupstore::store::remove_unfinished();
            std::process::exit(128 + signal);
        }
    };
    std::thread::Builder::new()
        .name("dedupstore cleanup".to_owned())
        .spawn(wait)?;
    Ok(handle)
}
