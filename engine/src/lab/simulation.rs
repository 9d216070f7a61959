//! Runs several filters over one stream and compares them with exact truth.

use super::clock::Clock;
use super::filter_run::{FilterRun, WindowedRun};
use super::gap_meter::GapMeter;
use super::permutation::Permutation;
use super::scoreboard::Scoreboard;
use super::sliced_run::{ObserveSliced, SlicedRun};
use super::stream::{Arrival, Stream};
use super::stream_batch::StreamBatch;
use super::summary::RunSummary;
use super::truth::Truth;
use super::window_truth::WindowTruth;
use crate::filter::{FilterSpec, Observation, Verdict};
use crate::fingerprint::{Fingerprint, KeyHasher};
use crate::seen_set::{CreateError, SeenSetBuilder};
use crate::theory::{Prediction, Workload, predict};

/// Keys per batch.
pub(super) const BATCH: usize = 1024;

/// A run of several filters over one stream of keys.
///
/// A filter with a window has its own truth: a key is a repeat if and only if that filter
/// delivered it, that is said New, within the span. Between the span and a step later both
/// verdicts are right. Such a filter needs times. Keys that are pushed without a time get their
/// position in the stream, from 0: one second per key. In one simulation either all keys have
/// times or none.
#[derive(Debug)]
pub struct Simulation {
    hasher: KeyHasher,
    truth: Truth,
    pub(super) runs: Vec<FilterRun>,
    pub(super) sliced: Vec<SlicedRun>,
    /// How sliced filters observe; None if there are none. So a page without them need not load the
    /// code.
    pub(super) observe_sliced: Option<ObserveSliced>,
    /// Stable Bloom filters that are only compared with.
    pub(super) references: Vec<FilterRun>,
    observations: Vec<Observation>,
    /// Numbers or fingerprints by which equal keys are recognized.
    identities: Vec<u64>,
    /// The same observations with the permuted number of the key as fingerprint, if a filter needs
    /// them. None if keys have no numbers.
    numbers: Option<(Permutation, Vec<Observation>)>,
    needs_numbers: bool,
    /// Whether each observation is a first occurrence. Before the filters run, only those pushed
    /// by `push_with_truth` are known.
    first: Vec<bool>,
    /// First occurrences among all keys pushed by `push_with_truth`.
    given_first: u64,
    verdicts: Vec<Verdict>,
    /// Whether each observation was new to the filter that ran last, if it has a window.
    new_in_window: Vec<bool>,
    /// The first and the last of the times.
    ticks: Option<(u32, u32)>,
    gaps: GapMeter,
    /// Whether any key so far had an importance.
    is_weighted: bool,
    count: u64,
}

impl Simulation {
    /// Creates a simulation without filters.
    pub fn new(seed: u64, truth: Truth) -> Self {
        Simulation {
            hasher: KeyHasher::new(seed),
            truth,
            runs: Vec::new(),
            sliced: Vec::new(),
            observe_sliced: None,
            references: Vec::new(),
            observations: Vec::with_capacity(BATCH),
            identities: Vec::with_capacity(BATCH),
            numbers: None,
            needs_numbers: false,
            first: Vec::with_capacity(BATCH),
            given_first: 0,
            verdicts: vec![Verdict::New; BATCH],
            new_in_window: Vec::with_capacity(BATCH),
            ticks: None,
            gaps: GapMeter::default(),
            is_weighted: false,
            count: 0,
        }
    }

    /// Creates a simulation for a synthetic stream, whose keys have numbers. It accepts filters
    /// that use the number of a key as its fingerprint.
    pub fn for_stream(stream: &Stream, seed: u64) -> Self {
        let permutation = Permutation::new(stream.universe(), seed);
        Simulation {
            numbers: Some((permutation, Vec::with_capacity(BATCH))),
            ..Simulation::new(seed, stream.truth())
        }
    }

    /// Replaces the gap meter, to use more or less memory for it.
    pub fn with_gap_meter(self, gaps: GapMeter) -> Self {
        Simulation { gaps, ..self }
    }

