//! A bounded set of fingerprints with LRU or Clock eviction, and its hash index, in the region.
//!
//! Each key has one slot. Slots are found through chained hashing: each of `capacity` buckets
//! has a head that links to a slot, and each slot links to the next one of its bucket. A link is
//! the slot's number plus one, so zeroed bytes are an empty table. Slots fill in order. After
//! that each new key takes the slot of the key that the policy evicts.
//!
//! | policy | slot | index |
//! |---|---|---|
//! | lru | fingerprint, next in bucket, newer, older: 20 bytes | heads, 4 bytes each |
//! | clock | fingerprint, next in bucket (top bit: referenced): 12 bytes | heads, 4 bytes each |
//!
//! The filter's own registers are those of the [recency list](super::recency_list), or the
//! hand of the clock.

use super::parameter::Parameter;
use super::recency_list::RecencyList;
use super::union::in_turns;
use super::{BuildError, CellLayout, Evidence, EvidenceCell, FilterSpec, Registers, Verdict};
use crate::bytes::{read_u32, read_u64, write_u32, write_u64};
use crate::fingerprint::{Fingerprint, reduce};
use crate::prefetch::prefetch;
use crate::region::Region;

/// The parameter `policy`.
pub(super) const POLICY: Parameter = Parameter::choice(
    "policy",
    "which key a full buffer evicts: the least recently used (lru), or the next one in a \
     circle that did not occur again since the last round (clock)",
    &["lru", "clock"],
);

/// Which key a full table evicts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Policy {
    /// The least recently used key.
    Lru,
    /// The next key in a circle whose reference bit is not set.
    Clock,
}

/// The geometry of a table.
#[derive(Clone, Copy, Debug)]
pub(super) struct BufferTable {
    capacity: u32,
    policy: Policy,
}

const HEAD_BYTES: u64 = 4;
/// The offset of the link to the next slot of the bucket.
const NEXT: usize = 8;
/// The offset of the links of the recency list.
const RECENCY: usize = 12;
/// The reference bit of the clock policy, in the link to the next slot.
const REFERENCED: u32 = 1 << 31;
const MAX_CAPACITY: u64 = (1 << 31) - 1;

/// The larger of the sizes of a slot.
const MAX_SLOT_BYTES: usize = 20;

/// The register with the hand of the clock.
const HAND: usize = 0;

impl BufferTable {
    /// Returns a table with as many slots as the memory holds. Reads the parameter `policy`.
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

    /// Returns the memory per key, including its share of the index.
    pub fn key_bits(&self) -> u64 {
        8 * (self.slot_bytes() as u64 + HEAD_BYTES)
    }

    /// Returns the number of slots.
    pub fn cells(&self) -> u64 {
        u64::from(self.capacity)
    }

    pub fn region_bytes(&self) -> u64 {
        self.cells() * self.key_bits() / 8
    }

    /// Whether the eviction policy is Clock.
    pub fn is_clock(&self) -> bool {
        self.policy == Policy::Clock
    }

    /// Returns the cache lines that a new key touches in a full table: the head of its bucket,
    /// the evicted slot, the bucket of the evicted key, and with `lru` two neighbours in the
    /// recency list.
    pub fn cache_lines_touched(&self) -> u32 {
        match self.policy {
            Policy::Lru => 5,
            Policy::Clock => 3,
        }
    }

    /// Counts the slots that a chain leads to.
    pub fn recount(&self, region: &[u8]) -> u64 {
        let chains = (0..self.cells()).map(|bucket| self.links(region, bucket).count() as u64);
        chains.sum()
    }

    pub fn contains(&self, region: &[u8], fingerprint: Fingerprint) -> Verdict {
        Verdict::seen_if(self.find(region, fingerprint).is_some())
    }

