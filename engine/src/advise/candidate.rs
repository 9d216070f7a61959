//! The configurations that are tried, by how much memory there is for a key.
//!
//! A Bloom filter's best k is the bits for a key times ln 2 when all keys are in it, and
//! more on the average over a stream, as it is emptier before. So k goes from two thirds of
//! that to twice. The filters that forget have the width of what they
//! keep for a parameter: more bits drop fewer new keys and keep fewer old ones.

use super::question::Preference;
use crate::filter::FilterSpec;

/// Filters that come from the three papers on duplicates in streams. They are tried like
/// the others, and left out where a Bloom filter is better on both rates.
pub const PAPERS: [&str; 7] = ["stable", "rlbsbf", "bsbf", "bsbfsd", "rsbf", "sqf", "dsqf"];

/// Whether a filter is one of [`PAPERS`].
pub fn is_from_papers(filter: &FilterSpec) -> bool {
    PAPERS.contains(&filter.descriptor().name)
}

/// Configurations worth trying, where so many bits are there for a key; several memories'
/// worth where that is not known.
pub fn candidates(bits_a_key: Option<f64>, preference: Preference) -> Vec<FilterSpec> {
    let mut texts: Vec<String> = Vec::new();
    let widths = widths(bits_a_key);
    match preference {
        Preference::NoDrops => {
            texts.extend([
                "buffer:policy=lru".to_owned(),
                "buffer:policy=clock".to_owned(),
            ]);
        }
        Preference::NoRepeats => {
            for k in widths {
                texts.push(format!("bloom:k={k}"));
                texts.push(format!("blocked:k={k},cap=100"));
            }
        }
        Preference::Balanced => {
            for k in widths {
                texts.extend([50, 70, 85].map(|cap| format!("blocked:k={k},cap={cap}")));
                // Past the keys it was made for, what never forgets drops nearly all that
                // is new: not for those who cannot say how many there will be.
                if bits_a_key.is_some() {
                    texts.push(format!("bloom:k={k}"));
                    texts.push(format!("blocked:k={k},cap=100"));
                }
            }
            texts.extend(forgetful());
        }
    }
    parsed(&texts)
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
            let widths = widths(bits).len();
            let count = |preference| candidates(bits, preference).len();
            let blooms = if bits.is_some() { 5 } else { 3 };
            assert_eq!(
                count(Preference::Balanced),
                blooms * widths + forgetful().len()
            );
            assert_eq!(count(Preference::NoRepeats), 2 * widths);
            assert_eq!(count(Preference::NoDrops), 2);
        }
        assert_eq!(papers_candidates().len(), 4 * 8 + 4 * 2);
        assert_eq!(papers_examples().len(), 3);
        assert!(papers_candidates().iter().all(is_from_papers));
    }

    /// A preference is a promise, not a weight.
    #[test]
    fn preferences_keep_to_filters_that_cannot_make_the_error() {
        use crate::filter::Errs;
        for filter in candidates(Some(8.0), Preference::NoDrops) {
            assert_eq!(filter.descriptor().errs, Errs::MissesRepeats, "{filter}");
        }
        for filter in candidates(Some(8.0), Preference::NoRepeats) {
            let never_clears = filter.descriptor().errs == Errs::DropsNew
                || filter.to_string().ends_with("cap=100");
            assert!(never_clears, "{filter}");
        }
    }
}
