//! The k bits of a key: each in a partition of its own, or all in one shared range.

use super::{CellLayout, Evidence, EvidenceCell, Verdict};
use crate::bytes::{bit, count_ones};
use crate::fingerprint::Fingerprint;
use crate::prefetch::prefetch;

/// The bits of a partitioned or plain Bloom filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BitPartitions {
    count: u32,
    /// The number of bits among which one position is chosen.
    pub partition_bits: u64,
    /// The distance from one partition to the next; 0 if all positions share the memory.
    stride_bits: u64,
}

impl BitPartitions {
    /// Returns `count` partitions of equal size.
    pub fn partitioned(count: u64, memory_bits: u64) -> Self {
        let partition_bits = memory_bits / count;
        BitPartitions {
            count: count as u32,
            partition_bits,
            stride_bits: partition_bits,
        }
    }

    /// Returns `count` positions that are all chosen in the whole memory.
    pub fn shared(count: u64, memory_bits: u64) -> Self {
        BitPartitions {
            count: count as u32,
            partition_bits: memory_bits,
            stride_bits: 0,
        }
    }

    /// Returns k.
    #[inline(always)]
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Whether each position has a partition of its own.
    pub fn is_partitioned(&self) -> bool {
        self.stride_bits > 0
    }

    /// Returns the same partitions with k as a compile-time constant; None if k is another.
    #[inline(always)]
    pub fn with_constant_count(self, count: u32) -> Option<Self> {
        (self.count == count).then_some(BitPartitions { count, ..self })
    }

    /// Returns the number of bits of all partitions.
    pub fn cells(&self) -> u64 {
        self.partition_bits + u64::from(self.count - 1) * self.stride_bits
    }

    pub fn region_bytes(&self) -> u64 {
        self.cells().div_ceil(8)
    }

    /// Returns the first bit of a partition.
    #[inline(always)]
    pub fn start(&self, partition: u64) -> u64 {
        partition * self.stride_bits
    }

    /// Returns the positions of a key, one per partition.
    #[inline(always)]
    pub fn positions(&self, fingerprint: Fingerprint) -> impl Iterator<Item = u64> + use<> {
        let partitions = *self;
        let mut probes = fingerprint.probes();
        (0..u64::from(partitions.count)).map(move |partition| {
            partitions.start(partition) + probes.next_below(partitions.partition_bits)
        })
    }

    /// Returns Seen if all bits of the key are set. All bits are read, without an early exit:
    /// their cache lines are already on the way, and one branch per key is mispredicted less
    /// often than k branches.
    #[inline(always)]
    pub fn contains(&self, region: &[u8], fingerprint: Fingerprint) -> Verdict {
        let positions = self.positions(fingerprint);
        Verdict::seen_if(positions.fold(true, |all, at| all & bit(region, at)))
    }

    #[inline(always)]
    pub fn prefetch(&self, region: &[u8], fingerprint: Fingerprint) {
        for position in self.positions(fingerprint) {
            prefetch(region, (position / 8) as usize);
        }
    }

    /// Counts the bits that are set.
    pub fn recount(&self, region: &[u8]) -> u64 {
        count_ones(region, 0..self.cells())
    }

    /// Returns load^k. Partitions that are filled and cleared alike have about the same load.
    pub fn false_positive_rate(&self, occupied: u64) -> f64 {
        let load = occupied as f64 / self.cells() as f64;
        load.powi(self.count as i32)
    }

    pub fn cell_layout(&self, loss: &'static str) -> CellLayout {
        let bits = CellLayout::of_bits(self.partition_bits, loss);
        match self.is_partitioned() {
            false => bits,
            true => CellLayout {
                row: "partition",
                ..bits
            },
        }
    }

    pub fn cell(&self, region: &[u8], index: u64) -> u64 {
        u64::from(bit(region, index))
    }

    pub fn evidence(&self, region: &[u8], fingerprint: Fingerprint) -> Evidence {
        let positions = self.positions(fingerprint);
        let mut bits = positions.map(|at| EvidenceCell::read("bit", at, at, 1, region));
        Evidence::all_in_use(0, &mut bits)
    }
}
