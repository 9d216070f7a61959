//! Oracles of filters that store short signatures in slots or rows.

use std::collections::BTreeMap;

use dedupstore::fingerprint::reduce;
use dedupstore::rng::Generator;
use dedupstore::{Fingerprint, Verdict};

use super::{Oracle, Parameters, verdict};

pub struct Slots {
    values: u64,
    words: u64,
    slots_per_word: u64,
    slots: BTreeMap<(u64, u64), u64>,
}

impl Slots {
    pub fn new(spec: &Parameters, memory_bits: u64) -> Self {
        let values = spec.number("values");
        // The largest number of digits to the base values + 1 that 64 bits can hold.
        let fits = |digits: &u32| u128::from(values + 1).pow(*digits) <= 1 << 64;
        Slots {
            values,
            words: memory_bits / 64,
            slots_per_word: (1..=64).take_while(fits).count() as u64,
            slots: BTreeMap::new(),
        }
    }
}

impl Oracle for Slots {
    fn observe(&mut self, key: Fingerprint, _: Generator) -> Verdict {
        let mut probes = key.probes();
        let slot = (
            probes.next_below(self.words),
            probes.next_below(self.slots_per_word),
        );
        let value = probes.next_below(self.values);
        verdict(self.slots.insert(slot, value) == Some(value))
    }

    fn occupied(&self) -> u64 {
        self.slots.len() as u64
    }
}

/// The stored bits of a remainder, and the number of its ones.
type Signature = (u64, u32);

/// The numbers of bits of a remainder: all, and the stored ones.
#[derive(Clone, Copy)]
struct RemainderBits {
    all: u64,
    stored: u64,
}

impl RemainderBits {
    fn new(spec: &Parameters) -> Self {
        RemainderBits {
            all: spec.number("r"),
            stored: spec.number("rr"),
        }
    }

    fn signature(self, remainder: u64) -> Signature {
        (
            remainder >> (self.all - self.stored),
            remainder.count_ones(),
        )
    }

    /// Counts the different signatures by trying all remainders.
    fn signatures(self) -> u64 {
        let remainders = 0..1 << self.all;
        let mut all: Vec<Signature> = remainders.map(|rest| self.signature(rest)).collect();
        all.sort_unstable();
        all.dedup();
        all.len() as u64
    }
}

pub struct Sqf {
    bits: RemainderBits,
    k: u64,
    identity: bool,
    rows: Vec<Vec<Signature>>,
}

impl Sqf {
    pub fn new(spec: &Parameters, memory_bits: u64) -> Self {
        let (bits, k) = (RemainderBits::new(spec), spec.number("k"));
        // One value more than there are signatures: empty.
        let values = bits.signatures() + 1;
        let bucket_bits = u64::from(64 - (values - 1).leading_zeros());
        Sqf {
            bits,
            k,
            identity: spec.is("fingerprint", "identity"),
            rows: vec![Vec::new(); (memory_bits / (k * bucket_bits)) as usize],
        }
    }
}

impl Oracle for Sqf {
    fn observe(&mut self, key: Fingerprint, draws: Generator) -> Verdict {
        let rows = self.rows.len() as u64;
        let r = self.bits.all;
        let (row, remainder) = match self.identity {
            true => ((key.0 >> r) % rows, key.0 % (1 << r)),
            false => {
                let mut probes = key.probes();
                (probes.next_below(rows), probes.next_below(1 << r))
            }
        };
        let signature = self.bits.signature(remainder);
        let row = &mut self.rows[row as usize];
        let seen = row.contains(&signature);
        if !seen {
            if (row.len() as u64) < self.k {
                row.push(signature);
            } else {
                row[reduce(draws.draw(0), self.k) as usize] = signature;
            }
        }
        verdict(seen)
    }

    fn draws(&self) -> u64 {
        1
    }

    fn occupied(&self) -> u64 {
        self.rows.iter().map(|row| row.len() as u64).sum()
    }
}

/// Rows with the latest signature first, and the time of each row's last use.
pub struct Dsqf {
    bits: RemainderBits,
    pool: u64,
    rows: Vec<(Vec<Signature>, u64)>,
    now: u64,
}

impl Dsqf {
    pub fn new(spec: &Parameters, memory_bits: u64) -> Self {
        let k = spec.number("k");
        let rows = memory_bits / (8 * (12 + 6 * k));
        Dsqf {
            bits: RemainderBits::new(spec),
            pool: rows * k,
            rows: vec![(Vec::new(), 0); rows as usize],
            now: 0,
        }
    }
}

impl Oracle for Dsqf {
    fn observe(&mut self, key: Fingerprint, draws: Generator) -> Verdict {
        self.now += 1;
        let mut probes = key.probes();
        let row = probes.next_below(self.rows.len() as u64) as usize;
        let signature = self.bits.signature(probes.next_below(1 << self.bits.all));
        self.rows[row].1 = self.now;
        let seen = self.rows[row].0.contains(&signature);
        if !seen {
            if self.occupied() == self.pool {
                let in_use = self.rows.iter_mut().filter(|(held, _)| !held.is_empty());
                if let Some((held, _)) = in_use.min_by_key(|(_, last_used)| *last_used) {
                    held.remove(reduce(draws.draw(0), held.len() as u64) as usize);
                }
            }
            self.rows[row].0.insert(0, signature);
        }
        verdict(seen)
    }

    fn draws(&self) -> u64 {
        1
    }

    fn occupied(&self) -> u64 {
        self.rows.iter().map(|(held, _)| held.len() as u64).sum()
    }
}
