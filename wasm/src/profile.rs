//! What a stream of keys is like, whatever filter runs over it.

use wasm_bindgen::prelude::*;

/// A stream's counts and gaps.
#[wasm_bindgen(getter_with_clone)]
pub struct Profile {
    /// Lines that had a key.
    #[wasm_bindgen(readonly)]
    pub count: f64,
    /// Different keys.
    #[wasm_bindgen(readonly)]
    pub distinct: f64,
    /// Powers of two: how far back repeats lie at least, and less than twice as far.
    #[wasm_bindgen(readonly, js_name = gapFrom)]
    pub gap_from: Vec<f64>,
    /// How many repeats lie so far back.
    #[wasm_bindgen(readonly, js_name = gapCount)]
    pub gap_count: Vec<f64>,
    /// One key in how many the gaps were taken from.
    #[wasm_bindgen(readonly, js_name = gapsSampledOneIn)]
    pub gaps_sampled_one_in: f64,
}
