//! What formulas say of filters, beside what is measured of them.
//!
//! [`predict`] takes a filter, a memory and a stream's length, keys and gaps
//! ([`Workload`]) and gives both error rates, averaged over the stream and along it, with
//! the name of the formula and where it is loose. [`standing`] does the same for a filter
//! of which only its counts are known. All arithmetic goes through libm, so that the
//! numbers are the same on every target.

mod bits;
mod blocked;
mod fading;
mod forecast;
mod gaps;
pub mod information;
mod poisson;
mod power;
mod prediction;
mod quotient;
mod recency;
mod reservoir;
pub mod stable;
mod standing;
mod workload;

pub use forecast::{Forecast, forecast};
pub use gaps::{GapBucket, GapHistogram};
pub use prediction::{PredictedPoint, Prediction, Trust};
pub use standing::{Standing, standing};
pub use workload::Workload;

use crate::filter::{AnyFilter, FilterSpec};

/// Bits of a line of memory.
const LINE_BITS: f64 = 512.0;

/// What theory says of a filter in a memory on a stream. Nothing if there is no such
/// filter, or no formula for it.
pub fn predict(spec: &FilterSpec, memory_bits: u64, workload: &Workload) -> Option<Prediction> {
    let cells = AnyFilter::build(spec, memory_bits).ok()?.cells() as f64;
    let number = |name: &str| number(spec, name);
    let word = |name: &str, word: &str| is_word(spec, name, word);
    let k = number("k");
    Some(match spec.descriptor().name {
        "bloom" => bits::bloom(workload, k, cells, word("layout", "partitioned")),
        "counting" => bits::bloom(workload, k, cells, false),
        "bsbf" => bits::bsbf(workload, k, cells),
        "bsbfsd" => bits::bsbfsd(workload, k, cells),
        "rlbsbf" => bits::rlbsbf(workload, k, cells),
        "rsbf" => {
            let span = cells / k;
            let printed = word("reading", "printed");
            reservoir::Reservoir {
                k,
                span,
                spared: if printed { span } else { 0.0 },
            }
            .predict(workload)
        }
        "stable" => stable::Stable {
            k,
            p: number("p"),
            max: number("max"),
            cells,
        }
        .predict(workload),
        "blocked" => blocked::Blocked {
            lines: cells / LINE_BITS,
            line_bits: LINE_BITS,
            k,
            cap: number("cap") / 100.0,
        }
        .predict(workload),
        "buffer" => recency::buffer(workload, cells, 0.0, word("policy", "clock")),
        "fpbuffer" => recency::buffer(workload, cells, number("q"), word("policy", "clock")),
        "recent" => ranked(workload, LINE_BITS, cells, number("bits"), number("insert")),
        "word" => ranked(workload, 64.0, cells, number("bits"), number("insert")),
        "aging" => {
            let lines = libm::round(cells / LINE_BITS).max(1.0);
            let half_bits = cells / lines / 2.0;
            recency::aging(workload, lines, half_bits, k, number("fill") / 100.0)
        }
        "slot" => quotient::slot(workload, cells, number("values")),
        // Keys that are their own fingerprints fill some rows and leave others empty.
        "sqf" if word("fingerprint", "identity") => return None,
        "sqf" => fading::solve(workload, quotient::HASHED, &rows(spec, cells)),
        "dsqf" => fading::solve(workload, quotient::SHARED_POOL, &rows(spec, cells)),
        _ => return None,
    })
}

fn ranked(
    workload: &Workload,
    line_bits: f64,
    cells: f64,
    width_bits: f64,
    entrance: f64,
) -> Prediction {
    let fields = libm::floor(line_bits / width_bits);
    let values = libm::exp2(width_bits) - 1.0;
    recency::ranked(workload, cells / fields, fields, values, entrance > 0.0)
}

fn rows(spec: &FilterSpec, cells: f64) -> quotient::Quotient {
    let k = number(spec, "k");
    quotient::Quotient {
        rows: cells / k,
        k,
        remainder_bits: number(spec, "r") as u32,
        kept_bits: number(spec, "rr") as u32,
    }
}

/// The value of a parameter, as its text form says; 0 for one that the filter lacks.
fn number(spec: &FilterSpec, name: &str) -> f64 {
    let mut values = spec.values().filter(|(it, _)| it.name == name);
    let value = values.next().map(|(_, value)| value.to_string());
    value.and_then(|text| text.parse().ok()).unwrap_or(0.0)
}

fn is_word(spec: &FilterSpec, name: &str, word: &str) -> bool {
    let mut values = spec.values();
    values.any(|(parameter, value)| parameter.name == name && value.to_string() == word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filter::registry;
    use crate::lab::StreamSpec;

    /// Every filter has a prediction, and whatever the filter's parameters and however
    /// small the stream, it is a chance.
    #[test]
    fn every_filter_has_a_prediction() {
        for descriptor in registry() {
            let defaults = FilterSpec::with_defaults(descriptor);
            for (count, distinct) in [(1_000_000, 600_000), (1000, 1000), (2, 1), (1, 1), (0, 0)] {
                let workload = Workload::uniform(count, distinct);
                let found = predict(&defaults, 1 << 18, &workload);
                let found = found.unwrap_or_else(|| panic!("{defaults} has no prediction"));
                for point in found.points() {
                    for chance in [found.fpr, found.fnr, point.fpr, point.fnr, point.load] {
                        assert!(
                            (0.0..=1.0 + 1e-9).contains(&chance),
                            "{defaults}: {point:?}"
                        );
                    }
                }
                assert!(!found.by.is_empty() && !found.loose.is_empty());
            }
        }
    }

    /// A stream known less well leads to nearly the same rates, of all filters that are
    /// advised without a sample.
    #[test]
    fn a_coarse_stream_is_nearly_the_same() {
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

    /// With no gaps counted and with those of a shuffled stream counted it is the same.
    #[test]
    fn the_assumed_gaps_are_those_of_a_shuffle() {
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
