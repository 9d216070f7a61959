//! Asks the processor to fetch a line of memory that will be needed soon.
//!
//! On x86-64 it is asked into the second cache, which waits for more lines at once than the
//! first: on the AMD EPYC (Zen 4) where this was measured twice as many random lines come
//! in the same time. From there to the first is a short way, covered by other work.
//!
//! The only module of the pure engine with `unsafe`: the intrinsics want it, though a
//! prefetch can neither fault nor change anything a program can see.
#![allow(unsafe_code)]

/// Whether it pays to ask ahead for random places in so many bytes of memory. The hints of
/// a processor cost next to nothing; WebAssembly has none, and a real read in its place is a
/// waste where everything is in the nearest caches anyway.
pub(crate) const fn pays(memory_bytes: usize) -> bool {
    if cfg!(target_family = "wasm") {
        memory_bytes >= 256 << 10
    } else {
        cfg!(any(target_arch = "x86_64", target_arch = "aarch64"))
    }
}

/// Hints that `items[index]` is about to be read or written. Past the end: no effect.
#[inline(always)]
pub(crate) fn prefetch<T>(items: &[T], index: usize) {
    let Some(item) = items.get(index) else {
        return;
    };
    let address: *const u8 = std::ptr::from_ref(item).cast();
    #[cfg(target_arch = "x86_64")]
    // SAFETY: SSE is part of every x86_64; the address is of a live byte.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T1>(address.cast());
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: `prfm` has no architectural effect; the address is of a live byte.
    unsafe {
        std::arch::asm!("prfm pstl1keep, [{0}]", in(reg) address, options(nostack, preserves_flags, readonly));
    }
    // A read whose value nobody wants. The processor goes on to the next ones meanwhile,
    // but not far: these belong close together.
    #[cfg(target_family = "wasm")]
    // SAFETY: the address is of a live byte, and nothing asked for begins with padding.
    unsafe {
        address.read_volatile();
    }
    #[cfg(not(any(
        target_arch = "x86_64",
        target_arch = "aarch64",
        target_family = "wasm"
    )))]
    let _ = address;
}
