//! What filters become if new keys never end, found by filling small ones.

use dedupstore::filter::{AnyFilter, Descriptor, Kind, Value};
use dedupstore::store::{CreateOptions, InMemory, StoreFile, inspect_on};
use dedupstore::theory::{LongRun, SteadyState, forecast, long_run};
use dedupstore::{FilterSpec, SeenSet, SeenSetBuilder, registry};

const MEMORY_BITS: u64 = 1 << 15;
/// Enough for filters whose load grows more and more slowly.
const KEYS: u64 = 64 * MEMORY_BITS;
/// The time of the first key, in seconds since 1970.
const NOW: u64 = 1_800_000_000;

/// Returns a filter with its defaults, and with each parameter at several values. Filters that use
/// importance are slow and have many parameters: whole numbers among them have fewer values.
fn variations(descriptor: &'static Descriptor) -> Vec<FilterSpec> {
    let defaults = FilterSpec::with_defaults(descriptor);
    let mut specs = vec![defaults.clone()];
    for parameter in descriptor.parameters {
        let values: Vec<String> = match parameter.kind {
            Kind::Integer { min, max, .. } => {
                let values = match descriptor.needs.importance {
                    true => vec![min, 20, max],
                    false => vec![min, min + 1, min + 2, 20, 50, 100, max],
                };
                let clamped = values.into_iter().map(|it| it.clamp(min, max.min(100)));
                clamped.map(|value| value.to_string()).collect()
            }
            Kind::Decimal {
                min_millionths,
                max_millionths,
                ..
            } => [min_millionths, max_millionths]
                .map(|millionths| Value::Decimal(millionths).to_string())
                .to_vec(),
            Kind::Choice { options } => options.iter().map(|&word| word.to_owned()).collect(),
        };
        let changed = values
            .iter()
            .map(|value| defaults.with(parameter.name, value));
        specs.extend(changed.flatten());
    }
    // Parameters that depend on each other.
    let combined = [
        "blocked:k=1,cap=50",
        "blocked:k=1,cap=99",
        "blocked:k=2,cap=50",
        "blocked:k=2,cap=61",
        "blocked:k=3,cap=10",
        "blocked:k=4,cap=70",
        "blocked:k=6,cap=99",
        "blocked:k=12,cap=95",
        "blocked:k=32,cap=85",
        "rsbf:reading=printed,threshold=0.9",
        "sqf:r=4,rr=2,k=4",
        "dsqf:r=4,rr=2,k=4",
        "aging:k=3,fill=70",
    ];
    let combined = combined.iter().map(|text| text.parse().expect("a filter"));
    specs.extend(combined.filter(|spec: &FilterSpec| spec.descriptor().name == descriptor.name));
    let mut distinct: Vec<FilterSpec> = Vec::new();
    for spec in specs {
        if !distinct.contains(&spec) {
            distinct.push(spec);
        }
    }
    distinct
}

/// Feeds one key a second, and returns the share that is dropped.
fn feed(set: &mut SeenSet, keys: std::ops::Range<u64>) -> f64 {
    let count = (keys.end - keys.start) as f64;
    let seen = keys.filter(|key| set.observe_at(key.to_le_bytes(), NOW + key).is_seen());
    seen.count() as f64 / count
}

/// Whether there is no formula: equal timers, parts of timers, and filters whose state depends on
/// the importance of keys.
fn has_no_formula(spec: &FilterSpec) -> bool {
    let grows = spec.descriptor().name == "growing" && spec.has_window();
    has_equal_timers(spec) || grows || spec.descriptor().needs.importance
}

/// Equal timers have no formula; the stated rate is an upper bound.
fn has_equal_timers(spec: &FilterSpec) -> bool {
    spec.values()
        .any(|(parameter, value)| parameter.name == "equal" && value != Value::Integer(1))
}

