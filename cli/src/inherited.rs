//! What this process has inherited from the one that started it.
//!
//! It must be read before `main`: Rust's runtime opens `/dev/null` in place of a standard stream
//! that is closed, so that a program whose output goes nowhere cannot tell. Constructors in the
//! section for them run before the runtime.
#![allow(unsafe_code)]

#[cfg(unix)]
mod unix {
    use std::sync::atomic::{AtomicBool, Ordering};

    static STDOUT_IS_CLOSED: AtomicBool = AtomicBool::new(false);
    static SIGINT_IS_IGNORED: AtomicBool = AtomicBool::new(false);
    static SIGTERM_IS_IGNORED: AtomicBool = AtomicBool::new(false);
    static SIGHUP_IS_IGNORED: AtomicBool = AtomicBool::new(false);

    // SAFETY: the section holds pointers to functions that the loader calls once, in the only
    // thread, before `main`. `read` does not use Rust's runtime: it only makes system calls and
    // sets atomics.
    #[used]
    #[cfg_attr(not(target_vendor = "apple"), unsafe(link_section = ".init_array"))]
    #[cfg_attr(
        target_vendor = "apple",
        unsafe(link_section = "__DATA,__mod_init_func")
    )]
    static READ_BEFORE_MAIN: extern "C" fn() = read;

    extern "C" fn read() {
        // SAFETY: this call takes two numbers and changes nothing. It fails if the descriptor is
        // closed.
        let flags = unsafe { libc::fcntl(libc::STDOUT_FILENO, libc::F_GETFD) };
        STDOUT_IS_CLOSED.store(flags == -1, Ordering::Relaxed);
        SIGINT_IS_IGNORED.store(is_ignored_now(libc::SIGINT), Ordering::Relaxed);
        SIGTERM_IS_IGNORED.store(is_ignored_now(libc::SIGTERM), Ordering::Relaxed);
        SIGHUP_IS_IGNORED.store(is_ignored_now(libc::SIGHUP), Ordering::Relaxed);
    }

    fn is_ignored_now(signal: i32) -> bool {
        // SAFETY: all-zero bytes are a valid `sigaction`, which is a C structure of numbers.
        let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
        // SAFETY: without a new action, the call only writes the current one to `action`.
        let result = unsafe { libc::sigaction(signal, std::ptr::null(), &mut action) };
        result == 0 && action.sa_sigaction == libc::SIG_IGN
    }

    /// Returns whether standard output was closed, as after `>&-` in a shell.
    pub fn stdout_is_closed() -> bool {
        STDOUT_IS_CLOSED.load(Ordering::Relaxed)
    }

    /// Returns whether a signal was ignored: SIGINT is in the background jobs of a script.
    pub fn is_ignored(signal: i32) -> bool {
        match signal {
            libc::SIGINT => SIGINT_IS_IGNORED.load(Ordering::Relaxed),
            libc::SIGTERM => SIGTERM_IS_IGNORED.load(Ordering::Relaxed),
            libc::SIGHUP => SIGHUP_IS_IGNORED.load(Ordering::Relaxed),
            _ => false,
        }
    }
}

#[cfg(unix)]
pub use unix::{is_ignored, stdout_is_closed};

/// Not known here; a write fails instead.
#[cfg(not(unix))]
pub fn stdout_is_closed() -> bool {
    false
}
