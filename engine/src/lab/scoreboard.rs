//! Counts wrong verdicts along a stream.

use super::weights::Weights;
use crate::filter::{Observation, Verdict};

/// The greatest number of points of a curve. Beyond it, every second point is removed.
const MAX_POINTS: usize = 256;

/// A point of a curve. All counts are from the start of the stream; rates of an interval are
/// computed from the difference of two points.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CurvePoint {
    /// Observations so far.
    pub position: u64,
    /// First occurrences so far.
    pub distinct: u64,
    /// First occurrences reported Seen.
    pub false_positives: u64,
    /// Repeats reported New.
    pub false_negatives: u64,
    /// Cells of the filter in use.
    pub occupied: u64,
}

impl CurvePoint {
    /// Repeats so far.
    pub fn repeats(&self) -> u64 {
        self.position - self.distinct
    }

    /// The false positive rate since `earlier`. None if there was no first occurrence.
    pub fn fpr_since(&self, earlier: &CurvePoint) -> Option<f64> {
        share(
            self.false_positives - earlier.false_positives,
            self.distinct - earlier.distinct,
        )
    }

    /// The false negative rate since `earlier`. None if there was no repeat.
    pub fn fnr_since(&self, earlier: &CurvePoint) -> Option<f64> {
        share(
            self.false_negatives - earlier.false_negatives,
            self.repeats() - earlier.repeats(),
        )
    }
}

/// Returns `part / whole`, or None if `whole` is 0.
pub(super) fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

/// The counts of one filter on one stream.
#[derive(Clone, Debug)]
pub struct Scoreboard {
    now: CurvePoint,
    stride: u64,
    curve: Vec<CurvePoint>,
    weights: Weights,
}

impl Default for Scoreboard {
    fn default() -> Self {
        Scoreboard {
            now: CurvePoint::default(),
            stride: 16,
            curve: vec![CurvePoint::default()],
            weights: Weights::default(),
        }
    }
}

impl Scoreboard {
    /// Returns the number of observations until the next point of the curve. If callers score no
    /// more than that at a time, the curve does not depend on how the stream is divided.
    pub fn until_next_point(&self) -> u64 {
        self.stride - self.now.position % self.stride
    }

    /// Compares verdicts with the truth.
    pub fn score(&mut self, verdicts: &[Verdict], first: &[bool], occupied: u64) {
        // Chunks that a byte can count, so that the compiler counts 16 verdicts per instruction.
        for (verdicts, first) in verdicts.chunks(255).zip(first.chunks(255)) {
            let (mut distinct, mut dropped, mut missed) = (0u8, 0u8, 0u8);
            for (&verdict, &first) in verdicts.iter().zip(first) {
                let seen = verdict == Verdict::Seen;
                distinct += u8::from(first);
                dropped += u8::from(first & seen);
                missed += u8::from(!first & !seen);
            }
            self.now.distinct += u64::from(distinct);
            self.now.false_positives += u64::from(dropped);
            self.now.false_negatives += u64::from(missed);
        }
        self.now.position += verdicts.len() as u64;
        self.now.occupied = occupied;
        if self.now.position.is_multiple_of(self.stride) {
            self.add_point();
        }
    }

    /// Compares verdicts with the truth by the importance of the observations, if they have any.
    /// Besides [`score`](Scoreboard::score).
    pub fn weigh(&mut self, verdicts: &[Verdict], first: &[bool], observations: &[Observation]) {
        self.weights.score(verdicts, first, observations);
    }

    /// The errors by importance.
    pub fn weights(&self) -> &Weights {
        &self.weights
    }

    fn add_point(&mut self) {
        self.curve.push(self.now);
        if self.curve.len() > MAX_POINTS {
            self.stride *= 2;
            let stride = self.stride;
            self.curve
                .retain(|point| point.position.is_multiple_of(stride));
        }
    }

    /// The counts so far.
    pub fn now(&self) -> &CurvePoint {
        &self.now
    }

    /// Returns the points, evenly spaced from 0, and the present one.
    pub fn curve(&self) -> Vec<CurvePoint> {
        let mut points = self.curve.clone();
        if points.last() != Some(&self.now) {
            points.push(self.now);
        }
        points
    }

    /// Returns the curve with at most `intervals` intervals, all but the last of equal length.
    /// Counts are from the start, so removing a point merges two intervals exactly.
    pub fn coarse_curve(&self, intervals: usize) -> Vec<CurvePoint> {
        let points = self.curve();
        let last = points.len() - 1;
        let step = last.div_ceil(intervals.max(1)).max(1);
        let kept = points.iter().enumerate();
        kept.filter(|(i, _)| i % step == 0 || *i == last)
            .map(|(_, point)| *point)
            .collect()
    }