    /// Looks a key up and makes it the most recent.
    #[inline(always)]
    pub fn observe<R: Region + ?Sized>(
        &self,
        region: &mut R,
        registers: &mut Registers,
        fingerprint: Fingerprint,
    ) -> Verdict {
        if let Some(slot) = self.find(region.bytes(), fingerprint) {
            self.touch(region, registers, slot);
            return Verdict::Seen;
        }
        let slot = match registers.occupied() < self.cells() {
            true => {
                *registers.occupied_mut() += 1;
                (registers.occupied() - 1) as u32
            }
            false => {
                let evicted = self.evict(region, registers);
                self.unlink(region, evicted);
                evicted
            }
        };
        self.insert(region, registers, slot, fingerprint);
        Verdict::New
    }

    /// Removes a key. The record in the last slot in use takes its slot, so that slots stay filled
    /// in order.
    pub fn forget<R: Region + ?Sized>(
        &self,
        region: &mut R,
        registers: &mut Registers,
        fingerprint: Fingerprint,
    ) -> Verdict {
        let Some(slot) = self.find(region.bytes(), fingerprint) else {
            return Verdict::New;
        };
        self.unlink(region, slot);
        if self.policy == Policy::Lru {
            self.recency().remove(region, registers, slot);
        }
        let last = (registers.occupied() - 1) as u32;
        if last != slot {
            self.relocate(region, registers, last, slot);
        }
        let at = self.at(last);
        region.bytes_mut(at..at + self.slot_bytes()).fill(0);
        *registers.occupied_mut() -= 1;
        Verdict::Seen
    }

    /// Moves a record to a slot that is not in use.
    fn relocate<R: Region + ?Sized>(
        &self,
        region: &mut R,
        registers: &mut Registers,
        from: u32,
        to: u32,
    ) {
        let mut record = [0; MAX_SLOT_BYTES];
        let record = &mut record[..self.slot_bytes()];
        if self.policy == Policy::Lru {
            self.recency().relocate(region, registers, from, to);
        }
        record.copy_from_slice(&region.bytes()[self.at(from)..][..self.slot_bytes()]);
        let fingerprint = Fingerprint(read_u64(record, 0));
        if let Some(link_at) = self.link_to(region.bytes(), fingerprint, from) {
            let referenced = read_u32(region.bytes(), link_at) & REFERENCED;
            write_link(region, link_at, (to + 1) | referenced);
        }
        region
            .bytes_mut(self.at(to)..self.at(to) + self.slot_bytes())
            .copy_from_slice(record);
    }

    /// Unites the keys of two tables, those of each in turns, the most recent ones first. If there
    /// are more than slots, the least recent ones are lost.
    pub fn merge(
        &self,
        region: &mut [u8],
        registers: &mut Registers,
        other: &[u8],
        other_registers: &Registers,
    ) {
        let one = self.newest_first(region, registers);
        let more = self.newest_first(other, other_registers);
        let mut united = Vec::new();
        in_turns(&one, &more, |(fingerprint, _)| fingerprint, &mut united);
        united.truncate(self.capacity as usize);
        region.fill(0);
        registers.own_mut().fill(0);
        *registers.occupied_mut() = 0;
        for &(fingerprint, referenced) in united.iter().rev() {
            self.observe(region, registers, fingerprint);
            if referenced {
                self.observe(region, registers, fingerprint);
            }
        }
        registers.count_others(other_registers);
    }

    /// Returns every key, and whether the hand of the clock would skip it, in the reverse of the
    /// order in which they would be evicted.
    fn newest_first(&self, region: &[u8], registers: &Registers) -> Vec<(Fingerprint, bool)> {
        let occupied = registers.occupied().min(self.cells()) as u32;
        let mut slots: Vec<u32> = match self.policy {
            Policy::Lru => self.recency().oldest_first(region, registers),
            Policy::Clock => {
                let hand = (registers.own()[HAND] % self.cells()) as u32;
                (hand.min(occupied)..occupied)
                    .chain(0..hand.min(occupied))
                    .collect()
            }
        };
        slots.reverse();
        let record = |slot: u32| {
            let bytes = &region[self.at(slot)..];
            let is_referenced =
                self.policy == Policy::Clock && read_u32(bytes, NEXT) & REFERENCED != 0;
            (Fingerprint(read_u64(bytes, 0)), is_referenced)
        };
        slots.into_iter().map(record).collect()
    }

