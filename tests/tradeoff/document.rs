//! The cells as a document.

use std::fmt::Write;

use super::cell::{Cell, Run, Tally};

/// docs/TRADEOFFS.md.
pub fn document(cells: &[Cell], count: u64) -> String {
    let tally = Tally::of(cells);
    let mut text = format!(
        "# Which filter where\n\n\
         Written by `cargo run --release -p dedupstore-tests --example tradeoff -- {count}`: \
         streams of {count} keys (seed 1), memory by distinct key, every filter at several \
         parameters, against exact truth. FPR is the share of first occurrences that are \
         dropped, FNR the share of repeats that pass.\n\n\
         For each filter the parameters with the least total error are shown. `*` is on the front: \
         nothing that was run here, at any parameters, is better on both rates. `expect` is what \
         `advise` picks when told the memory and the number of keys, `sample` what it picks by a \
         sample of another stream of the same kind (seed 2).\n\n\
         | | without a sample | with a sample |\n|---|---|---|\n"
    );
    let of = |part: usize| format!("{part} of {}", tally.cells);
    for (what, untold, told) in [
        (
            "on the front, or within 10 % of the least total error",
            tally.untold_good,
            tally.told_good,
        ),
        (
            "within 10 % of the least total error",
            tally.untold_near,
            tally.told_near,
        ),
        (
            "a filter of the papers is better on both rates",
            tally.untold_beaten_by_papers,
            tally.told_beaten_by_papers,
        ),
    ] {
        let _ = writeln!(text, "| {what} | {} | {} |", of(untold), of(told));
    }
    for cell in cells {
        text += &section(cell);
    }
    text
}

fn section(cell: &Cell) -> String {
    let mut text = format!(
        "\n## {}, {} bits a distinct key\n\n{} distinct, {} repeats.\n\n\
         | filter | FPR % | FNR % | wrong verdicts | | advised |\n|---|---|---|---|---|---|\n",
        cell.stream, cell.bits_a_key, cell.distinct, cell.repeats
    );
    let mut shown: Vec<&Run> = Vec::new();
    let mut sorted: Vec<&Run> = cell.runs.iter().collect();
    sorted.sort_by_key(|run| run.errors());
    let name = |run: &Run| run.filter.descriptor().name;
    for run in sorted {
        if !shown.iter().any(|other| name(other) == name(run)) {
            shown.push(run);
        }
    }
    for pick in [&cell.untold, &cell.told] {
        let same = |run: &&Run| run.filter.to_string() == pick.filter.to_string();
        if !shown.iter().any(same) {
            shown.push(pick);
        }
    }
    shown.sort_by_key(|run| run.errors());
    let percent =
        |part: u64, whole: u64| format!("{:.3}", 100.0 * part as f64 / whole.max(1) as f64);
    for run in shown {
        let is = |pick: &Run| pick.filter.to_string() == run.filter.to_string();
        let advised = match (is(&cell.untold), is(&cell.told)) {
            (true, true) => "expect, sample",
            (true, false) => "expect",
            (false, true) => "sample",
            (false, false) => "",
        };
        let _ = writeln!(
            text,
            "| `{}` | {} | {} | {} | {} | {advised} |",
            run.filter,
            percent(run.fp, cell.distinct),
            percent(run.missed, cell.repeats),
            run.errors(),
            if cell.is_on_front(run) { "\\*" } else { "" },
        );
    }
    text
}
