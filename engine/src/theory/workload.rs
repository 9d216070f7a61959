//! What theory needs to know of a stream: its length, its keys, how far back repeats lie.
//!
//! Everything follows from one assumption, that the stream is **stationary**: the chance
//! that a place repeats the key g places before it, and none in between, is the same for
//! every place that has g places before it. Call it ρ(g). Then of N places N − g could
//! repeat at the gap g, so ρ(g) is the number of repeats counted at g, over N − g. A place
//! t is a first occurrence with the chance 1 − Σ ρ(g) over g < t, and any window of w
//! places has d(w) = w − Σ ρ(g)·(w − g) distinct keys, d(N) being all of them.
//!
//! Where no gaps were counted, those of `shuffle` streams are taken: D keys of which each
//! comes once, and N − D uniform picks, all in random order. With μ = (N − D)/D repeats a
//! key, ρ(g) = D/N² · (2μ + μ²(1 − g/N)) · e^(−μg/N).
//!
//! **Loose** where habits change along the stream: a crawl that moves from site to site,
//! bursts, a log of day and night.

use super::gaps::GapHistogram;

/// Octaves of gaps, where none were counted.
const OCTAVES: u32 = 40;
/// Gaps an octave, where none were counted.
const STEPS: u32 = 12;

/// Steps along a stream.
const FINE_STEPS: usize = 256;
const COARSE_STEPS: usize = 80;
/// Gaps of an octave with less than this share of all repeats are taken for one.
const COARSE_SHARE: f64 = 0.02;

/// A stream, as theory sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct Workload {
    count: f64,
    distinct: f64,
    atoms: Vec<Atom>,
    /// Steps along the stream at which formulas are worked out.
    steps: usize,
}

/// Repeats at one gap.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Atom {
    pub gap: f64,
    /// The chance that a place is such a repeat.
    pub rate: f64,
    /// Of this and all shorter gaps: the sum of the rates, and of rate times gap.
    rates: f64,
    moments: f64,
}

impl Workload {
    /// A stream of `count` places and `distinct` keys, picked uniformly.
    pub fn uniform(count: u64, distinct: u64) -> Self {
        let (n, d) = (count as f64, (distinct as f64).max(1.0));
        let mean = ((n - d) / d).max(0.0);
        let rate = |x: f64| (2.0 * mean + mean * mean * (1.0 - x)) * libm::exp(-mean * x);
        let step = libm::exp(-core::f64::consts::LN_2 / f64::from(STEPS));
        let (mut upper, mut pairs) = (1.0, Vec::new());
        for _ in 0..OCTAVES * STEPS {
            let lower = upper * step;
            let middle = (upper + lower) / 2.0;
            // As many repeats as there would be, at a gap that is at least one place.
            let repeats = d * rate(middle) * (1.0 - middle) * (upper - lower);
            pairs.push(((middle * n).max(1.0), repeats));
            upper = lower;
        }
        pairs.reverse();
        Self::of_pairs(count, distinct, &pairs)
    }

    /// A stream of `count` places and `distinct` keys whose gaps were counted. A sample of
    /// gaps is scaled to the number of repeats.
    pub fn with_gaps(count: u64, distinct: u64, gaps: &GapHistogram) -> Self {
        if gaps.total() == 0 {
            return Self::uniform(count, distinct);
        }
        let pairs: Vec<(f64, f64)> = gaps
            .buckets()
            .map(|bucket| {
                let to = bucket.to.min(count.saturating_sub(1)).max(bucket.from);
                ((bucket.from as f64 + to as f64) / 2.0, bucket.count as f64)
            })
            .collect();
        Self::of_pairs(count, distinct, &pairs)
    }

    /// Gaps in rising order with the number of repeats that have them.
    fn of_pairs(count: u64, distinct: u64, pairs: &[(f64, f64)]) -> Self {
        let n = count as f64;
        let repeats = count.saturating_sub(distinct) as f64;
        let counted: f64 = pairs.iter().map(|(_, repeats)| repeats).sum();
        let scale = if counted > 0.0 {
            repeats / counted
        } else {
            0.0
        };
        let atoms = pairs.iter().map(|&(gap, repeats)| {
            let rate = scale * repeats / (n - gap).max(1.0);
            (gap, rate)
        });
        Workload {
            count: n,
            distinct: distinct as f64,
            atoms: summed(atoms),
            steps: FINE_STEPS,
        }
    }

