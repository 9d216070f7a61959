//! Oracles of filters that weigh keys by importance. Every choice looks at all cells.

use dedupstore::fingerprint::reduce;
use dedupstore::rng::Generator;
use dedupstore::{AnyFilter, FilterSpec, Fingerprint, Observation, Verdict};

use super::{Oracle, Parameters, positions, verdict};

/// The weight of importance 1.
const UNIT: u64 = 1 << 20;

#[derive(Clone, Copy, Default)]
struct Cell {
    value: u64,
    importance: u64,
    priority: u64,
}

pub struct Ibf {
    spec: FilterSpec,
    delete: String,
    cells: Vec<Cell>,
}

impl Ibf {
    pub fn new(spec: &FilterSpec, memory_bits: u64) -> Self {
        // How many cells fit depends on the layout of the index, which an oracle does not have.
        let built = AnyFilter::build(spec, memory_bits);
        let cells = built.map_or(0, |filter| filter.cells());
        let delete = spec
            .values()
            .find(|(parameter, _)| parameter.name == "delete");
        Ibf {
            spec: spec.clone(),
            delete: delete
                .map(|(_, value)| value.to_string())
                .unwrap_or_default(),
            cells: vec![Cell::default(); cells as usize],
        }
    }

    fn p(&self) -> u64 {
        Parameters(&self.spec).number("p")
    }

    fn lower(&mut self, at: usize) {
        let to_zero = Parameters(&self.spec).is("by", "zero");
        let value = &mut self.cells[at].value;
        *value = if to_zero { 0 } else { value.saturating_sub(1) };
    }

    fn weight(&self, cell: &Cell) -> u64 {
        let by = match self.delete.as_str() {
            "probabilistic-val" => cell.value,
            _ => cell.importance,
        };
        match cell.value == 0 && self.delete != "probabilistic" {
            true => 0,
            false => UNIT / by.max(1),
        }
    }

    /// Returns the cell in whose share of the total the draw lies; None if the total is 0.
    fn choose(&self, draw: u64, except: &[usize]) -> Option<usize> {
        let weight = |at: usize| match except.contains(&at) {
            true => 0,
            false => self.weight(&self.cells[at]),
        };
        let total: u64 = (0..self.cells.len()).map(weight).sum();
        let mut left = (total > 0).then(|| reduce(draw, total))?;
        (0..self.cells.len()).find(|&at| match left.checked_sub(weight(at)) {
            None => true,
            Some(rest) => {
                left = rest;
                false
            }
        })
    }

    fn delete(&mut self, draws: Generator) {
        let draw = |i: u64| draws.draw(i);
        match self.delete.as_str() {
            "random" => {
                for i in 0..self.p() {
                    self.lower(reduce(draw(i), self.cells.len() as u64) as usize);
                }
            }
            "probabilistic" => {
                for i in 0..self.p() {
                    self.choose(draw(i), &[])
                        .into_iter()
                        .for_each(|at| self.lower(at));
                }
            }
            "probabilistic-p" | "probabilistic-val" => {
                let mut chosen = Vec::new();
                for i in 0..self.p() {
                    let again = Generator::from_state(draw(i)).draw(0);
                    let first = self.choose(draw(i), &[]).filter(|at| !chosen.contains(at));
                    chosen.extend(first.or_else(|| self.choose(again, &chosen)));
                }
                chosen.into_iter().for_each(|at| self.lower(at));
            }
            "min" => {
                let in_use = (0..self.cells.len()).filter(|&at| self.cells[at].value > 0);
                let mut in_use: Vec<usize> = in_use.collect();
                in_use.sort_by_key(|&at| self.cells[at].importance);
                in_use.truncate(self.p() as usize);
                in_use.into_iter().for_each(|at| self.lower(at));
            }
            _ => {
                for _ in 0..self.p() {
                    let cost = |at: &usize| self.cells[*at].importance + self.cells[*at].priority;
                    let at = (0..self.cells.len()).min_by_key(cost).expect("a cell");
                    self.lower(at);
                    self.cells[at].priority += Parameters(&self.spec).number("priority");
                }
            }
        }
    }

