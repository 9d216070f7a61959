//! The cells that decide about a key, and the reason for a verdict in words.

use super::slot_key::SlotKey;
use super::stamps::{StampWindow, most_equal};
use super::{CellLayout, Verdict};
use crate::bytes::{PackedCells, bit};

/// A cell that a filter reads to decide about a key, or a link that leads to one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EvidenceCell {
    /// The number of the cell, or of the record that contains the link.
    pub index: u64,
    /// The first bit of the region that is read.
    pub offset_bits: u64,
    /// The number of bits read, at most 64. Cells that do not take a whole number of bits share
    /// them.
    pub width_bits: u32,
    /// The name of the cell or link, such as "bit".
    pub meaning: &'static str,
    /// The present value.
    pub value: u64,
}

impl EvidenceCell {
    /// Reads a cell that is a number of its own, lowest bit first. Never inlined: it is not
    /// called in hot code, and every copy would make the page's download larger.
    #[inline(never)]
    pub(super) fn read(
        meaning: &'static str,
        index: u64,
        offset_bits: u64,
        width_bits: u32,
        region: &[u8],
    ) -> Self {
        let value = (0..u64::from(width_bits))
            .map(|i| u64::from(bit(region, offset_bits + i)) << i)
            .sum();
        EvidenceCell {
            index,
            offset_bits,
            width_bits,
            meaning,
            value,
        }
    }
}

/// The condition that a cell must satisfy to count as evidence for a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Requirement {
    /// Any value but 0.
    NonZero,
    /// The value that the key would store.
    Equals(u64),
    /// One more than the value of a slot with the key's fingerprint, or with a shortened one.
    Shortened(SlotKey),
    /// A step in the window.
    InWindow(StampWindow),
    /// The key's fingerprint, above a step in the window.
    Stamped {
        /// The fingerprint.
        fingerprint: u64,
        /// The number of bits of the step, which are the lowest ones.
        stamp_bits: u32,
        /// The window.
        window: StampWindow,
    },
}

impl Requirement {
    /// Whether a cell with this value satisfies the condition.
    pub fn is_met_by(self, value: u64) -> bool {
        match self {
            Requirement::NonZero => value != 0,
            Requirement::Equals(required) => value == required,
            Requirement::Shortened(key) => value != 0 && key.has(value - 1),
            Requirement::InWindow(window) => window.contains(value),
            Requirement::Stamped {
                fingerprint,
                stamp_bits,
                window,
            } => {
                let stamp = value & ((1 << stamp_bits) - 1);
                value >> stamp_bits == fingerprint && window.contains(stamp)
            }
        }
    }

    /// Returns how many steps before the present one the cell was set; None if it is empty or
    /// holds no step, or if everything has left the window. `age_limit` is that of the clock.
    pub fn steps_ago(self, value: u64, age_limit: u64) -> Option<u64> {
        let (window, stamp) = match self {
            Requirement::InWindow(window) => (window, value),
            Requirement::Stamped {
                stamp_bits, window, ..
            } => (window, value & ((1 << stamp_bits) - 1)),
            Requirement::NonZero | Requirement::Equals(_) | Requirement::Shortened(_) => {
                return None;
            }
        };
        // A window has one age less for each step since the last New verdict.
        let since_base = (age_limit + 1).checked_sub(window.ages)?;
        (stamp != 0 && window.ages > 0).then(|| window.age(stamp) + since_base)
    }

    /// Returns the fingerprint that a cell must hold; None if any key's cell satisfies it.
    pub fn fingerprint(self) -> Option<u64> {
        match self {
            Requirement::Equals(fingerprint) | Requirement::Stamped { fingerprint, .. } => {
                Some(fingerprint)
            }
            Requirement::Shortened(key) => Some(1 + key.place().1),
            Requirement::NonZero | Requirement::InWindow(_) => None,
        }
    }
}

