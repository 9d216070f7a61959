//! Asks the processor to load a cache line that will be needed soon.
//!
//! On x86-64 the line is loaded into the second-level cache, which can wait for more lines at once
//! than the first: on an AMD EPYC (Zen 4) twice as many random lines arrive in the same time. The
//! latency from the second-level cache is short and is hidden by other work.
//!
//! Besides `simd`, this is the only module of the pure engine with `unsafe`. The intrinsics require it, although a
//! prefetch can neither fault nor change anything that a program can observe.
#![allow(unsafe_code)]

/// Whether prefetching random positions in so many bytes of memory is worthwhile. Prefetch
/// instructions cost almost nothing. WebAssembly has none; a real read instead is a waste if the
/// memory fits into the caches.
pub(crate) const fn is_worthwhile(memory_bytes: usize) -> bool {
    if cfg!(target_family = "wasm") {
        memory_bytes >= 256 << 10
    } else {
        cfg!(any(target_arch = "x86_64", target_arch = "aarch64"))
    }
}

/// Prefetches `items[index]`. Has no effect beyond the end.
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
    // A read whose value is not used. The processor continues with the next instructions
    // meanwhile, but not far, so these reads should stand close together.
    #[cfg(target_family = "wasm")]
    // SAFETY: the address is of a live byte, and no type prefetched begins with padding.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_index_may_be_prefetched() {
        let items = [[1u8; 64], [2; 64]];
        for index in [0, 1, 2, usize::MAX] {
            prefetch(&items, index);
            prefetch::<u64>(&[], index);
        }
        assert_eq!(items, [[1; 64], [2; 64]]);
    }
}
