//! The parts of a growing filter with a window: timers, in equal parts that are used again.
//!
//! The region starts with a directory that has two numbers for each part: how many of its timers
//! are not 0, and the step of the last insertion. Then follow the parts. A part is dropped when
//! the span of its last insertion has passed: it is no longer tested. Its timers have all left the
//! window, so its place can be used again at once; what is left in it is emptied by the sweeps that
//! all timers need.
//!
//! | own word | content |
//! |---|---|
//! | 0–5, 8–55 | as for all filters with a window |
//! | 6 | which parts are tested, one bit each |
//! | 7 | the newest part (8 bits), how many parts were ever used (8 bits), and the keys inserted into the newest part since it was opened |

use super::bloom_rate::BloomCells;
use super::cache_lines::CACHE_LINE_BYTES;
use super::growing_bits::any_of;
use super::growth_plan::{GrowthPlan, Reserve, too_small};
use super::stamp_cells::StampCells;
use super::stamp_sweep;
use super::stamps::Stamps;
use super::window_clock::WindowClock;
use super::window_registers::WindowRegisters;
use super::{
    BuildError, CellLayout, Evidence, EvidenceCell, FilterSpec, Registers, Requirement, Verdict,
};
use crate::bytes::{read_u64, write_u64};
use crate::fingerprint::Fingerprint;
use crate::region::{Region, SubRegion};

/// The largest number of parts.
pub(super) const MAX_PARTS: u64 = 16;
/// The size of a part's numbers in the directory.
const ENTRY_BYTES: usize = 16;
const DIRECTORY_BYTES: u64 = MAX_PARTS * ENTRY_BYTES as u64;
const TESTED: usize = 6;
const NEWEST: usize = 7;
const PART_BITS: u32 = 8;

/// The geometry of the parts.
#[derive(Clone, Debug)]
pub(super) struct GrowingTimers {
    pub clock: WindowClock,
    /// The timers of one part.
    cells: StampCells,
    part_bytes: u64,
    pub parts: u64,
    threshold: u64,
    by_density: bool,
    /// The number of keys that fill a part.
    pub part_keys: f64,
}

/// The newest part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Newest {
    part: u64,
    /// How many parts were ever used.
    used: u64,
    /// How many keys were inserted since it was opened.
    inserted: u64,
}

impl Newest {
    #[inline(always)]
    fn read(registers: &Registers) -> Self {
        let word = registers.own()[NEWEST];
        Newest {
            part: word & 255,
            used: word >> PART_BITS & 255,
            inserted: word >> (2 * PART_BITS),
        }
    }

    #[inline(always)]
    fn write(self, registers: &mut Registers) {
        let parts = self.used << PART_BITS | self.part;
        registers.own_mut()[NEWEST] = self.inserted << (2 * PART_BITS) | parts;
    }
}

impl GrowingTimers {
    pub fn build(spec: &FilterSpec, memory_bits: u64) -> Result<Self, BuildError> {
        let clock = WindowClock::of(spec)?;
        let stamps = Stamps::new(spec, &clock)?;
        let is_blocked = spec.is_choice("layout", "blocked");
        let width = u64::from(stamps.width_bits());
        // The smallest part is one cache line.
        let line_bits = 8 * CACHE_LINE_BYTES as u64;
        let minimum_bits = 8 * DIRECTORY_BYTES + line_bits;
        if memory_bits < minimum_bits {
            return Err(too_small(spec, memory_bits, minimum_bits));
        }
        let lines = (memory_bits - 8 * DIRECTORY_BYTES) / line_bits;
        let (row_cells, rows_per_line) = match is_blocked {
            true => (8 * (64 / width), 1),
            // Timers are packed, and a part is a whole number of cache lines.
            false => (1, line_bits / width),
        };
        let reserve = Reserve {
            rows: lines * rows_per_line,
            row_cells,
            most_parts: MAX_PARTS,
        };
        let plan = GrowthPlan::equal(spec, reserve);
        let rows = plan.parts[0].rows;
        let cell_bits = match is_blocked {
            true => rows * line_bits,
            false => rows * width,
        };
        let part_bytes = cell_bits.div_ceil(line_bits) * CACHE_LINE_BYTES as u64;
        // Parts that start at a cache line may need more memory than their timers do.
        let fitting = lines * CACHE_LINE_BYTES as u64 / part_bytes;
        let parts = plan.levels.min(fitting).max(1);
        let cells = StampCells::with_k(spec, plan.parts[0].k, cell_bits, stamps, is_blocked)?;
        Ok(GrowingTimers {
            clock,
            cells,
            part_bytes,
            parts,
            threshold: plan.parts[0].threshold,
            by_density: plan.by_density,
            part_keys: plan.parts[0].keys,
        })
    }

    pub fn accepts(&self, registers: &Registers) -> bool {
        let now = self.clock.now(registers);
        let values = self.cells.stamps.max_value();
        let newest = Newest::read(registers);
        WindowRegisters::are_possible(registers, now, values, self.parts * self.cells.groups())
            && newest.used <= self.parts
            && newest.part < newest.used.max(1)
    }

