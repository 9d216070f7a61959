//! A stable Bloom filter with the bug behind a published column.
//!
//! K = 2, P = 4, Max = 1, so a cell is one bit. In the paper of 2012, the filter of 512 MB has 2^32
//! cells, and the cells to decrement are drawn by C's `rand()`, which gives 31 bits. So cells of
//! the upper half are never decremented and stay set. Keys are hashed into all cells, as intended.
//!
//! The filter is not in the registry. Its rates agree with the printed values, which shows where
//! they come from.

use crate::bytes::{bit, clear_bit, set_bit};
use crate::filter::Verdict;
use crate::fingerprint::{Fingerprint, reduce};
use crate::region::{Memory, OutOfMemory};
use crate::rng::Generator;

const K: u64 = 2;
const P: u64 = 4;

/// Cells of one bit; only cells of the lower half are cleared.
#[derive(Debug)]
pub(super) struct FaultyStable {
    bits: Memory,
    cells: u64,
    generator: Generator,
}

impl FaultyStable {
    pub fn new(cells: u64, seed: u64) -> Result<Self, OutOfMemory> {
        Ok(FaultyStable {
            bits: Memory::zeroed(cells.div_ceil(8) as usize)?,
            cells,
            generator: Generator::from_seed(seed),
        })
    }

    pub fn observe(&mut self, key: Fingerprint) -> Verdict {
        let mut probes = key.probes();
        let positions: [u64; K as usize] = std::array::from_fn(|_| probes.next_below(self.cells));
        let seen = positions.iter().all(|&at| bit(&self.bits, at));
        let start = reduce(self.generator.draw(0), self.cells / 2);
        self.generator = self.generator.ahead(1);
        for at in start..start + P {
            clear_bit(&mut self.bits[..], at);
        }
        for at in positions {
            set_bit(&mut self.bits[..], at);
        }
        match seen {
            true => Verdict::Seen,
            false => Verdict::New,
        }
    }
}