    /// Adds a filter.
    pub fn add_filter(&mut self, spec: &FilterSpec, memory_bits: u64) -> Result<(), CreateError> {
        let run = self.new_run(spec, memory_bits)?;
        self.needs_numbers |= run.set.filter().requires_numeric_keys();
        self.runs.push(run);
        Ok(())
    }

    pub(super) fn new_run(
        &self,
        spec: &FilterSpec,
        memory_bits: u64,
    ) -> Result<FilterRun, CreateError> {
        let builder = SeenSetBuilder::new(spec)
            .memory_bits(memory_bits)
            .seed(self.hasher.seed());
        let set = match self.numbers {
            Some(_) => builder.build_for_numbers()?,
            None => builder.build()?,
        };
        let window = set.filter().window().map(|&clock| WindowedRun {
            truth: WindowTruth::new(clock),
            first_seen: 0,
            first: 0,
        });
        Ok(FilterRun {
            set,
            window,
            memory_bits,
            scoreboard: Scoreboard::default(),
            nanoseconds: 0,
        })
    }

    /// Returns the hash function of the keys.
    pub fn hasher(&self) -> KeyHasher {
        self.hasher
    }

    /// Adds the next key of the stream. Equal keys are recognized by their fingerprint.
    #[inline]
    pub fn push_key(&mut self, key: &[u8], clock: &impl Clock) {
        self.push_fingerprint(self.hasher.fingerprint(key), clock);
    }

    /// Adds the next key of the stream, with its importance, by its fingerprint under the seed of
    /// the simulation. Its time is `tick`, or its position in the stream.
    #[inline]
    pub fn push_weighted(
        &mut self,
        fingerprint: Fingerprint,
        importance: u16,
        tick: Option<u32>,
        clock: &impl Clock,
    ) {
        self.is_weighted = true;
        if let Some(tick) = tick {
            self.record_tick(tick);
        }
        let observation = Observation {
            importance,
            tick: tick.unwrap_or(0),
            ..fingerprint.into()
        };
        self.push(observation, fingerprint.0, clock);
    }

    /// Adds the next key of the stream, with its time. Equal keys are recognized by their
    /// fingerprint.
    #[inline]
    pub fn push_key_at(&mut self, key: &[u8], tick: u32, clock: &impl Clock) {
        self.push_fingerprint_at(self.hasher.fingerprint(key), tick, clock);
    }

    /// Adds the next key of the stream, with its time, by its fingerprint under the seed of the
    /// simulation.
    #[inline]
    pub fn push_fingerprint_at(&mut self, fingerprint: Fingerprint, tick: u32, clock: &impl Clock) {
        self.record_tick(tick);
        let observation = Observation {
            tick,
            ..fingerprint.into()
        };
        self.push(observation, fingerprint.0, clock);
    }

    /// Adds the next key of the stream by its fingerprint under the seed of the simulation.
    #[inline]
    pub fn push_fingerprint(&mut self, fingerprint: Fingerprint, clock: &impl Clock) {
        self.push(fingerprint.into(), fingerprint.0, clock);
    }

    /// Adds the next key, for callers that know whether it is a first occurrence. Then every key
    /// must be added with that.
    #[inline]
    pub fn push_with_truth(
        &mut self,
        fingerprint: Fingerprint,
        is_first: bool,
        clock: &impl Clock,
    ) {
        self.first.push(is_first);
        self.given_first += u64::from(is_first);
        self.push_fingerprint(fingerprint, clock);
    }

    /// Like [`push_with_truth`](Simulation::push_with_truth), with the importance of the key.
    #[inline]
    pub fn push_weighted_with_truth(
        &mut self,
        fingerprint: Fingerprint,
        importance: u16,
        is_first: bool,
        clock: &impl Clock,
    ) {
        self.first.push(is_first);
        self.given_first += u64::from(is_first);
        self.push_weighted(fingerprint, importance, None, clock);
    }

    /// Adds the next key of the stream. Equal keys are recognized by their number.
    #[inline]
    pub fn push_numbered(&mut self, key: &[u8], number: u64, clock: &impl Clock) {
        self.push(self.hasher.fingerprint(key).into(), number, clock);
    }