    pub fn cell_layout(&self) -> CellLayout {
        CellLayout {
            cell: "slot",
            content: "fingerprint",
            row: "buffer",
            row_cells: self.cells(),
            max_value: u64::MAX,
            loss: "evicted for newer keys",
        }
    }

    pub fn cell(&self, region: &[u8], index: u64) -> u64 {
        read_u64(region, self.at(index as u32))
    }

    /// Returns the chain of a key's bucket.
    pub fn evidence(&self, region: &[u8], fingerprint: Fingerprint) -> Evidence {
        let bucket = self.bucket_of(fingerprint);
        let mut evidence = Evidence::any_equal(bucket, fingerprint.0, &mut std::iter::empty());
        let mut offset_bits = 8 * self.head_at(bucket) as u64;
        let mut link = EvidenceCell::read("head", bucket, offset_bits, 32, region);
        // Bounded, because the chain of a damaged region may be a circle.
        for _ in 0..=self.capacity {
            let next = self.slot_of(link.value as u32);
            evidence.links.push(link);
            let Some(slot) = next else {
                break;
            };
            offset_bits = 8 * self.at(slot) as u64;
            let cell = EvidenceCell::read("slot", u64::from(slot), offset_bits, 64, region);
            evidence.alternatives.push(vec![cell]);
            offset_bits += 8 * NEXT as u64;
            link = EvidenceCell::read("link", u64::from(slot), offset_bits, 32, region);
        }
        evidence
    }

    /// Prefetches the head of the chain. The address of the first slot is known only when the
    /// head has arrived.
    #[inline(always)]
    pub fn prefetch(&self, region: &[u8], fingerprint: Fingerprint) {
        prefetch(region, self.head_at(self.bucket_of(fingerprint)));
    }

