//! Everything that a registered filter must have outside its own file.

use dedupstore::theory::{Workload, predict};
use dedupstore::{FilterSpec, registry};
use dedupstore_tests::{fixture, root};
use dedupstore_tools::golden;
use dedupstore_tools::tradeoff::{grid, importance_grid, window_grid};

use crate::{oracles, theory};

/// Returns what a filter lacks, and how to add it.
fn missing(spec: &FilterSpec, golden_states: &str) -> Vec<String> {
    let name = spec.descriptor().name;
    let has_formula = predict(spec, 1 << 20, &Workload::uniform(1000, 500)).is_some();
    let is_in = |grid: Vec<FilterSpec>| grid.iter().any(|it| it.descriptor().name == name);
    let is_measured = is_in(grid()) || is_in(window_grid(3600)) || is_in(importance_grid());
    let has_golden_state = golden_states
        .lines()
        .any(|line| golden::is_state_of(line, name));
    let golden_store = fixture("stores").join(golden::store_name(name));
    let page = root().join(format!("docs/filters/{name}.md"));
    let required = [
        (
            oracles::has_oracle(spec),
            "an oracle: add an arm to `oracle` in tests/engine/oracles/mod.rs".to_owned(),
        ),
        (
            !has_formula || theory::is_compared(name),
            "a theory row: add a line to EXPECTED in tests/engine/theory.rs".to_owned(),
        ),
        (
            is_measured,
            "a trade-off row: add a line to tools/src/tradeoff/grid.rs".to_owned(),
        ),
        (
            has_golden_state,
            format!("golden states: run `cargo xtask golden {name}`"),
        ),
        (
            golden_store.is_dir(),
            format!("a golden store: run `cargo xtask golden {name}`"),
        ),
        (
            page.is_file(),
            "a page in docs/filters: run `cargo xtask filter-pages`".to_owned(),
        ),
    ];
    let missing = required.into_iter().filter(|(present, _)| !present);
    missing
        .map(|(_, hint)| format!("{name} has no {}", hint.strip_prefix("a ").unwrap_or(&hint)))
        .collect()
}

#[test]
fn every_registered_filter_is_complete() {
    let golden_states =
        std::fs::read_to_string(fixture("golden-states.txt")).expect("the golden states");
    let missing: Vec<String> = registry()
        .iter()
        .flat_map(|descriptor| missing(&FilterSpec::with_defaults(descriptor), &golden_states))
        .collect();
    assert!(missing.is_empty(), "\n{}", missing.join("\n"));
}
