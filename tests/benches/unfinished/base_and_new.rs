// speedlab one|two SIZE_MIB ROUNDS KEYS [WORD...]
use std::time::Instant;
type Run = Box<dyn FnMut(&[u64], &[new::Observation], &[base::Observation]) -> usize>;
fn keys_of(round: u64, n: u64) -> Vec<u64> {
    let hasher = new::KeyHasher::new(1);
    let fresh = n * 3 / 10;
    (0..n).map(|i| match i % 10 { 0..3 => round * fresh + i, _ => hasher.fingerprint(&i.to_le_bytes()).0 % ((round + 1) * fresh) })
        .map(|k| hasher.fingerprint(&k.to_le_bytes()).0).collect()
}
macro_rules! ours { ($crate_:ident, $pick:expr, $name:expr, $mib:expr, $threads:expr) => {{
    let mut set = $crate_::SeenSet::builder($name).expect("filter").memory_bits($mib << 23).threads($threads).build().expect("memory");
    let mut v = Vec::new();
    let f: Run = Box::new(move |_, n, b| { let k = $pick(n, b); v.resize(k.len(), $crate_::Verdict::New); set.observe_batch(k, &mut v); v.iter().filter(|x| x.is_new()).count() });
    f
}}}
fn pick_new<'a>(n: &'a [new::Observation], _: &'a [base::Observation]) -> &'a [new::Observation] { n }
fn pick_base<'a>(_: &'a [new::Observation], b: &'a [base::Observation]) -> &'a [base::Observation] { b }
fn limit(mib: u64, threads: usize) -> Run {
    let lines = mib << 14;
    let parts = threads as u64;
    let mut mem: Vec<Vec<u64>> = (0..threads).map(|_| vec![0u64; (lines / parts) as usize * 8]).collect();
    Box::new(move |keys, _, _| {
        let share = keys.len() / threads;
        std::thread::scope(|s| {
            for (m, ks) in mem.iter_mut().zip(keys.chunks(share)) {
                let work = move || {
                    let l = m.len() as u64 / 8;
                    let at = |k: u64| ((k as u128 * l as u128) >> 64) as usize * 8;
                    let mut c = 0u64;
                    for i in 0..ks.len() {
                        if let Some(&k) = ks.get(i + 64) { unsafe { std::arch::x86_64::_mm_prefetch::<2>(m.as_ptr().add(at(k)).cast()); } }
                        let a = at(ks[i]) + (ks[i] & 7) as usize;
                        c += m[a]; m[a] |= 1;
                    }
                    std::hint::black_box(c);
                };
                if threads == 1 { work() } else { s.spawn(work); }
            }
        });
        0
    })
}
fn sbbf(mib: u64) -> Run {
    let mut f = sbbf_rs_safe::Filter::new(8, (mib << 20) as usize);
    Box::new(move |keys, _, _| keys.iter().filter(|&&k| !f.insert_hash(k.rotate_left(32))).count())
}
fn main() {
    let a: Vec<String> = std::env::args().skip(1).collect();
    let two = a[0] == "two";
    let mib: u64 = a[1].parse().unwrap(); let rounds: u64 = a[2].parse().unwrap(); let n: u64 = a[3].parse().unwrap();
    let mut names: Vec<&str> = a[4..].iter().map(|x| x.as_str()).collect();
    if names.is_empty() { names = vec!["blocked", "slot", "word:bits=8,insert=4,hit=front", "recent"]; }
    let mut c: Vec<(String, Run)> = vec![("limit 1".into(), limit(mib, 1))];
    if two { c.push(("limit 2".into(), limit(mib, 2))); } else { c.push(("sbbf".into(), sbbf(mib))); }
    for name in names {
        c.push((format!("base 1 {name}"), ours!(base, pick_base, name, mib, 1)));
        if two { c.push((format!("base 2 {name}"), ours!(base, pick_base, name, mib, 2))); }
        c.push((format!("new  1 {name}"), ours!(new, pick_new, name, mib, 1)));
        if two { c.push((format!("new  2 {name}"), ours!(new, pick_new, name, mib, 2))); }
    }
    let mut t: Vec<Vec<f64>> = vec![vec![]; c.len()];
    for r in 0..rounds {
        let keys = keys_of(r, n);
        let nk: Vec<new::Observation> = keys.iter().map(|&k| new::Fingerprint(k).into()).collect();
        let bk: Vec<base::Observation> = keys.iter().map(|&k| base::Fingerprint(k).into()).collect();
        let mut counts = vec![0; c.len()];
        for i in 0..c.len() {
            let w = (i + r as usize) % c.len();
            let s = Instant::now();
            counts[w] = (c[w].1)(&keys, &nk, &bk);
            t[w].push(s.elapsed().as_nanos() as f64 / n as f64);
        }
        for i in 2..c.len() { let name = c[i].0[7..].to_string(); for j in 2..c.len() { if c[j].0[7..] == name { assert_eq!(counts[i], counts[j], "{name}"); } } }
    }
    let med = |v: &Vec<f64>| { let mut v = v.clone(); v.sort_by(f64::total_cmp); (v[v.len() / 2], v[0]) };
    for (i, (name, _)) in c.iter().enumerate() {
        let ratio = |j: usize| { let mut v: Vec<f64> = t[j].iter().zip(&t[i]).map(|(a, b)| a / b).collect(); v.sort_by(f64::total_cmp); v[v.len() / 2] };
        let (m, lo) = med(&t[i]);
        println!("{name:<44} {m:7.2} min {lo:7.2}  limit/it {:.2}  prev/it {:.2}  second/it {:.2}", ratio(0), ratio(i.saturating_sub(1)), ratio(1));
    }
}
