//! The importance-aware Bloom filter (IBF): counters that forget unimportant keys first.
//!
//! **Guarantee.** The more important a key is, the longer it is remembered: by its value if
//! `insert=importance`, by the choice of the cells to delete if `delete` looks at importance.
//! Neither error has an upper bound.
//!
//! **When to use it.** To compare with the paper. For a weighted stream, a filter that spends no
//! memory on an index errs less at equal size; see docs/IMPORTANCE.md.
//!
//! **How it works.** There are n cells with values from 0 to Max. A key is Seen if its K cells are
//! all above 0. Every observation, Seen or New, first deletes: it chooses P cells and lowers each
//! by one (`by=one`) or to 0 (`by=zero`). Then it sets the K cells of the key: to Max, or to the
//! importance of the key mapped to 0 … Max. With K = 2, P = 1, Max = 4 and `delete=min`: the cells
//! in use hold 4 4 2 and their keys had the importance 40, 35 and 9. The third is the least
//! important and becomes 1.
//!
//! | `delete` | the P cells |
//! |---|---|
//! | `random` | any cells, drawn one by one |
//! | `probabilistic` | any cells, with probabilities inversely proportional to their importance |
//! | `probabilistic-p` | the same, but P different cells among those above 0 |
//! | `probabilistic-val` | P different cells above 0, inversely proportional to their values |
//! | `min` | the P cells above 0 with the least importance |
//! | `min-priority` | P times the cell with the least importance + priority; each time its priority grows |
//!
//! The importance of a cell is that of the last key (`weight=current`) or the sum over all keys so
//! far (`weight=cumulative`), at most 65,535. Weights are whole numbers, 2^20 ÷ importance, so
//! that every target chooses the same cells. To choose by weight, units of 32,768 cells are drawn
//! until one is hit, and sums of weights lead to the cell in it
//! ([`weighted_index`](super::weighted_index)). The least cells stand in a list in the registers,
//! which is filled by [minima](super::minimum_index) of costs. Both take O(log n) at most.
//! [`importance_cells`](super::importance_cells) says what they cost in memory, all of which counts
//! as the filter's.
//!
//! **Paper.** Boraskar, "An Importance-Aware Bloom Filter for Set Membership Queries in Streaming
//! Data", 2010. Its Table 1 names six combinations IBF1 to IBF6: `ibf1` to `ibf6` here.
//!
//! **Departures.** Algorithms 5 to 7 print `i = i + 1` where an empty cell is chosen, which
//! deletes from fewer than P cells. We follow the text: exactly P cells above 0, while there are
//! so many. If a draw misses, or chooses a cell again, numbers derived from it are used, so that each
//! observation consumes P draws. Of equally important cells, `min` takes the first. An
//! importance of 0 counts as 1, and one above `top` as `top`.
//! Algorithm 2 overwrites a counter even if it holds more (`keep=new`); the paper's tables follow
//! from keeping the larger value (`keep=larger`).

use super::citation::Citation;
use super::descriptor::{Descriptor, Needs, Origin, PossibleErrors};
use super::drawing::Drawing;
use super::importance_cells::{ImportanceCells, Index, Scheme};
use super::least_list::LeastList;
use super::minimum_index::MinimumIndex;
use super::parameter::Parameter;
use super::weighted_choice::{Choice, MAX_CHOICES};
use super::weighted_index::WeightedIndex;
use super::{
    BuildError, CellLayout, Evidence, Filter, FilterSpec, Observation, Registers, Verdict,
};
use crate::fingerprint::{Fingerprint, reduce};
use crate::region::Region;
use crate::rng::Generator;

/// The largest P: the chosen cells are collected before any of them changes.
const MAX_P: usize = MAX_CHOICES;
/// P up to here is faster than more.
const USUAL_P: usize = 8;
/// For how many cells more than the next observation needs the list of the least is filled: their
/// memory then arrives before they are chosen.
const LISTED_AHEAD: usize = 16;

/// The geometry of an importance-aware Bloom filter.
#[derive(Clone, Debug)]
pub struct Ibf {
    cells: ImportanceCells,
    p: usize,
    inserts_importance: bool,
    resets_to_zero: bool,
    is_cumulative: bool,
    rounds_up: bool,
    keeps_larger: bool,
    priority: u32,
    top: u16,
}

