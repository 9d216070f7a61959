//! Counts lines over time, in bounded memory.
//!
//! Counts intervals of one second until there are too many; then of 5 seconds, 15 seconds, and so
//! on up to years. Each width is a multiple of the one before, so merged counts stay exact.

/// Widths of an interval, in seconds.
const WIDTHS: [i64; 15] = [
    1,
    5,
    15,
    60,
    5 * 60,
    15 * 60,
    3600,
    3 * 3600,
    6 * 3600,
    12 * 3600,
    DAY,
    7 * DAY,
    28 * DAY,
    364 * DAY,
    3640 * DAY,
];
const DAY: i64 = 86_400;
/// The greatest number of intervals: as many bars as fit in a chart.
const MAX_INTERVALS: i64 = 120;

/// Counts of lines by time.
#[derive(Clone, Debug, Default)]
pub struct RateMeter {
    width: usize,
    /// The number of the first interval, counted from 1970.
    first: i64,
    counts: Vec<u64>,
}

impl RateMeter {
    /// Records a line with this time, in seconds since 1970.
    #[inline]
    pub fn record(&mut self, seconds: i64) {
        let mut interval = seconds.div_euclid(WIDTHS[self.width]);
        if self.counts.is_empty() {
            self.first = interval;
        }
        while !self.is_in_reach(interval) {
            if !self.widen() {
                return;
            }
            interval = seconds.div_euclid(WIDTHS[self.width]);
        }
        if interval < self.first {
            let before = (self.first - interval) as usize;
            self.counts.splice(0..0, std::iter::repeat_n(0, before));
            self.first = interval;
        }
        let index = (interval - self.first) as usize;
        if index >= self.counts.len() {
            self.counts.resize(index + 1, 0);
        }
        self.counts[index] += 1;
    }

    /// Returns whether an interval can be added without exceeding the greatest number.
    fn is_in_reach(&self, interval: i64) -> bool {
        let end = self.first.saturating_add(self.counts.len() as i64);
        interval >= end.saturating_sub(MAX_INTERVALS)
            && interval < self.first.saturating_add(MAX_INTERVALS)
    }

    /// Changes to the next width. Returns false if there is none.
    fn widen(&mut self) -> bool {
        let (Some(&wider), narrow) = (WIDTHS.get(self.width + 1), WIDTHS[self.width]) else {
            return false;
        };
        let first = (self.first * narrow).div_euclid(wider);
        let mut counts = Vec::new();
        for (index, &count) in self.counts.iter().enumerate() {
            let start = (self.first + index as i64) * narrow;
            let index = (start.div_euclid(wider) - first) as usize;
            counts.resize(counts.len().max(index + 1), 0);
            counts[index] += count;
        }
        self.width += 1;
        self.first = first;
        self.counts = counts;
        true
    }

    /// The start of the first interval, in seconds since 1970.
    pub fn start_seconds(&self) -> i64 {
        self.first * WIDTHS[self.width]
    }

    /// The width of an interval.
    pub fn width_seconds(&self) -> i64 {
        WIDTHS[self.width]
    }

    /// The number of lines in each interval, from the first to the last.
    pub fn counts(&self) -> &[u64] {
        &self.counts
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn each_width_is_a_multiple_of_the_one_before() {
        for pair in WIDTHS.windows(2) {
            assert_eq!(pair[1] % pair[0], 0, "{pair:?}");
        }
    }

    #[test]
    fn intervals_widen_as_needed() {
        let mut meter = RateMeter::default();
        for second in 0..100 {
            meter.record(1_000_000_000 + second);
        }
        assert_eq!((meter.width_seconds(), meter.counts().len()), (1, 100));
        for minute in 0..60 {
            meter.record(1_000_000_000 + minute * 60);
        }
        assert_eq!(meter.width_seconds(), 60);
        assert_eq!(meter.counts().iter().sum::<u64>(), 160);
    }

    proptest! {
        #[test]
        fn counts_do_not_depend_on_the_order_of_lines(
            seconds in proptest::collection::vec(-5_000_000i64..5_000_000, 1..200),
        ) {
            let mut meter = RateMeter::default();
            let mut plain: BTreeMap<i64, u64> = BTreeMap::new();
            for &second in &seconds {
                meter.record(second);
            }
            prop_assert!(meter.counts().len() as i64 <= MAX_INTERVALS);
            for &second in &seconds {
                *plain.entry(second.div_euclid(meter.width_seconds())).or_default() += 1;
            }
            let first = meter.start_seconds() / meter.width_seconds();
            let found: BTreeMap<i64, u64> = meter.counts().iter().enumerate()
                .filter(|(_, count)| **count > 0)
                .map(|(index, count)| (first + index as i64, *count))
                .collect();
            prop_assert_eq!(found, plain);
        }
    }
}
