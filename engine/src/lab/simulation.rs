//! Filters run side by side over one stream, against exact truth.

use super::gap_meter::GapMeter;
use super::renaming::Renaming;
use super::scoreboard::Scoreboard;
use super::stream::{Arrival, Stream};
use super::summary::RunSummary;
use super::truth::Truth;
use super::weights::Weights;
use crate::filter::{FilterSpec, Observation, Verdict};
use crate::fingerprint::{Fingerprint, KeyHasher};
use crate::seen_set::{CreateError, SeenSet};
use crate::theory::{Prediction, Workload, predict};

/// Tells the time, so that this module need not know how.
pub trait Clock {
    /// Nanoseconds since some fixed moment.
    fn now_ns(&self) -> u64;
}

/// A clock that stands still: runs are not timed.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoClock;

impl Clock for NoClock {
    fn now_ns(&self) -> u64 {
        0
    }
}

/// A filter in the race.
#[derive(Debug)]
pub struct Contestant {
    set: SeenSet,
    memory_bits: u64,
    board: Scoreboard,
    weights: Weights,
    nanoseconds: u64,
}

impl Contestant {
    /// Its filter and state.
    pub fn set(&self) -> &SeenSet {
        &self.set
    }

    /// The memory it was given.
    pub fn memory_bits(&self) -> u64 {
        self.memory_bits
    }

    /// Its errors weighed by importance.
    pub fn weights(&self) -> &Weights {
        &self.weights
    }

    /// Time in the filter alone; 0 if the run was not timed.
    pub fn nanoseconds(&self) -> u64 {
        self.nanoseconds
    }

    /// Its score.
    pub fn board(&self) -> &Scoreboard {
        &self.board
    }

    /// Not part of what is generic over clocks: else whoever brings a clock compiles the
    /// loops of every filter once more, and the page would load them twice.
    #[inline(never)]
    fn observe(&mut self, observations: &[Observation], verdicts: &mut [Verdict]) {
        self.set.observe_batch(observations, verdicts);
    }
}

/// How many keys are taken from the stream at a time.
const BATCH: usize = 1024;

/// A race of filters over one stream of keys.
#[derive(Debug)]
pub struct Simulation {
    hasher: KeyHasher,
    truth: Truth,
    contestants: Vec<Contestant>,
    observations: Vec<Observation>,
    /// What equal keys among them have in common.
    identities: Vec<u64>,
    /// The same with each key's number, renamed, in the place of its fingerprint; only
    /// where keys are numbers.
    numbers: Option<(Renaming, Vec<Observation>)>,
    /// Which of them are first ones; before the filters run, of those whose pusher knew.
    first: Vec<bool>,
    /// First ones among all keys whose pusher knew.
    told_first: u64,
    verdicts: Vec<Verdict>,
    gaps: GapMeter,
    /// Whether any key so far had an importance.
    is_weighed: bool,
    count: u64,
}

impl Simulation {
    /// A race that nobody has entered yet.
    pub fn new(seed: u64, truth: Truth) -> Self {
        Simulation {
            hasher: KeyHasher::new(seed),
            truth,
            contestants: Vec::new(),
            observations: Vec::with_capacity(BATCH),
            identities: Vec::with_capacity(BATCH),
            numbers: None,
            first: Vec::with_capacity(BATCH),
            told_first: 0,
            verdicts: vec![Verdict::New; BATCH],
            gaps: GapMeter::default(),
            is_weighed: false,
            count: 0,
        }
    }

    /// A race over a stream whose keys have numbers. Filters that take a key's number for
    /// its fingerprint may enter it.
    pub fn over(stream: &Stream, seed: u64) -> Self {
        let renaming = Renaming::new(stream.universe(), seed);
        Simulation {
            numbers: Some((renaming, Vec::with_capacity(BATCH))),
            ..Simulation::new(seed, stream.truth())
        }
    }

    /// The same race with gaps measured in more memory or less.
    pub fn measuring_gaps_with(self, gaps: GapMeter) -> Self {
        Simulation { gaps, ..self }
    }