    fn insert(&mut self, observation: Observation) {
        let spec = Parameters(&self.spec);
        let (k, max, top) = (spec.number("k"), spec.number("max"), spec.number("top"));
        let importance = u64::from(observation.importance).clamp(1, top);
        let value = match (spec.is("insert", "max"), spec.is("map", "ceil")) {
            (true, _) => max,
            (false, true) => (max * importance).div_ceil(top),
            (false, false) => max * importance / top,
        };
        for at in positions(observation.fingerprint, k, self.cells.len() as u64) {
            let sum = match !spec.is("weight", "current") {
                true => self.cells[at].importance + importance,
                false => importance,
            };
            let old = self.cells[at].value;
            self.cells[at].value = match spec.is("keep", "larger") {
                true => old.max(value),
                false => value,
            };
            self.cells[at].importance = sum.min(65_535);
        }
    }
}

impl Oracle for Ibf {
    fn observe(&mut self, _: Fingerprint, _: Generator) -> Verdict {
        unreachable!("it needs the importance")
    }

    fn observe_in_full(&mut self, observation: Observation, draws: Generator) -> Verdict {
        let k = Parameters(&self.spec).number("k");
        let cells = positions(observation.fingerprint, k, self.cells.len() as u64);
        let seen = cells.iter().all(|&at| self.cells[at].value > 0);
        self.delete(draws);
        self.insert(observation);
        verdict(seen)
    }

    fn draws(&self) -> u64 {
        match self.delete.as_str() {
            "min" | "min-priority" => 0,
            _ => self.p(),
        }
    }

    fn occupied(&self) -> u64 {
        self.cells.iter().filter(|cell| cell.value > 0).count() as u64
    }
}

pub struct Reinsert {
    filter: Ibf,
    cache: Vec<Option<Observation>>,
    observations: u64,
    written: u64,
    taken: u64,
}

impl Reinsert {
    pub fn new(spec: &FilterSpec, memory_bits: u64) -> Self {
        let share = Parameters(spec).number("share");
        Reinsert {
            filter: Ibf::new(spec, memory_bits),
            cache: vec![None; (memory_bits / 8 * share / 100 / 10).max(1) as usize],
            observations: 0,
            written: 0,
            taken: 0,
        }
    }

    fn entry(&self, counter: u64, draw: u64) -> usize {
        let entries = self.cache.len() as u64;
        match Parameters(&self.filter.spec).is("order", "random") {
            true => reduce(draw, entries) as usize,
            false => (counter % entries) as usize,
        }
    }

    fn is_due(&self) -> bool {
        let spec = Parameters(&self.filter.spec);
        let cells = self.filter.cells.len() as u64;
        let zeros = 100 * (cells - self.filter.occupied());
        match (spec.is("when", "periodic"), spec.is("when", "zeros-above")) {
            (true, _) => self.observations.is_multiple_of(spec.number("every")),
            (_, true) => zeros > spec.number("zeros") * cells,
            (_, false) => zeros < spec.number("zeros") * cells,
        }
    }
}

impl Oracle for Reinsert {
    fn observe(&mut self, _: Fingerprint, _: Generator) -> Verdict {
        unreachable!("it needs the importance")
    }

    fn observe_in_full(&mut self, observation: Observation, draws: Generator) -> Verdict {
        let verdict = self.filter.observe_in_full(observation, draws);
        let own = draws.ahead(self.filter.draws());
        let threshold = Parameters(&self.filter.spec).number("threshold");
        if u64::from(observation.importance.max(1)) >= threshold {
            let at = self.entry(self.written, own.draw(0));
            self.cache[at] = Some(observation);
            self.written += 1;
        }
        self.observations += 1;
        if self.is_due() {
            let at = self.entry(self.taken, own.draw(1));
            self.taken += 1;
            self.cache[at]
                .into_iter()
                .for_each(|key| self.filter.insert(key));
        }
        verdict
    }

    fn draws(&self) -> u64 {
        self.filter.draws() + 2
    }

    fn occupied(&self) -> u64 {
        self.filter.occupied()
    }
}
