//! Predicted error rates of a Bloom filter on many sites, with and without failed ones.
//!
//! The paper's formulas for failures (section 3.2) leave out the binomial coefficients: it prints
//! Σ φ^i·(1−φ)^(k−i) as the probability that i of k bits have failed, if φ is the share of failed
//! sites. Here the probabilities are complete:
//!
//! - The number of live bits of a key is binomial. If slices are divided into parts, the number of
//!   failed parts of the key's slice is hypergeometric, and the number of live bits is binomial in
//!   it.
//! - The number of set bits among the live bits of a new key is binomial in the load of its slice.
//!   A slice has a binomial number of keys, and the mean is taken over this number. With few keys
//!   per slice this matters: it is why many horizontal slices have more false positives than one.
//! - The verdict for each case is that of [`FailureRule::decide`].
//!
//! **Inaccurate** for slices of few bits: their load varies even with the number of keys fixed.

use super::{FailureRule, SiteVerdict, SlicePlan, Tally};

/// The number of steps over which the mean along a stream is taken.
const STEPS: u32 = 512;

/// Predicted shares of verdicts.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PredictedVerdicts {
    /// The probability that a new key is reported as Seen.
    pub false_positive: f64,
    /// The probability that a repeat is reported as New.
    pub false_negative: f64,
    /// The probability that a new key is [`SiteVerdict::Unknown`].
    pub unknown_new: f64,
    /// The probability that a repeat is [`SiteVerdict::Unknown`].
    pub unknown_repeat: f64,
}

/// A filter some of whose sites have failed, chosen at random.
#[derive(Clone, Copy, Debug)]
pub struct SitePrediction {
    plan: SlicePlan,
    failed: u64,
    rule: FailureRule,
}

impl SitePrediction {
    /// Returns the predictions for a filter of which `failed` sites have failed from the start.
    pub fn new(plan: SlicePlan, failed: u64, rule: FailureRule) -> Self {
        let failed = failed.min(plan.sites() as u64);
        SitePrediction { plan, failed, rule }
    }

    /// Returns the rates after so many distinct keys have been recorded.
    pub fn after(&self, recorded: f64) -> PredictedVerdicts {
        self.next_key(recorded).0
    }

    /// Returns the rates after so many keys, and which part of the clear bits of a new key it will
    /// set. This is less than 1 if a rule drops keys whose bits are not all set. The dropped ones
    /// have fewer clear bits than the recorded ones, so it is not the share of recorded keys.
    fn next_key(&self, recorded: f64) -> (PredictedVerdicts, f64) {
        let k = self.plan.k();
        let mut predicted = PredictedVerdicts::default();
        let (mut clear_bits, mut newly_set) = (0.0, 0.0);
        for (live, probability) in self.live_bits().into_iter().enumerate() {
            let live = live as u32;
            let failed = k - live;
            if probability == 0.0 {
                continue;
            }
            match self.decide(live, 0, failed) {
                SiteVerdict::New => predicted.false_negative += probability,
                SiteVerdict::Unknown => predicted.unknown_repeat += probability,
                SiteVerdict::Seen => {}
            }
            for (set, share) in self.set_bits(live, recorded).into_iter().enumerate() {
                let (set, probability) = (set as u32, probability * share);
                let clear = probability * f64::from(live - set);
                clear_bits += clear;
                match self.decide(set, live - set, failed) {
                    SiteVerdict::Seen => predicted.false_positive += probability,
                    SiteVerdict::Unknown => predicted.unknown_new += probability,
                    SiteVerdict::New => newly_set += clear,
                }
            }
        }
        let part = match clear_bits > 0.0 {
            true => newly_set / clear_bits,
            false => 1.0,
        };
        (predicted, part)
    }

    /// Returns the mean rates over a stream with so many distinct keys, from the empty filter on.
    /// This is what a simulation measures. How often and when keys are repeated does not matter.
    pub fn over_stream(&self, distinct: u64) -> PredictedVerdicts {
        let mut mean = PredictedVerdicts::default();
        let step = distinct as f64 / f64::from(STEPS);
        let mut recorded = 0.0;
        for _ in 0..STEPS {
            let (_, part) = self.next_key(recorded);
            let (middle, part) = self.next_key(recorded + step / 2.0 * part);
            recorded += step * part;
            mean.false_positive += middle.false_positive / f64::from(STEPS);
            mean.false_negative += middle.false_negative / f64::from(STEPS);
            mean.unknown_new += middle.unknown_new / f64::from(STEPS);
            mean.unknown_repeat += middle.unknown_repeat / f64::from(STEPS);
        }
        mean
    }

    fn decide(&self, set: u32, clear: u32, failed: u32) -> SiteVerdict {
        self.rule.decide(Tally { set, clear, failed })
    }