    /// Enters a filter.
    pub fn enter(&mut self, spec: &FilterSpec, memory_bits: u64) -> Result<(), CreateError> {
        let seed = self.hasher.seed();
        self.contestants.push(Contestant {
            set: match self.numbers {
                Some(_) => SeenSet::of_numbers(spec, memory_bits, seed)?,
                None => SeenSet::in_memory(spec, memory_bits, seed)?,
            },
            memory_bits,
            board: Scoreboard::default(),
            weights: Weights::default(),
            nanoseconds: 0,
        });
        Ok(())
    }

    /// The next key of the stream, where equal keys are known by their fingerprint.
    #[inline]
    pub fn push_key(&mut self, key: &[u8], clock: &impl Clock) {
        self.push_fingerprint(self.hasher.fingerprint(key), clock);
    }

    /// The next key of the stream, by its fingerprint under the race's seed.
    #[inline]
    pub fn push_fingerprint(&mut self, fingerprint: Fingerprint, clock: &impl Clock) {
        self.push(fingerprint.into(), fingerprint.0, clock);
    }

    /// The same where it has been found out elsewhere whether the key is a first one, as it
    /// then must be of every key: on two processors that is quicker.
    #[inline]
    pub fn push_judged(&mut self, fingerprint: Fingerprint, is_first: bool, clock: &impl Clock) {
        self.first.push(is_first);
        self.told_first += u64::from(is_first);
        self.push_fingerprint(fingerprint, clock);
    }

    /// The next key of the stream, where equal keys are known by a number.
    #[inline]
    pub fn push_numbered(&mut self, key: &[u8], number: u64, clock: &impl Clock) {
        self.push(self.hasher.fingerprint(key).into(), number, clock);
    }

    /// The next key of a synthetic stream.
    #[inline]
    pub fn push_arrival(&mut self, arrival: &Arrival<'_>, clock: &impl Clock) {
        self.is_weighed |= arrival.importance.is_some();
        let observation = Observation {
            importance: arrival.importance.unwrap_or(0),
            ..self.hasher.fingerprint(arrival.key).into()
        };
        self.push(observation, arrival.number, clock);
    }

    #[inline]
    fn push(&mut self, observation: Observation, identity: u64, clock: &impl Clock) {
        self.observations.push(observation);
        if let Some((renaming, numbers)) = &mut self.numbers {
            let fingerprint = Fingerprint(renaming.name(identity));
            numbers.push(Observation {
                fingerprint,
                ..observation
            });
        }
        self.identities.push(identity);
        if self.observations.len() == BATCH {
            self.flush(clock);
        }
    }

    /// Runs the filters over the keys pushed since the last time.
    pub fn flush(&mut self, clock: &impl Clock) {
        let unknown = &self.identities[self.first.len()..];
        self.truth.are_first(unknown, &mut self.first);
        self.gaps.record_all(&self.identities);
        for contestant in &mut self.contestants {
            let observations = match &self.numbers {
                Some((_, numbers)) if contestant.set.filter().takes_numbers() => numbers,
                _ => &self.observations,
            };
            let mut from = 0;
            while from < observations.len() {
                let left = (observations.len() - from) as u64;
                let to = from + left.min(contestant.board.until_next_point()) as usize;
                let verdicts = &mut self.verdicts[from..to];
                let started = clock.now_ns();
                contestant.observe(&observations[from..to], verdicts);
                contestant.nanoseconds += clock.now_ns().saturating_sub(started);
                let occupied = contestant.set.registers().occupied();
                let first = &self.first[from..to];
                contestant.board.score(verdicts, first, occupied);
                if self.is_weighed {
                    let weighed = &self.observations[from..to];
                    contestant.weights.score(verdicts, first, weighed);
                }
                from = to;
            }
        }
        self.count += self.observations.len() as u64;
        self.observations.clear();
        self.identities.clear();
        if let Some((_, numbers)) = &mut self.numbers {
            numbers.clear();
        }
        self.first.clear();
    }

    /// Keys the filters have run over.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Different keys among them.
    pub fn distinct(&self) -> u64 {
        self.truth.distinct() + self.told_first
    }

    /// How far back the repeats lie of the keys that the filters have run over.
    pub fn gaps(&self) -> &GapMeter {
        &self.gaps
    }

    /// The filters, in the order they were entered.
    pub fn contestants(&self) -> &[Contestant] {
        &self.contestants
    }

