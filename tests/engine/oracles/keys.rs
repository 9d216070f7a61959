//! Oracles of filters that store whole keys.

use dedupstore::fingerprint::reduce;
use dedupstore::rng::Generator;
use dedupstore::{Fingerprint, Verdict};

use super::{Oracle, Parameters, verdict};

/// Returns the buffer with the policy of a spec.
pub fn buffer(spec: &Parameters, memory_bits: u64) -> Box<dyn Oracle> {
    match spec.is("policy", "clock") {
        true => Box::new(Clock {
            room: memory_bits / 128,
            slots: Vec::new(),
            hand: 0,
        }),
        false => Box::new(Lru {
            room: memory_bits / 192,
            keys: Vec::new(),
        }),
    }
}

/// The most recent keys, the oldest first.
struct Lru {
    room: u64,
    keys: Vec<Fingerprint>,
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

    fn occupied(&self) -> u64 {
        self.keys.len() as u64
    }
}

/// Keys with a reference bit each, and the position of the hand.
struct Clock {
    room: u64,
    slots: Vec<(Fingerprint, bool)>,
    hand: usize,
}

impl Oracle for Clock {
    fn observe(&mut self, key: Fingerprint, _: Generator) -> Verdict {
        if let Some((_, referenced)) = self.slots.iter_mut().find(|(held, _)| *held == key) {
            *referenced = true;
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

    fn occupied(&self) -> u64 {
        self.slots.len() as u64
    }
}

/// A buffer that reports unknown keys as Seen at random.
pub struct WithFalsePositives {
    pub q_millionths: u64,
    pub buffer: Box<dyn Oracle>,
}

impl Oracle for WithFalsePositives {
    fn observe(&mut self, key: Fingerprint, draws: Generator) -> Verdict {
        let found = self.buffer.observe(key, draws);
        let drawn = reduce(draws.draw(0), 1_000_000) < self.q_millionths;
        verdict(found == Verdict::Seen || drawn)
    }

    fn draws(&self) -> u64 {
        1
    }

    fn occupied(&self) -> u64 {
        self.buffer.occupied()
    }
}
