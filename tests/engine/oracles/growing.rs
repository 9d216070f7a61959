//! Oracles of the growing filter: a set of bits, or a list of steps, for each part. Thresholds are
//! computed anew, by the formulas in their simplest form.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use dedupstore::fingerprint::reduce;
use dedupstore::rng::Generator;
use dedupstore::{FilterSpec, Fingerprint, Verdict};

use super::windows::{Steps, stamp_bits};
use super::{Oracle, Parameters, verdict};

const CACHE_LINE_BITS: u64 = 512;
const DIRECTORY_BITS: u64 = 16 * 16 * 8;

pub fn oracle(spec: &FilterSpec, memory_bits: u64) -> Box<dyn Oracle> {
    match Parameters(spec).number("span") {
        0 => Box::new(Bits::new(&Parameters(spec), memory_bits)),
        _ => Box::new(Timers::new(spec, memory_bits)),
    }
}

/// When a part is full.
struct Full {
    /// The k of the spec; 0 if the best one is to be chosen.
    k: u64,
    by_density: bool,
    tighten: bool,
    /// The number of cells of a cache line; 0 if a key's cells are anywhere in the part.
    line_cells: u64,
}

impl Full {
    fn new(spec: &Parameters, line_cells: u64) -> Self {
        Full {
            k: spec.number("k"),
            by_density: spec.is("by", "density"),
            tighten: spec.is("tighten", "on"),
            line_cells,
        }
    }

    /// Returns the k with which a part of so many cells takes the most keys.
    fn best_k(&self, cells: u64, rate: f64) -> u64 {
        if self.k > 0 {
            return self.k;
        }
        let best = (1..=24).max_by(|&a, &b| {
            let keys = |k| self.keys(k, cells, rate);
            keys(a).total_cmp(&keys(b))
        });
        best.expect("some k")
    }

    /// Returns the k of each level. It does not grow from level to level.
    fn ks(&self, sizes: &[(u64, f64)], slices: u64, unit: u64) -> Vec<u64> {
        let level = |parts: &[(u64, f64)]| {
            let rows: u64 = parts.iter().map(|(rows, _)| rows).sum();
            self.best_k(rows.div_ceil(slices) * unit, parts[0].1)
        };
        let best: Vec<u64> = sizes.chunks(slices as usize).map(level).collect();
        let levels = 0..best.len();
        levels
            .map(|level| *best[level..].iter().max().expect("a level"))
            .collect()
    }

    /// Returns the false positive rate with so many keys.
    fn rate(&self, k: u64, cells: u64, keys: f64) -> f64 {
        let (k, cells) = (k as f64, cells as f64);
        let line = self.line_cells as f64;
        if self.line_cells == 0 || cells <= line {
            return (1.0 - (1.0 - 1.0 / cells).powf(k * keys)).powf(k);
        }
        let mean = keys * line / cells;
        let (mut probability, mut rate) = ((-mean).exp(), 0.0);
        for inside in 0..(mean + 12.0 * mean.sqrt() + 20.0) as u32 {
            let load = 1.0 - (1.0 - 1.0 / line).powf(k * f64::from(inside));
            rate += probability * load.powf(k);
            probability *= mean / f64::from(inside + 1);
        }
        rate
    }

    /// Returns the number of keys with which the rate is reached.
    fn keys(&self, k: u64, cells: u64, rate: f64) -> f64 {
        let one_row = {
            let (k, cells) = (k as f64, cells as f64);
            -(cells / k) * (1.0 - rate.powf(1.0 / k)).ln()
        };
        if self.line_cells == 0 || cells <= self.line_cells {
            return one_row;
        }
        let (mut low, mut high) = (0.0, one_row);
        for _ in 0..50 {
            let middle = (low + high) / 2.0;
            match self.rate(k, cells, middle) < rate {
                true => low = middle,
                false => high = middle,
            }
        }
        low
    }

    fn threshold(&self, k: u64, cells: u64, rate: f64) -> u64 {
        let keys = self.keys(k, cells, rate);
        let (k, all) = (k as f64, cells as f64);
        let exact = match (self.by_density, self.line_cells) {
            (false, _) => keys,
            (true, line) if line == 0 || cells <= line => {
                all * (1.0 - (1.0 - 1.0 / all).powf(k * keys))
            }
            (true, line) => {
                let line = line as f64;
                let share = 1.0 - (1.0 - 1.0 / line).powf(k);
                all * (1.0 - (-keys * line / all * share).exp())
            }
        };
        let threshold = match (self.tighten, self.by_density) {
            (false, _) => exact.ceil(),
            (true, true) => exact - k,
            (true, false) => exact,
        };
        (threshold as u64).max(1)
    }
}

