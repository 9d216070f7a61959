//! The age-partitioned Bloom filter: a ring of slices, one of which is retired with every step.
//!
//! **Guarantee.** A key that was reported as New is reported as Seen until its span has passed,
//! always: there are no false negatives inside the window. It is forgotten gradually after that:
//! one step later all but one of its bits are still set, so it is reported as Seen with the
//! probability that one given bit is set, one step later with the square of that, and so on.
//!
//! **When to use it.** Keys must come again some time after their span, none may come again earlier,
//! and memory matters more than time. For keys that never occurred it has the false positive rate
//! of `window` in little more than half the memory. But keys that come again right after their
//! span are often dropped, and its bits are spread over many cache lines.
//!
//! **How it works.** With k = 2 and a window of two steps there are four slices in use, numbered by
//! age. A new key sets one bit in each of the two youngest slices, 0 and 1. With every step all
//! slices grow one step older, and an empty one becomes slice 0. So two steps later the key's bits
//! are in the slices 2 and 3. A key is Seen if its bits are set in two slices of consecutive ages.
//! One step later slice 3 is retired, and the key is forgotten.
//!
//! **Paper.** Shtul, Baquero, Almeida, "Age-Partitioned Bloom Filters", 2020.
//!
//! **Departures.** Slices grow older with the clock, not with a number of insertions. The retired
//! slice is emptied part by part by New verdicts, and therefore there is one slice more.

use std::ops::Range;

use super::citation::Citation;
use super::descriptor::{Descriptor, Needs, Origin, PossibleErrors};
use super::drawing::Drawing;
use super::evidence::Requirement;
use super::parameter::Parameter;
use super::window_clock::{ClockKind, WindowClock};
use super::window_registers::WindowRegisters;
use super::window_union::Alignment;
use super::{
    BuildError, CellLayout, Evidence, EvidenceCell, Filter, FilterSpec, Observation, Registers,
    Verdict,
};
use crate::bytes::{bit, count_ones, set_bit};
use crate::fingerprint::Fingerprint;
use crate::prefetch::prefetch;
use crate::region::Region;
use crate::rng::Generator;

/// The largest number of slices.
pub(super) const MAX_SLICES: u64 = 64;
/// How many bytes of the retired slice a New verdict empties.
const BYTES_PER_KEY: u64 = 128;

/// The geometry of the filter.
#[derive(Clone, Copy, Debug)]
pub struct Apbf {
    pub(super) clock: WindowClock,
    pub(super) k: u64,
    /// The number of slices: k, one for each step of age, and the retired one.
    pub(super) slices: u64,
    /// The size of a slice in bytes.
    pub(super) slice_bytes: u64,
}

/// The bit of a key in each slice.
type Positions = [u64; MAX_SLICES as usize];

impl Apbf {
    pub(super) fn slice_bits(&self) -> u64 {
        8 * self.slice_bytes
    }

    /// Returns the number of slices that may hold keys of the window.
    pub(super) fn used(&self) -> u64 {
        self.slices - 1
    }

    /// Returns the bit of a key in each slice, by its place in the region.
    #[inline(always)]
    fn positions(&self, fingerprint: Fingerprint) -> Positions {
        let mut probes = fingerprint.probes();
        let mut positions = [0; MAX_SLICES as usize];
        let slice_bits = self.slice_bits();
        for (slice, position) in (0..self.slices).zip(&mut positions) {
            *position = slice * slice_bits + probes.next_below(slice_bits);
        }
        positions
    }

    /// Returns which slice has this age at the base.
    #[inline(always)]
    fn slice_of_age(&self, registers: &Registers, age: u64) -> u64 {
        let youngest = WindowRegisters::base_remainder(registers);
        match youngest >= age {
            true => youngest - age,
            false => youngest + self.slices - age,
        }
    }

    /// Returns how many slices, counted from the youngest one at the base, have not been retired
    /// at a step.
    #[inline(always)]
    pub(super) fn left_at(&self, registers: &Registers, now: u64) -> u64 {
        let passed = now - WindowRegisters::base(registers);
        self.used().saturating_sub(passed)
    }