    pub fn k(&self) -> u32 {
        self.cells.k
    }

    pub fn is_blocked(&self) -> bool {
        self.cells.is_blocked()
    }

    pub fn cells(&self) -> u64 {
        self.parts * self.cells.count()
    }

    pub fn region_bytes(&self) -> u64 {
        DIRECTORY_BYTES + self.parts * self.part_bytes
    }

    pub fn used_bytes(&self, registers: &Registers) -> u64 {
        DIRECTORY_BYTES + Newest::read(registers).used.min(self.parts) * self.part_bytes
    }

    /// Returns the parts that are tested, the first one first.
    #[inline(always)]
    fn tested(&self, registers: &Registers) -> impl Iterator<Item = u64> + use<> {
        let mut left = registers.own()[TESTED] & (u64::MAX >> (64 - self.parts));
        std::iter::from_fn(move || {
            let part = left.trailing_zeros();
            left &= left.wrapping_sub(1);
            (part < u64::BITS).then_some(u64::from(part))
        })
    }

    fn is_tested(registers: &Registers, part: u64) -> bool {
        registers.own()[TESTED] >> part & 1 == 1
    }

    #[inline(always)]
    fn first_byte(&self, part: u64) -> usize {
        (DIRECTORY_BYTES + part * self.part_bytes) as usize
    }