    /// The same stream known less well: a fraction of the work for those who ask about many
    /// filters, and rates that differ by a hundredth or so.
    pub(crate) fn coarse(&self) -> Self {
        let all = self.atoms.last().map_or(0.0, |atom| atom.rates);
        let mut merged: Vec<(f64, f64)> = Vec::new();
        let mut start = 0.0;
        for atom in &self.atoms {
            match merged.last_mut() {
                Some((gap, rate))
                    if atom.gap < 2.0 * start && *rate + atom.rate <= COARSE_SHARE * all =>
                {
                    *gap = (*gap * *rate + atom.gap * atom.rate) / (*rate + atom.rate);
                    *rate += atom.rate;
                }
                _ => {
                    merged.push((atom.gap, atom.rate));
                    start = atom.gap;
                }
            }
        }
        Workload {
            atoms: summed(merged.into_iter()),
            steps: COARSE_STEPS,
            ..*self
        }
    }

    /// Steps along the stream.
    pub(super) fn steps(&self) -> usize {
        self.steps
    }

    /// Places.
    pub fn count(&self) -> f64 {
        self.count
    }

    /// Keys.
    pub fn distinct(&self) -> f64 {
        self.distinct
    }

    /// The repeats that a place with `position` places before it may be.
    pub(super) fn repeats_at(&self, position: f64) -> &[Atom] {
        let end = self.atoms.partition_point(|atom| atom.gap < position);
        &self.atoms[..end]
    }

    /// The chance that a place is a repeat.
    pub fn repeat_rate(&self, position: f64) -> f64 {
        let last = self.repeats_at(position).last();
        last.map_or(0.0, |atom| atom.rates).min(1.0)
    }

    /// The distinct keys of a window of so many places, d(w).
    pub fn distinct_within(&self, window: f64) -> f64 {
        let shorter = self.repeats_at(window).last();
        let repeats = shorter.map_or(0.0, |atom| window * atom.rates - atom.moments);
        (window - repeats).clamp(window.min(1.0), window)
    }
}

/// Gaps in rising order with their rates, and the sums of these.
fn summed(pairs: impl Iterator<Item = (f64, f64)>) -> Vec<Atom> {
    let (mut rates, mut moments) = (0.0, 0.0);
    let atoms = pairs.filter(|(_, rate)| *rate > 0.0).map(|(gap, rate)| {
        rates += rate;
        moments += rate * gap;
        Atom {
            gap,
            rate,
            rates,
            moments,
        }
    });
    atoms.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_keys_are_in_the_window_of_all_places() {
        for (count, distinct) in [(1_000_000, 150_000), (1000, 900), (50, 50), (100_000, 10)] {
            let workload = Workload::uniform(count, distinct);
            let found = workload.distinct_within(count as f64);
            assert!(
                (found / distinct as f64 - 1.0).abs() < 0.02,
                "{count}: {found}"
            );
        }
    }

    /// d(w) of uniform picks: each of D keys has 1 + μ places on average, each of which is
    /// in the window with the chance w/N.
    #[test]
    fn a_window_of_uniform_picks_has_the_keys_it_should() {
        let (n, d) = (1e6, 3e5);
        let workload = Workload::uniform(n as u64, d as u64);
        let mean = (n - d) / d;
        for share in [0.01, 0.1, 0.3, 0.5, 0.8] {
            // The generating function of 1 + Poisson(μ), at the chance to be outside.
            let expected = d * (1.0 - (1.0 - share) * libm::exp(-mean * share));
            let found = workload.distinct_within(share * n);
            assert!(
                (found / expected - 1.0).abs() < 0.005,
                "{share}: {found}, {expected}"
            );
        }
    }
}
