//! Cells that hold the step in which they were set, and forget it without stopping the world.
//!
//! Cells lie in groups, which are swept as `stamp_sweep.rs` describes.

use std::ops::Range;

use super::bloom_rate::BloomCells;
use super::cache_lines::{CACHE_LINE_BITS, CACHE_LINE_BYTES, CacheLines};
use super::stamp_sweep::{self, ExpiredStamps, sweep_lines, sweep_word};
use super::stamps::{StampWindow, Stamps};
use super::timer_lines::{TIMER_BITS, TimerLines};
use super::window_union::{Alignment, StampRanks};
use super::{BuildError, EvidenceCell, FilterSpec, Registers, Rows};
use crate::bytes::{PackedCells, read_u64, window, write_u64};
use crate::fingerprint::{Fingerprint, Probes};
use crate::prefetch::prefetch;
use crate::region::Region;

/// The number of cells of a group if cells are packed without gaps.
const GROUP_CELLS: u64 = 64;
/// The number of cells that one 64-bit number chooses in a cache line.
const CELLS_PER_NUMBER: u32 = 4;

/// Steps of a bisection.
const HALVINGS: u32 = 40;
/// The largest share of set cells that is distinguished from 1.
const FULL: f64 = 1.0 - 1e-9;

/// Values below this are looked up in a mask instead of compared.
const MASK_VALUES: u64 = 64;

/// Cells with stamps, of which each key has k.
#[derive(Clone, Copy, Debug)]
pub(super) struct StampCells {
    pub stamps: Stamps,
    pub k: u32,
    layout: Layout,
}

#[derive(Clone, Copy, Debug)]
enum Layout {
    /// A key's cells are anywhere. Cells are packed without gaps.
    Shared { cells: u64, packed: PackedCells },
    /// A key's cells are in one cache line. No cell extends over two words.
    Blocked { lines: CacheLines, per_word: u64 },
}

impl StampCells {
    /// Returns as many cells as the memory holds.
    pub fn new(
        spec: &FilterSpec,
        memory_bits: u64,
        stamps: Stamps,
        is_blocked: bool,
    ) -> Result<Self, BuildError> {
        let k = spec.integer("k") as u32;
        Self::with_k(spec, k, memory_bits, stamps, is_blocked)
    }

    /// Returns as many cells as the memory holds, with a k that is not that of the spec.
    pub fn with_k(
        spec: &FilterSpec,
        k: u32,
        memory_bits: u64,
        stamps: Stamps,
        is_blocked: bool,
    ) -> Result<Self, BuildError> {
        let width = u64::from(stamps.width_bits());
        let layout = match is_blocked {
            true => Layout::Blocked {
                lines: CacheLines::fitting(spec, memory_bits)?,
                per_word: 64 / width,
            },
            false => Layout::Shared {
                cells: memory_bits / width,
                packed: PackedCells::holding(stamps.max_value() as u16),
            },
        };
        Ok(StampCells { stamps, k, layout })
    }

    /// Returns the same cells with k and the width of a cell as compile-time constants, if a
    /// key's cells are in one cache line; None if any of this is different.
    #[inline(always)]
    pub fn with_constants(self, k: u32, width_bits: u32) -> Option<Self> {
        let Layout::Blocked { lines, .. } = self.layout else {
            return None;
        };
        let stamps = self.stamps.with_constant_width(width_bits)?;
        (self.k == k).then_some(StampCells {
            k,
            stamps,
            layout: Layout::Blocked {
                lines,
                per_word: 64 / u64::from(width_bits),
            },
        })
    }

    pub fn count(&self) -> u64 {
        match self.layout {
            Layout::Shared { cells, .. } => cells,
            Layout::Blocked { lines, per_word } => lines.count() * 8 * per_word,
        }
    }

    /// Returns the number of cells among which a key's cells are chosen.
    pub fn row_cells(&self) -> u64 {
        match self.layout {
            Layout::Shared { cells, .. } => cells,
            Layout::Blocked { per_word, .. } => 8 * per_word,
        }
    }

    pub fn is_blocked(&self) -> bool {
        matches!(self.layout, Layout::Blocked { .. })
    }

    pub fn region_bytes(&self) -> u64 {
        match self.layout {
            Layout::Shared { cells, packed } => packed.bytes(cells),
            Layout::Blocked { lines, .. } => lines.bytes(),
        }
    }

