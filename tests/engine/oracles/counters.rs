//! Oracles of filters with counters.

use dedupstore::fingerprint::reduce;
use dedupstore::rng::Generator;
use dedupstore::{Fingerprint, Verdict};

use super::{Oracle, Parameters, positions, verdict};

fn in_use(counters: &[u64]) -> u64 {
    counters.iter().filter(|&&count| count > 0).count() as u64
}

pub struct Stable {
    k: u64,
    p: u64,
    max: u64,
    counters: Vec<u64>,
}

impl Stable {
    pub fn new(spec: &Parameters, memory_bits: u64) -> Self {
        let max = spec.number("max");
        let width_bits = u64::from(64 - max.leading_zeros());
        Stable {
            k: spec.number("k"),
            p: spec.number("p"),
            max,
            counters: vec![0; (memory_bits / width_bits) as usize],
        }
    }
}

impl Oracle for Stable {
    fn observe(&mut self, key: Fingerprint, draws: Generator) -> Verdict {
        let count = self.counters.len();
        let positions = positions(key, self.k, count as u64);
        let seen = positions.iter().all(|&at| self.counters[at] > 0);
        let start = reduce(draws.draw(0), count as u64);
        for step in 0..self.p {
            let counter = &mut self.counters[(start + step) as usize % count];
            *counter = counter.saturating_sub(1);
        }
        for at in positions {
            self.counters[at] = self.max;
        }
        verdict(seen)
    }

    fn draws(&self) -> u64 {
        1
    }

    fn occupied(&self) -> u64 {
        in_use(&self.counters)
    }
}

pub struct Counting {
    k: u64,
    max: u64,
    counters: Vec<u64>,
}

impl Counting {
    pub fn new(spec: &Parameters, memory_bits: u64) -> Self {
        let width_bits = spec.number("bits");
        Counting {
            k: spec.number("k"),
            max: (1 << width_bits) - 1,
            counters: vec![0; (memory_bits / width_bits) as usize],
        }
    }

    fn positions(&self, key: Fingerprint) -> Vec<usize> {
        positions(key, self.k, self.counters.len() as u64)
    }

    pub fn forget(&mut self, key: Fingerprint) {
        let positions = self.positions(key);
        if positions.iter().all(|&at| self.counters[at] > 0) {
            for at in positions {
                if self.counters[at] < self.max {
                    self.counters[at] = self.counters[at].saturating_sub(1);
                }
            }
        }
    }
}

impl Oracle for Counting {
    fn observe(&mut self, key: Fingerprint, _: Generator) -> Verdict {
        let positions = self.positions(key);
        let seen = positions.iter().all(|&at| self.counters[at] > 0);
        if !seen {
            for at in positions {
                self.counters[at] = self.max.min(self.counters[at] + 1);
            }
        }
        verdict(seen)
    }

    fn occupied(&self) -> u64 {
        in_use(&self.counters)
    }
}
