//! Formulas that predict the error rates of filters.
//!
//! [`predict`] takes a filter, its memory, and the length, distinct keys and gaps of a stream
//! ([`Workload`]). It returns both error rates, averaged over the stream and along it, with the
//! name of the formula and where the formula is inaccurate. [`current_rates`] does the same for a
//! filter of which only the counts are known. All arithmetic goes through libm, so that the
//! numbers are the same on every target.

mod bits;
mod blocked;
mod cell_decay;
mod current_rates;
#[cfg(feature = "all-filters")]
mod fingerprint_table;
mod forecast;
mod gaps;
#[cfg(feature = "all-filters")]
mod growing;
pub mod information;
mod least_recent;
mod poisson;
mod power;
mod prediction;
mod quotient;
mod reservoir;
pub mod stable;
mod steady_state;
mod windowed;
mod workload;

pub use current_rates::{CurrentRates, current_rates, rates_at_load};
pub use forecast::{Forecast, forecast, proportional_forecast};
pub use gaps::{GapBucket, GapHistogram};
pub use prediction::{PredictedPoint, Prediction, Trust};
pub use steady_state::{LongRun, SteadyState, long_run};
pub use workload::Workload;

use crate::filter::{AnyFilter, FilterSpec};
#[cfg(feature = "all-filters")]
use crate::filter::{Filter, PossibleErrors};

const CACHE_LINE_BITS: f64 = 512.0;

