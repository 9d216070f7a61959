//! Filters of bits that insertions set and clear: Bloom, RSBF, BSBF, BSBFSD, RLBSBF.
//!
//! Let L be the load, and let an insertion set a given bit with the chance a and clear it
//! with the chance c(L). With n insertions so far, dL/dn = a·(1 − L) − c·L. A bit that is
//! known to be set now follows the same equation from 1, and the difference of two
//! solutions shrinks by a + c an insertion; so after a gap it is still set with the chance
//! q = L(t) + (1 − L(t − g))·e^−∫(a + c)dn. A new key is dropped with the chance L^k, a
//! repeat missed with 1 − q^k. What is inserted are first occurrences that are not dropped
//! and repeats that are missed, which closes the circle; it is solved step by step.
//!
//! Bera et al., 2012, have the equation for L (their Eq. 4.3, 4.5 and 5.2, there for
//! X = L^k). Their FNR, (1 − Y)(1 − X), treats a repeat as if its key had never been
//! inserted, and is far too high; q is what it lacks.

use super::prediction::{Formula, PredictedPoint, Prediction, Trust, positions, step_of};
use super::workload::Workload;

/// Which arrivals are inserted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Inserts {
    /// Those reported New.
    New,
    /// Any, with a chance of s/i at the i-th place.
    Reservoir,
}

/// How insertions treat a bit.
#[derive(Clone, Copy, Debug)]
struct Rules {
    /// Bits a key.
    k: f64,
    /// Bits a part; all bits, where there is one.
    span: f64,
    /// The chance that an insertion sets a given bit.
    set: f64,
    /// The chance that it clears one, without the load's share in it.
    clear: f64,
    /// Whether that chance is multiplied by the load.
    by_load: bool,
    /// How many arrivals clear nothing.
    spared: f64,
    inserts: Inserts,
}

const MANY_CELLS: &str = "few cells, or habits that change along the stream";

/// A Bloom filter of `cells` bits in all.
pub(super) fn bloom(workload: &Workload, k: f64, cells: f64, partitioned: bool) -> Prediction {
    let formula = Formula {
        by: match partitioned {
            true => "Bloom 1970, in parts: (1 − (1 − k/m)^n)^k over the stream",
            false => "Bloom 1970: (1 − (1 − 1/m)^(kn))^k over the stream",
        },
        trust: Trust::Exact,
        loose: MANY_CELLS,
    };
    let kept = match partitioned {
        true => libm::log1p(-(k / cells).min(1.0 - 1e-12)),
        false => k * libm::log1p(-(1.0 / cells).min(1.0 - 1e-12)),
    };
    let load = |t: f64| -libm::expm1(kept * workload.distinct_within(t));
    Prediction::of_state(
        workload,
        formula,
        |t| (libm::pow(load(t), k), load(t)),
        |_| 0.0,
    )
}

pub(super) fn bsbf(workload: &Workload, k: f64, cells: f64) -> Prediction {
    let formula = mean_field("Bera et al. 2012, Eq. 4.3, with the set bits of repeats");
    let span = cells / k;
    evolve(workload, formula, &rules(k, span, 1.0 / span, false))
}

pub(super) fn bsbfsd(workload: &Workload, k: f64, cells: f64) -> Prediction {
    let formula = mean_field("Bera et al. 2012, section 4.3, with the set bits of repeats");
    let span = cells / k;
    evolve(workload, formula, &rules(k, span, 1.0 / cells, false))
}

pub(super) fn rlbsbf(workload: &Workload, k: f64, cells: f64) -> Prediction {
    let formula = mean_field("Bera et al. 2012, Eq. 5.2, with the set bits of repeats");
    let span = cells / k;
    evolve(workload, formula, &rules(k, span, 1.0 / span, true))
}

pub(super) fn rsbf(workload: &Workload, k: f64, cells: f64, published: bool) -> Prediction {
    let formula = Formula {
        by: match published {
            true => {
                "Bera et al. 2012, Eq. 3.27 as its tables are read, with the set bits of repeats"
            }
            false => "Bera et al. 2012, Eq. 3.27, with the set bits of repeats",
        },
        trust: Trust::Approximation,
        loose: match published {
            true => "repeats of repeats: the bits of a key are taken for independent",
            false => {
                "as the other reading; and streams so long that bits are exchanged, past s/p* keys"
            }
        },
    };
    let span = cells / k;
    let rules = Rules {
        inserts: Inserts::Reservoir,
        spared: if published { 0.0 } else { span },
        ..rules(k, span, 1.0 / span, false)
    };
    evolve(workload, formula, &rules)
}

fn mean_field(by: &'static str) -> Formula {
    Formula {
        by,
        trust: Trust::Approximation,
        loose: MANY_CELLS,
    }
}