impl Ibf {
    /// Returns K, P and Max if it is a stable Bloom filter: random counters are lowered by one, and
    /// importance has no influence.
    pub(crate) fn as_stable(&self) -> Option<(u32, usize, u32)> {
        let counters = &self.cells.counters;
        let is_stable = !self.needs().importance && !self.resets_to_zero;
        is_stable.then_some((counters.k, self.p, counters.max))
    }

    /// Returns the value that a key of this importance is inserted with.
    #[inline(always)]
    fn inserted_value(&self, importance: u16) -> u32 {
        let max = self.cells.counters.max;
        if !self.inserts_importance {
            return max;
        }
        let (scaled, top) = (u64::from(max) * u64::from(importance), u64::from(self.top));
        match self.rounds_up {
            true => scaled.div_ceil(top) as u32,
            false => (scaled / top) as u32,
        }
    }

    /// Sets the cells of a key.
    #[inline(always)]
    pub(super) fn insert<R: Region + ?Sized>(
        &self,
        region: &mut R,
        registers: &mut Registers,
        fingerprint: Fingerprint,
        importance: u16,
    ) {
        let importance = importance.clamp(1, self.top);
        let value = self.inserted_value(importance);
        for cell in self.cells.counters.positions(fingerprint) {
            let value = |old: u32| match self.keeps_larger {
                true => value.max(old),
                false => value,
            };
            let weight = |old: u16| match self.is_cumulative {
                true => old.saturating_add(importance),
                false => importance,
            };
            self.cells.set(region, registers, cell, value, weight);
        }
    }

    /// Deletes from P cells.
    #[inline(always)]
    fn delete<R: Region + ?Sized>(
        &self,
        region: &mut R,
        registers: &mut Registers,
        generator: Generator,
    ) {
        match self.cells.index() {
            Index::None => {
                for cell in self.random_cells(generator) {
                    self.lower(region, registers, cell);
                }
            }
            Index::Weighted(index) => {
                // Short arrays for the usual P: clearing long ones takes time.
                match self.p <= USUAL_P {
                    true => self.delete_weighted::<USUAL_P, R>(region, registers, index, generator),
                    false => self.delete_weighted::<MAX_P, R>(region, registers, index, generator),
                }
            }
            Index::Minimum(index) if self.cells.scheme() == Scheme::MinimumPriority => {
                self.delete_by_priority(region, registers, index);
            }
            Index::Minimum(index) => self.delete_least(region, registers, index),
        }
    }

    #[inline(always)]
    fn random_cells(&self, generator: Generator) -> impl Iterator<Item = u64> + use<> {
        let cells = self.cells.cells();
        (0..self.p as u64).map(move |i| reduce(generator.draw(i), cells))
    }

    /// Lowers the value of a cell. Returns what it is then.
    #[inline(always)]
    fn lower<R: Region + ?Sized>(
        &self,
        region: &mut R,
        registers: &mut Registers,
        cell: u64,
    ) -> u32 {
        (self.cells).lower(region, registers, cell, self.resets_to_zero)
    }

    /// Deletes from P cells, at most `ROOM`, that are chosen by their weights.
    #[inline(always)]
    fn delete_weighted<const ROOM: usize, R: Region + ?Sized>(
        &self,
        region: &mut R,
        registers: &mut Registers,
        index: &WeightedIndex,
        generator: Generator,
    ) {
        let mut choices = [Choice::default(); ROOM];
        let choices = &mut choices[..self.p];
        let count = (self.cells).choose::<ROOM>(region.bytes(), index, generator, choices);
        for choice in &choices[..count] {
            self.lower(region, registers, choice.cell);
        }
        index.visit_next_unit(region);
    }

