//! Errors weighted by importance, and errors by importance.
//!
//! The quantities of the paper on the importance-aware Bloom filter, its Eq. 5 to 11. Sums of
//! importance are divided by the importance of all observations, as in its tables. The rates of an
//! importance i, which it calls I_fp\[i\] and I_fn\[i\], are divided by *all* observations of that
//! importance: the paper's figures do so, and not by first occurrences or repeats.

use serde::Serialize;

use super::scoreboard::share;
use crate::filter::{Observation, Verdict};

/// The greatest number of groups into which importance is divided.
const MAX_GROUPS: u32 = 64;
/// A saving of false negatives counts if it is so many standard errors.
const SIGNIFICANT: f64 = 3.0;

/// Counts of observations and errors by importance.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Weights {
    /// By importance, up to the greatest that occurred.
    counts: Vec<Counts>,
}

/// Counts of the observations of one importance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counts {
    all: u64,
    seen: u64,
    false_positives: u64,
    false_negatives: u64,
}

/// The errors among observations of an importance, or of neighbouring ones. The field names are the
/// keys of the JSON form.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ImportanceRates {
    /// The least importance.
    pub from: u16,
    /// The greatest importance.
    pub to: u16,
    /// The number of observations.
    pub count: u64,
    /// First occurrences reported Seen.
    pub fp: u64,
    /// Repeats reported New.
    #[serde(rename = "fn")]
    pub false_negatives: u64,
    /// `fp` ÷ `count`: the paper's I_fp.
    pub i_fp: f64,
    /// `fn` ÷ `count`: the paper's I_fn.
    pub i_fn: f64,
}

impl Weights {
    /// Compares verdicts with the truth.
    pub fn score(&mut self, verdicts: &[Verdict], first: &[bool], observations: &[Observation]) {
        for ((&verdict, &first), observation) in verdicts.iter().zip(first).zip(observations) {
            let importance = usize::from(observation.importance);
            if importance >= self.counts.len() {
                self.counts.resize(importance + 1, Counts::default());
            }
            let counts = &mut self.counts[importance];
            let seen = verdict.is_seen();
            counts.all += 1;
            counts.seen += u64::from(seen);
            counts.false_positives += u64::from(first & seen);
            counts.false_negatives += u64::from(!first & !seen);
        }
    }

    /// Adds the counts of another run.
    pub fn add(&mut self, other: &Weights) {
        let length = self.counts.len().max(other.counts.len());
        self.counts.resize(length, Counts::default());
        for (sum, more) in self.counts.iter_mut().zip(&other.counts) {
            sum.all += more.all;
            sum.seen += more.seen;
            sum.false_positives += more.false_positives;
            sum.false_negatives += more.false_negatives;
        }
    }

    /// Returns the importance of the observations that `count` counts.
    fn sum(&self, count: impl Fn(&Counts) -> u64) -> u64 {
        let counts = (0..).zip(&self.counts);
        counts.map(|(importance, it)| importance * count(it)).sum()
    }

    /// The importance of first occurrences reported Seen ÷ the importance of all observations
    /// (Eq. 5).
    pub fn wfp(&self) -> Option<f64> {
        share(self.sum(|it| it.false_positives), self.sum(|it| it.all))
    }

    /// The importance of repeats reported New ÷ the importance of all observations (Eq. 6).
    pub fn wfn(&self) -> Option<f64> {
        share(self.sum(|it| it.false_negatives), self.sum(|it| it.all))
    }

    /// The importance of repeats reported Seen ÷ that of all observations reported Seen (Eq. 7).
    pub fn precision(&self) -> Option<f64> {
        let right = self.sum(|it| it.seen - it.false_positives);
        share(right, self.sum(|it| it.seen))
    }

    /// The importance of repeats reported Seen ÷ that of all repeats (Eq. 8).
    pub fn recall(&self) -> Option<f64> {
        let right = |it: &Counts| it.seen - it.false_positives;
        share(
            self.sum(right),
            self.sum(|it| right(it) + it.false_negatives),
        )
    }

    /// Returns the errors among the observations whose importance is in a range (Eq. 9 and 10).
    /// None if there are none.
    pub fn rates_within(&self, from: u16, to: u16) -> Option<ImportanceRates> {
        let range = usize::from(from)..(usize::from(to) + 1).min(self.counts.len());
        let counts = self.counts.get(range)?;
        let (mut count, mut fp, mut false_negatives) = (0, 0, 0);
        for it in counts {
            count += it.all;
            fp += it.false_positives;
            false_negatives += it.false_negatives;
        }
        Some(ImportanceRates {
            from,
            to,
            count,
            fp,
            false_negatives,
            i_fp: share(fp, count)?,
            i_fn: share(false_negatives, count)?,
        })
    }

    /// Returns the errors by importance, the least first. If importance is greater than 64,
    /// neighbouring values are counted together.
    pub fn rates(&self) -> Vec<ImportanceRates> {
        let width = (self.counts.len().saturating_sub(1) as u32).div_ceil(MAX_GROUPS);
        let group = |it: u32| match width {
            0 | 1 => (it, it),
            _ => (it * width + u32::from(it > 0), (it + 1) * width),
        };
        let rates = (0..=MAX_GROUPS).map(|it| {
            let (from, to) = group(it);
            let to = u16::try_from(to).unwrap_or(u16::MAX);
            self.rates_within(u16::try_from(from).ok()?, to)
        });
        rates.flatten().collect()
    }

