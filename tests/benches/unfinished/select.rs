use std::arch::x86_64::*;
#[derive(Clone, Copy)] #[repr(C)] struct Obs { f: u64, t: u32, i: u16 }
fn mix(mut z: u64) -> u64 { z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9); z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb); z ^ (z >> 31) }
fn cpu() -> f64 { unsafe extern "C" { fn clock_gettime(c: i32, t: *mut [i64; 2]) -> i32; } let mut t = [0i64; 2]; unsafe { clock_gettime(3, &mut t); } t[0] as f64 * 1e9 + t[1] as f64 }
#[inline(never)] fn sum(o: &[Obs]) -> u64 { o.iter().map(|o| o.f).fold(0, |a, b| a ^ b) }
#[inline(never)] fn sel(o: &[Obs], len: u64, q: &mut [u32; 512]) -> usize { let mut a = 0usize; for (p, o) in (0u32..).zip(o) { q[a % 512] = p; a += usize::from(o.f <= len); } a }
#[inline(never)] fn sel2(o: &[Obs], len: u64, q: &mut [u32; 1024]) -> usize { let mut a = 0usize; let mut p = 0u32;
    for block in o.chunks_exact(256) { if a >= 512 { a -= 512; } let q: &mut [u32; 512] = (&mut q[a..a + 512]).try_into().unwrap(); let mut c = 0usize; for o in block { q[c & 511] = p; c += usize::from(o.f <= len); p += 1; } a += c; } a }
#[inline(never)] #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,popcnt")] unsafe fn sel3(o: &[Obs], len: u64, q: &mut [u32; 1024]) -> usize { unsafe {
    let mut a = 0usize; let l = _mm512_set1_epi64(len as i64); let idx = _mm512_setr_epi64(0, 2, 4, 6, 8, 10, 12, 14); let mut pos = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    for c in o.chunks_exact(8) { let p = c.as_ptr() as *const i64; let x = _mm512_loadu_si512(p.cast()); let y = _mm512_loadu_si512(p.add(8).cast());
        let f = _mm512_permutex2var_epi64(x, idx, y); let k = _mm512_cmple_epu64_mask(f, l);
        _mm256_storeu_si256(q.as_mut_ptr().add(a & 511).cast(), _mm256_maskz_compress_epi32(k, pos)); a += k.count_ones() as usize; pos = _mm256_add_epi32(pos, _mm256_set1_epi32(8)); } a } }
#[inline(never)] fn sel4(o: &[Obs], len: u64, q: &mut [u32; 1024]) -> usize { let mut a = 0usize; let mut p = 0u32;
    for c in o.chunks_exact(8) { let mut m = 0u32; for (j, o) in c.iter().enumerate() { m |= u32::from(o.f <= len) << j; }
       let s = &mut q[a & 511..][..8]; let mut cnt = 0; let mut mm = m; for x in s.iter_mut() { *x = p + mm.trailing_zeros(); mm &= mm.wrapping_sub(1); } cnt += m.count_ones() as usize; a += cnt; p += 8; } a }
fn main() {
    for n in [1usize << 20, 1 << 12] {
    let obs: Vec<Obs> = (0..n as u64).map(|i| Obs { f: mix(i), t: 0, i: 0 }).collect(); let reps = (1 << 20) / n;
    let mut q = [0u32; 512]; let mut q2 = [0u32; 1024]; let mut b = [f64::MAX; 5];
    for _ in 0..12 { for w in 0..5 { let s = cpu(); for _ in 0..reps { std::hint::black_box(match w { 0 => sum(&obs), 1 => sel(&obs, u64::MAX / 2, &mut q) as u64, 2 => sel2(&obs, u64::MAX / 2, &mut q2) as u64, 3 => unsafe { sel3(&obs, u64::MAX / 2, &mut q2) as u64 }, _ => sel4(&obs, u64::MAX / 2, &mut q2) as u64 }); }
        b[w] = b[w].min((cpu() - s) / (1 << 20) as f64); } }
    println!("n {n}: sum {:.2} sel {:.2} sel2 {:.2} avx512 {:.2} bitmask {:.2}", b[0], b[1], b[2], b[3], b[4]); }
}
