//! How far back repeats lie.
//!
//! The gap of a repeat is the number of places from the last occurrence of its key: 1 if
//! that was right before. Gaps below 8 are counted one by one, longer ones in eight
//! buckets of equal width an octave, so that no gap is known worse than to an eighth.

/// Buckets an octave, as a power of two.
const STEP_BITS: u32 = 3;
const STEPS: u64 = 1 << STEP_BITS;

/// Counts of gaps.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GapHistogram {
    counts: Vec<u64>,
    total: u64,
}

/// Gaps of about the same length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GapBucket {
    /// The shortest.
    pub from: u64,
    /// The longest.
    pub to: u64,
    /// How many.
    pub count: u64,
}

impl GapHistogram {
    /// Of repeats by octave: the n-th number is about gaps from 2^n to 2^(n+1). A gap is taken
    /// to be anywhere in its octave. Nothing if there is no repeat.
    pub fn of_octaves(repeats: &[u64]) -> Option<Self> {
        let mut histogram = GapHistogram::default();
        for (from, &repeats) in (0..63).map(|octave| 1u64 << octave).zip(repeats) {
            let parts = from.min(STEPS);
            for part in 0..parts {
                let share = repeats / parts + u64::from(part < repeats % parts);
                histogram.record(from + from / parts * part, share);
            }
        }
        (histogram.total() > 0).then_some(histogram)
    }

    /// Counts `weight` gaps of one length.
    #[inline]
    pub fn record(&mut self, gap: u64, weight: u64) {
        let place = place_of(gap);
        if place >= self.counts.len() {
            self.counts.resize(place + 1, 0);
        }
        self.counts[place] = self.counts[place].saturating_add(weight);
        self.total = self.total.saturating_add(weight);
    }

    /// How many gaps were counted.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// The buckets that hold any, from the shortest.
    pub fn buckets(&self) -> impl Iterator<Item = GapBucket> + '_ {
        let counted = self.counts.iter().enumerate();
        counted
            .filter(|(_, count)| **count > 0)
            .map(|(place, &count)| GapBucket {
                from: start_of(place),
                to: start_of(place + 1) - 1,
                count,
            })
    }

    /// The same counts in buckets from a power of two to the next, none left out between
    /// the first and the last.
    pub fn octaves(&self) -> Vec<GapBucket> {
        let mut octaves: Vec<GapBucket> = Vec::new();
        for bucket in self.buckets() {
            let octave = bucket.from.max(1).ilog2();
            while octaves.len() <= octave as usize {
                let from = 1u64 << octaves.len();
                octaves.push(GapBucket {
                    from,
                    to: from + (from - 1),
                    count: 0,
                });
            }
            if let Some(last) = octaves.last_mut() {
                last.count += bucket.count;
            }
        }
        octaves
    }

    /// A gap that `share` of the repeats do not exceed, known to an eighth.
    pub fn quantile(&self, share: f64) -> Option<u64> {
        let mut below = 0;
        let wanted = share * self.total as f64;
        self.buckets()
            .find(|bucket| {
                below += bucket.count;
                below as f64 >= wanted
            })
            .map(|bucket| bucket.to)
    }
}

fn place_of(gap: u64) -> usize {
    if gap < STEPS {
        return gap as usize;
    }
    let octave = gap.ilog2();
    let step = (gap >> (octave - STEP_BITS)) & (STEPS - 1);
    (u64::from(octave - STEP_BITS + 1) * STEPS + step) as usize
}

fn start_of(place: usize) -> u64 {
    let place = place as u64;
    if place < STEPS {
        return place;
    }
    let octave = place / STEPS - 1;
    (STEPS + place % STEPS).saturating_mul(1u64.checked_shl(octave as u32).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_lies_in_its_bucket() {
        for gap in (1..5000).chain([1 << 40, (1 << 40) + 12_345, (1 << 62) + 1]) {
            let mut histogram = GapHistogram::default();
            histogram.record(gap, 3);
            let bucket = histogram.buckets().next().expect("one");
            assert!(
                (bucket.from..=bucket.to).contains(&gap),
                "{gap}: {bucket:?}"
            );
            assert!((bucket.to - bucket.from) * 8 <= gap, "{gap}: {bucket:?}");
            assert_eq!(bucket.count, 3);
        }
    }

    #[test]
    fn octaves_hold_all_counts() {
        let mut histogram = GapHistogram::default();
        for gap in 1..=1000 {
            histogram.record(gap, 1);
        }
        let octaves = histogram.octaves();
        let counts: Vec<u64> = octaves.iter().map(|octave| octave.count).collect();
        assert_eq!(counts, [1, 2, 4, 8, 16, 32, 64, 128, 256, 489]);
        assert_eq!((octaves[9].from, octaves[9].to), (512, 1023));
        assert_eq!(histogram.total(), 1000);
        let median = histogram.quantile(0.5).expect("counted");
        assert!((500..563).contains(&median), "{median}");
    }
}