/// Predicts the error rates of a filter in a memory on a stream. Returns None if the filter
/// cannot be built in this memory, or if there is no formula for it.
pub fn predict(spec: &FilterSpec, memory_bits: u64, workload: &Workload) -> Option<Prediction> {
    let filter = AnyFilter::build(spec, memory_bits).ok()?;
    let cells = filter.cells() as f64;
    // Every filter needs an arm. `return None` is the answer if there is no formula.
    Some(match &filter {
        AnyFilter::Bloom(it) => bits::bloom(workload, it.k().into(), cells, it.is_partitioned()),
        AnyFilter::Stable(it) => {
            let stable = stable::Stable {
                k: it.k().into(),
                p: it.p() as f64,
                max: it.max().into(),
                cells,
            };
            stable.predict(workload)
        }
        AnyFilter::Rlbsbf(it) => bits::rlbsbf(workload, it.k().into(), cells),
        AnyFilter::Blocked(it) => blocked::Blocked::of(it, false).predict(workload),
        #[cfg(feature = "all-filters")]
        AnyFilter::Split(it) => blocked::Blocked::of(it, true).predict(workload),
        #[cfg(feature = "all-filters")]
        AnyFilter::Slot(it) => quotient::slot(workload, cells, it.values() as f64),
        #[cfg(feature = "all-filters")]
        AnyFilter::Recent(it) => {
            let lists = least_recent::RankedLists {
                lists: it.lines() as f64,
                fields: it.fields().into(),
                values: it.values() as f64,
                inserts_behind_front: it.inserts_behind_front(),
            };
            lists.predict(workload)
        }
        AnyFilter::Word(it) => {
            let lists = least_recent::RankedLists {
                lists: it.words() as f64,
                fields: it.fields().into(),
                values: it.values() as f64,
                inserts_behind_front: it.inserts_behind_front(),
            };
            lists.predict(workload)
        }
        #[cfg(feature = "all-filters")]
        AnyFilter::Aging(it) => {
            let aging = least_recent::Aging {
                lines: libm::round(cells / CACHE_LINE_BITS).max(1.0),
                cells,
                k: it.k().into(),
                fill: f64::from(it.fill_percent()) / 100.0,
            };
            aging.predict(workload)
        }
        #[cfg(feature = "all-filters")]
        AnyFilter::Counting(it) => bits::bloom(workload, it.k().into(), cells, false),
        #[cfg(feature = "all-filters")]
        AnyFilter::Quotient(it) => fingerprint_table::quotient(workload, it.growth_steps(), cells),
        #[cfg(feature = "all-filters")]
        AnyFilter::Bsbf(it) => bits::bsbf(workload, it.k().into(), cells),
        #[cfg(feature = "all-filters")]
        AnyFilter::Bsbfsd(it) => bits::bsbfsd(workload, it.k().into(), cells),
        #[cfg(feature = "all-filters")]
        AnyFilter::Rsbf(it) => {
            let k = f64::from(it.k());
            let partition_bits = cells / k;
            let reservoir = reservoir::Reservoir {
                k,
                partition_bits,
                without_clearing: match it.is_as_printed() {
                    true => partition_bits,
                    false => 0.0,
                },
            };
            reservoir.predict(workload)
        }
        // If keys are their own fingerprints, some rows are full and others stay empty.
        #[cfg(feature = "all-filters")]
        AnyFilter::Sqf(_) if filter.requires_numeric_keys() => return None,
        #[cfg(feature = "all-filters")]
        AnyFilter::Sqf(it) => {
            let rows = quotient::Rows::new(it.rows() as f64, it.k() as f64, it.remainder_bits());
            cell_decay::solve(workload, quotient::HASHED, &rows)
        }
        #[cfg(feature = "all-filters")]
        AnyFilter::Dsqf(it) => {
            let rows = quotient::Rows::new(it.rows().into(), it.k().into(), it.remainder_bits());
            cell_decay::solve(workload, quotient::SHARED_POOL, &rows)
        }
        #[cfg(feature = "all-filters")]
        AnyFilter::Buffer(it) => least_recent::buffer(workload, cells, 0.0, it.is_clock()),
        // If timers must also be equal, both rates depend on the order of keys within a step.
        #[cfg(feature = "all-filters")]
        AnyFilter::Window(it) if it.possible_errors() == PossibleErrors::Both => return None,
        #[cfg(feature = "all-filters")]
        AnyFilter::Window(it) => {
            let load = |keys: f64| -libm::expm1(-keys * f64::from(it.k()) / cells);
            let state = |keys: f64| (it.rate_of(keys), load(keys));
            let drops = windowed::Drops::AreSetAlready {
                k: it.k().into(),
                cells,
            };
            let window = windowed::Window::new(workload, it.window()?);
            window.predict(windowed::TIMERS, drops, state, |_| 0.0)
        }
        #[cfg(feature = "all-filters")]
        AnyFilter::Stamped(it) => {
            let (lines, entries) = (it.lines() as f64, it.entries());
            let state = |keys: f64| {
                let live = it.live_entries(keys);
                (live / it.values() as f64, live / entries as f64)
            };
            let clock = it.window()?;
            let drops = windowed::Drops::SetNothing;
            let window = windowed::Window::new(workload, clock);
            let pushed_out = windowed::PushedOut::of(&window, clock, lines, entries);
            let missed = |position: f64| pushed_out.missed_at(position);
            window.predict(windowed::STAMPED, drops, state, missed)
        }
        #[cfg(feature = "all-filters")]
        AnyFilter::Apbf(it) => {
            let state = |keys: f64| (it.rate_of_window(keys), it.load_of_window(keys));
            let window = windowed::Window::new(workload, it.window()?);
            let drops = windowed::Drops::SetNothing;
            window.predict(windowed::AGE_PARTITIONED, drops, state, |_| 0.0)
        }
        #[cfg(feature = "all-filters")]
        AnyFilter::Ibf(it) => {
            // Otherwise both rates depend on the distribution of importance, which a workload does
            // not have.
            let (k, p, max) = it.as_stable()?;
            let stable = stable::Stable {
                k: k.into(),
                p: p as f64,
                max: max.into(),
                cells,
            };
            stable.predict(workload)
        }
        #[cfg(feature = "all-filters")]
        AnyFilter::Growing(it) => match it.window() {
            None => growing::predict(workload, it),
            // How many parts are open depends on what was dropped.
            Some(_) => return None,
        },
        // What is remembered depends on the distribution of importance.
        #[cfg(feature = "all-filters")]
        AnyFilter::Reinsert(_) | AnyFilter::Admit(_) => return None,
        #[cfg(feature = "all-filters")]
        AnyFilter::FpBuffer(it) => least_recent::buffer(workload, cells, it.q(), it.is_clock()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filter::registry;
    use crate::lab::StreamSpec;

    /// The predicted rates are probabilities, also for tiny and empty streams.
    #[test]
    fn predicted_rates_are_probabilities() {
        for descriptor in registry() {
            let defaults = FilterSpec::with_defaults(descriptor);
            for (count, distinct) in [(1_000_000, 600_000), (1000, 1000), (2, 1), (1, 1), (0, 0)] {
                let workload = Workload::uniform(count, distinct);
                let Some(found) = predict(&defaults, 1 << 18, &workload) else {
                    continue;
                };
                for point in found.points() {
                    for rate in [found.fpr, found.fnr, point.fpr, point.fnr, point.load] {
                        assert!((0.0..=1.0 + 1e-9).contains(&rate), "{defaults}: {point:?}");
                    }
                }
                assert!(!found.by.is_empty() && !found.loose.is_empty());
            }
        }
    }

    /// Checked for all filters that are advised without a sample.
    #[test]
    fn a_coarse_workload_gives_nearly_the_same_rates() {
        use crate::advise::{Preference, candidates};
        let close = (0..20).fold(GapHistogram::default(), |mut gaps, octave| {
            gaps.record(1 << octave, 1);
            gaps
        });
        for fine in [
            Workload::uniform(2_000_000, 400_000),
            Workload::uniform(1_000_000, 900_000),
            Workload::with_gaps(2_000_000, 400_000, &close),
        ] {
            let (coarse, memory_bits) = (fine.coarse(), 4 * fine.distinct() as u64);
            for spec in candidates(Some(4.0), Preference::Balanced) {
                let rates = |workload| {
                    let found = predict(&spec, memory_bits, workload).expect("a formula");
                    [found.fpr, found.fnr]
                };
                for (fine, coarse) in rates(&fine).into_iter().zip(rates(&coarse)) {
                    let off = (fine - coarse).abs();
                    assert!(off <= 0.02 * fine + 1e-4, "{spec}: {fine}, {coarse}");
                }
            }
        }
    }

    #[test]
    fn the_gaps_assumed_by_default_are_those_of_a_shuffled_stream() {
        use crate::lab::GapMeter;
        let mut gaps = GapMeter::exact();
        let mut stream = StreamSpec::Shuffle {
            distinct_percent: 40.0,
        }
        .open(300_000, 7);
        while let Some((_, number)) = stream.next_key() {
            gaps.record(number);
        }
        let assumed = Workload::uniform(300_000, 120_000);
        let counted = Workload::with_gaps(300_000, 120_000, gaps.histogram());
        for window in [100.0, 1000.0, 10_000.0, 100_000.0, 300_000.0] {
            let (a, b) = (
                assumed.distinct_within(window),
                counted.distinct_within(window),
            );
            assert!((a / b - 1.0).abs() < 0.01, "{window}: {a}, {b}");
        }
        let spec: FilterSpec = "stable".parse().expect("a filter");
        let of = |workload| predict(&spec, 200_000, workload).expect("a formula").fnr;
        assert!((of(&assumed) - of(&counted)).abs() < 0.005);
    }
}
