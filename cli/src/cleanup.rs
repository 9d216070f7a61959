//! Removes half-made stores when a signal ends the process.
//!
//! `create`, `backup`, `merge` and `repair` write gigabytes under a temporary name. A thread waits
//! for signals, removes what is unfinished, and ends the process.

#[cfg(unix)]
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};

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
            // A handler that does nothing: a file that exceeds the limit on its size is then an
            // error of the system call, and not the end of the process.
            let nothing = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
            let _ = signal_hook::flag::register(SIGXFSZ, nothing);
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
    let ignored = ignored_signals();
    let wanted = [SIGINT, SIGTERM, SIGHUP];
    let wanted = wanted
        .iter()
        .filter(|&&signal| ignored & (1 << (signal - 1)) == 0);
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

/// Returns the signals that this process ignores, as a set of bits; bit 0 is signal 1.
#[cfg(unix)]
fn ignored_signals() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    ignored
        .and_then(|bits| u64::from_str_radix(bits.trim(), 16).ok())
        .unwrap_or(0)
}
