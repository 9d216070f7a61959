//! Errors by importance: the published figures of the paper on importance-aware Bloom filters, and
//! what its filters do with importance.

use dedupstore::lab::reproduce::{Cell, Metric, Plan, cells};
use dedupstore::lab::{NoClock, Simulation, StreamSpec, Weights};

/// Measures the chosen cells of the paper; returns each with its relative deviation.
fn measured(table: &str, is_chosen: impl Fn(&Cell) -> bool, rounds: u64) -> Vec<(Cell, f64)> {
    let mut cells = cells(Some("002"), Some(table)).expect("a table");
    cells.retain(is_chosen);
    let mut plan = Plan::of(&cells, 1);
    let mut outcomes = Vec::new();
    for job in &mut plan.jobs {
        job.rounds = rounds;
        outcomes.push(job.execute().expect("enough memory"));
    }
    let with_outcome = cells.into_iter().zip(plan.job_of);
    with_outcome
        .map(|(cell, job)| {
            let deviation = cell.with(&outcomes[job]).deviation;
            (cell, deviation.unwrap_or(0.0))
        })
        .collect()
}

fn is_misprint(cell: &Cell) -> bool {
    cell.note.is_some_and(|note| note.starts_with("a misprint"))
}

/// One run of 100,000 keys: the least published value, 1.45 %, has a standard error of 2.6 %, and
/// the paper's has the same.
#[test]
fn bloom_and_stable_have_the_published_weighted_errors() {
    for (table, metric) in [("Table 3", Metric::Wfp), ("Table 4", Metric::Wfn)] {
        let is_chosen = |cell: &Cell| matches!(cell.column, "BF" | "SBF") && !is_misprint(cell);
        let found = measured(table, is_chosen, 3);
        assert!(found.len() >= 12, "{}", found.len());
        for (cell, deviation) in found {
            assert_eq!(cell.metric, metric);
            assert!(
                deviation.abs() < 0.05,
                "{table}, {}, {}: {deviation}",
                cell.row,
                cell.column
            );
        }
    }
}

/// Two runs: 0.13 %, the least published value of IBF4, then has a standard error of 6 %, and the
/// paper's one of 9 %. IBF1 is compared where it has more errors than that.
#[test]
fn ibf1_ibf2_and_ibf4_have_the_published_weighted_errors() {
    for table in ["Table 3", "Table 4"] {
        let is_chosen = |cell: &Cell| match cell.column {
            "IBF1" | "IBF2" => cell.metric == Metric::Wfn && !is_misprint(cell),
            "IBF4" => !is_misprint(cell),
            _ => false,
        };
        for (cell, deviation) in measured(table, is_chosen, 2) {
            let limit = match cell.column {
                "IBF4" => 0.15,
                _ => 0.07,
            };
            assert!(
                deviation.abs() < limit,
                "{table}, {}, {}: {deviation}",
                cell.row,
                cell.column
            );
        }
    }
}

fn weights(filters: &[(&str, u64)], stream: &str) -> Vec<Weights> {
    let spec: StreamSpec = stream.parse().expect("a stream");
    let mut keys = spec.open(100_000, 1);
    let mut simulation = Simulation::for_stream(&keys, 1);
    for (filter, memory_bits) in filters {
        let filter = filter.parse().expect("a filter");
        simulation
            .add_filter(&filter, *memory_bits)
            .expect("enough memory");
    }
    while let Some(arrival) = keys.next_arrival() {
        simulation.push_arrival(&arrival, &NoClock);
    }
    simulation.flush(&NoClock);
    let runs = simulation.runs().iter();
    runs.map(|run| run.weights().clone()).collect()
}

/// The setting of Figure 4 with p = 3. Each fifth of the importances has 20,000 keys, so a rate has a
/// standard error of at most 0.35 percentage points.
#[test]
fn false_negatives_fall_with_importance() {
    let filters = ["ibf1", "ibf2", "ibf3", "ibf4", "ibf5", "ibf6"];
    let specs = filters.map(|name| format!("{name}:k=4,p=3,max=4"));
    let filters: Vec<(&str, u64)> = specs.iter().map(|it| (it.as_str(), 1 << 21)).collect();
    let found = weights(&filters, "importance-linear:30");
    for ((name, _), weights) in filters.iter().zip(found) {
        let fifth = |from: u16| {
            let rates = weights.rates_within(from, from + 9).expect("keys");
            rates.i_fn
        };
        let fifths = [1, 11, 21, 31, 41].map(fifth);
        for pair in fifths.windows(2) {
            assert!(pair[1] < pair[0] + 0.0105, "{name}: {fifths:?}");
        }
        assert!(fifths[4] < 0.9 * fifths[0], "{name}: {fifths:?}");
    }
}

/// Chi-square test of equal rates over 50 importances: 49 degrees of freedom, mean 49, standard
/// deviation 9.9. The errors of one key depend on each other, so the variance is about the mean
/// number of occurrences of a key times that of independent errors; here 3.3.
#[test]
fn the_stable_bloom_filter_is_blind_to_importance() {
    let found = weights(
        &[("stable:k=4,p=7,max=4", 3 * 65_536)],
        "importance-linear:30",
    );
    let rates = found[0].rates();
    assert_eq!(rates.len(), 50);
    let count: u64 = rates.iter().map(|it| it.count).sum();
    let errors: u64 = rates.iter().map(|it| it.false_negatives).sum();
    let share = errors as f64 / count as f64;
    assert!((0.15..0.22).contains(&share), "{share}");
    let deviation = |it: &dedupstore::lab::ImportanceRates| {
        let expected = it.count as f64 * share;
        (it.false_negatives as f64 - expected).powi(2) / (expected * (1.0 - share))
    };
    let chi_square: f64 = rates.iter().map(deviation).sum();
    assert!(chi_square < 3.3 * (49.0 + 4.0 * 9.9), "{chi_square}");
}

/// The crossover points of the paper's settings: none under its text, one under another reading.
#[test]
fn a_crossover_point_may_not_exist() {
    let is_chosen = |cell: &Cell| {
        cell.metric == Metric::Crossover && cell.row.starts_with("n = 65536, k = 4, p = 7, M = 4")
    };
    let found = measured("Figure 5", is_chosen, 1);
    let [(as_text, _), (other, deviation)] = &found[..] else {
        panic!("{found:?}");
    };
    assert_eq!((as_text.column, as_text.paper_value), ("IBF3", Some(18.0)));
    assert!(other.column.contains("any cell"));
    assert!(deviation.abs() < 0.25, "{deviation}");
}
