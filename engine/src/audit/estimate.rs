//! Estimates error rates with confidence intervals from the sample.

use serde::Serialize;

use super::record::SampledKey;
use super::table::{AuditTable, shift_of};
use crate::filter::Registers;

/// The 97.5 % quantile of the normal distribution, for two-sided 95 % intervals.
const Z: f64 = 1.959_963_984_540_054;

/// The smallest divisor of a residual. A key that alone determines the slopes has a residual of
/// almost 0, which must not be scaled without limit.
const LEAST_FREEDOM: f64 = 0.05;

/// A rate estimated from a sample, with its 95 % confidence interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// The estimate.
    pub value: f64,
    /// Lower bound.
    pub low: f64,
    /// Upper bound.
    pub high: f64,
    /// The number of observations that it is based on.
    pub sample: u64,
}

impl Estimate {
    /// Returns an estimate with Wilson's score interval for so many independent trials.
    fn wilson(value: f64, trials: f64, sample: u64) -> Self {
        Self::wilson_with(Z, value, trials, sample)
    }

    fn wilson_with(quantile: f64, value: f64, trials: f64, sample: u64) -> Self {
        let spread = quantile * quantile / trials;
        let middle = (value + spread / 2.0) / (1.0 + spread);
        let variance = value * (1.0 - value) / trials + spread / (4.0 * trials);
        let half = quantile * variance.sqrt() / (1.0 + spread);
        Estimate {
            value,
            low: (middle - half).clamp(0.0, value),
            high: (middle + half).clamp(value, 1.0),
            sample,
        }
    }

    /// Returns an exact value: all observations were counted.
    fn certain(value: f64, sample: u64) -> Self {
        Estimate {
            value,
            low: value,
            high: value,
            sample,
        }
    }
}

/// What is known about the whole stream without a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Totals {
    /// The number of observations.
    pub observations: u64,
    /// The number of observations with the verdict New.
    pub new: u64,
}

impl From<&Registers> for Totals {
    fn from(registers: &Registers) -> Self {
        Totals {
            observations: registers.observations(),
            new: registers.new_count(),
        }
    }
}

/// The results of an audit.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AuditReport {
    /// The number of keys in the sample.
    pub keys: u64,
    /// The number of keys that the table can hold.
    pub capacity: u64,
    /// One key in so many is sampled.
    pub one_in: u64,
    /// The share of new keys that were reported as Seen; None if no key was sampled. If the filter
    /// has a window, a key is new at each occurrence that does not follow a delivery within the
    /// span.
    pub fpr: Option<Estimate>,
    /// The share of repeats that were reported as New; None if no repeat was sampled.
    pub fnr: Option<Estimate>,
    /// The number of distinct keys in the whole stream.
    pub distinct: Distinct,
    /// The number of repeats by gap: the n-th number counts gaps from 2^n to 2^(n+1), scaled up
    /// from the sample. Zeros at the end are omitted.
    pub gaps: Vec<u64>,
}

/// An estimated number of keys with its 95 % confidence interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Distinct {
    /// The estimate.
    pub value: f64,
    /// Lower bound.
    pub low: f64,
    /// Upper bound.
    pub high: f64,
}

impl AuditReport {
    pub(super) fn of(table: &AuditTable, bytes: &[u8], totals: Totals) -> Self {
        let one_in = 1u64 << shift_of(bytes);
        let mut keys = 0;
        let mut dropped = 0;
        for key in table.keys(bytes) {
            keys += 1;
            dropped += u64::from(key.dropped);
        }
        let mut gaps = table.gaps(bytes);
        while gaps.last() == Some(&0) {
            gaps.pop();
        }
        AuditReport {
            keys,
            capacity: table.capacity() as u64,
            one_in,
            fpr: match table.window() {
                None => (keys > 0).then(|| dropped_share(dropped, keys, one_in)),
                Some(_) => dropped_in_window(table.keys(bytes), one_in),
            },
            fnr: missed_share(table.keys(bytes), one_in, totals),
            distinct: Distinct::of(keys, one_in),
            gaps,
        }
    }
}

/// Returns the share of keys that are not in a sample of one in `one_in`.
fn unsampled(one_in: u64) -> f64 {
    1.0 - 1.0 / one_in as f64
}

fn dropped_share(dropped: u64, keys: u64, one_in: u64) -> Estimate {
    let value = dropped as f64 / keys as f64;
    match one_in {
        1 => Estimate::certain(value, keys),
        _ => Estimate::wilson(value, keys as f64 / unsampled(one_in), keys),
    }
}

