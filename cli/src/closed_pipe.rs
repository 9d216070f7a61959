//! Detects that the reader of standard output has closed the pipe.
//!
//! A write would fail, but a run that has nothing to print or waits for input would continue
//! for hours after `head` has exited. So the pipe is polled between batches, and together with
//! standard input.

#[cfg(unix)]
mod unix {
    use std::io;
    use std::os::fd::AsFd;

    use rustix::event::{PollFd, PollFlags, Timespec, poll};

    const NO_WAIT: Timespec = Timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };

    /// Returns whether the reader of standard output has closed the pipe.
    pub fn stdout_is_closed() -> bool {
        let stdout = io::stdout();
        let mut polled = [PollFd::new(&stdout, PollFlags::empty())];
        matches!(poll(&mut polled, Some(&NO_WAIT)), Ok(1..)) && is_closed(polled[0].revents())
    }

    /// Waits until `input` is readable or at its end; returns true if standard output is closed
    /// before that.
    pub fn stdout_closes_before_input(input: &impl AsFd) -> bool {
        let stdout = io::stdout();
        loop {
            let mut polled = [
                PollFd::new(&stdout, PollFlags::empty()),
                PollFd::new(input, PollFlags::IN),
            ];
            match poll(&mut polled, None) {
                Ok(_) if is_closed(polled[0].revents()) => return true,
                // Another problem with standard output: the next write reports it.
                Ok(_) if !polled[0].revents().is_empty() => return false,
                Ok(_) if !polled[1].revents().is_empty() => return false,
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(_) => return false,
            }
        }
    }

    fn is_closed(events: PollFlags) -> bool {
        events.intersects(PollFlags::ERR | PollFlags::HUP)
    }
}

#[cfg(unix)]
pub use unix::{stdout_closes_before_input, stdout_is_closed};

/// Not supported here; a write fails instead.
#[cfg(not(unix))]
pub fn stdout_is_closed() -> bool {
    false
}

/// Not supported here; a write fails instead.
#[cfg(not(unix))]
pub fn stdout_closes_before_input(_input: &std::io::Stdin) -> bool {
    false
}
