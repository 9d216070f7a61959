//! Filters that keep the most recent keys: buffer, fpbuffer, recent, word, aging.
//!
//! A list of C keys in the order of their last occurrence holds a key until C other keys have
//! occurred: a repeat at gap g is missed if d(g) ≥ C. If the keys are distributed over R lists, the
//! number of other keys of its list that occurred since is Poisson distributed with mean d(g)/R.

use super::poisson;
use super::power::power;
use super::prediction::{Formula, Prediction, Trust};
use super::workload::Workload;

/// Predicts a buffer of `capacity` keys that reports a share `q` of the unknown keys as Seen.
pub(super) fn buffer(workload: &Workload, capacity: f64, q: f64, clock: bool) -> Prediction {
    let formula = Formula {
        by: match clock {
            true => "LRU instead of Clock: missed if d(g) ≥ C",
            false => "LRU: missed if d(g) ≥ C",
        },
        trust: match clock {
            true => Trust::Approximation,
            false => Trust::Exact,
        },
        loose: "gaps near the capacity, which are known to an eighth; streams that change",
    };
    // A gap represents all gaps of its bucket, which is an eighth of an octave wide.
    let miss = |gap: f64| {
        let low = workload.distinct_within(gap * 15.0 / 16.0);
        let high = workload.distinct_within(gap * 17.0 / 16.0);
        (1.0 - q) * ((high - capacity) / (high - low).max(1.0)).clamp(0.0, 1.0)
    };
    let load = |t: f64| (workload.distinct_within(t) / capacity).min(1.0);
    Prediction::of_state(workload, formula, |t| (q, load(t)), miss)
}

/// Lists of fingerprints in the order of their last occurrence.
///
/// If new keys do not enter at the front, keys that occurred again stay longer and others
/// shorter. By how much depends on more than the gaps. With uniform repeats it makes no
/// difference.
#[derive(Clone, Copy, Debug)]
pub(super) struct RankedLists {
    /// The number of lists.
    pub lists: f64,
    /// The number of fingerprints in a list.
    pub fields: f64,
    /// The number of different fingerprints.
    pub values: f64,
    /// Whether new keys enter behind the front.
    pub inserts_behind_front: bool,
}

impl RankedLists {
    pub fn predict(&self, workload: &Workload) -> Prediction {
        let RankedLists {
            lists,
            fields,
            values,
            inserts_behind_front,
        } = *self;
        let formula = Formula {
            by: match inserts_behind_front {
                true => {
                    "LRU per list, as if new keys entered at the front: Poisson(d(g)/lists) ≥ fields"
                }
                false => "LRU per list: Poisson(d(g)/lists) ≥ fields",
            },
            trust: Trust::Approximation,
            loose: match inserts_behind_front {
                true => "skewed and drifting streams, where it matters that new keys enter behind",
                false => "few values per field: other keys of the list have equal fingerprints",
            },
        };
        let held = |t: f64| poisson::mean_up_to(workload.distinct_within(t) / lists, fields);
        // Some of n other keys share a value, and one may have the very value searched for.
        let different = |keys: f64| values * -libm::expm1(-keys / values);
        let miss = |gap: f64| {
            let others = different(workload.distinct_within(gap) / lists);
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
}

/// Two generations per cache line, each a Bloom filter of half a line.
///
/// A generation takes G keys and lasts w positions, with d(w) = G·lines. A key that occurs when the
/// younger generation of its line has j keys is forgotten after 2G − j more keys; all values of j
/// are equally likely.
#[derive(Clone, Copy, Debug)]
pub(super) struct Aging {
    pub lines: f64,
    pub cells: f64,
    pub k: f64,
    /// The share of set bits at which a generation is full.
    pub fill: f64,
}

impl Aging {
    pub fn predict(&self, workload: &Workload) -> Prediction {
        let Aging {
            lines,
            cells,
            k,
            fill,
        } = *self;
        let formula = Formula {
            by: "Yoon 2010, per cache line: Poisson insertions, two generations",
            trust: Trust::Approximation,
            loose: "the load in the first generations, as every generation is taken to have the \
                    same number of keys",
        };
        let half_bits = cells / lines / 2.0;
        let kept = k * libm::log1p(-1.0 / half_bits);
        let generation = libm::ceil(libm::log1p(-fill) / kept).max(1.0);
        let load_of = |keys: f64| -libm::expm1(kept * keys);
        let full = load_of(generation);
        let fpr_of =
            |active: f64, warm: f64| 1.0 - (1.0 - power(active, k)) * (1.0 - power(warm, k));
        // A full half is exchanged when the next key comes, which is then in the new one.
        let keys: Vec<f64> = (1..=generation as u32).map(f64::from).collect();
        let average = |value: &dyn Fn(f64) -> f64| {
            keys.iter().map(|&j| value(j)).sum::<f64>() / keys.len() as f64
        };
        let settled_fpr = average(&|j| fpr_of(load_of(j), full));
        let settled_load = average(&|j| (load_of(j) + full) / 2.0);
        let length = window_with(workload, generation * lines);
        let state = |t: f64| {
            // Every key enters the first generation. Later generations also get repeats of keys
            // that the generation before holds.
            let mean = match t < length {
                true => workload.distinct_within(t) / lines,
                false => generation * t / length,
            };
            if mean > 4.0 * generation {
                return (settled_fpr, settled_load);
            }
            let of = |n: f64| {
                let exchanges = (libm::ceil(n / generation) - 1.0).max(0.0);
                let warm = if exchanges < 1.0 { 0.0 } else { full };
                let active = load_of(n - generation * exchanges);
                (fpr_of(active, warm), (active + warm) / 2.0)
            };
            let counts = poisson::discretized(mean, 64);
            counts.iter().fold((0.0, 0.0), |sum, &(n, probability)| {
                let (fpr, load) = of(n);
                (sum.0 + probability * fpr, sum.1 + probability * load)
            })
        };
        let miss = |gap: f64| {
            let mean = generation * gap / length;
            // The j-th key of a generation is cleared with it, when the next one is full.
            let gone = average(&|j| 1.0 - poisson::below(mean, 2.0 * generation + 1.0 - j));
            gone * (1.0 - settled_fpr)
        };
        Prediction::of_state(workload, formula, state, miss)
    }
}

/// Returns the length of a window with so many distinct keys. If the stream has fewer, it is
/// extrapolated at the mean rate of new keys.
fn window_with(workload: &Workload, distinct: f64) -> f64 {
    let (mut low, mut high) = (0.0, workload.count());
    let most = workload.distinct_within(high);
    if most <= distinct {
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
