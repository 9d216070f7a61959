//! The quotient filter at the sizes that crawls can afford, and while it grows.

use dedupstore::filter::FilterSpec;
use dedupstore::store::{CreateOptions, Store};
use dedupstore::{SeenSet, SeenSetBuilder, Verdict};
use tempfile::TempDir;

/// Just below the number of keys for which a table of 16 bits per key has room.
const KEYS: u64 = 60_000;
const PROBES: u64 = 3_000_000;

fn set(filter: &str, memory_bits: u64) -> SeenSet {
    let spec: FilterSpec = filter.parse().expect("a filter");
    let builder = SeenSetBuilder::new(&spec).memory_bits(memory_bits).seed(5);
    builder.build().expect("small")
}

/// Counts the keys that never occurred and are reported as Seen.
fn false_positives(set: &SeenSet, probes: u64) -> u64 {
    let unknown = (1 << 40)..(1 << 40) + probes;
    let seen = unknown.filter(|key: &u64| set.contains(key.to_le_bytes()) == Verdict::Seen);
    seen.count() as u64
}

/// Returns the false positive rate of the best Bloom filter after all keys.
fn bloom_rate(bits_per_key: f64) -> f64 {
    let rate = |k: u32| (1.0 - (-f64::from(k) / bits_per_key).exp()).powi(k as i32);
    (1..40).map(rate).fold(1.0, f64::min)
}

/// The state gives the rate exactly, so measuring checks the formula where errors are frequent
/// enough, with a tolerance of four standard errors.
#[test]
fn a_full_table_drops_far_fewer_keys_than_a_bloom_filter() {
    let cases = [
        (12, 9, 1.0 / 1.5),
        (16, 13, 1.0 / 3.0),
        (24, 20, 1.0 / 8.0),
        (32, 28, 1.0 / 20.0),
    ];
    for (bits_per_key, bits, share) in cases {
        let mut set = set(&format!("quotient:bits={bits}"), bits_per_key * KEYS);
        for key in 0..KEYS {
            set.observe(key.to_le_bytes());
        }
        let missed = (0..KEYS).filter(|key| set.contains(key.to_le_bytes()) == Verdict::New);
        assert_eq!(missed.count(), 0, "{bits_per_key} bits");
        let rate = set.filter().false_positive_rate(set.registers());
        let bloom = bloom_rate(bits_per_key as f64);
        let (found, expected) = (false_positives(&set, PROBES), rate * PROBES as f64);
        println!(
            "{bits_per_key} bits per key: load {:.3}, rate {rate:.3e}, measured {found} of \
                  {PROBES} ({expected:.1} expected), Bloom {bloom:.3e}, {:.1} times",
            set.load(),
            bloom / rate
        );
        assert!(
            rate <= share * bloom,
            "{bits_per_key} bits: {rate}, Bloom {bloom}"
        );
        assert!(
            (found as f64 - expected).abs() <= 4.0 * (expected + 1.0).sqrt(),
            "{found} {expected}"
        );
    }
}

/// From two hundred keys to two hundred thousand: the error at each size is at most that of the
/// last, which is that of a table made for the last size.
#[test]
fn growth_by_a_thousand_costs_no_accuracy() {
    let keys = 200_000u64;
    let memory_bits = 16 * keys;
    let wanted = 1.3e-4;
    let mut growing = set("quotient:bits=13,doublings=10", memory_bits);
    let mut fixed = set("quotient:bits=13", memory_bits);
    let (mut sizes, mut first_growth) = (Vec::new(), 0);
    for key in 0..keys {
        growing.observe(key.to_le_bytes());
        fixed.observe(key.to_le_bytes());
        let used = growing.filter().used_bytes(growing.registers());
        if sizes.last() != Some(&used) {
            sizes.push(used);
            if sizes.len() == 2 {
                first_growth = key;
            }
            assert!(growing.region()[used..].iter().all(|&byte| byte == 0));
            let seen = (0..=key).all(|key| growing.contains(key.to_le_bytes()) == Verdict::Seen);
            assert!(seen, "after {key} keys, {used} bytes");
        }
        let rate = growing.filter().false_positive_rate(growing.registers());
        assert!(rate <= wanted, "{rate} after {key} keys");
    }
    assert!((33..=41).contains(&sizes.len()), "{sizes:?}");
    assert!(first_growth < keys / 1000, "{first_growth}");
    assert!((0..keys).all(|key| growing.contains(key.to_le_bytes()) == Verdict::Seen));
    let rates = [&growing, &fixed].map(|set| set.filter().false_positive_rate(set.registers()));
    assert!((rates[0] / rates[1] - 1.0).abs() < 0.01, "{rates:?}");
    let found = false_positives(&growing, PROBES) as f64;
    println!(
        "{sizes:?}: {found} of {PROBES} unknown keys are Seen, rate {:.3e}",
        rates[0]
    );
    let expected = rates[0] * PROBES as f64;
    assert!(
        (found - expected).abs() <= 4.0 * expected.sqrt(),
        "{found}, {expected}"
    );
    assert!(found <= wanted * PROBES as f64);
}

