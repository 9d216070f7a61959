//! Reports as dictionaries, with the keys of the command line's JSON.

use pyo3::prelude::*;
use serde_json::Value;

use crate::errors;

/// Returns a value as the Python objects that `json.loads` makes.
pub fn to_python<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    py.import("json")?
        .call_method1("loads", (value.to_string(),))
}

/// Serializes a report.
pub fn value(report: &impl serde::Serialize) -> PyResult<Value> {
    serde_json::to_value(report).map_err(|error| errors::invalid(error.to_string()))
}