struct BitPart {
    /// The number of cache lines, or of bits.
    rows: u64,
    k: u64,
    threshold: u64,
    bits: BTreeSet<u64>,
}

/// Parts of bits.
struct Bits {
    full: Full,
    slices_log2: u32,
    parts: Vec<BitPart>,
    /// Of each slice the level of the newest part, and its count.
    newest: Vec<(usize, u64)>,
}

impl Bits {
    fn new(spec: &Parameters, memory_bits: u64) -> Self {
        let line_bits = match spec.is("layout", "blocked") {
            true => CACHE_LINE_BITS,
            false => 0,
        };
        let full = Full::new(spec, line_bits);
        let unit = line_bits.max(1);
        let rows = memory_bits / unit;
        let wanted = spec.number("fpr") as f64 / 1e6;
        let (sizes, slices) = match full.tighten {
            true => doubling(&full, spec.number("part"), rows, unit, wanted),
            false => (equal(spec.number("part"), rows, unit, wanted, 32, false), 1),
        };
        let ks = full.ks(&sizes, slices, unit);
        let part = |(at, &(rows, rate)): (usize, &(u64, f64))| {
            let k = ks[at / slices as usize];
            BitPart {
                rows,
                k,
                threshold: full.threshold(k, rows * unit, rate),
                bits: BTreeSet::new(),
            }
        };
        Bits {
            parts: sizes.iter().enumerate().map(part).collect(),
            full,
            slices_log2: slices.ilog2(),
            newest: vec![(0, 0); slices as usize],
        }
    }

    fn slice_of(&self, key: Fingerprint) -> usize {
        (0..self.newest.len() as u64)
            .rfind(|&slice| key.0 as u128 >= u128::from(slice) << (64 - self.slices_log2))
            .expect("a slice") as usize
    }

    fn positions(&self, key: Fingerprint, part: &BitPart) -> Vec<u64> {
        let mut probes = key.probes();
        let uniform = probes.next_bits() << self.slices_log2;
        let first = reduce(uniform, part.rows);
        if self.full.line_cells == 0 {
            let others = (1..part.k).map(|_| probes.next_below(part.rows));
            return [first].into_iter().chain(others).collect();
        }
        let mut found = Vec::new();
        while (found.len() as u64) < part.k {
            let word = probes.next_bits();
            found.extend((0..7).map(|i| first * 512 + (word >> (55 - 9 * i) & 511)));
        }
        found.truncate(part.k as usize);
        found
    }
}

/// Returns size and rate of equal parts.
fn equal(part: u64, rows: u64, unit: u64, rate: f64, most: u64, tighten: bool) -> Vec<(u64, f64)> {
    let wanted = if part == 0 { rows / 8 } else { part / unit };
    let size = wanted.max(1).min(rows);
    let count = (rows / size).min(most);
    let rate = if tighten { rate / count as f64 } else { rate };
    vec![(size, rate); count as usize]
}