    /// Returns the position of a cell in the region, in bits.
    fn offset_bits(&self, index: u64) -> u64 {
        let width = u64::from(self.stamps.width_bits());
        match self.layout {
            Layout::Shared { .. } => index * width,
            Layout::Blocked { per_word, .. } => index / per_word * 64 + index % per_word * width,
        }
    }

    /// Returns the index of each cell of a key.
    pub fn indices(&self, fingerprint: Fingerprint) -> Vec<u64> {
        match self.layout {
            Layout::Shared { cells, .. } => self.anywhere(cells, fingerprint).collect(),
            Layout::Blocked { lines, per_word } => {
                let (at, probes) = lines.locate(fingerprint);
                let first = at as u64 / 8 * per_word;
                let width = self.stamps.width_bits();
                self.in_line(per_word, probes)
                    .map(|(word, shift)| {
                        first + word as u64 / 8 * per_word + u64::from(shift / width)
                    })
                    .collect()
            }
        }
    }

    /// Returns the index of each cell of a key, if they are anywhere.
    #[inline(always)]
    fn anywhere(&self, cells: u64, fingerprint: Fingerprint) -> impl Iterator<Item = u64> + use<> {
        let mut probes = fingerprint.probes();
        (0..self.k).map(move |_| probes.next_below(cells))
    }

    /// Returns where the cells of a key are in its cache line: the offset of a word in bytes, and
    /// the first bit of the cell in it.
    #[inline(always)]
    fn in_line(
        &self,
        per_word: u64,
        mut probes: Probes,
    ) -> impl Iterator<Item = (usize, u32)> + use<> {
        let width = u64::from(self.stamps.width_bits());
        let mut number = 0;
        (0..self.k).map(move |i| {
            if i % CELLS_PER_NUMBER == 0 {
                number = probes.next_bits();
            }
            number = number.rotate_left(16);
            // Three bits choose the word, the other thirteen the cell in it.
            let field = ((number & 0x1FFF) * per_word) >> 13;
            ((number >> 10 & 56) as usize, (field * width) as u32)
        })
    }

    /// Whether all cells of a key are in the window.
    #[inline(always)]
    pub fn are_in_window(
        &self,
        region: &[u8],
        window: StampWindow,
        fingerprint: Fingerprint,
    ) -> bool {
        let max = self.stamps.max_value();
        let is_mask = max < MASK_VALUES;
        let mask = if is_mask { window.mask() } else { 0 };
        // All are read, without an early exit: a branch per cell would be mispredicted.
        let check = |value: u64| match is_mask {
            true => mask >> value,
            false => u64::from(window.contains(value)),
        };
        let all = match self.layout {
            Layout::Shared { cells, packed } => (self.anywhere(cells, fingerprint))
                .fold(1, |all, index| {
                    all & check(packed.get(region, index).into())
                }),
            Layout::Blocked { lines, per_word } => {
                let (at, probes) = lines.locate(fingerprint);
                let line = &region[at..at + CACHE_LINE_BYTES];
                (self.in_line(per_word, probes)).fold(1, |all, (word, shift)| {
                    all & check(read_u64(line, word) >> shift & max)
                })
            }
        };
        all & 1 != 0
    }

    /// Returns the value of a cell, given its index.
    pub fn get(&self, region: &[u8], index: u64) -> u64 {
        match self.layout {
            Layout::Shared { packed, .. } => u64::from(packed.get(region, index)),
            Layout::Blocked { per_word, .. } => {
                let word = read_u64(region, (index / per_word) as usize * 8);
                word >> (index % per_word * u64::from(self.stamps.width_bits()))
                    & self.stamps.max_value()
            }
        }
    }

    /// Writes the values of a key's cells to a slice; returns their number.
    pub fn values(&self, region: &[u8], fingerprint: Fingerprint, values: &mut [u64]) -> usize {
        let max = self.stamps.max_value();
        match self.layout {
            Layout::Shared { cells, packed } => {
                let indices = self.anywhere(cells, fingerprint);
                for (value, index) in values.iter_mut().zip(indices) {
                    *value = packed.get(region, index).into();
                }
            }
            Layout::Blocked { lines, per_word } => {
                let (at, probes) = lines.locate(fingerprint);
                for (value, (word, shift)) in values.iter_mut().zip(self.in_line(per_word, probes))
                {
                    *value = read_u64(region, at + word) >> shift & max;
                }
            }
        }
        self.k as usize
    }

