//! What theory says of a filter of which only its own counts are known.

use super::gaps::GapHistogram;
use super::predict;
use super::prediction::{Prediction, Trust};
use super::workload::Workload;
use crate::filter::FilterSpec;

/// Halvings of the range that the number of distinct keys may lie in.
const HALVINGS: u32 = 24;

/// Where a filter stands now.
#[derive(Clone, Debug, PartialEq)]
pub struct Standing {
    /// The chance that the next new key is taken for Seen.
    pub fpr: f64,
    /// The chance that the next repeat is taken for New.
    pub fnr: f64,
    /// The share of cells in use.
    pub load: f64,
    /// The distinct keys that explain the verdicts.
    pub distinct: u64,
    /// The formula.
    pub by: &'static str,
    /// How it relates to the truth, if repeats lie as assumed.
    pub trust: Trust,
}

/// What theory says of a filter that has reported `new` of `observations` as New, with
/// repeats as far back as `gaps` tells, or uniform picks if nothing is known of that. The
/// number of distinct keys is the one for which it would have reported so many.
pub fn standing(
    spec: &FilterSpec,
    memory_bits: u64,
    observations: u64,
    new: u64,
    gaps: Option<&GapHistogram>,
) -> Option<Standing> {
    let of = |distinct: u64| {
        let workload = match gaps {
            Some(gaps) => Workload::with_gaps(observations, distinct, gaps),
            None => Workload::uniform(observations, distinct),
        };
        predict(spec, memory_bits, &workload)
    };
    let reported = |distinct: u64, prediction: &Prediction| {
        let repeats = observations.saturating_sub(distinct) as f64;
        distinct as f64 * (1.0 - prediction.fpr) + repeats * prediction.fnr
    };
    let (mut low, mut high) = (observations.min(1), observations);
    for _ in 0..HALVINGS {
        if high - low <= 1 + high / 10_000 {
            break;
        }
        let middle = low + (high - low) / 2;
        match reported(middle, &of(middle)?) < new as f64 {
            true => low = middle,
            false => high = middle,
        }
    }
    let prediction = of(high)?;
    let end = prediction.end();
    Some(Standing {
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
    fn a_bloom_filters_counts_tell_its_keys() {
        let spec: FilterSpec = "bloom:k=4".parse().expect("a filter");
        let workload = Workload::uniform(1_000_000, 200_000);
        let truth = predict(&spec, 1 << 20, &workload).expect("a formula");
        let new = (200_000.0 * (1.0 - truth.fpr)) as u64;
        let found = standing(&spec, 1 << 20, 1_000_000, new, None).expect("a formula");
        assert!(found.distinct.abs_diff(200_000) < 400, "{found:?}");
        assert!(
            (found.fpr / truth.end().fpr - 1.0).abs() < 0.01,
            "{found:?}"
        );
        assert_eq!(found.fnr, 0.0);
    }

    /// Close repeats are missed less: taken for uniform picks, the same counts would tell
    /// of other keys and other rates.
    #[test]
    fn how_far_back_repeats_lie_tells_more() {
        let spec: FilterSpec = "stable:k=2,p=4,max=1".parse().expect("a filter");
        let mut gaps = GapHistogram::default();
        (0..14).for_each(|octave| gaps.record(1 << octave, 100));
        let workload = Workload::with_gaps(1_000_000, 200_000, &gaps);
        let truth = predict(&spec, 1 << 18, &workload).expect("a formula");
        let new = (200_000.0 * (1.0 - truth.fpr) + 800_000.0 * truth.fnr) as u64;
        let of = |gaps| standing(&spec, 1 << 18, 1_000_000, new, gaps).expect("a formula");
        let (told, untold) = (of(Some(&gaps)), of(None));
        assert!(told.distinct.abs_diff(200_000) < 400, "{told:?}");
        assert!((told.fnr / truth.end().fnr - 1.0).abs() < 0.02, "{told:?}");
        assert!(untold.fnr > 1.5 * told.fnr, "{untold:?}");
    }

    #[test]
    fn nothing_observed_is_nothing_wrong() {
        let spec: FilterSpec = "stable".parse().expect("a filter");
        let found = standing(&spec, 1 << 16, 0, 0, None).expect("a formula");
        assert_eq!((found.fpr, found.fnr, found.distinct), (0.0, 0.0, 0));
    }
}
