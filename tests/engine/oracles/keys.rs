//! Oracles of filters that keep whole keys.

use dedupstore::fingerprint::reduce;
use dedupstore::rng::Generator;
use dedupstore::{Fingerprint, Verdict};

use super::{Oracle, verdict};

/// The latest keys, oldest first.
pub struct Lru {
    pub room: u64,
    pub keys: Vec<Fingerprint>,
}

impl Oracle for Lru {
    fn observe(&mut self, key: Fingerprint, _: Generator) -> Verdict {
        let seen = self.keys.contains(&key);
        self.keys.retain(|&held| held != key);
        self.keys.push(key);
        if self.keys.len() as u64 > self.room {
            self.keys.remove(0);
        }
        verdict(seen)
    }

    fn draws(&self) -> u64 {
        0
    }

    fn occupied(&self) -> u64 {
        self.keys.len() as u64
    }
}

/// Keys with a mark each, and the place of the hand.
pub struct Clock {
    pub room: u64,
    pub slots: Vec<(Fingerprint, bool)>,
    pub hand: usize,
}

impl Oracle for Clock {
    fn observe(&mut self, key: Fingerprint, _: Generator) -> Verdict {
        if let Some((_, mark)) = self.slots.iter_mut().find(|(held, _)| *held == key) {
            *mark = true;
            return Verdict::Seen;
        }
        if (self.slots.len() as u64) < self.room {
            self.slots.push((key, false));
            return Verdict::New;
        }
        while self.slots[self.hand].1 {
            self.slots[self.hand].1 = false;
            self.hand = (self.hand + 1) % self.slots.len();
        }
        self.slots[self.hand] = (key, false);
        self.hand = (self.hand + 1) % self.slots.len();
        Verdict::New
    }

    fn draws(&self) -> u64 {
        0
    }

    fn occupied(&self) -> u64 {
        self.slots.len() as u64
    }
}

/// A buffer that calls what it does not hold Seen, now and then.
pub struct WithChance {
    pub percent: u64,
    pub buffer: Lru,
}

impl Oracle for WithChance {
    fn observe(&mut self, key: Fingerprint, draws: Generator) -> Verdict {
        let found = self.buffer.observe(key, draws);
        // Millionths, as the parameter has them.
        let chance = reduce(draws.draw(0), 1_000_000) < self.percent * 10_000;
        verdict(found == Verdict::Seen || chance)
    }

    fn draws(&self) -> u64 {
        1
    }

    fn occupied(&self) -> u64 {
        self.buffer.occupied()
    }
}
