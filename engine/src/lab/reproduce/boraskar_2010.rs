//! Tables 3 and 4 and Figures 3 to 7 of Boraskar, 2010.
//!
//! All of them are about 100,000 keys of importance 1 to 50, each value equally frequent. The tables
//! and the figures come from different streams. The text says that 70 % of the keys are duplicates;
//! the figures agree with that. In the tables, IBF2 misses every duplicate in three columns, and
//! these weigh 44.53 %, so that is the share of duplicates there. The keys are independent draws: a
//! random order of a fixed number of keys gives the same false positives, but up to 8 % more false
//! negatives.
//!
//! Algorithm 2 sets a cell to the importance of the key even if the cell holds more. The published
//! values of IBF1 and IBF2 follow if a cell keeps the larger value, and only then.
//!
//! A size n is a number of cells. The importance-aware filters need memory besides the cells, which
//! the paper does not count: here every filter has n cells, whatever they cost.
//!
//! The figures are curves. The text names some of their values; those are compared.

mod readings;

use super::{Cell, CellPosition, Contender, Metric, Run, Source};
use crate::filter::{AnyFilter, FilterSpec};

use self::readings::not_reproduced;

const ID: &str = "002";
const COUNT: u64 = 100_000;
/// The distinct keys of the stream of the tables, in percent.
const OF_TABLES: f64 = 55.47;
/// The distinct keys of the stream of the figures, in percent.
const OF_FIGURES: f64 = 30.0;

/// Cells, and k, of each column of the tables.
const COLUMNS: [(u64, u64); 6] = [
    (16_384, 4),
    (16_384, 8),
    (65_536, 4),
    (65_536, 8),
    (262_144, 4),
    (262_144, 8),
];
const P: u64 = 7;
const MAX: u64 = 4;

/// The algorithms of the tables, and weighted false positives as printed.
const TABLE_3: [(&str, [f64; 6]); 7] = [
    ("BF", [46.93, 5.87, 23.52, 33.31, 1.58, 2.34]),
    ("SBF", [23.10, 33.47, 13.49, 21.93, 1.45, 2.04]),
    ("IBF1", [3.83, 4.30, 2.12, 2.25, 0.27, 0.15]),
    ("IBF2", [0.0, 0.02, 0.0, 0.004, 0.01, 7.56e-4]),
    ("IBF3", [7.64, 6.02, 4.77, 5.22, 0.49, 0.70]),
    ("IBF4", [3.48, 5.40, 1.45, 2.75, 0.13, 0.22]),
    ("IBF5", [7.74, 49.90, 4.74, 5.15, 0.48, 0.68]),
];
/// Weighted false negatives as printed.
const TABLE_4: [(&str, [f64; 6]); 7] = [
    ("BF", [0.0; 6]),
    ("SBF", [20.04, 13.42, 13.56, 22.93, 2.24, 2.67]),
    ("IBF1", [37.89, 38.15, 30.69, 10.43, 16.43, 19.99]),
    ("IBF2", [44.53, 44.27, 44.53, 32.55, 44.53, 38.14]),
    ("IBF3", [33.45, 36.22, 19.11, 43.26, 8.90, 4.40]),
    ("IBF4", [35.72, 33.92, 28.91, 22.87, 16.99, 9.50]),
    ("IBF5", [33.50, 36.30, 19.20, 26.09, 8.77, 4.48]),
];
const EXCHANGED: (u64, u64) = (16_384, 8);
const ROTATED: (u64, u64) = (65_536, 8);

const EXCHANGED_NOTE: &str = "a misprint: in this column of Table 3, the values of BF and IBF5 are \
     exchanged; the row `corrected` has them in their places";
const ROTATED_NOTE: &str = "a misprint: in this column of Table 4, each value from SBF on is printed \
     one row too low, and that of IBF5 in the row of SBF; the row `corrected` has them in their \
     places";
const CORRECTED_NOTE: &str = "printed in another row of the same column";
const FIGURE_NOTE: &str = "read from the text, which rounds";
const ALL_IBF_NOTE: &str = "the text gives one value for all importance-aware filters; its figure \
     does not name k and p, here they are 4 and 7 as in Figures 5 and 6";
const RATIO_NOTE: &str = "a comparison of shapes: the text says that the Bloom filter has 3 to 5 \
     times the false positives of the importance-aware filters";
