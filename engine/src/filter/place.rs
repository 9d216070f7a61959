//! Where in the region a verdict comes from.

use super::{Anatomy, Verdict};
use crate::bytes::{Cells, bit};

/// A cell that a filter looks at to decide about a key, or a link that leads to one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Its number among its like.
    pub index: u64,
    /// Where the bits start that it is read from.
    pub offset_bits: u64,
    /// How many they are, at most 64. Cells that take no whole number of bits share them.
    pub width_bits: u32,
    /// What it is to the filter.
    pub meaning: &'static str,
    /// What it holds.
    pub value: u64,
}

impl Place {
    /// A place that is a number of its own, lowest bit first. Not inlined here and there:
    /// nobody waits for it, and the page loads every copy.
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
        Place {
            index,
            offset_bits,
            width_bits,
            meaning,
            value,
        }
    }
}

/// What cells must hold to speak for a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// Anything but 0.
    InUse,
    /// The key's own value.
    Exactly(u64),
}

impl Wanted {
    /// Whether a cell that holds this speaks for the key.
    pub fn is_met_by(self, value: u64) -> bool {
        match self {
            Wanted::InUse => value != 0,
            Wanted::Exactly(wanted) => value == wanted,
        }
    }
}

/// All that a filter looks at to decide about a key.
///
/// The key is Seen if, in any one of the `ways`, all cells hold what is wanted. A Bloom
/// filter has one way of k bits; a line of fingerprints has as many ways as fields.
/// Nothing else in the region can change what [`contains`](super::AnyFilter::contains)
/// says of the key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evidence {
    /// The row that the key belongs to; two keys with the same row and the same value
    /// wanted are one key to a filter of fingerprints.
    pub row: u64,
    /// What the cells must hold.
    pub wanted: Wanted,
    /// What leads to the cells, where something does.
    pub links: Vec<Place>,
    /// The cells.
    pub ways: Vec<Vec<Place>>,
}

impl Evidence {
    /// One way, in which all cells must be in use.
    pub(super) fn all_in_use(row: u64, cells: &mut dyn Iterator<Item = Place>) -> Self {
        Evidence {
            row,
            wanted: Wanted::InUse,
            links: Vec::new(),
            ways: vec![cells.collect()],
        }
    }

    /// Counters that must all be above 0.
    pub(super) fn of_counters(
        counters: &Cells,
        region: &[u8],
        positions: &mut dyn Iterator<Item = u64>,
    ) -> Self {
        let width = counters.width_bits();
        let counter = |at| Place::read("counter", at, at * u64::from(width), width, region);
        Evidence::all_in_use(0, &mut positions.map(counter))
    }

    /// Any one cell that holds the key's value.
    pub(super) fn any_equal(row: u64, value: u64, cells: &mut dyn Iterator<Item = Place>) -> Self {
        Evidence {
            row,
            wanted: Wanted::Exactly(value),
            links: Vec::new(),
            ways: cells.map(|cell| vec![cell]).collect(),
        }
    }

    /// What follows from it.
    pub fn verdict(&self) -> Verdict {
        match self.proof() {
            Some(_) => Verdict::Seen,
            None => Verdict::New,
        }
    }

    /// The cells of the first way that speaks for the key.
    pub fn proof(&self) -> Option<&[Place]> {
        let holds = |way: &&Vec<Place>| self.lacking(way) == 0;
        self.ways.iter().find(holds).map(Vec::as_slice)
    }

    /// How many cells of a way do not hold what is wanted.
    pub fn lacking(&self, way: &[Place]) -> usize {
        let lacking = |cell: &&Place| !self.wanted.is_met_by(cell.value);
        way.iter().filter(lacking).count()
    }

    /// The way that lacks least: how many of its cells do not hold what is wanted, and how
    /// many there are. A cell that is asked for twice counts once.
    pub fn nearest(&self) -> Option<(usize, usize)> {
        let count = |way: &Vec<Place>| {
            let (mut lacking, mut all) = (0, 0);
            for (i, cell) in way.iter().enumerate() {
                if way[..i].iter().all(|other| other.index != cell.index) {
                    all += 1;
                    lacking += usize::from(!self.wanted.is_met_by(cell.value));
                }
            }
            (lacking, all)
        };
        self.ways.iter().map(count).min()
    }

    /// Every cell, in the order in which they are looked at.
    pub fn cells(&self) -> impl Iterator<Item = &Place> {
        self.ways.iter().flatten()
    }