/// From a hundred keys to half a million in a reserve for them: fingerprints of eleven lengths, the
/// oldest of which are divided. Memory and error stay within their bounds at every size.
#[test]
fn growth_with_fingerprints_of_several_lengths_is_bounded() {
    let (keys, wanted) = (500_000u64, 0.001);
    let bloom_bits = -f64::log2(wanted) / std::f64::consts::LN_2;
    let mut set = set("quotient:bits=12,doublings=13,longest=14", 16 * keys);
    let mut used = 0;
    for key in 0..keys {
        set.observe(key.to_le_bytes());
        let now = set.filter().used_bytes(set.registers());
        if now != used {
            used = now;
            let seen = (0..=key).all(|key| set.contains(key.to_le_bytes()).is_seen());
            assert!(seen, "after {key} keys, {used} bytes");
            let times_bloom = 8.0 * used as f64 / (key + 1) as f64 / bloom_bits;
            assert!(
                key < 20_000 || times_bloom < 1.6,
                "{times_bloom} after {key} keys"
            );
        }
    }
    let rate = set.false_positive_rate();
    assert!(rate < wanted, "{rate}");
    let (found, expected) = (false_positives(&set, PROBES), rate * PROBES as f64);
    println!("{found} of {PROBES} unknown keys are Seen, {expected:.0} expected");
    assert!(
        (found as f64 - expected).abs() <= 4.0 * expected.sqrt(),
        "{found}, {expected}"
    );
}

#[test]
fn a_full_table_reports_new_keys_as_new_and_keeps_the_others() {
    let mut set = set("quotient:bits=20", 100_000);
    let keys: Vec<[u8; 8]> = (0..6000u64).map(u64::to_le_bytes).collect();
    for key in &keys {
        assert_eq!(set.observe(key), Verdict::New);
    }
    let full = set.registers().occupied() as usize;
    assert!((3900..4100).contains(&full), "{full}");
    assert!(
        keys[..full]
            .iter()
            .all(|key| set.observe(key) == Verdict::Seen)
    );
    assert!(
        keys[full..]
            .iter()
            .all(|key| set.observe(key) == Verdict::New)
    );
    let (region, registers) = (set.region(), set.registers());
    let fingerprint = set.hasher().fingerprint(&keys[full]);
    assert!(
        set.filter()
            .may_have_forgotten(region, registers, fingerprint)
    );
    let load = set.load();
    assert!((load - set.filter().comfortable_load().expect("it fills")).abs() < 0.001);
    // Removing a key makes room for another.
    assert_eq!(set.forget(keys[0]), Ok(Verdict::Seen));
    assert_eq!(set.observe(keys[full]), Verdict::New);
    assert_eq!(set.observe(keys[full]), Verdict::Seen);
}

/// A batch in which the table doubles is discarded, or replayed.
#[test]
fn a_store_grows_and_recovers_the_same_bytes() {
    let directory = TempDir::new().expect("a temporary directory");
    let path = directory.path().join("a.dds");
    let filter: FilterSpec = "quotient:bits=12,doublings=6".parse().expect("a filter");
    let options = CreateOptions::new(filter).expect("a filter");
    let options = options.memory("256KiB").seed(3);
    let mut store = Store::create(&path, &options).expect("created");
    let mut expected = SeenSetBuilder::new(
        "quotient:bits=12,doublings=6"
            .parse::<FilterSpec>()
            .expect("a filter"),
    )
    .memory("256KiB")
    .seed(3)
    .build()
    .expect("small");
    for batch in 0..40u64 {
        let keys = batch * 3000..(batch + 1) * 3000;
        let observations: Vec<_> = keys
            .map(|key| store.hasher().fingerprint(&key.to_le_bytes()).into())
            .collect();
        let mut verdicts = vec![Verdict::New; observations.len()];
        let pending = store
            .observe_pending(&observations, &mut verdicts)
            .expect("decided");
        if batch % 7 == 3 {
            drop(pending);
            drop(store);
            store = Store::open(&path).expect("opened");
            continue;
        }
        pending.commit().expect("recorded");
        expected.observe_batch(&observations, &mut verdicts);
        if batch % 5 == 0 {
            drop(store);
            store = Store::open(&path).expect("opened");
        }
        assert!(store.filter_region() == expected.region(), "batch {batch}");
        assert_eq!(store.registers(), expected.registers());
    }
    let used = expected.filter().used_bytes(expected.registers());
    assert!(used > expected.region().len() * 3 / 4, "{used}");
}