/// Estimates the share of new keys that a filter with a window reported as Seen. A key that was
/// wrongly reported as Seen stays new, so a few keys may have most of the errors: the variance is
/// that between keys, and the interval that of Student's distribution.
fn dropped_in_window(
    keys: impl Iterator<Item = SampledKey> + Clone,
    one_in: u64,
) -> Option<Estimate> {
    let (mut sampled, mut first, mut dropped) = (0u64, 0u64, 0u64);
    for key in keys.clone() {
        sampled += 1;
        first += u64::from(key.first);
        dropped += u64::from(key.dropped);
    }
    if first == 0 {
        return None;
    }
    let value = dropped as f64 / first as f64;
    if one_in == 1 {
        return Some(Estimate::certain(value, first));
    }
    if dropped == 0 || dropped == first {
        return Some(Estimate::wilson(
            value,
            sampled as f64 / unsampled(one_in),
            first,
        ));
    }
    let residuals = keys.map(|key| f64::from(key.dropped) - value * f64::from(key.first));
    let squares: f64 = residuals.clone().map(|residual| residual * residual).sum();
    let variance = unsampled(one_in) * squares / (first as f64 * first as f64);
    let trials = (value * (1.0 - value) / variance).min(first as f64);
    let quantile = student_quantile(degrees_of_freedom(residuals));
    let mut estimate = Estimate::wilson_with(quantile, value, trials.max(1.0), first);
    let half = quantile * variance.sqrt();
    estimate.low = estimate.low.min((value - half).max(0.0));
    estimate.high = estimate.high.max((value + half).min(1.0));
    Some(estimate)
}

/// Returns how many keys determine a variance: the number of residuals if all have the same size,
/// and 1 if one of them is far larger than the others.
fn degrees_of_freedom(residuals: impl Iterator<Item = f64>) -> f64 {
    let (mut squares, mut fourths) = (0.0, 0.0);
    for residual in residuals {
        let square = residual * residual;
        squares += square;
        fourths += square * square;
    }
    match fourths > 0.0 {
        true => (squares * squares / fourths).max(1.0),
        false => 1.0,
    }
}

/// Returns the 97.5 % quantile of Student's distribution (Abramowitz and Stegun, 26.7.5). It is
/// exact to 1 % from three degrees of freedom on, and smaller than the exact one below.
fn student_quantile(freedom: f64) -> f64 {
    let square = Z * Z;
    let first = Z * (square + 1.0) / 4.0;
    let second = Z * ((5.0 * square + 16.0) * square + 3.0) / 96.0;
    let third = Z * (((3.0 * square + 19.0) * square + 17.0) * square - 15.0) / 384.0;
    Z + (first + (second + third / freedom) / freedom) / freedom
}

/// Estimates the share of repeats that were reported as New. Keys are sampled, and a sampled key
/// comes with all its repeats.
///
/// A few keys may have most of the repeats, and it is random whether they are in the sample: the
/// share in the sample may be far from that of the stream. But the total numbers of observations
/// and of New verdicts are known, and the sample shows how misses depend on them. So misses are
/// estimated by regression on both totals; the residuals of the sampled keys give the correction
/// and the variance. (Särndal, Swensson, Wretman, "Model Assisted Survey Sampling", 1992, chapter
/// 6.)
fn missed_share(
    keys: impl Iterator<Item = SampledKey> + Clone,
    one_in: u64,
    totals: Totals,
) -> Option<Estimate> {
    let (mut repeated, mut repeats, mut missed) = (0u64, 0u64, 0u64);
    for key in keys.clone() {
        repeated += u64::from(key.repeats > 0);
        repeats += u64::from(key.repeats);
        missed += u64::from(key.missed);
    }
    if repeats == 0 {
        return None;
    }
    if one_in == 1 {
        return Some(Estimate::certain(missed as f64 / repeats as f64, repeats));
    }
    let scale = one_in as f64;
    let whole = [totals.observations as f64, totals.new as f64];
    let points = keys.map(|key| {
        let missed = f64::from(key.missed);
        let first = f64::from(key.first);
        let known = [
            f64::from(key.repeats) + first,
            first - f64::from(key.dropped) + missed,
        ];
        (known, missed, first)
    });
    // Over all keys, misses − share · (occurrences − first occurrences) is 0. Both the misses and
    // the first occurrences are fitted to the known totals. The sum for a share is then `of_missed + share ·
    // of_share`, and its variance is quadratic in the share.
    let missed_by = Regression::of(points.clone().map(|(known, missed, _)| (known, missed)));
    let first_by = Regression::of(points.clone().map(|(known, _, first)| (known, first)));
    let (mut of_missed, mut of_share) = (missed_by.at(whole), first_by.at(whole) - whole[0]);
    let mut variance = [0.0; 3];
    for (known, missed, first) in points {
        let (missed, first) = (missed - missed_by.at(known), first - first_by.at(known));
        of_missed += scale * missed;
        of_share += scale * first;
        let freedom = (1.0 - first_by.leverage(known)).max(LEAST_FREEDOM);
        let weight = scale * scale * unsampled(one_in) / (freedom * freedom);
        variance[0] += weight * missed * missed;
        variance[1] += weight * missed * first;
        variance[2] += weight * first * first;
    }
    let value = (-of_missed / of_share).clamp(0.0, 1.0);
    if !value.is_finite() || of_share >= 0.0 {
        return None;
    }
    let at_value = variance[0] + 2.0 * value * variance[1] + value * value * variance[2];
    // The number of independent trials with the same variance. Without a miss the variance is 0,
    // and each key that repeated counts as one trial.
    let trials = match missed > 0 && at_value > 0.0 && value > 0.0 && value < 1.0 {
        true => (value * (1.0 - value) * of_share * of_share / at_value).min(whole[0]),
        false => repeated as f64 / unsampled(one_in),
    };
    let mut estimate = Estimate::wilson(value, trials.max(1.0), repeats);
    let (low, high) = fieller_interval(of_missed, of_share, variance);
    estimate.low = estimate.low.min(low);
    estimate.high = estimate.high.max(high);
    Some(estimate)
}

