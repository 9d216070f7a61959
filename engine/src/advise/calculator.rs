//! Solves the formulas of a filter for the number of keys, the memory or the error rate.
//!
//! Two of the three are given. The parameters of the filter are given or chosen: of those that
//! are tried, the ones with which the third is the best.

use super::candidate::candidates;
use super::question::Preference;
use crate::filter::{Descriptor, FilterSpec, Kind, MAX_MEMORY_BITS, MIN_MEMORY_BITS, registry};
use crate::theory::{Prediction, Trust, Workload, predict};

/// Larger values of k are tried only if they are asked for.
const MOST_K: i64 = 24;
/// Memory and keys are found to this factor.
const PRECISION: f64 = 1.0001;
/// No stream is longer than this.
const MOST_KEYS: f64 = 1e13;

/// What is given of a calculation. Exactly two of `keys`, `error` and `memory_bits` are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Given {
    /// The number of distinct keys.
    pub keys: Option<u64>,
    /// The highest error rate: both that of new keys at the end of the stream, and that of
    /// repeats.
    pub error: Option<f64>,
    /// The memory.
    pub memory_bits: Option<u64>,
    /// The parameter `k` of filters that have one.
    pub k: Option<u32>,
    /// How often a key comes on average. It matters for filters that forget.
    pub lines_per_key: f64,
}

/// A filter with numbers that fit together.
#[derive(Clone, Debug, PartialEq)]
pub struct Calculation {
    /// The filter with its parameters.
    pub filter: FilterSpec,
    /// The number of distinct keys.
    pub keys: u64,
    /// The memory.
    pub memory_bits: u64,
    /// The probability that a new key is reported as Seen after all keys.
    pub fpr: f64,
    /// The probability that a repeat is reported as New.
    pub fnr: f64,
    /// The name of the formula.
    pub by: &'static str,
    /// How the formula relates to the truth.
    pub trust: Trust,
}

/// Why there is no calculation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CalculationError {
    /// There is no filter with this name.
    #[error("there is no filter with this name")]
    UnknownFilter,
    /// The filter has no formula for a number of keys.
    #[error("there is no formula for this filter")]
    NoFormula,
    /// The number of given values is not two.
    #[error("two of the number of keys, the error rate and the memory must be given")]
    NotTwoGiven,
    /// The filter has no parameter k, or not with this value.
    #[error("this filter cannot have this k")]
    ImpossibleK,
    /// No memory, or no number of keys, is enough.
    #[error("no memory that the filter can use is enough")]
    Impossible,
}

/// Returns the names of the filters that can be calculated.
pub fn calculated_filters() -> Vec<&'static str> {
    let is_calculated = |descriptor: &&&'static Descriptor| {
        let workload = Workload::uniform(2000, 1000);
        let specs = specs_of(descriptor, None, 16.0);
        specs
            .iter()
            .any(|spec| predict(spec, 1 << 16, &workload).is_some())
    };
    let names = registry().iter().filter(is_calculated);
    names.map(|descriptor| descriptor.name).collect()
}

/// Calculates the missing value for a filter, by its name.
pub fn calculate(filter: &str, given: &Given) -> Result<Calculation, CalculationError> {
    let descriptor = registry()
        .iter()
        .find(|descriptor| descriptor.name == filter)
        .ok_or(CalculationError::UnknownFilter)?;
    let bits_per_key = match (given.keys, given.memory_bits, given.error) {
        (Some(keys), Some(memory_bits), None) => memory_bits as f64 / keys.max(1) as f64,
        (Some(_), None, Some(error)) | (None, Some(_), Some(error)) => bloom_bits(error),
        _ => return Err(CalculationError::NotTwoGiven),
    };
    let specs = specs_of(descriptor, given.k, bits_per_key);
    if specs.is_empty() {
        return Err(CalculationError::ImpossibleK);
    }
    let workload = Workload::uniform(2000, 1000);
    if !specs
        .iter()
        .any(|spec| predict(spec, 1 << 20, &workload).is_some())
    {
        return Err(CalculationError::NoFormula);
    }
    let search = Search {
        lines_per_key: given.lines_per_key.max(1.0),
    };
    let found = match (given.keys, given.memory_bits, given.error) {
        (Some(keys), Some(memory_bits), _) => search.least_error(&specs, keys, memory_bits),
        (Some(keys), None, Some(error)) => search.least_memory(&specs, keys, error),
        (None, Some(memory_bits), Some(error)) => search.most_keys(&specs, memory_bits, error),
        _ => None,
    };
    found.ok_or(CalculationError::Impossible)
}

/// The memory of a Bloom filter with the best k, in bits per key.
fn bloom_bits(error: f64) -> f64 {
    let bits = -libm::log2(error.clamp(1e-300, 0.5)) / core::f64::consts::LN_2;
    bits.clamp(1.0, 256.0)
}

