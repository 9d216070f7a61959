//! The rates of a run against the position in the log, measured and predicted.

use dedupstore::lab::{CurvePoint, FilterRun};
use dedupstore::theory::{Prediction, information};
use js_sys::Float64Array;
use serde::Serialize;
use serde_wasm_bindgen::preserve;
use tsify::Tsify;

/// The curves of all filters of a run. NaN: there is no such rate.
#[derive(Default, Serialize, Tsify)]
pub struct Curves {
    /// The line at which each stretch ends; the same for every filter.
    #[serde(with = "preserve")]
    #[tsify(type = "Float64Array")]
    pub position: Float64Array,
    /// One per filter.
    pub filters: Vec<FilterCurves>,
    /// The least FPR, from the first line on, of any filter in this memory without false
    /// negatives: the least number of false positives that it can expect, rounded down to whole
    /// keys, as a share of first occurrences.
    #[serde(with = "preserve")]
    #[tsify(type = "Float64Array")]
    pub bound: Float64Array,
}

/// The curves of one filter.
#[derive(Serialize, Tsify)]
pub struct FilterCurves {
    /// Of each stretch of lines that ends at a position.
    pub windowed: Rates,
    /// From the first line up to each position.
    pub cumulative: Rates,
}

/// Measured and predicted values.
#[derive(Serialize, Tsify)]
pub struct Rates {
    /// Counted on the log.
    pub measured: Measures,
    /// Computed by the filter's formula; NaN if there is none.
    pub predicted: Measures,
}

/// The four values that the charts show.
#[derive(Serialize, Tsify)]
pub struct Measures {
    /// False positives as a share of first occurrences.
    #[serde(with = "preserve")]
    #[tsify(type = "Float64Array")]
    pub fpr: Float64Array,
    /// False negatives as a share of repeats.
    #[serde(with = "preserve")]
    #[tsify(type = "Float64Array")]
    pub fnr: Float64Array,
    /// Wrong verdicts as a share of lines.
    #[serde(with = "preserve")]
    #[tsify(type = "Float64Array")]
    pub error: Float64Array,
    /// The share of cells in use at the end of the stretch.
    #[serde(with = "preserve")]
    #[tsify(type = "Float64Array")]
    pub load: Float64Array,
}

impl Curves {
    /// Appends the curves of one filter, in at most `stretches` stretches.
    pub(crate) fn push(
        &mut self,
        run: &FilterRun,
        prediction: Option<&Prediction>,
        stretches: usize,
    ) {
        let points = run.scoreboard().joined_curve(stretches);
        let cells = run.set().filter().cells();
        let ends: Vec<f64> = points.iter().skip(1).map(|it| it.position as f64).collect();
        self.position = Float64Array::from(&ends[..]);
        self.bound = Float64Array::from(&least_fpr(&points, run.memory_bits() as f64)[..]);
        let stretches: Vec<Stretch> = points.windows(2).map(|it| (it[0], it[1])).collect();
        let whole: Vec<Stretch> = stretches.iter().map(|it| (points[0], it.1)).collect();
        let predicted = PredictedStretches::new(&stretches, prediction);
        self.filters.push(FilterCurves {
            windowed: Rates {
                measured: measured(&stretches, cells),
                predicted: Measures::predicted(&predicted.0),
            },
            cumulative: Rates {
                measured: measured(&whole, cells),
                predicted: Measures::predicted(&predicted.cumulative()),
            },
        });
    }
}

/// The points at the start and at the end of some lines.
type Stretch = (CurvePoint, CurvePoint);

/// Returns the least FPR up to the end of each stretch. Rounded down to whole keys: that a filter
/// can expect 0.3 false positives does not mean that it must have one.
fn least_fpr(points: &[CurvePoint], memory_bits: f64) -> Vec<f64> {
    let mut expected = 0.0;
    points
        .windows(2)
        .map(|pair| {
            let (start, end) = (pair[0].distinct, pair[1].distinct);
            expected += information::min_false_positives(memory_bits, start, end);
            expected.floor() / end.max(1) as f64
        })
        .collect()
}

fn measured(stretches: &[Stretch], cells: u64) -> Measures {
    let errors = |point: &CurvePoint| point.false_positives + point.false_negatives;
    Measures {
        fpr: column(stretches, |(start, end)| end.fpr_since(start)),
        fnr: column(stretches, |(start, end)| end.fnr_since(start)),
        error: column(stretches, |(start, end)| {
            let lines = end.position - start.position;
            (lines > 0).then(|| (errors(end) - errors(start)) as f64 / lines as f64)
        }),
        load: column(stretches, |(_, end)| {
            Some(end.occupied as f64 / cells as f64)
        }),
    }
}

/// What a formula predicts for each stretch of a log; NaN if there is no formula.
struct PredictedStretches(Vec<PredictedStretch>);

#[derive(Clone, Copy, Default)]
struct PredictedStretch {
    first: f64,
    repeats: f64,
    false_positives: f64,
    false_negatives: f64,
    /// At the end.
    load: f64,
}

