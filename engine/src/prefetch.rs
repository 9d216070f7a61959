//! Asks the processor to fetch a line of memory that will be needed soon.
//!
//! The only module of the pure engine with `unsafe`: the intrinsics want it, though a
//! prefetch can neither fault nor change anything a program can see.
#![allow(unsafe_code)]

/// Whether a hint does anything on this machine; where not, none need be worked out.
pub(crate) const IS_THERE: bool = cfg!(any(target_arch = "x86_64", target_arch = "aarch64"));

/// Hints that `bytes[index]` is about to be read or written. Past the end: no effect.
#[inline(always)]
pub(crate) fn prefetch(bytes: &[u8], index: usize) {
    let Some(byte) = bytes.get(index) else {
        return;
    };
    let address: *const u8 = byte;
    #[cfg(target_arch = "x86_64")]
    // SAFETY: SSE is part of every x86_64; the address is of a live byte.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(address.cast());
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: `prfm` has no architectural effect; the address is of a live byte.
    unsafe {
        std::arch::asm!("prfm pstl1keep, [{0}]", in(reg) address, options(nostack, preserves_flags, readonly));
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let _ = address;
}
