//! A list of records in the order of their last use, as a doubly linked list in the region.
//!
//! The records lie at equal distances. Each contains two links of four bytes: to the record
//! that was used next after it, and to the record that was used last before it. A link is the
//! record's number plus one, so zeroed bytes are an empty list. The filter's own registers 0
//! and 1 hold the links to the newest and the oldest record.

use super::Registers;
use crate::bytes::{read_u32, write_u32};
use crate::prefetch::prefetch;
use crate::region::Region;

const NEWEST: usize = 0;
const OLDEST: usize = 1;

/// Where the links are in the region.
#[derive(Clone, Copy, Debug)]
pub(super) struct RecencyList {
    /// The offset of the links of record 0: newer, then older.
    pub first_byte: usize,
    /// The distance from one record to the next.
    pub stride_bytes: usize,
    /// The number of records.
    pub count: u32,
}

impl RecencyList {
    /// How many of the filter's own registers the list takes.
    pub const REGISTERS: usize = 2;

    /// Returns the record of a link; None for an empty link and for one beyond the last record,
    /// so that a damaged region never causes a read outside it.
    #[inline(always)]
    pub fn record_of(&self, link: u64) -> Option<u32> {
        (1..=u64::from(self.count))
            .contains(&link)
            .then(|| (link - 1) as u32)
    }

    /// Returns the least recently used record.
    pub fn oldest(&self, registers: &Registers) -> Option<u32> {
        self.record_of(registers.own()[OLDEST])
    }

    /// Makes a record of the list the newest.
    #[inline(always)]
    pub fn touch<R: Region + ?Sized>(
        &self,
        region: &mut R,
        registers: &mut Registers,
        record: u32,
    ) {
        if registers.own()[NEWEST] != u64::from(record) + 1 {
            self.remove(region, registers, record);
            self.push_newest(region, registers, record);
        }
    }

    /// Adds a record that is not in the list, as the newest.
    pub fn push_newest<R: Region + ?Sized>(
        &self,
        region: &mut R,
        registers: &mut Registers,
        record: u32,
    ) {
        let newest = registers.own()[NEWEST];
        let at = self.newer_at(record);
        let links = region.bytes_mut(at..at + 8);
        write_u32(links, 0, 0);
        write_u32(links, 4, newest as u32);
        let link = u64::from(record) + 1;
        match self.record_of(newest) {
            Some(newest) => write_link(region, self.newer_at(newest), link),
            None => registers.own_mut()[OLDEST] = link,
        }
        registers.own_mut()[NEWEST] = link;
    }

    /// Removes a record from the list.
    pub fn remove<R: Region + ?Sized>(
        &self,
        region: &mut R,
        registers: &mut Registers,
        record: u32,
    ) {
        let at = self.newer_at(record);
        let newer = u64::from(read_u32(region.bytes(), at));
        let older = u64::from(read_u32(region.bytes(), at + 4));
        match self.record_of(newer) {
            Some(newer) => write_link(region, self.newer_at(newer) + 4, older),
            None => registers.own_mut()[NEWEST] = older,
        }
        match self.record_of(older) {
            Some(older) => write_link(region, self.newer_at(older), newer),
            None => registers.own_mut()[OLDEST] = newer,
        }
    }

    /// Replaces a record of the list by another one, whose links the caller copies.
    pub fn relocate<R: Region + ?Sized>(
        &self,
        region: &mut R,
        registers: &mut Registers,
        from: u32,
        to: u32,
    ) {
        let at = self.newer_at(from);
        let newer = u64::from(read_u32(region.bytes(), at));
        let older = u64::from(read_u32(region.bytes(), at + 4));
        let link = u64::from(to) + 1;
        match self.record_of(newer) {
            Some(newer) => write_link(region, self.newer_at(newer) + 4, link),
            None => registers.own_mut()[NEWEST] = link,
        }
        match self.record_of(older) {
            Some(older) => write_link(region, self.newer_at(older), link),
            None => registers.own_mut()[OLDEST] = link,
        }
    }

    /// Returns every record, the least recently used first.
    pub fn oldest_first(&self, region: &[u8], registers: &Registers) -> Vec<u32> {
        let next = |&record: &u32| {
            let newer = read_u32(region, self.newer_at(record));
            self.record_of(u64::from(newer))
        };
        // Bounded, because the list of a damaged region may be a circle.
        std::iter::successors(self.oldest(registers), next)
            .take(self.count as usize)
            .collect()
    }

    /// Prefetches the records that change when this one is removed.
    #[inline(always)]
    pub fn prefetch_neighbours(&self, region: &[u8], record: u32) {
        let at = self.newer_at(record);
        for link in [read_u32(region, at), read_u32(region, at + 4)] {
            if let Some(neighbour) = self.record_of(u64::from(link)) {
                prefetch(region, self.newer_at(neighbour));
            }
        }
    }

    #[inline(always)]
    fn newer_at(&self, record: u32) -> usize {
        self.first_byte + record as usize * self.stride_bytes
    }
}

#[inline(always)]
fn write_link<R: Region + ?Sized>(region: &mut R, at: usize, link: u64) {
    write_u32(region.bytes_mut(at..at + 4), 0, link as u32);
}