    /// Stamps the cells of a key with the present step. The caller has
    /// [advanced](StampCells::advance) the cells to it.
    #[inline(always)]
    pub fn stamp<R: Region + ?Sized>(
        &self,
        region: &mut R,
        registers: &mut Registers,
        fingerprint: Fingerprint,
    ) {
        let (value, max) = (self.stamps.base_value(registers), self.stamps.max_value());
        let mut filled = 0;
        match self.layout {
            Layout::Shared { cells, packed } => {
                for index in self.anywhere(cells, fingerprint) {
                    filled += u64::from(packed.get(region.bytes(), index) == 0);
                    packed.set(region, index, value as u32);
                }
            }
            Layout::Blocked { lines, per_word } => {
                let (at, probes) = lines.locate(fingerprint);
                let line = region.bytes_mut(at..at + CACHE_LINE_BYTES);
                for (word, shift) in self.in_line(per_word, probes) {
                    let cells = read_u64(line, word);
                    let before = cells >> shift & max;
                    filled += u64::from(before == 0);
                    write_u64(line, word, cells ^ ((before ^ value) << shift));
                }
            }
        }
        *registers.occupied_mut() += filled;
    }

    /// Sets the value of a cell, given its index.
    fn set(&self, region: &mut [u8], index: u64, value: u64) {
        match self.layout {
            Layout::Shared { packed, .. } => packed.set(region, index, value as u32),
            Layout::Blocked { per_word, .. } => {
                let at = (index / per_word) as usize * 8;
                let shift = index % per_word * u64::from(self.stamps.width_bits());
                let cells = read_u64(region, at);
                let before = cells >> shift & self.stamps.max_value();
                write_u64(region, at, cells ^ ((before ^ value) << shift));
            }
        }
    }

    /// Takes the later one of each cell of two filters. What has left the window is emptied.
    pub fn merge(
        &self,
        region: &mut [u8],
        registers: &mut Registers,
        other: &[u8],
        other_registers: &Registers,
        alignment: Alignment,
    ) {
        let both = [&*registers, other_registers];
        let ranks = StampRanks::new(&self.stamps, alignment, both);
        let mut occupied = 0;
        for index in 0..self.count() {
            let before = self.get(region, index);
            let rank = ranks
                .rank(0, before)
                .max(ranks.rank(1, self.get(other, index)));
            let after = ranks.stamp(rank);
            if after != before {
                self.set(region, index, after);
            }
            occupied += u64::from(after != 0);
        }
        *registers.occupied_mut() = occupied;
        self.stamps.unite(registers, other_registers, alignment);
    }

    /// Makes the present step the base of all stamps, and sweeps.
    #[inline(always)]
    pub fn advance<R: Region + ?Sized>(&self, region: &mut R, registers: &mut Registers, now: u64) {
        let groups = self.groups();
        stamp_sweep::advance(
            &self.stamps,
            registers,
            groups,
            now,
            |registers, due, window| {
                self.sweep(region, registers, due, window);
            },
        );
    }

    /// Returns the cache lines as rows, if a key's cells are in one.
    pub fn rows(&self) -> Option<Rows> {
        match self.layout {
            Layout::Shared { .. } => None,
            Layout::Blocked { lines, .. } => Some(lines.rows()),
        }
    }

    /// Returns the cells for vectors, if a key's cells are in one cache line and have four bits.
    #[inline(always)]
    pub fn timer_lines(&self) -> Option<TimerLines> {
        let Layout::Blocked { lines, .. } = self.layout else {
            return None;
        };
        (self.stamps.width_bits() == TIMER_BITS).then_some(TimerLines {
            lines,
            stamps: self.stamps,
            k: self.k,
        })
    }

    /// Returns the same cells in a part of the region that begins with a row.
    #[inline(always)]
    pub fn starting_at(self, first_row: u64) -> Self {
        let layout = match self.layout {
            Layout::Blocked { lines, per_word } => Layout::Blocked {
                lines: lines.starting_at(first_row),
                per_word,
            },
            shared => shared,
        };
        StampCells { layout, ..self }
    }

    /// Sweeps what so many New verdicts at the present step sweep.
    pub fn sweep_for(&self, region: &mut [u8], registers: &mut Registers, now: u64, new: u64) {
        let window = self.stamps.window_at(registers, now);
        let due = stamp_sweep::take_due(registers, new);
        self.sweep(region, registers, due, window);
    }