fn rules(k: f64, span: f64, clear: f64, by_load: bool) -> Rules {
    Rules {
        k,
        span,
        set: 1.0 / span,
        clear,
        by_load,
        spared: 0.0,
        inserts: Inserts::New,
    }
}

/// The state along the stream, as far as it is known.
struct History<'a> {
    workload: &'a Workload,
    load: Vec<f64>,
    /// ∫(a + c)dn.
    decay: Vec<f64>,
    /// The chance that a bit of an arriving key is set before it is inserted.
    found: Vec<f64>,
}

impl History<'_> {
    fn at(&self, series: &[f64], position: f64) -> f64 {
        let (place, part) = step_of(self.workload, position);
        let last = series.len() - 1;
        let (low, high) = (series[place.min(last)], series[(place + 1).min(last)]);
        low + part * (high - low)
    }

    /// The chance that a repeat is missed at `now`, averaged over its gaps, and that one
    /// of its bits is set.
    fn repeats(&self, rules: &Rules, now: f64) -> (f64, f64, f64) {
        let last = self.load.len() - 1;
        let (load, decay) = (self.load[last], self.decay[last]);
        let (mut missed, mut set, mut rate) = (0.0, 0.0, 0.0);
        for atom in self.workload.repeats_at(now) {
            let then = now - atom.gap;
            let left = libm::exp(self.at(&self.decay, then) - decay);
            let was = self.at(&self.load, then);
            let known = load + (1.0 - was) * left;
            let (all, one) = match rules.inserts {
                Inserts::New => (power(known, rules.k), known),
                Inserts::Reservoir => {
                    let chance = (rules.span / then.max(1.0)).min(1.0);
                    let found = load + (self.at(&self.found, then) - was) * left;
                    let mix = |a: f64, b: f64| chance * a + (1.0 - chance) * b;
                    (
                        mix(power(known, rules.k), power(found, rules.k)),
                        mix(known, found),
                    )
                }
            };
            missed += atom.rate * (1.0 - all).max(0.0);
            set += atom.rate * one;
            rate += atom.rate;
        }
        (missed, set, rate.min(1.0))
    }
}

fn power(base: f64, exponent: f64) -> f64 {
    libm::pow(base.clamp(0.0, 1.0), exponent)
}

fn evolve(workload: &Workload, formula: Formula, rules: &Rules) -> Prediction {
    let mut history = History {
        workload,
        load: vec![0.0],
        decay: vec![0.0],
        found: vec![0.0],
    };
    let mut points: Vec<PredictedPoint> = vec![PredictedPoint::default()];
    let mut speed_before = 1.0;
    let mut before = 0.0;
    for position in positions(workload).skip(1) {
        let step = position - before;
        let load = history.load[history.load.len() - 1];
        let decay = history.decay[history.decay.len() - 1];
        let found = history.found[history.found.len() - 1];
        history.load.push(load);
        history.decay.push(decay);
        history.found.push(found);
        let mut speed = speed_before;
        let (mut missed, mut rate) = (0.0, 0.0);
        // Twice: with the speed there was, then with the mean of it and the one there is.
        for _ in 0..2 {
            let insertions = step * (speed_before + speed) / 2.0;
            let clears = position > rules.spared;
            let (next, faded) = advance(rules, load, insertions, clears);
            let last = history.load.len() - 1;
            history.load[last] = next;
            history.decay[last] = decay + faded;
            let (misses, set, repeats) = history.repeats(rules, position);
            history.found[last] = (1.0 - repeats) * next + set;
            (missed, rate) = (misses, repeats);
            speed = match rules.inserts {
                Inserts::New => (1.0 - repeats) * (1.0 - power(next, rules.k)) + misses,
                Inserts::Reservoir => (rules.span / position.max(1.0)).min(1.0),
            };
        }
        let load = history.load[history.load.len() - 1];
        points.push(PredictedPoint {
            position,
            fpr: power(load, rules.k),
            fnr: if rate > 0.0 { missed / rate } else { 0.0 },
            load,
        });
        (before, speed_before) = (position, speed);
    }
    Prediction::averaged(workload, formula, points)
}

/// The load after some insertions, and by how much what was known has faded. Where the
/// clearing depends on the load, in several strides with the load of each.
fn advance(rules: &Rules, mut load: f64, insertions: f64, clears: bool) -> (f64, f64) {
    const STRIDES: u32 = 8;
    let mut faded = 0.0;
    let stride = insertions / f64::from(STRIDES);
    for _ in 0..STRIDES {
        let clear = match (clears, rules.by_load) {
            (false, _) => 0.0,
            (true, false) => rules.clear,
            (true, true) => rules.clear * load,
        };
        let pace = rules.set + clear;
        let rest = rules.set / pace;
        let left = libm::exp(-pace * stride);
        load = rest + (load - rest) * left;
        faded += pace * stride;
    }
    (load, faded)
}