/// Returns size and rate of parts that double, and the number of slices.
fn doubling(full: &Full, part: u64, rows: u64, unit: u64, rate: f64) -> (Vec<(u64, f64)>, u64) {
    let first = (if part == 0 { 524_288 } else { part } / unit)
        .max(1)
        .min(rows);
    // As many levels as fit into half of the reserve, and one more.
    let fits = |levels: &u64| first as u128 * ((1 << levels) - 1) <= (rows / 2).into();
    let lower = (1..32).rfind(fits).unwrap_or(0);
    let first = if lower == 0 { rows } else { first };
    let slices = [16, 8, 4, 2, 1];
    let slices = slices
        .into_iter()
        .find(|slices| *slices == 1 || first * unit / slices >= 4096);
    let slices = slices.expect("one slice is enough");
    let weight = |level: u64| 1.25f64.powf(level as f64);
    let weights: f64 = (0..=lower).map(weight).sum();
    let rate = |level: u64| rate * weight(level) / weights;
    let below = lower * slices;
    let mut sizes: Vec<(u64, f64)> = Vec::new();
    let before = |part: u64| {
        let size = |part: u64| 2f64.powf(part as f64 / slices as f64) - 1.0;
        match part == below {
            true => rows / 2,
            false => ((rows / 2) as f64 * size(part) / size(below)) as u64,
        }
    };
    for part in 0..below {
        sizes.push((before(part + 1) - before(part), rate(part / slices)));
    }
    let ks = full.ks(&sizes, slices, unit);
    let mut keys = vec![0.0; slices as usize];
    for (part, (size, rate)) in sizes.iter().enumerate() {
        let k = ks[part / slices as usize];
        keys[part % slices as usize] += full.keys(k, size * unit, *rate);
    }
    let used = if below == 0 { 0 } else { rows / 2 };
    let average = (rows - used).div_ceil(slices) * unit;
    let k = full.best_k(average, rate(lower));
    let per_row = full.keys(k, average, rate(lower)) * unit as f64 / average as f64;
    let all = (rows - used) as f64 * per_row + keys.iter().sum::<f64>();
    let (mut end, mut at) = (used as f64, used);
    for slice in 0..slices {
        end += (all / slices as f64 - keys[slice as usize]) / per_row;
        let next = match below {
            0 => rows * (slice + 1) / slices,
            _ if slice + 1 == slices => rows,
            _ => end as u64,
        };
        sizes.push((next - at, rate(lower)));
        at = next;
    }
    (sizes, slices)
}

impl Oracle for Bits {
    fn observe(&mut self, key: Fingerprint, _: Generator) -> Verdict {
        let slice = self.slice_of(key);
        let slices = self.newest.len();
        let (newest, _) = self.newest[slice];
        let seen = (0..=newest).any(|level| {
            let part = &self.parts[level * slices + slice];
            self.positions(key, part)
                .iter()
                .all(|bit| part.bits.contains(bit))
        });
        if !seen {
            let (level, count) = &mut self.newest[slice];
            let threshold = self.parts[*level * slices + slice].threshold;
            if *count >= threshold && (*level + 1) * slices < self.parts.len() {
                (*level, *count) = (*level + 1, 0);
            }
            let at = *level * slices + slice;
            let positions = self.positions(key, &self.parts[at]);
            let bits = &mut self.parts[at].bits;
            let before = bits.len();
            bits.extend(positions);
            let filled = (bits.len() - before) as u64;
            self.newest[slice].1 += if self.full.by_density { filled } else { 1 };
        }
        verdict(seen)
    }

    fn occupied(&self) -> u64 {
        self.parts.iter().map(|part| part.bits.len() as u64).sum()
    }
}

/// A part of timers.
#[derive(Clone)]
struct Part {
    cells: Vec<Option<u64>>,
    inserted: u64,
    last: Option<u64>,
}

/// Parts of timers, each with the step of its last insertion. All parts are always tested. Cells
/// are emptied in the same order as in the filter, because growth by density depends on it.
struct Timers {
    steps: Steps,
    full: Full,
    threshold: u64,
    parts: Vec<Part>,
    newest: usize,
    base: u64,
    /// The groups of cells that are still to be swept.
    due: (u64, u64),
    slack: u64,
    group_cells: u64,
    now: u64,
}

impl Timers {
    fn new(spec: &FilterSpec, memory_bits: u64) -> Self {
        let steps = Steps::new(spec);
        let width = stamp_bits(steps.age_limit);
        let spec = Parameters(spec);
        let lines = (memory_bits - DIRECTORY_BITS) / CACHE_LINE_BITS;
        let is_blocked = spec.is("layout", "blocked");
        let line_cells = 8 * (64 / width);
        let (rows, unit) = match is_blocked {
            true => (lines, line_cells),
            false => (lines * (CACHE_LINE_BITS / width), 1),
        };
        let mut full = Full::new(&spec, if is_blocked { line_cells } else { 0 });
        let rate = spec.number("fpr") as f64 / 1e6;
        let sizes = equal(spec.number("part"), rows, unit, rate, 16, full.tighten);
        let (size, rate) = sizes[0];
        full.k = full.best_k(size * unit, rate);
        let lines_per_part = match is_blocked {
            true => size,
            false => (size * width).div_ceil(CACHE_LINE_BITS),
        };
        let part = Part {
            cells: vec![None; (size * unit) as usize],
            inserted: 0,
            last: None,
        };
        Timers {
            threshold: full.threshold(full.k, size * unit, rate),
            full,
            parts: vec![part; sizes.len().min((lines / lines_per_part) as usize)],
            newest: 0,
            base: 0,
            due: (0, 0),
            slack: (1 << width) - 2 - steps.age_limit,
            group_cells: if is_blocked { line_cells } else { 64 },
            now: 0,
            steps,
        }
    }

