//! A quotient filter: a compact table of fingerprints that can grow, forget and be merged.
//!
//! **Guarantee.** There are no false negatives until the table is full, at 95 % of its quotients.
//! The false positive rate is the number of keys divided by the number of possible fingerprints,
//! exactly. A full table still reports new keys as New but cannot record them, so their repeats
//! are New again; it never drops more keys than before.
//!
//! **When to use it.** There are ten or more bits for each distinct key; or the number of keys is
//! unknown, keys must be removed, or two filters must be merged. At 16 bits per key a quarter as
//! many keys are dropped at the end as by a Bloom filter, at 32 bits one in sixty.
//!
//! **How it works.** Cut the fingerprint 110|0101 into a quotient, 110, and a remainder, 0101. The
//! remainder is stored in slot 110, or in one of the next if that is taken. Two bits per slot and a
//! byte per 64 slots are enough to find the remainders of each quotient
//! (`quotient_table.rs`). A key is Seen if its remainder is among those of its quotient.
//!
//! **Growth.** With `doublings`=d the table starts with 1/2^d of the quotients, and with remainders
//! that are d bits longer. When it is full, it doubles: the first bit of each remainder becomes the
//! last bit of the quotient. At every size it holds the same fingerprints, so growth costs no
//! accuracy: the error is that of a table that was made for the last size, whatever the number of
//! doublings.
//!
//! **Forgetting and merging.** The bytes follow from the set of fingerprints alone. To merge two
//! tables is to write both in order; the result is what one table would be that had observed the
//! keys of both. Removing a key also removes the others with the same fingerprint.
//!
//! **Paper.** Pandey, Bender, Johnson, Patro, "A General-Purpose Counting Filter: Making Every Bit
//! Count", 2017. Doubling by giving a remainder bit to the quotient: Bender and others, "Don't
//! Thrash: How to Cache Your Hash on Flash", 2012.
//!
//! **Departure.** Any number of quotients, by multiplication instead of cutting bits. Runs are
//! sorted. The last size is known at creation, so fingerprints start long instead of becoming too
//! short, as those of filters without a last size do.

use super::citation::Citation;
use super::descriptor::{Descriptor, Needs, Origin, PossibleErrors};
use super::drawing::Drawing;
use super::parameter::Parameter;
use super::quotient_block::{MAX_WIDTH_BITS, SLOTS};
use super::quotient_rebuild::{count_union, double, rebuild};
use super::quotient_table::{QuotientTable, quotients_in};
use super::{
    BuildError, CannotGrow, CellLayout, Evidence, EvidenceCell, Filter, FilterSpec, Observation,
    Registers, Verdict,
};
use crate::fingerprint::Fingerprint;
use crate::prefetch::prefetch;
use crate::region::{Region, SubRegion};
use crate::rng::Generator;

/// The first byte of the region is the number of doublings so far, for those who have no registers.
const HEADER_BYTES: usize = 1;
/// A smaller table is not worth a doubling.
const FEWEST_QUOTIENTS: u64 = SLOTS;
const MAX_BITS: u64 = 32;
const MAX_DOUBLINGS: u64 = 24;
// The remainders of the first table are the longest.
const _: () = assert!(MAX_BITS + MAX_DOUBLINGS <= MAX_WIDTH_BITS as u64);
/// The register with the number of doublings so far.
const DOUBLED: usize = 0;
/// The register with the number of keys that were New and could not be recorded.
const UNRECORDED: usize = 1;

/// The geometry of a quotient filter: its tables, from the first size to the last.
#[derive(Clone, Debug)]
pub struct Quotient {
    tables: Box<[QuotientTable]>,
    region_bytes: u64,
}

impl Quotient {
    #[inline(always)]
    fn table(&self, registers: &Registers) -> &QuotientTable {
        self.table_number(registers.own()[DOUBLED])
    }

    #[inline(always)]
    fn table_number(&self, doubled: u64) -> &QuotientTable {
        &self.tables[(doubled as usize).min(self.tables.len() - 1)]
    }

    /// Returns the present table, for those who have no registers.
    #[inline(always)]
    fn table_in(&self, region: &[u8]) -> &QuotientTable {
        self.table_number(region[0].into())
    }

    /// Returns how often the first table can double.
    pub(super) fn doublings(&self) -> u64 {
        self.tables.len() as u64 - 1
    }

    fn last_table(&self) -> &QuotientTable {
        self.table_number(u64::MAX)
    }

    /// Returns the number of keys for which the last table is made.
    pub(crate) fn capacity(&self) -> u64 {
        self.last_table().capacity()
    }