/// Returns the interval of shares for which the sum is within [`Z`] standard errors of 0 (Fieller,
/// 1954): all shares, if the sample excludes none.
fn fieller_interval(of_missed: f64, of_share: f64, variance: [f64; 3]) -> (f64, f64) {
    let square = of_share * of_share - Z * Z * variance[2];
    let half = of_missed * of_share - Z * Z * variance[1];
    let constant = of_missed * of_missed - Z * Z * variance[0];
    let root = (half * half - square * constant).max(0.0).sqrt();
    match square > 0.0 {
        true => (
            ((-half - root) / square).clamp(0.0, 1.0),
            ((-half + root) / square).clamp(0.0, 1.0),
        ),
        false => (0.0, 1.0),
    }
}

/// A least-squares fit of one number by two others, through the origin.
struct Regression {
    slopes: [f64; 2],
    /// The inverse of the matrix of squares and products.
    inverse: [f64; 3],
}

impl Regression {
    fn of(points: impl Iterator<Item = ([f64; 2], f64)>) -> Self {
        let (mut aa, mut ab, mut bb, mut ay, mut by) = (0.0, 0.0, 0.0, 0.0, 0.0);
        for ([a, b], y) in points {
            aa += a * a;
            ab += a * b;
            bb += b * b;
            ay += a * y;
            by += b * y;
        }
        let determinant = aa * bb - ab * ab;
        // If the two numbers are proportional, the second adds nothing.
        let inverse = match determinant > 1e-9 * aa * bb {
            true => [bb / determinant, -ab / determinant, aa / determinant],
            false => [if aa > 0.0 { 1.0 / aa } else { 0.0 }, 0.0, 0.0],
        };
        let [first, mixed, second] = inverse;
        Regression {
            slopes: [first * ay + mixed * by, mixed * ay + second * by],
            inverse,
        }
    }

    fn at(&self, [a, b]: [f64; 2]) -> f64 {
        self.slopes[0] * a + self.slopes[1] * b
    }

    /// Returns the leverage of a point, from 0 to 1: by how much it reduces its own residual.
    fn leverage(&self, [a, b]: [f64; 2]) -> f64 {
        let [first, mixed, second] = self.inverse;
        first * a * a + 2.0 * mixed * a * b + second * b * b
    }
}

impl Distinct {
    /// Estimates the number of keys. Each was sampled with probability 1/`one_in`.
    fn of(keys: u64, one_in: u64) -> Self {
        let scale = one_in as f64;
        let value = keys as f64 * scale;
        let half = Z * (keys as f64 * scale * (scale - 1.0)).sqrt();
        Distinct {
            value,
            low: (value - half).max(keys as f64),
            high: value + half,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn students_quantiles_are_those_of_the_tables() {
        for (freedom, exact) in [(3.0, 3.182), (5.0, 2.571), (10.0, 2.228), (100.0, 1.984)] {
            assert!(
                (student_quantile(freedom) / exact - 1.0).abs() < 0.01,
                "{freedom}"
            );
        }
        assert!((student_quantile(1e9) - Z).abs() < 1e-6);
        assert_eq!(degrees_of_freedom([2.0, -2.0, 2.0].into_iter()), 3.0);
        assert_eq!(degrees_of_freedom([7.0, 0.0].into_iter()), 1.0);
        assert_eq!(degrees_of_freedom([].into_iter()), 1.0);
    }
}
