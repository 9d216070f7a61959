//! How error rates depend on the importance of keys.

use dedupstore::lab::StreamSpec;
use dedupstore::{AnyFilter, FilterSpec, Observation, SeenSetBuilder};

const COUNT: u64 = 100_000;
const CELLS: u64 = 65_536;
const SEED: u64 = 1;
const MAX_IMPORTANCE: usize = 50;

/// Returns the least memory with so many cells.
fn memory_bits(spec: &FilterSpec) -> u64 {
    let cells = |bits| AnyFilter::build(spec, bits).map_or(0, |filter| filter.cells());
    let (mut low, mut high) = (64, 128 * CELLS);
    while low < high {
        let middle = low + (high - low) / 2;
        match cells(middle) < CELLS {
            true => low = middle + 1,
            false => high = middle,
        }
    }
    low
}

/// Returns the repeats and those of them that were reported New, by importance from 1 on.
fn missed_by_importance(filter: &str) -> Vec<(f64, f64)> {
    let spec: FilterSpec = filter.parse().expect("a filter");
    let set = SeenSetBuilder::new(&spec).memory_bits(memory_bits(&spec));
    let mut set = set.seed(SEED).build().expect("small");
    let stream: StreamSpec = "importance-linear:30".parse().expect("a stream");
    let mut keys = stream.open(COUNT, SEED);
    let mut truth = keys.truth();
    let mut missed = vec![(0.0, 0.0); MAX_IMPORTANCE];
    while let Some(arrival) = keys.next_arrival() {
        let importance = arrival.importance.expect("a weighted stream");
        let is_first = truth.is_first(arrival.number);
        let verdict = set.observe_one(Observation {
            importance,
            ..set.hasher().fingerprint(arrival.key).into()
        });
        if !is_first {
            let counts = &mut missed[usize::from(importance) - 1];
            counts.0 += 1.0;
            counts.1 += f64::from(u8::from(verdict.is_new()));
        }
    }
    missed
}

fn rate(counts: &[(f64, f64)]) -> (f64, f64) {
    let sum = |pick: fn(&(f64, f64)) -> f64| counts.iter().map(pick).sum::<f64>();
    let (repeats, missed) = (sum(|it| it.0), sum(|it| it.1));
    let rate = missed / repeats;
    (rate, (rate * (1.0 - rate) / repeats).sqrt())
}

/// The ten greatest importances against the ten least: a difference of four standard errors.
#[test]
fn false_negatives_fall_with_importance() {
    for filter in ["ibf1", "ibf2", "ibf3", "ibf4", "ibf5", "ibf6"] {
        let missed = missed_by_importance(&format!("{filter}:k=4,p=3,max=4"));
        let (least, greatest) = (rate(&missed[..10]), rate(&missed[40..]));
        println!("{filter}: {:.4} falls to {:.4}", least.0, greatest.0);
        let tolerance = 4.0 * (least.1.powi(2) + greatest.1.powi(2)).sqrt();
        assert!(
            least.0 - greatest.0 > tolerance,
            "{filter}: {least:?}, {greatest:?}"
        );
    }
}

/// Chi-square over 50 values: 49 degrees of freedom, mean 49, standard deviation 9.9. Repeats of
/// one key are not independent, so the spread is a little larger.
#[test]
fn false_negatives_of_the_stable_filter_do_not_depend_on_importance() {
    for filter in ["stable:k=4,p=7,max=4", "ibf:insert=max,delete=random"] {
        let missed = missed_by_importance(filter);
        let (mean, _) = rate(&missed);
        let deviation = |&(repeats, missed): &(f64, f64)| {
            (missed - repeats * mean).powi(2) / (repeats * mean * (1.0 - mean))
        };
        let chi_square: f64 = missed.iter().map(deviation).sum();
        println!("{filter}: mean {mean:.4}, chi-square {chi_square:.1}");
        assert!(chi_square < 49.0 + 4.0 * 9.9, "{filter}: {chi_square}");
    }
}