    /// Deletes from the P cells of least importance.
    #[inline(always)]
    fn delete_least<R: Region + ?Sized>(
        &self,
        region: &mut R,
        registers: &mut Registers,
        index: &MinimumIndex,
    ) {
        let mut keys = [0; MAX_P];
        let keys = &mut keys[..self.p];
        let mut count = 0;
        // The list may have room for less than P.
        while count < keys.len() {
            let wanted = keys.len() - count + LISTED_AHEAD;
            self.cells.fill_list(region, registers, index, wanted);
            match LeastList(registers).take(&mut keys[count..]) {
                0 => break,
                taken => count += taken,
            }
        }
        let mut still_in_use = 0;
        for i in 0..count {
            let cell = self.cells.cell_of(keys[i]);
            if self.lower(region, registers, cell) > 0 {
                keys[still_in_use] = keys[i];
                still_in_use += 1;
            }
        }
        // These cost what they did. The first ones are put back last, so that each place is the
        // first of the list.
        for &key in keys[..still_in_use].iter().rev() {
            self.cells.put(region, registers, index, key);
        }
    }

    /// P times, deletes from the cell with the least sum of importance and priority.
    #[inline(always)]
    fn delete_by_priority<R: Region + ?Sized>(
        &self,
        region: &mut R,
        registers: &mut Registers,
        index: &MinimumIndex,
    ) {
        for i in 0..self.p {
            let wanted = self.p - i + LISTED_AHEAD;
            self.cells.fill_list(region, registers, index, wanted);
            let mut key = [0];
            if LeastList(registers).take(&mut key) == 0 {
                return;
            }
            let cell = self.cells.cell_of(key[0]);
            self.lower(region, registers, cell);
            let key = self.cells.raise_priority(region, cell, self.priority);
            self.cells.put(region, registers, index, key);
        }
    }
}

impl Filter for Ibf {
    const DESCRIPTOR: Descriptor = Descriptor {
        name: "ibf",
        title: "Importance-aware Bloom filter",
        summary: "Every observation lowers p counters, unimportant ones first, and raises the k \
                  counters of its key.",
        promise: "The more important a key is, the longer it is remembered.",
        choose_when: "To compare with the paper on importance; other filters err less in the same \
                      memory.",
        errors: PossibleErrors::Both,
        needs: Needs {
            tick: false,
            importance: true,
        },
        origin: Origin::Literature,
        source: Citation::BORASKAR_2010,
        advised_because: Descriptor::FEWEST_ERRORS,
        drawing: Drawing {
            before: &["4.14.4..2.4."],
            after: &["4..444..1.4."],
            caption: "The 2 counters with the least important keys are lowered by one. Then the \
                      new key raises its 2 counters to 4.",
        },
        parameters: &[
            Parameter::choice(
                "insert",
                "the value of a new key's counters: max, or its importance mapped to 0 … max",
                &["max", "importance"],
            ),
            Parameter::choice(
                "delete",
                "how the counters to lower are chosen",
                &[
                    "probabilistic-p",
                    "random",
                    "probabilistic",
                    "probabilistic-val",
                    "min",
                    "min-priority",
                ],
            ),
            Parameter::choice(
                "by",
                "how far they are lowered: by one, or to zero",
                &["one", "zero"],
            ),
            Parameter::choice(
                "weight",
                "the importance of a counter: the sum over its keys, or that of the last",
                &["cumulative", "current"],
            ),
            Parameter::choice(
                "map",
                "how importance × max ÷ top is rounded",
                &["floor", "ceil"],
            ),
            Parameter::choice(
                "keep",
                "the value of a counter after an insertion: the new one, or the larger of old and new",
                &["new", "larger"],
            ),
            Parameter::integer("k", "counters raised for each key", 1..=32, 4),
            Parameter::integer(
                "p",
                "counters lowered by each observation",
                0..=MAX_P as u64,
                7,
            ),
            Parameter::integer("max", "the largest value of a counter", 1..=65_535, 4),
            Parameter::integer(
                "priority",
                "by how much the priority of a chosen counter grows (min-priority)",
                0..=65_535,
                4,
            ),
            Parameter::integer(
                "top",
                "the largest importance; greater ones count as this",
                1..=65_535,
                50,
            ),
        ],
    };

