//! The union of two filters with a window: both are moved to one clock.
//!
//! If the clock counts seconds, a step means the same time in both filters, and the union stands
//! at the later of the two clocks: the keys of the other filter have aged meanwhile. If it counts
//! observations or deliveries, the two clocks have nothing in common. The union then stands at the
//! sum of both, and every key keeps the age that it had in its own filter.

use super::Registers;
use super::stamps::{StampWindow, Stamps};
use super::window_clock::{ClockKind, WindowClock};
use super::window_registers::WindowRegisters;

/// How the steps of two filters become steps of their union.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Alignment {
    /// The present step of the union.
    pub now: u64,
    /// What is added to the steps of each filter.
    pub shifts: [u64; 2],
}

impl Alignment {
    /// Aligns the clocks of two filters.
    pub fn of(clock: &WindowClock, one: &Registers, other: &Registers) -> Self {
        let both = [one, other];
        let present = both.map(|registers| clock.now(registers));
        let sum = |counts: [u64; 2]| counts[0].saturating_add(counts[1]) / clock.step();
        let now = match clock.kind() {
            ClockKind::Seconds => present[0].max(present[1]),
            ClockKind::Count => sum(both.map(Registers::observations)),
            ClockKind::Deliveries => sum(both.map(WindowRegisters::deliveries)),
        };
        let shifts = match clock.kind() {
            ClockKind::Seconds => [0, 0],
            _ => present.map(|step| now - step),
        };
        Alignment { now, shifts }
    }
}

/// The rank of every stamp of two filters in their union: 0 if it is empty or has left the window,
/// and the higher the later the cell was set.
pub(super) struct StampRanks {
    ranks: [Vec<u16>; 2],
    /// The stamp of each rank.
    stamps: Vec<u16>,
}

impl StampRanks {
    pub fn new(stamps: &Stamps, alignment: Alignment, registers: [&Registers; 2]) -> Self {
        let age_limit = stamps.age_limit();
        let ranks_of = |registers: &Registers, shift: u64| {
            let base = WindowRegisters::base(registers);
            let window: StampWindow = stamps.window_at(registers, base);
            let rank = |value: u64| {
                let step = (base + shift).checked_sub(window.age(value))?;
                let age = alignment.now.checked_sub(step)?;
                (value != 0 && age <= age_limit).then(|| (age_limit + 1 - age) as u16)
            };
            (0..=stamps.max_value())
                .map(|value| rank(value).unwrap_or(0))
                .collect()
        };
        // Ranks of steps before the first one have no cells.
        let stamp = |rank: u64| match (alignment.now + rank).checked_sub(age_limit + 1) {
            Some(step) if rank > 0 => stamps.value_of(step) as u16,
            _ => 0,
        };
        StampRanks {
            ranks: [
                ranks_of(registers[0], alignment.shifts[0]),
                ranks_of(registers[1], alignment.shifts[1]),
            ],
            stamps: (0..=age_limit + 1).map(stamp).collect(),
        }
    }

    /// Returns the rank of a stamp of one of the two filters.
    pub fn rank(&self, filter: usize, stamp: u64) -> u16 {
        self.ranks[filter][stamp as usize]
    }

    /// Returns the stamp of a rank in the union.
    pub fn stamp(&self, rank: u16) -> u64 {
        u64::from(self.stamps[usize::from(rank)])
    }
}
