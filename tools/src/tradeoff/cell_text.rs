//! Text form of measured cells, so that streams can be measured in separate runs.
//!
//! A cell is a line `cell STREAM BITS`, a line with the extent of each trial,
//! `DISTINCT/REPEATS …`, and one line per run, `FILTER DROPPED/MISSED …`. The first two runs
//! are the picks without and with a sample.

use std::fmt::Write;

use super::cell::{Cell, Run};
use super::recorded_stream::Errors;

/// Formats cells.
pub fn format(cells: &[Cell]) -> String {
    let mut text = String::new();
    for cell in cells {
        let _ = writeln!(text, "cell {} {}", cell.stream, cell.bits_per_key);
        for (distinct, repeats) in cell.distinct.iter().zip(&cell.repeats) {
            let _ = write!(text, "{distinct}/{repeats} ");
        }
        text.push('\n');
        let picks = [&cell.without_sample, &cell.with_sample];
        for run in picks.into_iter().chain(&cell.runs) {
            let _ = write!(text, "{}", run.filter);
            for errors in &run.by_trial {
                let _ = write!(text, " {}/{}", errors.dropped, errors.missed);
            }
            text.push('\n');
        }
    }
    text
}

/// Parses cells. Returns None if the text is malformed.
pub fn parse(text: &str) -> Option<Vec<Cell>> {
    let blocks = text.split("cell ").skip(1);
    blocks.map(parse_cell).collect()
}

fn parse_cell(block: &str) -> Option<Cell> {
    let mut lines = block.lines();
    let (stream, bits) = lines.next()?.split_once(' ')?;
    let extent = parse_pairs(lines.next()?)?;
    let runs = lines.map(parse_run).collect::<Option<Vec<Run>>>()?;
    let mut runs = runs.into_iter();
    Some(Cell {
        stream: stream.to_owned(),
        bits_per_key: bits.parse().ok()?,
        distinct: extent.iter().map(|pair| pair.0).collect(),
        repeats: extent.iter().map(|pair| pair.1).collect(),
        without_sample: runs.next()?,
        with_sample: runs.next()?,
        runs: runs.collect(),
    })
}

fn parse_run(line: &str) -> Option<Run> {
    let (filter, counts) = line.split_once(' ')?;
    let counts = parse_pairs(counts)?.into_iter();
    Some(Run {
        filter: filter.parse().ok()?,
        by_trial: counts
            .map(|(dropped, missed)| Errors { dropped, missed })
            .collect(),
    })
}

fn parse_pairs(text: &str) -> Option<Vec<(u64, u64)>> {
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
    fn parsing_reads_what_formatting_writes() {
        let run = |filter: &str, dropped| Run {
            filter: filter.parse().expect("a filter"),
            by_trial: vec![Errors { dropped, missed: 2 }; 2],
        };
        let cell = Cell {
            stream: "shuffle:15".to_owned(),
            bits_per_key: 0.5,
            distinct: vec![15, 16],
            repeats: vec![85, 84],
            without_sample: run("bloom", 1),
            with_sample: run("slot", 3),
            runs: vec![run("stable", 5)],
        };
        let text = format(&[cell.clone(), cell]);
        let parsed = parse(&text).expect("cells");
        assert_eq!(parsed.len(), 2);
        assert_eq!(format(&parsed), text);
        assert!(parse("cell shuffle:15").is_none());
    }
}