const CROSSOVER_NOTE: &str = "read from the text, which rounds; `none`: from no importance on does the \
     filter miss fewer repeats than SBF with the same k, p and max and as many cells. With exactly p \
     cells lowered by one, as the text defines it, IBF3 has no crossover point here; the column `IBF3 \
     any cell to zero` draws empty cells, too, and resets a cell to zero, and has one at p = 7, k = 4, \
     M = 4 only. No reading gives both the tables and the crossover points. Figures 4 and 6 contradict each other: one setting has 15 \
     in one and 18 in the other";
const ZEROS_NOTE: &str = "read from the text: \"around 50\" for SBF, \"from 50 to 400\" for the others, \
     \"nearly 400\" for IBF2; the mean over the second half of the stream";
const ZEROS_SHAPE_NOTE: &str =
    "a comparison of shapes: the text says \"from 50 to 400\" for the importance-aware filters";

/// Another reading of IBF3, which has crossover points: a filter that resets any cell to zero.
const ANY_CELL_TO_ZERO: &str = "IBF3 any cell to zero";

/// A setting of the paper.
#[derive(Clone, Copy)]
struct Setting {
    cells: u64,
    k: u64,
    p: u64,
    max: u64,
}

pub(super) fn cells() -> Vec<Cell> {
    let tables = [
        ("Table 3", Metric::Wfp, &TABLE_3),
        ("Table 4", Metric::Wfn, &TABLE_4),
    ];
    let tables = tables
        .into_iter()
        .flat_map(|(table, metric, rows)| table_cells(table, metric, rows));
    let mut cells: Vec<Cell> = tables.collect();
    cells.extend(figure_3());
    cells.extend(figure_4());
    cells.extend(figure_5());
    cells.extend(figure_6());
    cells.extend(figure_7());
    cells.extend(readings::cells());
    cells
}

fn table_cells(
    table: &'static str,
    metric: Metric,
    rows: &'static [(&'static str, [f64; 6])],
) -> Vec<Cell> {
    let mut cells = Vec::new();
    for (index, &(n, k)) in COLUMNS.iter().enumerate() {
        let setting = Setting {
            cells: n,
            k,
            p: P,
            max: MAX,
        };
        let mut corrected = Vec::new();
        for (row, (algorithm, values)) in rows.iter().enumerate() {
            let run = setting.run(algorithm, OF_TABLES);
            let elsewhere = true_row(table, (n, k), row);
            let note = match (elsewhere, table) {
                (None, _) => not_reproduced(algorithm),
                (Some(_), "Table 3") => Some(EXCHANGED_NOTE),
                (Some(_), _) => Some(ROTATED_NOTE),
            };
            let cell = position(table, setting.name(), algorithm);
            cells.push(cell.cell(metric, Some(values[index]), &run, note));
            if let Some(elsewhere) = elsewhere {
                let printed = rows[elsewhere].1[index];
                let name = format!("{}, corrected", setting.name());
                let note = not_reproduced(algorithm).or(Some(CORRECTED_NOTE));
                let cell = position(table, name, algorithm);
                corrected.push(cell.cell(metric, Some(printed), &run, note));
            }
        }
        cells.extend(corrected);
    }
    cells
}

/// Returns the row in which the value of a row is printed by mistake.
fn true_row(table: &str, column: (u64, u64), row: usize) -> Option<usize> {
    match (table, row) {
        ("Table 3", 0) if column == EXCHANGED => Some(6),
        ("Table 3", 6) if column == EXCHANGED => Some(0),
        ("Table 4", 1..=5) if column == ROTATED => Some(row + 1),
        ("Table 4", 6) if column == ROTATED => Some(1),
        _ => None,
    }
}

/// Varies n.
fn figure_3() -> Vec<Cell> {
    let at = |n| Setting {
        cells: n,
        k: 4,
        p: P,
        max: MAX,
    };
    let mut cells = Vec::new();
    for algorithm in ["IBF1", "IBF2", "IBF3", "IBF4", "IBF5", "IBF6"] {
        for (n, metric, value) in [
            (65_536, Metric::FalsePositives, 5.0),
            (65_536, Metric::LowFalseNegatives, 40.0),
            (65_536, Metric::HighFalseNegatives, 5.0),
            (16_384, Metric::HighFalseNegatives, 30.0),
            (262_144, Metric::HighFalseNegatives, 2.0),
        ] {
            cells.push(figure(
                "Figure 3",
                at(n),
                algorithm,
                metric,
                value,
                ALL_IBF_NOTE,
            ));
        }
    }
    let bloom = at(65_536);
    let run = bloom.run("BF", OF_FIGURES);
    let metric = Metric::FalsePositives;
    cells.push(position("Figure 3", bloom.name(), "BF").cell(metric, None, &run, Some(RATIO_NOTE)));
    cells
}

