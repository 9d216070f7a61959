//! The Bloom filter of timers: each key has k cells that hold the step in which they were set.
//!
//! **Guarantee.** A key that was reported as New is reported as Seen until its span has passed,
//! always: there are no false negatives inside the window. It is forgotten between the span and
//! one step later. The false positive rate is that of a Bloom filter that holds the keys of one
//! window. With `equal` above 1 there are fewer false positives, and false negatives too.
//!
//! **When to use it.** Keys must come again after some time, as in a recrawl every seven days,
//! and none may come again earlier. The cells take four to five bits each; if a few false
//! negatives are acceptable, other filters with a window need less memory.
//!
//! **How it works.** With k = 2 and a window of three steps: in step 7, key `a` finds its cells
//! 2 and 5 with the values 0 and 6. One of them is empty, so `a` is New, and both become 7. In
//! step 9 both are at most two steps old, so `a` is Seen; nothing changes. In step 10 they are
//! three steps old, so `a` is New again. Only a key that is New sets its cells, so the window of
//! a key runs from the last time that it was New.
//!
//! **Paper.** Koloniari, Ntarmos, Pitoura, Souravlias, "One is Enough: Distributed Filtering for
//! Duplicate Elimination", 2011, section 4, where the cells are called timers.
//!
//! **Departures.** The paper decrements every timer at every tick. Here a cell holds the step
//! modulo a small number, and cells that have left the window are emptied part by part, before
//! their value could be mistaken for a newer one. The paper's timers need ⌈log2(w + 1)⌉ bits for
//! a window of w ticks, not log2 w; so do these. A late observation counts at the present step: a
//! cell is never set back, which the paper omits.

use super::citation::Citation;
use super::descriptor::{Descriptor, Needs, Origin, PossibleErrors};
use super::drawing::Drawing;
use super::evidence::Requirement;
use super::parameter::Parameter;
use super::stamp_cells::StampCells;
use super::stamps::{StampWindow, Stamps, most_equal};
use super::window_clock::{ClockKind, WindowClock};
use super::window_registers::WindowRegisters;
use super::window_union::Alignment;
use super::{
    BuildError, CellLayout, Evidence, Filter, FilterSpec, Observation, Registers, Rows, Verdict,
};
use crate::fingerprint::Fingerprint;
use crate::region::Region;
use crate::rng::Generator;
use crate::simd::{Vectors, match_vectors};

/// The geometry of the filter.
#[derive(Clone, Debug)]
pub struct Window {
    clock: WindowClock,
    cells: StampCells,
    /// How many of the k cells must have the same value.
    equal: u32,
    vectors: Vectors,
}

impl Window {
    /// Returns the number of cells per key.
    pub(crate) fn k(&self) -> u32 {
        self.cells.k
    }

    /// Returns the false positive rate if so many keys are in the window.
    pub(crate) fn rate_of(&self, keys: f64) -> f64 {
        self.cells.false_positive_rate(keys)
    }

    #[inline(always)]
    fn observe_in<R: Region + ?Sized>(
        &self,
        cells: StampCells,
        region: &mut R,
        registers: &mut Registers,
        fingerprint: Fingerprint,
    ) -> Verdict {
        let now = self.clock.now(registers);
        let window = cells.stamps.window_at(registers, now);
        if cells.are_in_window(region.bytes(), window, fingerprint)
            && self.has_equal(region.bytes(), fingerprint)
        {
            return Verdict::Seen;
        }
        cells.advance(region, registers, now);
        cells.stamp(region, registers, fingerprint);
        WindowRegisters::count_delivery(registers);
        Verdict::New
    }

    /// Whether enough of the key's cells have the same value.
    #[inline(always)]
    fn has_equal(&self, region: &[u8], fingerprint: Fingerprint) -> bool {
        self.equal < 2 || self.most_equal(region, fingerprint) >= self.equal
    }

    fn most_equal(&self, region: &[u8], fingerprint: Fingerprint) -> u32 {
        let mut values = [0; MAX_K as usize];
        let count = self.cells.values(region, fingerprint, &mut values);
        most_equal(&values[..count])
    }

