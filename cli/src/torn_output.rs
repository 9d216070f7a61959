//! Detects that the file to which the output is appended ends within a line.
//!
//! A run that was killed may have written half a line, which it has not recorded. Without a line
//! end after it, the next line would be glued to it, and lost.

/// Returns whether standard output is a regular file whose last byte before the position of the
/// next write is not the line end. If that byte cannot be read, returns false.
#[cfg(unix)]
pub fn ends_within_line(mut stdout: &std::fs::File, line_end: u8) -> bool {
    use std::fs::File;
    use std::io::Seek;
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::FileExt;

    use rustix::fs::{OFlags, fcntl_getfl};

    let Ok(metadata) = stdout.metadata() else {
        return false;
    };
    if !metadata.is_file() {
        return false;
    }
    let appends = fcntl_getfl(stdout).is_ok_and(|flags| flags.contains(OFlags::APPEND));
    let position = match appends {
        true => metadata.len(),
        false => stdout.stream_position().unwrap_or(0),
    };
    let Some(last) = position.checked_sub(1) else {
        return false;
    };
    let mut byte = [line_end];
    let read = stdout.read_exact_at(&mut byte, last).or_else(|_| {
        // The shell opens it for writing only.
        let readable = File::open(format!("/proc/self/fd/{}", stdout.as_raw_fd()))?;
        readable.read_exact_at(&mut byte, last)
    });
    read.is_ok() && byte[0] != line_end
}

/// Not supported here.
#[cfg(not(unix))]
pub fn ends_within_line(_stdout: &std::fs::File, _line_end: u8) -> bool {
    false
}
