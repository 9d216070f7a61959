//! A histogram of gaps: the distances from a repeat back to the last occurrence of its key.
//!
//! The gap is 1 if the key occurred directly before. Each gap below 8 has a bucket of its own;
//! longer gaps have eight buckets of equal width per octave, so that every gap is known to an
//! eighth.

/// The number of buckets per octave, as a power of two.
const STEP_BITS: u32 = 3;
const STEPS: u64 = 1 << STEP_BITS;

/// A histogram of gaps.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GapHistogram {
    counts: Vec<u64>,
    total: u64,
}

/// A bucket of the histogram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GapBucket {
    /// The shortest gap.
    pub from: u64,
    /// The longest gap.
    pub to: u64,
    /// The number of gaps.
    pub count: u64,
}

impl GapHistogram {
    /// Returns the histogram of repeats counted per octave: the n-th number counts gaps from 2^n to
    /// 2^(n+1). Gaps are distributed evenly over their octave. Returns None if there is no repeat.
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

    /// Adds `weight` gaps of one length.
    #[inline]
    pub fn record(&mut self, gap: u64, weight: u64) {
        let index = bucket_of(gap);
        if index >= self.counts.len() {
            self.counts.resize(index + 1, 0);
        }
        self.counts[index] = self.counts[index].saturating_add(weight);
        self.total = self.total.saturating_add(weight);
    }

    /// Returns the number of gaps.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Returns the buckets that are not empty, the shortest gaps first.
    pub fn buckets(&self) -> impl Iterator<Item = GapBucket> + '_ {
        let counted = self.counts.iter().enumerate();
        counted
            .filter(|(_, count)| **count > 0)
            .map(|(index, &count)| GapBucket {
                from: start_of(index),
                to: start_of(index + 1) - 1,
                count,
            })
    }

    /// Returns the counts per octave, including empty octaves before the last.
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

    /// Returns a gap that `share` of the repeats do not exceed, rounded up to a bucket. Returns
    /// None if the histogram is empty.
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

fn bucket_of(gap: u64) -> usize {
    if gap < STEPS {
        return gap as usize;
    }
    let octave = gap.ilog2();
    let step = (gap >> (octave - STEP_BITS)) & (STEPS - 1);
    (u64::from(octave - STEP_BITS + 1) * STEPS + step) as usize
}

fn start_of(index: usize) -> u64 {
    let index = index as u64;
    if index < STEPS {
        return index;
    }
    let octave = index / STEPS - 1;
    (STEPS + index % STEPS).saturating_mul(1u64.checked_shl(octave as u32).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_gap_is_inside_its_bucket() {
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
    fn octaves_contain_all_counts() {
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