/// Everything that a filter reads to decide about a key.
///
/// The key is Seen if all cells of any one of the `alternatives` satisfy the requirement. A
/// Bloom filter has one alternative of k bits; a cache line of fingerprints has one alternative
/// per field. Nothing else in the region influences the answer of
/// [`contains`](super::AnyFilter::contains) for this key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evidence {
    /// The group of cells that the key belongs to. A filter of fingerprints cannot distinguish
    /// two keys with the same group and the same required value.
    pub row: u64,
    /// The condition for each cell.
    pub required: Requirement,
    /// How many cells of an alternative must also have the same value.
    pub equal: u32,
    /// The links that lead to the cells, if there are any.
    pub links: Vec<EvidenceCell>,
    /// Sets of cells; one set that satisfies the requirement is enough.
    pub alternatives: Vec<Vec<EvidenceCell>>,
}

impl Evidence {
    /// Returns one alternative, in which all cells must be in use.
    pub(super) fn all_in_use(row: u64, cells: &mut dyn Iterator<Item = EvidenceCell>) -> Self {
        Evidence {
            row,
            required: Requirement::NonZero,
            equal: 1,
            links: Vec::new(),
            alternatives: vec![cells.collect()],
        }
    }

    /// Returns counters that must all be above 0.
    pub(super) fn of_counters(
        counters: &PackedCells,
        region: &[u8],
        positions: &mut dyn Iterator<Item = u64>,
    ) -> Self {
        let width = counters.width_bits();
        let counter = |at| EvidenceCell::read("counter", at, at * u64::from(width), width, region);
        Evidence::all_in_use(0, &mut positions.map(counter))
    }

    /// Returns cells of which any one must have the key's value.
    pub(super) fn any_equal(
        row: u64,
        value: u64,
        cells: &mut dyn Iterator<Item = EvidenceCell>,
    ) -> Self {
        Evidence {
            row,
            required: Requirement::Equals(value),
            equal: 1,
            links: Vec::new(),
            alternatives: cells.map(|cell| vec![cell]).collect(),
        }
    }

    /// Returns the verdict that follows from the cells.
    pub fn verdict(&self) -> Verdict {
        Verdict::seen_if(self.proof().is_some())
    }

    /// Returns the cells of the first alternative that satisfies the requirement.
    pub fn proof(&self) -> Option<&[EvidenceCell]> {
        let holds = |cells: &&Vec<EvidenceCell>| self.missing(cells) == 0 && self.has_equal(cells);
        self.alternatives.iter().find(holds).map(Vec::as_slice)
    }

    /// Whether enough cells of an alternative have the same value.
    fn has_equal(&self, cells: &[EvidenceCell]) -> bool {
        let values: Vec<u64> = cells.iter().map(|cell| cell.value).collect();
        self.equal < 2 || most_equal(&values) >= self.equal
    }

    /// Counts the cells of an alternative that do not satisfy the requirement.
    pub fn missing(&self, cells: &[EvidenceCell]) -> usize {
        let missing = |cell: &&EvidenceCell| !self.required.is_met_by(cell.value);
        cells.iter().filter(missing).count()
    }

    /// Returns, for the alternative with the fewest missing cells, the number of missing cells
    /// and the number of all its cells. A cell that occurs twice counts once.
    pub fn closest(&self) -> Option<(usize, usize)> {
        let count = |cells: &Vec<EvidenceCell>| {
            let (mut missing, mut all) = (0, 0);
            for (i, cell) in cells.iter().enumerate() {
                if cells[..i].iter().all(|other| other.index != cell.index) {
                    all += 1;
                    missing += usize::from(!self.required.is_met_by(cell.value));
                }
            }
            (missing, all)
        };
        self.alternatives.iter().map(count).min()
    }

    /// Returns every cell, in the order in which the filter reads them.
    pub fn cells(&self) -> impl Iterator<Item = &EvidenceCell> {
        self.alternatives.iter().flatten()
    }