/// The parameters that are tried, the most likely first.
fn specs_of(descriptor: &'static Descriptor, k: Option<u32>, bits_per_key: f64) -> Vec<FilterSpec> {
    let preset = FilterSpec::with_defaults(descriptor);
    let mut specs = vec![preset.clone()];
    let advised = [
        Preference::NoRepeats,
        Preference::NoDrops,
        Preference::Balanced,
    ]
    .into_iter()
    .flat_map(|preference| candidates(Some(bits_per_key), preference))
    .filter(|spec| spec.name() == descriptor.name);
    specs.extend(advised);
    let parameter = descriptor.parameters.iter().find(|it| it.name == "k");
    let Some(Kind::Integer { min, max, .. }) = parameter.map(|parameter| &parameter.kind) else {
        return if k.is_some() {
            Vec::new()
        } else {
            without_doubles(specs)
        };
    };
    let values: Vec<i64> = match k {
        Some(k) => vec![i64::from(k)],
        None => {
            let best = libm::round(core::f64::consts::LN_2 * bits_per_key) as i64;
            let mut values: Vec<i64> = (*min as i64..=(*max as i64).min(MOST_K)).collect();
            values.sort_by_key(|value| (value - best).abs());
            values
        }
    };
    let mut with_k: Vec<FilterSpec> = Vec::new();
    for value in values {
        let text = value.to_string();
        with_k.extend(specs.iter().filter_map(|spec| spec.with("k", &text).ok()));
    }
    without_doubles(with_k)
}

fn without_doubles(specs: Vec<FilterSpec>) -> Vec<FilterSpec> {
    let mut met: Vec<String> = Vec::new();
    let mut kept = specs;
    kept.retain(|spec| {
        let text = spec.to_string();
        let is_new = !met.contains(&text);
        met.push(text);
        is_new
    });
    kept
}

struct Search {
    lines_per_key: f64,
}

impl Search {
    fn workload(&self, keys: f64) -> Workload {
        let keys = keys.max(1.0);
        let count = (keys * self.lines_per_key) as u64;
        Workload::uniform(count.max(keys as u64), keys as u64).coarse()
    }

    fn least_error(
        &self,
        specs: &[FilterSpec],
        keys: u64,
        memory_bits: u64,
    ) -> Option<Calculation> {
        let workload = self.workload(keys as f64);
        let all = specs.iter().filter_map(|spec| {
            let prediction = predict(spec, memory_bits, &workload)?;
            Some(calculation(spec, keys, memory_bits, &prediction))
        });
        all.min_by(|a, b| a.error().total_cmp(&b.error()))
    }

    /// Later specs are searched only if they need less memory than the best one so far.
    fn least_memory(&self, specs: &[FilterSpec], keys: u64, error: f64) -> Option<Calculation> {
        let workload = self.workload(keys as f64);
        let mut best: Option<Calculation> = None;
        for spec in specs {
            let is_enough = |memory_bits: f64| {
                let found = predict(spec, memory_bits as u64, &workload);
                found.is_some_and(|it| it.end().fpr.max(it.end().fnr) <= error)
            };
            let limit = best.as_ref().map(|it| it.memory_bits as f64 / PRECISION);
            let range = (MIN_MEMORY_BITS as f64, MAX_MEMORY_BITS as f64);
            let start = keys as f64 * bloom_bits(error);
            let Some(memory_bits) = least(start, range, limit, is_enough) else {
                continue;
            };
            // Whole bytes.
            let memory_bits = (memory_bits as u64).next_multiple_of(8);
            let prediction = predict(spec, memory_bits, &workload)?;
            best = Some(calculation(spec, keys, memory_bits, &prediction));
        }
        best
    }

    fn most_keys(&self, specs: &[FilterSpec], memory_bits: u64, error: f64) -> Option<Calculation> {
        let mut best: Option<Calculation> = None;
        for spec in specs {
            // The reciprocal is sought, so that more keys are less.
            let is_enough = |reciprocal: f64| {
                let found = predict(spec, memory_bits, &self.workload(1.0 / reciprocal));
                found.is_some_and(|it| it.end().fpr.max(it.end().fnr) <= error)
            };
            let limit = best.as_ref().map(|it| 1.0 / (it.keys as f64 * PRECISION));
            let start = bloom_bits(error) / memory_bits as f64;
            let range = (1.0 / MOST_KEYS, 1.0);
            let Some(reciprocal) = least(start, range, limit, is_enough) else {
                continue;
            };
            let keys = (1.0 / reciprocal) as u64;
            let prediction = predict(spec, memory_bits, &self.workload(keys as f64))?;
            best = Some(calculation(spec, keys.max(1), memory_bits, &prediction));
        }
        best
    }
}

impl Calculation {
    fn error(&self) -> f64 {
        self.fpr.max(self.fnr)
    }
}

