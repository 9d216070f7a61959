//! When a filter that only fills will be too full.

use serde::Serialize;

/// How long a filter stays in its comfortable range, if the stream goes on as before.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Forecast {
    /// The load up to which it is comfortable.
    pub comfortable_load: f64,
    /// Observations until then; 0 if that is past.
    pub observations_left: u64,
    /// Seconds until then, at the mean rate since the store was made; nothing if no time
    /// has passed.
    pub seconds_left: Option<u64>,
}

/// Bits are set at random, so a share of 1 − e^(−c·n) is set after n keys: the logarithm of
/// what is clear grows with the keys, and with the observations if the share of new ones
/// stays. Nothing to go by if none is set.
pub fn forecast(
    load: f64,
    comfortable_load: f64,
    observations: u64,
    age_seconds: u64,
) -> Option<Forecast> {
    if load <= 0.0 || load >= 1.0 || comfortable_load <= 0.0 || comfortable_load >= 1.0 {
        return None;
    }
    let times = libm::log1p(-comfortable_load) / libm::log1p(-load);
    let left = (times - 1.0).max(0.0);
    Some(Forecast {
        comfortable_load,
        observations_left: (left * observations as f64) as u64,
        seconds_left: (age_seconds > 0).then_some((left * age_seconds as f64) as u64),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FilterSpec, SeenSet};

    #[test]
    fn a_filter_is_as_full_as_was_foretold() {
        let spec: FilterSpec = "bloom:k=3".parse().expect("a filter");
        let mut set = SeenSet::in_memory(&spec, 300_000, 1).expect("small");
        let mut number = 0u64;
        let mut feed = |set: &mut SeenSet, count: u64| {
            for _ in 0..count {
                number += 1;
                set.observe(&number.to_le_bytes());
            }
        };
        feed(&mut set, 10_000);
        let foretold = forecast(set.load(), 0.5, 10_000, 100).expect("a forecast");
        // 300,000 · ln 2 / 3 keys fill half of the bits.
        let expected = 69_315 - 10_000;
        assert!(
            foretold.observations_left.abs_diff(expected) < 1000,
            "{foretold:?}"
        );
        assert_eq!(
            foretold.seconds_left,
            Some(foretold.observations_left / 100)
        );
        feed(&mut set, foretold.observations_left);
        assert!((set.load() - 0.5).abs() < 0.01, "{}", set.load());
        let past = forecast(0.6, 0.5, 10, 1).expect("a forecast");
        assert_eq!(past.observations_left, 0);
        assert_eq!(forecast(0.0, 0.5, 0, 0), None);
    }
}
