//! Oracles of filters that weigh keys by importance. Every choice looks at all cells.

use dedupstore::fingerprint::reduce;
use dedupstore::rng::Generator;
use dedupstore::{AnyFilter, FilterSpec, Fingerprint, Observation, Verdict};

use super::{Oracle, Parameters, positions, verdict};

/// The weight of importance 1.
const HEAVIEST: u64 = 1 << 20;
/// The number of cells among which one guess chooses, if they have importance. Without, it is four
/// times as many, with a fourth of the weight.
const UNIT: usize = 32_768;
const GUESSES: u64 = 16;

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
    /// At least the weight of every unit.
    ceiling: u64,
    /// The greatest weight of a unit that was visited since the first, or grew.
    next_ceiling: u64,
    /// The next unit to visit.
    unit: usize,
}

impl Ibf {
    pub fn new(spec: &FilterSpec, memory_bits: u64) -> Self {
        // How many cells fit depends on the layout of the index, which an oracle does not have.
        let built = AnyFilter::build(spec, memory_bits);
        let cells = built.map_or(0, |filter| filter.cells());
        let delete = spec
            .values()
            .find(|(parameter, _)| parameter.name == "delete");
        let delete = delete
            .map(|(_, value)| value.to_string())
            .unwrap_or_default();
        let heaviest = u64::from(delete == "probabilistic") * HEAVIEST;
        Ibf {
            spec: spec.clone(),
            delete,
            cells: vec![Cell::default(); cells as usize],
            ceiling: heaviest * UNIT as u64,
            next_ceiling: 0,
            unit: 0,
        }
    }

    fn p(&self) -> u64 {
        Parameters(&self.spec).number("p")
    }

    fn lower(&mut self, at: usize) {
        let to_zero = Parameters(&self.spec).is("by", "zero");
        self.change(at, |cell| {
            cell.value = match to_zero {
                true => 0,
                false => cell.value.saturating_sub(1),
            };
        });
    }

    fn weight(&self, cell: &Cell) -> u64 {
        let by = match self.delete.as_str() {
            "probabilistic-val" => cell.value,
            _ => cell.importance,
        };
        match cell.value == 0 && self.delete != "probabilistic" {
            true => 0,
            false => HEAVIEST / by.max(1) / self.merged() as u64,
        }
    }

    fn merged(&self) -> usize {
        if self.delete == "probabilistic-val" {
            4
        } else {
            1
        }
    }

    fn unit(&self) -> usize {
        UNIT * self.merged()
    }

    fn total(&self, cells: &[Cell]) -> u64 {
        cells.iter().map(|cell| self.weight(cell)).sum()
    }

    /// Returns the cell in whose share of the total a number lies.
    fn find(&self, mut number: u64, from: usize, except: &[usize]) -> Option<usize> {
        (from..self.cells.len()).find(|at| {
            let weight = match except.contains(at) {
                true => 0,
                false => self.weight(&self.cells[*at]),
            };
            let is_it = number < weight;
            number = number.saturating_sub(weight);
            is_it
        })
    }

    /// Returns the cell that a draw chooses: the first hit of some guesses, if there are likely to
    /// be hits. None if no cell has a weight.
    fn choose(&self, draw: u64) -> Option<usize> {
        let total = self.total(&self.cells);
        let units: Vec<u64> = self
            .cells
            .chunks(self.unit())
            .map(|unit| self.total(unit))
            .collect();
        let count = units.len() as u64;
        let more = Generator::from_state(draw);
        let mut random = draw;
        if count > 1 && total >= self.ceiling * count / 8 {
            for i in 0..GUESSES {
                let unit = reduce(random, count);
                let number = reduce(random.wrapping_mul(count), self.ceiling);
                if number < units[unit as usize] {
                    return self.find(number, unit as usize * self.unit(), &[]);
                }
                random = more.draw(i);
            }
        }
        self.find(reduce(random, total), 0, &[])
    }

    /// Returns the cell that a draw chooses among those that are not chosen yet.
    fn choose_another(&self, draw: u64, chosen: &[usize]) -> Option<usize> {
        let taken: u64 = chosen.iter().map(|&at| self.weight(&self.cells[at])).sum();
        let left = self.total(&self.cells) - taken;
        let again = Generator::from_state(draw).draw(GUESSES + 1);
        self.find(reduce(again, left), 0, chosen)
    }

    fn unit_weight(&self, unit: usize) -> u64 {
        let cells = self.cells.chunks(self.unit()).nth(unit);
        self.total(cells.expect("a unit"))
    }

    /// Changes a cell. If its weight grows, the ceilings are raised to the weight of its unit.
    fn change(&mut self, at: usize, change: impl FnOnce(&mut Cell)) {
        let before = self.weight(&self.cells[at]);
        change(&mut self.cells[at]);
        if self.weight(&self.cells[at]) > before {
            let weight = self.unit_weight(at / self.unit());
            self.ceiling = self.ceiling.max(weight);
            self.next_ceiling = self.next_ceiling.max(weight);
        }
    }

    /// Visits one unit per observation; after a round the next ceiling replaces the present one.
    fn visit_next_unit(&mut self) {
        self.next_ceiling = self.next_ceiling.max(self.unit_weight(self.unit));
        self.unit += 1;
        if self.unit * self.unit() >= self.cells.len() {
            (self.ceiling, self.next_ceiling) = (self.next_ceiling, 0);
            self.unit = 0;
        }
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
                    self.choose(draw(i))
                        .into_iter()
                        .for_each(|at| self.lower(at));
                }
                self.visit_next_unit();
            }
            "probabilistic-p" | "probabilistic-val" => {
                let mut chosen = Vec::new();
                for i in 0..self.p() {
                    let first = self.choose(draw(i)).filter(|at| !chosen.contains(at));
                    chosen.extend(first.or_else(|| self.choose_another(draw(i), &chosen)));
                }
                chosen.into_iter().for_each(|at| self.lower(at));
                self.visit_next_unit();
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
        let filter = self.spec.clone();
        let spec = Parameters(&filter);
        let (k, max, top) = (spec.number("k"), spec.number("max"), spec.number("top"));
        let importance = u64::from(observation.importance).clamp(1, top);
        let value = match (spec.is("insert", "max"), spec.is("map", "ceil")) {
            (true, _) => max,
            (false, true) => (max * importance).div_ceil(top),
            (false, false) => max * importance / top,
        };
        for at in positions(observation.fingerprint, k, self.cells.len() as u64) {
            let (is_cumulative, keeps) = (!spec.is("weight", "current"), spec.is("keep", "larger"));
            self.change(at, |cell| {
                let sum = if is_cumulative { cell.importance } else { 0 } + importance;
                cell.importance = sum.min(65_535);
                cell.value = if keeps { cell.value.max(value) } else { value };
            });
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