    /// Describes the requirement: "set", "above 0", or a value.
    pub fn requirement_in_words(&self, layout: &CellLayout) -> String {
        match self.required {
            Requirement::NonZero if layout.max_value == 1 => "set".to_owned(),
            Requirement::NonZero => "above 0".to_owned(),
            Requirement::Equals(value) => layout.value_in_words(value),
            Requirement::Shortened(key) => {
                let value = layout.value_in_words(1 + key.place().1);
                format!("{value}, or a shortened form of it")
            }
            Requirement::Stamped { fingerprint, .. } => {
                format!("{fingerprint} in the window")
            }
            Requirement::InWindow(_) => "in the window".to_owned(),
        }
    }

    /// Describes the reason for the verdict: "2 of its 4 bits are 0".
    pub fn in_words(&self, layout: &CellLayout) -> String {
        let CellLayout { cell, row, .. } = layout;
        let cells_of_key = plural(cell);
        if let Some(value) = self.required.fingerprint() {
            let value = layout.value_in_words(value);
            let required = format!("its {} {value}", layout.content);
            return match (self.proof(), self.alternatives.len()) {
                (Some(cells), _) => format!("{cell} {} holds {required}", cells[0].index),
                (None, 0) => format!("its {row} is empty"),
                (None, 1) => format!("its {cell} does not hold {required}"),
                (None, count) => {
                    format!("none of the {count} {cells_of_key} of its {row} holds {required}")
                }
            };
        }
        let required = self.requirement_in_words(layout);
        let lacking = match self.required {
            Requirement::InWindow(_) => "not in the window",
            _ => "0",
        };
        let Some(closest) = self.closest() else {
            return "every key has left the window".to_owned();
        };
        match closest {
            (0, _) if self.proof().is_none() => {
                format!("fewer than {} of its {cells_of_key} are equal", self.equal)
            }
            (0, 1) => format!("its {cell} is {required}"),
            (0, 2) => format!("both of its {cells_of_key} are {required}"),
            (0, count) => format!("its {count} {cells_of_key} are all {required}"),
            (_, 1) => format!("its {cell} is {lacking}"),
            (2, 2) => format!("both of its {cells_of_key} are {lacking}"),
            (1, count) => format!("1 of its {count} {cells_of_key} is {lacking}"),
            (missing, count) => format!("{missing} of its {count} {cells_of_key} are {lacking}"),
        }
    }
}

/// Returns the plural of the name of a cell: "bits", "entries".
fn plural(noun: &str) -> String {
    match noun.strip_suffix('y') {
        Some(stem) => format!("{stem}ies"),
        None => format!("{noun}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_is_read_lowest_bit_first() {
        let cell = EvidenceCell::read("counter", 2, 6, 3, &[0b0100_0000, 0b0000_0001]);
        assert_eq!(cell.value, 0b101);
    }

    #[test]
    fn cells_are_named_in_the_plural() {
        assert_eq!(
            (plural("bit"), plural("entry")),
            ("bits".into(), "entries".into())
        );
    }

    #[test]
    fn one_alternative_is_enough_and_needs_all_its_cells() {
        let bits = |region: &[u8]| {
            let cells = |bits: [u64; 2]| {
                bits.map(|at| EvidenceCell::read("bit", at, at, 1, region))
                    .into()
            };
            Evidence {
                row: 0,
                required: Requirement::NonZero,
                equal: 1,
                links: Vec::new(),
                alternatives: vec![cells([0, 1]), cells([2, 3])],
            }
        };
        assert_eq!(bits(&[0b0110]).verdict(), Verdict::New);
        assert_eq!(bits(&[0b1101]).verdict(), Verdict::Seen);
        let mut fields = (0..2).map(|i| EvidenceCell::read("field", i, 4 * i, 4, &[0x57]));
        let evidence = Evidence::any_equal(0, 5, &mut fields);
        assert_eq!(evidence.proof().map(|cells| cells[0].index), Some(1));
        assert_eq!(evidence.missing(&evidence.alternatives[0]), 1);
    }
}
