//! The registry, as the page's form is made from it.

use dedupstore::filter::{Descriptor, Kind, Parameter};
use dedupstore::{AnyFilter, FilterSpec, registry as engine_registry};
use wasm_bindgen::prelude::*;

/// Values of a parameter that are tried side by side: as many as the page has colours.
const TRIED_VALUES: usize = 6;

/// A filter of the registry.
#[wasm_bindgen]
pub struct FilterEntry {
    descriptor: &'static Descriptor,
}

#[wasm_bindgen]
impl FilterEntry {
    /// The name in a spec.
    #[wasm_bindgen(getter)]
    pub fn name(&self) -> String {
        self.descriptor.name.to_owned()
    }

    /// The name in a sentence.
    #[wasm_bindgen(getter)]
    pub fn title(&self) -> String {
        self.descriptor.title.to_owned()
    }

    /// How it works.
    #[wasm_bindgen(getter)]
    pub fn summary(&self) -> String {
        self.descriptor.summary.to_owned()
    }

    /// What it promises.
    #[wasm_bindgen(getter)]
    pub fn promise(&self) -> String {
        self.descriptor.promise.to_owned()
    }

    /// When to choose it.
    #[wasm_bindgen(getter, js_name = chooseWhen)]
    pub fn choose_when(&self) -> String {
        self.descriptor.choose_when.to_owned()
    }

    /// Which way it errs, in words.
    #[wasm_bindgen(getter)]
    pub fn errs(&self) -> String {
        self.descriptor.errs.in_words().to_owned()
    }

    /// The cells of a drawing before a new key comes, row by row.
    #[wasm_bindgen(getter, js_name = drawnBefore)]
    pub fn drawn_before(&self) -> Vec<String> {
        self.descriptor
            .drawing
            .before
            .iter()
            .map(|&row| row.to_owned())
            .collect()
    }

    /// The same cells after it came.
    #[wasm_bindgen(getter, js_name = drawnAfter)]
    pub fn drawn_after(&self) -> Vec<String> {
        self.descriptor
            .drawing
            .after
            .iter()
            .map(|&row| row.to_owned())
            .collect()
    }

    /// What happened in between.
    #[wasm_bindgen(getter)]
    pub fn caption(&self) -> String {
        self.descriptor.drawing.caption.to_owned()
    }

    /// The text form with every parameter at its default.
    #[wasm_bindgen(getter, js_name = defaultSpec)]
    pub fn default_spec(&self) -> String {
        FilterSpec::with_defaults(self.descriptor).to_string()
    }

    /// Its parameters, in the order of the text form.
    #[wasm_bindgen(getter)]
    pub fn parameters(&self) -> Vec<ParameterEntry> {
        let parameters = self.descriptor.parameters.iter();
        parameters
            .map(|parameter| ParameterEntry { parameter })
            .collect()
    }
}

/// A parameter of a filter.
#[wasm_bindgen]
pub struct ParameterEntry {
    parameter: &'static Parameter,
}

#[wasm_bindgen]
impl ParameterEntry {
    /// The name in a spec.
    #[wasm_bindgen(getter)]
    pub fn name(&self) -> String {
        self.parameter.name.to_owned()
    }

    /// What it sets.
    #[wasm_bindgen(getter)]
    pub fn meaning(&self) -> String {
        self.parameter.meaning.to_owned()
    }

    /// The words it may be; none if it is a number.
    #[wasm_bindgen(getter)]
    pub fn options(&self) -> Vec<String> {
        match self.parameter.kind {
            Kind::Choice { options } => options.iter().map(|&word| word.to_owned()).collect(),
            Kind::Integer { .. } | Kind::Decimal { .. } => Vec::new(),
        }
    }

    /// The least it may be, if it is a number.
    #[wasm_bindgen(getter)]
    pub fn min(&self) -> Option<f64> {
        self.range().map(|(min, _, _)| min)
    }

    /// The most it may be, if it is a number.
    #[wasm_bindgen(getter)]
    pub fn max(&self) -> Option<f64> {
        self.range().map(|(_, max, _)| max)
    }

    /// How far apart two neighbouring values are, if it is a number.
    #[wasm_bindgen(getter)]
    pub fn step(&self) -> Option<f64> {
        self.range().map(|(_, _, step)| step)
    }

    /// Its default, as text.
    #[wasm_bindgen(getter, js_name = defaultValue)]
    pub fn default_value(&self) -> String {
        self.parameter.kind.default_value().to_string()
    }

    /// A few values worth trying side by side, as text.
    #[wasm_bindgen(getter)]
    pub fn tried(&self) -> Vec<String> {
        let values = self.parameter.kind.spread(TRIED_VALUES);
        values.iter().map(ToString::to_string).collect()
    }

    /// The least, the most and the step of a number.
    fn range(&self) -> Option<(f64, f64, f64)> {
        match self.parameter.kind {
            Kind::Integer { min, max, .. } => Some((min as f64, max as f64, 1.0)),
            Kind::Decimal {
                min_millionths,
                max_millionths,
                ..
            } => Some((
                min_millionths as f64 / 1e6,
                max_millionths as f64 / 1e6,
                1e-6,
            )),
            Kind::Choice { .. } => None,
        }
    }
}

/// Why a filter does not work in a memory, in words; nothing if it does.
#[wasm_bindgen]
pub fn misfit(filter: &str, memory_bits: f64) -> Option<String> {
    let built = filter
        .parse::<FilterSpec>()
        .map_err(|error| error.to_string())
        .and_then(|spec| {
            AnyFilter::build(&spec, memory_bits as u64).map_err(|error| error.to_string())
        });
    built.err()
}

/// Every filter there is.
#[wasm_bindgen]
pub fn filters() -> Vec<FilterEntry> {
    engine_registry()
        .iter()
        .map(|descriptor| FilterEntry { descriptor })
        .collect()
}
