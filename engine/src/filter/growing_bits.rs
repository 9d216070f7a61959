//! The parts of a growing filter without a window: bits that are set and never cleared.
//!
//! | own word | content |
//! |---|---|
//! | 0–15 | of each slice's newest part, the number of set bits, or of keys |
//! | 16–17 | the level of each slice's newest part, in 8 bits |

use super::Verdict;
use super::bloom_rate::BloomCells;
use super::cache_lines::{CACHE_LINE_BITS, CACHE_LINE_BYTES, bit_positions};
use super::growth_plan::{GrowthPlan, MAX_LEVELS, MAX_SLICES, Part, Reserve, too_small};
use super::{BuildError, CellLayout, Evidence, EvidenceCell, FilterSpec, Registers, Requirement};
use crate::bytes::{bit, count_ones, read_u64, set_bit, write_u64};
use crate::fingerprint::{Fingerprint, reduce};
use crate::prefetch::prefetch;
use crate::region::Region;

const WORDS: usize = CACHE_LINE_BYTES / 8;
const LEVELS: usize = MAX_SLICES as usize;
const LEVEL_BITS: u64 = 8;

/// The bits of one key in a cache line.
type LineMask = [u64; WORDS];

/// The geometry of the parts.
#[derive(Clone, Debug)]
pub(super) struct GrowingBits {
    pub plan: GrowthPlan,
}

impl GrowingBits {
    pub fn build(spec: &FilterSpec, memory_bits: u64) -> Result<Self, BuildError> {
        let row_cells = match spec.is_choice("layout", "blocked") {
            true => CACHE_LINE_BITS,
            false => 1,
        };
        if memory_bits < row_cells {
            return Err(too_small(spec, memory_bits, row_cells));
        }
        let reserve = Reserve {
            rows: memory_bits / row_cells,
            row_cells,
            most_parts: MAX_LEVELS,
        };
        let plan = match spec.is_choice("tighten", "on") {
            true => GrowthPlan::doubling(spec, reserve),
            false => GrowthPlan::equal(spec, reserve),
        };
        Ok(GrowingBits { plan })
    }

    pub fn cells(&self) -> u64 {
        self.plan.rows() * self.plan.row_cells
    }

    pub fn region_bytes(&self) -> u64 {
        self.cells().div_ceil(8)
    }

    fn is_blocked(&self) -> bool {
        self.plan.row_cells == CACHE_LINE_BITS
    }

    /// Returns the end of the parts that were ever opened.
    pub fn used_bytes(&self, registers: &Registers) -> u64 {
        let end = |slice: u64| {
            let part = self.part(slice, self.level(registers, slice));
            (part.first_row + part.rows) * self.plan.row_cells
        };
        let ends = (0..self.plan.slices()).map(end);
        ends.max().unwrap_or(0).div_ceil(8)
    }

    /// Returns the slice of a key, and a uniform number that is independent of it and chooses its
    /// row in each part.
    #[inline(always)]
    fn slice_of(&self, fingerprint: Fingerprint) -> (u64, u64) {
        let log2 = self.plan.slices_log2;
        let slice = (u128::from(fingerprint.0) << log2 >> 64) as u64;
        (slice, fingerprint.0 << log2)
    }

    /// Returns the level of a slice's newest part.
    #[inline(always)]
    fn level(&self, registers: &Registers, slice: u64) -> u64 {
        let word = registers.own()[LEVELS + (slice / LEVEL_BITS) as usize];
        (word >> (slice % LEVEL_BITS * LEVEL_BITS) & 255).min(self.plan.levels - 1)
    }

    #[inline(always)]
    fn part(&self, slice: u64, level: u64) -> &Part {
        &self.plan.parts[(level << self.plan.slices_log2 | slice) as usize]
    }

    /// Returns the bits of a key in its cache line of a part.
    #[inline(always)]
    fn mask(part: &Part, fingerprint: Fingerprint) -> LineMask {
        let mut mask = [0; WORDS];
        for at in positions_in_line(part.k, fingerprint) {
            mask[at as usize / 64] |= 1 << (at % 64);
        }
        mask
    }

