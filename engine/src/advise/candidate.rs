//! Lists the configurations to try, by the bits of memory per key.
//!
//! The best k of a full Bloom filter is ln 2 times the bits per key. Averaged over a stream the
//! best k is larger, because the filter is emptier before. So k goes from about two thirds of that
//! value to twice. Filters that forget have the width of a fingerprint as a parameter: more bits
//! give fewer false positives and room for fewer keys.

use super::question::{Preference, Question};
use crate::filter::{FilterSpec, Kind, Origin, PossibleErrors, Value, presets, registry};

/// Returns whether a filter comes from one of the three papers on duplicates in streams. These
/// filters are tried like the others, and left out if a Bloom filter is at least as good on both
/// rates.
pub fn is_from_papers(filter: &FilterSpec) -> bool {
    filter.descriptor().origin == Origin::StreamPaper
}

/// Returns whether a filter is a plain or blocked Bloom filter.
pub(super) fn is_bloom(filter: &FilterSpec) -> bool {
    matches!(filter.descriptor().name, "bloom" | "blocked")
}

/// Returns the configurations to evaluate by theory. If the bits per key are unknown, they cover
/// several values.
pub fn candidates(bits_per_key: Option<f64>, preference: Preference) -> Vec<FilterSpec> {
    let mut texts: Vec<String> = Vec::new();
    let widths = widths(bits_per_key).into_iter();
    let blooms = bloom_widths(bits_per_key).into_iter();
    let blooms = blooms.map(|k| format!("bloom:k={k}"));
    match preference {
        Preference::NoDrops => {
            texts.extend([
                "buffer:policy=lru".to_owned(),
                "buffer:policy=clock".to_owned(),
            ]);
        }
        Preference::NoRepeats => {
            texts.extend(widths.map(|k| format!("blocked:k={k},cap=100")));
            texts.extend(blooms);
        }
        Preference::Balanced => {
            for k in widths {
                texts.extend([50, 70, 85].map(|cap| format!("blocked:k={k},cap={cap}")));
                // Beyond its capacity, a filter that never forgets drops almost every new key.
                // So it is not advised if the number of keys is unknown.
                if bits_per_key.is_some() {
                    texts.push(format!("blocked:k={k},cap=100"));
                }
            }
            if bits_per_key.is_some() {
                texts.extend(blooms);
            }
            let tables = table_widths(bits_per_key).into_iter();
            texts.extend(tables.map(|bits| format!("quotient:bits={bits}")));
            texts.extend(forgetting());
        }
    }
    parsed(&texts)
}

/// Returns the configurations of filters with a window of so many seconds. `bits_per_key` is per
/// key in the window.
pub fn window_candidates(
    seconds: u64,
    bits_per_key: Option<f64>,
    preference: Preference,
) -> Vec<FilterSpec> {
    let span = format!("span={}", seconds.max(1));
    // No filter with a window excludes false positives; wide fingerprints make them rare.
    let widths_of_fingerprints: &[u64] = match preference {
        Preference::NoDrops => &[24, 28, 32],
        Preference::NoRepeats => &[],
        Preference::Balanced => &[6, 8, 10, 12, 14, 16, 20],
    };
    let stamped = widths_of_fingerprints.iter();
    let mut texts: Vec<String> = stamped
        .map(|bits| format!("stamped:bits={bits},{span}"))
        .collect();
    if preference != Preference::NoDrops {
        let timers = bits_per_key.map(|bits| bits / BITS_PER_TIMER);
        for k in widths(timers) {
            texts.extend(
                ["shared", "blocked"].map(|layout| format!("window:k={k},{span},layout={layout}")),
            );
        }
        texts.extend([3, 4, 5, 6, 7, 8, 10, 12].map(|k| format!("apbf:k={k},{span}")));
    }
    parsed(&texts)
}

/// Returns the configurations to evaluate by theory.
pub(super) fn of_question(question: &Question<'_>) -> Vec<FilterSpec> {
    let (bits_per_key, preference) = (question.bits_per_key(), question.preference);
    match question.window {
        None => candidates(bits_per_key, preference),
        Some(seconds) => window_candidates(seconds, bits_per_key, preference),
    }
}

