//! Oracles of filters that set and clear bits, and of the one that counts.

use dedupstore::fingerprint::reduce;
use dedupstore::rng::Generator;
use dedupstore::{Fingerprint, Verdict};

use super::{Oracle, positions, verdict};

/// Vectors of bits, and which of them each of a key's positions is in.
pub struct Parts {
    bits: Vec<Vec<bool>>,
    part_of: Vec<usize>,
}

impl Parts {
    pub fn separate(k: u64, memory_bits: u64) -> Self {
        Parts {
            bits: vec![vec![false; (memory_bits / k) as usize]; k as usize],
            part_of: (0..k as usize).collect(),
        }
    }

    pub fn shared(k: u64, memory_bits: u64) -> Self {
        Parts {
            bits: vec![vec![false; memory_bits as usize]],
            part_of: vec![0; k as usize],
        }
    }

    fn k(&self) -> u64 {
        self.part_of.len() as u64
    }

    fn span(&self) -> u64 {
        self.bits[0].len() as u64
    }

    fn places(&self, key: Fingerprint) -> Vec<(usize, usize)> {
        let positions = positions(key, self.k(), self.span());
        self.part_of.iter().copied().zip(positions).collect()
    }

    fn has(&self, key: Fingerprint) -> bool {
        let places = self.places(key);
        places.iter().all(|&(part, at)| self.bits[part][at])
    }

    fn set(&mut self, key: Fingerprint) {
        for (part, at) in self.places(key) {
            self.bits[part][at] = true;
        }
    }

    fn load(&self, part: usize) -> u64 {
        self.bits[part].iter().filter(|&&bit| bit).count() as u64
    }

    fn clear_one_in_each(&mut self, draws: Generator) {
        let span = self.span();
        for (part, bits) in self.bits.iter_mut().enumerate() {
            bits[reduce(draws.draw(part as u64), span) as usize] = false;
        }
    }

    fn occupied(&self) -> u64 {
        (0..self.bits.len()).map(|part| self.load(part)).sum()
    }
}

pub struct Bloom(pub Parts);

impl Oracle for Bloom {
    fn observe(&mut self, key: Fingerprint, _: Generator) -> Verdict {
        let seen = self.0.has(key);
        self.0.set(key);
        verdict(seen)
    }

    fn draws(&self) -> u64 {
        0
    }

    fn occupied(&self) -> u64 {
        self.0.occupied()
    }
}

pub struct Bsbf(pub Parts);

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

pub struct Bsbfsd(pub Parts);

impl Oracle for Bsbfsd {
    fn observe(&mut self, key: Fingerprint, draws: Generator) -> Verdict {
        let seen = self.0.has(key);
        if !seen {
            let span = self.0.span();
            let any = reduce(draws.draw(0), self.0.k() * span);
            self.0.bits[(any / span) as usize][(any % span) as usize] = false;
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

pub struct Rlbsbf(pub Parts);

impl Oracle for Rlbsbf {
    fn observe(&mut self, key: Fingerprint, draws: Generator) -> Verdict {
        let seen = self.0.has(key);
        if !seen {
            for part in 0..self.0.bits.len() {
                // The whole part of draw · s is the place, and s times the rest a number
                // from 0 to s that is below the load with a chance of load/s.
                let scaled = u128::from(draws.draw(part as u64)) * u128::from(self.0.span());
                let (place, rest) = ((scaled >> 64) as usize, scaled as u64);
                if reduce(rest, self.0.span()) < self.0.load(part) {
                    self.0.bits[part][place] = false;
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
    parts: Parts,
    arrivals: u64,
    /// As printed: the insertion chance below which bits are exchanged, in percent.
    threshold_percent: Option<u64>,
}

impl Rsbf {
    pub fn published(parts: Parts) -> Self {
        Rsbf {
            parts,
            arrivals: 0,
            threshold_percent: None,
        }
    }

    pub fn printed(parts: Parts, threshold_percent: u64) -> Self {
        Rsbf {
            parts,
            arrivals: 0,
            threshold_percent: Some(threshold_percent),
        }
    }

    fn exchange(&mut self, key: Fingerprint, draws: Generator) {
        let span = self.parts.span();
        for (part, at) in self.parts.places(key) {
            let bits = &mut self.parts.bits[part];
            if !bits[at] {
                let from = reduce(draws.draw(part as u64), span);
                let round = (0..span).map(|step| ((from + step) % span) as usize);
                if let Some(set) = round.clone().find(|&place| bits[place]) {
                    bits[set] = false;
                }
                bits[at] = true;
            }
        }
    }
}

impl Oracle for Rsbf {
    fn observe(&mut self, key: Fingerprint, draws: Generator) -> Verdict {
        self.arrivals += 1;
        let (s, i) = (self.parts.span(), self.arrivals);
        let seen = self.parts.has(key);
        match self.threshold_percent {
            Some(_) if i < s => self.parts.set(key),
            Some(percent) if 100 * s < percent * i => self.exchange(key, draws),
            _ => {
                // The coin is a fraction of 2^64, compared with s/i without rounding.
                let coin = u128::from(draws.draw(self.parts.k()));
                if coin * u128::from(i) < u128::from(s) << 64 {
                    self.parts.clear_one_in_each(draws);
                    self.parts.set(key);
                }
            }
        }
        verdict(seen)
    }

    fn draws(&self) -> u64 {
        self.parts.k() + 1
    }

    fn occupied(&self) -> u64 {
        self.parts.occupied()
    }
}

pub struct Stable {
    pub k: u64,
    pub p: u64,
    pub max: u64,
    pub cells: Vec<u64>,
}

impl Oracle for Stable {
    fn observe(&mut self, key: Fingerprint, draws: Generator) -> Verdict {
        let count = self.cells.len();
        let positions = positions(key, self.k, count as u64);
        let seen = positions.iter().all(|&at| self.cells[at] > 0);
        let start = reduce(draws.draw(0), count as u64);
        for step in 0..self.p {
            let cell = &mut self.cells[(start + step) as usize % count];
            *cell = cell.saturating_sub(1);
        }
        for at in positions {
            self.cells[at] = self.max;
        }
        verdict(seen)
    }

    fn draws(&self) -> u64 {
        1
    }

    fn occupied(&self) -> u64 {
        self.cells.iter().filter(|&&cell| cell > 0).count() as u64
    }
}