    /// Returns the probability of each number of live bits of a key.
    fn live_bits(&self) -> Vec<f64> {
        let (k, sites) = (self.plan.k(), self.plan.sites() as u64);
        let mut probabilities = vec![0.0; k as usize + 1];
        let parts = sites / self.plan.slices();
        let per_slice = self.plan.bits_per_slice();
        if parts == 1 {
            let choices = k / per_slice;
            let alive = 1.0 - self.failed as f64 / sites as f64;
            for (slices, probability) in binomial(choices, alive).into_iter().enumerate() {
                probabilities[slices * per_slice as usize] = probability;
            }
            return probabilities;
        }
        for failed_parts in 0..=parts.min(self.failed) {
            let share = hypergeometric(sites, self.failed, parts, failed_parts);
            let alive = 1.0 - failed_parts as f64 / parts as f64;
            for (live, probability) in binomial(k, alive).into_iter().enumerate() {
                probabilities[live] += share * probability;
            }
        }
        probabilities
    }

    /// Returns the probability of each number of set bits among the live bits of a new key.
    fn set_bits(&self, live: u32, recorded: f64) -> Vec<f64> {
        let is_divided = self.plan.slices() < self.plan.sites() as u64;
        let per_slice = match is_divided {
            true => live,
            false => self.plan.bits_per_slice(),
        };
        let mut set = vec![1.0];
        if per_slice == 0 {
            return set;
        }
        let one = self.set_bits_of_slice(per_slice, recorded);
        for _ in 0..live / per_slice {
            let mut sum = vec![0.0; set.len() + one.len() - 1];
            for (i, a) in set.iter().enumerate() {
                for (j, b) in one.iter().enumerate() {
                    sum[i + j] += a * b;
                }
            }
            set = sum;
        }
        set
    }

    /// The mean of C(b, i)·ℓ^i·(1−ℓ)^(b−i) over the number of keys of a slice, which decides its
    /// load ℓ. A bit is clear after j keys with probability q^j, and the mean of q^(cj) has a closed
    /// form.
    fn set_bits_of_slice(&self, bits: u32, recorded: f64) -> Vec<f64> {
        let slices = self.plan.slices() as f64;
        let slice_bits = self.plan.bits() as f64 / slices;
        let per_slice = self.plan.bits_per_slice();
        let choices = recorded * f64::from(self.plan.k() / per_slice);
        // The logarithm of q: one choice sets `per_slice` random bits of the slice.
        let kept = f64::from(per_slice) * libm::log1p(-(1.0 / slice_bits).min(1.0 - 1e-12));
        let mean_power = |power: u32| {
            let missing = -libm::expm1(kept * f64::from(power));
            libm::exp(choices * libm::log1p(-(missing / slices).min(1.0 - 1e-12)))
        };
        let of = |set: u32| {
            let sum: f64 = (0..=set)
                .map(|a| {
                    let sign = if a % 2 == 0 { 1.0 } else { -1.0 };
                    sign * choose(set, a) * mean_power(a + bits - set)
                })
                .sum();
            (choose(bits, set) * sum).clamp(0.0, 1.0)
        };
        (0..=bits).map(of).collect()
    }
}

/// Returns the fault tolerance parameter of vertical slices (the paper's Definition 3): into how many
/// slices a filter must be divided so that `failed` of them raise its false positive rate from
/// `fpr` to no more than `most`, if failed bits count as set. A whole number of slices is at least
/// this. None if the rate cannot be kept.
pub fn vertical_fault_tolerance(failed: f64, k: u32, fpr: f64, most: f64) -> Option<f64> {
    let root = |rate: f64| libm::pow(rate, 1.0 / f64::from(k));
    (most > fpr).then(|| failed * (1.0 - root(fpr)) / (root(most) - root(fpr)))
}

/// The same as [`vertical_fault_tolerance`] for horizontal slices.
pub fn horizontal_fault_tolerance(failed: f64, fpr: f64, most: f64) -> Option<f64> {
    (most > fpr).then(|| failed * (1.0 - fpr) / (most - fpr))
}

/// Returns the probability of each number of successes.
fn binomial(trials: u32, success: f64) -> Vec<f64> {
    let of = |successes: u32| {
        choose(trials, successes)
            * libm::pow(success, f64::from(successes))
            * libm::pow(1.0 - success, f64::from(trials - successes))
    };
    (0..=trials).map(of).collect()
}

/// Returns the probability that `found` of `drawn` sites are among the `marked` ones of `total`.
fn hypergeometric(total: u64, marked: u64, drawn: u64, found: u64) -> f64 {
    if drawn - found > total - marked {
        return 0.0;
    }
    // The factors of C(drawn, found) · marked!/(marked−found)! · … / total!/(total−drawn)!, in turn.
    let mut probability = 1.0;
    for i in 0..drawn {
        let chosen = match i < found {
            true => (marked - i) as f64 * (drawn - i) as f64 / (found - i) as f64,
            false => (total - marked - (i - found)) as f64,
        };
        probability *= chosen / (total - i) as f64;
    }
    probability
}