    /// Returns the crossover point against another filter on the same stream (Eq. 11): the least
    /// importance from which on this filter has fewer false negatives. None if there is none.
    ///
    /// Eq. 11 takes the first importance at which the curve of this filter is below the other.
    /// Where the curves are close, chance decides that. So this is the importance from which on
    /// the false negatives saved, in total, are the most. It is the same wherever the curves cross
    /// once. If that saving is less than three standard errors, there is no crossover point.
    pub fn crossover(&self, other: &Weights) -> Option<u16> {
        let length = self.counts.len().min(other.counts.len());
        let (mut saved, mut errors) = (0i64, 0u64);
        let (mut most, mut found) = (0, None);
        let pairs = self.counts[..length].iter().zip(&other.counts[..length]);
        for (importance, (mine, others)) in pairs.enumerate().rev() {
            saved += others.false_negatives as i64 - mine.false_negatives as i64;
            errors += others.false_negatives + mine.false_negatives;
            let is_significant = saved as f64 > SIGNIFICANT * libm::sqrt(errors as f64);
            if mine.all > 0 && saved > most && is_significant {
                (most, found) = (saved, Some(importance as u16));
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(importance: u16) -> Observation {
        Observation {
            importance,
            ..Observation::default()
        }
    }

    #[test]
    fn errors_count_the_importance_of_their_keys() {
        let mut weights = Weights::default();
        assert_eq!((weights.wfp(), weights.wfn()), (None, None));
        assert_eq!((weights.precision(), weights.recall()), (None, None));
        weights.score(
            &[Verdict::New, Verdict::Seen, Verdict::New, Verdict::Seen],
            &[true, true, false, false],
            &[of(10), of(20), of(30), of(40)],
        );
        assert_eq!((weights.wfp(), weights.wfn()), (Some(0.2), Some(0.3)));
        assert_eq!(weights.precision(), Some(40.0 / 60.0));
        assert_eq!(weights.recall(), Some(40.0 / 70.0));
    }

    /// The paper divides by all observations of the importance.
    #[test]
    fn rates_of_an_importance_are_shares_of_all_its_observations() {
        let mut weights = Weights::default();
        let verdicts = [Verdict::Seen, Verdict::New, Verdict::New, Verdict::New];
        weights.score(&verdicts, &[true, false, true, true], &[of(7); 4]);
        let rates = weights.rates();
        let [only] = &rates[..] else {
            panic!("{rates:?}");
        };
        assert_eq!((only.from, only.to, only.count), (7, 7, 4));
        assert_eq!((only.i_fp, only.i_fn), (0.25, 0.25));
        assert_eq!(weights.rates_within(8, 9), None);
    }

    #[test]
    fn many_values_are_grouped_without_losing_an_observation() {
        for greatest in [1u16, 50, 64, 65, 128, 129, 1000, u16::MAX] {
            let mut weights = Weights::default();
            let observations: Vec<Observation> = (0..=greatest).map(of).collect();
            let count = observations.len();
            weights.score(
                &vec![Verdict::Seen; count],
                &vec![true; count],
                &observations,
            );
            let rates = weights.rates();
            assert!(rates.len() <= 65, "{greatest}: {}", rates.len());
            let counted: u64 = rates.iter().map(|it| it.count).sum();
            assert_eq!(counted, count as u64, "{greatest}");
            assert!(rates.windows(2).all(|pair| pair[0].to < pair[1].from));
        }
    }

    /// Creates counts with so many false negatives for each importance from 1 on.
    fn missing(false_negatives: &[u64]) -> Weights {
        let mut counts = vec![Counts::default()];
        counts.extend(false_negatives.iter().map(|&false_negatives| Counts {
            all: 10_000,
            false_negatives,
            ..Counts::default()
        }));
        Weights { counts }
    }

    #[test]
    fn the_crossover_point_is_where_the_curves_cross() {
        let flat = missing(&[1000, 1000, 1000, 1000, 1000]);
        let falling = missing(&[2000, 1500, 1100, 400, 100]);
        assert_eq!(falling.crossover(&flat), Some(4));
        assert_eq!(flat.crossover(&falling), None, "never lower from there on");
        assert_eq!(flat.crossover(&flat), None);
        let always_lower = missing(&[10, 10, 10, 10, 10]);
        assert_eq!(always_lower.crossover(&flat), Some(1));
        // A difference at one importance that chance explains changes nothing.
        let noisy = missing(&[2000, 990, 1100, 400, 100]);
        assert_eq!(noisy.crossover(&flat), Some(4));
        let barely = missing(&[2000, 2000, 2000, 2000, 990]);
        assert_eq!(barely.crossover(&flat), None);
    }

    #[test]
    fn counts_of_runs_are_added() {
        let mut sum = missing(&[1, 2]);
        sum.add(&missing(&[1, 1, 5]));
        assert_eq!(sum.rates_within(1, 1).map(|it| it.false_negatives), Some(2));
        assert_eq!(
            sum.rates_within(1, 3).map(|it| it.false_negatives),
            Some(10)
        );
    }
}
