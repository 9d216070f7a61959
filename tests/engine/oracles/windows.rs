//! Oracles of filters with a window: absolute steps in plain vectors, nothing is ever swept.

use std::collections::{BTreeSet, HashMap};
use std::ops::RangeInclusive;

use dedupstore::rng::Generator;
use dedupstore::{FilterSpec, Fingerprint, Verdict};

use super::{Oracle, Parameters, positions, verdict};

const CACHE_LINE_BITS: u64 = 512;

/// A clock that counts steps from the parameters of a window.
pub struct Steps {
    spec: FilterSpec,
    step: u64,
    /// The largest age, in steps, at which a key is in the window.
    pub age_limit: u64,
    newest_tick: u64,
    observations: u64,
    deliveries: u64,
}

impl Steps {
    pub fn new(spec: &FilterSpec) -> Self {
        let parameters = Parameters(spec);
        let span = parameters.number("span");
        let divisors = [12, 13, 11, 10, 9, 8, 14, 15, 16];
        let divisor = divisors
            .into_iter()
            .find(|&steps| span.is_multiple_of(steps));
        let step = match parameters.number("step") {
            0 => span.div_ceil(divisor.unwrap_or(12)),
            step => step,
        };
        // A key that was set in the last unit of a step is just within its span this much later.
        let age_limit = (step - 1 + span - 1) / step;
        Steps {
            spec: spec.clone(),
            step,
            age_limit,
            newest_tick: 0,
            observations: 0,
            deliveries: 0,
        }
    }

    /// Returns the step of an observation with this time.
    pub fn at(&mut self, tick: u32) -> u64 {
        self.newest_tick = self.newest_tick.max(tick.into());
        let spec = Parameters(&self.spec);
        let units = match () {
            () if spec.is("clock", "count") => self.observations,
            () if spec.is("clock", "deliveries") => self.deliveries,
            () => self.newest_tick,
        };
        units / self.step
    }

    pub fn count(&mut self, verdict: Verdict) -> Verdict {
        self.observations += 1;
        self.deliveries += u64::from(verdict.is_new());
        verdict
    }
}

/// Returns the number of bits of a cell that can tell the ages 0 to the limit, one more, and
/// empty.
pub fn stamp_bits(age_limit: u64) -> u64 {
    u64::from((age_limit + 3).next_power_of_two().ilog2())
}

/// The Bloom filter of timers.
pub struct Timers {
    steps: Steps,
    now: u64,
    k: u64,
    equal: usize,
    /// The step in which each cell was last set.
    cells: Vec<Option<u64>>,
    /// The number of cells in a cache line; 0 if a key's cells are anywhere.
    line_cells: u64,
}

impl Timers {
    pub fn new(spec: &FilterSpec, memory_bits: u64) -> Self {
        let steps = Steps::new(spec);
        let spec = Parameters(spec);
        let width = stamp_bits(steps.age_limit);
        let (cells, line_cells) = match spec.is("layout", "blocked") {
            true => {
                let line_cells = 8 * (64 / width);
                (memory_bits / CACHE_LINE_BITS * line_cells, line_cells)
            }
            false => (memory_bits / width, 0),
        };
        Timers {
            steps,
            now: 0,
            k: spec.number("k"),
            equal: spec.number("equal") as usize,
            cells: vec![None; cells as usize],
            line_cells,
        }
    }

    fn positions(&self, key: Fingerprint) -> Vec<usize> {
        if self.line_cells == 0 {
            return positions(key, self.k, self.cells.len() as u64);
        }
        let mut probes = key.probes();
        let line = probes.next_below(self.cells.len() as u64 / self.line_cells);
        let mut found = Vec::new();
        while found.len() < self.k as usize {
            let word = probes.next_bits();
            let parts = [48, 32, 16, 0].map(|shift| word >> shift & 0xFFFF);
            found
                .extend(parts.map(|part| line * self.line_cells + part * self.line_cells / 65_536));
        }
        found.truncate(self.k as usize);
        found.into_iter().map(|at| at as usize).collect()
    }

    fn is_in_window(&self, set: u64) -> bool {
        self.now - set <= self.steps.age_limit
    }
}

impl Oracle for Timers {
    fn observe(&mut self, key: Fingerprint, draws: Generator) -> Verdict {
        self.observe_at(key, 0, draws)
    }

    fn observe_at(&mut self, key: Fingerprint, tick: u32, _: Generator) -> Verdict {
        self.now = self.steps.at(tick);
        let positions = self.positions(key);
        let values: Vec<Option<u64>> = positions.iter().map(|&at| self.cells[at]).collect();
        let all = (values.iter()).all(|set| set.is_some_and(|set| self.is_in_window(set)));
        let count = |one: &Option<u64>| values.iter().filter(|other| *other == one).count();
        let most = values.iter().map(count).max().unwrap_or(0);
        let seen = all && most >= self.equal;
        if !seen {
            for at in positions {
                self.cells[at] = Some(self.now);
            }
        }
        self.steps.count(verdict(seen))
    }

    fn occupied(&self) -> u64 {
        self.cells.iter().flatten().count() as u64
    }

