//! A quotient filter: a compact table of fingerprints that can grow, forget and be merged.
//!
//! **Guarantee.** There are no false negatives until the table is full, at 98 % of its quotients.
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
//! **Growth.** With `doublings`=d the table starts with 1/2^d of the quotients. When it is full, it
//! grows by about a fifth; four times make a doubling. Then a bit of each fingerprint that belonged
//! to the remainder belongs to the quotient. Fingerprints start long enough to have `bits` left in a
//! table of the last size, so growth costs no accuracy. But a key then takes `bits` + d bits while
//! the table is small. With `longest`=l it takes at most l: keys that come later get longer
//! fingerprints, and a bit per slot tells them apart (`slot_key.rs`). Each doubling adds 2^(−l) to the
//! error, and a small table in a large memory needs no more bits per key than a large one.
//!
//! **Forgetting and merging.** The bytes follow from the set of fingerprints alone. To merge two
//! tables is to write both in order; a key is Seen by the result if and only if it was Seen by one of
//! them. If all fingerprints are equally long, the result is what one table would be that had
//! observed the keys of both. Removing a key also removes the others with the same fingerprint.
//!
//! **Paper.** Pandey, Bender, Johnson, Patro, "A General-Purpose Counting Filter: Making Every Bit
//! Count", 2017. Doubling by giving a remainder bit to the quotient: Bender and others, "Don't
//! Thrash: How to Cache Your Hash on Flash", 2012. Fingerprints of several lengths: Dayan, Bercea,
//! Reviriego, Pagh, "InfiniFilter: Expanding Filters to Infinity and Beyond", 2023; dividing those
//! that are too short: Dayan, Bercea, Pagh, "Aleph Filter: To Infinity in Constant Time", 2024.
//!
//! **Departure.** Any number of quotients, by multiplication instead of cutting bits, so that a table
//! grows in smaller steps than by doubling. Runs are sorted. The last size is known at creation, so
//! the fingerprints of the last doublings start long instead of becoming too short.

use std::sync::Arc;

use super::cache_lines::CACHE_LINE_BYTES;
use super::citation::Citation;
use super::descriptor::{Descriptor, Needs, Origin, PossibleErrors};
use super::drawing::Drawing;
use super::parameter::Parameter;
use super::quotient_block::{Blocks, MAX_WIDTH_BITS};
use super::quotient_evidence::evidence_of;
use super::quotient_local::Local;
use super::quotient_sizes::{SCALES, sizes};
use super::quotient_table::{QuotientTable, quotients_in_bytes};
use super::{
    BuildError, CannotGrow, CellLayout, Evidence, Filter, FilterSpec, Observation, Registers,
    Verdict,
};
use crate::fingerprint::Fingerprint;
use crate::region::{Region, SubRegion};
use crate::rng::Generator;
use crate::simd::Vectors;

/// The first byte of the region is the number of the present size, for those who have no registers.
/// The blocks begin with a cache line.
pub(super) const HEADER_BYTES: usize = CACHE_LINE_BYTES;
/// The fewest blocks of a table.
const FEWEST_BLOCKS: usize = 2;
/// A smaller table is not worth a doubling.
const FEWEST_QUOTIENTS: u64 = 64;
const MAX_BITS: u64 = 32;
const MAX_DOUBLINGS: u64 = 24;
/// Shorter fingerprints would be divided too often.
const LEAST_LONGEST: u64 = 12;
/// Fingerprints of all lengths fit into the slots of the first table, which are the widest.
const MAX_LONGEST: u64 = MAX_BITS + MAX_DOUBLINGS;
const _: () = assert!(MAX_LONGEST < MAX_WIDTH_BITS as u64);
// The number of a size fits into the header.
const _: () = assert!(MAX_DOUBLINGS as usize * SCALES.len() < 256);
/// The number of possible fingerprints is less than 2 to this power.
const FINGERPRINT_BITS: u32 = 62;
/// The register with the number of the present size.
pub(super) const SIZE: usize = 0;
/// The register with the number of keys that were New and could not be recorded.
pub(super) const UNRECORDED: usize = 1;
/// The register with the number of smallest parts of all keys that are Seen.
pub(super) const COVERED: usize = 2;

/// The geometry of a quotient filter: its tables, from the first size to the last.
#[derive(Clone, Debug)]
pub struct Quotient {
    pub(super) tables: Arc<[QuotientTable]>,
    /// Whether there is one table only, a [usual](QuotientTable::is_usual) one.
    pub(super) is_usual: bool,
    /// The last table once more, where the loop over a batch reads it without a detour.
    last: QuotientTable,
    pub(super) vectors: Vectors,
    region_bytes: u64,
    /// The number of bits of a fingerprint, behind the point, that stands for one smallest part.
    deepest: u32,
}

impl Quotient {
    #[inline(always)]
    pub(super) fn table(&self, registers: &Registers) -> &QuotientTable {
        match self.is_usual {
            true => &self.last,
            false => self.table_number(registers.own()[SIZE]),
        }
    }

