//! Reproduces the tables of the papers, cell by cell.
//!
//! The tables are data, as printed. Each cell names the run that measures it. Runs are independent
//! jobs, so callers can execute them on several threads. Cells that need the same run share it.
//!
//! Rates do not depend on the scale if the memory shrinks with the stream. A scale of 100
//! reproduces a table within a fraction of a percent. If events become too rare to count, the run
//! is repeated with other seeds.
//!
//! Some papers print curves without numbers. Their cells have no value of the paper, and a note
//! that calls them a comparison of shapes.

mod bera_2012;
mod bera_2012_figures;
mod boraskar_2010;
mod cell_chain;
mod deng_2006;
mod deng_2006_figures;
mod distance_law;
mod dutta_2013;
mod dutta_2013_figures;
mod execute;
mod faulty_stable;
mod horizontal_slices;
mod keys;
mod koloniari_2011;
mod koloniari_2011_trees;
mod koloniari_growth;
mod koloniari_slices;
mod metric;
mod omission;
mod outcome;
mod recency_stack;
mod reproduced;
mod run;
mod sliced_filter;
mod statement;

use crate::filter::Citation;

pub use distance_law::KnownMisses;
pub use koloniari_growth::Third;
pub use metric::{Metric, Quantity, Rate};
pub use omission::{OMISSIONS, Omission};
pub use outcome::{Duplicates, LevelOutcome, Outcome, Tenth};
pub use reproduced::{Agreement, Reproduced};
pub use run::{Contender, Run, RunError, Source};
pub use sliced_filter::{SiteMetric, SiteOutcome, SliceContender, SliceExperiment};
pub use statement::{Finding, STATEMENTS, Statement};

/// A paper whose tables can be reproduced.
#[derive(Clone, Copy, Debug)]
pub struct Paper {
    /// Its number in this project.
    pub id: &'static str,
    /// Authors, title and year.
    pub source: Citation,
    /// Whether a number alone also names a figure. Not if the figures plot the runs of the tables.
    figures_by_number: bool,
    cells: fn() -> Vec<Cell>,
}

/// Every paper, by number.
pub const PAPERS: &[Paper] = &[
    Paper {
        id: "000",
        source: bera_2012::SOURCE,
        figures_by_number: false,
        cells: || [bera_2012::cells(), bera_2012_figures::cells()].concat(),
    },
    Paper {
        id: "001",
        source: Citation::KOLONIARI_2011,
        figures_by_number: true,
        cells: || {
            [
                koloniari_2011::cells(),
                koloniari_growth::cells(),
                koloniari_2011_trees::cells(),
            ]
            .concat()
        },
    },
    Paper {
        id: "002",
        source: Citation::BORASKAR_2010,
        figures_by_number: true,
        cells: boraskar_2010::cells,
    },
    Paper {
        id: "003",
        source: dutta_2013::SOURCE,
        figures_by_number: true,
        cells: || [dutta_2013::cells(), dutta_2013_figures::cells()].concat(),
    },
    Paper {
        id: "004",
        source: deng_2006::SOURCE,
        figures_by_number: true,
        cells: || [deng_2006::cells(), deng_2006_figures::cells()].concat(),
    },
];

/// A cell of a table.
#[derive(Clone, Debug)]
pub struct Cell {
    /// The number of the paper in this project.
    pub paper: &'static str,
    /// The table, as the paper names it.
    pub table: &'static str,
    /// The row.
    pub row: String,
    /// The column. A name of several words marks a column that the paper does not have.
    pub column: &'static str,
    /// The measured quantity.
    pub metric: Metric,
    /// The published value, in the unit of the metric. None if the paper gives none. The note says so if the value
    /// is computed from the paper's formula instead of printed.
    pub paper_value: Option<f64>,
    /// The run that measures it.
    pub run: Run,
    /// An error in the paper, or a difference from it.
    pub note: Option<&'static str>,
}

/// The position of a cell in a paper.
#[derive(Clone, Debug)]
struct CellPosition {
    paper: &'static str,
    table: &'static str,
    row: String,
    column: &'static str,
}

impl CellPosition {
    fn cell(
        &self,
        metric: Metric,
        paper_value: Option<f64>,
        run: &Run,
        note: Option<&'static str>,
    ) -> Cell {
        Cell {
            paper: self.paper,
            table: self.table,
            row: self.row.clone(),
            column: self.column,
            metric,
            paper_value,
            run: run.clone(),
            note,
        }
    }

    /// Returns the cells of both rates of a run.
    fn rates(&self, fpr: f64, fnr: f64, run: Run, note: Option<&'static str>) -> [Cell; 2] {
        [
            self.cell(Metric::Fpr, Some(fpr), &run, note),
            self.cell(Metric::Fnr, Some(fnr), &run, note),
        ]
    }
}

