//! Filters that keep what came last: buffer, fpbuffer, recent, word, aging.
//!
//! A list of C keys in the order of their last occurrence holds a key until C others have
//! come since: a repeat at the gap g is missed if d(g) ≥ C. Where a key has one of R lines
//! to itself and others, those that came since in its line are Poisson with the mean
//! d(g)/R.

use super::poisson;
use super::power::power;
use super::prediction::{Formula, Prediction, Trust};
use super::workload::Workload;

/// A buffer of `capacity` keys that calls a share `q` of the unknown ones Seen.
pub(super) fn buffer(workload: &Workload, capacity: f64, q: f64, clock: bool) -> Prediction {
    let formula = Formula {
        by: match clock {
            true => "LRU in place of Clock: missed if d(g) ≥ C",
            false => "LRU: missed if d(g) ≥ C",
        },
        trust: match clock {
            true => Trust::Approximation,
            false => Trust::Exact,
        },
        loose: "gaps near the capacity, which are known to an eighth; habits that change",
    };
    // A gap stands for those of its bucket, an eighth of an octave around it.
    let miss = |gap: f64| {
        let low = workload.distinct_within(gap * 15.0 / 16.0);
        let high = workload.distinct_within(gap * 17.0 / 16.0);
        (1.0 - q) * ((high - capacity) / (high - low).max(1.0)).clamp(0.0, 1.0)
    };
    let load = |t: f64| (workload.distinct_within(t) / capacity).min(1.0);
    Prediction::of_state(workload, formula, |t| (q, load(t)), miss)
}

/// Lines of `fields` fingerprints that take one of `values`, in order of recency. Where
/// new ones do not enter at the front, `behind`, keys met again stay longer and others
/// shorter; how much, depends on more than gaps. On uniform picks it makes no difference.
pub(super) fn ranked(
    workload: &Workload,
    lines: f64,
    fields: f64,
    values: f64,
    behind: bool,
) -> Prediction {
    let formula = Formula {
        by: match behind {
            true => {
                "LRU in a line, as if new keys entered at its front: Poisson(d(g)/lines) ≥ fields"
            }
            false => "LRU in a line: Poisson(d(g)/lines) ≥ fields",
        },
        trust: Trust::Approximation,
        loose: match behind {
            true => "skewed and drifting streams, where it matters that new keys enter behind",
            false => "few values a field: equal fingerprints of other keys in the line",
        },
    };
    let held = |t: f64| poisson::mean_up_to(workload.distinct_within(t) / lines, fields);
    // Of n other keys some share a value, and one may have the very value looked for.
    let different = |keys: f64| values * -libm::expm1(-keys / values);
    let miss = |gap: f64| {
        let others = different(workload.distinct_within(gap) / lines);
        let gone = 1.0 - poisson::below(others, fields);
        gone * (1.0 - fields / values).max(0.0)
    };
    Prediction::of_state(
        workload,
        formula,
        |t| ((held(t) / values).min(1.0), held(t) / fields),
        miss,
    )
}

/// Two generations a line, each a Bloom filter of `half_bits` that is full at a share.
///
/// A generation takes G keys and lasts w places, d(w) = G·lines. A key met when its
/// line's young generation has j keys is forgotten after 2G − j more, and j is as likely
/// one number as another.
pub(super) fn aging(
    workload: &Workload,
    lines: f64,
    half_bits: f64,
    k: f64,
    fill: f64,
) -> Prediction {
    let formula = Formula {
        by: "Yoon 2010, a line: Poisson insertions, two generations",
        trust: Trust::Approximation,
        loose: "the load in the first generations: the number of keys of each is taken for fixed",
    };
    let kept = k * libm::log1p(-1.0 / half_bits);
    let generation = libm::ceil(libm::log1p(-fill) / kept).max(1.0);
    let load_of = |keys: f64| -libm::expm1(kept * keys);
    let full = load_of(generation);
    let drop_in = |active: f64, warm: f64| 1.0 - (1.0 - power(active, k)) * (1.0 - power(warm, k));
    let keys: Vec<f64> = (0..generation as u32).map(f64::from).collect();
    let average = |value: &dyn Fn(f64) -> f64| {
        keys.iter().map(|&j| value(j)).sum::<f64>() / keys.len() as f64
    };
    let settled_drop = average(&|j| drop_in(load_of(j), full));
    let settled_load = average(&|j| (load_of(j) + full) / 2.0);
    let length = window_of(workload, generation * lines);
    let state = |t: f64| {
        // The first generation takes every key; later ones meet those of the one before.
        let mean = match t < length {
            true => workload.distinct_within(t) / lines,
            false => generation * t / length,
        };
        if mean > 4.0 * generation {
            return (settled_drop, settled_load);
        }
        let of = |n: f64| {
            let warm = if n < generation { 0.0 } else { full };
            let active = load_of(n - generation * libm::floor(n / generation));
            (drop_in(active, warm), (active + warm) / 2.0)
        };
        let spread = poisson::spread(mean, 64);
        spread.iter().fold((0.0, 0.0), |sum, &(n, chance)| {
            let (drop, load) = of(n);
            (sum.0 + chance * drop, sum.1 + chance * load)
        })
    };
    let miss = |gap: f64| {
        let mean = generation * gap / length;
        let gone = average(&|j| 1.0 - poisson::below(mean, 2.0 * generation - j));
        gone * (1.0 - settled_drop)
    };
    Prediction::of_state(workload, formula, state, miss)
}

/// The window that has so many distinct keys; without end, where the stream has fewer.
fn window_of(workload: &Workload, distinct: f64) -> f64 {
    let (mut low, mut high) = (0.0, workload.count());
    let most = workload.distinct_within(high);
    if most <= distinct {
        // At the rate at which new keys come: never, or later.
        return high * distinct / most.max(1.0);
    }
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        match workload.distinct_within(middle) < distinct {
            true => low = middle,
            false => high = middle,
        }
    }
    high
}
