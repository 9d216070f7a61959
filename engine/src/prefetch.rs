//! Asks the processor to load a cache line that will be needed soon.
//!
//! On x86-64 the line is loaded into the second-level cache, which can wait for more lines at once
//! than the first: on an AMD EPYC (Zen 4) twice as many random lines arrive in the same time. The
//! latency from the second-level cache is short and is hidden by other work. Memory that fits into
//! the second-level cache is there already, and its lines are loaded into the first: a mispredicted
//! branch, which hides nothing, then waits for less.
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

/// Memory up to this size is expected to be in the second-level cache.
#[cfg(target_arch = "x86_64")]
const NEAR_BYTES: usize = 2 << 20;

/// Prefetches `items[index]`. Beyond the end it has no effect that a program can observe.
#[inline(always)]
pub(crate) fn prefetch<T>(items: &[T], index: usize) {
    let address: *const u8 = items.as_ptr().wrapping_add(index).cast();
    #[cfg(target_arch = "x86_64")]
    // SAFETY: SSE is part of every x86_64; a prefetch of any address is allowed and cannot fault.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _MM_HINT_T1, _mm_prefetch};
        match size_of_val(items) <= NEAR_BYTES {
            true => _mm_prefetch::<_MM_HINT_T0>(address.cast()),
            false => _mm_prefetch::<_MM_HINT_T1>(address.cast()),
        }
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: `prfm` has no architectural effect, whatever the address is.
    unsafe {
        std::arch::asm!("prfm pstl1keep, [{0}]", in(reg) address, options(nostack, preserves_flags, readonly));
    }
    // A read whose value is not used. The processor continues with the next instructions
    // meanwhile, but not far, so these reads should stand close together.
    #[cfg(target_family = "wasm")]
    if index < items.len() {
        // SAFETY: the address is of a live byte, and no type prefetched begins with padding.
        unsafe {
            address.read_volatile();
        }
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
