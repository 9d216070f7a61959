//! How many lines came when, in bounded memory.
//!
//! Counts in spans of one second, until there are more spans than may be; then in spans of
//! five, a quarter of a minute, and so on up to years. Each width is a multiple of the one
//! before, so nothing that was counted is counted wrongly.

/// Widths of a span, in seconds.
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
/// As many bars as fit side by side.
const MOST_SPANS: i64 = 120;

/// Lines by the time they tell, under way.
#[derive(Clone, Debug, Default)]
pub struct RateMeter {
    width: usize,
    /// The number of the first span, counted from 1970.
    first: i64,
    counts: Vec<u64>,
}

impl RateMeter {
    /// A line that tells this time, in seconds since 1970.
    #[inline]
    pub fn record(&mut self, seconds: i64) {
        let mut span = seconds.div_euclid(WIDTHS[self.width]);
        if self.counts.is_empty() {
            self.first = span;
        }
        while !self.is_near(span) {
            if !self.widen() {
                return;
            }
            span = seconds.div_euclid(WIDTHS[self.width]);
        }
        if span < self.first {
            let before = (self.first - span) as usize;
            self.counts.splice(0..0, std::iter::repeat_n(0, before));
            self.first = span;
        }
        let place = (span - self.first) as usize;
        if place >= self.counts.len() {
            self.counts.resize(place + 1, 0);
        }
        self.counts[place] += 1;
    }

    /// Whether a span is within reach of those that have counts.
    fn is_near(&self, span: i64) -> bool {
        let end = self.first.saturating_add(self.counts.len() as i64);
        span >= end.saturating_sub(MOST_SPANS) && span < self.first.saturating_add(MOST_SPANS)
    }

    /// Goes over to the next width; false if there is none.
    fn widen(&mut self) -> bool {
        let (Some(&wider), narrow) = (WIDTHS.get(self.width + 1), WIDTHS[self.width]) else {
            return false;
        };
        let first = (self.first * narrow).div_euclid(wider);
        let mut counts = Vec::new();
        for (place, &count) in self.counts.iter().enumerate() {
            let start = (self.first + place as i64) * narrow;
            let place = (start.div_euclid(wider) - first) as usize;
            counts.resize(counts.len().max(place + 1), 0);
            counts[place] += count;
        }
        self.width += 1;
        self.first = first;
        self.counts = counts;
        true
    }

    /// When the first span begins, in seconds since 1970.
    pub fn from_seconds(&self) -> i64 {
        self.first * WIDTHS[self.width]
    }

    /// How long a span is.
    pub fn width_seconds(&self) -> i64 {
        WIDTHS[self.width]
    }

    /// How many lines each span has, without a gap from the first to the last.
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
    fn spans_widen_as_time_goes_by() {
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
        fn counts_are_those_of_the_spans_whatever_the_order(
            seconds in proptest::collection::vec(-5_000_000i64..5_000_000, 1..200),
        ) {
            let mut meter = RateMeter::default();
            let mut plain: BTreeMap<i64, u64> = BTreeMap::new();
            for &second in &seconds {
                meter.record(second);
            }
            prop_assert!(meter.counts().len() as i64 <= MOST_SPANS);
            for &second in &seconds {
                *plain.entry(second.div_euclid(meter.width_seconds())).or_default() += 1;
            }
            let first = meter.from_seconds() / meter.width_seconds();
            let found: BTreeMap<i64, u64> = meter.counts().iter().enumerate()
                .filter(|(_, count)| **count > 0)
                .map(|(place, count)| (first + place as i64, *count))
                .collect();
            prop_assert_eq!(found, plain);
        }
    }
}
