//! An allocator that measures how much memory a thread holds.

#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    /// The bytes that this thread allocated minus those that it freed. Others may free them, so it
    /// can become negative.
    static HELD: Cell<isize> = const { Cell::new(0) };
    static PEAK: Cell<isize> = const { Cell::new(0) };
}

fn add(bytes: isize) {
    HELD.with(|held| {
        let now = held.get() + bytes;
        held.set(now);
        PEAK.with(|peak| peak.set(peak.get().max(now)));
    });
}

/// Returns what a function returns, and the most bytes that this thread held at once meanwhile,
/// besides those that it held before.
pub fn peak_of<T>(function: impl FnOnce() -> T) -> (T, usize) {
    let before = HELD.get();
    PEAK.set(before);
    let result = function();
    let peak = PEAK.get() - before;
    (result, usize::try_from(peak).unwrap_or(0))
}

struct Measuring;

// SAFETY: every call is passed on unchanged to the system's allocator.
unsafe impl GlobalAlloc for Measuring {
    // SAFETY: the caller keeps the contract of `GlobalAlloc::alloc`.
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        add(layout.size() as isize);
        // SAFETY: as above.
        unsafe { System.alloc(layout) }
    }

    // SAFETY: the caller keeps the contract of `GlobalAlloc::alloc_zeroed`.
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        add(layout.size() as isize);
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }

    // SAFETY: the caller keeps the contract of `GlobalAlloc::dealloc`.
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        add(-(layout.size() as isize));
        // SAFETY: `pointer` came from `System`, with this layout.
        unsafe { System.dealloc(pointer, layout) }
    }

    // SAFETY: the caller keeps the contract of `GlobalAlloc::realloc`.
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        add(new_size as isize - layout.size() as isize);
        // SAFETY: `pointer` came from `System`, with this layout.
        unsafe { System.realloc(pointer, layout, new_size) }
    }
}

#[global_allocator]
static ALLOCATOR: Measuring = Measuring;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_peak_counts_what_is_held_at_once() {
        let (_, peak) = peak_of(|| {
            drop(Vec::<u8>::with_capacity(1000));
            drop(Vec::<u8>::with_capacity(3000));
        });
        assert_eq!(peak, 3000);
        let (_, peak) = peak_of(|| {
            let first = Vec::<u8>::with_capacity(1000);
            (first, vec![0u8; 3000])
        });
        assert_eq!(peak, 4000);
    }
}