    fn positions(&self, key: Fingerprint) -> Vec<usize> {
        let cells = self.parts[0].cells.len() as u64;
        let (k, line) = (self.full.k, self.full.line_cells);
        if line == 0 {
            return super::positions(key, k, cells);
        }
        let mut probes = key.probes();
        let first = probes.next_below(cells / line) * line;
        let mut found = Vec::new();
        while found.len() < k as usize {
            let word = probes.next_bits();
            let parts = [48, 32, 16, 0].map(|shift| word >> shift & 0xFFFF);
            found.extend(parts.map(|part| (first + part * line / 65_536) as usize));
        }
        found.truncate(k as usize);
        found
    }

    /// Empties the cells of some groups that are not in the window of a step.
    fn sweep(&mut self, groups: (u64, u64), step: u64) {
        let per_part = (self.parts[0].cells.len() as u64).div_ceil(self.group_cells);
        let limit = self.steps.age_limit;
        for group in groups.0..groups.1 {
            let part = &mut self.parts[(group / per_part) as usize];
            let first = group % per_part * self.group_cells;
            let cells = part.cells.iter_mut().skip(first as usize);
            for cell in cells.take(self.group_cells as usize) {
                if cell.is_some_and(|set| step - set > limit) {
                    *cell = None;
                }
            }
        }
    }

    fn advance(&mut self) {
        let per_part = (self.parts[0].cells.len() as u64).div_ceil(self.group_cells);
        let groups = per_part * self.parts.len() as u64;
        let (next, end) = self.due;
        if self.base == self.now {
            let until = (next + 2).min(end);
            self.sweep((next, until), self.now);
            self.due.0 = until;
        } else if self.now - self.base >= self.slack {
            self.sweep((0, groups), self.now);
            self.due = (0, 0);
        } else {
            for step in self.base..self.now {
                self.sweep(self.due, step);
                let turn = (step + 1) % self.slack;
                self.due = (turn * groups / self.slack, (turn + 1) * groups / self.slack);
            }
        }
        self.base = self.now;
    }

    fn is_open(&self, part: &Part) -> bool {
        let limit = self.steps.age_limit;
        part.last.is_some_and(|last| self.now - last <= limit)
    }

    fn is_full(&self, part: &Part, inserted: u64) -> bool {
        match self.full.by_density {
            true => part.cells.iter().flatten().count() as u64 >= self.threshold,
            false => inserted >= self.threshold,
        }
    }
}

impl Oracle for Timers {
    fn observe(&mut self, key: Fingerprint, draws: Generator) -> Verdict {
        self.observe_at(key, 0, draws)
    }

    fn observe_at(&mut self, key: Fingerprint, tick: u32, _: Generator) -> Verdict {
        self.now = self.steps.at(tick);
        let positions = self.positions(key);
        let (now, limit) = (self.now, self.steps.age_limit);
        let is_set = |part: &Part, at: usize| part.cells[at].is_some_and(|set| now - set <= limit);
        let holds = |part: &Part| positions.iter().all(|&at| is_set(part, at));
        let seen = self.parts.iter().any(holds);
        if !seen {
            self.advance();
            let newest = &self.parts[self.newest];
            if !self.is_open(newest) || self.is_full(newest, newest.inserted) {
                let is_free = |part: &Part| !self.is_open(part) && !self.is_full(part, 0);
                if let Some(free) = self.parts.iter().position(is_free) {
                    self.newest = free;
                    self.parts[free].inserted = 0;
                }
            }
            let part = &mut self.parts[self.newest];
            part.inserted += 1;
            part.last = Some(now);
            for at in positions {
                part.cells[at] = Some(now);
            }
        }
        self.steps.count(verdict(seen))
    }

    fn occupied(&self) -> u64 {
        let cells = self.parts.iter().flat_map(|part| &part.cells);
        cells.flatten().count() as u64
    }

    fn occupied_range(&self) -> RangeInclusive<u64> {
        self.occupied()..=self.occupied()
    }
}