    fn window_at(&self, registers: &Registers) -> StampWindow {
        (self.cells.stamps).window_at(registers, self.clock.now(registers))
    }
}

const MAX_K: u64 = 32;
/// The width of a timer if a span has as many steps as by default.
const USUAL_WIDTH_BITS: u32 = 4;

impl Filter for Window {
    const DESCRIPTOR: Descriptor = Descriptor {
        name: "window",
        title: "Bloom filter of timers",
        summary: "Keeps in k cells for each key when the key was last New, and forgets it after a \
                  span of time.",
        promise: "A key is reported as Seen until its span has passed since it was last New, and \
                  is forgotten within one step after that; there are no false negatives in \
                  between, unless `equal` is used.",
        choose_when: "Keys must come again after a time, and never before it. `equal` needs fine \
                      steps: with a hundred keys per step it changes nothing.",
        errors: PossibleErrors::FalsePositives,
        needs: Needs {
            tick: true,
            importance: false,
        },
        origin: Origin::Literature,
        source: Citation::KOLONIARI_2011,
        advised_because: "timers never forget a key within its window",
        drawing: Drawing {
            before: &["3.7..6.4"],
            after: &["3.8..8.4"],
            caption: "Each cell holds the step in which it was last set. A new key sets its cells \
                      to the present step, here 8; cells older than the window count as empty.",
        },
        parameters: &[
            Parameter::integer("k", "cells for each key", 1..=MAX_K, 4),
            WindowClock::SPAN,
            WindowClock::STEP,
            WindowClock::CLOCK,
            Parameter::choice(
                "layout",
                "whether the k cells are anywhere, or in one cache line, which is faster",
                &["shared", "blocked"],
            ),
            Parameter::integer(
                "equal",
                "how many of the k cells must be equal; more than 1 trades false positives for \
                 false negatives",
                1..=MAX_K,
                1,
            ),
        ],
    };

    const MERGES: bool = true;

    fn build(spec: &FilterSpec, memory_bits: u64) -> Result<Self, BuildError> {
        let clock = WindowClock::of(spec)?;
        let stamps = Stamps::new(spec, &clock)?;
        let is_blocked = spec.is_choice("layout", "blocked");
        let equal = spec.integer("equal");
        if equal > spec.integer("k") {
            return Err(BuildError::Contradiction {
                filter: spec.to_string(),
                reason: "`equal` must be at most `k`",
            });
        }
        Ok(Window {
            clock,
            cells: StampCells::new(spec, memory_bits, stamps, is_blocked)?,
            equal: equal as u32,
            vectors: Vectors::Portable,
        })
    }

    #[inline(always)]
    fn usual(&self) -> [Option<Self>; 2] {
        [4, 6].map(|k| {
            let cells = self.cells.with_constants(k, USUAL_WIDTH_BITS)?;
            (self.equal < 2).then_some(Window {
                clock: self.clock,
                cells,
                equal: 1,
                vectors: self.vectors,
            })
        })
    }

    #[inline(always)]
    fn uses_vectors(&self) -> bool {
        self.equal < 2 && self.cells.timer_lines().is_some()
    }

    #[inline(always)]
    fn with_vectors(&self, vectors: Vectors) -> Self {
        Window { vectors, ..*self }
    }

    fn accepts(&self, registers: &Registers) -> bool {
        let now = self.clock.now(registers);
        let values = self.cells.stamps.max_value();
        WindowRegisters::are_possible(registers, now, values, self.cells.groups())
    }

    fn region_bytes(&self) -> u64 {
        self.cells.region_bytes()
    }

    fn cells(&self) -> u64 {
        self.cells.count()
    }

    fn recount(&self, region: &[u8]) -> u64 {
        self.cells.recount(region)
    }

    fn false_positive_rate(&self, registers: &Registers) -> f64 {
        let now = self.clock.now(registers);
        let delivered = WindowRegisters::in_window(registers, self.clock.age_limit(), now);
        self.rate_of(self.cells.keys_offered(delivered))
    }