    /// Returns the number of possible fingerprints.
    pub(crate) fn fingerprints(&self) -> f64 {
        let last = self.last_table();
        let remainders = libm::exp2(f64::from(last.layout().width_bits));
        // Two keys with the same 64 bits cannot be distinguished in any case.
        (last.quotients() as f64 * remainders).min(libm::exp2(64.0))
    }

    /// Doubles the table until a new key has room, and records it. If it has none in a table of
    /// the last size either, the key is only counted.
    #[cold]
    #[inline(never)]
    fn record_in_larger<R: Region + ?Sized>(
        &self,
        region: &mut R,
        registers: &mut Registers,
        fingerprint: Fingerprint,
    ) {
        while self.double(region, registers) {
            let table = *self.table(registers);
            let key = table.locate(fingerprint);
            if let Some(run) = table.run(&region.bytes()[HEADER_BYTES..], key.0)
                && table.insert(&mut Self::body(region), key, run)
            {
                *registers.occupied_mut() += 1;
                return;
            }
        }
        registers.own_mut()[UNRECORDED] += 1;
    }

    /// Returns the region without its header.
    #[inline(always)]
    fn body<R: Region + ?Sized>(region: &mut R) -> SubRegion<'_, R> {
        let length = region.bytes().len();
        SubRegion::new(region, HEADER_BYTES..length)
    }

    /// Doubles the table. Returns false if it has its last size.
    fn double<R: Region + ?Sized>(&self, region: &mut R, registers: &mut Registers) -> bool {
        let doubled = registers.own()[DOUBLED];
        let sizes = self.tables.get(doubled as usize..);
        let Some(&[from, to, ..]) = sizes else {
            return false;
        };
        let bytes = region.bytes_mut(0..HEADER_BYTES + to.bytes());
        double(&mut bytes[HEADER_BYTES..], from, to);
        Self::set_doubled(bytes, registers, doubled + 1);
        true
    }

    fn set_doubled(bytes: &mut [u8], registers: &mut Registers, doubled: u64) {
        bytes[0] = doubled as u8;
        registers.own_mut()[DOUBLED] = doubled;
    }
}

impl Filter for Quotient {
    const DESCRIPTOR: Descriptor = Descriptor {
        name: "quotient",
        title: "Quotient filter",
        summary: "Keeps a fingerprint of each key in a compact sorted table, which can grow, \
                  forget a key and be merged.",
        promise: "There are no false negatives until the table is full; the false positive rate \
                  is the number of keys divided by the number of possible fingerprints. A full \
                  table reports new keys as New but does not remember them.",
        choose_when: "There are ten or more bits for each distinct key, the number of keys is \
                      unknown, or keys must be removed.",
        errors: PossibleErrors::Both,
        needs: Needs::NONE,
        origin: Origin::Literature,
        source: Citation {
            authors: "P. Pandey, M. A. Bender, R. Johnson, R. Patro",
            title: "A General-Purpose Counting Filter: Making Every Bit Count",
            year: 2017,
        },
        advised_because: "a table of fingerprints drops the fewest keys in this memory, and \
                          forgets none as long as there are no more keys than expected",
        drawing: Drawing {
            before: &["ab.d.fg."],
            after: &["abxd.fg."],
            caption: "The fingerprint of a new key is put into its slot. If that is taken, the \
                      next ones move up.",
        },
        parameters: &[
            Parameter::integer(
                "bits",
                "bits stored for each key, besides about two for its place",
                1..=MAX_BITS,
                13,
            ),
            Parameter::integer(
                "doublings",
                "how often the table can double; it starts with 1/2^doublings of its size",
                0..=MAX_DOUBLINGS,
                0,
            ),
        ],
    };

    const FORGETS: bool = true;
    const MERGES: bool = true;

    fn build(spec: &FilterSpec, memory_bits: u64) -> Result<Self, BuildError> {
        let width_bits = spec.integer("bits") as u32;
        let smallest = QuotientTable::new(1, width_bits);
        let bytes = (memory_bits / 8).saturating_sub(HEADER_BYTES as u64);
        let blocks = bytes / smallest.layout().bytes() as u64;
        if blocks == 0 {
            return Err(BuildError::TooSmall {
                filter: spec.to_string(),
                memory_bits,
                minimum_bits: 8 * (HEADER_BYTES + smallest.layout().bytes()) as u64,
            });
        }
        let quotients = quotients_in(blocks * SLOTS);
        let most = (quotients / FEWEST_QUOTIENTS).checked_ilog2().unwrap_or(0);
        let doublings = (spec.integer("doublings") as u32).min(most);
        let first = quotients >> doublings;
        let sizes = (0..=doublings)
            .map(|doubled| QuotientTable::new(first << doubled, width_bits + doublings - doubled));
        let tables: Box<[QuotientTable]> = sizes.collect();
        let largest = tables.iter().map(|table| table.bytes()).max();
        Ok(Quotient {
            region_bytes: (HEADER_BYTES + largest.unwrap_or(0)) as u64,
            tables,
        })
    }

