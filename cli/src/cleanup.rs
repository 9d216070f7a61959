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
        #[cfg(unix)]
        {
            CleanupOnSignal {
                signals: wait_for_signals().ok(),
            }
        }
        #[cfg(not(unix))]
        CleanupOnSignal {}
    }
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
fn wait_for_signals() -> std::io::Result<signal_hook::iterator::Handle> {
    let wanted = [SIGINT, SIGTERM, SIGHUP].into_iter();
    let wanted = wanted.filter(|&signal| !inherited::is_ignored(signal));
    let mut signals = signal_hook::iterator::Signals::new(wanted)?;
    let handle = signals.handle();
    let wait = move || {
        // None if the handle is closed.
        if let Some(signal) = signals.forever().next() {
            dedupstore::store::remove_unfinished();
            std::process::exit(128 + signal);
        }
    };
    std::thread::Builder::new()
        .name("dedupstore cleanup".to_owned())
        .spawn(wait)?;
    Ok(handle)
}
