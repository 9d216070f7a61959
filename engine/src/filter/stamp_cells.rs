//! Cells that hold the step in which they were set, and forget it without stopping the world.
//!
//! Cells lie in groups. A sweep empties the cells of a group that have left the window. Every
//! step a part of all groups is due, and every New verdict sweeps a few groups of it; what is
//! left when the next step begins is swept at once. So the work is spread over the keys, depends
//! on nothing but the observations, and Seen verdicts change nothing.

use super::cache_lines::{CACHE_LINE_BITS, CACHE_LINE_BYTES, CacheLines};
use super::window_clock::{StampWindow, Stamps, WindowRegisters};
use super::{BuildError, EvidenceCell, FilterSpec, Registers};
use crate::bytes::{PackedCells, read_u64, write_u64};
use crate::fingerprint::Fingerprint;
use crate::prefetch::prefetch;
use crate::region::Region;

/// How many due groups a New verdict sweeps.
const GROUPS_PER_KEY: u64 = 2;
/// The number of cells of a group if cells are packed without gaps.
const GROUP_CELLS: u64 = 64;
/// The number of cells that one 64-bit number chooses in a cache line.
const CELLS_PER_NUMBER: u32 = 4;

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
        Ok(StampCells {
            stamps,
            k: spec.integer("k") as u32,
            layout,
        })
    }

    /// Returns the same cells with k as a compile-time constant; None if it is another.
    #[inline(always)]
    pub fn with_constant_k(self, k: u32) -> Option<Self> {
        (self.k == k).then_some(StampCells { k, ..self })
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

    /// Calls `visit` with the index of each cell of a key.
    #[inline(always)]
    pub fn for_each_position(&self, fingerprint: Fingerprint, mut visit: impl FnMut(u64)) {
        match self.layout {
            Layout::Shared { cells, .. } => {
                let mut probes = fingerprint.probes();
                for _ in 0..self.k {
                    visit(probes.next_below(cells));
                }
            }
            Layout::Blocked { lines, per_word } => {
                let (at, mut probes) = lines.locate(fingerprint);
                let row_cells = 8 * per_word;
                let first = at as u64 / CACHE_LINE_BYTES as u64 * row_cells;
                let mut number = 0;
                for i in 0..self.k {
                    if i % CELLS_PER_NUMBER == 0 {
                        number = probes.next_bits();
                    }
                    number = number.rotate_left(16);
                    visit(first + ((number & 0xFFFF) * row_cells >> 16));
                }
            }
        }
    }

    /// Returns the value of a cell.
    #[inline(always)]
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

    /// Writes a cell; returns its value before.
    #[inline(always)]
    fn replace<R: Region + ?Sized>(&self, region: &mut R, index: u64, value: u64) -> u64 {
        let before = self.get(region.bytes(), index);
        match self.layout {
            Layout::Shared { packed, .. } => packed.set(region, index, value as u32),
            Layout::Blocked { per_word, .. } => {
                let at = (index / per_word) as usize * 8;
                let word = region.bytes_mut(at..at + 8);
                let shift = index % per_word * u64::from(self.stamps.width_bits());
                let changed = read_u64(word, 0) ^ ((before ^ value) << shift);
                write_u64(word, 0, changed);
            }
        }
        before
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
        let value = self.stamps.value_of(WindowRegisters::base(registers));
        let mut filled = 0;
        self.for_each_position(fingerprint, |index| {
            filled += u64::from(self.replace(region, index, value) == 0);
        });
        *registers.occupied_mut() += filled;
    }

    /// Makes the present step the base of all stamps, and sweeps.
    #[inline(always)]
    pub fn advance<R: Region + ?Sized>(&self, region: &mut R, registers: &mut Registers, now: u64) {
        let (next, end) = WindowRegisters::sweep(registers);
        if WindowRegisters::base(registers) != now {
            self.advance_base(region, registers, now);
        } else if next != end {
            let until = (next + GROUPS_PER_KEY).min(end);
            let window = self.stamps.window(now, now);
            self.sweep(region, registers, next..until, window);
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
        let (groups, slack) = (self.groups(), self.stamps.slack());
        let (next, end) = WindowRegisters::sweep(registers);
        let (mut next, mut end) = (next, end);
        if now - base >= slack {
            // All parts are due.
            let window = self.stamps.window(base, now);
            self.sweep(region, registers, 0..groups, window);
            (next, end) = (0, 0);
        } else {
            for step in base..now {
                let window = self.stamps.window(step, step);
                self.sweep(region, registers, next..end, window);
                let part = (step + 1) % slack;
                (next, end) = (part * groups / slack, (part + 1) * groups / slack);
            }
        }
        WindowRegisters::advance(registers, self.stamps.age_limit(), now);
        WindowRegisters::set_sweep(registers, next, end);
    }

    fn groups(&self) -> u64 {
        match self.layout {
            Layout::Shared { cells, .. } => cells.div_ceil(GROUP_CELLS),
            Layout::Blocked { lines, .. } => lines.count(),
        }
    }

    /// Empties the cells of these groups that are not in the window.
    fn sweep<R: Region + ?Sized>(
        &self,
        region: &mut R,
        registers: &mut Registers,
        groups: std::ops::Range<u64>,
        window: StampWindow,
    ) {
        if groups.is_empty() || registers.occupied() == 0 {
            return;
        }
        let group_cells = match self.layout {
            Layout::Shared { .. } => GROUP_CELLS,
            Layout::Blocked { per_word, .. } => 8 * per_word,
        };
        let cells = groups.start * group_cells..(groups.end * group_cells).min(self.count());
        let mut emptied = 0;
        for index in cells {
            let value = self.get(region.bytes(), index);
            if value != 0 && !window.contains(value) {
                self.replace(region, index, 0);
                emptied += 1;
            }
        }
        *registers.occupied_mut() -= emptied;
    }

    /// Returns the false positive rate if so many keys are in the window. The number of keys per
    /// group is taken to be Poisson distributed.
    pub fn false_positive_rate(&self, keys: f64) -> f64 {
        let (k, row_cells) = (f64::from(self.k), self.row_cells() as f64);
        let kept = libm::pow(1.0 - 1.0 / row_cells, k);
        let mean = keys * row_cells / self.count() as f64;
        // Groups with many keys all have nearly the same load.
        if !self.is_blocked() || mean > 600.0 {
            return libm::pow(1.0 - libm::pow(kept, mean), k);
        }
        let most = (mean + 12.0 * libm::sqrt(mean) + 12.0) as u32;
        let (mut share, mut empty, mut rate) = (libm::exp(-mean), 1.0, 0.0);
        for keys in 0..=most {
            rate += share * libm::pow(1.0 - empty, k);
            share *= mean / f64::from(keys + 1);
            empty *= kept;
        }
        rate.clamp(0.0, 1.0)
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
            Layout::Shared { packed, .. } => {
                self.for_each_position(fingerprint, |index| {
                    prefetch(region, packed.byte_of(index));
                });
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
