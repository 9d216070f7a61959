//! The oracle of the importance-aware Bloom filter: every choice looks at all cells.

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
}

impl Oracle for Ibf {
    fn observe(&mut self, _: Fingerprint, _: Generator) -> Verdict {
        unreachable!("it needs the importance")
    }

    fn observe_in_full(&mut self, observation: Observation, draws: Generator) -> Verdict {
        let number = |name| Parameters(&self.spec).number(name);
        let (k, max, top) = (number("k"), number("max"), number("top"));
        let cells = positions(observation.fingerprint, k, self.cells.len() as u64);
        let seen = cells.iter().all(|&at| self.cells[at].value > 0);
        self.delete(draws);
        let spec = Parameters(&self.spec);
        let importance = u64::from(observation.importance).clamp(1, top);
        let value = match (spec.is("insert", "max"), spec.is("map", "ceil")) {
            (true, _) => max,
            (false, true) => (max * importance).div_ceil(top),
            (false, false) => max * importance / top,
        };
        for at in cells {
            let sum = match spec.is("weight", "cumulative") {
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
