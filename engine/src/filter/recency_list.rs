//! An order of records by last use, in two links a record and two registers.
//!
//! Records lie at equal distances in the region. Each has two neighbouring links of four
//! bytes: to the record used next after it, and to the one used last before it. A link is a
//! record's number plus one, so zeros are an empty order. The filter's own registers 0 and 1
//! hold the links of the newest and the oldest record.

use super::Registers;
use crate::bytes::{read_u32, write_u32};
use crate::prefetch::prefetch;
use crate::region::Region;

const NEWEST: usize = 0;
const OLDEST: usize = 1;
/// The first register that is not taken by the order.
pub(super) const AFTER_ORDER: usize = 2;

/// Where the links lie.
#[derive(Clone, Copy, Debug)]
pub(super) struct Recency {
    /// The links of record 0: newer, then older.
    pub first_byte: usize,
    /// From one record to the next.
    pub stride_bytes: usize,
    /// How many records there are.
    pub count: u32,
}

impl Recency {
    /// The record that a link leads to. A link past the end leads nowhere, so that no
    /// region, whatever is in it, is read outside.
    #[inline(always)]
    pub fn record_of(&self, link: u64) -> Option<u32> {
        (1..=u64::from(self.count))
            .contains(&link)
            .then(|| (link - 1) as u32)
    }

    /// The record not used for the longest time.
    pub fn oldest(&self, registers: &Registers) -> Option<u32> {
        self.record_of(registers.own()[OLDEST])
    }

    /// Makes a record that is in the order the newest.
    #[inline(always)]
    pub fn renew<R: Region + ?Sized>(&self, region: &mut R, own: &mut Registers, record: u32) {
        if own.own()[NEWEST] != u64::from(record) + 1 {
            self.leave(region, own, record);
            self.enter(region, own, record);
        }
    }

    /// Makes a record that is not in the order the newest.
    pub fn enter<R: Region + ?Sized>(&self, region: &mut R, own: &mut Registers, record: u32) {
        let newest = own.own()[NEWEST];
        let at = self.newer_at(record);
        let links = region.bytes_mut(at..at + 8);
        write_u32(links, 0, 0);
        write_u32(links, 4, newest as u32);
        let link = u64::from(record) + 1;
        match self.record_of(newest) {
            Some(newest) => write_link(region, self.newer_at(newest), link),
            None => own.own_mut()[OLDEST] = link,
        }
        own.own_mut()[NEWEST] = link;
    }

    /// Takes a record out of the order.
    pub fn leave<R: Region + ?Sized>(&self, region: &mut R, own: &mut Registers, record: u32) {
        let at = self.newer_at(record);
        let newer = u64::from(read_u32(region.bytes(), at));
        let older = u64::from(read_u32(region.bytes(), at + 4));
        match self.record_of(newer) {
            Some(newer) => write_link(region, self.newer_at(newer) + 4, older),
            None => own.own_mut()[NEWEST] = older,
        }
        match self.record_of(older) {
            Some(older) => write_link(region, self.newer_at(older), newer),
            None => own.own_mut()[OLDEST] = newer,
        }
    }

    /// Asks for the records that change when this one leaves.
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