    fn region_bytes(&self) -> u64 {
        self.region_bytes
    }

    fn used_bytes(&self, registers: &Registers) -> u64 {
        (HEADER_BYTES + self.table(registers).bytes()) as u64
    }

    fn cells(&self) -> u64 {
        self.last_table().slots()
    }

    fn recount(&self, region: &[u8]) -> u64 {
        let table = self.table_in(region);
        let body = &region[HEADER_BYTES..];
        (0..table.slots())
            .filter(|&slot| table.is_used(body, slot))
            .count() as u64
    }

    fn false_positive_rate(&self, registers: &Registers) -> f64 {
        (registers.occupied() as f64 / self.fingerprints()).min(1.0)
    }

    fn comfortable_load(&self) -> Option<f64> {
        Some(self.capacity() as f64 / self.cells() as f64)
    }

    fn load_is_proportional(&self) -> bool {
        true
    }

    fn may_have_forgotten(&self, _: &[u8], registers: &Registers, _: Fingerprint) -> bool {
        registers.own()[UNRECORDED] > 0
    }

    fn cache_lines_touched(&self) -> u32 {
        2
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
        let table = *self.table(registers);
        let key = table.locate(observation.fingerprint);
        let body = &region.bytes()[HEADER_BYTES..];
        let run = table.run(body, key.0);
        if run.is_some_and(|run| table.holds(body, run, key.1)) {
            return Verdict::Seen;
        }
        let has_room = registers.occupied() < table.capacity();
        if let Some(run) = run.filter(|_| has_room)
            && table.insert(&mut Self::body(region), key, run)
        {
            *registers.occupied_mut() += 1;
        } else {
            self.record_in_larger(region, registers, observation.fingerprint);
        }
        Verdict::New
    }

    #[inline(always)]
    fn contains(&self, region: &[u8], registers: &Registers, fingerprint: Fingerprint) -> Verdict {
        let table = self.table(registers);
        let (quotient, remainder) = table.locate(fingerprint);
        let body = &region[HEADER_BYTES..];
        let run = table.run(body, quotient);
        Verdict::seen_if(run.is_some_and(|run| table.holds(body, run, remainder)))
    }

    /// Other keys with the same fingerprint go with it.
    fn forget<R: Region + ?Sized>(
        &self,
        region: &mut R,
        registers: &mut Registers,
        fingerprint: Fingerprint,
    ) -> Verdict {
        let table = self.table(registers);
        let removed = table.remove(&mut Self::body(region), table.locate(fingerprint));
        *registers.occupied_mut() -= u64::from(removed);
        Verdict::seen_if(removed)
    }

    fn cell_layout(&self) -> CellLayout {
        let widest = self.tables[0].layout().width_bits;
        CellLayout {
            cell: "slot",
            content: "fingerprint",
            row: "run",
            row_cells: SLOTS,
            max_value: 1 << widest,
            loss: "not recorded, because the table was full",
        }
    }

    /// Returns the remainder plus one.
    fn cell(&self, region: &[u8], index: u64) -> u64 {
        let (table, body) = (self.table_in(region), &region[HEADER_BYTES..]);
        match index < table.slots() && table.is_used(body, index) {
            true => 1 + table.layout().remainder(body, index),
            false => 0,
        }
    }

    /// The metadata of the blocks that lead to the run are links.
    fn evidence(&self, region: &[u8], registers: &Registers, fingerprint: Fingerprint) -> Evidence {
        let (table, body) = (self.table(registers), &region[HEADER_BYTES..]);
        let (quotient, remainder) = table.locate(fingerprint);
        let (layout, own) = (table.layout(), quotient / SLOTS);
        let run = table.run(body, quotient);
        let slots = run.map_or(0..0, |run| run.slots());
        let slot = |index| EvidenceCell {
            index,
            offset_bits: 8 * HEADER_BYTES as u64 + layout.slot_bit(index),
            width_bits: layout.width_bits,
            meaning: "slot",
            value: 1 + layout.remainder(body, index),
        };
        let mut evidence =
            Evidence::any_equal(quotient, 1 + remainder, &mut slots.clone().map(slot));
        let first = table.last_short_offset(body, own).unwrap_or(0);
        // Where a run ends is also read if the quotient has none.
        let last = match run {
            Some(run) => (run.end.max(quotient + 1) - 1) / SLOTS,
            None => table.blocks() - 1,
        };
        let mut link = |meaning, block: u64, at: usize, width_bits| {
            let offset_bits = 8 * (HEADER_BYTES + at) as u64;
            let index = block * SLOTS;
            let cell = EvidenceCell::read(meaning, index, offset_bits, width_bits, region);
            evidence.links.push(cell);
        };
        for block in first..=own {
            link("offset", block, layout.offset_at(block), 8);
            link("occupied bits", block, layout.occupied_at(block), 64);
        }
        for block in first..=last {
            link("run ends", block, layout.ends_at(block), 64);
        }
        evidence
    }