    /// Adds the next key of a synthetic stream, with its time if the stream has times.
    #[inline]
    pub fn push_arrival(&mut self, arrival: &Arrival<'_>, clock: &impl Clock) {
        self.is_weighted |= arrival.importance.is_some();
        if let Some(second) = arrival.second {
            self.record_tick(second);
        }
        let observation = Observation {
            importance: arrival.importance.unwrap_or(0),
            tick: arrival.second.unwrap_or(0),
            ..self.hasher.fingerprint(arrival.key).into()
        };
        self.push(observation, arrival.number, clock);
    }

    #[inline]
    fn record_tick(&mut self, tick: u32) {
        let (first, last) = self.ticks.unwrap_or((tick, tick));
        self.ticks = Some((first.min(tick), last.max(tick)));
    }

    #[inline]
    fn push(&mut self, mut observation: Observation, identity: u64, clock: &impl Clock) {
        if self.ticks.is_none() {
            let position = self.count + self.observations.len() as u64;
            observation.tick = u32::try_from(position).unwrap_or(u32::MAX);
        }
        self.observations.push(observation);
        self.identities.push(identity);
        if self.observations.len() == BATCH {
            self.flush(clock);
        }
    }

    /// Adds the next keys of a synthetic stream. Then every key must be added by this method.
    pub fn push_batch(&mut self, batch: &mut StreamBatch, clock: &impl Clock) {
        self.is_weighted |= batch.is_weighted;
        if let Some((first, last)) = batch.ticks {
            self.record_tick(first);
            self.record_tick(last);
        }
        std::mem::swap(&mut self.observations, &mut batch.observations);
        std::mem::swap(&mut self.identities, &mut batch.identities);
        std::mem::swap(&mut self.first, &mut batch.first);
        self.given_first += self.first.iter().filter(|&&is_first| is_first).count() as u64;
        self.flush(clock);
    }

    /// Computes the observations of filters that use the number of a key as its fingerprint.
    fn number_keys(&mut self) {
        let Some((permutation, numbers)) = &mut self.numbers else {
            return;
        };
        numbers.clear();
        if self.needs_numbers {
            let keys = self.observations.iter().zip(&self.identities);
            numbers.extend(keys.map(|(&observation, &identity)| Observation {
                fingerprint: Fingerprint(permutation.apply(identity)),
                ..observation
            }));
        }
    }

    /// Runs the filters over the keys added since the last flush.
    pub fn flush(&mut self, clock: &impl Clock) {
        let unknown = &self.identities[self.first.len()..];
        self.truth.are_first(unknown, &mut self.first);
        self.gaps.record_all(&self.identities);
        self.number_keys();
        for run in self.runs.iter_mut().chain(&mut self.references) {
            let observations = match &self.numbers {
                Some((_, numbers)) if run.set.filter().requires_numeric_keys() => numbers,
                _ => &self.observations,
            };
            let mut from = 0;
            while from < observations.len() {
                let left = (observations.len() - from) as u64;
                let to = from + left.min(run.scoreboard.until_next_point()) as usize;
                let verdicts = &mut self.verdicts[from..to];
                let started = clock.now_ns();
                run.observe(&observations[from..to], verdicts);
                run.nanoseconds += clock.now_ns().saturating_sub(started);
                let occupied = run.set.registers().occupied();
                let mut first = &self.first[from..to];
                if let Some(window) = &mut run.window {
                    let (identities, new) = (&self.identities[from..to], &mut self.new_in_window);
                    let observed = &self.observations[from..to];
                    window.truth.are_new(identities, observed, verdicts, new);
                    window.count(first, verdicts);
                    first = new;
                }
                run.scoreboard.score(verdicts, first, occupied);
                if self.is_weighted {
                    let weighted = &self.observations[from..to];
                    run.scoreboard.weigh(verdicts, first, weighted);
                }
                from = to;
            }
        }
        if let Some(observe) = self.observe_sliced {
            observe(&mut self.sliced, &self.observations, &self.first);
        }
        self.count += self.observations.len() as u64;
        self.observations.clear();
        self.identities.clear();
        self.first.clear();
    }

    /// The number of keys that the filters have observed.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The number of distinct keys among them.
    pub fn distinct(&self) -> u64 {
        self.truth.distinct() + self.given_first
    }