    /// Whether the key's bits are set in k slices of consecutive ages. Of a key that is new, it
    /// reads few slices: if one bit is clear, no run that contains it can be complete.
    #[inline(always)]
    fn is_seen(
        &self,
        region: &[u8],
        registers: &Registers,
        now: u64,
        positions: &Positions,
    ) -> bool {
        let left = self.left_at(registers, now);
        if left < self.k {
            return false;
        }
        // The run that is being read, and one that was read before and follows it.
        let (mut at, mut run, mut after) = (left - self.k, 0, 0);
        loop {
            let slice = self.slice_of_age(registers, at);
            if bit(region, positions[slice as usize]) {
                run += 1;
                at += 1;
                if run + after == self.k {
                    return true;
                }
            } else {
                // The next run ends before the bit that is clear.
                if at < self.k {
                    return false;
                }
                at -= self.k;
                (after, run) = (run, 0);
            }
        }
    }

    /// Makes the present step the base, and empties a part of the retired slice.
    #[inline(always)]
    fn advance<R: Region + ?Sized>(&self, region: &mut R, registers: &mut Registers, now: u64) {
        let (next, end) = WindowRegisters::sweep(registers);
        if WindowRegisters::base(registers) != now {
            self.advance_base(region, registers, now);
        } else if next != end {
            let until = (next + BYTES_PER_KEY).min(end);
            let retired = self.slice_of_age(registers, self.used());
            self.empty(region, registers, retired, next..until);
            WindowRegisters::set_sweep(registers, until, end);
        }
    }

    #[cold]
    fn advance_base<R: Region + ?Sized>(
        &self,
        region: &mut R,
        registers: &mut Registers,
        now: u64,
    ) {
        let base = WindowRegisters::base(registers);
        let (mut next, mut end) = WindowRegisters::sweep(registers);
        if now - base >= self.slices {
            for slice in 0..self.slices {
                self.empty(region, registers, slice, 0..self.slice_bytes);
            }
            (next, end) = (0, 0);
        } else {
            for step in base + 1..=now {
                self.empty(region, registers, step % self.slices, next..end);
                (next, end) = (0, self.slice_bytes);
            }
        }
        WindowRegisters::advance(registers, self.counted_age_limit(), now);
        WindowRegisters::set_base_remainder(registers, now % self.slices);
        WindowRegisters::set_sweep(registers, next, end);
    }

    /// Empties some bytes of a slice.
    fn empty<R: Region + ?Sized>(
        &self,
        region: &mut R,
        registers: &mut Registers,
        slice: u64,
        bytes: Range<u64>,
    ) {
        let first = slice * self.slice_bytes;
        let (mut at, end) = ((first + bytes.start) as usize, (first + bytes.end) as usize);
        let mut emptied = 0;
        while at < end {
            let part = at..end.min(at + 8);
            let bits: u32 = region.bytes()[part.clone()]
                .iter()
                .map(|it| it.count_ones())
                .sum();
            if bits != 0 {
                emptied += u64::from(bits);
                region.bytes_mut(part.clone()).fill(0);
            }
            at = part.end;
        }
        *registers.occupied_mut() -= emptied;
    }

    /// Whether a slice may hold keys of the window at a step.
    fn is_in_use(&self, registers: &Registers, slice: u64, now: u64) -> bool {
        let base = WindowRegisters::base(registers);
        let youngest = base % self.slices;
        let age = (youngest + self.slices - slice) % self.slices;
        age + (now - base) < self.used()
    }

    fn cell_of(&self, region: &[u8], index: u64) -> EvidenceCell {
        EvidenceCell::read("bit", index, index, 1, region)
    }
}