/// Returns the configurations to run over the question's sample.
pub(super) fn for_trial_of(question: &Question<'_>) -> Vec<FilterSpec> {
    let mut filters = match question.window {
        None => for_trial(question.bits_per_key(), question.preference),
        Some(_) => of_question(question),
    };
    if question.weighted && question.window.is_none() {
        filters.extend(importance_candidates(question.preference));
    }
    filters
}

/// Returns the configurations of filters that use importance.
pub(super) fn importance_candidates(preference: Preference) -> Vec<FilterSpec> {
    // All of them err in both ways.
    if preference != Preference::Balanced {
        return Vec::new();
    }
    let mut texts: Vec<String> = Vec::new();
    for (k, p) in [(2, 1), (2, 4), (4, 1), (4, 3), (4, 7)] {
        for preset in presets() {
            texts.push(format!("{}:k={k},p={p},max=4", preset.name));
        }
        for name in ["ibf1", "ibf2", "ibf5", "ibf6"] {
            texts.push(format!("{name}:k={k},p={p},max=4,map=ceil"));
        }
    }
    let all = registry().iter().copied();
    let others = all.filter(|it| it.needs.importance && it.name != "ibf");
    let mut filters = parsed(&texts);
    filters.extend(others.map(FilterSpec::with_defaults));
    filters
}

/// Returns whether a filter uses importance.
pub(super) fn uses_importance(filter: &FilterSpec) -> bool {
    filter.descriptor().needs.importance
}

/// Returns the configurations to run over a sample: more than for theory, because theory is less
/// exact for skew and drift.
pub(super) fn for_trial(bits_per_key: Option<f64>, preference: Preference) -> Vec<FilterSpec> {
    let mut filters = candidates(bits_per_key, preference);
    if preference == Preference::Balanced {
        let mut texts: Vec<String> = Vec::new();
        for bits in [3, 5, 14, 20, 24, 32] {
            texts.push(format!("word:bits={bits},insert=0"));
            texts.push(format!("word:bits={bits},insert={}", 32 / bits));
        }
        for bits in [5, 6, 8, 10, 12, 14, 16, 20, 24, 32] {
            texts.extend([0, 2, 4, 6].map(|insert| format!("recent:bits={bits},insert={insert}")));
        }
        for k in [2, 3, 4, 6, 9] {
            texts.extend([35, 70].map(|fill| format!("aging:k={k},fill={fill}")));
        }
        filters.extend(parsed(&texts));
    }
    filters
}

/// The parameters of a window, which the question decides.
const OF_THE_WINDOW: [&str; 4] = ["span", "step", "clock", "equal"];
/// The parameters of growth, which changes no rate.
const OF_GROWTH: [&str; 2] = ["doublings", "longest"];
/// The width of a timer with as many steps per span as by default.
const BITS_PER_TIMER: f64 = 4.0;

