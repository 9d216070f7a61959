//! Errors weighted by importance.

use crate::filter::{Observation, Verdict};

/// Sums of the importance of observations and errors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Weights {
    total: u64,
    false_positive: u64,
    false_negative: u64,
}

impl Weights {
    /// Compares verdicts with the truth.
    pub fn score(&mut self, verdicts: &[Verdict], first: &[bool], observations: &[Observation]) {
        for ((&verdict, &first), observation) in verdicts.iter().zip(first).zip(observations) {
            let importance = u64::from(observation.importance);
            self.total += importance;
            match (verdict, first) {
                (Verdict::Seen, true) => self.false_positive += importance,
                (Verdict::New, false) => self.false_negative += importance,
                _ => {}
            }
        }
    }

    /// The importance of first occurrences reported Seen ÷ the importance of all observations.
    pub fn wfp(&self) -> Option<f64> {
        super::scoreboard::share(self.false_positive, self.total)
    }

    /// The importance of repeats reported New ÷ the importance of all observations.
    pub fn wfn(&self) -> Option<f64> {
        super::scoreboard::share(self.false_negative, self.total)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_count_the_importance_of_their_keys() {
        let mut weights = Weights::default();
        assert_eq!((weights.wfp(), weights.wfn()), (None, None));
        let of = |importance| Observation {
            importance,
            ..Observation::default()
        };
        weights.score(
            &[Verdict::New, Verdict::Seen, Verdict::New, Verdict::Seen],
            &[true, true, false, false],
            &[of(10), of(20), of(30), of(40)],
        );
        assert_eq!((weights.wfp(), weights.wfn()), (Some(0.2), Some(0.3)));
    }
}
