//! Oracles of filters that keep signatures in rows.

use dedupstore::fingerprint::reduce;
use dedupstore::rng::Generator;
use dedupstore::{Fingerprint, Verdict};

use super::{Oracle, verdict};

/// The bits kept of a remainder, and the count of its ones.
type Signature = (u64, u32);

fn signature(remainder: u64, r: u64, kept: u64) -> Signature {
    (remainder >> (r - kept), remainder.count_ones())
}

/// How many pairs of that kind there are, by trying.
fn signatures(r: u64, kept: u64) -> u64 {
    let mut all: Vec<Signature> = (0..1 << r).map(|rem| signature(rem, r, kept)).collect();
    all.sort_unstable();
    all.dedup();
    all.len() as u64
}

pub struct Sqf {
    r: u64,
    kept: u64,
    k: u64,
    identity: bool,
    rows: Vec<Vec<Signature>>,
}

impl Sqf {
    pub fn new(r: u64, kept: u64, k: u64, memory_bits: u64, identity: bool) -> Option<Self> {
        // One value more than there are signatures: empty.
        let values = signatures(r, kept) + 1;
        let bucket_bits = u64::from(64 - (values - 1).leading_zeros());
        let rows = memory_bits / (k * bucket_bits);
        (rows > 0).then(|| Sqf {
            r,
            kept,
            k,
            identity,
            rows: vec![Vec::new(); rows as usize],
        })
    }
}

impl Oracle for Sqf {
    fn observe(&mut self, key: Fingerprint, draws: Generator) -> Verdict {
        let rows = self.rows.len() as u64;
        let (row, remainder) = match self.identity {
            true => ((key.0 >> self.r) % rows, key.0 % (1 << self.r)),
            false => {
                let mut probes = key.probes();
                (probes.next_below(rows), probes.next_below(1 << self.r))
            }
        };
        let signature = signature(remainder, self.r, self.kept);
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

/// Rows with the latest bucket first, and when each was last asked for.
pub struct Dsqf {
    r: u64,
    kept: u64,
    pool: u64,
    rows: Vec<(Vec<Signature>, u64)>,
    now: u64,
}

impl Dsqf {
    pub fn new(r: u64, kept: u64, k: u64, memory_bits: u64) -> Self {
        let rows = memory_bits / (8 * (12 + 6 * k));
        Dsqf {
            r,
            kept,
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
        let signature = signature(probes.next_below(1 << self.r), self.r, self.kept);
        self.rows[row].1 = self.now;
        let seen = self.rows[row].0.contains(&signature);
        if !seen {
            if self.occupied() == self.pool {
                let in_use = self.rows.iter_mut().filter(|(held, _)| !held.is_empty());
                if let Some((held, _)) = in_use.min_by_key(|(_, asked)| *asked) {
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