/// Varies p.
fn figure_4() -> Vec<Cell> {
    let at = |p| Setting {
        cells: 65_536,
        k: 4,
        p,
        max: MAX,
    };
    let rates = [(3, 40.0), (7, 50.0)].into_iter().map(|(p, value)| {
        let metric = Metric::FalseNegatives;
        figure("Figure 4", at(p), "IBF1", metric, value, FIGURE_NOTE)
    });
    let crossovers = [(3, 30.0), (7, 15.0)];
    let crossovers = crossovers
        .into_iter()
        .flat_map(|(p, value)| crossover_cells("Figure 4", at(p), value));
    rates.chain(crossovers).collect()
}

/// Varies k.
fn figure_5() -> Vec<Cell> {
    let at = |k| Setting {
        cells: 65_536,
        k,
        p: P,
        max: MAX,
    };
    let rates = [
        (4, "IBF5", Metric::FalsePositives, 0.8),
        (8, "IBF5", Metric::FalsePositives, 2.0),
        (4, "IBF1", Metric::FalseNegatives, 60.0),
        (8, "IBF1", Metric::FalseNegatives, 40.0),
    ];
    let rates = rates.into_iter().map(|(k, algorithm, metric, value)| {
        figure("Figure 5", at(k), algorithm, metric, value, FIGURE_NOTE)
    });
    let crossovers = [(4, 18.0), (16, 27.0)];
    let crossovers = crossovers
        .into_iter()
        .flat_map(|(k, value)| crossover_cells("Figure 5", at(k), value));
    rates.chain(crossovers).collect()
}

/// Varies M.
fn figure_6() -> Vec<Cell> {
    let at = |max| Setting {
        cells: 65_536,
        k: 4,
        p: P,
        max,
    };
    let rates = [
        (4, "SBF", Metric::FalsePositives, 3.0),
        (16, "SBF", Metric::FalsePositives, 5.0),
        (4, "SBF", Metric::FalseNegatives, 20.0),
        (16, "SBF", Metric::FalseNegatives, 0.0),
        (4, "IBF3", Metric::FalseNegatives, 50.0),
        (16, "IBF3", Metric::FalseNegatives, 30.0),
    ];
    let rates = rates.into_iter().map(|(max, algorithm, metric, value)| {
        figure("Figure 6", at(max), algorithm, metric, value, FIGURE_NOTE)
    });
    let crossovers = [(4, 18.0), (8, 30.0), (16, 40.0)];
    let crossovers = crossovers
        .into_iter()
        .flat_map(|(max, value)| crossover_cells("Figure 6", at(max), value));
    rates.chain(crossovers).collect()
}

/// Counts empty cells.
fn figure_7() -> Vec<Cell> {
    let setting = Setting {
        cells: 512,
        k: 4,
        p: 5,
        max: 5,
    };
    let algorithms = ["BF", "SBF", "IBF1", "IBF2", "IBF3", "IBF4", "IBF5", "IBF6"];
    let cell = |algorithm: &'static str| {
        let (value, note) = match algorithm {
            "BF" => (Some(0.0), ZEROS_NOTE),
            "SBF" => (Some(50.0), ZEROS_NOTE),
            "IBF2" => (Some(400.0), ZEROS_NOTE),
            _ => (None, ZEROS_SHAPE_NOTE),
        };
        let run = setting.run(algorithm, OF_FIGURES);
        let position = position("Figure 7", setting.name(), algorithm);
        position.cell(Metric::EmptyCells, value, &run, Some(note))
    };
    algorithms.into_iter().map(cell).collect()
}

fn figure(
    table: &'static str,
    setting: Setting,
    algorithm: &'static str,
    metric: Metric,
    value: f64,
    note: &'static str,
) -> Cell {
    let run = setting.run(algorithm, OF_FIGURES);
    let position = position(table, setting.name(), algorithm);
    position.cell(metric, Some(value), &run, Some(note))
}

