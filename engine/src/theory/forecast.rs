//! When a filter will exceed its recommended load.

use serde::Serialize;

/// How long a filter stays below its recommended load, if the stream continues as before.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Forecast {
    /// The recommended load.
    pub comfortable_load: f64,
    /// The number of observations until then; 0 if the load is already exceeded.
    pub observations_left: u64,
    /// The number of seconds until then, at the mean rate since the store was created; None if no
    /// time has passed.
    pub seconds_left: Option<u64>,
}

/// Forecasts when the load reaches `comfortable_load`. Returns None if the load is 0.
///
/// Bits are set at random, so a share of 1 − e^(−c·n) is set after n keys: the logarithm of the
/// share of clear bits is proportional to the number of keys, and to the number of observations if
/// the share of new keys stays the same.
pub fn forecast(
    load: f64,
    comfortable_load: f64,
    observations: u64,
    age_seconds: u64,
) -> Option<Forecast> {
    if load <= 0.0 || comfortable_load <= 0.0 || comfortable_load >= 1.0 {
        return None;
    }
    let left = libm::log1p(-comfortable_load) / libm::log1p(-load) - 1.0;
    Some(after(left, comfortable_load, observations, age_seconds))
}

/// Forecasts as [`forecast`] does for a filter whose load is
/// [proportional](crate::AnyFilter::load_is_proportional) to the number of keys.
pub fn proportional_forecast(
    load: f64,
    comfortable_load: f64,
    observations: u64,
    age_seconds: u64,
) -> Option<Forecast> {
    let left = comfortable_load / load - 1.0;
    (load > 0.0).then(|| after(left, comfortable_load, observations, age_seconds))
}

/// `left` is the number of observations left, as a multiple of those so far.
fn after(left: f64, comfortable_load: f64, observations: u64, age_seconds: u64) -> Forecast {
    let left = left.max(0.0);
    Forecast {
        comfortable_load,
        observations_left: (left * observations as f64) as u64,
        seconds_left: (age_seconds > 0).then_some((left * age_seconds as f64) as u64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FilterSpec, SeenSet, SeenSetBuilder};

    #[test]
    fn a_table_with_a_slot_per_key_fills_in_proportion() {
        let ahead = proportional_forecast(0.25, 0.9, 1000, 100).expect("a forecast");
        assert_eq!(
            (ahead.observations_left, ahead.seconds_left),
            (2600, Some(260))
        );
        let past = proportional_forecast(0.95, 0.9, 1000, 0).expect("a forecast");
        assert_eq!((past.observations_left, past.seconds_left), (0, None));
        assert_eq!(proportional_forecast(0.0, 0.9, 0, 0), None);
    }

    #[test]
    fn the_load_after_the_forecast_observations_is_as_forecast() {
        let spec: FilterSpec = "bloom:k=3".parse().expect("a filter");
        let mut set = SeenSetBuilder::new(&spec)
            .memory_bits(300_000)
            .seed(1)
            .build()
            .expect("small");
        let mut number = 0u64;
        let mut feed = |set: &mut SeenSet, count: u64| {
            for _ in 0..count {
                number += 1;
                set.observe(number.to_le_bytes());
            }
        };
        feed(&mut set, 10_000);
        let ahead = forecast(set.load(), 0.5, 10_000, 100).expect("a forecast");
        // 300,000 · ln 2 / 3 keys fill half of the bits.
        let expected = 69_315 - 10_000;
        assert!(
            ahead.observations_left.abs_diff(expected) < 1000,
            "{ahead:?}"
        );
        assert_eq!(ahead.seconds_left, Some(ahead.observations_left / 100));
        feed(&mut set, ahead.observations_left);
        assert!((set.load() - 0.5).abs() < 0.01, "{}", set.load());
        let past = forecast(0.6, 0.5, 10, 1).expect("a forecast");
        assert_eq!(past.observations_left, 0);
        let full = forecast(1.0, 0.5, 10, 1).expect("a forecast");
        assert_eq!(full.observations_left, 0);
        assert_eq!(forecast(0.0, 0.5, 0, 0), None);
    }
}
