//! A Bloom filter on many sites: what slicing, failures and messages cost.
//!
//! Tolerances are three standard errors of one run of 100,000 observations.

use std::collections::BTreeSet;

use dedupstore::KeyHasher;
use dedupstore::lab::{NoClock, Simulation, SliceSettings, SlicedSummary, StreamSpec};
use dedupstore::sites::{FailureRule, Slicing, Testing};

const COUNT: u64 = 100_000;

fn settings(slicing: &str, k: u32, memory_bits: u64) -> SliceSettings {
    let slicing: Slicing = slicing.parse().expect("a slicing");
    SliceSettings::new(slicing, k, memory_bits)
}

fn measure(stream: &str, settings: &[SliceSettings]) -> Vec<SlicedSummary> {
    let spec: StreamSpec = stream.parse().expect("a stream");
    let mut keys = spec.open(COUNT, 1);
    let mut simulation = Simulation::for_stream(&keys, 1);
    for &it in settings {
        simulation.add_sliced(it).expect("sites");
    }
    while let Some(arrival) = keys.next_arrival() {
        simulation.push_arrival(&arrival, &NoClock);
    }
    simulation.flush(&NoClock);
    let runs = simulation.sliced_runs().iter();
    runs.map(|run| run.summary(stream)).collect()
}

fn assert_near(what: &str, found: Option<f64>, expected: f64, tolerance: f64) {
    let found = found.unwrap_or_else(|| panic!("{what}: no value"));
    println!("{what}: {found:.5} (expected {expected} ± {tolerance})");
    let near = (found - expected).abs() <= tolerance;
    assert!(near, "{what}: {found}, expected {expected} ± {tolerance}");
}

#[test]
fn vertical_slices_have_the_errors_of_one_filter_and_many_horizontal_ones_have_more() {
    let names = [
        "horizontal:1",
        "vertical:40",
        "vertical:1000",
        "horizontal:40",
        "horizontal:1000",
    ];
    let found = measure(
        "shuffle:16.85",
        &names.map(|name| settings(name, 4, 89_000)),
    );
    let [single, vertical, vertical_1000, horizontal, horizontal_1000] = &found[..] else {
        panic!("five runs");
    };
    assert_near("single", single.fpr, 0.0203, 0.0033);
    assert_eq!(vertical.fp, single.fp, "the same verdicts");
    assert_eq!(vertical_1000.fp, single.fp, "flat in the number of slices");
    assert_near("horizontal:40", horizontal.fpr, 0.0203, 0.0036);
    assert_near("horizontal:1000", horizontal_1000.fpr, 0.0245, 0.0036);
    for run in &found {
        assert_eq!(run.false_negatives, 0, "{}", run.slices);
        let predicted = run.predicted_fpr.expect("a formula");
        assert_near(
            &format!("{} predicted", run.slices),
            run.fpr,
            predicted,
            0.0036,
        );
    }
}

#[test]
fn pipelined_tests_save_messages_and_new_keys_pay_for_their_sets() {
    let parallel = settings("vertical:40", 4, 169_700);
    let pipelined = SliceSettings {
        testing: Testing::Pipelined,
        ..parallel
    };
    let horizontal = settings("horizontal:40", 4, 169_700);
    let found = measure("shuffle:20", &[parallel, pipelined, horizontal]);
    assert_near("parallel tests", found[0].messages_test, 3.854, 0.008);
    assert_near("pipelined tests", found[1].messages_test, 3.334, 0.008);
    assert_near("sets", found[0].messages_set, 0.767, 0.002);
    assert_eq!(found[1].messages_set, found[0].messages_set);
    assert_eq!(found[1].fp, found[0].fp, "the same verdicts");
    // 4,243 bits per site: 13 bits per position; all four positions are tested, and set if New.
    let new = (found[0].distinct - found[0].fp) as f64 / COUNT as f64;
    assert_near("bits", found[0].bits, 13.0 * 4.0 * (1.0 + new), 1e-9);
    assert_eq!(found[2].messages_test, Some(1.0), "one slice per key");
}

#[test]
fn vertical_slices_share_a_skewed_load_more_fairly() {
    let names = ["horizontal:40", "vertical:40"];
    let found = measure(
        "zipf:1:33345",
        &names.map(|name| settings(name, 4, 143_000)),
    );
    assert_near("horizontal", found[0].fairness, 0.63, 0.18);
    assert_near("vertical", found[1].fairness, 0.89, 0.06);
    assert!(found[0].hottest > found[1].hottest);
}