impl PredictedStretches {
    /// The rates of a stretch are those at its middle.
    fn new(stretches: &[Stretch], prediction: Option<&Prediction>) -> Self {
        let rate = |at: Option<f64>| at.unwrap_or(f64::NAN);
        let predict = |(start, end): &Stretch| {
            let middle = (start.position + end.position) as f64 / 2.0;
            let first = (end.distinct - start.distinct) as f64;
            let repeats = (end.repeats() - start.repeats()) as f64;
            PredictedStretch {
                first,
                repeats,
                false_positives: first * rate(prediction.map(|it| it.fpr_at(middle))),
                false_negatives: repeats * rate(prediction.map(|it| it.fnr_at(middle))),
                load: rate(prediction.map(|it| it.load_at(end.position as f64))),
            }
        };
        PredictedStretches(stretches.iter().map(predict).collect())
    }

    fn cumulative(&self) -> Vec<PredictedStretch> {
        let sums = self.0.iter().scan(PredictedStretch::default(), |sum, it| {
            *sum = PredictedStretch {
                first: sum.first + it.first,
                repeats: sum.repeats + it.repeats,
                false_positives: sum.false_positives + it.false_positives,
                false_negatives: sum.false_negatives + it.false_negatives,
                load: it.load,
            };
            Some(*sum)
        });
        sums.collect()
    }
}

impl Measures {
    fn predicted(stretches: &[PredictedStretch]) -> Self {
        let rate = |part: f64, whole: f64| (whole > 0.0).then(|| part / whole);
        Measures {
            fpr: column(stretches, |it| rate(it.false_positives, it.first)),
            fnr: column(stretches, |it| rate(it.false_negatives, it.repeats)),
            error: column(stretches, |it| {
                let errors = it.false_positives + it.false_negatives;
                rate(errors, it.first + it.repeats)
            }),
            load: column(stretches, |it| Some(it.load)),
        }
    }
}

/// One value per stretch; NaN for None.
fn column<T>(stretches: &[T], value: impl Fn(&T) -> Option<f64>) -> Float64Array {
    let values: Vec<f64> = stretches
        .iter()
        .map(|stretch| value(stretch).unwrap_or(f64::NAN))
        .collect();
    Float64Array::from(&values[..])
}

#[cfg(test)]
mod tests {
    use dedupstore::filter::PossibleErrors;
    use dedupstore::lab::{NoClock, Simulation, StreamSpec, Truth};
    use dedupstore::{FilterSpec, KeyHasher, registry};

    use super::*;

    /// The keys of the fixtures, and shorter versions of the page's samples.
    fn streams() -> Vec<Vec<Vec<u8>>> {
        let fixture = |name: &str, field: Option<usize>| {
            let path = format!("{}/../fixtures/{name}", env!("CARGO_MANIFEST_DIR"));
            let text = std::fs::read(path).expect("a fixture");
            let lines = text
                .split(|&byte| byte == b'\n')
                .filter(|it| !it.is_empty());
            lines
                .map(|line| match field {
                    None => line.to_vec(),
                    Some(field) => {
                        let found = line.split(|&byte| byte == b' ').nth(field);
                        found.unwrap_or_default().to_vec()
                    }
                })
                .collect()
        };
        let sample = |stream: &str, seed: u64| {
            let spec: StreamSpec = stream.parse().expect("a stream");
            let mut keys = spec.open(10_000, seed);
            let mut collected = Vec::new();
            while let Some((key, _)) = keys.next_key() {
                collected.push(key.to_vec());
            }
            collected
        };
        vec![
            fixture("crawl.log", None),
            fixture("access.log", Some(6)),
            sample("crawl:12:900", 1),
            sample("crawl:1:9000", 2),
            sample("drift:35:4000", 3),
        ]
    }

    /// The steps of the page's slider, in bits.
    fn memories() -> impl Iterator<Item = u64> {
        (10..26)
            .flat_map(|power| [8 << power, 12 << power])
            .chain([8 << 26])
    }

    #[test]
    fn no_filter_without_false_negatives_is_below_the_least_possible() {
        let specs: Vec<FilterSpec> = registry()
            .iter()
            .filter(|it| it.errors == PossibleErrors::FalsePositives)
            .map(|it| FilterSpec::with_defaults(it))
            .collect();
        assert!(specs.len() >= 3, "{} filters", specs.len());
        let (mut compared, mut positive) = (0, 0);
        for keys in streams() {
            assert!(keys.len() > 1000, "{} keys", keys.len());
            for memory_bits in memories() {
                let mut simulation = Simulation::new(1, Truth::for_fingerprints());
                for spec in &specs {
                    // Not every filter works in every memory.
                    let _ = simulation.add_filter(spec, memory_bits);
                }
                let hasher = KeyHasher::new(1);
                for key in &keys {
                    simulation.push_fingerprint(hasher.fingerprint(key), &NoClock);
                }
                simulation.flush(&NoClock);
                for run in simulation.runs() {
                    let points = run.scoreboard().joined_curve(40);
                    let least = least_fpr(&points, run.memory_bits() as f64);
                    for (end, least) in points[1..].iter().zip(least) {
                        let measured = end.fpr_since(&points[0]).unwrap_or(0.0);
                        let name = run.set().spec();
                        assert!(
                            measured >= least,
                            "{name} in {memory_bits} bits after {} lines: {measured} < {least}",
                            end.position
                        );
                        compared += 1;
                        positive += u32::from(least > 0.0);
                    }
                }
            }
        }
        assert!(
            compared > 10_000 && positive > 500,
            "{positive} of {compared}"
        );
    }
}
