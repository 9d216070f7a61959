//! Executes the runs that measure cells.

use super::bera_2012::MEGABYTE_BITS;
use super::cell_chain::best_ks;
use super::faulty_stable::FaultyStable;
use super::horizontal_slices::HorizontalSlices;
use super::keys::Keys;
use super::koloniari_growth::run_growing;
use super::{Contender, Job, Metric, Outcome, Rate, Run, RunError};
use crate::filter::{FilterSpec, Verdict};
use crate::fingerprint::KeyHasher;
use crate::lab::scoreboard::Scoreboard;
use crate::lab::simulation::Simulation;
use crate::lab::stream::Stream;
use crate::lab::tree_simulation::TreeSimulation;
use crate::lab::window_truth::WindowTruth;
use crate::seen_set::CreateError;

/// The end of a search for the least memory.
const MOST_MEGABYTES: u64 = 2048;
/// A search ends when the memory is known to this factor.
const SEARCH_RATIO: f64 = 1.06;

impl Job {
    /// Executes the job: minutes at full size, seconds at a scale of 100.
    pub fn execute(&self) -> Result<Outcome, RunError> {
        let count = self.run.count_at(self.scale);
        let memory_bits = self.run.memory_bits_at(self.scale);
        match &self.run.contender {
            Contender::Slices(slices) => {
                let stream = self.run.stream_at(self.scale)?;
                slices.execute(stream, count, memory_bits, self.rounds)
            }
            Contender::BestK { max_fpr, max } => Ok(Outcome {
                found: Some(best_ks(*max_fpr, *max)),
                ..Outcome::default()
            }),
            Contender::LeastMemory {
                filter,
                rate,
                at_most,
                paper_share,
            } => {
                let bits = self.least_memory(filter, *rate, *at_most)?;
                let megabytes = bits.map(|bits| bits * paper_share / MEGABYTE_BITS as f64);
                Ok(Outcome {
                    found: megabytes.map(|it| (it, it)),
                    ..Outcome::default()
                })
            }
            Contender::LargestAdvantage { filter, memories } => {
                self.largest_advantage(filter, memories)
            }
            Contender::NotMeasured => Ok(Outcome::default()),
            _ => {
                let mut outcome = Outcome::default();
                for seed in 1..=self.rounds {
                    self.execute_seed(seed, count, memory_bits, &mut outcome)?;
                }
                Ok(outcome)
            }
        }
    }

    fn execute_seed(
        &self,
        seed: u64,
        count: u64,
        memory_bits: u64,
        outcome: &mut Outcome,
    ) -> Result<(), RunError> {
        let keys = || self.run.keys_at(self.scale, seed);
        let stream = || Ok::<_, RunError>(self.run.stream_at(self.scale)?.open(count, seed));
        match &self.run.contender {
            Contender::Filter(spec) => {
                let simulation = simulate(keys()?, seed, [(spec, memory_bits)])?;
                simulation
                    .runs()
                    .iter()
                    .for_each(|run| outcome.add_run(run));
            }
            Contender::Colliding { filter, values } => {
                let keys = keys()?;
                let mut simulation = keys.simulation(seed);
                simulation.add_filter(&filter.parse()?, memory_bits)?;
                keys.run_with_hashes(&mut simulation, self.run.scaled(*values, self.scale));
                simulation
                    .runs()
                    .iter()
                    .for_each(|run| outcome.add_run(run));
            }
            Contender::Compared {
                filter,
                reference,
                reference_bits,
            } => {
                let filters = [(filter, memory_bits), (reference, *reference_bits)];
                let simulation = simulate(keys()?, seed, filters)?;
                if let [run, reference] = simulation.runs() {
                    outcome.add_run(run);
                    outcome.reference.add(reference.weights());
                }
            }
            Contender::Versus {
                filter,
                reference,
                reference_bits,
            } => {
                let reference_bits = self.run.scaled(*reference_bits, self.scale);
                let filters = [(filter, memory_bits), (reference, reference_bits)];
                let simulation = simulate(keys()?, seed, filters)?;
                if let [run, reference] = simulation.runs() {
                    outcome.add_run(run);
                    outcome.reference_false_negatives +=
                        reference.scoreboard().now().false_negatives;
                }
            }
            Contender::FaultyStable => outcome.add(&run_faulty(stream()?, memory_bits, seed)?),
            Contender::HorizontalSlices { filter, slices } => {
                let filter = HorizontalSlices::new(&filter.parse()?, *slices, memory_bits, seed)?;
                run_sliced(filter, stream()?, outcome);
            }
            Contender::Growing(spec) => {
                let (spec, thirds): (FilterSpec, _) = (spec.parse()?, &mut outcome.thirds);
                run_growing(&spec, memory_bits, seed, stream()?, count, thirds)?;
            }
            Contender::Tree(tree) => {
                let keys = stream()?;
                let mut simulation = TreeSimulation::new(seed, keys.truth());
                simulation.add_tree(&tree.parse()?, memory_bits)?;
                run_tree(simulation, keys, outcome);
            }
            // Executed once for all seeds.
            Contender::Slices(_)
            | Contender::LargestAdvantage { .. }
            | Contender::LeastMemory { .. }
            | Contender::BestK { .. }
            | Contender::NotMeasured => {}
        }
        Ok(())
    }