    #[inline(always)]
    fn table_number(&self, size: u64) -> &QuotientTable {
        &self.tables[(size as usize).min(self.tables.len() - 1)]
    }

    /// Returns the present table, for those who have no registers.
    #[inline(always)]
    fn table_in(&self, region: &[u8]) -> &QuotientTable {
        self.table_number(region[0].into())
    }

    pub(super) fn last_table(&self) -> &QuotientTable {
        &self.last
    }

    /// Returns the number of smallest parts for which a fingerprint stands.
    #[inline(always)]
    pub(super) fn parts(&self, table: &QuotientTable, age: u32) -> u64 {
        1 << (self.deepest - table.depth() + age)
    }

    /// Counts a fingerprint that was recorded.
    #[inline(always)]
    pub(super) fn count_recorded(&self, registers: &mut Registers, table: &QuotientTable) {
        *registers.occupied_mut() += 1;
        registers.own_mut()[COVERED] += self.parts(table, 0);
    }

    /// Observes a key. The table is passed by value, so that its constants stay constants.
    #[inline(always)]
    fn observe_in<R: Region + ?Sized>(
        &self,
        table: QuotientTable,
        region: &mut R,
        registers: &mut Registers,
        Observation { fingerprint, .. }: Observation,
    ) -> Verdict {
        let body = &region.bytes()[HEADER_BYTES..];
        let place = match table.look_up(body, fingerprint, self.vectors) {
            Local::Held => return Verdict::Seen,
            Local::Absent(place) => Some(place),
            Local::Unknown => None,
        };
        let has_room = registers.occupied() < table.capacity();
        if let Some(place) = place.filter(|_| has_room)
            && table.insert_local(
                self.table(registers),
                &mut Self::body(region),
                place,
                self.vectors,
            )
        {
            self.count_recorded(registers, &table);
            return Verdict::New;
        }
        self.observe_in_blocks(region, registers, fingerprint)
    }

    /// Observes a key for which other blocks than that of its quotient are needed.
    #[cold]
    #[inline(never)]
    fn observe_in_blocks<R: Region + ?Sized>(
        &self,
        region: &mut R,
        registers: &mut Registers,
        fingerprint: Fingerprint,
    ) -> Verdict {
        let table = self.table(registers);
        let key = table.locate(fingerprint);
        let body = &region.bytes()[HEADER_BYTES..];
        let run = table.run(body, key.place().0);
        if table.holder(body, key, run).is_some() {
            return Verdict::Seen;
        }
        let has_room = registers.occupied() < table.capacity();
        if let Some(run) = run.filter(|_| has_room)
            && table.insert(&mut Self::body(region), key.place(), run, self.vectors)
        {
            self.count_recorded(registers, table);
        } else {
            self.record_in_larger(region, registers, fingerprint);
        }
        Verdict::New
    }