    fn possible_errors(&self) -> PossibleErrors {
        match self.equal {
            0..=1 => PossibleErrors::FalsePositives,
            _ => PossibleErrors::Both,
        }
    }

    fn window(&self) -> Option<&WindowClock> {
        Some(&self.clock)
    }

    fn cache_lines_touched(&self) -> u32 {
        match self.cells.is_blocked() {
            true => 1,
            false => self.cells.k,
        }
    }

    fn seen_leaves_state_unchanged(&self) -> bool {
        true
    }

    fn row_layout(&self) -> Option<Rows> {
        let by_the_clock = self.clock.kind() == ClockKind::Seconds;
        self.cells.rows().filter(|_| by_the_clock && self.equal < 2)
    }

    /// Once the present step is the base of all stamps, observations only stamp cells. Sweeping
    /// cells that have left the window changes no verdict and no stamp of the present step.
    fn is_row_local(&self, registers: &Registers) -> bool {
        WindowRegisters::base(registers) == self.clock.now(registers)
    }

    #[inline(always)]
    fn observe<R: Region + ?Sized>(
        &self,
        region: &mut R,
        registers: &mut Registers,
        _: Generator,
        observation: Observation,
    ) -> Verdict {
        let fingerprint = observation.fingerprint;
        match_vectors!(
            self.vectors,
            Portable => {},
            vectors => if let Some(lines) = self.cells.timer_lines() {
                let now = self.clock.now(registers);
                return lines.observe(vectors, region, registers, now, fingerprint);
            },
        );
        self.observe_in(self.cells, region, registers, fingerprint)
    }

    #[inline(always)]
    fn observe_in_rows<R: Region + ?Sized>(
        &self,
        region: &mut R,
        first_row: u64,
        registers: &mut Registers,
        _: Generator,
        observation: Observation,
    ) -> Verdict {
        let cells = self.cells.starting_at(first_row);
        match_vectors!(
            self.vectors,
            Portable => {},
            vectors => if let Some(lines) = cells.timer_lines() {
                let (now, fingerprint) = (self.clock.now(registers), observation.fingerprint);
                return lines.observe_in_rows(vectors, region, registers, now, fingerprint);
            },
        );
        let window = cells.stamps.window_at(registers, self.clock.now(registers));
        if cells.are_in_window(region.bytes(), window, observation.fingerprint) {
            return Verdict::Seen;
        }
        cells.stamp(region, registers, observation.fingerprint);
        WindowRegisters::count_delivery(registers);
        Verdict::New
    }

    fn after_rows(&self, region: &mut [u8], registers: &mut Registers, new: u64) {
        self.cells
            .sweep_for(region, registers, self.clock.now(registers), new);
    }

    fn contains(&self, region: &[u8], registers: &Registers, fingerprint: Fingerprint) -> Verdict {
        let window = self.window_at(registers);
        let is_seen = self.cells.are_in_window(region, window, fingerprint)
            && self.has_equal(region, fingerprint);
        Verdict::seen_if(is_seen)
    }

    fn cell_layout(&self) -> CellLayout {
        CellLayout {
            cell: "timer",
            content: "step",
            row: match self.cells.is_blocked() {
                true => "cache line",
                false => "filter",
            },
            row_cells: self.cells.row_cells(),
            max_value: self.cells.stamps.max_value(),
            loss: "set again or left behind by the window",
        }
    }

    fn cell(&self, region: &[u8], index: u64) -> u64 {
        self.cells.get(region, index)
    }

    fn evidence(&self, region: &[u8], registers: &Registers, fingerprint: Fingerprint) -> Evidence {
        let indices = self.cells.indices(fingerprint).into_iter();
        let cells = indices.map(|index| self.cells.evidence_cell(region, index));
        Evidence {
            row: self.cells.row_of(fingerprint),
            required: Requirement::InWindow(self.window_at(registers)),
            equal: self.equal,
            links: Vec::new(),
            alternatives: vec![cells.collect()],
        }
    }

