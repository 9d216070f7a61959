//! The configurations that are tried, by how much memory there is for a key.
//!
//! A Bloom filter's best k is the bits for a key times ln 2 when all keys are in it, and
//! more on the average over a stream, as it is emptier before. So k goes from two thirds of
//! that to twice. The filters that forget have the width of what they
//! keep for a parameter: more bits drop fewer new keys and keep fewer old ones.

use super::question::Preference;
use crate::filter::{Errs, FilterSpec, Kind, Value};

/// Filters that come from the three papers on duplicates in streams. They are tried like
/// the others, and left out where a Bloom filter is better on both rates.
pub const PAPERS: [&str; 7] = ["stable", "rlbsbf", "bsbf", "bsbfsd", "rsbf", "sqf", "dsqf"];

/// Whether a filter is one of [`PAPERS`].
pub fn is_from_papers(filter: &FilterSpec) -> bool {
    PAPERS.contains(&filter.descriptor().name)
}

/// Whether a filter is a Bloom filter, in lines or not.
pub(super) fn is_bloom(filter: &FilterSpec) -> bool {
    matches!(filter.descriptor().name, "bloom" | "blocked")
}

/// Configurations worth asking formulas about, where so many bits are there for a key;
/// several memories' worth where that is not known.
pub fn candidates(bits_a_key: Option<f64>, preference: Preference) -> Vec<FilterSpec> {
    let mut texts: Vec<String> = Vec::new();
    let widths = widths(bits_a_key).into_iter();
    let blooms = bloom_widths(bits_a_key).into_iter();
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
                // Past the keys it was made for, what never forgets drops nearly all that
                // is new: not for those who cannot say how many there will be.
                if bits_a_key.is_some() {
                    texts.push(format!("blocked:k={k},cap=100"));
                }
            }
            if bits_a_key.is_some() {
                texts.extend(blooms);
            }
            texts.extend(forgetful());
        }
    }
    parsed(&texts)
}

/// Configurations worth running over a few keys: more than formulas are asked about, as
/// skew and drift favour what formulas are loose in.
pub(super) fn for_trial(bits_a_key: Option<f64>, preference: Preference) -> Vec<FilterSpec> {
    let mut filters = candidates(bits_a_key, preference);
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

/// The same filter with one parameter changed: a number by an eighth, a word by another.
pub(super) fn neighbours(filter: &FilterSpec, preference: Preference) -> Vec<FilterSpec> {
    let mut texts: Vec<(&'static str, String)> = Vec::new();
    for (parameter, value) in filter.values() {
        match (parameter.kind, value) {
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
        .filter(|it| keeps(preference, it))
        .collect()
}

/// Whether a filter cannot make the error that must not be.
fn keeps(preference: Preference, filter: &FilterSpec) -> bool {
    match preference {
        Preference::Balanced => true,
        Preference::NoDrops => filter.descriptor().errs == Errs::MissesRepeats,
        Preference::NoRepeats => {
            filter.descriptor().errs == Errs::DropsNew || filter.to_string().ends_with("cap=100")
        }
    }
}

/// Numbers of bits for a key: around the best of a full Bloom filter.
fn widths(bits_a_key: Option<f64>) -> Vec<u64> {
    let Some(bits) = bits_a_key else {
        return vec![2, 3, 4, 6];
    };
    let best = (bits * core::f64::consts::LN_2).clamp(1.0, 20.0);
    let mut widths: Vec<u64> = [0.7, 1.0, 1.5, 2.1]
        .map(|share| libm::round(best * share).clamp(1.0, 32.0) as u64)
        .to_vec();
    widths.dedup();
    widths
}

/// The same for a plain Bloom filter, whose formula is exact and soon worked out: all that
/// can be the best, from that of a full filter to that of one which fills.
fn bloom_widths(bits_a_key: Option<f64>) -> Vec<u64> {
    let Some(bits) = bits_a_key else {
        return widths(None);
    };
    let best = (bits * core::f64::consts::LN_2).clamp(1.0, 20.0);
    ((0.7 * best).max(1.0) as u64..=(1.4 * best) as u64 + 1).collect()
}

fn forgetful() -> Vec<String> {
    let mut texts = vec!["buffer:policy=lru".to_owned()];
    texts.extend(
        [1, 3, 7, 15, 31, 63, 255, 1023, 4095].map(|values| format!("slot:values={values}")),
    );
    for bits in [4, 6, 8, 10, 12, 16] {
        // At the front, and in the middle of as many as a word has.
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

/// A few of [`papers_candidates`], for formulas: those of filters that clear bits take long.
pub(super) fn papers_examples() -> Vec<FilterSpec> {
    let texts = [
        "rlbsbf:k=2",
        "stable:k=2,p=4,max=1",
        "stable:k=3,p=10,max=3",
    ];
    parsed(&texts.map(str::to_owned))
}

/// Configurations of the [`PAPERS`]' filters.
pub fn papers_candidates() -> Vec<FilterSpec> {
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

/// Those that the registry takes, which a test holds to be all.
fn parsed(texts: &[String]) -> Vec<FilterSpec> {
    texts.iter().filter_map(|text| text.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_candidate_is_a_filter() {
        for bits in [None, Some(0.5), Some(2.0), Some(8.0), Some(64.0)] {
            let (widths, blooms) = (widths(bits).len(), bloom_widths(bits).len());
            let count = |preference| candidates(bits, preference).len();
            let bits_set = match bits {
                Some(_) => 4 * widths + blooms,
                None => 3 * widths,
            };
            assert_eq!(count(Preference::Balanced), bits_set + forgetful().len());
            assert_eq!(count(Preference::NoRepeats), widths + blooms);
            assert_eq!(count(Preference::NoDrops), 2);
        }
        assert_eq!(papers_candidates().len(), 4 * 8 + 4 * 2);
        assert_eq!(papers_examples().len(), 3);
        assert!(papers_candidates().iter().all(is_from_papers));
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
    }

    /// A preference is a promise, not a weight.
    #[test]
    fn preferences_keep_to_filters_that_cannot_make_the_error() {
        for preference in [Preference::NoDrops, Preference::NoRepeats] {
            for filter in for_trial(Some(8.0), preference) {
                assert!(keeps(preference, &filter), "{filter}");
                for beside in neighbours(&filter, preference) {
                    assert!(keeps(preference, &beside), "{beside}");
                }
            }
        }
    }
}