    /// Returns the coarse curve. Its last interval is joined with the one before it if it is less
    /// than half as long: a rate over a few keys would look like a jump.
    pub fn joined_curve(&self, intervals: usize) -> Vec<CurvePoint> {
        let mut points = self.coarse_curve(intervals);
        if let [.., a, b, c] = &points[..]
            && 2 * (c.position - b.position) < b.position - a.position
        {
            points.remove(points.len() - 2);
        }
        points
    }

    /// Returns the position of the first point from which on the number of used cells stays
    /// within 1 % of its final value. None before the first observation.
    pub fn stable_from(&self) -> Option<u64> {
        if self.now.position == 0 {
            return None;
        }
        let end = self.now.occupied;
        let is_near_end = |point: &CurvePoint| point.occupied.abs_diff(end) <= end / 100;
        let points = self.curve();
        let settled = points.iter().rev().take_while(|point| is_near_end(point));
        settled.last().map(|point| point.position)
    }

    /// The false positive rate: first occurrences reported Seen ÷ first occurrences.
    pub fn fpr(&self) -> Option<f64> {
        self.now.fpr_since(&CurvePoint::default())
    }

    /// The false negative rate: repeats reported New ÷ repeats.
    pub fn fnr(&self) -> Option<f64> {
        self.now.fnr_since(&CurvePoint::default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_four_outcomes_are_counted() {
        let mut board = Scoreboard::default();
        board.score(
            &[Verdict::New, Verdict::Seen, Verdict::New, Verdict::Seen],
            &[true, true, false, false],
            3,
        );
        assert_eq!(
            *board.now(),
            CurvePoint {
                position: 4,
                distinct: 2,
                false_positives: 1,
                false_negatives: 1,
                occupied: 3,
            }
        );
        assert_eq!((board.fpr(), board.fnr()), (Some(0.5), Some(0.5)));
    }

    #[test]
    fn a_rate_without_observations_is_none() {
        let mut board = Scoreboard::default();
        assert_eq!((board.fpr(), board.fnr()), (None, None));
        board.score(&[Verdict::New], &[true], 1);
        assert_eq!((board.fpr(), board.fnr()), (Some(0.0), None));
    }

    #[test]
    fn a_load_is_stable_when_it_stays_near_its_final_value() {
        let mut board = Scoreboard::default();
        assert_eq!(board.stable_from(), None);
        // Rises, falls, and rises again to its final value.
        for occupied in [200, 1000, 500, 991, 1005, 1000] {
            board.score(&[Verdict::New; 16], &[true; 16], occupied);
        }
        assert_eq!(board.stable_from(), Some(64));
    }

    #[test]
    fn the_curve_stays_small_and_evenly_spaced() {
        let mut board = Scoreboard::default();
        let mut left = 1_000_003u64;
        while left > 0 {
            let count = left.min(board.until_next_point()) as usize;
            board.score(&vec![Verdict::New; count], &vec![true; count], 0);
            left -= count as u64;
        }
        let curve = board.curve();
        assert!((MAX_POINTS / 2..=MAX_POINTS + 2).contains(&curve.len()));
        let stride = curve[1].position;
        for (i, point) in curve[..curve.len() - 1].iter().enumerate() {
            assert_eq!(point.position, i as u64 * stride);
        }
        assert_eq!(curve.last().map(|p| p.position), Some(1_000_003));
        let coarse = board.coarse_curve(40);
        assert!((20..=41).contains(&coarse.len()), "{}", coarse.len());
        assert_eq!(coarse.last(), curve.last());
        assert_eq!(coarse.first(), curve.first());
    }

    #[test]
    fn a_short_last_interval_is_joined() {
        let mut board = Scoreboard::default();
        let mut score = |count: usize| {
            for _ in 0..count {
                board.score(&[Verdict::New], &[true], 1);
            }
            let ends = |points: Vec<CurvePoint>| -> Vec<u64> {
                points.iter().map(|point| point.position).collect()
            };
            (ends(board.coarse_curve(4)), ends(board.joined_curve(4)))
        };
        let (coarse, joined) = score(64 + 7);
        assert_eq!(coarse, [0, 32, 64, 71]);
        assert_eq!(joined, [0, 32, 71]);
        let (coarse, joined) = score(9);
        assert_eq!((coarse.len(), joined), (4, vec![0, 32, 64, 80]));
    }
}
