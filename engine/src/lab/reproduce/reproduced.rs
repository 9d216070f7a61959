//! A cell with its measured value, and how well the two agree.

use serde::Serialize;

use super::{Cell, Metric, Outcome};

/// A cell with its measured value. The field names are the keys of the JSON form.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Reproduced {
    /// The version of the JSON form.
    pub schema: u32,
    /// The number of the paper in this project.
    pub paper: &'static str,
    /// The table, as the paper names it.
    pub table: &'static str,
    /// The row.
    pub row: String,
    /// The column.
    pub column: &'static str,
    /// The measured quantity.
    pub metric: Metric,
    /// The published value, in the unit of the metric. None if the paper gives none. The note says so if the value
    /// is computed from the paper's formula instead of printed.
    pub paper_value: Option<f64>,
    /// The measured value, in the unit of the metric.
    pub measured: Option<f64>,
    /// The relative deviation from the paper's value. None if that is zero or unknown.
    pub deviation: Option<f64>,
    /// An error in the paper, or a difference from it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<&'static str>,
}

impl Cell {
    /// Returns the cell with the outcome of its run.
    pub fn with(&self, outcome: &Outcome) -> Reproduced {
        let measured = outcome.value(self.metric);
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
                .zip(self.paper_value.filter(|&value| value > 0.0))
                .map(|(measured, paper)| measured / paper - 1.0),
            note: self.note,
        }
    }
}

/// How well a measured value agrees with the published one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Agreement {
    /// Within 3 %, or within a tenth of a point for rates.
    Same,
    /// Within 15 %, or within 2 points for rates.
    Near,
    /// Further away.
    Far,
    /// There is nothing to compare.
    Unknown,
}

impl Agreement {
    /// Returns a short name.
    pub const fn name(self) -> &'static str {
        match self {
            Agreement::Same => "same",
            Agreement::Near => "near",
            Agreement::Far => "far",
            Agreement::Unknown => "unknown",
        }
    }
}

impl Reproduced {
    /// Returns how well the values agree.
    pub fn agreement(&self) -> Agreement {
        let (Some(paper), Some(measured)) = (self.paper_value, self.measured) else {
            return match (self.paper_value, self.metric) {
                // The paper has a crossover point, and the filter has none.
                (Some(_), Metric::Crossover) => Agreement::Far,
                _ => Agreement::Unknown,
            };
        };
        let difference = (measured - paper).abs();
        let is_within = |share: f64, points: f64| {
            difference <= share * paper.abs()
                || (self.metric.is_in_points() && difference <= points)
        };
        if is_within(0.03, 0.1) {
            Agreement::Same
        } else if is_within(0.15, 2.0) {
            Agreement::Near
        } else {
            Agreement::Far
        }
    }
}