    /// Returns the offset of the key's cache line in a part, in bytes.
    #[inline(always)]
    fn line(part: &Part, uniform: u64) -> usize {
        (part.first_row + reduce(uniform, part.rows)) as usize * CACHE_LINE_BYTES
    }

    /// Returns the bits of a key in a part whose bits may be anywhere.
    #[inline(always)]
    fn anywhere(&self, part: &Part, fingerprint: Fingerprint) -> impl Iterator<Item = u64> + use<> {
        let (log2, k) = (self.plan.slices_log2, part.k);
        let (first, count) = (part.first_row, part.rows);
        let mut probes = fingerprint.probes();
        // The top bits of the first number have chosen the slice.
        let mut shift = log2;
        (0..k).map(move |_| {
            let uniform = probes.next_bits() << shift;
            shift = 0;
            first + reduce(uniform, count)
        })
    }

    #[inline(always)]
    fn is_seen(&self, region: &[u8], registers: &Registers, fingerprint: Fingerprint) -> bool {
        let (slice, uniform) = self.slice_of(fingerprint);
        let newest = self.level(registers, slice);
        if self.is_blocked() {
            // An older part has at least as many bits per key as a newer one.
            let most = self.part(slice, 0).k;
            let mut positions = positions_in_line(most, fingerprint);
            let (mut mask, mut bits) = ([0; WORDS], 0);
            (0..=newest).rev().any(|level| {
                let part = self.part(slice, level);
                for at in positions.by_ref().take((part.k - bits) as usize) {
                    mask[at as usize / 64] |= 1 << (at % 64);
                }
                bits = part.k;
                let at = Self::line(part, uniform);
                contains_all(&region[at..at + CACHE_LINE_BYTES], &mask)
            })
        } else {
            (0..=newest).rev().any(|level| {
                let part = self.part(slice, level);
                self.anywhere(part, fingerprint).all(|at| bit(region, at))
            })
        }
    }

    #[inline(always)]
    pub fn observe<R: Region + ?Sized>(
        &self,
        region: &mut R,
        registers: &mut Registers,
        fingerprint: Fingerprint,
    ) -> Verdict {
        if self.is_seen(region.bytes(), registers, fingerprint) {
            return Verdict::Seen;
        }
        let (slice, uniform) = self.slice_of(fingerprint);
        let part = self.part_to_fill(registers, slice);
        let filled = match self.is_blocked() {
            true => {
                let at = Self::line(part, uniform);
                let line = region.bytes_mut(at..at + CACHE_LINE_BYTES);
                set_all(line, &Self::mask(part, fingerprint))
            }
            false => {
                let bits = self.anywhere(part, fingerprint);
                bits.map(|at| u64::from(set_bit(region, at))).sum()
            }
        };
        *registers.occupied_mut() += filled;
        registers.own_mut()[slice as usize] += match self.plan.by_density {
            true => filled,
            false => 1,
        };
        Verdict::New
    }

    /// Returns the newest part of a slice, after opening one if the newest is full. If the reserve
    /// is full, the last part takes all further keys.
    #[inline(always)]
    fn part_to_fill(&self, registers: &mut Registers, slice: u64) -> &Part {
        let level = self.level(registers, slice);
        let newest = self.part(slice, level);
        if registers.own()[slice as usize] < newest.threshold || level + 1 == self.plan.levels {
            return newest;
        }
        let own = registers.own_mut();
        own[slice as usize] = 0;
        own[LEVELS + (slice / LEVEL_BITS) as usize] += 1 << (slice % LEVEL_BITS * LEVEL_BITS);
        self.part(slice, level + 1)
    }

    pub fn contains(
        &self,
        region: &[u8],
        registers: &Registers,
        fingerprint: Fingerprint,
    ) -> Verdict {
        Verdict::seen_if(self.is_seen(region, registers, fingerprint))
    }

