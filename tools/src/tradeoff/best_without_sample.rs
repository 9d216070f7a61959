//! The best result that is possible without a sample of the stream.

use dedupstore::FilterSpec;

use super::cell::Cell;

/// Returns the largest number of cells that are good by bare counts if each memory size uses
/// one filter on all streams, chosen with all results known.
///
/// An adviser that knows only the memory and the number of keys cannot exceed it with the
/// configurations that were run.
pub fn best_without_sample(cells: &[Cell]) -> usize {
    let mut memories: Vec<f64> = cells.iter().map(|cell| cell.bits_per_key).collect();
    memories.sort_by(f64::total_cmp);
    memories.dedup();
    let at = |memory: f64| {
        let cells = cells.iter().filter(move |cell| cell.bits_per_key == memory);
        cells.collect::<Vec<&Cell>>()
    };
    let best = |&memory: &f64| best_with_one_filter(&at(memory));
    memories.iter().map(best).sum()
}

fn best_with_one_filter(cells: &[&Cell]) -> usize {
    let good_cells = |filter: &FilterSpec| {
        let good = cells.iter().filter(|cell| {
            // A pick may also be one of the runs: the one with more trials counts.
            let same = cell.all().filter(|run| run.filter == *filter);
            let run = same.max_by_key(|run| run.by_trial.len());
            run.is_some_and(|run| cell.is_good_by_counts(run))
        });
        good.count()
    };
    let runs = cells.iter().flat_map(|cell| cell.all());
    let counts = runs.map(|run| good_cells(&run.filter));
    counts.max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::super::{Errors, Run};
    use super::*;

    fn cell(bits_per_key: f64, errors: [(&str, u64, u64); 3]) -> Cell {
        let run = |(filter, dropped, missed): (&str, u64, u64)| Run {
            filter: filter.parse().expect("a filter"),
            by_trial: vec![Errors { dropped, missed }],
        };
        let runs = errors.map(run).to_vec();
        Cell {
            stream: "shuffle:15".to_owned(),
            bits_per_key,
            distinct: vec![1000],
            repeats: vec![1000],
            without_sample: runs[0].clone(),
            with_sample: runs[0].clone(),
            runs,
        }
    }

    /// At one bit per key the Bloom filter is good on both streams. At two bits per key each
    /// stream needs another filter.
    #[test]
    fn one_filter_per_memory_size_serves_all_streams() {
        let cells = [
            cell(
                1.0,
                [("bloom", 100, 0), ("slot", 90, 900), ("stable", 200, 5)],
            ),
            cell(
                1.0,
                [("bloom", 100, 0), ("slot", 190, 90), ("stable", 300, 5)],
            ),
            cell(
                2.0,
                [("bloom", 100, 0), ("slot", 10, 0), ("stable", 200, 5)],
            ),
            cell(
                2.0,
                [("bloom", 100, 0), ("slot", 110, 50), ("stable", 200, 5)],
            ),
        ];
        assert_eq!(best_without_sample(&cells), 2 + 1);
    }
}
