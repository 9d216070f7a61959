use std::arch::x86_64::*; 
#[derive(Clone, Copy)] #[repr(C)] struct Obs { f: u64, t: u32, i: u16 }
const M: u64 = 0xf135_7aea_2e62_a9c5;
fn mix(mut z: u64) -> u64 { z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9); z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb); z ^ (z >> 31) }
fn red(a: u64, b: u64) -> u64 { ((a as u128 * b as u128) >> 64) as u64 }
#[inline(always)] fn pf(m: &[u64], i: usize) { if let Some(x) = m.get(i) { unsafe { _mm_prefetch::<2>((x as *const u64).cast()) } } }
#[inline(always)] fn judge(m: &mut [u64], first: usize, words: u64, f: u64, occ: &mut u64) -> u8 {
    let at = red(f, words) as usize - first; let f2 = f.wrapping_mul(M); let d = red(f2, 21) as u32 * 3; let v = 1 + red(f2.wrapping_mul(M), 7);
    let w = m[at]; let found = w >> d & 7; m[at] = w.wrapping_add(v.wrapping_sub(found) << d); *occ += (found == 0) as u64; (found == v) as u8 }
#[inline(never)] fn full(m: &mut [u64], obs: &[Obs], out: &mut [u8]) -> u64 {
    let words = m.len() as u64; let mut occ = 0;
    for i in 0..obs.len() { if let Some(l) = obs.get(i + 32) { pf(m, red(l.f, words) as usize); } out[i] = judge(m, 0, words, obs[i].f, &mut occ); } occ }
#[inline(never)] fn old(m: &mut [u64], first: usize, words: u64, lo: u64, len: u64, obs: &[Obs], out: &mut [u8], buf: &mut [u32]) -> u64 {
    let mut occ = 0;
    for (b, block) in obs.chunks(2048).enumerate() { let out = &mut out[b * 2048..];
        let mut c = 0; for (i, o) in block.iter().enumerate() { buf[c] = i as u32; c += usize::from(o.f.wrapping_sub(lo) <= len); }
        let own = &buf[..c];
        own.iter().take(32).for_each(|&p| pf(m, red(block[p as usize].f, words) as usize - first));
        let mut ahead = own.get(32..).unwrap_or_default().iter();
        for &p in own { if let Some(&l) = ahead.next() { pf(m, red(block[l as usize].f, words) as usize - first); }
            out[p as usize] = judge(m, first, words, block[p as usize].f, &mut occ); } }
    occ }
#[inline(never)] fn new<const B: usize>(m: &mut [u64], first: usize, words: u64, lo: u64, len: u64, obs: &[Obs], out: &mut [u8]) -> u64 {
    let mut occ = 0; let mut q = [0u32; 1024]; let (mut a, mut r, mut asked) = (0usize, 0usize, 0usize);
    for (b, block) in obs.chunks(B).chain([&[][..]]).enumerate() { let from = b * B;
        if let Some(o) = out.get_mut(from..from + block.len()) { o.fill(1); }
        for (p, o) in (from as u32..).zip(block) { q[a % 1024] = p; a += usize::from(o.f.wrapping_sub(lo) <= len); }
        while asked < 32.min(a - r) { pf(m, red(obs[q[(r + asked) % 1024] as usize].f, words) as usize - first); asked += 1; }
        let kept = if block.is_empty() { 0 } else { 32 };
        while a - r > kept { if a - r > 32 { pf(m, red(obs[q[(r + 32) % 1024] as usize].f, words) as usize - first); }
            let p = q[r % 1024] as usize; r += 1; out[p] = judge(m, first, words, obs[p].f, &mut occ); } }
    occ }
fn cpu() -> f64 { unsafe extern "C" { fn clock_gettime(c: i32, t: *mut [i64; 2]) -> i32; } let mut t = [0i64; 2]; unsafe { clock_gettime(3, &mut t); } t[0] as f64 * 1e9 + t[1] as f64 }
fn main() {
    let words = 32usize << 20; let n = 1usize << 20;
    let mut m = vec![0u64; words]; unsafe { unsafe extern "C" { fn madvise(a: *mut u8, l: usize, x: i32) -> i32; } madvise(((m.as_mut_ptr() as usize + 4095) & !4095) as *mut u8, words * 8 - 4096, 14); }
    m.iter_mut().step_by(512).for_each(|x| *x = 0); m[0] = std::hint::black_box(0);
    for x in m.iter_mut().step_by(64) { *x = std::hint::black_box(*x + 1); *x -= 1; }
    let mut out = vec![0u8; n]; let mut buf = vec![0u32; 2048]; let mut t: Vec<Vec<f64>> = vec![vec![]; 6];
    let len = (1u64 << 63) - 1;
    for r in 0..9u64 {
        let obs: Vec<Obs> = (0..n as u64).map(|i| Obs { f: mix(r << 32 | i), t: 0, i: 0 }).collect();
        for w in 0..6 { let s = cpu();
            let occ = match w { 0 => full(&mut m, &obs, &mut out), 1 => old(&mut m[..words / 2], 0, words as u64, 0, len, &obs, &mut out, &mut buf), 2 => new::<256>(&mut m[..words / 2], 0, words as u64, 0, len, &obs, &mut out), 3 => new::<128>(&mut m[..words / 2], 0, words as u64, 0, len, &obs, &mut out), 4 => new::<512>(&mut m[..words / 2], 0, words as u64, 0, len, &obs, &mut out),
              _ => { let (mut q, mut a) = (vec![0u32; 512], 0usize); for (p, o) in (0u32..).zip(&obs) { q[a % 512] = p; a += usize::from(o.f <= len); } std::hint::black_box(q); a as u64 } };
            std::hint::black_box(occ); t[w].push((cpu() - s) / n as f64); }
    }
    for w in 0..6 { t[w].sort_by(f64::total_cmp); println!("{:<12} min {:.2} median {:.2}", ["full", "half old", "half new256", "half new128", "half new512", "select"][w], t[w][0], t[w][4]); }
}