/// Returns the filter with one parameter changed: a number by an eighth, a word to another word.
pub(super) fn neighbours(filter: &FilterSpec, preference: Preference) -> Vec<FilterSpec> {
    let mut texts: Vec<(&'static str, String)> = Vec::new();
    for (parameter, value) in filter.values() {
        match (parameter.kind, value) {
            _ if OF_THE_WINDOW.contains(&parameter.name) || OF_GROWTH.contains(&parameter.name) => {
            }
            (_, Value::Integer(number)) => {
                let step = (number / 8).max(1);
                let around = [number.checked_sub(step), Some(number + step)];
                let around = around.into_iter().flatten();
                texts.extend(around.map(|number| (parameter.name, number.to_string())));
            }
            (Kind::Choice { options }, Value::Choice(chosen)) => {
                let others = options.iter().filter(|option| **option != chosen);
                texts.extend(others.map(|option| (parameter.name, (*option).to_owned())));
            }
            _ => {}
        }
    }
    let changed = texts.iter().map(|(name, text)| filter.with(name, text));
    changed
        .flatten()
        .filter(|it| satisfies(preference, it))
        .collect()
}

/// Returns whether a filter cannot make the errors that the preference excludes.
fn satisfies(preference: Preference, filter: &FilterSpec) -> bool {
    match preference {
        Preference::Balanced => true,
        // Filters with a window have false positives; they are rare with wide fingerprints.
        Preference::NoDrops => {
            filter.descriptor().errors == PossibleErrors::FalseNegatives
                || is_stamped_with_wide_fingerprints(filter)
        }
        Preference::NoRepeats => {
            filter.descriptor().errors == PossibleErrors::FalsePositives
                || filter.to_string().ends_with("cap=100")
        }
    }
}

fn is_stamped_with_wide_fingerprints(filter: &FilterSpec) -> bool {
    let mut values = filter.values();
    filter.descriptor().name == "stamped"
        && values.any(|(parameter, value)| {
            parameter.name == "bits" && matches!(value, Value::Integer(24..))
        })
}

/// Returns values of k around the best of a full Bloom filter.
fn widths(bits_per_key: Option<f64>) -> Vec<u64> {
    let Some(bits) = bits_per_key else {
        return vec![2, 3, 4, 6];
    };
    let best = (bits * core::f64::consts::LN_2).clamp(1.0, 20.0);
    let mut widths: Vec<u64> = [0.7, 1.0, 1.5, 2.1]
        .map(|share| libm::round(best * share).clamp(1.0, 32.0) as u64)
        .to_vec();
    widths.dedup();
    widths
}

/// Returns every k that can be the best of a plain Bloom filter, whose formula is exact and
/// fast.
fn bloom_widths(bits_per_key: Option<f64>) -> Vec<u64> {
    let Some(bits) = bits_per_key else {
        return widths(None);
    };
    let best = (bits * core::f64::consts::LN_2).clamp(1.0, 20.0);
    ((0.7 * best).max(1.0) as u64..=(1.4 * best) as u64 + 1).collect()
}

/// Returns the widest fingerprints for which a table of 98 % load has room, and narrower ones for
/// small tables, of which a larger part is not for keys. None if the number of keys is unknown: a
/// full table records no more keys.
fn table_widths(bits_per_key: Option<f64>) -> Vec<u64> {
    const LOAD: f64 = 0.98;
    const METADATA_BITS: f64 = 2.3;
    let widest = bits_per_key.map_or(0.0, |bits| LOAD * bits - METADATA_BITS);
    let widest = widest.clamp(0.0, 32.0) as u64;
    (widest.saturating_sub(2).max(1)..=widest).rev().collect()
}

/// Returns configurations of filters that forget old keys.
fn forgetting() -> Vec<String> {
    let mut texts = vec!["buffer:policy=lru".to_owned()];
    texts.extend(
        [1, 3, 7, 15, 31, 63, 255, 1023, 4095].map(|values| format!("slot:values={values}")),
    );
    for bits in [4, 6, 8, 10, 12, 16] {
        // Inserting at the front of a word, and in its middle.
        texts.push(format!("word:bits={bits},insert=0"));
        texts.push(format!("word:bits={bits},insert={}", 32 / bits));
    }
    for bits in [6, 8, 10, 12, 16] {
        texts.push(format!("recent:bits={bits},insert=0"));
        texts.push(format!("recent:bits={bits},insert=4"));
    }
    for k in [2, 4, 6, 9] {
        texts.push(format!("aging:k={k}"));
    }
    texts
}

/// Returns a few of [`paper_candidates`] for evaluation by theory, which is slow for filters
/// that clear bits.
pub(super) fn paper_examples() -> Vec<FilterSpec> {
    let texts = [
        "rlbsbf:k=2",
        "stable:k=2,p=4,max=1",
        "stable:k=3,p=10,max=3",
    ];
    parsed(&texts.map(str::to_owned))
}

/// Returns configurations of the filters [of the papers](is_from_papers).
pub fn paper_candidates() -> Vec<FilterSpec> {
    let mut texts = Vec::new();
    for k in [1, 2, 3, 5] {
        for name in ["rlbsbf", "bsbf", "bsbfsd", "rsbf"] {
            texts.push(format!("{name}:k={k}"));
        }
        for (p, max) in [(1, 1), (4, 1), (10, 1), (10, 3)] {
            texts.push(format!("stable:k={k},p={p},max={max}"));
        }
    }
    for (r, kept, k) in [(2, 1, 2), (2, 1, 4), (4, 2, 4), (6, 3, 4)] {
        texts.push(format!("sqf:r={r},rr={kept},k={k}"));
        texts.push(format!("dsqf:r={r},rr={kept},k={k}"));
    }
    parsed(&texts)
}

/// Parses the texts. A test checks that none is skipped.
fn parsed(texts: &[String]) -> Vec<FilterSpec> {
    texts.iter().filter_map(|text| text.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_candidate_is_a_valid_filter() {
        for bits in [None, Some(0.5), Some(2.0), Some(8.0), Some(64.0)] {
            let (widths, blooms) = (widths(bits).len(), bloom_widths(bits).len());
            let count = |preference| candidates(bits, preference).len();
            let bits_set = match bits {
                Some(_) => 4 * widths + blooms + table_widths(bits).len(),
                None => 3 * widths,
            };
            assert_eq!(count(Preference::Balanced), bits_set + forgetting().len());
            assert_eq!(count(Preference::NoRepeats), widths + blooms);
            assert_eq!(count(Preference::NoDrops), 2);
        }
        assert_eq!(paper_candidates().len(), 4 * 8 + 4 * 2);
        assert_eq!(paper_examples().len(), 3);
        assert!(paper_candidates().iter().all(is_from_papers));
        for bits in [None, Some(2.0), Some(40.0)] {
            let count = |preference| window_candidates(86_400, bits, preference).len();
            let timers = 2 * widths(bits.map(|bits| bits / BITS_PER_TIMER)).len();
            assert_eq!(count(Preference::Balanced), timers + 7 + 8);
            assert_eq!(count(Preference::NoRepeats), timers + 8);
            assert_eq!(count(Preference::NoDrops), 3);
        }
    }

    #[test]
    fn tables_are_as_wide_as_their_keys_fit() {
        assert!(table_widths(None).is_empty());
        assert!(table_widths(Some(3.0)).is_empty());
        assert_eq!(table_widths(Some(4.0)), [1]);
        assert_eq!(table_widths(Some(16.0)), [13, 12, 11]);
        assert_eq!(table_widths(Some(64.0)), [32, 31, 30]);
    }

    #[test]
    fn neighbours_differ_in_one_parameter() {
        let of = |text: &str| -> Vec<String> {
            let filter = text.parse().expect("a filter");
            let all = neighbours(&filter, Preference::Balanced);
            all.iter().map(FilterSpec::to_string).collect()
        };
        assert_eq!(
            of("blocked:k=16,cap=100"),
            [
                "blocked:k=14,cap=100",
                "blocked:k=18,cap=100",
                "blocked:k=16,cap=88"
            ]
        );
        assert_eq!(of("buffer:policy=lru"), ["buffer:policy=clock"]);
        assert_eq!(of("slot:values=1"), ["slot:values=2"]);
        assert_eq!(
            of("stamped:bits=12,span=3600"),
            [
                "stamped:bits=11,span=3600,step=0,clock=seconds",
                "stamped:bits=13,span=3600,step=0,clock=seconds"
            ]
        );
    }

    #[test]
    fn preferences_exclude_filters_that_can_make_the_error() {
        for preference in [Preference::NoDrops, Preference::NoRepeats] {
            let windows = window_candidates(3600, Some(30.0), preference);
            for filter in for_trial(Some(8.0), preference).into_iter().chain(windows) {
                assert!(satisfies(preference, &filter), "{filter}");
                for neighbour in neighbours(&filter, preference) {
                    assert!(satisfies(preference, &neighbour), "{neighbour}");
                }
            }
        }
    }
}
