//! A bounded set of fingerprints that forgets by recency, with its index in the region.
//!
//! A slot a key. Slots are found through chains: bucket b of `capacity` heads leads to a
//! slot, and each slot to the next of its bucket. A link is a slot's number plus one, so
//! zeros are an empty table. Slots fill in order; from then on each new key takes the slot
//! of the key that the policy gives up.
//!
//! | policy | slot | the rest |
//! |---|---|---|
//! | lru | fingerprint, next in bucket, newer, older: 20 bytes | heads, 4 bytes each |
//! | clock | fingerprint, next in bucket (top bit: met again): 12 bytes | heads, 4 bytes each |
//!
//! The filter's own registers: those of the [order](super::recency), or the clock's hand.

use super::recency::Recency;
use super::{Anatomy, BuildError, Evidence, FilterSpec, Place, Registers, Verdict};
use crate::bytes::{read_u32, read_u64, write_u32, write_u64};
use crate::fingerprint::{Fingerprint, reduce};
use crate::prefetch::prefetch;
use crate::region::Region;

/// Whom a full table gives up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Policy {
    /// The key not met for the longest time.
    Lru,
    /// The next key, going round, that was not met again since the last round.
    Clock,
}

/// The geometry of a table.
#[derive(Clone, Copy, Debug)]
pub(super) struct BufferTable {
    capacity: u32,
    policy: Policy,
}

const HEAD_BYTES: u64 = 4;
const CHAIN: usize = 8;
const ORDER: usize = 12;
/// In a clock's chain field: the key was met again.
const MET_AGAIN: u32 = 1 << 31;
const MAX_CAPACITY: u64 = (1 << 31) - 1;

const HAND: usize = 0;

impl BufferTable {
    /// As many slots as the memory has room for, of a spec with a `policy`.
    pub fn build(spec: &FilterSpec, memory_bits: u64) -> Result<Self, BuildError> {
        let mut table = BufferTable {
            capacity: 1,
            policy: match spec.is_choice("policy", "clock") {
                true => Policy::Clock,
                false => Policy::Lru,
            },
        };
        let key_bits = table.key_bits();
        match memory_bits / key_bits {
            0 => Err(BuildError::TooSmall {
                filter: spec.to_string(),
                memory_bits,
                minimum_bits: key_bits,
            }),
            capacity if capacity <= MAX_CAPACITY => {
                table.capacity = capacity as u32;
                Ok(table)
            }
            _ => Err(BuildError::TooLarge {
                filter: spec.to_string(),
                memory_bits,
                maximum_bits: MAX_CAPACITY * key_bits,
            }),
        }
    }

    /// What a key takes, its share of the index included.
    pub fn key_bits(&self) -> u64 {
        8 * (self.slot_bytes() as u64 + HEAD_BYTES)
    }

    pub fn capacity(&self) -> u64 {
        u64::from(self.capacity)
    }

    pub fn region_bytes(&self) -> u64 {
        self.capacity() * self.key_bits() / 8
    }

    /// A new key in a full table: its bucket's head, the slot given up, that key's bucket,
    /// and with `lru` the neighbours in the order.
    pub fn lines_touched(&self) -> u32 {
        match self.policy {
            Policy::Lru => 5,
            Policy::Clock => 3,
        }
    }

    /// How many slots are in use: those that a chain leads to.
    pub fn recount(&self, region: &[u8]) -> u64 {
        let chains = (0..self.capacity()).map(|bucket| {
            let mut length = 0;
            let mut link = self.slot_of(read_u32(region, self.head_at(bucket)));
            while let Some(slot) = link {
                length += 1;
                link = self.next(region, slot);
            }
            length
        });
        chains.sum()
    }

    pub fn contains(&self, region: &[u8], fingerprint: Fingerprint) -> Verdict {
        match self.find(region, fingerprint) {
            Some(_) => Verdict::Seen,
            None => Verdict::New,
        }
    }

    /// Looks a key up, and keeps it as the latest.
    #[inline(always)]
    pub fn observe<R: Region + ?Sized>(
        &self,
        region: &mut R,
        registers: &mut Registers,
        fingerprint: Fingerprint,
    ) -> Verdict {
        if let Some(slot) = self.find(region.bytes(), fingerprint) {
            self.renew(region, registers, slot);
            return Verdict::Seen;
        }
        let slot = match registers.occupied() < self.capacity() {
            true => {
                *registers.occupied_mut() += 1;
                (registers.occupied() - 1) as u32
            }
            false => {
                let victim = self.give_up(region, registers);
                self.leave_bucket(region, victim);
                victim
            }
        };
        self.enter(region, registers, slot, fingerprint);
        Verdict::New
    }

    /// The slots, to be looked at.
    pub fn anatomy(&self) -> Anatomy {
        Anatomy {
            cell: "slot",
            content: "fingerprint",
            row: "buffer",
            row_cells: self.capacity(),
            most: u64::MAX,
            loss: "given up for newer keys",
        }
    }

    /// A slot, to be looked at.
    pub fn cell(&self, region: &[u8], index: u64) -> u64 {
        read_u64(region, self.at(index as u32))
    }

    /// The chain of a key's bucket, to be looked at.
    pub fn evidence(&self, region: &[u8], fingerprint: Fingerprint) -> Evidence {
        let bucket = self.bucket_of(fingerprint);
        let mut evidence = Evidence::any_equal(bucket, fingerprint.0, &mut std::iter::empty());
        let mut offset_bits = 8 * self.head_at(bucket) as u64;
        let mut link = Place::read("head", bucket, offset_bits, 32, region);
        // No chain is longer than the table, unless the region is damaged.
        for _ in 0..=self.capacity {
            let next = self.slot_of(link.value as u32);
            evidence.links.push(link);
            let Some(slot) = next else {
                break;
            };
            offset_bits = 8 * self.at(slot) as u64;
            let cell = Place::read("slot", u64::from(slot), offset_bits, 64, region);
            evidence.ways.push(vec![cell]);
            offset_bits += 8 * CHAIN as u64;
            link = Place::read("link", u64::from(slot), offset_bits, 32, region);
        }
        evidence
    }

