//! Synthetic logs, as `dedupstore generate` writes them.

use dedupstore::lab::{LogFormat, StreamSpec};
use wasm_bindgen::prelude::*;

/// The form of a log of keys with their importance, as by `dedupstore generate --with-importance`.
const WITH_IMPORTANCE: &str = "with-importance";

/// Generates a log of `count` lines. Equals the output of `dedupstore generate`.
#[wasm_bindgen]
pub fn generate(stream: &str, count: f64, seed: f64, form: &str) -> Result<Vec<u8>, JsError> {
    let spec: StreamSpec = stream.parse()?;
    let mut keys = spec.open(count as u64, seed as u64);
    let mut log = Vec::new();
    if form == WITH_IMPORTANCE {
        while LogFormat::append_key_and_importance(&mut keys, &mut log) {}
    } else {
        let form: LogFormat = form.parse()?;
        while form.append_line(&mut keys, &mut log) {}
    }
    Ok(log)
}
