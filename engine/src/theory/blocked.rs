//! Bloom filters with one cache line per key, with or without a cap on the load of a line.
//!
//! Cache lines have different numbers of keys: Poisson distributed, with mean d(t)/lines. Below
//! the cap a line with j keys has the load 1 − (1 − 1/512)^(kj) and forgets nothing. A key is
//! inserted only if one of its bits is clear, so an insertion sets more clear bits than k(1 − L):
//! k(1 − L)/(1 − L^k) for a new key, and k(1 − q)/(1 − q^k) for a repeat of which each bit is
//! still set with probability q. Let b be the probability that an insertion sets a given clear
//! bit. At the cap, insertions clear with the probability φ that balances what they set: φ·L·k/512
//! = (1 − L)·b. The bit of a known key is still set after n insertions with probability L + (1 −
//! L)·e^−(b + φk/512)n.

use super::CACHE_LINE_BITS;
use super::poisson;
use super::power::power;
use super::prediction::{Formula, PredictedPoint, Prediction, Trust, positions, step_of};
use super::workload::Workload;
use crate::filter::{CappedLines, Places};

/// How many classes of cache lines are distinguished, by their number of keys.
const KINDS: usize = 20;

/// The geometry of a blocked Bloom filter.
#[derive(Clone, Copy, Debug)]
pub(super) struct Blocked {
    pub lines: f64,
    pub line_bits: f64,
    pub k: f64,
    /// A key has at most one bit in each word, so its bits are different ones.
    pub is_split: bool,
    /// The share of a cache line's bits above which it forgets.
    pub cap: f64,
}

impl Blocked {
    pub fn of<P: Places>(filter: &CappedLines<P>, is_split: bool) -> Self {
        Blocked {
            lines: filter.lines() as f64,
            line_bits: CACHE_LINE_BITS,
            k: filter.k().into(),
            is_split,
            cap: f64::from(filter.cap_percent()) / 100.0,
        }
    }

    /// Returns the logarithm of the probability that an insertion leaves a clear bit clear.
    fn kept(&self) -> f64 {
        match self.is_split {
            true => libm::log1p(-self.k / self.line_bits),
            false => self.k * libm::log1p(-1.0 / self.line_bits),
        }
    }

    /// Returns the load at which a cache line stays: the cap, or the load at which clearing
    /// always balances setting.
    fn rest(&self) -> f64 {
        self.cap.max(0.5)
    }

    /// Returns the number of keys that fill a cache line to that load.
    fn keys_to_rest(&self) -> f64 {
        match self.cap < 1.0 {
            true => libm::log1p(-self.rest()) / self.kept(),
            false => f64::INFINITY,
        }
    }

    fn load_of(&self, keys: f64) -> f64 {
        match keys < self.keys_to_rest() {
            true => -libm::expm1(self.kept() * keys),
            false => self.rest(),
        }
    }

    /// Returns the share of new keys that are inserted into a cache line at rest.
    fn inserted_share(&self) -> f64 {
        1.0 - power(self.rest(), self.k).min(0.99)
    }

    /// Returns the factor by which an insertion into a cache line at rest sets more bits than k
    /// random positions would, given the shares of insertions that are new keys and missed
    /// repeats.
    fn sets(&self, firsts: f64, missed: f64, fnr: f64) -> f64 {
        let by_first = 1.0 / self.inserted_share();
        if missed <= 0.0 || fnr <= 0.0 {
            return by_first;
        }
        let q = power(1.0 - fnr, 1.0 / self.k);
        let by_repeat = (1.0 - q) / fnr / (1.0 - self.rest()).max(1e-9);
        (firsts * by_first + missed * by_repeat) / (firsts + missed)
    }

    /// Returns the probability that a repeat is missed after its cache line, at rest, took so many
    /// keys, each of which sets `sets` times as many bits as random positions would.
    fn miss_after(&self, keys: f64, sets: f64) -> f64 {
        if keys <= 0.0 {
            return 0.0;
        }
        let rest = self.rest();
        let clears = (sets * (1.0 - rest) / rest).min(1.0);
        let left = libm::exp(self.kept() * (sets + clears) * keys);
        1.0 - power(rest + (1.0 - rest) * left, self.k)
    }

