//! Standard output that a signal can interrupt.
//!
//! A write to a pipe waits until the reader has read. If it does not read, a run that was asked
//! to end would wait forever. So writes do not wait: if there is no room, the pipe is polled
//! together with the signals. After a signal, the write goes on while the reader makes progress,
//! for a few seconds at most.

use std::fs::File;
use std::io::{self, Write};

use crate::error::Failure;

/// Standard output.
pub struct InterruptibleFile {
    file: File,
    #[cfg(unix)]
    waiting: Option<unix::Waiting>,
}

impl InterruptibleFile {
    /// Opens standard output. If a signal can arrive, waiting for the reader is interruptible.
    pub fn standard_output() -> io::Result<Self> {
        #[cfg(unix)]
        {
            let file: File = std::os::fd::AsFd::as_fd(&io::stdout())
                .try_clone_to_owned()?
                .into();
            let (file, waiting) = unix::without_waiting(file);
            Ok(InterruptibleFile { file, waiting })
        }
        #[cfg(windows)]
        {
            let handle = std::os::windows::io::AsHandle::as_handle(&io::stdout())
                .try_clone_to_owned()?
                .into();
            Ok(InterruptibleFile { file: handle })
        }
    }

    /// Returns the file.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Writes all bytes.
    pub fn write_all(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        #[cfg(unix)]
        if let Some(waiting) = &mut self.waiting {
            return waiting.write_all(&mut self.file, bytes);
        }
        self.file.write_all(bytes).map_err(Failure::writing)
    }
}

#[cfg(unix)]
mod unix {
    use std::fs::File;
    use std::io::{self, IsTerminal, Write};
    use std::os::unix::fs::FileTypeExt;
    use std::os::unix::net::UnixStream;
    use std::time::{Duration, Instant};

    use rustix::event::{PollFd, PollFlags, Timespec, poll};

    use crate::error::Failure;
    use crate::signals;

    /// After a signal, the longest time without progress.
    const LONGEST_STALL: Duration = Duration::from_secs(1);
    /// After a signal, the longest time for the rest of the batch.
    const LONGEST_REST: Duration = Duration::from_secs(5);
    /// How many bytes a pipe takes at once if it takes any.
    const SLICE_BYTES: usize = if cfg!(target_os = "linux") { 4096 } else { 512 };

    /// How to wait for the reader.
    pub struct Waiting {
        wake: &'static UnixStream,
        /// Whether a write can wait, so that it must be small and the file polled before it.
        in_slices: bool,
        /// When a signal was noticed.
        signaled: Option<Instant>,
    }

    /// Returns a file to which writes do not wait, if it is one where they could.
    pub fn without_waiting(file: File) -> (File, Option<Waiting>) {
        let waits = file.metadata().is_ok_and(|metadata| {
            metadata.file_type().is_fifo() || metadata.file_type().is_socket()
        });
        let Some(wake) = signals::wake().filter(|_| waits || file.is_terminal()) else {
            return (file, None);
        };
        let (file, in_slices) = match reopen(&file) {
            Ok(reopened) => (reopened, false),
            Err(_) => (file, true),
        };
        let waiting = Waiting {
            wake,
            in_slices,
            signaled: None,
        };
        (file, Some(waiting))
    }

    /// Opens the same pipe or terminal again: the flag belongs to an open file, which is shared
    /// with other processes.
    #[cfg(target_os = "linux")]
    fn reopen(file: &File) -> io::Result<File> {
        use std::os::fd::AsRawFd;
        use std::os::unix::fs::OpenOptionsExt;

        let flags = rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOCTTY;
        File::options()
            .write(true)
            .custom_flags(flags.bits() as i32)
            .open(format!("/proc/self/fd/{}", file.as_raw_fd()))
    }

    #[cfg(not(target_os = "linux"))]
    fn reopen(_file: &File) -> io::Result<File> {
        Err(io::ErrorKind::Unsupported.into())
    }

    impl Waiting {
        pub fn write_all(&mut self, file: &mut File, mut bytes: &[u8]) -> Result<(), Failure> {
            let mut progress = Instant::now();
            while !bytes.is_empty() {
                let mut next = bytes;
                if self.in_slices {
                    self.wait(file, progress)?;
                    next = &bytes[..bytes.len().min(SLICE_BYTES)];
                }
                match file.write(next) {
                    Ok(0) => return Err(Failure::Output(io::ErrorKind::WriteZero.into())),
                    Ok(count) => {
                        bytes = &bytes[count..];
                        progress = Instant::now();
                    }
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                        self.wait(file, progress)?;
                    }
                    Err(error) => return Err(Failure::writing(error)),
                }
            }
            Ok(())
        }

        /// Waits until the file takes bytes. Fails if a signal has arrived and the reader is too
        /// slow; `progress` is when it last took some.
        fn wait(&mut self, file: &File, progress: Instant) -> Result<(), Failure> {
            loop {
                let mut timeout = None;
                if let Some(code) = signals::arrived() {
                    let now = Instant::now();
                    let signaled = *self.signaled.get_or_insert(now);
                    let end = (progress.max(signaled) + LONGEST_STALL).min(signaled + LONGEST_REST);
                    let left = end.saturating_duration_since(now);
                    if left.is_zero() {
                        return Err(Failure::Signal(code));
                    }
                    timeout = Some(Timespec {
                        tv_sec: left.as_secs() as _,
                        tv_nsec: left.subsec_nanos() as _,
                    });
                }
                let mut polled = [
                    PollFd::new(file, PollFlags::OUT),
                    PollFd::new(self.wake, PollFlags::IN),
                ];
                // Once a signal has arrived, it would wake this up at once forever.
                let count = if timeout.is_some() { 1 } else { 2 };
                match poll(&mut polled[..count], timeout.as_ref()) {
                    // Also on an error, which the write reports.
                    Ok(_) if !polled[0].revents().is_empty() => return Ok(()),
                    Ok(_) | Err(rustix::io::Errno::INTR) => {}
                    Err(error) => return Err(Failure::Output(error.into())),
                }
            }
        }
    }
}
