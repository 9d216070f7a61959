//! A stream whose repeats lie as far back as a published miss rate says.
//!
//! The distance of a repeat is the number of distinct keys since the last occurrence of its key,
//! itself included. A least-recently-used buffer of n entries misses exactly the repeats of a
//! distance above n. So the miss rates of buffers of several sizes say how far back the repeats of
//! a stream lie, whatever the stream was.
//!
//! The law here is stationary: each position draws a distance, independently, and repeats the key
//! at that distance. If fewer keys have occurred, the position is a first occurrence. A position
//! is at a distance above n with probability G(n), which is linear in ln(1 + n) between the sizes
//! of the buffers.
//!
//! **The fit.** The number of keys D(t) grows by G(D) per position, so D = n is reached after
//! T(n) = ∫ dx/G(x) positions. Until then a buffer of n entries misses every new key, n in total;
//! after that it misses a position with probability G(n). So the share of misses among N positions
//! is (n + (N − T(n))·G(n))/N. This determines G at one size after the other, from the smallest to
//! the largest. The value at the number of all keys follows from T = N. Nothing is left to choose.

use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::recency_stack::RecencyStack;

/// A stream of which the miss rates of buffers are known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KnownMisses {
    /// The number of positions.
    pub count: u64,
    /// The percentage of first occurrences.
    pub distinct_percent: f64,
    /// The entries of a buffer, and the percentage of the repeats that it misses; from the smallest
    /// buffer on.
    pub buffers: &'static [(u64, f64)],
}

/// A knot of G.
#[derive(Clone, Copy, Debug)]
struct Knot {
    /// ln(1 + n).
    log: f64,
    /// G(n).
    beyond: f64,
}

/// How far back a position repeats a key.
#[derive(Clone, Debug)]
pub(super) struct DistanceLaw {
    knots: Vec<Knot>,
}

/// The steps of the integral T between two knots, and of each search.
const STEPS: u32 = 256;
const HALVINGS: u32 = 48;

impl DistanceLaw {
    /// Fits the law to a stream and its buffers, all divided by `scale`.
    pub fn fit(known: &KnownMisses, scale: u64) -> Self {
        let count = known.count as f64 / scale as f64;
        let distinct_share = known.distinct_percent / 100.0;
        let distinct = count * distinct_share;
        let mut knots = vec![Knot {
            log: 0.0,
            beyond: 1.0,
        }];
        let mut time = 0.0;
        let buffers = known.buffers.iter().map(|&(entries, missed_percent)| {
            let missed = distinct_share + (1.0 - distinct_share) * missed_percent / 100.0;
            (entries as f64 / scale as f64, missed)
        });
        for (entries, missed) in buffers.filter(|&(entries, _)| entries < distinct) {
            let before = knots[knots.len() - 1];
            let is_too_small = |knot: Knot| {
                let reached = time + time_between(before, knot);
                entries + (count - reached).max(0.0) * knot.beyond < count * missed
            };
            let knot = search(before, entries, is_too_small);
            time += time_between(before, knot);
            knots.push(knot);
        }
        let before = knots[knots.len() - 1];
        let is_too_small = |knot: Knot| time + time_between(before, knot) > count;
        knots.push(search(before, distinct, is_too_small));
        DistanceLaw { knots }
    }

    /// Returns the distance for a number from 0 to 1. None if it exceeds the number of all keys.
    fn distance(&self, uniform: f64) -> Option<u64> {
        let knots = self.knots.windows(2);
        let (low, high) = knots
            .map(|pair| (pair[0], pair[1]))
            .find(|(_, high)| uniform > high.beyond)?;
        let part = (low.beyond - uniform) / (low.beyond - high.beyond);
        let entries = libm::expm1(low.log + part * (high.log - low.log));
        Some((libm::ceil(entries) as u64).max(1))
    }
}

/// Returns the knot at `entries` whose G is the least that is not too small, and not above G at the
/// knot before.
fn search(before: Knot, entries: f64, is_too_small: impl Fn(Knot) -> bool) -> Knot {
    let log = libm::log1p(entries);
    let (mut low, mut high) = (0.0, before.beyond);
    for _ in 0..HALVINGS {
        let beyond = (low + high) / 2.0;
        match is_too_small(Knot { log, beyond }) {
            true => low = beyond,
            false => high = beyond,
        }
    }
    Knot { log, beyond: high }
}

