//! The papers' tables beside ours, cell by cell.
//!
//! A paper is data: its tables, row by row, as printed. Each cell names the run that
//! measures it. Runs are independent jobs, which whoever has threads may spread over them;
//! cells that rest on the same run share it.
//!
//! Rates do not depend on the scale as long as the memory shrinks with the stream, so a
//! hundredth of the size shows a table within a fraction of a percent. What a hundredth
//! leaves too rare to count is measured again under further seeds.

mod bera_2012;
mod deng_2006;
mod dutta_2013;
mod faulty_stable;
mod run;

use serde::Serialize;

use crate::filter::Citation;

pub use run::{Contender, Outcome, Run, RunError, Source};

/// A paper whose tables can be reproduced.
#[derive(Clone, Copy, Debug)]
pub struct Paper {
    /// The number it goes by here.
    pub id: &'static str,
    /// What it is.
    pub source: Citation,
    cells: fn() -> Vec<Cell>,
}

/// Every paper, by number.
pub const PAPERS: &[Paper] = &[
    Paper {
        id: "000",
        source: bera_2012::SOURCE,
        cells: bera_2012::cells,
    },
    Paper {
        id: "003",
        source: dutta_2013::SOURCE,
        cells: dutta_2013::cells,
    },
    Paper {
        id: "004",
        source: deng_2006::SOURCE,
        cells: deng_2006::cells,
    },
];

/// What a cell holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Metric {
    /// First occurrences reported Seen, of all first occurrences.
    #[serde(rename = "FPR %")]
    Fpr,
    /// Repeats reported New, of all repeats.
    #[serde(rename = "FNR %")]
    Fnr,
}

impl Metric {
    /// Its name, unit last.
    pub const fn name(self) -> &'static str {
        match self {
            Metric::Fpr => "FPR %",
            Metric::Fnr => "FNR %",
        }
    }
}

/// A cell of a table.
#[derive(Clone, Debug)]
pub struct Cell {
    /// The paper's number here.
    pub paper: &'static str,
    /// The table, as the paper names it.
    pub table: &'static str,
    /// The row.
    pub row: String,
    /// The column; one that the paper does not have has more than one word.
    pub column: &'static str,
    /// What is measured.
    pub metric: Metric,
    /// What the paper prints, in percent.
    pub paper_value: f64,
    /// What measures it.
    pub run: Run,
    /// What is wrong in the paper, or other than it says.
    pub note: Option<&'static str>,
}

/// Where in a paper two rates stand.
#[derive(Clone, Debug)]
struct Place {
    paper: &'static str,
    table: &'static str,
    row: String,
    column: &'static str,
}

impl Place {
    fn cell(
        &self,
        metric: Metric,
        paper_value: f64,
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

    /// Both rates of a run.
    fn rates(&self, fpr: f64, fnr: f64, run: Run, note: Option<&'static str>) -> [Cell; 2] {
        [
            self.cell(Metric::Fpr, fpr, &run, note),
            self.cell(Metric::Fnr, fnr, &run, note),
        ]
    }
}

/// A cell with what was measured. These names are the keys of the JSON form.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Reproduced {
    /// The version of this list of keys.
    pub schema: u32,
    /// The paper's number here.
    pub paper: &'static str,
    /// The table, as the paper names it.
    pub table: &'static str,
    /// The row.
    pub row: String,
    /// The column.
    pub column: &'static str,
    /// What is measured.
    pub metric: Metric,
    /// What the paper prints, in percent.
    pub paper_value: f64,
    /// What was measured, in percent.
    pub measured: Option<f64>,
    /// How far off the measured value is, as a share of the paper's, if that is not zero.
    pub deviation: Option<f64>,
    /// What is wrong in the paper, or other than it says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<&'static str>,
}

impl Cell {
    /// The cell with the outcome of its run.
    pub fn with(&self, outcome: &Outcome) -> Reproduced {
        let measured = outcome.percent(self.metric);
        Reproduced {
            schema: 1,
            paper: self.paper,
            table: self.table,
            row: self.row.clone(),
            column: self.column,
            metric: self.metric,
            paper_value: self.paper_value,
            measured,
            deviation: measured
                .filter(|_| self.paper_value > 0.0)
                .map(|measured| measured / self.paper_value - 1.0),
            note: self.note,
        }
    }
}