    pub fn predict(&self, workload: &Workload) -> Prediction {
        let formula = Formula {
            by: "Putze et al. 2007: a Poisson mixture over cache lines; above the cap as Bera et al. 2012",
            trust: Trust::Approximation,
            loose: "cache lines near the cap, whose load is taken to be its mean",
        };
        let mut inserted: Vec<f64> = vec![0.0];
        let mut points = vec![PredictedPoint::default()];
        let (mut before, mut speed_before) = (0.0, 1.0);
        let mut sets = self.sets(1.0, 0.0, 0.0);
        for position in positions(workload).skip(1) {
            let start = inserted[inserted.len() - 1];
            inserted.push(start);
            let mut speed = speed_before;
            let mut point = PredictedPoint::default();
            for _ in 0..2 {
                let last = inserted.len() - 1;
                let step = (position - before) * (speed_before + speed) / 2.0;
                inserted[last] = start + step / self.lines;
                point = self.point(workload, &inserted, position, sets);
                let repeats = workload.repeat_rate(position);
                let firsts = (1.0 - repeats) * (1.0 - point.fpr);
                speed = firsts + repeats * point.fnr;
                sets = self.sets(firsts, repeats * point.fnr, point.fnr);
            }
            points.push(point);
            (before, speed_before) = (position, speed);
        }
        Prediction::averaged(workload, formula, points)
    }

    fn point(&self, workload: &Workload, inserted: &[f64], now: f64, sets: f64) -> PredictedPoint {
        let mean = workload.distinct_within(now) / self.lines;
        let lines = poisson::discretized(mean, KINDS);
        let inserted_now = inserted[inserted.len() - 1];
        let to_rest = self.keys_to_rest();
        let (mut fpr, mut load) = (0.0, 0.0);
        for &(keys, probability) in &lines {
            fpr += probability * power(self.load_of(keys), self.k);
            load += probability * self.load_of(keys);
        }
        let at_rest = lines.iter().filter(|(keys, _)| *keys > to_rest);
        let at_rest: Vec<(f64, f64)> = at_rest
            .map(|&(keys, probability)| ((keys - to_rest) * self.inserted_share(), probability))
            .collect();
        let (mut missed, mut rate) = (0.0, 0.0);
        if !at_rest.is_empty() {
            let misses = Misses::new(self, &at_rest, inserted_now, sets);
            for repeats in workload.repeats_at(now) {
                let (step, part) = step_of(workload, now - repeats.gap);
                let last = inserted.len() - 1;
                let (low, high) = (inserted[step.min(last)], inserted[(step + 1).min(last)]);
                missed += repeats.rate * misses.after(inserted_now - (low + part * (high - low)));
                rate += repeats.rate;
            }
        }
        PredictedPoint {
            position: now,
            fpr,
            fnr: if rate > 0.0 { missed / rate } else { 0.0 },
            load,
        }
    }
}

/// The probability that a repeat is missed, by the number of keys that its cache line took since.
/// It is tabulated for some numbers of keys and interpolated for others, as every gap needs its
/// own.
struct Misses {
    most: f64,
    table: [f64; Self::STEPS + 1],
}

impl Misses {
    const STEPS: usize = 24;

    /// `at_rest` are the numbers of keys that cache lines took since they are at rest, with their
    /// probabilities.
    fn new(blocked: &Blocked, at_rest: &[(f64, f64)], inserted: f64, sets: f64) -> Self {
        let longest = at_rest
            .iter()
            .fold(0.0f64, |most, (keys, _)| most.max(*keys));
        let most = longest.min(inserted).max(1e-9);
        let probability = |since: f64| -> f64 {
            let miss = |&(keys, probability): &(f64, f64)| {
                probability * blocked.miss_after(since.min(keys), sets)
            };
            at_rest.iter().map(miss).sum()
        };
        let mut table = [0.0; Self::STEPS + 1];
        for (i, entry) in table.iter_mut().enumerate() {
            let share = i as f64 / Self::STEPS as f64;
            *entry = probability(most * share * share);
        }
        Misses { most, table }
    }

    fn after(&self, since: f64) -> f64 {
        let share = (since / self.most).clamp(0.0, 1.0);
        let step = libm::sqrt(share) * Self::STEPS as f64;
        let low = (step as usize).min(Self::STEPS - 1);
        // Linear in the number of keys, not in its square root.
        let at = |i: usize| (i * i) as f64 / (Self::STEPS * Self::STEPS) as f64;
        let part = (share - at(low)) / (at(low + 1) - at(low));
        self.table[low] + part * (self.table[low + 1] - self.table[low])
    }
}
