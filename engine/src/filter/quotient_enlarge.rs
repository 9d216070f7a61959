//! Enlarges a quotient filter inside its memory, for more keys or for those of another filter.

use super::Registers;
use super::quotient::{COVERED, HEADER_BYTES, Quotient, SIZE, UNRECORDED};
use super::quotient_rebuild::{count_union, rebuild};
use super::quotient_table::QuotientTable;
use crate::fingerprint::Fingerprint;
use crate::region::Region;

impl Quotient {
    /// Enlarges the table until a new key has room, and records it. If it has none in a table of
    /// the last size either, the key is only counted.
    #[cold]
    #[inline(never)]
    pub(super) fn record_in_larger<R: Region + ?Sized>(
        &self,
        region: &mut R,
        registers: &mut Registers,
        fingerprint: Fingerprint,
    ) {
        while self.enlarge(region, registers) {
            let table = *self.table(registers);
            let key = table.locate(fingerprint).place();
            if registers.occupied() < table.capacity()
                && let Some(run) = table.run(&region.bytes()[HEADER_BYTES..], key.0)
                && table.insert(&mut Self::body(region), key, run, self.vectors)
            {
                return self.count_recorded(registers, &table);
            }
        }
        registers.own_mut()[UNRECORDED] += 1;
    }

    /// Enlarges the table to the next size that has a slot for every fingerprint. Returns false if
    /// there is none.
    fn enlarge<R: Region + ?Sized>(&self, region: &mut R, registers: &mut Registers) -> bool {
        let (present, from) = (registers.own()[SIZE] as usize, *self.table(registers));
        let body = &region.bytes()[HEADER_BYTES..];
        let larger = (present + 1..self.tables.len()).find_map(|size| {
            let to = self.tables[size];
            if from.surely_fits_into(body, &to) {
                return Some((size, registers.occupied()));
            }
            let content = count_union([from, QuotientTable::NONE], [body, &[]], to);
            content.fits.then_some((size, content.count))
        });
        let Some((size, count)) = larger else {
            return false;
        };
        let to = self.tables[size];
        let bytes = region.bytes_mut(0..HEADER_BYTES + to.bytes());
        rebuild(
            &mut bytes[HEADER_BYTES..],
            from,
            to,
            (QuotientTable::NONE, &[]),
        );
        Self::set_size(bytes, registers, size);
        *registers.occupied_mut() = count;
        true
    }

    fn set_size(bytes: &mut [u8], registers: &mut Registers, size: usize) {
        bytes[0] = size as u8;
        registers.own_mut()[SIZE] = size as u64;
    }

    /// Takes the union of what is Seen, and enlarges the table as often as it needs.
    pub(super) fn take_union(
        &self,
        region: &mut [u8],
        registers: &mut Registers,
        other: &[u8],
        other_registers: &Registers,
    ) -> Result<(), &'static str> {
        let (own, others) = (*self.table(registers), *self.table(other_registers));
        let (body, other) = (&region[HEADER_BYTES..], &other[HEADER_BYTES..]);
        let least = registers.own()[SIZE].max(other_registers.own()[SIZE]) as usize;
        let found = (least..self.tables.len()).find_map(|size| {
            let table = self.tables[size];
            let content = count_union([own, others], [body, other], table);
            (content.fits && content.count <= table.capacity()).then_some((size, content))
        });
        let Some((size, content)) = found else {
            return Err("together they hold more keys than the table has room for");
        };
        let table = self.tables[size];
        rebuild(&mut region[HEADER_BYTES..], own, table, (others, other));
        Self::set_size(region, registers, size);
        *registers.occupied_mut() = content.count;
        registers.own_mut()[COVERED] = content.parts * self.parts(&table, 0);
        registers.own_mut()[UNRECORDED] += other_registers.own()[UNRECORDED];
        registers.count_others(other_registers);
        Ok(())
    }
}