    /// Takes the union of the fingerprints, and doubles the table as often as it needs.
    fn merge(
        &self,
        region: &mut [u8],
        registers: &mut Registers,
        other: &[u8],
        other_registers: &Registers,
    ) -> Result<(), &'static str> {
        let (own, others) = (*self.table(registers), *self.table(other_registers));
        let other = &other[HEADER_BYTES..];
        let least = registers.own()[DOUBLED].max(other_registers.own()[DOUBLED]);
        let sizes = self.tables.get(least as usize..).unwrap_or(&[]);
        let (count, fits) = count_union([own, others], [&region[HEADER_BYTES..], other], sizes);
        let size = sizes
            .iter()
            .zip(fits)
            .position(|(size, fits)| fits && count <= size.capacity());
        let Some(size) = size else {
            return Err("together they hold more keys than the table has room for");
        };
        rebuild(
            &mut region[HEADER_BYTES..],
            own,
            sizes[size],
            (others, other),
        );
        Self::set_doubled(region, registers, least + size as u64);
        *registers.occupied_mut() = count;
        registers.own_mut()[UNRECORDED] += other_registers.own()[UNRECORDED];
        registers.count_others(other_registers);
        Ok(())
    }

    /// With every doubling more, the last table has a bit less per remainder: together with the
    /// quotient, fingerprints are as long as before. So all tables up to the present last one stay
    /// the same, and twice as many keys have twice the error.
    fn grown(&self, spec: &FilterSpec, memory_bits: u64) -> Result<(FilterSpec, u64), CannotGrow> {
        let (bits, first) = (spec.integer("bits"), self.tables[0].quotients());
        let larger = |more: u64| {
            let doublings = self.doublings() + more;
            let last = QuotientTable::new(first << doublings, (bits - more) as u32);
            let spec = spec.with("bits", &(bits - more).to_string()).ok()?;
            let spec = spec.with("doublings", &doublings.to_string()).ok()?;
            let memory_bits = 8 * (HEADER_BYTES + last.bytes()) as u64;
            let larger = Self::build(&spec, memory_bits).ok()?;
            let sizes = |tables: &[QuotientTable]| -> Vec<(u64, u32)> {
                let size = |it: &QuotientTable| (it.quotients(), it.layout().width_bits);
                tables.iter().map(size).collect()
            };
            let same = sizes(&larger.tables).starts_with(&sizes(&self.tables));
            same.then_some((spec, memory_bits.max(8 * larger.region_bytes)))
        };
        let possible: Vec<_> = (1..bits).map_while(larger).collect();
        let fits = possible.iter().rev().find(|(_, bits)| *bits <= memory_bits);
        match (fits, possible.first()) {
            (Some(fits), _) => Ok(fits.clone()),
            (None, Some(&(_, minimum_bits))) => Err(CannotGrow::NeedsMemory { minimum_bits }),
            (None, None) => Err(CannotGrow::Exhausted),
        }
    }

    #[inline(always)]
    fn prefetch(&self, region: &[u8], _: Generator, fingerprint: Fingerprint) {
        let table = self.table_in(region);
        let (quotient, _) = table.locate(fingerprint);
        let layout = table.layout();
        let block = HEADER_BYTES + layout.offset_at(quotient / SLOTS);
        let slot = HEADER_BYTES + (layout.slot_bit(quotient) / 8) as usize;
        prefetch(region, block);
        prefetch(region, block + 16);
        prefetch(region, slot + 8);
    }

    /// The more slots the runs before a block reach into it, the further away is a free slot.
    #[inline(always)]
    fn prefetch_dependent(
        &self,
        region: &[u8],
        registers: &Registers,
        _: Generator,
        fingerprint: Fingerprint,
    ) {
        let table = self.table(registers);
        let (quotient, _) = table.locate(fingerprint);
        let layout = table.layout();
        let block = HEADER_BYTES + layout.offset_at(quotient / SLOTS);
        if quotient % SLOTS + 8 * u64::from(region[block]) >= SLOTS {
            prefetch(region, block + layout.bytes());
            prefetch(region, block + layout.bytes() + 16);
        }
    }
}
