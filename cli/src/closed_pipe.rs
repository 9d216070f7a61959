//! Whether anyone still reads what we print.
//!
//! A write finds that out, but a run that has nothing to print, or nothing to read, would go
//! on for hours after `head` has left. So we look between batches, and wait for input and for
//! the reader's end at the same time.

#[cfg(unix)]
mod unix {
    use std::io;
    use std::os::fd::AsFd;

    use rustix::event::{PollFd, PollFlags, Timespec, poll};

    const NO_WAIT: Timespec = Timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };

    /// Whether the reader of standard output has gone away.
    pub fn reader_is_gone() -> bool {
        let stdout = io::stdout();
        let mut watched = [PollFd::new(&stdout, PollFlags::empty())];
        matches!(poll(&mut watched, Some(&NO_WAIT)), Ok(1..)) && is_gone(watched[0].revents())
    }

    /// Returns when there is something to read, or its end; true if the reader of standard
    /// output goes away before.
    pub fn reader_leaves_before(input: &impl AsFd) -> bool {
        let stdout = io::stdout();
        loop {
            let mut watched = [
                PollFd::new(&stdout, PollFlags::empty()),
                PollFd::new(input, PollFlags::IN),
            ];
            match poll(&mut watched, None) {
                Ok(_) if is_gone(watched[0].revents()) => return true,
                // Something else is wrong with standard output: a write will tell.
                Ok(_) if !watched[0].revents().is_empty() => return false,
                Ok(_) if !watched[1].revents().is_empty() => return false,
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(_) => return false,
            }
        }
    }

    fn is_gone(events: PollFlags) -> bool {
        events.intersects(PollFlags::ERR | PollFlags::HUP)
    }
}

#[cfg(unix)]
pub use unix::{reader_is_gone, reader_leaves_before};

/// Not known here before a write.
#[cfg(not(unix))]
pub fn reader_is_gone() -> bool {
    false
}

/// Not known here before a write.
#[cfg(not(unix))]
pub fn reader_leaves_before(_input: &std::io::Stdin) -> bool {
    false
}