    /// Prefetches what the key reads in every part of its slice.
    #[inline(always)]
    pub fn prefetch(&self, region: &[u8], registers: &Registers, fingerprint: Fingerprint) {
        let (slice, uniform) = self.slice_of(fingerprint);
        for level in 0..=self.level(registers, slice) {
            let part = self.part(slice, level);
            if self.is_blocked() {
                prefetch(region, Self::line(part, uniform));
            } else {
                // A part is half full when it is full, so most keys are found new by two bits.
                for at in self.anywhere(part, fingerprint).take(2) {
                    prefetch(region, at as usize / 8);
                }
            }
        }
    }

    /// Returns the bits of a key in all parts of its slice, each part being an alternative.
    pub fn evidence(
        &self,
        region: &[u8],
        registers: &Registers,
        fingerprint: Fingerprint,
    ) -> Evidence {
        let (slice, uniform) = self.slice_of(fingerprint);
        let newest = self.level(registers, slice);
        let read = |at: u64| EvidenceCell::read("bit", at, at, 1, region);
        let of_part = |level: u64| -> Vec<EvidenceCell> {
            let part = self.part(slice, level);
            match self.is_blocked() {
                true => {
                    let first = 8 * Self::line(part, uniform) as u64;
                    let bits = positions_in_line(part.k, fingerprint);
                    bits.map(|at| read(first + at)).collect()
                }
                false => self.anywhere(part, fingerprint).map(read).collect(),
            }
        };
        Evidence {
            row: match self.is_blocked() {
                true => (Self::line(self.part(slice, newest), uniform) / CACHE_LINE_BYTES) as u64,
                false => 0,
            },
            required: Requirement::NonZero,
            equal: 1,
            links: Vec::new(),
            alternatives: (0..=newest).rev().map(of_part).collect(),
        }
    }

    pub fn cell_layout(&self) -> CellLayout {
        match self.is_blocked() {
            true => CellLayout {
                row: "cache line",
                ..CellLayout::of_bits(CACHE_LINE_BITS, "")
            },
            false => CellLayout::of_bits(self.cells(), ""),
        }
    }

    pub fn recount(&self, region: &[u8]) -> u64 {
        count_ones(region, 0..self.cells())
    }

    /// Returns the false positive rate: 1 − Π(1 − P_i) over the parts of a slice, averaged over the
    /// slices.
    pub fn false_positive_rate(&self, registers: &Registers) -> f64 {
        let excess = self.excess(registers);
        let rate = |slice: u64| {
            let (level, newest) = self.newest(registers, slice);
            let shape = self.plan.shape(newest);
            let set = excess * self.set_cells_in(newest, registers.own()[slice as usize]);
            let closed = self.plan.parts_of(slice).take(level as usize);
            let rates = closed.map(|part| part.rate);
            any_of(rates.chain([shape.rate(shape.keys_setting(set))]))
        };
        let slices = self.plan.slices();
        (0..slices).map(rate).sum::<f64>() / slices as f64
    }

    /// Returns the newest part of a slice and its level.
    fn newest(&self, registers: &Registers, slice: u64) -> (u64, &Part) {
        let level = self.level(registers, slice);
        (level, self.part(slice, level))
    }

    /// Returns the number of set cells in a part of which the count is known.
    fn set_cells_in(&self, part: &Part, count: u64) -> f64 {
        match self.plan.by_density {
            true => count as f64,
            false => self.plan.shape(part).set_cells(count as f64),
        }
    }