    /// Returns the region without its header.
    #[inline(always)]
    pub(super) fn body<R: Region + ?Sized>(region: &mut R) -> SubRegion<'_, R> {
        let length = region.bytes().len();
        SubRegion::new(region, HEADER_BYTES..length)
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
            Parameter::integer(
                "longest",
                "most bits stored for a key while the table is smaller than its last size",
                LEAST_LONGEST..=MAX_LONGEST,
                MAX_LONGEST,
            ),
        ],
    };

    const FORGETS: bool = true;
    const MERGES: bool = true;

    fn build(spec: &FilterSpec, memory_bits: u64) -> Result<Self, BuildError> {
        let [bits, doublings, longest] =
            ["bits", "doublings", "longest"].map(|name| spec.integer(name) as u32);
        let is_marked = longest < bits + doublings;
        let last = Blocks::new(bits + u32::from(is_marked));
        let least_bytes = (HEADER_BYTES + FEWEST_BLOCKS * last.bytes()) as u64;
        if memory_bits / 8 < least_bytes {
            return Err(BuildError::TooSmall {
                filter: spec.to_string(),
                memory_bits,
                minimum_bits: 8 * least_bytes,
            });
        }
        let quotients = quotients_in_bytes(memory_bits / 8 - HEADER_BYTES as u64, last);
        let bits = bits.min(FINGERPRINT_BITS - 1 - quotients.ilog2());
        let most = (quotients / FEWEST_QUOTIENTS).checked_ilog2().unwrap_or(0);
        let doublings = doublings.min(most);
        let first = quotients >> doublings;
        let tables = sizes(first, bits, doublings, longest, is_marked);
        let largest = tables.last().map_or(0, QuotientTable::bytes);
        Ok(Quotient {
            region_bytes: (HEADER_BYTES + largest) as u64,
            is_usual: matches!(&tables[..], [table] if table.is_usual()),
            last: tables.last().copied().unwrap_or(QuotientTable::NONE),
            tables: tables.into(),
            vectors: Vectors::Portable,
            deepest: FINGERPRINT_BITS - 1 - first.ilog2(),
        })
    }

    #[inline(always)]
    fn uses_vectors(&self) -> bool {
        true
    }

    #[inline(always)]
    fn with_vectors(&self, vectors: Vectors) -> Self {
        Quotient {
            tables: Arc::clone(&self.tables),
            vectors,
            ..*self
        }
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
        (0..table.blocks())
            .map(|block| u64::from(table.used(body, block)))
            .sum()
    }

    fn false_positive_rate(&self, registers: &Registers) -> f64 {
        let table = self.last_table();
        let parts = table.fingerprints() as f64 * self.parts(table, 0) as f64;
        (registers.own()[COVERED] as f64 / parts).min(1.0)
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
        match self.is_usual {
            true => self.observe_in(self.last.with_constants(), region, registers, observation),
            false => self.observe_in(*self.table(registers), region, registers, observation),
        }
    }

    #[inline(always)]
    fn contains(&self, region: &[u8], registers: &Registers, fingerprint: Fingerprint) -> Verdict {
        let table = self.table(registers);
        let body = &region[HEADER_BYTES..];
        match table.look_up(body, fingerprint, self.vectors) {
            Local::Held => Verdict::Seen,
            Local::Absent(_) => Verdict::New,
            Local::Unknown => Verdict::seen_if(table.find(body, fingerprint).is_some()),
        }
    }

    /// Other keys with the same fingerprint go with it.
    fn forget<R: Region + ?Sized>(
        &self,
        region: &mut R,
        registers: &mut Registers,
        fingerprint: Fingerprint,
    ) -> Verdict {
        let table = self.table(registers);
        let holder = table.find(&region.bytes()[HEADER_BYTES..], fingerprint);
        let removed = holder.and_then(|it| table.remove(&mut Self::body(region), it));
        let Some(age) = removed else {
            return Verdict::New;
        };
        *registers.occupied_mut() -= 1;
        registers.own_mut()[COVERED] -= self.parts(table, age);
        Verdict::Seen
    }

    fn cell_layout(&self) -> CellLayout {
        let widest = self.tables.iter().map(|it| it.layout().width_bits()).max();
        CellLayout {
            cell: "slot",
            content: "fingerprint",
            row: "run",
            row_cells: self.last_table().layout().slots().into(),
            max_value: 1 << widest.unwrap_or(0),
            loss: "not recorded, because the table was full",
        }
    }

    /// Returns the slot's value plus one.
    fn cell(&self, region: &[u8], index: u64) -> u64 {
        let (table, body) = (self.table_in(region), &region[HEADER_BYTES..]);
        match index < table.slots() && table.is_used(body, index) {
            true => 1 + table.layout().remainder(body, index),
            false => 0,
        }
    }

    fn evidence(&self, region: &[u8], registers: &Registers, fingerprint: Fingerprint) -> Evidence {
        let table = self.table(registers);
        evidence_of(table, region, HEADER_BYTES, table.locate(fingerprint))
    }

    /// Takes the union of what is Seen, and enlarges the table as often as it needs.
    fn merge(
        &self,
        region: &mut [u8],
        registers: &mut Registers,
        other: &[u8],
        other_registers: &Registers,
    ) -> Result<(), &'static str> {
        self.take_union(region, registers, other, other_registers)
    }

    /// With every doubling more, the last table has a bit less per remainder: together with the
    /// quotient, fingerprints are as long as before. So all tables up to the present last one stay
    /// the same, and twice as many keys have twice the error.
    fn grown(&self, spec: &FilterSpec, memory_bits: u64) -> Result<(FilterSpec, u64), CannotGrow> {
        let (bits, last) = (spec.integer("bits"), self.last_table());
        let larger = |more: u64| {
            let doublings = u64::from(last.level()) + more;
            let spec = spec.with("bits", &(bits - more).to_string()).ok()?;
            let spec = spec.with("doublings", &doublings.to_string()).ok()?;
            let memory_bits = 8 * (HEADER_BYTES as u64 + last.doubled(more as u32).needed_bytes());
            let larger = Self::build(&spec, memory_bits).ok()?;
            let same = larger.tables.starts_with(&self.tables);
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
        match self.is_usual {
            true => (self.last.with_constants()).prefetch(region, HEADER_BYTES, fingerprint),
            false => (self.table_in(region)).prefetch(region, HEADER_BYTES, fingerprint),
        }
    }

    /// If the last slots of a block are in use, the next block may be needed too. Below two thirds of
    /// the capacity, fewer than one block in twenty is so full, and looking for it takes longer than
    /// waiting for the next one.
    #[inline(always)]
    fn prefetch_dependent(
        &self,
        region: &[u8],
        registers: &Registers,
        _: Generator,
        fingerprint: Fingerprint,
    ) {
        let table = self.table(registers);
        if 3 * registers.occupied() < 2 * table.capacity() {
            return;
        }
        let body = &region[HEADER_BYTES..];
        match self.is_usual {
            true => (table.with_constants()).prefetch_next(body, fingerprint),
            false => table.prefetch_next(body, fingerprint),
        }
    }
}
