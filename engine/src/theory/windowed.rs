//! Filters with a window.
//!
//! A key is delivered, forgotten after the lifetime W, and delivered again when it comes next. If
//! it comes at the rate λ, it is in the window for the share λW/(1 + λW) of the time: it waits
//! 1/λ for its next occurrence. With d(w) = Σ (1 − e^(−λw)) over the keys, the number of keys in
//! the window is
//!
//! K = Σ λW/(1 + λW) = ∫ e^(−u) · d(Wu) du  over u from 0.
//!
//! Before the first lifetime has passed, it is d(t); it then falls to K within about one more. A key is set anywhere within a step, so the
//! average lifetime is half a step longer than the span.
//!
//! The false positive rate then is that of the same filter without a window, with K keys in it. It is
//! the rate among first occurrences: a key that is wrongly dropped stays new until it is delivered,
//! and may be dropped many times.
//! Timers and slices have no false negatives. Stamped fingerprints miss a repeat if its cache line
//! has received as many newer keys as it has entries ([`PushedOut`]).

use super::poisson;
use super::prediction::{Formula, PredictedPoint, Prediction, Trust, positions};
use super::workload::Workload;
use crate::filter::{ClockKind, WindowClock};

/// The integral ends here: what is left is below e^−12.
const LONGEST: f64 = 12.0;
const INTERVALS: u32 = 96;
/// Steps of a bisection.
const HALVINGS: u32 = 40;
/// Normal quantiles at which the time until a key is pushed out is evaluated.
const QUANTILES: i32 = 16;
/// Shares of a lifetime at which the number of deliveries is evaluated.
const SHARES: u32 = 64;
/// Ages of a repeat at which the probability of a miss is evaluated.
const AGES: u32 = 32;

pub(super) const TIMERS: Formula = Formula {
    by: "Koloniari et al. 2011: Bloom's formula over the keys of one window",
    trust: Trust::Approximation,
    loose: "bursts, and the first spans of a stream",
};
pub(super) const STAMPED: Formula = Formula {
    by: "Poisson distributed keys of one window per cache line, the oldest replaced",
    trust: Trust::Approximation,
    loose: "the first spans, and misses if the window hardly fits into the memory",
};
pub(super) const AGE_PARTITIONED: Formula = Formula {
    by: "Shtul, Baquero, Almeida 2020: a run of k set bits among slices of all ages",
    trust: Trust::Approximation,
    loose: "keys that come again right after their span: they are dropped more often",
};

/// The window of a filter on a stream.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window<'a> {
    workload: &'a Workload,
    /// The mean lifetime of a key in observations; in deliveries if the clock counts those.
    lifetime: f64,
    counts_deliveries: bool,
    /// The number of keys in the window after the first spans.
    settled: f64,
}

impl<'a> Window<'a> {
    pub fn new(workload: &'a Workload, clock: &WindowClock) -> Self {
        let lifetime = clock.mean_lifetime()
            * match clock.kind() {
                ClockKind::Seconds => workload.per_second(),
                ClockKind::Count | ClockKind::Deliveries => 1.0,
            };
        let counts_deliveries = clock.kind() == ClockKind::Deliveries;
        Window {
            workload,
            lifetime,
            counts_deliveries,
            settled: match counts_deliveries {
                true => lifetime,
                false => settled_keys(workload, lifetime),
            },
        }
    }

    /// Returns the number of keys in the window at a position.
    fn keys_at(&self, position: f64) -> f64 {
        let met = self.workload.distinct_within(position);
        match self.counts_deliveries {
            true => met.min(self.settled),
            false if position <= self.lifetime => met,
            false => {
                // Keys that were delivered together at the start are forgotten together.
                let first = self.workload.distinct_within(self.lifetime);
                let passed = (position / self.lifetime - 1.0).min(1.0);
                first + passed * (self.settled - first)
            }
        }
    }

    /// Evaluates a formula. `state` returns the FPR and the load for a number of keys in the window;
    /// `missed` returns the FNR at a position.
    pub fn predict(
        &self,
        formula: Formula,
        drops: Drops,
        state: impl Fn(f64) -> (f64, f64),
        missed: impl Fn(f64) -> f64,
    ) -> Prediction {
        let point = |position: f64| {
            let keys = self.effective_keys(position, drops, |keys| state(keys).0);
            let (fpr, load) = state(keys);
            PredictedPoint {
                position,
                fpr,
                fnr: missed(position),
                load,
            }
        };
        let points: Vec<PredictedPoint> = positions(self.workload).map(point).collect();
        Prediction::averaged(self.workload, formula, points)
    }

    /// Returns the number of keys without drops that would set as many cells at a position. While
    /// nothing is forgotten, everything that a dropped key would set is set already.
    fn effective_keys(&self, position: f64, drops: Drops, rate_of: impl Fn(f64) -> f64) -> f64 {
        let keys = self.keys_at(position);
        let forgets_nothing = position <= self.lifetime && !self.counts_deliveries;
        match drops {
            Drops::SetNothing if forgets_nothing || self.counts_deliveries => keys,
            Drops::SetNothing => largest(keys, |them| them <= keys * (1.0 - rate_of(them))),
            Drops::AreSetAlready { .. } if forgets_nothing => keys,
            Drops::AreSetAlready { k, cells } => {
                let arriving = match self.counts_deliveries {
                    true => keys / (1.0 - rate_of(keys)).max(0.01),
                    false => keys,
                };
                let load = timer_load(k, arriving * k / cells);
                -libm::log1p(-load) * cells / k
            }
        }
    }
}