    /// Returns the least memory at full size in which the rate is low enough, to 3 %. None if there
    /// is none up to [`MOST_MEGABYTES`].
    fn least_memory(
        &self,
        filter: &str,
        rate: Rate,
        at_most: f64,
    ) -> Result<Option<f64>, RunError> {
        let is_enough = |bits: f64| -> Result<bool, RunError> {
            let run = Run {
                contender: Contender::Filter(filter.to_owned()),
                memory_bits: bits as u64,
                ..self.run.clone()
            };
            let memory_bits = run.memory_bits_at(self.scale);
            let (mut outcome, count) = (Outcome::default(), run.count_at(self.scale));
            let job = Job {
                run,
                scale: self.scale,
                rounds: 1,
            };
            job.execute_seed(1, count, memory_bits, &mut outcome)?;
            let metric = match rate {
                Rate::Fpr => Metric::Fpr,
                Rate::Fnr => Metric::Fnr,
            };
            Ok(outcome.value(metric).is_some_and(|it| it <= at_most))
        };
        let mut high = (MOST_MEGABYTES * MEGABYTE_BITS) as f64;
        let mut low = MEGABYTE_BITS as f64;
        if !is_enough(high)? {
            return Ok(None);
        }
        while high / low > SEARCH_RATIO {
            let middle = libm::sqrt(low * high);
            match is_enough(middle)? {
                true => high = middle,
                false => low = middle,
            }
        }
        Ok(Some(libm::sqrt(low * high)))
    }

    /// Returns the lowest and the highest advantage over FPBuffering, among memories.
    fn largest_advantage(
        &self,
        filter: &str,
        memories: &[(u64, u64)],
    ) -> Result<Outcome, RunError> {
        let scaled = |bits: u64| self.run.scaled(bits, self.scale);
        let filters = memories
            .iter()
            .flat_map(|&(bits, buffer)| [(filter, scaled(bits)), ("buffer", scaled(buffer))]);
        let keys = self.run.keys_at(self.scale, 1)?;
        let simulation = simulate(keys, 1, filters)?;
        let advantages = simulation.runs().chunks(2).filter_map(|pair| {
            let mut outcome = Outcome::default();
            outcome.add(pair[0].scoreboard());
            outcome.reference_false_negatives = pair[1].scoreboard().now().false_negatives;
            outcome.value(Metric::Advantage)
        });
        let found = advantages.fold(None, |range: Option<(f64, f64)>, it| {
            let (low, high) = range.unwrap_or((it, it));
            Some((low.min(it), high.max(it)))
        });
        Ok(Outcome {
            found,
            ..Outcome::default()
        })
    }
}

/// Runs filters over keys.
fn simulate(
    keys: Keys,
    seed: u64,
    filters: impl IntoIterator<Item = (impl AsRef<str>, u64)>,
) -> Result<Simulation, RunError> {
    let mut simulation = keys.simulation(seed);
    for (filter, memory_bits) in filters {
        simulation.add_filter(&filter.as_ref().parse()?, memory_bits)?;
    }
    keys.run(&mut simulation);
    Ok(simulation)
}

fn run_tree(mut simulation: TreeSimulation, mut keys: Stream, outcome: &mut Outcome) {
    while let Some((key, number)) = keys.next_key() {
        simulation.push_numbered(key, number);
    }
    for summary in simulation.summaries("") {
        outcome.distinct += summary.distinct;
        outcome.false_positives += summary.fp;
        outcome.repeats += summary.repeats;
        outcome.false_negatives += summary.false_negatives;
        for (sum, level) in outcome.levels.iter_mut().zip(&summary.levels) {
            sum.hits += level.hits;
            sum.accesses += level.accesses;
        }
    }
}

fn run_faulty(mut keys: Stream, memory_bits: u64, seed: u64) -> Result<Scoreboard, RunError> {
    let mut filter = FaultyStable::new(memory_bits, seed).map_err(CreateError::from)?;
    let mut truth = keys.truth();
    let hasher = KeyHasher::new(seed);
    let mut scoreboard = Scoreboard::default();
    while let Some((key, number)) = keys.next_key() {
        let verdict: Verdict = filter.observe(hasher.fingerprint(key));
        scoreboard.score(&[verdict], &[truth.is_first(number)], 0);
    }
    Ok(scoreboard)
}

fn run_sliced(mut filter: HorizontalSlices, mut keys: Stream, outcome: &mut Outcome) {
    let mut truth = keys.truth();
    let clock = filter.filter().and_then(|it| it.window()).copied();
    let mut window = clock.map(WindowTruth::new);
    let mut scoreboard = Scoreboard::default();
    loop {
        let second = keys.next_second();
        let Some((key, number)) = keys.next_key() else {
            break;
        };
        let (verdict, equal) = filter.observe(key, second);
        let is_new = match &mut window {
            Some(window) => window.is_new(number, second, verdict),
            None => truth.is_first(number),
        };
        scoreboard.score(&[verdict], &[is_new], 0);
        let index = equal.checked_sub(1);
        if let Some(counts) = index.and_then(|it| outcome.by_equal_timers.get_mut(it)) {
            counts.reported += 1;
            counts.correct += u64::from(!is_new);
        }
    }
    outcome.add(&scoreboard);
}