/// The error for an unknown paper or table.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReproduceError {
    /// There is no such paper.
    #[error("there is no paper `{found}`; the papers are: {}", papers())]
    UnknownPaper {
        /// The given number.
        found: String,
    },
    /// There is no such table.
    #[error(
        "paper {paper} has no table `{found}` that can be reproduced; the tables are: {allowed}"
    )]
    UnknownTable {
        /// The paper.
        paper: &'static str,
        /// The given table.
        found: String,
        /// The tables that can be reproduced.
        allowed: String,
    },
}

fn papers() -> String {
    let described = PAPERS.iter().map(|paper| {
        let source = &paper.source;
        format!("{} ({}, {})", paper.id, source.authors, source.year)
    });
    described.collect::<Vec<_>>().join("; ")
}

/// Returns the cells of a table, of a paper, or of all papers.
pub fn cells(paper: Option<&str>, table: Option<&str>) -> Result<Vec<Cell>, ReproduceError> {
    let Some(wanted) = paper else {
        return Ok(PAPERS.iter().flat_map(|paper| (paper.cells)()).collect());
    };
    let paper = PAPERS.iter().find(|paper| paper.id == wanted);
    let paper = paper.ok_or_else(|| ReproduceError::UnknownPaper {
        found: wanted.to_owned(),
    })?;
    let cells = (paper.cells)();
    let Some(wanted) = table else {
        return Ok(cells);
    };
    let mut tables: Vec<&str> = cells.iter().map(|cell| cell.table).collect();
    tables.dedup();
    // `4` is accepted for `Table 4`.
    let is_wanted = |table: &str| {
        let (kind, number) = table.rsplit_once(' ').unwrap_or(("", table));
        let by_number = number == wanted && (paper.figures_by_number || kind != "Figure");
        table.eq_ignore_ascii_case(wanted) || by_number
    };
    if !tables.iter().any(|table| is_wanted(table)) {
        return Err(ReproduceError::UnknownTable {
            paper: paper.id,
            found: wanted.to_owned(),
            allowed: tables.join(", "),
        });
    }
    let chosen = cells.into_iter().filter(|cell| is_wanted(cell.table));
    Ok(chosen.collect())
}

/// A run at a scale, repeated with different seeds.
#[derive(Clone, Debug)]
pub struct Job {
    /// The run.
    pub run: Run,
    /// The factor by which it is smaller than in the paper.
    pub scale: u64,
    /// The number of seeds.
    pub rounds: u64,
}

/// The jobs for a list of cells.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The jobs, which are independent.
    pub jobs: Vec<Job>,
    /// The index of the job of each cell.
    pub job_of: Vec<usize>,
}

/// The number of wrong verdicts to count for a cell: its relative standard error is 0.8 %.
const TARGET_EVENTS: f64 = 16_000.0;
const MAX_ROUNDS: u64 = 24;
/// The same for streams that are short in the paper.
const MAX_SHORT_ROUNDS: u64 = 100;
const SHORT: u64 = 100_000;
/// How often a run is repeated if there is no value to compare with.
const SHAPE_ROUNDS: u64 = 10;
/// How often a run with importance is repeated: then every importance has 10,000 keys.
const IMPORTANCE_ROUNDS: u64 = 5;
/// A run is not repeated for a smaller rate.
const MIN_REPEATED_PERCENT: f64 = 0.01;

impl Plan {
    /// Returns the jobs of cells at a scale.
    pub fn of(cells: &[Cell], scale: u64) -> Self {
        let mut plan = Plan {
            jobs: Vec::new(),
            job_of: Vec::with_capacity(cells.len()),
        };
        for cell in cells {
            let known = plan.jobs.iter().position(|job| job.run == cell.run);
            let index = known.unwrap_or_else(|| {
                plan.jobs.push(Job {
                    run: cell.run.clone(),
                    scale,
                    rounds: 1,
                });
                plan.jobs.len() - 1
            });
            plan.job_of.push(index);
            let job = &mut plan.jobs[index];
            job.rounds = job.rounds.max(rounds(cell, scale));
        }
        plan
    }
}

