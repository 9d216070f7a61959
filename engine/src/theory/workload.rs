//! What the formulas need to know about a stream: its length, its distinct keys, and the gaps of
//! repeats.
//!
//! Everything follows from one assumption, that the stream is **stationary**: the probability ρ(g)
//! that a position repeats the key g positions before it, with no occurrence in between, is the
//! same for every position that has g positions before it. Of N positions, N − g can be repeats at
//! gap g, so ρ(g) is the number of repeats counted at g, divided by N − g. Position t is a first
//! occurrence with probability 1 − Σ ρ(g) over g < t. A window of w positions has d(w) = w − Σ
//! ρ(g)·(w − g) distinct keys, and d(N) is the number of all keys.
//!
//! If no gaps were counted, those of `shuffle` streams are assumed: each of D keys occurs once,
//! and N − D further occurrences are uniform picks, all in random order. With μ = (N − D)/D
//! repeats per key, ρ(g) = D/N² · (2μ + μ²(1 − g/N)) · e^(−μg/N).
//!
//! **Inaccurate** if the stream changes: a crawl that moves from site to site, bursts, day and
//! night.

use super::gaps::GapHistogram;

/// The number of octaves of assumed gaps.
const OCTAVES: u32 = 40;
/// The number of assumed gaps per octave.
const STEPS: u32 = 12;

/// The number of positions along a stream at which formulas are evaluated.
const FINE_STEPS: usize = 256;
const COARSE_STEPS: usize = 80;
/// In a coarse workload, gaps of an octave are merged up to this share of all repeats.
const COARSE_SHARE: f64 = 0.02;

/// A stream, as the formulas describe it.
#[derive(Clone, Debug, PartialEq)]
pub struct Workload {
    count: f64,
    distinct: f64,
    gaps: Vec<GapRate>,
    /// The number of positions at which formulas are evaluated.
    steps: usize,
    seconds: f64,
}

/// Repeats at one gap.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct GapRate {
    pub gap: f64,
    /// The probability that a position is such a repeat.
    pub rate: f64,
    /// Sums over this and all shorter gaps: of the rates, and of rate times gap.
    rates: f64,
    moments: f64,
}

impl Workload {
    /// Returns a stream of `count` observations and `distinct` keys, with uniform repeats.
    pub fn uniform(count: u64, distinct: u64) -> Self {
        let (n, d) = (count as f64, (distinct as f64).max(1.0));
        let mean = ((n - d) / d).max(0.0);
        let rate = |x: f64| (2.0 * mean + mean * mean * (1.0 - x)) * libm::exp(-mean * x);
        let step = libm::exp(-core::f64::consts::LN_2 / f64::from(STEPS));
        let (mut upper, mut pairs) = (1.0, Vec::new());
        for _ in 0..OCTAVES * STEPS {
            let lower = upper * step;
            let middle = (upper + lower) / 2.0;
            // The expected number of repeats, at a gap of at least 1.
            let repeats = d * rate(middle) * (1.0 - middle) * (upper - lower);
            pairs.push(((middle * n).max(1.0), repeats));
            upper = lower;
        }
        pairs.reverse();
        Self::of_pairs(count, distinct, &pairs)
    }

    /// Returns a stream of `count` observations and `distinct` keys with these gaps. A sample of
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

    /// `pairs` are gaps in rising order, with the number of repeats at each.
    fn of_pairs(count: u64, distinct: u64, pairs: &[(f64, f64)]) -> Self {
        let n = count as f64;
        let repeats = count.saturating_sub(distinct) as f64;
        let counted: f64 = pairs.iter().map(|(_, repeats)| repeats).sum();
        let scale = if counted > 0.0 {
            repeats / counted
        } else {
            0.0
        };
        let gaps = pairs.iter().map(|&(gap, repeats)| {
            let rate = scale * repeats / (n - gap).max(1.0);
            (gap, rate)
        });
        Workload {
            count: n,
            distinct: distinct as f64,
            gaps: with_sums(gaps),
            steps: FINE_STEPS,
            seconds: n,
        }
    }