    fn build(spec: &FilterSpec, memory_bits: u64) -> Result<Self, BuildError> {
        let scheme = match () {
            _ if spec.is_choice("delete", "random") => Scheme::Random,
            _ if spec.is_choice("delete", "probabilistic") => Scheme::Probabilistic,
            _ if spec.is_choice("delete", "probabilistic-val") => Scheme::ProbabilisticValue,
            _ if spec.is_choice("delete", "min") => Scheme::Minimum,
            _ if spec.is_choice("delete", "min-priority") => Scheme::MinimumPriority,
            _ => Scheme::ProbabilisticInUse,
        };
        let (k, max) = (spec.integer("k"), spec.integer("max") as u16);
        let Some(cells) = ImportanceCells::fitting(scheme, k, max, memory_bits) else {
            return Err(BuildError::TooSmall {
                filter: spec.to_string(),
                memory_bits,
                minimum_bits: ImportanceCells::minimum_bits(scheme, max),
            });
        };
        Ok(Ibf {
            cells,
            p: spec.integer("p") as usize,
            inserts_importance: spec.is_choice("insert", "importance"),
            resets_to_zero: spec.is_choice("by", "zero"),
            is_cumulative: !spec.is_choice("weight", "current"),
            rounds_up: spec.is_choice("map", "ceil"),
            keeps_larger: spec.is_choice("keep", "larger"),
            priority: spec.integer("priority") as u32,
            top: spec.integer("top") as u16,
        })
    }

    #[inline(always)]
    fn usual(&self) -> [Option<Self>; 2] {
        let known = |cells| Ibf { cells, ..*self };
        [self.cells.with_constants(4, 4).map(known), None]
    }

    fn region_bytes(&self) -> u64 {
        self.cells.region_bytes()
    }

    fn accepts(&self, registers: &Registers) -> bool {
        self.cells.accepts(registers)
    }

    fn cells(&self) -> u64 {
        self.cells.cells()
    }

    fn needs(&self) -> Needs {
        let ignores_importance = self.cells.scheme() == Scheme::Random && !self.inserts_importance;
        Needs {
            tick: false,
            importance: !ignores_importance,
        }
    }

    fn false_positive_rate(&self, registers: &Registers) -> f64 {
        let counters = &self.cells.counters;
        counters.false_positive_rate(registers.occupied())
    }

    /// Besides a counter, its importance and the node over it change.
    fn cache_lines_touched(&self) -> u32 {
        let per_cell = match self.cells.scheme() {
            Scheme::Random => 1,
            Scheme::ProbabilisticValue => 2,
            _ => 3,
        };
        per_cell * (self.cells.counters.k + self.p as u32)
    }

    fn draws(&self) -> u64 {
        match self.cells.index() {
            Index::Minimum(_) => 0,
            Index::None | Index::Weighted(_) => self.p as u64,
        }
    }

    fn seen_leaves_state_unchanged(&self) -> bool {
        false
    }

    #[inline(always)]
    fn observe<R: Region + ?Sized>(
        &self,
        region: &mut R,
        registers: &mut Registers,
        generator: Generator,
        observation: Observation,
    ) -> Verdict {
        let Observation {
            fingerprint,
            importance,
            ..
        } = observation;
        let verdict = self.cells.contains(region.bytes(), fingerprint);
        self.delete(region, registers, generator);
        self.insert(region, registers, fingerprint, importance);
        verdict
    }

    fn contains(&self, region: &[u8], _: &Registers, fingerprint: Fingerprint) -> Verdict {
        self.cells.contains(region, fingerprint)
    }

    fn cell_layout(&self) -> CellLayout {
        self.cells.counters.cell_layout("lowered to 0")
    }

    fn cell(&self, region: &[u8], index: u64) -> u64 {
        self.cells.counters.cell(region, index)
    }

    fn evidence(&self, region: &[u8], _: &Registers, fingerprint: Fingerprint) -> Evidence {
        self.cells.counters.evidence(region, fingerprint)
    }

    #[inline(always)]
    fn prefetch(&self, region: &[u8], generator: Generator, fingerprint: Fingerprint) {
        self.cells.prefetch(region, fingerprint);
        if self.cells.scheme() == Scheme::Random {
            for cell in self.random_cells(generator) {
                self.cells.counters.prefetch_cell(region, cell);
            }
        }
    }
}