    /// Returns how many times more cells the newest parts have than their numbers of keys explain;
    /// 1 if there are not more. Of the keys that come to a part that is too full, only those are
    /// counted that set a cell.
    fn excess(&self, registers: &Registers) -> f64 {
        if self.plan.by_density {
            return 1.0;
        }
        let (mut closed, mut newest) = (0.0, 0.0);
        for slice in 0..self.plan.slices() {
            let (level, part) = self.newest(registers, slice);
            newest += self.set_cells_in(part, registers.own()[slice as usize]);
            let full = self.plan.parts_of(slice).take(level as usize);
            closed += full
                .map(|part| self.set_cells_in(part, part.threshold))
                .sum::<f64>();
        }
        let found = registers.occupied() as f64 - closed;
        match newest > 0.0 {
            true => (found / newest).max(1.0),
            false => 1.0,
        }
    }

    /// Returns the expected state after so many insertions.
    pub fn state_of(&self, keys: f64) -> GrownState {
        let slices = self.plan.slices();
        let mut state = GrownState::default();
        for slice in 0..slices {
            let mut left = keys / slices as f64;
            // The probability that no part that was closed has the bits of a key.
            let mut missed = 1.0;
            for (level, part) in self.plan.parts_of(slice).enumerate() {
                let shape: BloomCells = self.plan.shape(part);
                let is_newest = left <= part.keys || level as u64 + 1 == self.plan.levels;
                let inside = if is_newest { left } else { part.keys };
                let rate = shape.rate(inside);
                state.set_cells += shape.set_cells(inside);
                left -= inside;
                if is_newest {
                    state.passed += missed / slices as f64;
                    state.rate += (1.0 - missed * (1.0 - rate)) / slices as f64;
                    break;
                }
                missed *= 1.0 - rate;
            }
        }
        state
    }

    /// Returns the number of keys that still fit at the wanted rate.
    pub fn keys_left(&self, registers: &Registers) -> f64 {
        let left = |slice: u64| {
            let level = self.level(registers, slice);
            let newest = self.part(slice, level);
            let set = self.set_cells_in(newest, registers.own()[slice as usize]);
            let inside = self.plan.shape(newest).keys_setting(set);
            let parts = self.plan.parts_of(slice).skip(level as usize);
            (parts.map(|part| part.keys).sum::<f64>() - inside).max(0.0)
        };
        (0..self.plan.slices()).map(left).sum()
    }

    /// Returns the largest number of parts that a lookup tests.
    pub fn parts_in_use(&self, registers: &Registers) -> u64 {
        let levels = (0..self.plan.slices()).map(|slice| self.level(registers, slice) + 1);
        levels.max().unwrap_or(0)
    }
}

/// The expected state of a filter without a window.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct GrownState {
    /// The false positive rate.
    pub rate: f64,
    /// The probability that the newest part decides about a new key: no other part has its bits.
    pub passed: f64,
    /// The number of set bits.
    pub set_cells: f64,
}

/// Returns the bits of a key in a cache line.
#[inline(always)]
fn positions_in_line(k: u32, fingerprint: Fingerprint) -> impl Iterator<Item = u64> {
    let mut probes = fingerprint.probes();
    // The first number has chosen the cache line.
    probes.next_bits();
    bit_positions(k, move || probes.next_bits())
}

/// Returns the probability that at least one of independent events happens.
pub(super) fn any_of(probabilities: impl Iterator<Item = f64>) -> f64 {
    1.0 - probabilities.map(|one| 1.0 - one).product::<f64>()
}

/// Whether all bits of the mask are set in the line. All words are read, without an early exit, so
/// that the comparison is one of vectors.
#[inline(always)]
fn contains_all(line: &[u8], mask: &LineMask) -> bool {
    let mut missing = 0;
    for (i, bits) in mask.iter().enumerate() {
        missing |= bits & !read_u64(line, 8 * i);
    }
    missing == 0
}

/// Sets all bits of the mask. Returns how many were clear.
#[inline(always)]
fn set_all(line: &mut [u8], mask: &LineMask) -> u64 {
    let mut filled = 0;
    for (i, bits) in mask.iter().enumerate() {
        let word = read_u64(line, 8 * i);
        filled += u64::from((bits & !word).count_ones());
        write_u64(line, 8 * i, word | bits);
    }
    filled
}