    fn occupied_range(&self) -> RangeInclusive<u64> {
        let set = self.cells.iter().flatten();
        let in_window = set.filter(|&&set| self.is_in_window(set)).count() as u64;
        in_window..=self.occupied()
    }
}

/// Cache lines of fingerprints with steps. Nothing is removed that has expired, so a line may be
/// longer here; the keys that have not expired are the same.
pub struct Stamped {
    steps: Steps,
    now: u64,
    bits: u64,
    entries: usize,
    /// Pairs of step and fingerprint.
    lines: Vec<Vec<(u64, u64)>>,
}

impl Stamped {
    pub fn new(spec: &FilterSpec, memory_bits: u64) -> Self {
        let steps = Steps::new(spec);
        let bits = Parameters(spec).number("bits");
        Stamped {
            now: 0,
            bits,
            entries: 8 * (64 / (bits + stamp_bits(steps.age_limit))) as usize,
            lines: vec![Vec::new(); (memory_bits / CACHE_LINE_BITS) as usize],
            steps,
        }
    }

    fn live(&self) -> u64 {
        let oldest = self.now.saturating_sub(self.steps.age_limit);
        let entries = self.lines.iter().flatten();
        entries.filter(|(step, _)| *step >= oldest).count() as u64
    }
}

impl Oracle for Stamped {
    fn observe(&mut self, key: Fingerprint, draws: Generator) -> Verdict {
        self.observe_at(key, 0, draws)
    }

    fn observe_at(&mut self, key: Fingerprint, tick: u32, _: Generator) -> Verdict {
        self.now = self.steps.at(tick);
        let (now, limit) = (self.now, self.steps.age_limit);
        let mut probes = key.probes();
        let line = probes.next_below(self.lines.len() as u64) as usize;
        let fingerprint = probes.next_bits() >> (64 - self.bits);
        let line = &mut self.lines[line];
        line.retain(|(step, _)| now - step <= limit);
        let seen = line.iter().any(|(_, held)| *held == fingerprint);
        if !seen {
            if line.len() == self.entries {
                // The oldest; of several, the one with the largest fingerprint.
                let rank = |&i: &usize| (now - line[i].0, line[i].1);
                let oldest = (0..line.len()).max_by_key(rank).expect("a full line");
                line.remove(oldest);
            }
            line.push((now, fingerprint));
        }
        self.steps.count(verdict(seen))
    }

    fn occupied(&self) -> u64 {
        self.live()
    }

    /// Entries that have expired may still be there.
    fn occupied_range(&self) -> RangeInclusive<u64> {
        self.live()..=(self.lines.len() * self.entries) as u64
    }
}

/// The age-partitioned Bloom filter: a set of bits for each step in which a slice began, kept for
/// ever.
pub struct AgePartitioned {
    steps: Steps,
    now: u64,
    k: u64,
    /// The number of slices in the region: one more than in use.
    slices: u64,
    slice_bits: u64,
    /// By the step of their beginning, plus the number of slices, because the first ones began
    /// before step 0.
    bits: HashMap<u64, BTreeSet<u64>>,
}

impl AgePartitioned {
    pub fn new(spec: &FilterSpec, memory_bits: u64) -> Self {
        let steps = Steps::new(spec);
        let k = Parameters(spec).number("k");
        let slices = k + steps.age_limit + 1;
        AgePartitioned {
            steps,
            now: 0,
            k,
            slices,
            slice_bits: memory_bits / 8 / slices * 8,
            bits: HashMap::new(),
        }
    }

    /// Returns the beginnings of the slices in use.
    fn in_use(&self) -> RangeInclusive<u64> {
        let newest = self.now + self.slices;
        newest + 2 - self.slices..=newest
    }
}

impl Oracle for AgePartitioned {
    fn observe(&mut self, key: Fingerprint, draws: Generator) -> Verdict {
        self.observe_at(key, 0, draws)
    }

    fn observe_at(&mut self, key: Fingerprint, tick: u32, _: Generator) -> Verdict {
        self.now = self.steps.at(tick);
        let positions = positions(key, self.slices, self.slice_bits);
        let position = |began: u64| positions[(began % self.slices) as usize] as u64;
        let is_set = |began: &u64| {
            let slice = self.bits.get(began);
            slice.is_some_and(|slice| slice.contains(&position(*began)))
        };
        let beginnings: Vec<u64> = self.in_use().collect();
        let runs = beginnings.windows(self.k as usize);
        let seen = runs.into_iter().any(|run| run.iter().all(is_set));
        if !seen {
            for age in 0..self.k {
                let began = self.now + self.slices - age;
                self.bits.entry(began).or_default().insert(position(began));
            }
        }
        self.steps.count(verdict(seen))
    }

    fn occupied(&self) -> u64 {
        let in_use = self.in_use().filter_map(|began| self.bits.get(&began));
        in_use.map(|slice| slice.len() as u64).sum()
    }

    /// The retired slice may still have bits, and so may others if all keys since were Seen.
    fn occupied_range(&self) -> RangeInclusive<u64> {
        self.occupied()..=self.slices * self.slice_bits
    }
}
