use std::arch::x86_64::*;
use std::time::Instant;
const M: u64 = 0xf135_7aea_2e62_a9c5;
fn mix(mut z: u64) -> u64 { z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9); z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb); z ^ (z >> 31) }
#[repr(align(64))] #[derive(Clone, Copy)] struct L([u64; 8]);
static LANES: [L; 8] = { let mut t = [L([0; 8]); 8]; let mut i = 0; while i < 8 { t[i].0[i] = !0; i += 1; } t };
static BITS: [u64; 64] = { let mut t = [0; 64]; let mut i = 0; while i < 64 { t[i] = 1 << i; i += 1; } t };
static TABLE: [L; 512] = { let mut t = [L([0; 8]); 512]; let mut i = 0; while i < 512 { t[i].0[i / 64] = 1 << (i % 64); i += 1; } t };
#[inline] #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vpopcntdq,bmi2,popcnt")]
unsafe fn sllv(p: __m512i, by: __m512i) -> __m512i { let r: __m512i; unsafe { std::arch::asm!("vpsllvq {}, {}, {}", lateout(zmm_reg) r, in(zmm_reg) p, in(zmm_reg) by, options(pure, nomem, nostack, preserves_flags)); } r }
#[inline] #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vpopcntdq,bmi2,popcnt")]
unsafe fn bits<const V: usize>(n: u64, k: u32) -> __m512i { unsafe {
    let mut acc = _mm512_setzero_si512();
    match V {
        0 => { let num = _mm512_set1_epi64(n as i64); let lanes = _mm512_setr_epi64(0, 64, 128, 192, 256, 320, 384, 448);
            for i in 0..k { let p = _mm512_srl_epi64(num, _mm_cvtsi64_si128((55 - 9 * i) as i64)); let p = _mm512_and_si512(p, _mm512_set1_epi64(511));
                acc = _mm512_or_si512(acc, sllv(_mm512_set1_epi64(1), _mm512_xor_si512(p, lanes))); } }
        1 => { for i in 0..k { let p = n >> (55 - 9 * i); let lane = _mm512_load_si512(LANES.as_ptr().add((p >> 6 & 7) as usize).cast());
                let b = _mm512_set1_epi64(*BITS.get_unchecked((p & 63) as usize) as i64);
                acc = _mm512_ternarylogic_epi64::<0xF8>(acc, lane, b); } }
        2 => { for i in 0..k { let p = (n >> (55 - 9 * i)) & 511; acc = _mm512_or_si512(acc, _mm512_load_si512(TABLE.as_ptr().add(p as usize).cast())); } }
        3 => { // masked broadcast of a shifted bit: lane chosen by mask register
            for i in 0..k { let p = n >> (55 - 9 * i); let m = 1u8 << (p >> 6 & 7); let b = 1u64 << (p & 63);
                acc = _mm512_mask_or_epi64(acc, m, acc, _mm512_set1_epi64(b as i64)); } }
        _ => { // split: one bit in each of k words
            let num = _mm512_set1_epi64(n as i64); let sh = _mm512_setr_epi64(0,6,12,18,24,30,36,42);
            let p = _mm512_srlv_epi64(num, sh);
            acc = _mm512_maskz_rolv_epi64(((1u32 << k) - 1) as u8, _mm512_set1_epi64(1), p); }
    }
    acc
} }
#[inline] #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vpopcntdq,bmi2,popcnt")]
unsafe fn count(v: __m512i) -> u32 { unsafe { let c = _mm512_cvtepi64_epi8(_mm512_popcnt_epi64(v)); _mm_cvtsi128_si32(_mm_sad_epu8(c, _mm_setzero_si128())) as u32 } }
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vpopcntdq,bmi2,popcnt")]
unsafe fn run<const V: usize, const C: usize>(mem: &mut [L], keys: &[u64], out: &mut [u8], seed: u64, k: u32) -> u64 { unsafe {
    let n = mem.len() as u128; let mut occ = 0u64;
    for (i, &key) in keys.iter().enumerate() {
        if let Some(&l) = keys.get(i + 32) { _mm_prefetch::<2>(mem.as_ptr().add(((l as u128 * n) >> 64) as usize).cast()); }
        let at = ((key as u128 * n) >> 64) as usize;
        let line = mem.get_unchecked_mut(at);
        let kb = bits::<V>(key.wrapping_mul(M), k);
        let before = _mm512_load_si512(line.0.as_ptr().cast());
        let mut after;
        if C == 0 {
            let added = count(_mm512_andnot_si512(before, kb)); let ones = count(before);
            after = _mm512_or_si512(before, kb); occ += added as u64;
            if (u32::from(added != 0) << 16) | ones > (1 << 16) | 435 {
                let cl = bits::<V>(mix(seed.wrapping_add((i as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15))), k);
                after = _mm512_or_si512(_mm512_andnot_si512(cl, before), kb);
                occ = (occ + count(after) as u64).wrapping_sub((ones + added) as u64);
            }
            out[i] = u8::from(added == 0);
        } else {
            // occupied by the difference of counts; a quick test by lanes for the cap
            let miss = _mm512_andnot_si512(before, kb);
            after = _mm512_or_si512(before, kb);
            let seen = _mm512_test_epi64_mask(miss, miss) == 0;
            let cb = _mm512_popcnt_epi64(before);
            let c = _mm512_cvtepi64_epi8(_mm512_add_epi64(cb, _mm512_slli_epi64::<0>(_mm512_setzero_si512())));
            let ones = _mm_cvtsi128_si32(_mm_sad_epu8(c, _mm_setzero_si128())) as u32;
            let added = count(miss); occ += added as u64;
            if (u32::from(!seen) << 16) | ones > (1 << 16) | 435 {
                let cl = bits::<V>(mix(seed.wrapping_add((i as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15))), k);
                after = _mm512_or_si512(_mm512_andnot_si512(cl, before), kb);
                occ = (occ + count(after) as u64).wrapping_sub((ones + added) as u64);
            }
            out[i] = u8::from(seen);
        }
        _mm512_store_si512(line.0.as_mut_ptr().cast(), after);
    }
    occ
} }
#[target_feature(enable = "avx2")]
unsafe fn sbbf(mem: &mut [L], keys: &[u64], out: &mut [u8]) { unsafe {
    let blocks = mem.len() * 2; let salt = _mm256_setr_epi32(0x47b6137b, 0x44974d91, 0x8824ad5bu32 as i32, 0xa2b7289du32 as i32, 0x705495c7, 0x2df1424b, 0x9efc4947u32 as i32, 0x5c6bfb31);
    for (i, &key) in keys.iter().enumerate() {
        let b = (((key >> 32) * blocks as u64) >> 32) as usize;
        let p = mem.as_mut_ptr().cast::<__m256i>().add(b);
        let h = _mm256_srli_epi32::<27>(_mm256_mullo_epi32(_mm256_set1_epi32(key as i32), salt));
        let m = _mm256_sllv_epi32(_mm256_set1_epi32(1), h);
        let v = _mm256_load_si256(p);
        out[i] = _mm256_testc_si256(v, m) as u8;
        _mm256_store_si256(p, _mm256_or_si256(v, m));
    }
} }
fn main() {
    let lines = 16384usize; let n = 1usize << 16;
    let mut mem: Vec<Vec<L>> = vec![vec![L([0; 8]); lines]; 8]; let mut best = [f64::MAX; 8]; let mut all: Vec<Vec<f64>> = vec![vec![]; 8];
    let mut outs = vec![vec![0u8; n]; 8]; let mut occ = [0u64; 8];
    for r in 0..60u64 {
        let keys: Vec<u64> = (0..n as u64).map(|i| { let x = if i % 10 < 3 { r * 40000 + i } else { mix(i ^ r << 32) % ((r + 1) * 40000) }; mix(x.wrapping_mul(M)) }).collect();
        for w in 0..8 { let s = Instant::now(); let o = &mut outs[w]; let m = &mut mem[w];
            unsafe { match w { 0 => occ[0] += run::<0, 0>(m, &keys, o, r, 6), 1 => occ[1] += run::<1, 0>(m, &keys, o, r, 6), 2 => occ[2] += run::<2, 0>(m, &keys, o, r, 6), 3 => occ[3] += run::<3, 0>(m, &keys, o, r, 6), 4 => occ[4] += run::<0, 1>(m, &keys, o, r, 6), 5 => occ[5] += run::<1, 1>(m, &keys, o, r, 6), 6 => occ[6] += run::<4, 1>(m, &keys, o, r, 6), _ => sbbf(m, &keys, o) } }
            let t = s.elapsed().as_nanos() as f64 / n as f64; best[w] = best[w].min(t); all[w].push(t); }
        for w in 1..6 { assert!(outs[w] == outs[0] && occ[w] == occ[0], "{w}"); }
    }
    let seen = outs[0].iter().map(|&x| x as f64).sum::<f64>() / n as f64;
    for w in 0..8 { all[w].sort_by(f64::total_cmp); println!("{:<22} min {:.2} median {:.2}", ["vector (now)", "lanes+bits tables", "table of lines", "mask registers", "vector, testm", "lanes+bits, testm", "split", "sbbf"][w], best[w], all[w][30]); }
    println!("seen {seen:.3}");
}
