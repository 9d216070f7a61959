//! Which threads take signals.
//!
//! A handler interrupts the system call that its thread waits in. A read from a socket with a time
//! limit then fails, and the system does not repeat it. So only the thread that waits for signals
//! takes them.
#![allow(unsafe_code)]

/// Keeps signals away from this thread and from those that it starts later. Other threads go on
/// taking them.
pub fn block(signals: &[i32]) {
    // SAFETY: all-zero bytes are a valid `sigset_t`, which is a C structure of numbers.
    let mut set: libc::sigset_t = unsafe { std::mem::zeroed() };
    // SAFETY: the calls only write to `set`. They fail if a number is not that of a signal.
    unsafe {
        libc::sigemptyset(&mut set);
        for &signal in signals {
            libc::sigaddset(&mut set, signal);
        }
    }
    // SAFETY: `set` is initialized, and the previous mask is not asked for. No code of this
    // program relies on an interrupted system call in this thread.
    unsafe {
        libc::pthread_sigmask(libc::SIG_BLOCK, &set, std::ptr::null_mut());
    }
}

#[cfg(test)]
mod tests {
    use std::io::{ErrorKind, Read};
    use std::net::{TcpListener, TcpStream};
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;
    use std::time::Duration;

    use signal_hook::consts::SIGUSR1;

    use super::*;

    /// Returns the error of a read with a time limit in a thread that a signal is sent to.
    fn interrupted_read(is_blocked: bool) -> ErrorKind {
        let listener = TcpListener::bind("127.0.0.1:0").expect("an address");
        let mut stream = TcpStream::connect(listener.local_addr().expect("bound")).expect("open");
        let limit = Duration::from_millis(500);
        stream.set_read_timeout(Some(limit)).expect("a limit");
        let (sender, receiver) = std::sync::mpsc::channel();
        let reader = std::thread::spawn(move || {
            if is_blocked {
                block(&[SIGUSR1]);
            }
            // SAFETY: the call returns the number of this thread.
            sender.send(unsafe { libc::pthread_self() }).expect("asked");
            stream.read(&mut [0]).expect_err("nothing is sent").kind()
        });
        let thread = receiver.recv().expect("the thread");
        std::thread::sleep(Duration::from_millis(100));
        // SAFETY: the thread has not been joined, so its number is valid.
        assert_eq!(unsafe { libc::pthread_kill(thread, SIGUSR1) }, 0);
        reader.join().expect("no panic")
    }

    #[test]
    fn a_blocked_signal_does_not_interrupt_a_read() {
        let _ = signal_hook::flag::register(SIGUSR1, Arc::new(AtomicBool::new(false)));
        assert_eq!(interrupted_read(false), ErrorKind::Interrupted);
        assert_eq!(interrupted_read(true), ErrorKind::WouldBlock);
    }
}
