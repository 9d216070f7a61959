//! `poisson:λ:U` and `bmodel:B:L:V:U`: arrivals of frequent keys among keys that occur once.
//!
//! The synthetic data of Deng and Rafiei, "Approximately Detecting Duplicates for Streaming Data
//! using Stable Bloom Filters", 2006, section 5.1, in two steps. First, some positions of the
//! stream are arrivals of frequent keys; every other position has a key that occurs only once.
//! Second, each arrival becomes the frequent key number i with probability q_i, exponential with
//! mean u: here the integer part of an exponential variate, q_i = e^(−i/u)·(1 − e^(−1/u)). A larger
//! u gives less skew.
//!
//! **Poisson**: a share λ of the positions are arrivals, at exponential distances of mean 1/λ.
//! Positions are integers, and a distance rounded up is geometric. So each position is an arrival
//! with probability λ, independently.
//!
//! **b-model** (bursts): v·N positions are arrivals. The stream is halved l times. Each time, one
//! half gets the share b of the arrivals and the other half 1 − b. Within the last spans, arrivals
//! have random positions. The paper gives the share b to the first half "for the ease of
//! presentation". Here a coin from the seed decides, as in the b-model itself (Wang et al., "Data
//! mining meets performance evaluation", 2002). The fullest span must have enough positions:
//! v·(2b)^l ≤ 1, the paper's l ≤ ln v / ln(1/2b).
//!
//! Frequent keys have numbers below 37·u, which no exponential variate of 53 random bits reaches.
//! Keys that occur once are numbered from there.

use rand::Rng;

use crate::fingerprint::{KeyHasher, reduce};

/// −ln(2^−53) is less than this number.
const FREQUENT_MEANS: u64 = 37;

/// A stream of frequent keys among keys that occur once.
#[derive(Clone, Debug)]
pub(super) struct Arrivals {
    pattern: Pattern,
    /// u, the mean number of a frequent key.
    mean: u64,
    once: u64,
}

#[derive(Clone, Debug)]
enum Pattern {
    /// A probability, in units of 2^−64.
    Independent {
        threshold: u128,
    },
    Bursts(Bursts),
}

impl Arrivals {
    pub fn poisson(rate: f64, mean: u64) -> Self {
        let threshold = (rate * (1u128 << 64) as f64) as u128;
        Self::with(Pattern::Independent { threshold }, mean)
    }

    pub fn bursts(bursts: Bursts, mean: u64) -> Self {
        Self::with(Pattern::Bursts(bursts), mean)
    }

    fn with(pattern: Pattern, mean: u64) -> Self {
        Arrivals {
            pattern,
            mean,
            once: 0,
        }
    }

    /// Returns a bound on the key numbers in a stream of `count` positions.
    pub fn universe(&self, count: u64) -> u64 {
        self.mean * FREQUENT_MEANS + count
    }

    #[inline]
    pub fn next(&mut self, rng: &mut impl Rng) -> u64 {
        let draw = rng.next_u64();
        let arrives = match &mut self.pattern {
            Pattern::Independent { threshold } => u128::from(draw) < *threshold,
            Pattern::Bursts(bursts) => bursts.arrives(draw),
        };
        if !arrives {
            self.once += 1;
            return self.mean * FREQUENT_MEANS + self.once - 1;
        }
        let uniform = (rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
        (-libm::log1p(-uniform) * self.mean as f64) as u64
    }
}

/// The positions of arrivals under the b-model.
#[derive(Clone, Debug)]
pub(super) struct Bursts {
    count: u64,
    bias: f64,
    levels: u32,
    volume: f64,
    coin: KeyHasher,
    position: u64,
    span_left: u64,
    arrivals_left: u64,
}

impl Bursts {
    pub fn new(count: u64, bias: f64, levels: u32, volume: f64, seed: u64) -> Self {
        Bursts {
            count,
            bias,
            levels,
            volume,
            coin: KeyHasher::new(seed),
            position: 0,
            span_left: 0,
            arrivals_left: 0,
        }
    }

    /// The position where a span starts.
    fn start(&self, span: u64) -> u64 {
        ((u128::from(self.count) * u128::from(span)) >> self.levels) as u64
    }

    /// The share of the positions of a span that are arrivals.
    fn density(&self, span: u64) -> f64 {
        let mut density = self.volume;
        for level in 0..self.levels {
            let path = span >> (self.levels - level);
            let node = (1u64 << level) | path;
            let second = (span >> (self.levels - level - 1)) & 1;
            let fuller = self.coin.fingerprint(&node.to_le_bytes()).0 & 1;
            density *= match second == fuller {
                true => 2.0 * self.bias,
                false => 2.0 * (1.0 - self.bias),
            };
        }
        density
    }