/// Returns how many runs give enough events to count at the paper's rate.
fn rounds(cell: &Cell, scale: u64) -> u64 {
    match (cell.run.source, &cell.run.contender) {
        (Source::Importance { .. }, _) => return IMPORTANCE_ROUNDS,
        (Source::Poisson { .. } | Source::Bmodel { .. } | Source::FixedGap { .. }, _)
        | (_, Contender::LeastMemory { .. } | Contender::NotMeasured) => return 1,
        _ => {}
    }
    use Metric::{FnrUntil, FprUntil, LoadAt, ZerosAt};
    // The curves of runs that other cells repeat if they need it.
    if matches!(
        cell.metric,
        FprUntil { .. } | FnrUntil { .. } | LoadAt { .. } | ZerosAt { .. }
    ) {
        return 1;
    }
    let Some(paper_value) = cell.paper_value else {
        return SHAPE_ROUNDS;
    };
    let distinct_share = match cell.run.source {
        Source::Shuffle { distinct_percent } | Source::Uniform { distinct_percent } => {
            distinct_percent / 100.0
        }
        Source::Fitted { known, .. } => known.distinct_percent / 100.0,
        _ => return 1,
    };
    if paper_value < MIN_REPEATED_PERCENT {
        return 1;
    }
    let share = match cell.metric {
        Metric::Filters { .. } | Metric::FilterChanges { .. } => return SHAPE_ROUNDS,
        Metric::Fpr | Metric::FprInThird { .. } => distinct_share,
        Metric::Fnr | Metric::TrueDuplicates { .. } => 1.0 - distinct_share,
        Metric::Sites(_) => return SHAPE_ROUNDS,
        // Only measured on trees, or on streams with importance.
        _ => 1.0,
    };
    let events = cell.run.count_at(scale) as f64 * share * paper_value / 100.0;
    let most = match cell.run.count {
        0..=SHORT => MAX_SHORT_ROUNDS,
        _ => MAX_ROUNDS,
    };
    ((TARGET_EVENTS / events).ceil() as u64).clamp(1, most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cell_names_are_unique() {
        let cells = cells(None, None).expect("all");
        let name = |cell: &Cell| {
            let metric = cell.metric.name();
            format!(
                "{} {} {} {} {metric}",
                cell.paper, cell.table, cell.row, cell.column
            )
        };
        let mut names: Vec<String> = cells.iter().map(name).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
        let is_rate = |cell: &&Cell| {
            use Metric::{Accesses, FnrDifference};
            let metric = cell.metric;
            metric.is_in_points() && !matches!(metric, Accesses { .. } | FnrDifference)
        };
        let rates = cells.iter().filter(is_rate).filter_map(|it| it.paper_value);
        assert!(rates.clone().count() > 700);
        assert!(rates.clone().all(|value| (0.0..=100.0).contains(&value)));
    }

    #[test]
    fn a_cell_without_a_value_is_called_a_comparison_of_shapes() {
        let cells = cells(None, None).expect("all");
        let mut shapes = cells.iter().filter(|cell| cell.paper_value.is_none());
        assert!(shapes.clone().count() > 50);
        assert!(shapes.all(|cell| {
            let note = cell.note.unwrap_or("");
            note.starts_with("a comparison of shapes")
        }));
    }

    #[test]
    fn tables_are_found_by_name_and_by_number() {
        let by_number = cells(Some("000"), Some("4")).expect("a table");
        let by_name = cells(Some("000"), Some("table 4")).expect("a table");
        assert_eq!(by_number.len(), by_name.len());
        assert!(by_number.iter().all(|cell| cell.table == "Table 4"));
        let figure = cells(Some("000"), Some("Figure 4")).expect("a figure");
        assert!(figure.iter().all(|cell| cell.table == "Figure 4"));
        let error = cells(Some("000"), Some("10")).expect_err("no such table");
        assert!(error.to_string().contains("Table 1, Table 2"), "{error}");
        let error = cells(Some("7"), None).expect_err("no such paper");
        assert!(error.to_string().contains("000 (S. K. Bera"), "{error}");
    }

    /// Tables 1 to 3 repeat values of Table 8, and the paper of 2013 repeats those of 2012.
    #[test]
    fn cells_share_runs() {
        let cells = cells(None, None).expect("all");
        let plan = Plan::of(&cells, 100);
        assert_eq!(plan.job_of.len(), cells.len());
        let jobs_of = |table: &str, row: &str, column: &str| -> Vec<usize> {
            let matching = cells.iter().zip(&plan.job_of).filter(|(cell, _)| {
                (cell.table, cell.row.as_str(), cell.column) == (table, row, column)
            });
            matching.map(|(_, &job)| job).collect()
        };
        let of_table_8 = jobs_of("Table 8", "128 MB", "BSBF");
        assert_eq!(of_table_8.len(), 2);
        assert_eq!(of_table_8[0], of_table_8[1], "both rates come from one run");
        assert_eq!(jobs_of("Table 1", "128 MB", "k=2"), of_table_8);
        assert_eq!(
            jobs_of("Table 2", "695 million (60 %), 64 MB", "RSBF"),
            jobs_of("Table 5", "64 MB", "RSBF")
        );
        for (cell, &job) in cells.iter().zip(&plan.job_of) {
            assert_eq!(plan.jobs[job].run, cell.run);
        }
    }
}
