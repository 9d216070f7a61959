//! Figures 2 to 11 of Bera, Dutta, Narang, Bhattacherjee, 2012: the rates along the stream.
//!
//! The figures are pictures of the runs behind Tables 4 to 9, so each curve ends at a value of a
//! table. The text says what else they show: false positives are stable after 300 to 350 million of a
//! billion keys; the false negatives of BSBF, BSBFSD and RLBSBF fall as the stream grows, while those
//! of SBF rise; the load is stable after 300 to 400 million keys (Figure 11).

use super::bera_2012::{
    ALGORITHMS, BY_ALGORITHM, ByAlgorithm, FAULTY_MEGABYTES, ID, MEGABYTE_BITS,
};
use super::{Cell, CellPosition, Contender, Metric, Run, Source};

/// A figure, the table of its runs, and its memory in megabytes.
const FIGURES: [(&str, &str, u64); 9] = [
    ("Figure 2", "Table 7", 128),
    ("Figure 3", "Table 7", 256),
    ("Figure 4", "Table 7", 512),
    ("Figure 5", "Table 8", 128),
    ("Figure 6", "Table 8", 256),
    ("Figure 7", "Table 8", 512),
    ("Figure 8", "Table 4", 512),
    ("Figure 9", "Table 5", 512),
    ("Figure 10", "Table 6", 512),
];
/// The points of a curve, in tenths of the stream.
const POINTS: [usize; 3] = [1, 3, 10];

const CURVE_NOTE: &str =
    "a comparison of shapes: the figure has no readable numbers before its end";
const END_NOTE: &str = "the end of the curve is the value of the table for this memory";
const FAULTY_END_NOTE: &str = "wrong in the paper: see the column `SBF` of Tables 4 to 9 at 512 MB";
const LOAD_NOTE: &str = "a comparison of shapes: the figure has no readable numbers";

pub(super) fn cells() -> Vec<Cell> {
    let mut cells: Vec<Cell> = FIGURES.into_iter().flat_map(rates).collect();
    let table = BY_ALGORITHM.iter().find(|it| it.table == "Table 7");
    if let Some(table) = table {
        for megabytes in [256, 512] {
            for tenths in [1, 3, 4, 10] {
                let row = format!("{megabytes} MB, {}", after(table, tenths));
                for (column, spec) in ALGORITHMS {
                    let run = run(table, megabytes, spec);
                    let position = position("Figure 11", &row, column);
                    let metric = Metric::LoadAt { tenths };
                    cells.push(position.cell(metric, None, &run, Some(LOAD_NOTE)));
                }
            }
        }
    }
    cells
}

fn position(table: &'static str, row: &str, column: &'static str) -> CellPosition {
    CellPosition {
        paper: ID,
        table,
        row: row.to_owned(),
        column,
    }
}

fn after(table: &ByAlgorithm, tenths: usize) -> String {
    let millions = table.count / 10_000_000 * tenths as u64;
    format!("after {millions} million keys")
}

fn run(table: &ByAlgorithm, megabytes: u64, spec: &str) -> Run {
    Run {
        contender: Contender::Filter(spec.to_owned()),
        memory_bits: megabytes * MEGABYTE_BITS,
        source: Source::Shuffle {
            distinct_percent: table.distinct_percent,
        },
        count: table.count,
    }
}

fn rates((figure, name, megabytes): (&'static str, &'static str, u64)) -> Vec<Cell> {
    let mut cells = Vec::new();
    let tables = BY_ALGORITHM.iter().filter(|it| it.table == name);
    for (table, (_, fpr, fnr)) in tables.flat_map(|table| {
        let rows = table.rows.iter().filter(|row| row.0 == megabytes);
        rows.map(move |row| (table, row))
    }) {
        for tenths in POINTS {
            for (i, (column, spec)) in ALGORITHMS.into_iter().enumerate() {
                let run = run(table, megabytes, spec);
                let is_end = tenths == 10;
                let note = match (is_end, (column, megabytes)) {
                    (true, ("SBF", FAULTY_MEGABYTES)) => FAULTY_END_NOTE,
                    (true, _) => END_NOTE,
                    (false, _) => CURVE_NOTE,
                };
                let position = position(figure, &after(table, tenths), column);
                for (metric, end) in [
                    (Metric::FprUntil { tenths }, fpr[i]),
                    (Metric::FnrUntil { tenths }, fnr[i]),
                ] {
                    let value = is_end.then_some(end);
                    cells.push(position.cell(metric, value, &run, Some(note)));
                }
            }
        }
    }
    cells
}