/// A request for a paper or table that is not here.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReproduceError {
    /// No such paper.
    #[error("there is no paper `{found}`; there are: {}", papers())]
    UnknownPaper {
        /// The number given.
        found: String,
    },
    /// No such table.
    #[error("paper {paper} has no table `{found}` here; there are: {allowed}")]
    UnknownTable {
        /// The paper.
        paper: &'static str,
        /// The table given.
        found: String,
        /// The tables there are.
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

/// The cells of a table, of a paper, or of all.
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
    // `4` will do for `Table 4`.
    let is_wanted = |table: &str| {
        let number = table.rsplit(' ').next().unwrap_or(table);
        table.eq_ignore_ascii_case(wanted) || number == wanted
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

/// A run with the number of times it is done, each under another seed.
#[derive(Clone, Debug)]
pub struct Job {
    /// What is run.
    pub run: Run,
    /// How much smaller than in the paper.
    pub scale: u64,
    /// How many seeds.
    pub rounds: u64,
}

/// The jobs that some cells rest on.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Each may be done by itself.
    pub jobs: Vec<Job>,
    /// For each cell, the place of its job.
    pub job_of: Vec<usize>,
}

/// So many wrong verdicts are to be counted for a cell: their number then has a standard
/// error of 0.8 % of itself.
const WANTED_EVENTS: f64 = 16_000.0;
const MAX_ROUNDS: u64 = 24;
/// A smaller rate is one of nothing in practice.
const LEAST_PURSUED_PERCENT: f64 = 0.01;

impl Plan {
    /// The jobs of some cells at a scale.
    pub fn of(cells: &[Cell], scale: u64) -> Self {
        let mut plan = Plan {
            jobs: Vec::new(),
            job_of: Vec::with_capacity(cells.len()),
        };
        for cell in cells {
            let known = plan.jobs.iter().position(|job| job.run == cell.run);
            let place = known.unwrap_or_else(|| {
                plan.jobs.push(Job {
                    run: cell.run.clone(),
                    scale,
                    rounds: 1,
                });
                plan.jobs.len() - 1
            });
            plan.job_of.push(place);
            let job = &mut plan.jobs[place];
            job.rounds = job.rounds.max(rounds(cell, scale));
        }
        plan
    }
}

/// How many runs make the paper's figure enough events to count.
fn rounds(cell: &Cell, scale: u64) -> u64 {
    let distinct_share = match cell.run.source {
        Source::Shuffle { distinct_percent } => distinct_percent / 100.0,
        Source::Zipf { .. } => return 1,
    };
    if cell.paper_value < LEAST_PURSUED_PERCENT {
        return 1;
    }
    let share = match cell.metric {
        Metric::Fpr => distinct_share,
        Metric::Fnr => 1.0 - distinct_share,
    };
    let events = cell.run.count_at(scale) as f64 * share * cell.paper_value / 100.0;
    ((WANTED_EVENTS / events).ceil() as u64).clamp(1, MAX_ROUNDS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_have_names_of_their_own() {
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
        assert!(cells.iter().all(|cell| cell.paper_value >= 0.0));
        assert!(cells.iter().all(|cell| cell.paper_value < 100.0));
    }

    #[test]
    fn tables_are_found_by_name_and_by_number() {
        let by_number = cells(Some("000"), Some("4")).expect("a table");
        let by_name = cells(Some("000"), Some("table 4")).expect("a table");
        assert_eq!(by_number.len(), by_name.len());
        assert!(by_number.iter().all(|cell| cell.table == "Table 4"));
        let error = cells(Some("000"), Some("10")).expect_err("no such table");
        assert!(error.to_string().contains("Table 1, Table 2"), "{error}");
        let error = cells(Some("7"), None).expect_err("no such paper");
        assert!(error.to_string().contains("000 (S. K. Bera"), "{error}");
    }

    /// Tables 1 to 3 repeat figures of Table 8, and the paper of 2013 those of 2012.
    #[test]
    fn cells_share_runs() {
        let cells = cells(None, None).expect("all");
        let plan = Plan::of(&cells, 100);
        assert_eq!(plan.job_of.len(), cells.len());
        let jobs_of = |table: &str, row: &str, column: &str| -> Vec<usize> {
            let places = cells.iter().zip(&plan.job_of).filter(|(cell, _)| {
                (cell.table, cell.row.as_str(), cell.column) == (table, row, column)
            });
            places.map(|(_, &job)| job).collect()
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