    /// What has been measured so far, a row a filter; nothing is predicted.
    pub fn measurements(&self, stream: &str) -> Vec<RunSummary> {
        self.contestants
            .iter()
            .map(|contestant| RunSummary::of(contestant, stream, &self.gaps, None))
            .collect()
    }

    /// What theory says of each filter on a stream with these keys and gaps, where it says
    /// anything.
    pub fn predictions(&self) -> Vec<Option<Prediction>> {
        let gaps = self.gaps.histogram();
        let workload = Workload::with_gaps(self.count, self.distinct(), gaps);
        self.contestants
            .iter()
            .map(|contestant| predict(contestant.set.spec(), contestant.memory_bits, &workload))
            .collect()
    }

    /// The results so far, a row a filter, beside what theory says.
    pub fn summaries(&self, stream: &str) -> Vec<RunSummary> {
        self.contestants
            .iter()
            .zip(self.predictions())
            .map(|(contestant, prediction)| {
                RunSummary::of(contestant, stream, &self.gaps, prediction.as_ref())
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::stream::StreamSpec;
    use super::*;

    fn run(keys: &[&str], flush_after: usize) -> Vec<RunSummary> {
        let mut simulation = Simulation::new(1, Truth::for_fingerprints());
        for spec in ["bloom:k=2", "stable", "rlbsbf"] {
            let spec = spec.parse().expect("a filter");
            simulation.enter(&spec, 1000).expect("small");
        }
        for (i, key) in keys.iter().enumerate() {
            simulation.push_key(key.as_bytes(), &NoClock);
            if i % flush_after == 0 {
                simulation.flush(&NoClock);
            }
        }
        simulation.flush(&NoClock);
        simulation.summaries("test")
    }

    #[test]
    fn a_filter_of_numbers_enters_only_where_keys_are_numbers() {
        let spec = "sqf:fingerprint=identity".parse().expect("a filter");
        let refused = Simulation::new(1, Truth::for_fingerprints()).enter(&spec, 1000);
        assert!(matches!(refused, Err(CreateError::NumbersOnly { .. })));
        let stream: StreamSpec = "shuffle:15".parse().expect("a stream");
        let mut keys = stream.open(2000, 1);
        let mut race = Simulation::over(&keys, 1);
        race.enter(&spec, 12 * 75)
            .expect("a row for every four keys");
        while let Some((key, number)) = keys.next_key() {
            race.push_numbered(key, number, &NoClock);
        }
        race.flush(&NoClock);
        let board = race.contestants()[0].board();
        assert_eq!((board.fpr(), board.fnr()), (Some(0.0), Some(0.0)));
    }

    #[test]
    fn results_do_not_depend_on_who_knows_the_truth() {
        let keys: Vec<String> = (0..5000).map(|i| format!("{}", i * i % 997)).collect();
        let race = || {
            let mut race = Simulation::new(1, Truth::for_fingerprints());
            let spec = "rlbsbf".parse().expect("a filter");
            race.enter(&spec, 1000).expect("small");
            race
        };
        let (mut knowing, mut told) = (race(), race());
        let mut truth = Truth::for_fingerprints();
        for key in &keys {
            let fingerprint = KeyHasher::new(1).fingerprint(key.as_bytes());
            knowing.push_fingerprint(fingerprint, &NoClock);
            told.push_judged(fingerprint, truth.is_first(fingerprint.0), &NoClock);
        }
        knowing.flush(&NoClock);
        told.flush(&NoClock);
        assert!(told.distinct() > 100);
        assert_eq!(told.distinct(), knowing.distinct());
        assert_eq!(told.summaries("test"), knowing.summaries("test"));
    }

    #[test]
    fn results_do_not_depend_on_how_keys_are_batched() {
        let keys: Vec<String> = (0..5000).map(|i| format!("{}", i * i % 997)).collect();
        let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
        let expected = run(&keys, usize::MAX);
        assert_eq!(run(&keys, 7), expected);
        assert_eq!(expected[0].count, 5000);
        assert_eq!(expected[0].distinct + expected[0].repeats, 5000);
        assert_eq!(expected[0].false_negatives, 0);
    }
}