    /// Returns the same stream, which lasts so many seconds; by default one per observation. Only
    /// windows that are measured in seconds depend on it.
    pub fn lasting(self, seconds: f64) -> Self {
        Workload { seconds, ..self }
    }

    /// Returns the number of observations per second.
    pub fn per_second(&self) -> f64 {
        self.count / self.seconds.max(f64::MIN_POSITIVE)
    }

    /// Returns the same stream in less detail. Predictions take a fraction of the time, and their
    /// rates differ by about a hundredth.
    pub(crate) fn coarse(&self) -> Self {
        let all = self.gaps.last().map_or(0.0, |last| last.rates);
        let mut merged: Vec<(f64, f64)> = Vec::new();
        let mut start = 0.0;
        for repeats in &self.gaps {
            match merged.last_mut() {
                Some((gap, rate))
                    if repeats.gap < 2.0 * start && *rate + repeats.rate <= COARSE_SHARE * all =>
                {
                    let sum = *rate + repeats.rate;
                    *gap = (*gap * *rate + repeats.gap * repeats.rate) / sum;
                    *rate = sum;
                }
                _ => {
                    merged.push((repeats.gap, repeats.rate));
                    start = repeats.gap;
                }
            }
        }
        Workload {
            gaps: with_sums(merged.into_iter()),
            steps: COARSE_STEPS,
            ..*self
        }
    }

    /// Returns the number of positions at which formulas are evaluated.
    pub(super) fn steps(&self) -> usize {
        self.steps
    }

    /// Returns the number of observations.
    pub fn count(&self) -> f64 {
        self.count
    }

    /// Returns the number of distinct keys.
    pub fn distinct(&self) -> f64 {
        self.distinct
    }

    /// Returns the repeats that are possible at a position: those with shorter gaps.
    pub(super) fn repeats_at(&self, position: f64) -> &[GapRate] {
        let end = self.gaps.partition_point(|repeats| repeats.gap < position);
        &self.gaps[..end]
    }

    /// Returns the probability that the observation at a position is a repeat.
    pub fn repeat_rate(&self, position: f64) -> f64 {
        let last = self.repeats_at(position).last();
        last.map_or(0.0, |last| last.rates).min(1.0)
    }

    /// Returns d(w), the number of distinct keys in a window of so many observations.
    pub fn distinct_within(&self, window: f64) -> f64 {
        let shorter = self.repeats_at(window).last();
        let repeats = shorter.map_or(0.0, |last| window * last.rates - last.moments);
        (window - repeats).clamp(window.min(1.0), window)
    }
}

/// Adds the running sums to gaps in rising order.
fn with_sums(pairs: impl Iterator<Item = (f64, f64)>) -> Vec<GapRate> {
    let (mut rates, mut moments) = (0.0, 0.0);
    let gaps = pairs.filter(|(_, rate)| *rate > 0.0).map(|(gap, rate)| {
        rates += rate;
        moments += rate * gap;
        GapRate {
            gap,
            rate,
            rates,
            moments,
        }
    });
    gaps.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_of_the_whole_stream_has_all_keys() {
        for (count, distinct) in [(1_000_000, 150_000), (1000, 900), (50, 50), (100_000, 10)] {
            let workload = Workload::uniform(count, distinct);
            let found = workload.distinct_within(count as f64);
            assert!(
                (found / distinct as f64 - 1.0).abs() < 0.02,
                "{count}: {found}"
            );
        }
    }

    /// Each of D keys occurs 1 + μ times on average, each time in the window with probability w/N.
    #[test]
    fn a_window_of_uniform_repeats_has_the_expected_number_of_keys() {
        let (n, d) = (1e6, 3e5);
        let workload = Workload::uniform(n as u64, d as u64);
        let mean = (n - d) / d;
        for share in [0.01, 0.1, 0.3, 0.5, 0.8] {
            // The generating function of 1 + Poisson(μ), at the probability of being outside.
            let expected = d * (1.0 - (1.0 - share) * libm::exp(-mean * share));
            let found = workload.distinct_within(share * n);
            assert!(
                (found / expected - 1.0).abs() < 0.005,
                "{share}: {found}, {expected}"
            );
        }
    }
}