/// Returns the number of positions until the keys have grown from one knot to the next.
fn time_between(low: Knot, high: Knot) -> f64 {
    let at = |step: f64| {
        let part = step / f64::from(STEPS);
        let entries = libm::expm1(low.log + part * (high.log - low.log));
        (entries, low.beyond + part * (high.beyond - low.beyond))
    };
    let steps = (0..STEPS).map(|step| {
        let step = f64::from(step);
        (at(step + 1.0).0 - at(step).0) / at(step + 0.5).1.max(f64::MIN_POSITIVE)
    });
    steps.sum()
}

/// A stream that follows a law. Keys are numbered from 0 in the order of their first occurrence.
#[derive(Debug)]
pub(super) struct DistanceStream {
    law: DistanceLaw,
    stack: RecencyStack,
    rng: Xoshiro256PlusPlus,
    left: u64,
}

impl DistanceStream {
    pub fn new(law: DistanceLaw, count: u64, seed: u64) -> Self {
        DistanceStream {
            law,
            stack: RecencyStack::default(),
            rng: Xoshiro256PlusPlus::seed_from_u64(seed),
            left: count,
        }
    }

    /// Returns the number of the next key. None at the end of the stream.
    pub fn next_number(&mut self) -> Option<u64> {
        self.left = self.left.checked_sub(1)?;
        // From above 0 to 1.
        let uniform = ((self.rng.next_u64() >> 11) + 1) as f64 / (1u64 << 53) as f64;
        let repeated = (self.law.distance(uniform)).and_then(|distance| self.stack.take(distance));
        let key = repeated.unwrap_or_else(|| u32::try_from(self.stack.len()).unwrap_or(u32::MAX));
        self.stack.push(key);
        Some(u64::from(key))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: KnownMisses = KnownMisses {
        count: 1_000_000,
        distinct_percent: 30.0,
        buffers: &[(50, 80.0), (1000, 60.0), (20_000, 30.0), (900_000, 0.0)],
    };

    /// At 50,000 positions the standard error of a share is at most 0.25 points.
    #[test]
    fn plain_buffers_miss_what_the_law_was_fitted_to() {
        const SCALE: u64 = 20;
        let law = DistanceLaw::fit(&KNOWN, SCALE);
        let count = KNOWN.count / SCALE;
        let mut stream = DistanceStream::new(law, count, 7);
        let mut list: Vec<u64> = Vec::new();
        let (mut distinct, mut missed) = (0u64, [0u64; 3]);
        while let Some(key) = stream.next_number() {
            match list.iter().rev().position(|&known| known == key) {
                None => distinct += 1,
                Some(above) => {
                    list.remove(list.len() - 1 - above);
                    for (missed, (entries, _)) in missed.iter_mut().zip(KNOWN.buffers) {
                        *missed += u64::from(above as f64 >= *entries as f64 / SCALE as f64);
                    }
                }
            }
            list.push(key);
        }
        let found = 100.0 * distinct as f64 / count as f64;
        assert!((found - KNOWN.distinct_percent).abs() < 1.0, "{found}");
        for (missed, (entries, expected)) in missed.into_iter().zip(KNOWN.buffers) {
            let found = 100.0 * missed as f64 / (count - distinct) as f64;
            // The smallest buffer has 2.5 entries at this scale.
            let tolerance = if *entries == 50 { 3.0 } else { 1.0 };
            assert!((found - expected).abs() < tolerance, "{entries}: {found}");
        }
    }

    #[test]
    fn distances_grow_as_the_draw_falls() {
        let law = DistanceLaw::fit(&KNOWN, 1);
        let mut before = 0;
        for i in (1..=1000).rev() {
            let distance = law.distance(f64::from(i) / 1000.0).unwrap_or(u64::MAX);
            assert!(distance >= before.max(1));
            before = distance;
        }
        assert_eq!(before, u64::MAX, "some positions are always new");
    }
}