impl Filter for Apbf {
    const DESCRIPTOR: Descriptor = Descriptor {
        name: "apbf",
        title: "Age-partitioned Bloom filter",
        summary: "Sets one bit in each of the k youngest of many slices for each key; with every \
                  step the oldest slice is retired and emptied.",
        promise: "A key is reported as Seen until its span has passed since it was last New; there \
                  are no false negatives before that. It is forgotten gradually over the next \
                  steps.",
        choose_when: "Keys must never come again before a time, may be dropped for some time \
                      after it, and memory matters more than time.",
        errors: PossibleErrors::FalsePositives,
        needs: Needs {
            tick: true,
            importance: false,
        },
        origin: Origin::Literature,
        source: Citation {
            authors: "A. Shtul, C. Baquero, P. S. Almeida",
            title: "Age-Partitioned Bloom Filters",
            year: 2020,
        },
        advised_because: "slices that are retired by age never forget a key within its window, in \
                          less memory than timers",
        drawing: Drawing {
            before: &["..#.|#..#|.##."],
            after: &["#.#.|#.##|.##."],
            caption: "The slices are in the order of age, the youngest first. A new key sets one \
                      bit in each of the k youngest, here 2. With every step an empty slice is \
                      put in front, and the last one is retired.",
        },
        parameters: &[
            Parameter::integer("k", "bits for each key, in as many slices", 1..=32, 8),
            WindowClock::SPAN,
            WindowClock::GRADUAL_STEP,
            WindowClock::CLOCK,
        ],
    };

    const MERGES: bool = true;

    fn build(spec: &FilterSpec, memory_bits: u64) -> Result<Self, BuildError> {
        let clock = WindowClock::of(spec)?;
        let k = spec.integer("k");
        let slices = (k + 1).saturating_add(clock.age_limit());
        if slices > MAX_SLICES {
            return Err(BuildError::Contradiction {
                filter: spec.to_string(),
                reason: "k and the number of steps of a span can be at most 63 together, so \
                         `step` must be larger",
            });
        }
        match memory_bits / 8 / slices {
            0 => Err(BuildError::TooSmall {
                filter: spec.to_string(),
                memory_bits,
                minimum_bits: 8 * slices,
            }),
            slice_bytes => Ok(Apbf {
                clock,
                k,
                slices,
                slice_bytes,
            }),
        }
    }

    fn accepts(&self, registers: &Registers) -> bool {
        let now = self.clock.now(registers);
        WindowRegisters::are_possible(registers, now, self.slices, self.slice_bytes)
    }

    fn region_bytes(&self) -> u64 {
        self.slices * self.slice_bytes
    }

    fn cells(&self) -> u64 {
        self.slices * self.slice_bits()
    }

    fn recount(&self, region: &[u8]) -> u64 {
        count_ones(region, 0..self.cells())
    }

    fn false_positive_rate(&self, registers: &Registers) -> f64 {
        self.present_rate(registers)
    }

    fn window(&self) -> Option<&WindowClock> {
        Some(&self.clock)
    }

    fn counted_age_limit(&self) -> u64 {
        self.used() - 1
    }

    fn cache_lines_touched(&self) -> u32 {
        // The k youngest slices, and those that were read to find that the key is new.
        (self.k + self.used() / self.k) as u32
    }

    fn seen_leaves_state_unchanged(&self) -> bool {
        true
    }

    #[inline(always)]
    fn observe<R: Region + ?Sized>(
        &self,
        region: &mut R,
        registers: &mut Registers,
        _: Generator,
        observation: Observation,
    ) -> Verdict {
        let positions = self.positions(observation.fingerprint);
        let now = self.clock.now(registers);
        if self.is_seen(region.bytes(), registers, now, &positions) {
            return Verdict::Seen;
        }
        self.advance(region, registers, now);
        let mut filled = 0;
        for age in 0..self.k {
            let slice = self.slice_of_age(registers, age) as usize;
            filled += u64::from(set_bit(region, positions[slice]));
        }
        *registers.occupied_mut() += filled;
        WindowRegisters::count_delivery(registers);
        Verdict::New
    }

    fn contains(&self, region: &[u8], registers: &Registers, fingerprint: Fingerprint) -> Verdict {
        let positions = self.positions(fingerprint);
        let now = self.clock.now(registers);
        Verdict::seen_if(self.is_seen(region, registers, now, &positions))
    }

