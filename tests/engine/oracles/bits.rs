//! Oracles of filters that set and clear bits in partitions.

use dedupstore::fingerprint::reduce;
use dedupstore::rng::Generator;
use dedupstore::{Fingerprint, Verdict};

use super::{Oracle, positions, verdict};

/// Vectors of bits, and the vector of each of a key's positions.
pub struct Partitions {
    bits: Vec<Vec<bool>>,
    partition_of: Vec<usize>,
}

impl Partitions {
    pub fn separate(k: u64, memory_bits: u64) -> Self {
        Partitions {
            bits: vec![vec![false; (memory_bits / k) as usize]; k as usize],
            partition_of: (0..k as usize).collect(),
        }
    }

    pub fn shared(k: u64, memory_bits: u64) -> Self {
        Partitions {
            bits: vec![vec![false; memory_bits as usize]],
            partition_of: vec![0; k as usize],
        }
    }

    fn k(&self) -> u64 {
        self.partition_of.len() as u64
    }

    /// Returns the number of bits of a partition.
    fn size(&self) -> u64 {
        self.bits[0].len() as u64
    }

    fn bits_of(&self, key: Fingerprint) -> Vec<(usize, usize)> {
        let positions = positions(key, self.k(), self.size());
        self.partition_of.iter().copied().zip(positions).collect()
    }

    fn has(&self, key: Fingerprint) -> bool {
        let bits = self.bits_of(key);
        bits.iter().all(|&(partition, at)| self.bits[partition][at])
    }

    fn set(&mut self, key: Fingerprint) {
        for (partition, at) in self.bits_of(key) {
            self.bits[partition][at] = true;
        }
    }

    fn load(&self, partition: usize) -> u64 {
        self.bits[partition].iter().filter(|&&bit| bit).count() as u64
    }

    fn clear_one_in_each(&mut self, draws: Generator) {
        let size = self.size();
        for (partition, bits) in self.bits.iter_mut().enumerate() {
            bits[reduce(draws.draw(partition as u64), size) as usize] = false;
        }
    }

    fn occupied(&self) -> u64 {
        (0..self.bits.len())
            .map(|partition| self.load(partition))
            .sum()
    }
}

pub struct Bloom(pub Partitions);

impl Oracle for Bloom {
    fn observe(&mut self, key: Fingerprint, _: Generator) -> Verdict {
        let seen = self.0.has(key);
        self.0.set(key);
        verdict(seen)
    }

    fn occupied(&self) -> u64 {
        self.0.occupied()
    }
}

pub struct Bsbf(pub Partitions);

impl Oracle for Bsbf {
    fn observe(&mut self, key: Fingerprint, draws: Generator) -> Verdict {
        let seen = self.0.has(key);
        if !seen {
            self.0.clear_one_in_each(draws);
            self.0.set(key);
        }
        verdict(seen)
    }

    fn draws(&self) -> u64 {
        self.0.k()
    }

    fn occupied(&self) -> u64 {
        self.0.occupied()
    }
}

pub struct Bsbfsd(pub Partitions);

impl Oracle for Bsbfsd {
    fn observe(&mut self, key: Fingerprint, draws: Generator) -> Verdict {
        let seen = self.0.has(key);
        if !seen {
            let size = self.0.size();
            let any = reduce(draws.draw(0), self.0.k() * size);
            self.0.bits[(any / size) as usize][(any % size) as usize] = false;
            self.0.set(key);
        }
        verdict(seen)
    }

    fn draws(&self) -> u64 {
        1
    }

    fn occupied(&self) -> u64 {
        self.0.occupied()
    }
}

pub struct Rlbsbf(pub Partitions);

impl Oracle for Rlbsbf {
    fn observe(&mut self, key: Fingerprint, draws: Generator) -> Verdict {
        let seen = self.0.has(key);
        if !seen {
            for partition in 0..self.0.bits.len() {
                // The high half of draw · s is the position. The low half times s is a number
                // from 0 to s, which is below the load with a probability of load/s.
                let size = self.0.size();
                let scaled = u128::from(draws.draw(partition as u64)) * u128::from(size);
                let (position, rest) = ((scaled >> 64) as usize, scaled as u64);
                if reduce(rest, size) < self.0.load(partition) {
                    self.0.bits[partition][position] = false;
                }
            }
            self.0.set(key);
        }
        verdict(seen)
    }

    fn draws(&self) -> u64 {
        self.0.k()
    }

    fn occupied(&self) -> u64 {
        self.0.occupied()
    }
}

pub struct Rsbf {
    partitions: Partitions,
    observations: u64,
    /// For the algorithm as printed: the probability below which bits are exchanged, in
    /// millionths.
    threshold_millionths: Option<u64>,
}

impl Rsbf {
    pub fn new(partitions: Partitions, threshold_millionths: Option<u64>) -> Self {
        Rsbf {
            partitions,
            observations: 0,
            threshold_millionths,
        }
    }

    fn exchange(&mut self, key: Fingerprint, draws: Generator) {
        let size = self.partitions.size();
        for (partition, at) in self.partitions.bits_of(key) {
            let bits = &mut self.partitions.bits[partition];
            if !bits[at] {
                let from = reduce(draws.draw(partition as u64), size);
                let mut circle = (0..size).map(|step| ((from + step) % size) as usize);
                if let Some(set) = circle.find(|&position| bits[position]) {
                    bits[set] = false;
                }
                bits[at] = true;
            }
        }
    }
}

impl Oracle for Rsbf {
    fn observe(&mut self, key: Fingerprint, draws: Generator) -> Verdict {
        self.observations += 1;
        let (s, i) = (self.partitions.size(), self.observations);
        let seen = self.partitions.has(key);
        match self.threshold_millionths {
            Some(_) if i < s => self.partitions.set(key),
            Some(millionths) if 1_000_000 * s < millionths * i => self.exchange(key, draws),
            _ => {
                // The coin is a fraction of 2^64, compared with s/i without rounding.
                let coin = u128::from(draws.draw(self.partitions.k()));
                if coin * u128::from(i) < u128::from(s) << 64 {
                    self.partitions.clear_one_in_each(draws);
                    self.partitions.set(key);
                }
            }
        }
        verdict(seen)
    }

    fn draws(&self) -> u64 {
        self.partitions.k() + 1
    }

    fn occupied(&self) -> u64 {
        self.partitions.occupied()
    }
}
