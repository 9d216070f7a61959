//! Where a key's k bits lie: each in a part of its own, or all in one shared span.

use super::{Anatomy, Evidence, Place, Verdict};
use crate::bytes::{bit, count_ones};
use crate::fingerprint::Fingerprint;
use crate::prefetch::prefetch;

/// k spans of bits, behind one another or all the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parts {
    count: u32,
    /// How many bits one position is chosen among.
    pub span_bits: u64,
    /// How far the next span lies behind this one: 0 if they are one.
    stride_bits: u64,
}

impl Parts {
    /// `count` equal parts of the memory.
    pub fn separate(count: u64, memory_bits: u64) -> Self {
        let span_bits = memory_bits / count;
        Parts {
            count: count as u32,
            span_bits,
            stride_bits: span_bits,
        }
    }

    /// `count` positions in the whole memory.
    pub fn shared(count: u64, memory_bits: u64) -> Self {
        Parts {
            count: count as u32,
            span_bits: memory_bits,
            stride_bits: 0,
        }
    }

    #[inline(always)]
    pub fn count(&self) -> u32 {
        self.count
    }

    /// The same parts, with their number as a constant, if it is that.
    #[inline(always)]
    pub fn known(self, count: u32) -> Option<Self> {
        (self.count == count).then_some(Parts { count, ..self })
    }

    /// All bits of all parts.
    pub fn bits(&self) -> u64 {
        self.span_bits + u64::from(self.count - 1) * self.stride_bits
    }

    /// Where a part starts.
    #[inline(always)]
    pub fn start(&self, part: u64) -> u64 {
        part * self.stride_bits
    }

    /// The position of a key in each part.
    #[inline(always)]
    pub fn positions(&self, fingerprint: Fingerprint) -> impl Iterator<Item = u64> + use<> {
        let parts = *self;
        let mut probes = fingerprint.probes();
        (0..u64::from(parts.count))
            .map(move |part| parts.start(part) + probes.next_below(parts.span_bits))
    }

    /// The bits, to be looked at.
    pub fn anatomy(&self, loss: &'static str) -> Anatomy {
        let bits = Anatomy::of_bits(self.span_bits, loss);
        match self.stride_bits {
            0 => bits,
            _ => Anatomy {
                row: "part",
                ..bits
            },
        }
    }

    /// A bit, to be looked at.
    pub fn cell(&self, region: &[u8], index: u64) -> u64 {
        u64::from(bit(region, index))
    }

    /// The bits of a key, to be looked at.
    pub fn evidence(&self, region: &[u8], fingerprint: Fingerprint) -> Evidence {
        let positions = self.positions(fingerprint);
        let mut bits = positions.map(|at| Place::read("bit", at, at, 1, region));
        Evidence::all_in_use(0, &mut bits)
    }

    /// Seen if every one of the key's bits is set. All are looked at: their lines are on
    /// the way already, and one branch an observation is guessed wrong less often than k.
    #[inline(always)]
    pub fn probe(&self, region: &[u8], fingerprint: Fingerprint) -> Verdict {
        let positions = self.positions(fingerprint);
        match positions.fold(true, |all, at| all & bit(region, at)) {
            true => Verdict::Seen,
            false => Verdict::New,
        }
    }

    #[inline(always)]
    pub fn prefetch(&self, region: &[u8], fingerprint: Fingerprint) {
        for position in self.positions(fingerprint) {
            prefetch(region, (position / 8) as usize);
        }
    }

    /// How many bits are set.
    pub fn recount(&self, region: &[u8]) -> u64 {
        count_ones(region, 0..self.bits())
    }
}