/// What a key that is dropped would have set.
#[derive(Clone, Copy, Debug)]
pub(super) enum Drops {
    /// Cells of its own, which stay empty.
    SetNothing,
    /// Timers that are all in the window, and would be set again. A timer that is not in the
    /// window is set by every key that comes to it.
    AreSetAlready { k: f64, cells: f64 },
}

/// Returns the share of timers in the window, if a timer is chosen by so many arriving keys in a
/// lifetime.
///
/// A timer that is empty is set by the next key. While it is set, a key sets it again unless the
/// k − 1 other timers of the key are in the window too. If that happens at the rate r per lifetime,
/// it stays set for (e^r − 1)/r lifetimes.
fn timer_load(k: f64, arriving: f64) -> f64 {
    if arriving <= 0.0 {
        return 0.0;
    }
    let load_after = |load: f64| {
        let again = arriving * (1.0 - libm::pow(load, k - 1.0));
        let set = match again > 1e-9 {
            true => libm::expm1(again.min(500.0)) / again,
            false => 1.0,
        };
        set / (set + 1.0 / arriving)
    };
    largest(1.0 - 1e-12, |load| load <= load_after(load))
}

/// Returns the largest number up to `most` for which a condition holds that holds from 0 on.
fn largest(most: f64, holds: impl Fn(f64) -> bool) -> f64 {
    let (mut low, mut high) = (0.0, most);
    for _ in 0..HALVINGS {
        let middle = (low + high) / 2.0;
        match holds(middle) {
            true => low = middle,
            false => high = middle,
        }
    }
    high
}

/// Returns the number of keys in the window after the first spans.
fn settled_keys(workload: &Workload, lifetime: f64) -> f64 {
    let step = LONGEST / f64::from(INTERVALS);
    let at =
        |u: f64| libm::exp(-u) * workload.distinct_within((lifetime * u).min(workload.count()));
    // Simpson's rule; the rest is the last value times e^−LONGEST, which is negligible.
    let sum: f64 = (0..=INTERVALS)
        .map(|i| {
            let weight = match i {
                0 | INTERVALS => 1.0,
                _ if i % 2 == 1 => 4.0,
                _ => 2.0,
            };
            weight * at(f64::from(i) * step)
        })
        .sum();
    sum * step / 3.0
}

/// How soon keys are pushed out of their cache lines.
///
/// A key that has been pushed out is delivered again when it comes next. So if keys last for T
/// observations, the number of deliveries per observation is K(T)/T, with K as above. T is the time
/// until a cache line has received as many keys as it has entries.
#[derive(Clone, Copy, Debug)]
pub(super) struct PushedOut {
    /// The share of repeats that are missed.
    missed: f64,
    /// The position before which nothing is pushed out.
    from: f64,
}

impl PushedOut {
    pub fn of(window: &Window<'_>, clock: &WindowClock, lines: f64, entries: u64) -> Self {
        let (lifetime, capacity) = (window.lifetime, lines * entries as f64);
        if window.counts_deliveries {
            return PushedOut {
                missed: missed_at_uniform_ages(lifetime / lines, entries),
                from: capacity,
            };
        }
        // Deliveries per observation, if keys last for a share of their lifetime.
        let rates: Vec<f64> = (1..=SHARES)
            .map(|share| {
                let lasting = lifetime * f64::from(share) / f64::from(SHARES);
                settled_keys(window.workload, lasting) / lasting
            })
            .collect();
        let rate = |share: f64| {
            let at = (share * f64::from(SHARES)).clamp(1.0, f64::from(SHARES)) - 1.0;
            let below = (at as usize).min(rates.len() - 2);
            rates[below] + (at - below as f64) * (rates[below + 1] - rates[below])
        };
        // The mean of that, if keys last until they are pushed out or, at most, for `most`.
        let mean_rate = |deliveries: f64, most: f64| {
            let mean = capacity / (deliveries * lifetime).max(f64::MIN_POSITIVE);
            let (mut sum, mut weights) = (0.0, 0.0);
            for i in -QUANTILES..=QUANTILES {
                // The sum of so many waiting times, by the formula of Wilson and Hilferty.
                let z = 4.0 * f64::from(i) / f64::from(QUANTILES);
                let ninth = 1.0 / (9.0 * entries as f64);
                let root = 1.0 - ninth + z * libm::sqrt(ninth);
                let weight = libm::exp(-z * z / 2.0);
                sum += weight * rate((mean * root * root * root).min(most));
                weights += weight;
            }
            sum / weights
        };
        // More deliveries push keys out sooner, which causes more deliveries.
        let deliveries = largest(1.0, |deliveries| deliveries <= mean_rate(deliveries, 1.0));
        // A New after the span is right.
        let span = clock.span() as f64 / clock.mean_lifetime();
        let (new, with_missed) = (rate(span), mean_rate(deliveries, span));
        PushedOut {
            missed: ((with_missed - new) / (1.0 - new).max(1e-9)).clamp(0.0, 1.0),
            from: capacity.min(lifetime),
        }
    }

    pub fn missed_at(&self, position: f64) -> f64 {
        match position > self.from {
            true => self.missed,
            false => 0.0,
        }
    }
}

/// Returns the probability that a repeat is missed if a cache line receives so many keys in a
/// lifetime, and the time since the delivery of a repeat is uniform.
fn missed_at_uniform_ages(keys_per_line: f64, entries: u64) -> f64 {
    let missed = |age: u32| {
        let newer = keys_per_line * (f64::from(age) + 0.5) / f64::from(AGES);
        1.0 - poisson::below(newer, entries as f64)
    };
    (0..AGES).map(missed).sum::<f64>() / f64::from(AGES)
}
