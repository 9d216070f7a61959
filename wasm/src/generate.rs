//! Synthetic logs, as `dedupstore generate` writes them.

use dedupstore::lab::{LogFormat, StreamSpec};
use wasm_bindgen::prelude::*;

/// Generates a log of `count` lines. Equals the output of `dedupstore generate`.
#[wasm_bindgen]
pub fn generate(stream: &str, count: f64, seed: f64, form: &str) -> Result<Vec<u8>, JsError> {
    let spec: StreamSpec = stream.parse()?;
    let form: LogFormat = form.parse()?;
    let mut keys = spec.open(count as u64, seed as u64);
    let mut log = Vec::new();
    while form.append_line(&mut keys, &mut log) {}
    Ok(log)
}
