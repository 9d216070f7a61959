//! Names for filters of the registry with some of their parameters fixed.
//!
//! `ibf3:k=4` is `ibf` with the insertion and the deletion that the paper calls IBF3. The text of
//! such a filter has the name instead of the fixed parameters. Changing one of them turns it into
//! the filter itself.

/// A filter with fixed parameters.
#[derive(Debug, PartialEq, Eq)]
pub struct Preset {
    /// The name in a spec.
    pub name: &'static str,
    /// The name of the filter in the registry.
    pub filter: &'static str,
    /// The fixed parameters and their values.
    pub fixed: &'static [(&'static str, &'static str)],
}

impl Preset {
    /// Whether a parameter is fixed.
    pub(super) fn fixes(&self, parameter: &str) -> bool {
        self.fixed.iter().any(|(name, _)| *name == parameter)
    }
}

const fn ibf(name: &'static str, fixed: &'static [(&'static str, &'static str)]) -> Preset {
    Preset {
        name,
        filter: "ibf",
        fixed,
    }
}

/// The combinations in Table 1 of the paper on importance-aware Bloom filters.
const PRESETS: [Preset; 6] = [
    ibf("ibf1", &[("insert", "importance"), ("delete", "random")]),
    ibf(
        "ibf2",
        &[
            ("insert", "importance"),
            ("delete", "min"),
            ("weight", "cumulative"),
        ],
    ),
    ibf(
        "ibf3",
        &[
            ("insert", "max"),
            ("delete", "probabilistic-p"),
            ("weight", "cumulative"),
        ],
    ),
    ibf(
        "ibf4",
        &[
            ("insert", "max"),
            ("delete", "min"),
            ("weight", "cumulative"),
        ],
    ),
    ibf(
        "ibf5",
        &[
            ("insert", "importance"),
            ("delete", "probabilistic-p"),
            ("weight", "cumulative"),
        ],
    ),
    ibf(
        "ibf6",
        &[("insert", "importance"), ("delete", "probabilistic-val")],
    ),
];

/// Returns all presets.
pub fn presets() -> &'static [Preset] {
    match cfg!(feature = "all-filters") {
        true => const { &PRESETS },
        false => &[],
    }
}