/// The load of a small filter varies by a hundredth, and its rate by a tenth: it is a power of the
/// load. A filter that only fills may do so more and more slowly.
#[test]
fn every_filter_settles_or_fills_as_forecast() {
    let mut wrong = Vec::new();
    for spec in registry().iter().flat_map(|it| variations(it)) {
        let builder = SeenSetBuilder::new(&spec).memory_bits(MEMORY_BITS).seed(3);
        let Ok(mut set) = builder.build() else {
            continue;
        };
        let found = long_run(&spec, MEMORY_BITS);
        if found == LongRun::Unknown {
            // Nothing to compare with.
            assert!(has_no_formula(&spec), "{spec}");
            continue;
        }
        feed(&mut set, 0..KEYS / 2);
        let dropped = feed(&mut set, KEYS / 2..KEYS);
        let is_true = match found {
            LongRun::OnlyFills => dropped > 0.95,
            LongRun::Settles(SteadyState { load, fpr }) => {
                (set.load() - load).abs() < 0.01 + 0.03 * load
                    && (dropped - fpr).abs() < 0.12 * fpr + 0.001
            }
            LongRun::Unknown => false,
        };
        if !is_true {
            let load = set.load();
            wrong.push(format!("{spec}: {found:?}, load {load}, dropped {dropped}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// The guard of `filter` relies on it: the rate that a filter states is the share of new keys that
/// it drops, while it fills and after.
#[test]
fn the_stated_rate_is_the_share_of_new_keys_that_are_dropped() {
    let mut wrong = Vec::new();
    for spec in registry().iter().flat_map(|it| variations(it)) {
        let builder = SeenSetBuilder::new(&spec)
            .memory_bits(8 * MEMORY_BITS)
            .seed(5);
        let Ok(mut set) = builder.build() else {
            continue;
        };
        let mut number = 0;
        for _ in 0..12 {
            let step = (number / 2).max(MEMORY_BITS / 8);
            let before = set.false_positive_rate();
            let dropped = feed(&mut set, number..number + step);
            number += step;
            let after = set.false_positive_rate();
            let (low, high) = (before.min(after), before.max(after));
            // Three standard errors, and the accuracy of the formulas.
            let error = 3.0 * (high.max(1e-4) / step as f64).sqrt();
            let is_low = dropped < 0.85 * low - error && !has_equal_timers(&spec);
            // The formula of age partitions is not exact when most new keys are dropped.
            let most = match spec.descriptor().name {
                "apbf" => dropped.min(0.8),
                _ => dropped,
            };
            if is_low || most > 1.15 * high + error {
                wrong.push(format!(
                    "{spec} after {number}: {low} to {high}, dropped {dropped}"
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Half of the recommended load is reached after the observations forecast, for every filter that
/// has one.
#[test]
fn the_recommended_load_is_reached_when_forecast() {
    let mut compared = 0;
    for spec in registry().iter().flat_map(|it| variations(it)) {
        let builder = SeenSetBuilder::new(&spec)
            .memory_bits(8 * MEMORY_BITS)
            .seed(7);
        let Ok(mut set) = builder.build() else {
            continue;
        };
        let Some(comfortable) = set.filter().comfortable_load() else {
            continue;
        };
        let mut number = 0;
        while set.load() < 0.3 * comfortable {
            feed(&mut set, number..number + 100);
            number += 100;
        }
        let ahead = forecast(set.load(), comfortable, number, 0).expect("a forecast");
        feed(&mut set, number..number + ahead.observations_left);
        assert!(
            (set.load() - comfortable).abs() < 0.02,
            "{spec}: {}",
            set.load()
        );
        compared += 1;
    }
    assert!(compared > 20, "{compared}");
}

fn inspected(filter: &str, keys: u64) -> dedupstore::store::Inspection {
    let options = CreateOptions::new(filter)
        .expect("a filter")
        .memory_bits(MEMORY_BITS)
        .seed(1);
    let options = options.log_size(1 << 20);
    let layout = options.layout().expect("a layout");
    let mut files = StoreFile::ALL.map(|file| vec![0; layout.file_bytes(file) as usize]);
    let mut set = options.in_memory().expect("small");
    feed(&mut set, 0..keys);
    let primed = options.primed(set, [1; 16], 900).expect("the same options");
    for part in primed.parts().expect("encoded") {
        let at = part.offset as usize;
        files[part.file as usize][at..at + part.bytes.len()].copy_from_slice(&part.bytes);
    }
    inspect_on(&InMemory::holding(files, 1000)).expect("inspected")
}

#[test]
fn a_store_that_only_fills_is_never_said_to_settle() {
    for filter in [
        "bloom:k=4",
        "counting",
        "blocked:k=6,cap=100",
        "bsbfsd",
        "slot:values=1",
    ] {
        for keys in [100, 100_000] {
            let inspection = inspected(filter, keys);
            assert_eq!(inspection.only_fills, Some(true), "{filter}");
            assert_eq!(inspection.steady_state, None, "{filter}");
        }
    }
    let full = inspected("blocked:k=6,cap=100", 400_000);
    assert_eq!(full.load, 1.0);
    assert_eq!(full.forecast.expect("a forecast").observations_left, 0);
    let settled = inspected("blocked:k=6,cap=85", 400_000);
    let state = settled.steady_state.expect("it settles");
    assert!((settled.load - state.load).abs() < 0.005, "{state:?}");
    let built = AnyFilter::build(
        &"blocked:k=6,cap=50".parse().expect("a filter"),
        MEMORY_BITS,
    );
    assert_eq!(built.expect("built").comfortable_load(), None);
}

/// `explain` relies on it: a key that cannot have been forgotten is Seen. Filters that know this
/// say so for some keys.
#[test]
fn a_key_that_cannot_have_been_forgotten_is_seen() {
    for spec in registry().iter().flat_map(|it| variations(it)) {
        let builder = SeenSetBuilder::new(&spec).memory_bits(1 << 14).seed(9);
        let Ok(mut set) = builder.build() else {
            continue;
        };
        let (mut fed, mut certain) = (0, 0);
        for keys in [1, 50, 100, 200, 400, 800, 1600, 3200, 6400, 20_000] {
            feed(&mut set, fed..keys);
            fed = keys;
            for key in 0..keys {
                let key = key.to_le_bytes();
                let fingerprint = set.hasher().fingerprint(&key);
                let filter = set.filter();
                if !filter.may_have_forgotten(set.region(), set.registers(), fingerprint) {
                    assert!(set.contains(key).is_seen(), "{spec} after {keys}");
                    certain += 1;
                }
            }
        }
        let knows = [
            "bloom", "blocked", "recent", "word", "aging", "counting", "buffer",
        ];
        let descriptor = spec.descriptor();
        let is_default = spec == FilterSpec::with_defaults(descriptor);
        assert!(
            certain > 0 || !is_default || !knows.contains(&descriptor.name),
            "{spec}"
        );
    }
}
