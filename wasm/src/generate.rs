//! Logs made on the spot, as `dedupstore generate` makes them.

use dedupstore::lab::{LogForm, StreamSpec};
use wasm_bindgen::prelude::*;

/// A synthetic log.
#[wasm_bindgen]
pub fn generate(stream: &str, count: f64, seed: f64, form: &str) -> Result<Vec<u8>, JsError> {
    let spec: StreamSpec = stream.parse()?;
    let form: LogForm = form.parse()?;
    let mut keys = spec.open(count as u64, seed as u64);
    let mut log = Vec::new();
    while form.append_line(&mut keys, &mut log) {}
    Ok(log)
}