    /// The gaps between repeats of the observed keys.
    pub fn gaps(&self) -> &GapMeter {
        &self.gaps
    }

    /// The filters and their results, in the order in which they were added.
    pub fn runs(&self) -> &[FilterRun] {
        &self.runs
    }

    /// Returns the results so far, one per filter, without predictions.
    pub fn measurements(&self, stream: &str) -> Vec<RunSummary> {
        self.runs
            .iter()
            .map(|run| self.summary(run, stream, None))
            .collect()
    }

    /// Returns the prediction of each filter for a stream with these keys and gaps. None if there
    /// is no formula.
    pub fn predictions(&self) -> Vec<Option<Prediction>> {
        let gaps = self.gaps.histogram();
        let mut workload = Workload::with_gaps(self.count, self.distinct(), gaps);
        if let Some((first, last)) = self.ticks {
            let seconds = f64::from(last - first) + 1.0;
            workload = workload.lasting(seconds);
        }
        self.runs
            .iter()
            .map(|run| predict(run.set.spec(), run.memory_bits, &workload))
            .collect()
    }

    /// Returns the results so far, one per filter, with predictions.
    pub fn summaries(&self, stream: &str) -> Vec<RunSummary> {
        self.runs
            .iter()
            .zip(self.predictions())
            .map(|(run, prediction)| self.summary(run, stream, prediction.as_ref()))
            .collect()
    }

    fn summary(
        &self,
        run: &FilterRun,
        stream: &str,
        prediction: Option<&Prediction>,
    ) -> RunSummary {
        let crossover = self.crossover(run);
        RunSummary {
            crossover,
            ..RunSummary::of(run, stream, &self.gaps, prediction)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::stream::StreamSpec;
    use super::*;
    use crate::lab::NoClock;

    fn run(keys: &[&str], flush_after: usize) -> Vec<RunSummary> {
        let mut simulation = Simulation::new(1, Truth::for_fingerprints());
        for spec in ["bloom:k=2", "stable", "rlbsbf"] {
            let spec = spec.parse().expect("a filter");
            simulation.add_filter(&spec, 1000).expect("small");
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
    fn a_filter_for_numeric_keys_is_refused_for_other_keys() {
        let spec = "sqf:fingerprint=identity".parse().expect("a filter");
        let refused = Simulation::new(1, Truth::for_fingerprints()).add_filter(&spec, 1000);
        assert!(matches!(refused, Err(CreateError::NumbersOnly { .. })));
        let stream: StreamSpec = "shuffle:15".parse().expect("a stream");
        let mut keys = stream.open(2000, 1);
        let mut simulation = Simulation::for_stream(&keys, 1);
        simulation
            .add_filter(&spec, 12 * 75)
            .expect("one row per four keys");
        while let Some((key, number)) = keys.next_key() {
            simulation.push_numbered(key, number, &NoClock);
        }
        simulation.flush(&NoClock);
        let scoreboard = simulation.runs()[0].scoreboard();
        assert_eq!((scoreboard.fpr(), scoreboard.fnr()), (Some(0.0), Some(0.0)));
    }

    #[test]
    fn results_do_not_depend_on_who_computes_the_truth() {
        let keys: Vec<String> = (0..5000).map(|i| format!("{}", i * i % 997)).collect();
        let simulation = || {
            let mut simulation = Simulation::new(1, Truth::for_fingerprints());
            let spec = "rlbsbf".parse().expect("a filter");
            simulation.add_filter(&spec, 1000).expect("small");
            simulation
        };
        let (mut computing, mut given) = (simulation(), simulation());
        let mut truth = Truth::for_fingerprints();
        for key in &keys {
            let fingerprint = KeyHasher::new(1).fingerprint(key.as_bytes());
            computing.push_fingerprint(fingerprint, &NoClock);
            given.push_with_truth(fingerprint, truth.is_first(fingerprint.0), &NoClock);
        }
        computing.flush(&NoClock);
        given.flush(&NoClock);
        assert!(given.distinct() > 100);
        assert_eq!(given.distinct(), computing.distinct());
        assert_eq!(given.summaries("test"), computing.summaries("test"));
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
