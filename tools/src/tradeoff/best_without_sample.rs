//! What could be reached without a look at the stream.

use dedupstore::FilterSpec;

use super::cell::Cell;

/// In how many cells one filter for each memory, the same on all streams, would be good by
/// bare counts, if it were chosen with all the cells known: no adviser that is told the
/// memory and the number of keys alone can do better with what was run.
pub fn most_without_a_look(cells: &[Cell]) -> usize {
    let mut memories: Vec<f64> = cells.iter().map(|cell| cell.bits_a_key).collect();
    memories.sort_by(f64::total_cmp);
    memories.dedup();
    let at = |memory: f64| {
        let cells = cells.iter().filter(move |cell| cell.bits_a_key == memory);
        cells.collect::<Vec<&Cell>>()
    };
    memories.iter().map(|&memory| most_of(&at(memory))).sum()
}

fn most_of(cells: &[&Cell]) -> usize {
    let good_in = |filter: &FilterSpec| {
        let good = cells.iter().filter(|cell| {
            // A pick may be one of the others: what was run on more tracks is what counts.
            let same = cell.all().filter(|run| run.filter == *filter);
            let run = same.max_by_key(|run| run.by_track.len());
            run.is_some_and(|run| cell.is_good_by_counts(run))
        });
        good.count()
    };
    let filters = cells.iter().flat_map(|cell| cell.all());
    let numbers = filters.map(|run| good_in(&run.filter));
    numbers.max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::super::{Errors, Run};
    use super::*;

    fn cell(bits_a_key: f64, errors: [(&str, u64, u64); 3]) -> Cell {
        let run = |(filter, dropped, missed): (&str, u64, u64)| Run {
            filter: filter.parse().expect("a filter"),
            by_track: vec![Errors { dropped, missed }],
        };
        let runs = errors.map(run).to_vec();
        Cell {
            stream: "shuffle:15".to_owned(),
            bits_a_key,
            distinct: vec![1000],
            repeats: vec![1000],
            untold: runs[0].clone(),
            told: runs[0].clone(),
            runs,
        }
    }

    /// At one bit the Bloom filter is good on both streams; at two each stream has its own.
    #[test]
    fn one_filter_serves_all_streams_at_a_memory() {
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
        assert_eq!(most_without_a_look(&cells), 2 + 1);
    }
}