fn calculation(
    spec: &FilterSpec,
    keys: u64,
    memory_bits: u64,
    prediction: &Prediction,
) -> Calculation {
    let end = prediction.end();
    Calculation {
        filter: spec.clone(),
        keys,
        memory_bits,
        fpr: end.fpr,
        fnr: end.fnr,
        by: prediction.by,
        trust: prediction.trust,
    }
}

/// Returns the least value from `low` to `high` that is enough, to [`PRECISION`]. Larger values are
/// enough, too. None if there is none, or if `limit`, which is known to be of interest, is not
/// enough.
fn least(
    start: f64,
    (low, high): (f64, f64),
    limit: Option<f64>,
    is_enough: impl Fn(f64) -> bool,
) -> Option<f64> {
    let mut not_enough = low;
    let mut enough = match limit {
        Some(limit) => Some(limit).filter(|&limit| limit >= low && is_enough(limit))?,
        None => {
            let mut value = start.clamp(low, high);
            while !is_enough(value) {
                if value >= high {
                    return None;
                }
                not_enough = value;
                value = (value * 2.0).min(high);
            }
            value
        }
    };
    while not_enough == low && enough > low {
        let below = (enough / 2.0).max(low);
        match is_enough(below) {
            true => enough = below,
            false => {
                not_enough = below;
                break;
            }
        }
    }
    while enough / not_enough > PRECISION {
        let middle = libm::sqrt(enough * not_enough);
        match is_enough(middle) {
            true => enough = middle,
            false => not_enough = middle,
        }
    }
    Some(enough)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(keys: Option<u64>, error: Option<f64>, memory_bits: Option<u64>) -> Given {
        Given {
            keys,
            error,
            memory_bits,
            k: None,
            lines_per_key: 2.0,
        }
    }

    /// n = 10⁶ and p = 10⁻³ need 14.38 bits per key and k = 10.
    #[test]
    fn a_bloom_filter_is_sized_by_the_known_formulas() {
        let found = calculate("bloom", &given(Some(1_000_000), Some(1e-3), None));
        let found = found.expect("possible");
        let bits_per_key = found.memory_bits as f64 / 1e6;
        assert!((bits_per_key - 14.378).abs() < 0.05, "{bits_per_key}");
        assert!(
            found.filter.to_string().contains("k=10"),
            "{}",
            found.filter
        );
        assert!(found.fpr <= 1e-3 && found.fpr > 0.98e-3 && found.fnr == 0.0);
        let rate = calculate("bloom", &given(Some(1_000_000), None, Some(10_000_000)));
        assert!((rate.expect("possible").fpr / 0.00819 - 1.0).abs() < 0.02);
        let keys = calculate("bloom", &given(None, Some(1e-2), Some(9_585_059)));
        let keys = keys.expect("possible").keys as f64;
        assert!((keys / 1e6 - 1.0).abs() < 0.005, "{keys}");
    }

    /// Each answer, given back, returns what was asked before.
    #[test]
    fn the_three_questions_agree_for_every_filter() {
        let names = calculated_filters();
        assert!(names.len() >= 12, "{names:?}");
        for name in names {
            let memory = match calculate(name, &given(Some(100_000), Some(0.02), None)) {
                Ok(found) => found,
                Err(error) => {
                    assert_eq!(error, CalculationError::Impossible, "{name}");
                    continue;
                }
            };
            assert!(memory.error() <= 0.02, "{name}: {memory:?}");
            let asked = given(Some(100_000), None, Some(memory.memory_bits));
            let rate = calculate(name, &asked).expect("possible");
            assert!(
                rate.error() <= memory.error() * 1.0001,
                "{name}: {rate:?} {memory:?}"
            );
            let asked = given(None, Some(0.02), Some(memory.memory_bits));
            let keys = calculate(name, &asked).expect("possible").keys;
            assert!(keys >= 99_000, "{name}: {keys}");
        }
    }

    #[test]
    fn k_can_be_given() {
        let mut asked = given(Some(1_000_000), Some(1e-3), None);
        asked.k = Some(3);
        let found = calculate("bloom", &asked).expect("possible");
        assert!(found.filter.to_string().contains("k=3"), "{}", found.filter);
        // −3 / ln(1 − 0.1) bits per key.
        assert!((found.memory_bits as f64 / 28.47e6 - 1.0).abs() < 0.01);
        asked.k = Some(1_000_000);
        assert_eq!(
            calculate("bloom", &asked),
            Err(CalculationError::ImpossibleK)
        );
        asked.k = None;
        asked.memory_bits = Some(1);
        assert_eq!(
            calculate("bloom", &asked),
            Err(CalculationError::NotTwoGiven)
        );
        assert_eq!(
            calculate("none", &asked),
            Err(CalculationError::UnknownFilter)
        );
    }
}