    /// What a cell must hold: "set", "above 0", or a value.
    pub fn wanted_in_words(&self, anatomy: &Anatomy) -> String {
        match self.wanted {
            Wanted::InUse if anatomy.most == 1 => "set".to_owned(),
            Wanted::InUse => "above 0".to_owned(),
            Wanted::Exactly(value) => anatomy.value_in_words(value),
        }
    }

    /// The verdict's reason: "2 of its 4 bits are 0".
    pub fn in_words(&self, anatomy: &Anatomy) -> String {
        let Anatomy { cell, row, .. } = anatomy;
        if let Wanted::Exactly(value) = self.wanted {
            let value = anatomy.value_in_words(value);
            let wanted = format!("its {} {value}", anatomy.content);
            return match (self.proof(), self.ways.len()) {
                (Some(way), _) => format!("{cell} {} holds {wanted}", way[0].index),
                (None, 0) => format!("its {row} is empty"),
                (None, 1) => format!("its {cell} does not hold {wanted}"),
                (None, count) => {
                    format!("none of the {count} {cell}s of its {row} holds {wanted}")
                }
            };
        }
        let wanted = self.wanted_in_words(anatomy);
        match self.nearest().unwrap_or((0, 0)) {
            (0, 1) => format!("its {cell} is {wanted}"),
            (0, 2) => format!("both of its {cell}s are {wanted}"),
            (0, count) => format!("its {count} {cell}s are all {wanted}"),
            (_, 1) => format!("its {cell} is 0"),
            (2, 2) => format!("both of its {cell}s are 0"),
            (1, count) => format!("1 of its {count} {cell}s is 0"),
            (lacking, count) => format!("{lacking} of its {count} {cell}s are 0"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::{FilterSpec, SeenSet};

    fn set(spec: &str, keys: std::ops::Range<u32>) -> SeenSet {
        let spec: FilterSpec = spec.parse().expect("a filter");
        let mut set = SeenSet::in_memory(&spec, 4099, 7).expect("small");
        for key in keys {
            set.observe(&key.to_le_bytes());
        }
        set
    }

    #[test]
    fn a_union_is_the_filter_that_met_both() {
        for spec in ["bloom:k=3", "bloom:layout=partitioned"] {
            let (one, other, both) = (set(spec, 0..300), set(spec, 200..500), set(spec, 0..500));
            let (mut region, mut registers) = (one.region().to_vec(), one.registers().clone());
            one.filter()
                .unite(
                    &mut region,
                    &mut registers,
                    other.region(),
                    other.registers(),
                )
                .expect("a union");
            assert!(region == both.region());
            assert_eq!(registers.occupied(), both.registers().occupied());
            assert_eq!(registers.observations(), 600);
        }
        let forgets = set("stable", 0..10);
        let (mut region, mut registers) = (forgets.region().to_vec(), forgets.registers().clone());
        let refused = forgets.filter().unite(
            &mut region,
            &mut registers,
            forgets.region(),
            forgets.registers(),
        );
        assert!(refused.is_err_and(|reason| reason.contains("forgets")));
        assert!(region == forgets.region() && registers == *forgets.registers());
    }

    #[test]
    fn a_place_is_read_lowest_bit_first() {
        let place = Place::read("counter", 2, 6, 3, &[0b0100_0000, 0b0000_0001]);
        assert_eq!(place.value, 0b101);
    }

    #[test]
    fn one_way_is_enough_and_every_cell_of_it_is_needed() {
        let bits = |region: &[u8]| {
            let way = |bits: [u64; 2]| bits.map(|at| Place::read("bit", at, at, 1, region)).into();
            Evidence {
                row: 0,
                wanted: Wanted::InUse,
                links: Vec::new(),
                ways: vec![way([0, 1]), way([2, 3])],
            }
        };
        assert_eq!(bits(&[0b0110]).verdict(), Verdict::New);
        assert_eq!(bits(&[0b1101]).verdict(), Verdict::Seen);
        let mut fields = (0..2).map(|i| Place::read("field", i, 4 * i, 4, &[0x57]));
        let evidence = Evidence::any_equal(0, 5, &mut fields);
        assert_eq!(evidence.proof().map(|way| way[0].index), Some(1));
        assert_eq!(evidence.lacking(&evidence.ways[0]), 1);
    }
}
