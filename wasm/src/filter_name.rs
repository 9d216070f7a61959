//! The names of filters for people: short in a table, and as part of a sentence.

use dedupstore::FilterSpec;
use wasm_bindgen::prelude::*;

/// The short name and the name in a sentence of each filter. A filter that is not listed goes by
/// its name in the text form.
const NAMES: [(&str, &str, &str); 25] = [
    ("bloom", "Bloom", "a Bloom filter"),
    ("blocked", "Blocked Bloom", "a blocked Bloom filter"),
    ("split", "Split-block Bloom", "a split-block Bloom filter"),
    ("counting", "Counting Bloom", "a counting Bloom filter"),
    ("stable", "Stable Bloom", "a stable Bloom filter"),
    ("rsbf", "RSBF", "a reservoir sampling Bloom filter"),
    ("bsbf", "BSBF", "a biased sampling Bloom filter"),
    ("bsbfsd", "BSBFSD", "a BSBFSD filter"),
    ("rlbsbf", "RLBSBF", "an RLBSBF filter"),
    ("quotient", "Quotient", "a quotient filter"),
    ("sqf", "SQF", "a streaming quotient filter"),
    ("dsqf", "DSQF", "a dynamic streaming quotient filter"),
    ("slot", "Slots", "a table of single slots"),
    ("word", "Words", "a filter of word-sized buckets"),
    ("recent", "Recent", "a filter of recent fingerprints"),
    ("stamped", "Stamped", "a filter of stamped fingerprints"),
    ("aging", "Aging Bloom", "an aging Bloom filter"),
    ("apbf", "Age-partitioned", "an age-partitioned Bloom filter"),
    ("growing", "Growing Bloom", "a growing Bloom filter"),
    ("window", "Timers", "a Bloom filter of timers"),
    ("buffer", "Buffer", "a buffer of recent keys"),
    ("fpbuffer", "FP buffer", "a buffer with false positives"),
    ("ibf", "IBF", "an importance-aware Bloom filter"),
    (
        "reinsert",
        "Re-insertion",
        "a Bloom filter with a re-insertion cache",
    ),
    (
        "admit",
        "Admission",
        "a blocked Bloom filter with admission",
    ),
];

/// Returns the name of a filter in its text form for people; the text itself if it is invalid.
#[wasm_bindgen(js_name = filterName)]
pub fn filter_name(filter: &str) -> String {
    match filter.parse() {
        Ok(spec) => short_name(&spec),
        Err(_) => filter.to_owned(),
    }
}

/// Returns the name of a filter with the parameters that matter: "RLBSBF (k=2)". These are `k`
/// and those that differ from their defaults.
pub fn short_name(spec: &FilterSpec) -> String {
    let name = spec.name();
    let base = NAMES
        .iter()
        .find(|it| it.0 == name)
        .map_or_else(|| name.to_ascii_uppercase(), |it| it.1.to_owned());
    let shown: Vec<String> = spec
        .values()
        .filter(|(parameter, value)| {
            parameter.name == "k" || *value != parameter.kind.default_value()
        })
        .map(|(parameter, value)| format!("{}={value}", parameter.name))
        .collect();
    if shown.is_empty() {
        base
    } else {
        format!("{base} ({})", shown.join(", "))
    }
}

/// Returns the name of a filter in a sentence, with its article.
pub fn name_in_sentence(spec: &FilterSpec) -> String {
    let name = spec.name();
    NAMES
        .iter()
        .find(|it| it.0 == name)
        .map_or_else(|| format!("the filter {name}"), |it| it.2.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(spec: &str) -> (String, String) {
        let spec = spec.parse().expect("a filter");
        (short_name(&spec), name_in_sentence(&spec))
    }

    #[test]
    fn a_name_has_the_parameters_that_differ_from_the_defaults() {
        let (short, sentence) = names("bloom:k=6");
        assert_eq!(
            (&short[..], &sentence[..]),
            ("Bloom (k=6)", "a Bloom filter")
        );
        let (short, _) = names("bloom:k=6,layout=partitioned");
        assert_eq!(short, "Bloom (k=6, layout=partitioned)");
        let (short, _) = names("slot");
        assert_eq!(short, "Slots");
    }

    #[test]
    fn every_listed_filter_exists() {
        for (name, _, _) in NAMES {
            assert!(name.parse::<FilterSpec>().is_ok(), "{name}");
        }
    }
}