/// The crossover point of IBF3, and of the reading of it that has one.
fn crossover_cells(table: &'static str, setting: Setting, value: f64) -> [Cell; 2] {
    ["IBF3", ANY_CELL_TO_ZERO].map(|algorithm| {
        let position = position(table, setting.name(), algorithm);
        let run = setting.compared_run(algorithm, OF_FIGURES);
        position.cell(Metric::Crossover, Some(value), &run, Some(CROSSOVER_NOTE))
    })
}

fn position(table: &'static str, row: String, column: &'static str) -> CellPosition {
    CellPosition {
        paper: ID,
        table,
        row,
        column,
    }
}

impl Setting {
    fn name(&self) -> String {
        format!(
            "n = {}, k = {}, p = {}, M = {}",
            self.cells, self.k, self.p, self.max
        )
    }

    /// Returns the text form of an algorithm.
    fn filter(&self, algorithm: &str) -> String {
        let Setting { k, p, max, .. } = self;
        match algorithm {
            "BF" => format!("bloom:k={k}"),
            "SBF" => format!("stable:k={k},p={p},max={max}"),
            ANY_CELL_TO_ZERO => {
                format!("ibf:insert=max,delete=probabilistic,by=zero,k={k},p={p},max={max}")
            }
            ibf => format!("{}:keep=larger,k={k},p={p},max={max}", ibf.to_lowercase()),
        }
    }

    fn run(&self, algorithm: &str, distinct_percent: f64) -> Run {
        self.run_of(self.filter(algorithm), distinct_percent)
    }

    fn run_of(&self, filter: String, distinct_percent: f64) -> Run {
        Run {
            memory_bits: memory_for_cells(&filter, self.cells),
            contender: Contender::Filter(filter),
            source: Source::Importance { distinct_percent },
            count: COUNT,
        }
    }

    /// Returns a run beside the stable Bloom filter of the setting.
    fn compared_run(&self, algorithm: &str, distinct_percent: f64) -> Run {
        let stable = self.filter("SBF");
        let run = self.run(algorithm, distinct_percent);
        Run {
            contender: Contender::Compared {
                filter: self.filter(algorithm),
                reference_bits: memory_for_cells(&stable, self.cells),
                reference: stable,
            },
            ..run
        }
    }
}

/// Returns the least memory in which a filter has so many cells; 0 if there is none.
fn memory_for_cells(filter: &str, cells: u64) -> u64 {
    let Ok(spec) = filter.parse::<FilterSpec>() else {
        return 0;
    };
    let has_cells = |memory_bits: u64| {
        let built = AnyFilter::build(&spec, memory_bits);
        built.is_ok_and(|filter| filter.cells() >= cells)
    };
    let (mut too_small, mut enough) = (0, cells.saturating_mul(256));
    while enough - too_small > 1 {
        let middle = too_small + (enough - too_small) / 2;
        match has_cells(middle) {
            true => enough = middle,
            false => too_small = middle,
        }
    }
    enough
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_filter_has_the_cells_of_its_setting() {
        for cells in [512, 16_384, 65_536, 262_144] {
            let setting = Setting {
                cells,
                k: 4,
                p: P,
                max: MAX,
            };
            let algorithms = ["BF", "SBF", "IBF1", "IBF2", "IBF3", "IBF4", "IBF5", "IBF6"];
            for algorithm in algorithms {
                let run = setting.run(algorithm, OF_TABLES);
                let Contender::Filter(spec) = &run.contender else {
                    panic!("{algorithm}");
                };
                let spec: FilterSpec = spec.parse().expect("a filter");
                let built = AnyFilter::build(&spec, run.memory_bits).expect("large enough");
                assert_eq!(built.cells(), cells, "{algorithm}");
            }
        }
        assert_eq!(memory_for_cells("stable:k=4,p=7,max=4", 65_536), 3 * 65_536);
    }

    /// After the correction, IBF3 and IBF5 are close in the rotated column, as in all others.
    #[test]
    fn the_rotated_column_holds_the_same_values() {
        let column = COLUMNS
            .iter()
            .position(|it| *it == ROTATED)
            .expect("listed");
        let value = |row: usize| {
            let printed = true_row("Table 4", ROTATED, row).unwrap_or(row);
            TABLE_4[printed].1[column]
        };
        let corrected: Vec<f64> = (0..7).map(value).collect();
        assert_eq!(corrected, [0.0, 10.43, 32.55, 43.26, 22.87, 26.09, 22.93]);
    }
}
