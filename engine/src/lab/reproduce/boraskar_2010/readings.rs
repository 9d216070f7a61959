//! Other readings of the algorithms whose published values do not follow from the text.

use super::{COLUMNS, Cell, MAX, Metric, OF_TABLES, P, Setting, TABLE_3, TABLE_4, position};

/// An algorithm with the choices that the text leaves open.
struct Reading {
    column: &'static str,
    /// The algorithm whose published values are compared.
    algorithm: &'static str,
    /// The parameters of `ibf`.
    parameters: &'static str,
}

const fn reading(
    column: &'static str,
    algorithm: &'static str,
    parameters: &'static str,
) -> Reading {
    Reading {
        column,
        algorithm,
        parameters,
    }
}

/// The readings besides those of Tables 3 and 4. Importance can be rounded up; a cell can be
/// overwritten by a smaller value; cells can be reset to zero; the importance of a cell can be that
/// of its last key; empty cells can be drawn, too.
const READINGS: [Reading; 29] = [
    reading(
        "IBF1 overwritten",
        "IBF1",
        "insert=importance,delete=random",
    ),
    reading(
        "IBF1 ceil",
        "IBF1",
        "insert=importance,delete=random,keep=larger,map=ceil",
    ),
    reading(
        "IBF1 ceil, overwritten",
        "IBF1",
        "insert=importance,delete=random,map=ceil",
    ),
    reading(
        "IBF1 to zero",
        "IBF1",
        "insert=importance,delete=random,keep=larger,by=zero",
    ),
    reading("IBF2 overwritten", "IBF2", "insert=importance,delete=min"),
    reading(
        "IBF2 ceil",
        "IBF2",
        "insert=importance,delete=min,keep=larger,map=ceil",
    ),
    reading(
        "IBF3 to zero",
        "IBF3",
        "insert=max,delete=probabilistic-p,by=zero",
    ),
    reading(
        "IBF3 current",
        "IBF3",
        "insert=max,delete=probabilistic-p,weight=current",
    ),
    reading(
        "IBF3 current, to zero",
        "IBF3",
        "insert=max,delete=probabilistic-p,weight=current,by=zero",
    ),
    reading("IBF3 any cell", "IBF3", "insert=max,delete=probabilistic"),
    reading(
        "IBF3 any cell, to zero",
        "IBF3",
        "insert=max,delete=probabilistic,by=zero",
    ),
    reading(
        "IBF3 any cell, current",
        "IBF3",
        "insert=max,delete=probabilistic,weight=current",
    ),
    reading(
        "IBF3 any cell, current, to zero",
        "IBF3",
        "insert=max,delete=probabilistic,weight=current,by=zero",
    ),
    reading(
        "IBF5 ceil",
        "IBF5",
        "insert=importance,keep=larger,delete=probabilistic-p,map=ceil",
    ),
    reading(
        "IBF5 to zero",
        "IBF5",
        "insert=importance,keep=larger,delete=probabilistic-p,by=zero",
    ),
    reading(
        "IBF5 ceil, to zero",
        "IBF5",
        "insert=importance,keep=larger,delete=probabilistic-p,map=ceil,by=zero",
    ),
    reading(
        "IBF5 current",
        "IBF5",
        "insert=importance,keep=larger,delete=probabilistic-p,weight=current",
    ),
    reading(
        "IBF5 ceil, current",
        "IBF5",
        "insert=importance,keep=larger,delete=probabilistic-p,map=ceil,weight=current",
    ),
    reading(
        "IBF5 current, to zero",
        "IBF5",
        "insert=importance,keep=larger,delete=probabilistic-p,weight=current,by=zero",
    ),
    reading(
        "IBF5 ceil, current, to zero",
        "IBF5",
        "insert=importance,keep=larger,delete=probabilistic-p,map=ceil,weight=current,by=zero",
    ),
    reading(
        "IBF5 any cell",
        "IBF5",
        "insert=importance,keep=larger,delete=probabilistic",
    ),
    reading(
        "IBF5 any cell, ceil",
        "IBF5",
        "insert=importance,keep=larger,delete=probabilistic,map=ceil",
    ),
    reading(
        "IBF5 any cell, to zero",
        "IBF5",
        "insert=importance,keep=larger,delete=probabilistic,by=zero",
    ),
    reading(
        "IBF5 any cell, ceil, to zero",
        "IBF5",
        "insert=importance,keep=larger,delete=probabilistic,map=ceil,by=zero",
    ),
    reading(
        "IBF5 any cell, current",
        "IBF5",
        "insert=importance,keep=larger,delete=probabilistic,weight=current",
    ),
    reading(
        "IBF5 any cell, ceil, current",
        "IBF5",
        "insert=importance,keep=larger,delete=probabilistic,map=ceil,weight=current",
    ),
    reading(
        "IBF5 any cell, current, to zero",
        "IBF5",
        "insert=importance,keep=larger,delete=probabilistic,weight=current,by=zero",
    ),
    reading(
        "IBF5 any cell, ceil, current, to zero",
        "IBF5",
        "insert=importance,keep=larger,delete=probabilistic,map=ceil,weight=current,by=zero",
    ),
    reading(
        "IBF5 overwritten",
        "IBF5",
        "insert=importance,delete=probabilistic-p",
    ),
];

/// The columns of the tables in which the readings are compared: those without a misprint, with
/// k = 4.
const COMPARED: [usize; 3] = [0, 2, 4];

const NOT_REPRODUCED: &str = "not reproduced under any of the readings tried: importance rounded down or \
     up (`ceil`), the larger value kept or the old one `overwritten`, cells lowered by one or reset \
     (`to zero`), the sum of all importance of a cell or that of its last key (`current`), and \
     exactly p cells in use or any p cells (`any cell`); `dedupstore reproduce 002 readings` \
     measures each. That IBF3 and IBF5 are alike in every column is unexplained";
const READING_NOTE: &str = "another reading than that of Tables 3 and 4";

/// Returns a note if the published values of an algorithm do not follow from the text.
pub(super) fn not_reproduced(algorithm: &str) -> Option<&'static str> {
    matches!(algorithm, "IBF3" | "IBF5").then_some(NOT_REPRODUCED)
}

pub(super) fn cells() -> Vec<Cell> {
    let mut cells = Vec::new();
    for column in COMPARED {
        let (n, k) = COLUMNS[column];
        let setting = Setting {
            cells: n,
            k,
            p: P,
            max: MAX,
        };
        for reading in &READINGS {
            let filter = format!("ibf:{},k={k},p={P},max={MAX}", reading.parameters);
            let run = setting.run_of(filter, OF_TABLES);
            for (metric, table) in [(Metric::Wfp, &TABLE_3), (Metric::Wfn, &TABLE_4)] {
                let mut rows = table.iter();
                let printed = rows.find(|(algorithm, _)| *algorithm == reading.algorithm);
                let value = printed.map(|(_, values)| values[column]);
                let position = position("Readings", setting.name(), reading.column);
                cells.push(position.cell(metric, value, &run, Some(READING_NOTE)));
            }
        }
    }
    cells
}