    /// Moves the timers of both filters to one clock and takes the later one of each cell.
    fn merge(
        &self,
        region: &mut [u8],
        registers: &mut Registers,
        other: &[u8],
        other_registers: &Registers,
    ) -> Result<(), &'static str> {
        if self.equal > 1 {
            return Err(
                "with `equal` above 1, the later timers of one filter would make the timers \
                        of the other's keys unequal",
            );
        }
        let alignment = Alignment::of(&self.clock, registers, other_registers);
        self.cells
            .merge(region, registers, other, other_registers, alignment);
        Ok(())
    }

    #[inline(always)]
    fn prefetch(&self, region: &[u8], _: Generator, fingerprint: Fingerprint) {
        self.cells.prefetch(region, fingerprint);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;
    use crate::fingerprint::KeyHasher;
    use crate::{SeenSet, SeenSetBuilder};

    /// Counts (fresh keys, fresh keys reported as Seen, repeats, repeats reported as New) of a
    /// uniform stream. A key is a repeat if it was reported as New within the span.
    fn errors(filter: &str, cells: u64, width: u64, span: u64) -> [u64; 4] {
        let spec: FilterSpec = filter.parse().expect("a filter");
        let mut set: SeenSet = SeenSetBuilder::new(&spec)
            .memory_bits(cells * width)
            .seed(1)
            .build()
            .expect("enough memory");
        assert_eq!(set.filter().cells(), cells);
        let hasher = KeyHasher::new(9);
        let mut delivered: HashMap<u64, u64> = HashMap::new();
        let mut counts = [0; 4];
        for i in 0..100_000u64 {
            let key = hasher.fingerprint(&i.to_le_bytes()).0 % 16_850;
            let verdict = set.observe(key.to_le_bytes());
            let is_repeat = delivered.get(&key).is_some_and(|at| i - at < span);
            match (is_repeat, verdict) {
                (false, Verdict::New) => counts[0] += 1,
                (false, Verdict::Seen) => {
                    counts[0] += 1;
                    counts[1] += 1;
                }
                (true, Verdict::Seen) => counts[2] += 1,
                (true, Verdict::New) => {
                    counts[2] += 1;
                    counts[3] += 1;
                }
            }
            if verdict == Verdict::New {
                delivered.insert(key, i);
            }
        }
        assert_eq!(
            set.registers().occupied(),
            set.filter().recount(set.region())
        );
        counts
    }

    /// The rates of the paper's experiments, within three standard errors.
    #[test]
    fn error_rates_are_those_of_the_paper_s_setting() {
        let rate = |errors: u64, of: u64| errors as f64 / of as f64;
        let clock = "span=1000,step=1,clock=count";
        let [fresh, dropped, _, missed] = errors(&format!("window:k=4,{clock}"), 8490, 10, 1000);
        assert!((rate(dropped, fresh) - 0.0164).abs() < 0.0018);
        assert_eq!(missed, 0);
        let equal = format!("window:k=8,{clock},equal=2");
        let [fresh, dropped, repeats, missed] = errors(&equal, 6000, 10, 1000);
        assert!((rate(dropped, fresh) - 0.0024).abs() < 0.0005);
        assert!((rate(missed, repeats) - 0.064).abs() < 0.010);
    }

    #[test]
    fn the_estimated_rate_is_the_measured_one() {
        for (filter, cells) in [
            ("window:k=4,span=1200,clock=count", 9000),
            ("window:k=4,span=1200,clock=count,layout=blocked", 8960),
            ("window:k=4,span=1000,clock=deliveries", 9000),
        ] {
            let spec: FilterSpec = filter.parse().expect("a filter");
            let builder = SeenSetBuilder::new(&spec).memory_bits(4 * cells);
            let mut set = builder.build().expect("enough memory");
            let (mut estimated, mut seen) = (0.0, 0.0);
            for key in 0..60_000u64 {
                estimated += set.false_positive_rate();
                seen += f64::from(u8::from(set.observe(key.to_le_bytes()).is_seen()));
            }
            assert!(
                (seen - estimated).abs() < 4.0 * seen.sqrt(),
                "{filter}: {seen}, {estimated}"
            );
        }
    }
}
