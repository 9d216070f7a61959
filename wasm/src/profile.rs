//! What a log is like, whatever filter runs over it.

use wasm_bindgen::prelude::*;

/// A log's counts, gaps, most frequent keys and rate over time.
#[wasm_bindgen(getter_with_clone)]
pub struct Profile {
    /// Lines that had a key.
    #[wasm_bindgen(readonly)]
    pub count: f64,
    /// Lines read, with a key or without, in the part that is looked at or not.
    #[wasm_bindgen(readonly)]
    pub read: f64,
    /// Different keys.
    #[wasm_bindgen(readonly)]
    pub distinct: f64,
    /// Lines without a key, which were left out.
    #[wasm_bindgen(readonly, js_name = withoutKey)]
    pub without_key: f64,
    /// Powers of two: how far back repeats lie at least, and less than twice as far.
    #[wasm_bindgen(readonly, js_name = gapFrom)]
    pub gap_from: Vec<f64>,
    /// How many repeats lie so far back.
    #[wasm_bindgen(readonly, js_name = gapCount)]
    pub gap_count: Vec<f64>,
    /// One key in how many the gaps were taken from.
    #[wasm_bindgen(readonly, js_name = gapsSampledOneIn)]
    pub gaps_sampled_one_in: f64,
    /// The most frequent keys.
    #[wasm_bindgen(readonly, js_name = topKeys)]
    pub top_keys: Vec<String>,
    /// How often each came.
    #[wasm_bindgen(readonly, js_name = topCounts)]
    pub top_counts: Vec<f64>,
    /// By how much those counts may be too low.
    #[wasm_bindgen(readonly, js_name = topTooLow)]
    pub top_too_low: f64,
    /// When the first span of time begins, in seconds since 1970.
    #[wasm_bindgen(readonly, js_name = rateFromSeconds)]
    pub rate_from_seconds: f64,
    /// How long a span is.
    #[wasm_bindgen(readonly, js_name = rateWidthSeconds)]
    pub rate_width_seconds: f64,
    /// How many lines each span has; nothing where lines do not tell the time.
    #[wasm_bindgen(readonly, js_name = rateCounts)]
    pub rate_counts: Vec<f64>,
}
