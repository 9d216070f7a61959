//! Stable Bloom filters with which a simulation compares other filters.

use super::filter_run::FilterRun;
use super::simulation::Simulation;
use crate::filter::{Filter, FilterSpec, Stable};
use crate::seen_set::CreateError;

impl Simulation {
    /// Adds the stable Bloom filters that the filters of a stream with importance are compared
    /// with: for every filter without one in the same memory, one with the same k, p and max as far
    /// as the filter has them. They take part in [`crossover`](Simulation::crossover) only.
    pub fn add_references(&mut self) -> Result<(), CreateError> {
        for index in 0..self.runs.len() {
            let run = &self.runs[index];
            if self.reference_of(run).is_some() {
                continue;
            }
            let (spec, memory_bits) = (stable_like(run.set.spec()), run.memory_bits);
            match self.new_run(&spec, memory_bits) {
                Ok(reference) => self.references.push(reference),
                Err(CreateError::OutOfMemory(error)) => return Err(error.into()),
                // The memory is too small for its cells: there is nothing to compare with.
                Err(_) => {}
            }
        }
        Ok(())
    }

    /// Returns the stable Bloom filter that a filter is compared with: in the same memory, with the
    /// same k, p and max if there is one, and not the filter itself.
    fn reference_of(&self, run: &FilterRun) -> Option<&FilterRun> {
        let wanted = stable_like(run.set.spec());
        let same_memory = |it: &&FilterRun| it.memory_bits == run.memory_bits;
        let is_stable =
            |it: &&FilterRun| it.set.spec().descriptor().name == wanted.descriptor().name;
        let all = || self.runs.iter().chain(&self.references).filter(same_memory);
        let alike = all().find(|it| *it.set.spec() == wanted);
        alike.or_else(|| self.runs.iter().filter(same_memory).find(is_stable))
    }

    /// Returns the crossover point of a filter against a stable Bloom filter in the same memory; see
    /// [`Weights::crossover`](super::Weights::crossover). None if there is none, if the stream has no importance, if there is
    /// no such filter, and for a stable Bloom filter.
    pub fn crossover(&self, run: &FilterRun) -> Option<u16> {
        let reference = self.reference_of(run)?;
        run.weights().crossover(reference.weights())
    }
}

/// Returns the stable Bloom filter with the k, p and max of a filter, as far as it has them.
fn stable_like(filter: &FilterSpec) -> FilterSpec {
    let stable = FilterSpec::with_defaults(&Stable::DESCRIPTOR);
    let shared = ["k", "p", "max"]
        .into_iter()
        .filter(|name| filter.descriptor().parameter(name).is_some());
    shared.fold(stable, |stable, name| {
        let value = filter.integer(name).to_string();
        stable.with(name, &value).unwrap_or(stable)
    })
}
