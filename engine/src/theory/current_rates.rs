//! The present error rates of a filter, inferred from its counts.

use super::gaps::GapHistogram;
use super::predict;
use super::prediction::{Prediction, Trust};
use super::workload::Workload;
use crate::filter::{AnyFilter, FilterSpec};

/// Steps of the bisection that finds the number of distinct keys.
const HALVINGS: u32 = 24;

/// The present error rates of a filter.
#[derive(Clone, Debug, PartialEq)]
pub struct CurrentRates {
    /// The probability that the next new key is reported as Seen.
    pub fpr: f64,
    /// The probability that the next repeat is reported as New.
    pub fnr: f64,
    /// The share of cells in use.
    pub load: f64,
    /// The number of distinct keys that explains the verdicts.
    pub distinct: u64,
    /// The name of the formula.
    pub by: &'static str,
    /// How the formula relates to the truth, if the gaps are as assumed.
    pub trust: Trust,
}

/// Infers the present error rates of a filter that has reported `new` of `observations` as New.
/// `gaps` are the distances of repeats; without them repeats are taken to be uniform. The number
/// of distinct keys is the one for which the filter would have reported as many as New. Returns
/// None if there is no formula for the filter, or if it has a window: its verdicts then do not tell
/// how many keys are in the window, but [its counts](AnyFilter::false_positive_rate) do.
pub fn current_rates(
    spec: &FilterSpec,
    memory_bits: u64,
    observations: u64,
    new: u64,
    gaps: Option<&GapHistogram>,
) -> Option<CurrentRates> {
    let reported = |distinct: u64, prediction: &Prediction| {
        let repeats = observations.saturating_sub(distinct) as f64;
        distinct as f64 * (1.0 - prediction.fpr) + repeats * prediction.fnr
    };
    let is_low =
        |distinct: u64, prediction: &Prediction| reported(distinct, prediction) < new as f64;
    rates_with_keys(spec, memory_bits, observations, gaps, is_low)
}

/// Infers the present error rates of a filter that has this load, as [`current_rates`] does from
/// the number of New verdicts. The load of merged filters counts a key once that several of them
/// have reported as New.
pub fn rates_at_load(
    spec: &FilterSpec,
    memory_bits: u64,
    observations: u64,
    load: f64,
    gaps: Option<&GapHistogram>,
) -> Option<CurrentRates> {
    let is_low = |_: u64, prediction: &Prediction| prediction.end().load < load;
    rates_with_keys(spec, memory_bits, observations, gaps, is_low)
}

/// Finds the smallest number of distinct keys that is not too low, and predicts the rates with it.
fn rates_with_keys(
    spec: &FilterSpec,
    memory_bits: u64,
    observations: u64,
    gaps: Option<&GapHistogram>,
    is_low: impl Fn(u64, &Prediction) -> bool,
) -> Option<CurrentRates> {
    let filter = AnyFilter::build(spec, memory_bits).ok()?;
    if filter.window().is_some() {
        return None;
    }
    let of = |distinct: u64| {
        let workload = match gaps {
            Some(gaps) => Workload::with_gaps(observations, distinct, gaps),
            None => Workload::uniform(observations, distinct),
        };
        predict(spec, memory_bits, &workload)
    };
    let (mut low, mut high) = (observations.min(1), observations);
    for _ in 0..HALVINGS {
        if high - low <= 1 + high / 10_000 {
            break;
        }
        let middle = low + (high - low) / 2;
        match is_low(middle, &of(middle)?) {
            true => low = middle,
            false => high = middle,
        }
    }
    let prediction = of(high)?;
    let end = prediction.end();
    Some(CurrentRates {
        fpr: end.fpr,
        fnr: end.fnr,
        load: end.load,
        distinct: high,
        by: prediction.by,
        trust: prediction.trust,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_counts_of_a_bloom_filter_give_its_distinct_keys() {
        let spec: FilterSpec = "bloom:k=4".parse().expect("a filter");
        let workload = Workload::uniform(1_000_000, 200_000);
        let truth = predict(&spec, 1 << 20, &workload).expect("a formula");
        let new = (200_000.0 * (1.0 - truth.fpr)) as u64;
        let found = current_rates(&spec, 1 << 20, 1_000_000, new, None).expect("a formula");
        assert!(found.distinct.abs_diff(200_000) < 400, "{found:?}");
        assert!(
            (found.fpr / truth.end().fpr - 1.0).abs() < 0.01,
            "{found:?}"
        );
        assert_eq!(found.fnr, 0.0);
    }

    /// Repeats at short gaps are missed less often. If they were taken to be uniform, the same
    /// counts would give other keys and other rates.
    #[test]
    fn known_gaps_change_the_inferred_rates() {
        let spec: FilterSpec = "stable:k=2,p=4,max=1".parse().expect("a filter");
        let mut gaps = GapHistogram::default();
        (0..14).for_each(|octave| gaps.record(1 << octave, 100));
        let workload = Workload::with_gaps(1_000_000, 200_000, &gaps);
        let truth = predict(&spec, 1 << 18, &workload).expect("a formula");
        let new = (200_000.0 * (1.0 - truth.fpr) + 800_000.0 * truth.fnr) as u64;
        let of = |gaps| current_rates(&spec, 1 << 18, 1_000_000, new, gaps).expect("a formula");
        let (known, assumed) = (of(Some(&gaps)), of(None));
        assert!(known.distinct.abs_diff(200_000) < 400, "{known:?}");
        assert!(
            (known.fnr / truth.end().fnr - 1.0).abs() < 0.02,
            "{known:?}"
        );
        assert!(assumed.fnr > 1.5 * known.fnr, "{assumed:?}");
    }

    /// Two filters that observed the same keys, merged: each key counts as New twice.
    #[test]
    fn the_load_gives_the_distinct_keys_of_merged_filters() {
        for filter in ["bloom:k=4", "blocked:k=6,cap=85", "counting"] {
            let spec: FilterSpec = filter.parse().expect("a filter");
            let workload = Workload::uniform(100_000, 50_000);
            let truth = predict(&spec, 1 << 20, &workload).expect("a formula");
            let load = truth.end().load;
            let found = rates_at_load(&spec, 1 << 20, 200_000, load, None).expect("a formula");
            assert!(found.distinct.abs_diff(50_000) < 100, "{filter}: {found:?}");
            assert!((found.load / load - 1.0).abs() < 0.01, "{found:?}");
        }
    }

    #[test]
    fn a_filter_without_observations_has_no_errors() {
        let spec: FilterSpec = "stable".parse().expect("a filter");
        let found = current_rates(&spec, 1 << 16, 0, 0, None).expect("a formula");
        assert_eq!((found.fpr, found.fnr, found.distinct), (0.0, 0.0, 0));
    }
}