    /// Enters the span of the next position. Spans without a position are skipped.
    fn enter(&mut self) {
        let ends = (u128::from(self.position) + 1) << self.levels;
        let span = (ends.div_ceil(u128::from(self.count)) - 1) as u64;
        self.span_left = self.start(span + 1) - self.position;
        let arrivals = self.density(span) * self.span_left as f64;
        let coin = self
            .coin
            .fingerprint(&[&span.to_le_bytes()[..], b"rounding"].concat());
        let uniform = (coin.0 >> 11) as f64 / (1u64 << 53) as f64;
        let arrivals = (arrivals + uniform) as u64;
        self.arrivals_left = arrivals.min(self.span_left);
    }

    #[inline]
    fn arrives(&mut self, draw: u64) -> bool {
        if self.span_left == 0 {
            self.enter();
        }
        self.position += 1;
        let arrives = reduce(draw, self.span_left) < self.arrivals_left;
        self.span_left -= 1;
        self.arrivals_left -= u64::from(arrives);
        arrives
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{distinct, numbers};
    use super::*;

    fn arrivals(keys: &[u64], mean: u64) -> usize {
        let frequent = |key: &&u64| **key < FREQUENT_MEANS * mean;
        keys.iter().filter(frequent).count()
    }

    /// Distinct keys are those that occur once, and every frequent key that occurs at all. At
    /// 200,000 positions the standard error is below 0.15 % of the positions.
    #[test]
    fn poisson_has_the_expected_share_of_distinct_keys() {
        for (rate, mean) in [(0.5, 1000u64), (0.9, 100_000), (0.05, 10)] {
            let count = 200_000;
            let keys = numbers(&format!("poisson:{rate}:{mean}"), count, 3);
            let step = (1.0 / mean as f64).exp_m1();
            let occurs = |i: u64| {
                let probability = rate * (-(i as f64 + 1.0) / mean as f64).exp() * step;
                -(count as f64 * (-probability).ln_1p()).exp_m1()
            };
            let frequent: f64 = (0..FREQUENT_MEANS * mean).map(occurs).sum();
            let expected = (1.0 - rate) + frequent / count as f64;
            let found = distinct(&keys) as f64 / count as f64;
            assert!((found - expected).abs() < 0.005, "{found}, {expected}");
        }
    }

    /// The distance between arrivals is geometric: half of them are at most the median.
    #[test]
    fn poisson_arrivals_have_geometric_distances() {
        let (rate, count) = (0.02f64, 500_000);
        let keys = numbers("poisson:0.02:1000", count, 8);
        let mut distances = Vec::new();
        let mut before = None;
        for (position, &key) in keys.iter().enumerate() {
            if key < FREQUENT_MEANS * 1000 {
                distances.extend(before.map(|before: usize| (position - before) as f64));
                before = Some(position);
            }
        }
        for until in [10.0, 35.0, 100.0] {
            let law = 1.0 - (1.0 - rate).powf(until);
            let near = distances.iter().filter(|&&d| d <= until).count();
            let found = near as f64 / distances.len() as f64;
            // 10,000 distances: the standard error is at most 0.5 %.
            assert!((found - law).abs() < 0.02, "{until}: {found}, {law}");
        }
    }

    #[test]
    fn popularity_is_exponential() {
        let keys = numbers("poisson:1:1000", 200_000, 5);
        for until in [100u64, 1000, 3000] {
            let law = 1.0 - (-(until as f64) / 1000.0).exp();
            let low = keys.iter().filter(|&&key| key < until).count();
            let found = low as f64 / keys.len() as f64;
            assert!((found - law).abs() < 0.005, "{until}: {found}, {law}");
        }
    }

    /// Counts are exact except for the rounding in each span.
    #[test]
    fn bursts_split_each_span_by_the_bias() {
        let count = 1u64 << 16;
        let keys = numbers(&format!("bmodel:0.7:4:0.2:{}", 1000), count, 6);
        assert!((arrivals(&keys, 1000) as f64 - 0.2 * count as f64).abs() <= 16.0);
        for level in 0..4u32 {
            let span = (count >> level) as usize;
            for parent in keys.chunks(span) {
                let whole = arrivals(parent, 1000) as f64;
                let half = arrivals(&parent[..span / 2], 1000) as f64;
                let larger = half.max(whole - half);
                assert!((larger / whole - 0.7).abs() < 0.03, "{larger} of {whole}");
            }
        }
        let first_is_larger = keys
            .chunks(1 << 13)
            .filter(|span| arrivals(&span[..1 << 12], 1000) > arrivals(&span[1 << 12..], 1000));
        assert!((1..8).contains(&first_is_larger.count()), "a fair coin");
    }

    #[test]
    fn without_bias_there_are_no_bursts() {
        let keys = numbers("bmodel:0.5:8:1:10", 1000, 6);
        assert_eq!(arrivals(&keys, 10), 1000);
        let keys = numbers("bmodel:0.5:6:0.25:10", 6400, 6);
        for span in keys.chunks(100) {
            assert_eq!(arrivals(span, 10), 25);
        }
    }

    #[test]
    fn more_spans_than_positions_are_allowed() {
        assert_eq!(numbers("bmodel:0.5:32:0.5:10", 7, 1).len(), 7);
    }
}