    fn cell_layout(&self) -> CellLayout {
        CellLayout {
            cell: "bit",
            content: "bit",
            row: "slice",
            row_cells: self.slice_bits(),
            max_value: 1,
            loss: "retired with their slices",
        }
    }

    fn cell(&self, region: &[u8], index: u64) -> u64 {
        bit(region, index).into()
    }

    fn evidence(&self, region: &[u8], registers: &Registers, fingerprint: Fingerprint) -> Evidence {
        let positions = self.positions(fingerprint);
        let left = self.left_at(registers, self.clock.now(registers));
        let run = |first: u64| {
            let slices = (first..first + self.k).map(|age| self.slice_of_age(registers, age));
            slices
                .map(|slice| self.cell_of(region, positions[slice as usize]))
                .collect()
        };
        Evidence {
            row: 0,
            required: Requirement::NonZero,
            equal: 1,
            links: Vec::new(),
            alternatives: (0..(left + 1).saturating_sub(self.k)).map(run).collect(),
        }
    }

    /// Moves both filters to the later clock and takes the union of their slices. A slice belongs
    /// to a step, and a key's bit in it depends on the slice: so this needs one clock for both.
    fn merge(
        &self,
        region: &mut [u8],
        registers: &mut Registers,
        other: &[u8],
        other_registers: &Registers,
    ) -> Result<(), &'static str> {
        if self.clock.kind() != ClockKind::Seconds {
            return Err(
                "its slices belong to numbers of observations, which two filters count \
                        each for itself",
            );
        }
        let Alignment { now, shifts } = Alignment::of(&self.clock, registers, other_registers);
        for slice in 0..self.slices {
            let bytes =
                (slice * self.slice_bytes) as usize..((slice + 1) * self.slice_bytes) as usize;
            if !self.is_in_use(registers, slice, now) {
                region[bytes.clone()].fill(0);
            }
            if self.is_in_use(other_registers, slice, now) {
                let united = region[bytes.clone()].iter_mut().zip(&other[bytes]);
                united.for_each(|(byte, other)| *byte |= other);
            }
        }
        *registers.occupied_mut() = self.recount(region);
        let age_limit = self.counted_age_limit();
        WindowRegisters::unite(registers, other_registers, age_limit, now, shifts);
        WindowRegisters::set_base_remainder(registers, now % self.slices);
        registers.advance_clock(other_registers.clock());
        registers.count_others(other_registers);
        Ok(())
    }

    #[inline(always)]
    fn prefetch(&self, _: &[u8], _: Generator, _: Fingerprint) {}

    /// Which slices are the youngest depends on the registers.
    #[inline(always)]
    fn prefetch_dependent(
        &self,
        region: &[u8],
        registers: &Registers,
        _: Generator,
        fingerprint: Fingerprint,
    ) {
        let positions = self.positions(fingerprint);
        let first = self.used() - self.k;
        for age in (0..self.k).chain(first..self.used()) {
            let slice = self.slice_of_age(registers, age) as usize;
            prefetch(region, positions[slice] as usize / 8);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::SeenSet;

    #[test]
    fn the_estimated_rate_is_the_measured_one() {
        for filter in [
            "apbf:k=5,span=1200,clock=count",
            "apbf:k=8,span=1200,step=60,clock=count",
            "apbf:k=4,span=1000,clock=deliveries",
        ] {
            let builder = SeenSet::builder(filter).expect("a filter");
            let mut set = builder.memory_bits(20_000).build().expect("enough memory");
            let (mut estimated, mut seen) = (0.0, 0.0);
            for key in 0..60_000u64 {
                estimated += set.false_positive_rate();
                seen += f64::from(u8::from(set.observe(key.to_le_bytes()).is_seen()));
            }
            assert!(
                (seen - estimated).abs() < 4.0 * f64::sqrt(seen),
                "{filter}: {seen}, {estimated}"
            );
            assert!(seen > 200.0, "{filter}: {seen}");
        }
    }
}