fn choose(n: u32, k: u32) -> f64 {
    (0..k).fold(1.0, |product, i| {
        product * f64::from(n - i) / f64::from(i + 1)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prediction(slicing: &str, k: u32, bits: u64, failed: u64, rule: &str) -> SitePrediction {
        let plan = SlicePlan::new(slicing.parse().expect("a slicing"), k, bits).expect("a plan");
        SitePrediction::new(plan, failed, rule.parse().expect("a rule"))
    }

    fn close(found: f64, expected: f64, tolerance: f64) {
        assert!((found - expected).abs() <= tolerance, "{found}, {expected}");
    }

    #[test]
    fn distributions_sum_to_one() {
        for slicing in [
            "horizontal:40",
            "vertical:40",
            "diced:8x5",
            "general:40,k1=2",
        ] {
            let it = prediction(slicing, 8, 143_000, 8, "seen");
            close(it.live_bits().iter().sum(), 1.0, 1e-12);
            for live in [0, 4, 8] {
                close(it.set_bits(live, 16_850.0).iter().sum(), 1.0, 1e-9);
            }
        }
        let sum: f64 = (0..=5).map(|found| hypergeometric(40, 8, 5, found)).sum();
        close(sum, 1.0, 1e-12);
        close(hypergeometric(5, 2, 2, 1), 0.6, 1e-12);
    }

    /// Equations 3, 5 and 6 of the paper, with n/m such that the rate is 2 % without failures.
    #[test]
    fn failed_as_seen_gives_the_paper_s_equations() {
        let (k, n, bits) = (4, 16_850.0, 143_000);
        let load = -libm::expm1(-4.0 * n / 143_000.0);
        let fpr = libm::pow(load, 4.0);
        let vertical = |failed| prediction("vertical:40", k, bits, failed, "seen").after(n);
        close(vertical(0).false_positive, fpr, 1e-5);
        let share = 8.0 / 40.0;
        close(
            vertical(8).false_positive,
            libm::pow(share + (1.0 - share) * load, 4.0),
            1e-5,
        );
        let horizontal = prediction("horizontal:40", k, bits, 8, "seen").after(n);
        close(horizontal.false_positive, share + (1.0 - share) * fpr, 3e-4);
        assert_eq!(vertical(8).false_negative, 0.0);
        let live_zero = prediction("vertical:40", k, bits, 8, "live-zero:x=0").after(n);
        assert_eq!(live_zero, vertical(8), "live-zero at x = 0 is Eq. 6");
    }

    /// Compared with the sum over all sets of failed bits, without any coefficients.
    #[test]
    fn false_negatives_are_binomial() {
        let naive = |share: f64, x: u32| -> f64 {
            let cases = (0u32..1 << 8).filter(|live| live.count_ones() < x);
            let probability = |live: u32| {
                (0..8).fold(1.0, |product, bit| match live >> bit & 1 {
                    1 => product * (1.0 - share),
                    _ => product * share,
                })
            };
            cases.map(probability).sum()
        };
        for (failed, sites) in [(8, 48), (8, 40)] {
            for x in 0..=8 {
                let (slicing, rule) = (format!("vertical:{sites}"), format!("live-zero:x={x}"));
                let both = [rule.clone(), rule.replace("live-zero", "x-of-k")];
                let [ours, printed] =
                    both.map(|rule| prediction(&slicing, 8, 143_000, failed, &rule).after(1e4));
                assert_eq!(ours.false_negative, printed.false_negative);
                assert!(ours.false_positive <= printed.false_positive + 1e-12);
                let expected = naive(failed as f64 / f64::from(sites), x);
                close(ours.false_negative, expected, 1e-12);
            }
        }
    }

    #[test]
    fn the_fault_tolerance_parameter_solves_the_equations() {
        let vertical = vertical_fault_tolerance(4.0, 4, 0.02, 0.15).expect("possible");
        let horizontal = horizontal_fault_tolerance(4.0, 0.02, 0.15).expect("possible");
        close(vertical, 10.1, 0.05);
        close(horizontal, 30.2, 0.05);
        let load = libm::pow(0.02, 0.25);
        let share = 4.0 / vertical;
        close(libm::pow(share + (1.0 - share) * load, 4.0), 0.15, 1e-12);
        close(
            4.0 / horizontal + (1.0 - 4.0 / horizontal) * 0.02,
            0.15,
            1e-12,
        );
        assert_eq!(vertical_fault_tolerance(1.0, 4, 0.2, 0.1), None);
        assert_eq!(horizontal_fault_tolerance(1.0, 0.2, 0.1), None);
    }

    #[test]
    fn a_rule_that_says_unknown_says_so_as_often_as_bits_have_failed() {
        let it = prediction("vertical:40", 4, 89_000, 8, "unknown").after(16_850.0);
        close(it.unknown_repeat, 1.0 - libm::pow(0.8, 4.0), 1e-12);
        assert_eq!(it.false_negative, 0.0);
        let seen = prediction("vertical:40", 4, 89_000, 8, "seen").after(16_850.0);
        close(
            it.unknown_new + it.false_positive,
            seen.false_positive,
            1e-12,
        );
    }
}
