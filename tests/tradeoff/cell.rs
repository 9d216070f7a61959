//! One stream at one memory.

use std::collections::HashSet;

use dedupstore::advise::{
    Preference, Question, Sample, advise, candidates, is_from_papers, papers_candidates,
};
use dedupstore::lab::StreamSpec;
use dedupstore::{FilterSpec, KeyHasher, Observation, SeenSet, Verdict};

/// Within this of the least total error is as good as the least.
const NEAR: f64 = 1.1;
const SEED: u64 = 1;
/// The sample is of a stream of the same kind, not of the one it is judged by.
const SAMPLE_SEED: u64 = 2;

/// A stream in memory.
pub struct Contest {
    stream: String,
    observations: Vec<Observation>,
    first: Vec<bool>,
    distinct: u64,
    sample: Sample,
}

/// A filter on it.
#[derive(Clone, Debug)]
pub struct Run {
    /// The filter.
    pub filter: FilterSpec,
    /// New keys dropped.
    pub fp: u64,
    /// Repeats missed.
    pub missed: u64,
}

impl Run {
    /// Wrong verdicts.
    pub fn errors(&self) -> u64 {
        self.fp + self.missed
    }

    fn beats(&self, other: &Run) -> bool {
        self.fp <= other.fp && self.missed <= other.missed && self.counts() != other.counts()
    }

    fn counts(&self) -> (u64, u64) {
        (self.fp, self.missed)
    }
}

/// All runs of a stream at one memory, and which of them the adviser picked.
#[derive(Clone, Debug)]
pub struct Cell {
    /// The stream.
    pub stream: String,
    /// Bits for each distinct key.
    pub bits_a_key: f64,
    /// First occurrences.
    pub distinct: u64,
    /// The others.
    pub repeats: u64,
    /// What was run.
    pub runs: Vec<Run>,
    /// What the adviser picks by memory and number of keys.
    pub untold: Run,
    /// What it picks by a sample.
    pub told: Run,
}

/// How the adviser did in some cells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// How many there are.
    pub cells: usize,
    /// On the front or near the least error, without a sample and with one.
    pub untold_good: usize,
    /// See above.
    pub told_good: usize,
    /// Within a tenth of the least total error, without a sample and with one.
    pub untold_near: usize,
    /// See above.
    pub told_near: usize,
    /// A filter of the papers is better on both rates, without a sample and with one.
    pub untold_beaten_by_papers: usize,
    /// See above.
    pub told_beaten_by_papers: usize,
}

impl Contest {
    /// A stream of `count` keys, with a sample of another like it.
    pub fn new(stream: &str, count: u64, max_sample: usize) -> Self {
        let spec: StreamSpec = stream.parse().expect("a stream");
        let hasher = KeyHasher::new(SEED);
        let mut keys = spec.open(count, SEED);
        let (mut observations, mut first) = (Vec::new(), Vec::new());
        let mut met = HashSet::new();
        while let Some((key, number)) = keys.next_key() {
            observations.push(hasher.fingerprint(key).into());
            first.push(met.insert(number));
        }
        let mut sample = Sample::bounded(max_sample);
        let mut keys = spec.open(count, SAMPLE_SEED);
        while let Some((key, _)) = keys.next_key() {
            sample.record(hasher.fingerprint(key));
        }
        Contest {
            stream: stream.to_owned(),
            observations,
            first,
            distinct: met.len() as u64,
            sample,
        }
    }

    /// Runs everything at a memory.
    pub fn cell(&self, bits_a_key: f64) -> Cell {
        let memory_bits = (bits_a_key * self.distinct as f64) as u64;
        let run = |filter: &FilterSpec| self.run(filter, memory_bits);
        let mut filters = candidates(Some(bits_a_key), Preference::Balanced);
        filters.extend(papers_candidates());
        for more in [
            "counting",
            "fpbuffer",
            "buffer:policy=clock",
            "bloom:layout=partitioned",
        ] {
            filters.push(more.parse().expect("a filter"));
        }
        let runs = filters.iter().filter_map(run).collect();
        let untold = Question {
            distinct: Some(self.distinct),
            ..Question::of_memory(memory_bits)
        };
        let told = Question {
            sample: Some(&self.sample),
            ..untold
        };
        let picked = |question| {
            let advice = advise(question).expect("a filter can be built");
            run(&advice.choice.filter).expect("a filter that can be built")
        };
        Cell {
            stream: self.stream.clone(),
            bits_a_key,
            distinct: self.distinct,
            repeats: self.observations.len() as u64 - self.distinct,
            runs,
            untold: picked(&untold),
            told: picked(&told),
        }
    }

    fn run(&self, filter: &FilterSpec, memory_bits: u64) -> Option<Run> {
        let mut set = SeenSet::in_memory(filter, memory_bits, SEED).ok()?;
        let mut verdicts = vec![Verdict::New; self.observations.len()];
        set.observe_batch(&self.observations, &mut verdicts);
        let (mut fp, mut missed) = (0, 0);
        for (&verdict, &first) in verdicts.iter().zip(&self.first) {
            let seen = verdict == Verdict::Seen;
            fp += u64::from(first & seen);
            missed += u64::from(!first & !seen);
        }
        Some(Run {
            filter: filter.clone(),
            fp,
            missed,
        })
    }
}

impl Cell {
    /// Whether nothing that was run is better on both rates.
    pub fn is_on_front(&self, run: &Run) -> bool {
        !self.runs.iter().any(|other| other.beats(run))
    }

    /// The least total error of all that was run.
    pub fn least_errors(&self) -> u64 {
        self.runs.iter().map(Run::errors).min().unwrap_or(0)
    }

    fn is_near(&self, run: &Run) -> bool {
        run.errors() as f64 <= NEAR * self.least_errors() as f64
    }

    fn papers_beat(&self, run: &Run) -> bool {
        let mut papers = self.runs.iter().filter(|it| is_from_papers(&it.filter));
        papers.any(|it| it.beats(run))
    }
}

impl Tally {
    /// Counts.
    pub fn of(cells: &[Cell]) -> Self {
        let count = |is: &dyn Fn(&Cell) -> bool| cells.iter().filter(|cell| is(cell)).count();
        let good = |cell: &Cell, run: &Run| cell.is_on_front(run) || cell.is_near(run);
        Tally {
            cells: cells.len(),
            untold_good: count(&|cell| good(cell, &cell.untold)),
            told_good: count(&|cell| good(cell, &cell.told)),
            untold_near: count(&|cell| cell.is_near(&cell.untold)),
            told_near: count(&|cell| cell.is_near(&cell.told)),
            untold_beaten_by_papers: count(&|cell| cell.papers_beat(&cell.untold)),
            told_beaten_by_papers: count(&|cell| cell.papers_beat(&cell.told)),
        }
    }
}
