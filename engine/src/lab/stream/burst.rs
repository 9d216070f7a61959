//! `burst:X:R:F`: the keys of `uniform:X`, with times, and a burst in the middle third.
//!
//! The first and the last third of the keys come at R per second, the keys of the middle third at
//! F times that rate. So the times of a stream of N keys are, up to rounding,
//!
//! ```text
//! N/3 keys in N/(3R) s,   N/3 keys in N/(3RF) s,   N/3 keys in N/(3R) s
//! ```
//!
//! Koloniari, Ntarmos, Pitoura, Souravlias, "One is Enough: Distributed Filtering for Duplicate
//! Elimination", 2011, section 7, uses such bursts with F = 2 and F = 5 to show how filters with a
//! window grow and shrink.

/// The times of the keys of a stream with a burst.
#[derive(Clone, Copy, Debug)]
pub(super) struct Burst {
    /// The positions where the burst starts and ends.
    middle: [u64; 2],
    keys_per_second: f64,
    factor: f64,
}

impl Burst {
    pub fn new(count: u64, keys_per_second: f64, factor: f64) -> Self {
        let third = count / 3;
        Burst {
            middle: [third, count - third],
            keys_per_second,
            factor,
        }
    }

    /// Returns the time of the key at a position, in seconds from the start of the stream.
    #[inline]
    pub fn second_of(&self, position: u64) -> u32 {
        let [start, end] = self.middle;
        let in_burst = position.clamp(start, end) - start;
        let outside = position - in_burst;
        let slow = outside as f64 + in_burst as f64 / self.factor;
        // A whole number of seconds must not become the second before by rounding. Later times
        // than a tick can hold are the last tick.
        (slow / self.keys_per_second * (1.0 + 1e-12)) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::super::StreamSpec;
    use super::super::tests::numbers;
    use super::*;

    #[test]
    fn the_middle_third_comes_at_a_multiple_of_the_rate() {
        for factor in [1.0, 2.0, 5.0] {
            let burst = Burst::new(3000, 2.0, factor);
            let seconds: Vec<u32> = (0..3000).map(|it| burst.second_of(it)).collect();
            assert!(seconds.is_sorted());
            let keys_in = |from: u32, to: u32| {
                let inside = seconds.iter().filter(|second| (from..to).contains(second));
                inside.count()
            };
            // Each third has 1,000 keys: 500 s at two keys per second.
            let burst_ends = 500 + (500.0 / factor) as u32;
            assert_eq!(keys_in(0, 500), 1000, "{factor}");
            assert_eq!(keys_in(500, burst_ends), 1000, "{factor}");
            assert_eq!(keys_in(burst_ends, burst_ends + 500), 1000, "{factor}");
            assert_eq!(keys_in(510, 511), (2.0 * factor) as usize);
        }
    }

    #[test]
    fn times_beyond_the_last_tick_stay_there() {
        let burst = Burst::new(10, 1e-9, 1.0);
        assert_eq!((burst.second_of(0), burst.second_of(9)), (0, u32::MAX));
    }

    #[test]
    fn keys_are_those_of_uniform_and_only_a_burst_has_times() {
        assert_eq!(
            numbers("burst:30:2:5", 3000, 7),
            numbers("uniform:30", 3000, 7)
        );
        let ticks = |text: &str| -> Vec<Option<u32>> {
            let mut stream = text.parse::<StreamSpec>().expect(text).open(9, 1);
            let mut ticks = Vec::new();
            for position in 0.. {
                let expected = stream.next_second();
                let Some(arrival) = stream.next_arrival() else {
                    break;
                };
                assert_eq!(expected, arrival.second.unwrap_or(position));
                ticks.push(arrival.second);
            }
            ticks
        };
        let seconds = [0, 1, 2, 3, 3, 4, 4, 5, 6].map(Some);
        assert_eq!(ticks("burst:30:1:2"), seconds);
        assert_eq!(ticks("uniform:30"), [None; 9]);
    }
}