    /// Only the head of the chain: where the slots lie is known once it has come.
    #[inline(always)]
    pub fn prefetch(&self, region: &[u8], fingerprint: Fingerprint) {
        prefetch(region, self.head_at(self.bucket_of(fingerprint)));
    }

    /// The first slot of the chain.
    #[inline(always)]
    pub fn prefetch_further(&self, region: &[u8], fingerprint: Fingerprint) {
        let head = self.head_at(self.bucket_of(fingerprint));
        if let Some(slot) = self.slot_of(read_u32(region, head)) {
            prefetch(region, self.at(slot));
        }
    }

    fn slot_bytes(&self) -> usize {
        match self.policy {
            Policy::Lru => 20,
            Policy::Clock => 12,
        }
    }

    #[inline(always)]
    fn order(&self) -> Recency {
        Recency {
            first_byte: ORDER,
            stride_bytes: self.slot_bytes(),
            count: self.capacity,
        }
    }

    #[inline(always)]
    fn at(&self, slot: u32) -> usize {
        slot as usize * self.slot_bytes()
    }

    #[inline(always)]
    fn head_at(&self, bucket: u64) -> usize {
        self.at(self.capacity) + (bucket * HEAD_BYTES) as usize
    }

    #[inline(always)]
    fn bucket_of(&self, fingerprint: Fingerprint) -> u64 {
        reduce(fingerprint.0, self.capacity())
    }

    /// The slot that a link leads to. A link past the end leads nowhere, so that no region,
    /// whatever is in it, is read outside.
    #[inline(always)]
    fn slot_of(&self, link: u32) -> Option<u32> {
        let link = link & !MET_AGAIN;
        (1..=self.capacity).contains(&link).then(|| link - 1)
    }

    #[inline(always)]
    fn next(&self, region: &[u8], slot: u32) -> Option<u32> {
        self.slot_of(read_u32(region, self.at(slot) + CHAIN))
    }

    #[inline(always)]
    fn find(&self, region: &[u8], fingerprint: Fingerprint) -> Option<u32> {
        let head = self.head_at(self.bucket_of(fingerprint));
        let mut link = self.slot_of(read_u32(region, head));
        while let Some(slot) = link {
            if read_u64(region, self.at(slot)) == fingerprint.0 {
                return Some(slot);
            }
            link = self.next(region, slot);
        }
        None
    }

    fn renew<R: Region + ?Sized>(&self, region: &mut R, registers: &mut Registers, slot: u32) {
        match self.policy {
            Policy::Clock => {
                let chain = self.at(slot) + CHAIN;
                let value = read_u32(region.bytes(), chain);
                if value & MET_AGAIN == 0 {
                    write_link(region, chain, value | MET_AGAIN);
                }
            }
            Policy::Lru => self.order().renew(region, registers, slot),
        }
    }

    /// The slot whose key is to be forgotten; with `lru` it is out of the order then.
    fn give_up<R: Region + ?Sized>(&self, region: &mut R, registers: &mut Registers) -> u32 {
        match self.policy {
            Policy::Lru => {
                let oldest = self.order().oldest(registers).unwrap_or(0);
                self.order().leave(region, registers, oldest);
                oldest
            }
            Policy::Clock => {
                let mut hand = (registers.own()[HAND] % self.capacity()) as u32;
                loop {
                    let chain = self.at(hand) + CHAIN;
                    let value = read_u32(region.bytes(), chain);
                    let slot = hand;
                    hand = if hand + 1 == self.capacity {
                        0
                    } else {
                        hand + 1
                    };
                    if value & MET_AGAIN == 0 {
                        registers.own_mut()[HAND] = u64::from(hand);
                        return slot;
                    }
                    write_link(region, chain, value & !MET_AGAIN);
                }
            }
        }
    }

    /// Takes a slot out of the chain of its bucket.
    fn leave_bucket<R: Region + ?Sized>(&self, region: &mut R, slot: u32) {
        let fingerprint = Fingerprint(read_u64(region.bytes(), self.at(slot)));
        let after = read_u32(region.bytes(), self.at(slot) + CHAIN) & !MET_AGAIN;
        let mut place = self.head_at(self.bucket_of(fingerprint));
        while let Some(found) = self.slot_of(read_u32(region.bytes(), place)) {
            if found == slot {
                // The field before it keeps its own mark.
                let mark = read_u32(region.bytes(), place) & MET_AGAIN;
                write_link(region, place, after | mark);
                return;
            }
            place = self.at(found) + CHAIN;
        }
    }

    fn enter<R: Region + ?Sized>(
        &self,
        region: &mut R,
        registers: &mut Registers,
        slot: u32,
        fingerprint: Fingerprint,
    ) {
        let head = self.head_at(self.bucket_of(fingerprint));
        let first = read_u32(region.bytes(), head);
        let at = self.at(slot);
        let bytes = region.bytes_mut(at..at + CHAIN + 4);
        write_u64(bytes, 0, fingerprint.0);
        write_u32(bytes, CHAIN, first);
        write_link(region, head, slot + 1);
        if self.policy == Policy::Lru {
            self.order().enter(region, registers, slot);
        }
    }
}

#[inline(always)]
fn write_link<R: Region + ?Sized>(region: &mut R, at: usize, link: u32) {
    write_u32(region.bytes_mut(at..at + 4), 0, link);
}
