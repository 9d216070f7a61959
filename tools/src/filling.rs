//! Measures how long batches take while a filter fills, against a baseline in the same rounds.

use std::time::Instant;

use dedupstore::{FilterSpec, Observation, SeenSet, SeenSetBuilder, Verdict};

/// How many keys are observed between two readings of the clock.
const ROUND: u64 = 100_000;
const BATCH: usize = 4096;

/// Filters of the same memory, the first of which is the baseline.
#[derive(Clone, Debug)]
pub struct Campaign {
    /// The filters, in their text form.
    pub filters: Vec<String>,
    /// The memory of each, in bytes.
    pub memory_bytes: u64,
    /// The number of distinct keys at the end.
    pub keys: u64,
    /// The number of rows.
    pub rows: u64,
}

/// Nanoseconds per key of each filter, over a part of the stream.
#[derive(Clone, Debug)]
pub struct Row {
    /// The number of distinct keys at the end of the part.
    pub keys: u64,
    /// For keys that are new.
    pub new: Vec<f64>,
    /// For keys that occurred before, at any distance.
    pub repeats: Vec<f64>,
}

/// Feeds the same keys to all filters, in rounds that start with a different one each time.
/// Calls `done` after each row. Half of all observations are repeats.
pub fn run(campaign: &Campaign, mut done: impl FnMut(&Row)) -> Vec<Row> {
    let build = |filter: &String| {
        let spec: FilterSpec = filter.parse().expect("a filter");
        let builder = SeenSetBuilder::new(&spec).memory_bits(8 * campaign.memory_bytes);
        builder.seed(1).build().expect("enough memory")
    };
    let mut sets: Vec<SeenSet> = campaign.filters.iter().map(build).collect();
    let hasher = sets[0].hasher();
    let fingerprint = |key: u64| Observation::from(hasher.fingerprint(&key.to_le_bytes()));
    let rounds = campaign.keys / campaign.rows / ROUND;
    let (mut keys, mut rows) = (0, Vec::new());
    for _ in 0..campaign.rows {
        let mut sums = [vec![0.0; sets.len()], vec![0.0; sets.len()]];
        for round in 0..rounds {
            let new: Vec<Observation> = (keys..keys + ROUND).map(fingerprint).collect();
            keys += ROUND;
            let earlier = (0..ROUND).map(|i| fingerprint(keys + i).fingerprint.0 % keys);
            let repeats: Vec<Observation> = earlier.map(fingerprint).collect();
            for i in 0..sets.len() {
                let which = (i + round as usize) % sets.len();
                for (sum, part) in sums.iter_mut().zip([&new, &repeats]) {
                    sum[which] += nanoseconds(&mut sets[which], part);
                }
            }
        }
        let [new, repeats] = sums.map(|sum| {
            let mean = |total: &f64| total / (rounds * ROUND) as f64;
            sum.iter().map(mean).collect()
        });
        let row = Row { keys, new, repeats };
        done(&row);
        rows.push(row);
    }
    rows
}

fn nanoseconds(set: &mut SeenSet, observations: &[Observation]) -> f64 {
    let mut verdicts = [Verdict::New; BATCH];
    let started = Instant::now();
    for batch in observations.chunks(BATCH) {
        set.observe_batch(batch, &mut verdicts[..batch.len()]);
    }
    let elapsed = started.elapsed().as_nanos() as f64;
    std::hint::black_box(verdicts);
    elapsed
}

/// Returns a line of the table: for each filter after the first, nanoseconds and the ratio.
pub fn line(first: &str, new: &[f64], repeats: &[f64]) -> String {
    let mut line = format!("| {first} |");
    for times in [new, repeats] {
        line += &format!(" {:.1} |", times[0]);
        for time in &times[1..] {
            line += &format!(" {time:.1} ({:.1} ×) |", time / times[0]);
        }
    }
    line
}

/// Returns the mean over rows.
pub fn mean(rows: &[Row], of: impl Fn(&Row) -> &Vec<f64>) -> Vec<f64> {
    let filters = rows.first().map_or(0, |row| of(row).len());
    let sum = |filter: usize| rows.iter().map(|row| of(row)[filter]).sum::<f64>();
    (0..filters)
        .map(|filter| sum(filter) / rows.len() as f64)
        .collect()
}
