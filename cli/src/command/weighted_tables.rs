//! The tables of `dedupstore simulate` for keys with an importance.

use dedupstore::lab::{ImportanceRates, RunSummary};

use crate::table::{percent, render};
use crate::value_parsers;

/// The number of columns into which importance is divided.
const GROUPS: usize = 5;

/// Returns the weighted errors, and the errors by importance, each with an empty line before it.
/// Empty if keys have no importance.
pub fn weighted_tables(runs: &[RunSummary]) -> String {
    let is_weighted = runs.iter().any(|run| !run.importance.is_empty());
    match is_weighted {
        true => format!("\n{}\n{}", weighted_errors(runs), by_importance(runs)),
        false => String::new(),
    }
}

fn weighted_errors(runs: &[RunSummary]) -> String {
    let rows: Vec<Vec<String>> = runs
        .iter()
        .map(|run| {
            let crossover = run.crossover.map(|importance| importance.to_string());
            vec![
                run.filter.clone(),
                value_parsers::show_bits(run.memory_bits),
                percent(run.wfp),
                percent(run.wfn),
                percent(run.precision_w),
                percent(run.recall_w),
                crossover.unwrap_or_else(|| "none".to_owned()),
            ]
        })
        .collect();
    let header = [
        "by importance",
        "memory",
        "weighted FP",
        "weighted FN",
        "precision",
        "recall",
        "crossover",
    ];
    render(&header, &rows)
}

/// The share of repeats let through among all keys of an importance.
fn by_importance(runs: &[RunSummary]) -> String {
    let Some(first) = runs.iter().find(|run| !run.importance.is_empty()) else {
        return String::new();
    };
    let ranges = ranges(&first.importance);
    let title = |rates: &[ImportanceRates]| {
        let (from, to) = (rates[0].from, rates[rates.len() - 1].to);
        match from == to {
            true => from.to_string(),
            false => format!("{from}–{to}"),
        }
    };
    let titles: Vec<String> = ranges
        .iter()
        .map(|&(from, to)| title(&first.importance[from..to]))
        .collect();
    let mut header = vec!["repeats passed, of importance", "memory"];
    header.extend(titles.iter().map(String::as_str));
    let rows: Vec<Vec<String>> = runs
        .iter()
        .map(|run| {
            let mut row = vec![
                run.filter.clone(),
                value_parsers::show_bits(run.memory_bits),
            ];
            let rates = ranges.iter().map(|&(from, to)| {
                let rates = run.importance.get(from..to).unwrap_or_default();
                let count: u64 = rates.iter().map(|it| it.count).sum();
                let missed: u64 = rates.iter().map(|it| it.false_negatives).sum();
                percent((count > 0).then(|| missed as f64 / count as f64))
            });
            row.extend(rates);
            row
        })
        .collect();
    render(&header, &rows)
}

/// Divides the values of importance into ranges of indices with about as many values each.
fn ranges(rates: &[ImportanceRates]) -> Vec<(usize, usize)> {
    let groups = rates.len().min(GROUPS);
    let bound = |index: usize| index * rates.len() / groups.max(1);
    (0..groups).map(|it| (bound(it), bound(it + 1))).collect()
}
