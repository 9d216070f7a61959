//! A kind of stream: everything is run over it, and the adviser is asked about it.

use dedupstore::FilterSpec;
use dedupstore::KeyHasher;
use dedupstore::advise::{Question, Sample, advise};
use dedupstore::lab::StreamSpec;

use super::cell::{Cell, Run};
use super::spread::spread;
use super::track::Track;

/// How thoroughly things are measured.
#[derive(Clone, Debug)]
pub struct Effort {
    /// Keys of a track.
    pub count: u64,
    /// Tracks at the least: two filters of one law, or nearly, beat one another by chance on
    /// a single track, however many errors they make.
    pub least_tracks: u64,
    /// Tracks at the most.
    pub most_tracks: u64,
    /// So many errors of the best are enough to tell a tenth more from chance.
    pub enough_errors: u64,
    /// Seed of the first track; others follow it.
    pub seed: u64,
    /// Threads.
    pub threads: usize,
}

/// The sample is of a stream of the same kind, not of one it is judged by.
const SAMPLE_SEED: u64 = 1_000_000;
/// Tracks that are one stream under different hashes. Most of chance is in the hashes, and a
/// stream takes longer to make than to run over.
const HASHES: u64 = 8;
/// Where the best has made no error on so many tracks, it makes none.
const TRACKS_WITHOUT_ERROR: u64 = 16;

impl Effort {
    /// Runs the filters, and what the adviser picks, over a stream in each memory: all on a
    /// first track, then what matters on more, until there are errors enough to tell.
    pub fn cells(&self, name: &str, filters: &[FilterSpec], bits_a_key: &[f64]) -> Vec<Cell> {
        let stream: StreamSpec = name.parse().expect("a stream");
        let sample = self.sample(&stream);
        let mut track = Track::new(&stream, self.count, self.seed);
        let mut cells: Vec<(u64, Cell)> = spread(self.threads, bits_a_key, |&bits| {
            let memory_bits = (bits * track.distinct as f64) as u64;
            let run = |filter: &FilterSpec| {
                Some(Run {
                    filter: filter.clone(),
                    by_track: vec![track.run(filter, memory_bits)?],
                })
            };
            let untold = Question {
                distinct: Some(track.distinct),
                ..Question::of_memory(memory_bits)
            };
            let told = Question {
                sample: Some(&sample),
                ..untold
            };
            let pick = |question: &Question<'_>| {
                let advice = advise(question).expect("a filter can be built");
                run(&advice.choice.filter).expect("a filter that can be built")
            };
            let cell = Cell {
                stream: name.to_owned(),
                bits_a_key: bits,
                distinct: vec![track.distinct],
                repeats: vec![track.repeats()],
                untold: pick(&untold),
                told: pick(&told),
                runs: filters.iter().filter_map(run).collect(),
            };
            (memory_bits, cell)
        });
        for more in 1..self.most_tracks {
            let short = |(_, cell): &&mut (u64, Cell)| match cell.least_errors() {
                0 => more < TRACKS_WITHOUT_ERROR,
                least => more < self.least_tracks || least < self.enough_errors,
            };
            let mut short = cells.iter_mut().filter(short).peekable();
            if short.peek().is_none() {
                break;
            }
            let seed = self.seed + more;
            track = match more % HASHES {
                0 => Track::new(&stream, self.count, seed),
                _ => track.hashed_anew(seed),
            };
            for (memory_bits, cell) in short {
                self.add(cell, &track, *memory_bits);
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

    /// Runs what is worth it over one more track.
    fn add(&self, cell: &mut Cell, track: &Track, memory_bits: u64) {
        let contenders = cell.contenders();
        let errors = spread(self.threads, &contenders, |run| {
            track.run(&run.filter, memory_bits)
        });
        for (run, more) in contenders.into_iter().zip(errors) {
            run.by_track.push(more.expect("it was built before"));
        }
        cell.distinct.push(track.distinct);
        cell.repeats.push(track.repeats());
    }
}
