//! Cells kept as text, so that what takes minutes can be measured a stream at a time.
//!
//! A cell is a line `cell STREAM BITS`, one of what each track had, `DISTINCT/REPEATS …`, and
//! one a run, `FILTER DROPPED/MISSED …`, of which the first two are what was picked.

use std::fmt::Write;

use super::cell::{Cell, Run};
use super::track::Errors;

/// Cells as text.
pub fn written(cells: &[Cell]) -> String {
    let mut text = String::new();
    for cell in cells {
        let _ = writeln!(text, "cell {} {}", cell.stream, cell.bits_a_key);
        for (distinct, repeats) in cell.distinct.iter().zip(&cell.repeats) {
            let _ = write!(text, "{distinct}/{repeats} ");
        }
        text.push('\n');
        for run in [&cell.untold, &cell.told].into_iter().chain(&cell.runs) {
            let _ = write!(text, "{}", run.filter);
            for errors in &run.by_track {
                let _ = write!(text, " {}/{}", errors.dropped, errors.missed);
            }
            text.push('\n');
        }
    }
    text
}

/// The cells of a text; nothing, if it is not one.
pub fn read(text: &str) -> Option<Vec<Cell>> {
    let blocks = text.split("cell ").skip(1);
    blocks.map(cell).collect()
}

fn cell(block: &str) -> Option<Cell> {
    let mut lines = block.lines();
    let (stream, bits) = lines.next()?.split_once(' ')?;
    let extent = pairs(lines.next()?)?;
    let mut runs = lines.map(run).collect::<Option<Vec<Run>>>()?.into_iter();
    Some(Cell {
        stream: stream.to_owned(),
        bits_a_key: bits.parse().ok()?,
        distinct: extent.iter().map(|pair| pair.0).collect(),
        repeats: extent.iter().map(|pair| pair.1).collect(),
        untold: runs.next()?,
        told: runs.next()?,
        runs: runs.collect(),
    })
}

fn run(line: &str) -> Option<Run> {
    let (filter, counts) = line.split_once(' ')?;
    let counts = pairs(counts)?.into_iter();
    Some(Run {
        filter: filter.parse().ok()?,
        by_track: counts
            .map(|(dropped, missed)| Errors { dropped, missed })
            .collect(),
    })
}

fn pairs(text: &str) -> Option<Vec<(u64, u64)>> {
    let pair = |word: &str| {
        let (first, second) = word.split_once('/')?;
        Some((first.parse().ok()?, second.parse().ok()?))
    };
    text.split_whitespace().map(pair).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let run = |filter: &str, dropped| Run {
            filter: filter.parse().expect("a filter"),
            by_track: vec![Errors { dropped, missed: 2 }; 2],
        };
        let cell = Cell {
            stream: "shuffle:15".to_owned(),
            bits_a_key: 0.5,
            distinct: vec![15, 16],
            repeats: vec![85, 84],
            untold: run("bloom", 1),
            told: run("slot", 3),
            runs: vec![run("stable", 5)],
        };
        let text = written(&[cell.clone(), cell]);
        let found = read(&text).expect("cells");
        assert_eq!(found.len(), 2);
        assert_eq!(written(&found), text);
        assert!(read("cell shuffle:15").is_none());
    }
}