    /// Returns the number of groups that are swept.
    pub fn groups(&self) -> u64 {
        match self.layout {
            Layout::Shared { cells, .. } => cells.div_ceil(GROUP_CELLS),
            Layout::Blocked { lines, .. } => lines.count(),
        }
    }

    /// Empties the cells of these groups that are not in the window.
    pub fn sweep<R: Region + ?Sized>(
        &self,
        region: &mut R,
        registers: &mut Registers,
        groups: Range<u64>,
        window: StampWindow,
    ) {
        if groups.is_empty() || registers.occupied() == 0 {
            return;
        }
        let width = self.stamps.width_bits();
        let expired = ExpiredStamps::of(window, width, width);
        let emptied = match self.layout {
            Layout::Blocked { .. } => sweep_lines(region, groups, expired),
            Layout::Shared { cells, .. } => {
                let cells = groups.start * GROUP_CELLS..(groups.end * GROUP_CELLS).min(cells);
                sweep_packed(region, cells, u64::from(width), expired)
            }
        };
        *registers.occupied_mut() -= emptied;
    }

    /// Returns the false positive rate if so many keys are in the window. The number of keys per
    /// group is taken to be Poisson distributed.
    pub fn false_positive_rate(&self, keys: f64) -> f64 {
        let cells = BloomCells {
            k: self.k,
            cells: self.count() as f64,
            row_cells: self.row_cells() as f64,
        };
        cells.rate(keys)
    }

    /// Returns how many keys were offered, dropped ones included, if so many were delivered.
    ///
    /// A key is dropped if its k cells are set, so a delivered one sets more empty cells than an
    /// average key. While the share x of the cells is set, offering m/k·dx/(1 − x) keys raises it
    /// by dx and delivers the share 1 − x^k of them: m/k·(x + x²/2 + … + x^k/k) up to x.
    pub fn keys_offered(&self, delivered: f64) -> f64 {
        let (k, cells) = (f64::from(self.k), self.count() as f64);
        let wanted = delivered * k / cells;
        let (mut low, mut high) = (0.0, FULL);
        for _ in 0..HALVINGS {
            let share = (low + high) / 2.0;
            let (mut power, mut sum) = (1.0, 0.0);
            for i in 1..=self.k {
                power *= share;
                sum += power / f64::from(i);
            }
            match sum < wanted {
                true => low = share,
                false => high = share,
            }
        }
        -libm::log1p(-high) * cells / k
    }

    /// Counts the cells in use.
    pub fn recount(&self, region: &[u8]) -> u64 {
        let in_use = (0..self.count()).filter(|&index| self.get(region, index) != 0);
        in_use.count() as u64
    }

    /// Reads a cell.
    pub fn evidence_cell(&self, region: &[u8], index: u64) -> EvidenceCell {
        let width = self.stamps.width_bits();
        EvidenceCell::read("timer", index, self.offset_bits(index), width, region)
    }

    #[inline(always)]
    pub fn prefetch(&self, region: &[u8], fingerprint: Fingerprint) {
        match self.layout {
            Layout::Shared { cells, packed } => {
                for index in self.anywhere(cells, fingerprint) {
                    prefetch(region, packed.byte_of(index));
                }
            }
            Layout::Blocked { lines, .. } => lines.prefetch(region, fingerprint),
        }
    }

    /// Returns the group of cells that a key belongs to; 0 if a key's cells are anywhere.
    pub fn row_of(&self, fingerprint: Fingerprint) -> u64 {
        match self.layout {
            Layout::Shared { .. } => 0,
            Layout::Blocked { lines, .. } => {
                lines.locate(fingerprint).0 as u64 * 8 / CACHE_LINE_BITS
            }
        }
    }
}

/// Empties the expired cells of a run of cells that are packed without gaps. Returns their number.
fn sweep_packed<R: Region + ?Sized>(
    region: &mut R,
    cells: Range<u64>,
    width: u64,
    expired: ExpiredStamps,
) -> u64 {
    // As many cells as eight bytes always contain.
    let run = match 64 % width {
        0 => 64 / width,
        _ => 57 / width,
    };
    let mut emptied = 0;
    for first in cells.clone().step_by(run as usize) {
        let bits = run.min(cells.end - first) * width;
        let (at, shift) = window(region.bytes().len(), first * width, bits);
        emptied += sweep_word(region, at, u64::MAX >> (64 - bits), shift, expired);
    }
    emptied
}