    /// Prefetches the first slot of the chain.
    #[inline(always)]
    pub fn prefetch_dependent(&self, region: &[u8], fingerprint: Fingerprint) {
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
    fn recency(&self) -> RecencyList {
        RecencyList {
            first_byte: RECENCY,
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
        reduce(fingerprint.0, self.cells())
    }

    /// Returns the slot of a link; None for an empty link and for one beyond the last slot, so
    /// that a damaged region never causes a read outside it.
    #[inline(always)]
    fn slot_of(&self, link: u32) -> Option<u32> {
        let link = link & !REFERENCED;
        (1..=self.capacity).contains(&link).then(|| link - 1)
    }

    /// Returns where the links of a bucket's chain are, and the slots that they lead to. Bounded,
    /// because the chain of a damaged region may be a circle.
    #[inline(always)]
    fn links(&self, region: &[u8], bucket: u64) -> impl Iterator<Item = (usize, u32)> {
        let mut next_at = self.head_at(bucket);
        (0..self.capacity).map_while(move |_| {
            let link_at = next_at;
            let slot = self.slot_of(read_u32(region, link_at))?;
            next_at = self.at(slot) + NEXT;
            Some((link_at, slot))
        })
    }

    /// Returns where the link to a key's slot is.
    fn link_to(&self, region: &[u8], fingerprint: Fingerprint, slot: u32) -> Option<usize> {
        let mut links = self.links(region, self.bucket_of(fingerprint));
        let found = links.find(|&(_, found)| found == slot);
        found.map(|(link_at, _)| link_at)
    }

    #[inline(always)]
    fn find(&self, region: &[u8], fingerprint: Fingerprint) -> Option<u32> {
        let links = self.links(region, self.bucket_of(fingerprint));
        let mut slots = links.map(|(_, slot)| slot);
        slots.find(|&slot| read_u64(region, self.at(slot)) == fingerprint.0)
    }

    fn touch<R: Region + ?Sized>(&self, region: &mut R, registers: &mut Registers, slot: u32) {
        match self.policy {
            Policy::Clock => {
                let next = self.at(slot) + NEXT;
                let value = read_u32(region.bytes(), next);
                if value & REFERENCED == 0 {
                    write_link(region, next, value | REFERENCED);
                }
            }
            Policy::Lru => self.recency().touch(region, registers, slot),
        }
    }

    /// Chooses the slot whose key is forgotten, and removes it from the recency list.
    fn evict<R: Region + ?Sized>(&self, region: &mut R, registers: &mut Registers) -> u32 {
        match self.policy {
            Policy::Lru => {
                let oldest = self.recency().oldest(registers).unwrap_or(0);
                self.recency().remove(region, registers, oldest);
                oldest
            }
            Policy::Clock => {
                let mut hand = (registers.own()[HAND] % self.cells()) as u32;
                loop {
                    let next = self.at(hand) + NEXT;
                    let value = read_u32(region.bytes(), next);
                    let slot = hand;
                    hand = if hand + 1 == self.capacity {
                        0
                    } else {
                        hand + 1
                    };
                    if value & REFERENCED == 0 {
                        registers.own_mut()[HAND] = u64::from(hand);
                        return slot;
                    }
                    write_link(region, next, value & !REFERENCED);
                }
            }
        }
    }

    /// Removes a slot from the chain of its bucket.
    fn unlink<R: Region + ?Sized>(&self, region: &mut R, slot: u32) {
        let fingerprint = Fingerprint(read_u64(region.bytes(), self.at(slot)));
        let after = read_u32(region.bytes(), self.at(slot) + NEXT) & !REFERENCED;
        if let Some(link_at) = self.link_to(region.bytes(), fingerprint, slot) {
            // The link before it keeps its own reference bit.
            let referenced = read_u32(region.bytes(), link_at) & REFERENCED;
            write_link(region, link_at, after | referenced);
        }
    }

    fn insert<R: Region + ?Sized>(
        &self,
        region: &mut R,
        registers: &mut Registers,
        slot: u32,
        fingerprint: Fingerprint,
    ) {
        let head = self.head_at(self.bucket_of(fingerprint));
        let first = read_u32(region.bytes(), head);
        let at = self.at(slot);
        let bytes = region.bytes_mut(at..at + NEXT + 4);
        write_u64(bytes, 0, fingerprint.0);
        write_u32(bytes, NEXT, first);
        write_link(region, head, slot + 1);
        if self.policy == Policy::Lru {
            self.recency().push_newest(region, registers, slot);
        }
    }
}

#[inline(always)]
fn write_link<R: Region + ?Sized>(region: &mut R, at: usize, link: u32) {
    write_u32(region.bytes_mut(at..at + 4), 0, link);
}

#[cfg(test)]
mod tests {
    use crate::filter::{AnyFilter, FilterSpec, Registers};
    use crate::fingerprint::Fingerprint;

    /// Whoever forges a state can make its checksums right.
    #[test]
    fn every_search_ends_if_chains_are_circles() {
        for text in ["buffer:policy=lru", "buffer:policy=clock", "fpbuffer"] {
            let spec: FilterSpec = text.parse().expect("a spec");
            let filter = AnyFilter::build(&spec, 1 << 14).expect("a filter");
            // Every link leads to the first slot.
            let mut region = vec![0; filter.region_bytes()];
            for word in region.chunks_exact_mut(4) {
                word.copy_from_slice(&1u32.to_le_bytes());
            }
            let mut registers = Registers::new(5);
            for key in 0..100u64 {
                let key = Fingerprint(key.wrapping_mul(0x9e37_79b9_7f4a_7c15));
                filter.contains(&region, &registers, key);
                filter.observe(&mut region[..], &mut registers, key.into());
            }
            filter.recount(&region);
        }
    }
}