    #[inline(always)]
    fn part<'a>(&self, region: &'a [u8], part: u64) -> &'a [u8] {
        let first = self.first_byte(part);
        &region[first..first + self.part_bytes as usize]
    }

    #[inline(always)]
    fn part_mut<'a, R: Region + ?Sized>(&self, region: &'a mut R, part: u64) -> SubRegion<'a, R> {
        let first = self.first_byte(part);
        SubRegion::new(region, first..first + self.part_bytes as usize)
    }

    #[inline(always)]
    fn is_seen(&self, region: &[u8], registers: &Registers, fingerprint: Fingerprint) -> bool {
        let now = self.clock.now(registers);
        let window = self.cells.stamps.window_at(registers, now);
        self.tested(registers)
            .any(|part| (self.cells).are_in_window(self.part(region, part), window, fingerprint))
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
        let now = self.clock.now(registers);
        if WindowRegisters::base(registers) != now {
            self.drop_expired(region.bytes(), registers, now);
        }
        self.advance(region, registers, now);
        let part = self.part_to_fill(region.bytes(), registers);
        let before = registers.occupied();
        (self.cells).stamp(&mut self.part_mut(region, part), registers, fingerprint);
        let in_use = entry(region.bytes(), part).in_use + (registers.occupied() - before);
        let entry = Entry { in_use, last: now };
        entry.write(region, part);
        WindowRegisters::count_delivery(registers);
        Verdict::New
    }

    /// Stops testing the parts whose last key has left the window.
    #[cold]
    fn drop_expired(&self, region: &[u8], registers: &mut Registers, now: u64) {
        for part in self.tested(registers) {
            if now.saturating_sub(entry(region, part).last) > self.clock.age_limit() {
                registers.own_mut()[TESTED] &= !(1 << part);
            }
        }
    }

    /// Makes the present step the base of all stamps, and sweeps the parts that were ever used.
    #[inline(always)]
    fn advance<R: Region + ?Sized>(&self, region: &mut R, registers: &mut Registers, now: u64) {
        let groups = self.cells.groups();
        let used = Newest::read(registers).used;
        let stamps = self.cells.stamps;
        stamp_sweep::advance(
            &stamps,
            registers,
            self.parts * groups,
            now,
            |registers, due, window| {
                let mut next = due.start;
                while next < due.end {
                    let part = next / groups;
                    if part >= used {
                        break;
                    }
                    let end = due.end.min((part + 1) * groups);
                    let inside = next - part * groups..end - part * groups;
                    let before = registers.occupied();
                    let mut timers = self.part_mut(region, part);
                    self.cells.sweep(&mut timers, registers, inside, window);
                    let emptied = before - registers.occupied();
                    if emptied > 0 {
                        let entry = entry(region.bytes(), part);
                        let in_use = entry.in_use.saturating_sub(emptied);
                        Entry { in_use, ..entry }.write(region, part);
                    }
                    next = end;
                }
            },
        );
    }

    /// Returns the part that takes the next key, after opening one if the newest is full. If the
    /// reserve is full, the newest part takes all further keys.
    #[inline(always)]
    fn part_to_fill(&self, region: &[u8], registers: &mut Registers) -> u64 {
        let mut newest = Newest::read(registers);
        newest.part = newest.part.min(self.parts - 1);
        let is_full = |part: u64, inserted: u64| match self.by_density {
            true => entry(region, part).in_use >= self.threshold,
            false => inserted >= self.threshold,
        };
        let is_open = Self::is_tested(registers, newest.part);
        if !is_open || is_full(newest.part, newest.inserted) {
            let is_free = |part: &u64| !Self::is_tested(registers, *part) && !is_full(*part, 0);
            if let Some(free) = (0..self.parts).find(is_free) {
                newest = Newest {
                    part: free,
                    used: newest.used.max(free + 1),
                    inserted: 0,
                };
            }
            registers.own_mut()[TESTED] |= 1 << newest.part;
        }
        newest.inserted += 1;
        newest.write(registers);
        newest.part
    }

    pub fn contains(
        &self,
        region: &[u8],
        registers: &Registers,
        fingerprint: Fingerprint,
    ) -> Verdict {
        Verdict::seen_if(self.is_seen(region, registers, fingerprint))
    }

    #[inline(always)]
    pub fn prefetch(&self, region: &[u8], registers: &Registers, fingerprint: Fingerprint) {
        for part in self.tested(registers) {
            self.cells.prefetch(self.part(region, part), fingerprint);
        }
    }

    /// Returns the timers of a key in all parts that are tested, each part being an alternative.
    pub fn evidence(
        &self,
        region: &[u8],
        registers: &Registers,
        fingerprint: Fingerprint,
    ) -> Evidence {
        let indices = self.cells.indices(fingerprint);
        let of_part = |part: u64| -> Vec<EvidenceCell> {
            let read = |&index: &u64| {
                let cell = self.cells.evidence_cell(self.part(region, part), index);
                EvidenceCell {
                    index: part * self.cells.count() + index,
                    offset_bits: 8 * self.first_byte(part) as u64 + cell.offset_bits,
                    ..cell
                }
            };
            indices.iter().map(read).collect()
        };
        let now = self.clock.now(registers);
        let newest = Newest::read(registers).part.min(self.parts - 1);
        Evidence {
            row: newest * (self.cells.count() / self.cells.row_cells())
                + self.cells.row_of(fingerprint),
            required: Requirement::InWindow(self.cells.stamps.window_at(registers, now)),
            equal: 1,
            links: Vec::new(),
            alternatives: self.tested(registers).map(of_part).collect(),
        }
    }

    pub fn cell(&self, region: &[u8], index: u64) -> u64 {
        let (part, inside) = (index / self.cells.count(), index % self.cells.count());
        self.cells.get(self.part(region, part), inside)
    }

    pub fn cell_layout(&self) -> CellLayout {
        CellLayout {
            cell: "timer",
            content: "step",
            row: match self.is_blocked() {
                true => "cache line",
                false => "part",
            },
            row_cells: self.cells.row_cells(),
            max_value: self.cells.stamps.max_value(),
            loss: "set again or left behind by the window",
        }
    }

    /// Returns the false positive rate, from the number of keys in the window.
    pub fn false_positive_rate(&self, registers: &Registers) -> f64 {
        let now = self.clock.now(registers);
        let keys = WindowRegisters::in_window(registers, self.clock.age_limit(), now);
        let newest = Newest::read(registers).inserted as f64;
        self.rate_of_window(keys, newest)
    }

    /// Returns the false positive rate if so many keys are in the window, of which at most `newest`
    /// are in the newest part. The others are in full parts, of which the oldest has lost keys.
    pub fn rate_of_window(&self, keys: f64, newest: f64) -> f64 {
        any_of(
            self.keys_by_part(keys, newest)
                .map(|inside| self.shape().rate(inside)),
        )
    }

    fn keys_by_part(&self, keys: f64, newest: f64) -> impl Iterator<Item = f64> + use<> {
        let (mut left, mut most) = (keys - keys.min(newest), keys.min(newest));
        let (full, mut parts) = (self.part_keys, self.parts);
        std::iter::from_fn(move || {
            let inside = most;
            most = match parts {
                // The last part takes what does not fit elsewhere.
                2 => left,
                _ => left.min(full),
            };
            left -= most;
            parts = parts.checked_sub(1)?;
            Some(inside)
        })
    }

    fn shape(&self) -> BloomCells {
        BloomCells {
            k: self.cells.k,
            cells: self.cells.count() as f64,
            row_cells: self.cells.row_cells() as f64,
        }
    }

    pub fn keys_left(&self, registers: &Registers) -> f64 {
        let open = self.parts_in_use(registers);
        let inserted = Newest::read(registers).inserted as f64;
        let in_newest = match open {
            0 => 0.0,
            _ => (self.part_keys - inserted).max(0.0),
        };
        (self.parts - open) as f64 * self.part_keys + in_newest
    }

    /// Returns the number of parts that a lookup tests.
    pub fn parts_in_use(&self, registers: &Registers) -> u64 {
        self.tested(registers).count() as u64
    }
}

/// The numbers of a part in the directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Entry {
    /// How many timers are not 0.
    in_use: u64,
    /// The step of the last insertion.
    last: u64,
}

impl Entry {
    #[inline(always)]
    fn write<R: Region + ?Sized>(self, region: &mut R, part: u64) {
        let at = part as usize * ENTRY_BYTES;
        let bytes = region.bytes_mut(at..at + ENTRY_BYTES);
        write_u64(bytes, 0, self.in_use);
        write_u64(bytes, 8, self.last);
    }
}

#[inline(always)]
fn entry(region: &[u8], part: u64) -> Entry {
    let at = part as usize * ENTRY_BYTES;
    Entry {
        in_use: read_u64(region, at),
        last: read_u64(region, at + 8),
    }
}
