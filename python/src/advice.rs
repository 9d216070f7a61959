//! The choice of a filter.

use dedupstore::advise::{Estimate, Preference, Question, RatesBy, Sample, minimum_memory};
use dedupstore::{DEFAULT_MEMORY, KeyHasher};
use pyo3::prelude::*;
use serde_json::{Value, json};

use crate::options::Size;
use crate::{errors, json, keys};

/// Chooses a filter; returns it with its expected error rates, the reason, and the runners-up.
///
/// `keys` is a sample of the stream, in its order; without it, formulas predict the rates. `expect`
/// is the number of distinct keys. `prefer` says which error is worse: "no-drops" (of new keys),
/// "no-repeats", or "balanced". Without `memory`, the smallest one for `expect` and `max_fpr` is
/// taken if both are given.
///
/// >>> from dedupstore import advise
/// >>> advise(expect=1_000_000, max_fpr=0.001)["keeps_bounds"]
/// True
#[pyfunction]
#[pyo3(signature = (keys=None, *, memory=None, expect=None, max_fpr=None, max_fnr=None, cost_fp=1.0, cost_fn=1.0, prefer="balanced", window=None, by_end=false))]
#[expect(clippy::too_many_arguments, reason = "they are keyword arguments")]
pub fn advise<'py>(
    py: Python<'py>,
    keys: Option<&Bound<'py, PyAny>>,
    memory: Option<Size>,
    expect: Option<u64>,
    max_fpr: Option<f64>,
    max_fnr: Option<f64>,
    cost_fp: f64,
    cost_fn: f64,
    prefer: &str,
    window: Option<u64>,
    by_end: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let sample = keys.map(sample).transpose()?;
    let known = sample.as_ref().map(Sample::stream_distinct);
    let distinct = expect.or(known);
    let memory_bits = match (memory, distinct, max_fpr, window) {
        (Some(size), ..) => size.parse()?.bits(),
        (None, Some(distinct), Some(fpr), None) => {
            minimum_memory(distinct, fpr).map_or(DEFAULT_MEMORY.bits(), |size| size.memory_bits)
        }
        _ => DEFAULT_MEMORY.bits(),
    };
    let question = Question {
        window,
        distinct,
        max_fpr,
        max_fnr,
        cost_fp,
        cost_fn,
        preference: preference(prefer)?,
        rates_by: match by_end {
            true => RatesBy::End,
            false => RatesBy::Mean,
        },
        sample: sample.as_ref(),
        ..Question::of_memory(memory_bits)
    };
    let advice = py.detach(|| dedupstore::advise::advise(&question));
    let advice = advice.map_err(|error| errors::of_creation(&error))?;
    let runners_up: Vec<Value> = advice.runners_up.iter().map(estimate).collect();
    let answer = json!({
        "filter": advice.choice.filter.to_string(),
        "memory_bits": memory_bits,
        "distinct": distinct,
        "window": window,
        "fpr": advice.choice.fpr,
        "fnr": advice.choice.fnr,
        "choice": estimate(&advice.choice),
        "runners_up": runners_up,
        "keeps_bounds": advice.keeps_bounds,
        "reason": advice.reason,
        "least_fpr": advice.least_fpr,
    });
    json::to_python(py, &answer)
}

fn sample(keys: &Bound<'_, PyAny>) -> PyResult<Sample> {
    let mut sample = Sample::default();
    for fingerprint in keys::fingerprints(&KeyHasher::new(0), keys)? {
        sample.record(fingerprint);
    }
    Ok(sample)
}

fn preference(name: &str) -> PyResult<Preference> {
    let found = Preference::NAMES.iter().find(|(known, _)| *known == name);
    found.map(|(_, preference)| *preference).ok_or_else(|| {
        let known: Vec<&str> = Preference::NAMES.iter().map(|(name, _)| *name).collect();
        errors::invalid(format!(
            "expected one of {}; found {name}",
            known.join(", ")
        ))
    })
}

fn estimate(estimate: &Estimate) -> Value {
    json!({
        "filter": estimate.filter.to_string(),
        "fpr": estimate.fpr,
        "fnr": estimate.fnr,
        "fpr_range": estimate.fpr_range,
        "fnr_range": estimate.fnr_range,
        "end_fpr": estimate.end_fpr,
        "cost": estimate.cost,
    })
}
