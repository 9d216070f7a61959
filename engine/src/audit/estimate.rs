//! From the sample to rates with an interval.

use serde::Serialize;

use super::table::{AuditTable, SampledKey, shift_of};
use crate::filter::Registers;

/// The 97.5 % point of the normal law: two-sided 95 %.
const Z: f64 = 1.959_963_984_540_054;

/// A key that decides the slopes alone seems to lie on the plane exactly; it is taken to be
/// at most so many times farther off.
const LEAST_FREEDOM: f64 = 0.05;

/// A share found in a sample, and between which bounds the true one lies 95 times in 100.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// The share.
    pub value: f64,
    /// Lower bound.
    pub low: f64,
    /// Upper bound.
    pub high: f64,
    /// How many observations it rests on.
    pub sample: u64,
}

impl Estimate {
    /// By Wilson's score interval, as if so many independent trials had been made.
    fn wilson(value: f64, trials: f64, sample: u64) -> Self {
        let spread = Z * Z / trials;
        let middle = (value + spread / 2.0) / (1.0 + spread);
        let variance = value * (1.0 - value) / trials + spread / (4.0 * trials);
        let half = Z * variance.sqrt() / (1.0 + spread);
        Estimate {
            value,
            low: (middle - half).clamp(0.0, value),
            high: (middle + half).clamp(value, 1.0),
            sample,
        }
    }

    /// Everything was looked at: nothing is left to guess.
    fn certain(value: f64, sample: u64) -> Self {
        Estimate {
            value,
            low: value,
            high: value,
            sample,
        }
    }
}

/// What is known of the whole stream without a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Totals {
    /// Observations.
    pub observations: u64,
    /// Of which the filter said New.
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

/// What an audit has found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AuditReport {
    /// Keys in the sample.
    pub keys: u64,
    /// How many it can hold.
    pub capacity: u64,
    /// One key in so many is sampled.
    pub one_in: u64,
    /// New keys taken for Seen, of the new keys; nothing if none was sampled.
    pub fpr: Option<Estimate>,
    /// Repeats taken for New, of the repeats.
    pub fnr: Option<Estimate>,
    /// Distinct keys in the whole stream.
    pub distinct: Distinct,
    /// Repeats by how far back their key last came: the n-th number is about gaps from 2^n
    /// to 2^(n+1), scaled up from the sample. Empty ones at the end are left out.
    pub gaps: Vec<u64>,
}

/// A number of keys and the bounds between which the true one lies 95 times in 100.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Distinct {
    /// The number.
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
            fpr: (keys > 0).then(|| dropped_share(dropped, keys, one_in)),
            fnr: missed_share(table.keys(bytes), one_in, totals),
            distinct: Distinct::of(keys, one_in),
            gaps,
        }
    }
}

/// The share of a whole of which one in `one_in` was sampled that is not in the sample.
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

/// Repeats missed, of all repeats, where keys are sampled and a key comes with all its
/// repeats.
///
/// A few keys may have most of the repeats, and whether they are in the sample is a matter
/// of luck: the share among the repeats of the sample may be far from that of the stream.
/// But the totals of observations and of New verdicts are known, and the sample tells how
/// misses go along with them. So misses are estimated by regression on both, and the
/// residuals of the sampled keys are the correction and the spread. (Särndal, Swensson,
/// Wretman, "Model Assisted Survey Sampling", 1992, chapter 6.)
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
        let known = [
            f64::from(key.repeats) + 1.0,
            f64::from(u8::from(!key.dropped)) + missed,
        ];
        (known, missed)
    });
    // Over all keys, misses − share · (occurrences − 1) is nothing. Both misses and the
    // number of keys are fitted by the known totals; the sum for a share is then
    // `of_missed + share · of_share`, and its variance a square in the share.
    let missed_by = Regression::of(points.clone());
    let one_by = Regression::of(points.clone().map(|(known, _)| (known, 1.0)));
    let (mut of_missed, mut of_share) = (missed_by.at(whole), one_by.at(whole) - whole[0]);
    let mut variance = [0.0; 3];
    for (known, missed) in points {
        let (missed, one) = (missed - missed_by.at(known), 1.0 - one_by.at(known));
        of_missed += scale * missed;
        of_share += scale * one;
        let freedom = (1.0 - one_by.pull(known)).max(LEAST_FREEDOM);
        let weight = scale * scale * unsampled(one_in) / (freedom * freedom);
        variance[0] += weight * missed * missed;
        variance[1] += weight * missed * one;
        variance[2] += weight * one * one;
    }
    let value = (-of_missed / of_share).clamp(0.0, 1.0);
    if !value.is_finite() || of_share >= 0.0 {
        return None;
    }
    let at_value = variance[0] + 2.0 * value * variance[1] + value * value * variance[2];
    // As many independent trials as would spread as much; where no miss was found nothing
    // spreads, and each key that repeated counts once.
    let trials = match missed > 0 && at_value > 0.0 && value > 0.0 && value < 1.0 {
        true => (value * (1.0 - value) * of_share * of_share / at_value).min(whole[0]),
        false => repeated as f64 / unsampled(one_in),
    };
    let mut estimate = Estimate::wilson(value, trials.max(1.0), repeats);
    let (low, high) = shares_near_nothing(of_missed, of_share, variance);
    estimate.low = estimate.low.min(low);
    estimate.high = estimate.high.max(high);
    Some(estimate)
}

/// Between which shares the sum is nothing but chance (Fieller, 1954): it lies within
/// [`Z`] of its own spread. All shares, if the sample tells none apart.
fn shares_near_nothing(of_missed: f64, of_share: f64, variance: [f64; 3]) -> (f64, f64) {
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

/// A plane through the origin: the least squares of what two numbers tell of a third.
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
        // Two numbers that always go together tell no more than one.
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

    /// How much a point pulls the plane towards itself: 0 to 1. Its residual is so much less
    /// than if it had not been fitted.
    fn pull(&self, [a, b]: [f64; 2]) -> f64 {
        let [first, mixed, second] = self.inverse;
        first * a * a + 2.0 * mixed * a * b + second * b * b
    }
}

impl Distinct {
    /// Each key was sampled with a chance of one in `one_in`.
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