#[test]
fn live_zero_misses_as_many_repeats_as_the_printed_rule_and_drops_few_new_keys() {
    let rules = [
        "x-of-k:x=4",
        "x-of-k:x=6",
        "live-zero:x=4",
        "live-zero:x=6",
        "seen",
        "live-zero:x=0",
    ];
    let with = |rule: &str| SliceSettings {
        failed: 8,
        rule: rule.parse::<FailureRule>().expect("a rule"),
        ..settings("vertical:40", 8, 143_000)
    };
    let found = measure("shuffle:16.85", &rules.map(with));
    let [printed_4, printed_6, ours_4, ours_6, seen, ours_0] = &found[..] else {
        panic!("six runs");
    };
    for (x_4, x_6) in [(printed_4, printed_6), (ours_4, ours_6)] {
        assert_near(&x_4.rule, x_4.fnr, 0.0104, 0.0026);
        assert_near(&x_6.rule, x_6.fnr, 0.203, 0.010);
    }
    assert_near("FPR, printed rule, x = 4", printed_4.fpr, 0.205, 0.009);
    assert_near("FPR, live-zero, x = 4", ours_4.fpr, 0.0101, 0.0023);
    assert_near("FPR, failed = Seen", seen.fpr, 0.0109, 0.0024);
    assert_eq!(
        (seen.fp, seen.false_negatives),
        (ours_0.fp, ours_0.false_negatives)
    );
    for run in &found {
        let [fpr, fnr] = [run.predicted_fpr, run.predicted_fnr].map(|it| it.expect("a formula"));
        // The repeats of a key are missed together, so both rates vary with the number of keys.
        let tolerance = |rate: f64| 3.0 * (rate * (1.0 - rate) / run.distinct as f64).sqrt();
        assert_near(
            &format!("{} FPR predicted", run.rule),
            run.fpr,
            fpr,
            tolerance(fpr),
        );
        assert_near(
            &format!("{} FNR predicted", run.rule),
            run.fnr,
            fnr,
            tolerance(fnr),
        );
    }
}

/// A stream at half of which some sites of `vertical:40` come back empty. Returns the false negative
/// rate after that.
fn fnr_after_restart(restarted: usize, believed: bool) -> f64 {
    let stream: StreamSpec = "shuffle:16.85".parse().expect("a stream");
    let mut keys = stream.open(COUNT, 1);
    let mut truth = keys.truth();
    let hasher = KeyHasher::new(1);
    let filter = settings("vertical:40", 4, 143_000);
    let mut filter = filter.build(1).expect("sites");
    let (mut repeats, mut missed) = (0, 0);
    while let Some((key, number)) = keys.next_key() {
        let (fingerprint, is_first) = (hasher.fingerprint(key), truth.is_first(number));
        let verdict = filter.observe(fingerprint);
        if keys.position() == COUNT / 2 {
            for site in 0..restarted {
                let site = &mut filter.sites_mut()[site];
                site.restart_empty();
                if believed {
                    site.rebuild([]);
                }
            }
        } else if keys.position() > COUNT / 2 && !is_first {
            repeats += 1;
            missed += u64::from(verdict.is_new());
        }
    }
    missed as f64 / repeats as f64
}

#[test]
fn a_site_that_comes_back_empty_must_not_be_taken_at_its_word() {
    let believed = fnr_after_restart(8, true);
    assert_near("8 of 40 sites believed", Some(believed), 0.155, 0.01);
    assert_eq!(fnr_after_restart(8, false), 0.0, "dead until rebuilt");
}

/// Slices chosen by two hashes, with the same two positions in each of them, as the paper says.
fn fpr_of_the_same_functions_in_all_slices(slices: u64, bits: u64, keys: u64) -> f64 {
    let hash = |function: u64, key: u64, range: u64| {
        KeyHasher::new(function).fingerprint(&key.to_le_bytes()).0 % range
    };
    let mut set = BTreeSet::new();
    let mut dropped = 0;
    for key in 0..keys {
        let chosen = [hash(1, key, slices), hash(2, key, slices)];
        let positions = [hash(3, key, bits / slices), hash(4, key, bits / slices)];
        let bits = chosen.map(|slice| positions.map(|position| (slice, position)));
        let clear = bits.concat().into_iter().filter(|&bit| set.insert(bit));
        dropped += u64::from(clear.count() == 0);
    }
    dropped as f64 / keys as f64
}

#[test]
fn hash_functions_of_their_own_for_each_chosen_slice_keep_the_errors_of_one_filter() {
    let general = settings("general:8,k1=2", 4, 89_000);
    let diced = ["diced:8x5", "diced:8x5,order=v-h"].map(|name| settings(name, 4, 89_000));
    let found = measure("shuffle:16.85", &[general, diced[0], diced[1]]);
    for run in &found {
        assert_near(&run.slices, run.fpr, 0.0205, 0.0033);
        assert_eq!(run.false_negatives, 0);
    }
    let same = fpr_of_the_same_functions_in_all_slices(8, 89_000, 16_850);
    assert_near("the same functions", Some(same), 0.031, 0.004);
}
