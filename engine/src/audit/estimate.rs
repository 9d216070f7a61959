//! From the sample to rates with an interval.

use serde::Serialize;

use super::table::{AuditTable, SampledKey, shift_of};

/// The 97.5 % point of the normal law: two-sided 95 %.
const Z: f64 = 1.959_963_984_540_054;

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
    /// By Wilson's score interval, as if `effective` independent trials had been made of
    /// a population `one_in` times as large. All of it leaves nothing to guess.
    fn wilson(value: f64, effective: f64, one_in: u64, sample: u64) -> Self {
        if one_in == 1 {
            return Estimate {
                value,
                low: value,
                high: value,
                sample,
            };
        }
        let effective = effective / (1.0 - 1.0 / one_in as f64);
        let spread = Z * Z / effective;
        let middle = (value + spread / 2.0) / (1.0 + spread);
        let variance = value * (1.0 - value) / effective + spread / (4.0 * effective);
        let half = Z * variance.sqrt() / (1.0 + spread);
        Estimate {
            value,
            low: (middle - half).clamp(0.0, value),
            high: (middle + half).clamp(value, 1.0),
            sample,
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
    pub(super) fn of(table: &AuditTable, bytes: &[u8]) -> Self {
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
            fpr: (keys > 0)
                .then(|| Estimate::wilson(dropped as f64 / keys as f64, keys as f64, one_in, keys)),
            fnr: missed_share(table.keys(bytes), one_in),
            distinct: Distinct::of(keys, one_in),
            gaps,
        }
    }
}

/// A key comes with all its repeats, and these are alike: whoever forgot it once will
/// again. So the spread is taken between keys, not between repeats.
fn missed_share(keys: impl Iterator<Item = SampledKey> + Clone, one_in: u64) -> Option<Estimate> {
    let repeated = keys.filter(|key| key.repeats > 0);
    let (mut count, mut repeats, mut missed) = (0u64, 0u64, 0u64);
    for key in repeated.clone() {
        count += 1;
        repeats += u64::from(key.repeats);
        missed += u64::from(key.missed);
    }
    if repeats == 0 {
        return None;
    }
    let value = missed as f64 / repeats as f64;
    let squares: f64 = repeated
        .map(|key| f64::from(key.missed) - value * f64::from(key.repeats))
        .map(|difference| difference * difference)
        .sum();
    let between = count as f64 / (count as f64 - 1.0).max(1.0) * squares;
    let variance = between / (repeats as f64 * repeats as f64);
    // As many independent trials as would spread as much; all alike tells nothing, so
    // then each key counts once.
    let effective = match variance > 0.0 && value > 0.0 && value < 1.0 {
        true => (value * (1.0 - value) / variance).min(repeats as f64),
        false => count as f64,
    };
    Some(Estimate::wilson(value, effective.max(1.0), one_in, repeats))
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
