//! The end of a log as a shared map, so that a small frame costs no system call.
//!
//! A store into the map is in the operating system's cache of the file when the instruction has
//! retired, where the end of the process does not undo it. A sync of the file writes it, as it
//! writes what write(2) has put there, and reports errors of the disk.
//!
//! A store into a map cannot return an error: it kills the process with SIGBUS if the file has no
//! block for it, or has become shorter. So a log is mapped only
//!
//! - on file systems that write a block in place once it is allocated. A copy-on-write file system
//!   allocates at each write, and a store fails if the disk is full;
//! - after write(2) has filled the part with zeros: then it has blocks, also in a file that was
//!   copied with holes;
//! - if the file still has that part. Another program that truncates the log while it is mapped
//!   kills this process.
//!
//! Only a store into the map is unsafe.
#![allow(unsafe_code)]

use std::fs::File;
use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use memmap2::{Advice, MmapOptions, MmapRaw};

use super::file_access_at::write_all_at;
use crate::store::medium::LogWindow;

const PAGE_BYTES: u64 = 4096;
/// The bytes of a frame that are stored last.
const HEAD_BYTES: usize = 8;

static ZEROS: [u8; 16 << 10] = [0; 16 << 10];

/// Part of a log that is mapped.
#[derive(Debug)]
pub struct MappedLog {
    map: MmapRaw,
    range: Range<u64>,
}

impl MappedLog {
    /// Fills part of a file with zeros and maps it. Returns None if its file system might kill the
    /// process, or if the operating system does not map it.
    pub fn open(file: &File, offset: u64, length: u64) -> Option<io::Result<MappedLog>> {
        if !writes_in_place(file) {
            return None;
        }
        let end = offset + length;
        // Whole pages are not read from the disk before they are written.
        let end = match end % PAGE_BYTES {
            rest if end - rest > offset => end - rest,
            _ => end,
        };
        if let Err(error) = fill_with_zeros(file, offset..end) {
            return Some(Err(error));
        }
        let mut options = MmapOptions::new();
        let map = options.offset(offset).len((end - offset) as usize);
        let map = map.map_raw(file).ok()?;
        // No read-ahead: it would read what the next window overwrites, into large folios, whose
        // faults cost more.
        let _ = map.advise(Advice::Random);
        // Faults on all pages now, at a lower price. An old kernel does not know this call: then
        // the stores fault.
        let _ = map.advise(Advice::PopulateWrite);
        let range = offset..end;
        Some(Ok(MappedLog { map, range }))
    }
}

fn fill_with_zeros(file: &File, range: Range<u64>) -> io::Result<()> {
    // Writing would extend the file, and hide that frames are lost.
    if file.metadata()?.len() < range.end {
        let message = "another program has truncated the file";
        return Err(io::Error::new(io::ErrorKind::UnexpectedEof, message));
    }
    let mut at = range.start;
    while at < range.end {
        let zeros = &ZEROS[..ZEROS.len().min((range.end - at) as usize)];
        write_all_at(file, zeros, at)?;
        at += zeros.len() as u64;
    }
    Ok(())
}

/// Returns whether the file system writes allocated blocks in place: ext2 to ext4, and memory.
fn writes_in_place(file: &File) -> bool {
    const EXT: u64 = 0xef53;
    const TMPFS: u64 = 0x0102_1994;
    match rustix::fs::fstatfs(file) {
        Ok(statistics) => [EXT, TMPFS].contains(&(statistics.f_type as u64)),
        Err(_) => false,
    }
}

impl LogWindow for MappedLog {
    fn range(&self) -> Range<u64> {
        self.range.clone()
    }

    #[inline]
    fn store(&mut self, offset: u64, frame: &[u8]) -> io::Result<()> {
        let Range { start, end } = self.range;
        let fits = start <= offset && offset <= end && frame.len() as u64 <= end - offset;
        let aligned = offset.is_multiple_of(HEAD_BYTES as u64);
        let Some((head, rest)) = frame.split_first_chunk().filter(|_| fits && aligned) else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        // SAFETY: the frame is inside the map (checked above), and `&mut self` excludes other
        // stores of this process. The map's address has the alignment of the file's offset in a
        // page, so that `at` is a multiple of 8. Other processes and the kernel only read the
        // file. Should another program truncate it, the store raises a signal; see above.
        unsafe {
            let at = self.map.as_mut_ptr().add((offset - start) as usize);
            std::ptr::copy_nonoverlapping(rest.as_ptr(), at.add(HEAD_BYTES), rest.len());
            // Release: after the rest of the frame.
            let head_at = AtomicU64::from_ptr(at.cast());
            head_at.store(u64::from_ne_bytes(*head), Ordering::Release);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileExt;

    use super::*;

    /// A file of random-looking bytes on the file system of the temporary directory.
    fn file(length: usize) -> File {
        let file = tempfile::tempfile().expect("a file");
        let bytes: Vec<u8> = (0..length).map(|at| (at * at / 7) as u8 | 1).collect();
        file.write_all_at(&bytes, 0).expect("written");
        file
    }

    fn read(file: &File, offset: u64, length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length];
        file.read_exact_at(&mut bytes, offset).expect("read");
        bytes
    }

    #[test]
    fn frames_in_the_window_are_in_the_file_and_bytes_around_it_stay() {
        let file = file(3 * 4096);
        let before = read(&file, 0, 512);
        let after = read(&file, 2 * 4096, 4096);
        let Some(window) = MappedLog::open(&file, 512, 2 * 4096) else {
            return not_mapped();
        };
        let mut window = window.expect("mapped");
        assert_eq!(window.range(), 512..2 * 4096);
        let frames: Vec<Vec<u8>> = (1..40).map(|n| vec![n as u8; 8 * n]).collect();
        let mut at = 512;
        for frame in &frames {
            window.store(at, frame).expect("stored");
            assert_eq!(read(&file, at, frame.len()), *frame);
            at += frame.len() as u64;
        }
        assert!(
            read(&file, at, (2 * 4096 - at) as usize)
                .iter()
                .all(|&byte| byte == 0)
        );
        drop(window);
        assert_eq!(read(&file, 0, 512), before);
        assert_eq!(read(&file, 2 * 4096, 4096), after);
    }

    #[test]
    fn a_store_outside_the_window_or_at_an_odd_offset_fails() {
        let file = file(4096);
        let Some(window) = MappedLog::open(&file, 512, 1024) else {
            return not_mapped();
        };
        let mut window = window.expect("mapped");
        for (offset, length) in [
            (504, 8),
            (1536, 8),
            (1528, 16),
            (516, 8),
            (512, 4),
            (u64::MAX, 8),
        ] {
            let stored = window.store(offset, &vec![1; length]);
            assert!(stored.is_err(), "{length} bytes at {offset}");
        }
        window.store(1528, &[1; 8]).expect("the last word");
    }

    #[test]
    fn a_truncated_file_is_not_mapped_and_not_extended() {
        let file = file(4096);
        let Some(window) = MappedLog::open(&file, 512, 8192) else {
            return not_mapped();
        };
        let error = window.expect_err("the file ends before");
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
        assert_eq!(file.metadata().expect("its size").len(), 4096);
    }

    /// Ends a test on a file system that is not mapped. Where nothing may be left out, it fails.
    fn not_mapped() {
        assert!(
            std::env::var_os("CI").is_none(),
            "the file system is not mapped"
        );
        eprintln!("this file system is not mapped");
    }
}
