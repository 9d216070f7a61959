//! Runs all filters over a stream, and asks the adviser about it.

use dedupstore::FilterSpec;
use dedupstore::KeyHasher;
use dedupstore::advise::{Question, Sample, advise};
use dedupstore::lab::StreamSpec;

use super::cell::{Cell, Run};
use super::parallel::parallel_map;
use super::recorded_stream::RecordedStream;

/// How thoroughly a stream is measured. A trial is one recorded stream under one hash.
#[derive(Clone, Debug)]
pub struct Effort {
    /// Keys per trial.
    pub count: u64,
    /// The least number of trials. In a single trial, two filters with the same error
    /// probabilities beat each other by chance, however many errors they make.
    pub min_trials: u64,
    /// The greatest number of trials.
    pub max_trials: u64,
    /// Trials stop when the best run has made this many errors: enough to distinguish 10 %
    /// more errors from chance.
    pub enough_errors: u64,
    /// Seed of the first trial; later trials add their number.
    pub seed: u64,
    /// Number of threads.
    pub threads: usize,
}

/// The effort behind docs/TRADEOFFS.md.
pub const EFFORT: Effort = Effort {
    count: 500_000,
    min_trials: 16,
    max_trials: 256,
    enough_errors: 2000,
    seed: 1,
    threads: 2,
};
/// The effort on held-out streams: shorter, with other seeds.
pub const HELD_OUT_EFFORT: Effort = Effort {
    count: 200_000,
    max_trials: 64,
    seed: 500_000,
    ..EFFORT
};

/// The adviser's sample has another seed than the streams that judge its pick.
const SAMPLE_SEED: u64 = 1_000_000;
/// Number of consecutive trials that rehash one stream. Most of the variance is due to
/// hashing, and generating a stream takes longer than running over it.
const HASHES_PER_STREAM: u64 = 8;
/// If the best run has made no error in this many trials, more trials are not worth it.
const TRIALS_WITHOUT_ERROR: u64 = 16;

impl Effort {
    /// Measures one stream at each memory size: all filters and the adviser's picks in a first
    /// trial, then the contenders in more trials until the best has made enough errors.
    pub fn measure(&self, name: &str, filters: &[FilterSpec], bits_per_key: &[f64]) -> Vec<Cell> {
        let stream: StreamSpec = name.parse().expect("a stream");
        let sample = self.sample(&stream);
        let mut recorded = RecordedStream::new(&stream, self.count, self.seed);
        let mut cells: Vec<(u64, Cell)> = parallel_map(self.threads, bits_per_key, |&bits| {
            let memory_bits = (bits * recorded.distinct as f64) as u64;
            let run = |filter: &FilterSpec| {
                Some(Run {
                    filter: filter.clone(),
                    by_trial: vec![recorded.run(filter, memory_bits)?],
                })
            };
            let without_sample = Question {
                distinct: Some(recorded.distinct),
                ..Question::of_memory(memory_bits)
            };
            let with_sample = Question {
                sample: Some(&sample),
                ..without_sample
            };
            let pick = |question: &Question<'_>| {
                let advice = advise(question).expect("a filter can be built");
                run(&advice.choice.filter).expect("the advised filter can be built")
            };
            let cell = Cell {
                stream: name.to_owned(),
                bits_per_key: bits,
                distinct: vec![recorded.distinct],
                repeats: vec![recorded.repeats()],
                without_sample: pick(&without_sample),
                with_sample: pick(&with_sample),
                runs: filters.iter().filter_map(run).collect(),
            };
            (memory_bits, cell)
        });
        for trial in 1..self.max_trials {
            let needs_more = |(_, cell): &&mut (u64, Cell)| match cell.least_errors() {
                0 => trial < TRIALS_WITHOUT_ERROR,
                least => trial < self.min_trials || least < self.enough_errors,
            };
            let mut incomplete = cells.iter_mut().filter(needs_more).peekable();
            if incomplete.peek().is_none() {
                break;
            }
            let seed = self.seed + trial;
            recorded = match trial % HASHES_PER_STREAM {
                0 => RecordedStream::new(&stream, self.count, seed),
                _ => recorded.rehashed(seed),
            };
            for (memory_bits, cell) in incomplete {
                self.add_trial(cell, &recorded, *memory_bits);
            }
        }
        cells.into_iter().map(|(_, cell)| cell).collect()
    }

    fn sample(&self, stream: &StreamSpec) -> Sample {
        let hasher = KeyHasher::new(SAMPLE_SEED);
        let mut keys = stream.open(self.count, SAMPLE_SEED);
        let mut sample = Sample::default();
        while let Some((key, _)) = keys.next_key() {
            sample.record(hasher.fingerprint(key));
        }
        sample
    }

    /// Runs the contenders of a cell over one more recorded stream.
    fn add_trial(&self, cell: &mut Cell, recorded: &RecordedStream, memory_bits: u64) {
        let contenders = cell.contenders();
        let errors = parallel_map(self.threads, &contenders, |run| {
            recorded.run(&run.filter, memory_bits)
        });
        for (run, errors) in contenders.into_iter().zip(errors) {
            let errors = errors.expect("it was built in the first trial");
            run.by_trial.push(errors);
        }
        cell.distinct.push(recorded.distinct);
        cell.repeats.push(recorded.repeats());
    }
}
