//! The equations of paper 001 on divided filters that are misprinted, beside the right ones and a
//! plain simulation.

use dedupstore::KeyHasher;

const K: i32 = 4;
const KEYS: u64 = 7000;
const BITS: u64 = 40_000;
/// Horizontal slices, and the sites of each.
const SLICES: u64 = 8;
const SITES: u64 = 5;

/// The share of 200,000 keys that an h-v diced filter takes for duplicates, if the first so many sites
/// of each slice failed and their bits count as set. The standard error is below 1 %.
fn diced_false_positives(failed_per_slice: u64) -> f64 {
    let hasher = KeyHasher::new(1);
    let slice_bits = BITS / SLICES;
    let mut bits = vec![false; BITS as usize];
    let positions = |key: u64| {
        let mut probes = hasher.fingerprint(&key.to_le_bytes()).probes();
        let slice = probes.next_below(SLICES);
        [0; K as usize].map(|_| (slice * slice_bits + probes.next_below(slice_bits)) as usize)
    };
    for key in 0..KEYS {
        positions(key).iter().for_each(|&at| bits[at] = true);
    }
    let is_failed = |at: usize| at as u64 % slice_bits / (slice_bits / SITES) < failed_per_slice;
    let tested = KEYS..KEYS + 200_000;
    let found = tested.filter(|&key| positions(key).iter().all(|&at| bits[at] || is_failed(at)));
    found.count() as f64 / 200_000.0
}

/// Section 3.3 prints 1 − (1 − S/m)^(kn/S) without the exponent k.
#[test]
fn the_false_positives_of_diced_filters_need_the_exponent() {
    let slice_bits = (BITS / SLICES) as f64;
    let load = 1.0 - (1.0 - 1.0 / slice_bits).powf(f64::from(K) * (KEYS / SLICES) as f64);
    let measured = diced_false_positives(0);
    assert!((measured / load.powi(K) - 1.0).abs() < 0.06, "{measured}");
    assert!(load > 5.0 * measured, "as printed: {load}");
}

/// Eq. 7 prints 1 − f/S where f of S·S' sites have failed.
#[test]
fn failed_sites_of_diced_filters_are_a_share_of_all_sites() {
    let load = 1.0 - (-f64::from(K) * KEYS as f64 / BITS as f64).exp();
    let (failed, sites) = (SLICES as f64, (SLICES * SITES) as f64);
    let equation = |live: f64| (failed / sites + live * load).powi(K);
    let measured = diced_false_positives(1);
    let right = equation(1.0 - failed / sites);
    assert!((measured / right - 1.0).abs() < 0.06, "{measured}, {right}");
    let printed = equation(1.0 - failed / SLICES as f64);
    assert!(measured > 10.0 * printed, "as printed: {printed}");
}

/// The vertical fault tolerance heuristic with k = 8 bits, of which each is on a failed site with
/// probability 1/6 and set with probability 1/2: the shares that the heuristic takes for duplicates,
/// of new keys and of repeats.
#[test]
fn the_x_of_k_rule_needs_binomial_coefficients() {
    const ALL: i32 = 8;
    const TRIALS: u64 = 400_000;
    let hasher = KeyHasher::new(2);
    for x in [3, 6] {
        let (mut dropped, mut missed) = (0, 0);
        for trial in 0..TRIALS {
            let mut probes = hasher.fingerprint(&trial.to_le_bytes()).probes();
            let (mut live, mut live_and_set) = (0, 0);
            for _ in 0..ALL {
                let is_live = probes.next_below(6) > 0;
                live += i32::from(is_live);
                live_and_set += i32::from(is_live && probes.next_below(2) == 0);
            }
            dropped += u64::from(live_and_set >= x);
            missed += u64::from(live < x);
        }
        let share = |count: u64| count as f64 / TRIALS as f64;
        let (failed, set) = (1.0f64 / 6.0, 0.5f64);
        let choose = |i: i32| (0..i).fold(1.0, |c, j| c * f64::from(ALL - j) / f64::from(j + 1));
        let term = |i: i32| failed.powi(i) * (1.0 - failed).powi(ALL - i);
        // At most x − 1 bits are live.
        let lost = ALL - x + 1..=ALL;
        let right: f64 = lost.clone().map(|i| choose(i) * term(i)).sum();
        let printed: f64 = lost.map(term).sum();
        let deviation = share(missed) / right - 1.0;
        assert!(deviation.abs() < 0.25, "x = {x}: {deviation}");
        assert!(share(missed) > 5.0 * printed, "x = {x}: {printed}");
        let hit = (1.0 - failed) * set;
        let right: f64 = (x..=ALL)
            .map(|i| choose(i) * hit.powi(i) * (1.0 - hit).powi(ALL - i))
            .sum();
        assert!((share(dropped) / right - 1.0).abs() < 0.03, "x = {x}");
        assert!(share(dropped) > 5.0 * hit.powi(x), "x = {x}");
    }
}
