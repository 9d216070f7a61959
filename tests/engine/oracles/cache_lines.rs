//! Oracles of filters that keep a key in one cache line or one word.

use std::collections::BTreeSet;

use dedupstore::fingerprint::reduce;
use dedupstore::rng::Generator;
use dedupstore::{Fingerprint, Observation, Verdict};

use super::{Oracle, Parameters, verdict};

const CACHE_LINE_BITS: u64 = 512;

/// Returns numbers of nine bits from the top of 64-bit words, seven per word.
fn nine_bit_numbers(count: u64, mut next_word: impl FnMut() -> u64) -> Vec<u64> {
    let mut numbers = Vec::new();
    while (numbers.len() as u64) < count {
        let word = next_word();
        numbers.extend((0..7).map(|i| word >> (55 - 9 * i) & 511));
    }
    numbers.truncate(count as usize);
    numbers
}

/// Returns k positions, each in another word of 64 bits: six bits per word, from the top, and three
/// bits for the first word.
fn one_per_word(k: u64, number: u64) -> Vec<u64> {
    let first = number >> 13 & 7;
    let words = (first..first + k).map(|word| word % 8);
    let in_word = |word: u64| number >> (58 - 6 * word) & 63;
    words.map(|word| 64 * word + in_word(word)).collect()
}

pub struct Blocked {
    k: u64,
    is_split: bool,
    cap_bits: u64,
    lines: Vec<BTreeSet<u64>>,
}

impl Blocked {
    pub fn new(spec: &Parameters, memory_bits: u64) -> Self {
        Blocked {
            k: spec.number("k"),
            is_split: false,
            cap_bits: spec.number("cap") * CACHE_LINE_BITS / 100,
            lines: vec![BTreeSet::new(); (memory_bits / CACHE_LINE_BITS) as usize],
        }
    }

    pub fn split(spec: &Parameters, memory_bits: u64) -> Self {
        Blocked {
            is_split: true,
            ..Blocked::new(spec, memory_bits)
        }
    }

    fn positions(&self, mut next_number: impl FnMut() -> u64) -> Vec<u64> {
        match self.is_split {
            true => one_per_word(self.k, next_number()),
            false => nine_bit_numbers(self.k, next_number),
        }
    }
}

impl Oracle for Blocked {
    fn observe(&mut self, key: Fingerprint, draws: Generator) -> Verdict {
        let mut probes = key.probes();
        let line = probes.next_below(self.lines.len() as u64) as usize;
        let own = self.positions(|| probes.next_bits());
        let mut index = 0;
        let drawn = self.positions(|| {
            index += 1;
            draws.draw(index - 1)
        });
        let line = &mut self.lines[line];
        if own.iter().all(|at| line.contains(at)) {
            return Verdict::Seen;
        }
        if line.len() as u64 > self.cap_bits {
            for at in drawn {
                line.remove(&at);
            }
        }
        line.extend(own);
        Verdict::New
    }

    fn draws(&self) -> u64 {
        match self.is_split {
            true => 1,
            false => self.k.div_ceil(7),
        }
    }

    fn occupied(&self) -> u64 {
        self.lines.iter().map(|line| line.len() as u64).sum()
    }
}

pub struct Admit {
    k: u64,
    cost_percent: u64,
    lines: Vec<BTreeSet<u64>>,
    weight: u64,
    new: u64,
    seen: u64,
}

impl Admit {
    pub fn new(spec: &Parameters, memory_bits: u64) -> Self {
        Admit {
            k: spec.number("k"),
            cost_percent: spec.number("cost"),
            lines: vec![BTreeSet::new(); (memory_bits / CACHE_LINE_BITS) as usize],
            weight: 0,
            new: 0,
            seen: 0,
        }
    }
}

impl Oracle for Admit {
    fn observe(&mut self, _: Fingerprint, _: Generator) -> Verdict {
        unreachable!("it needs the importance")
    }

    fn observe_in_full(&mut self, observation: Observation, _: Generator) -> Verdict {
        let mut probes = observation.fingerprint.probes();
        let lines = self.lines.len() as u64;
        let line = &mut self.lines[probes.next_below(lines) as usize];
        let own = nine_bit_numbers(self.k, || probes.next_bits());
        if own.iter().all(|at| line.contains(at)) {
            self.seen += 1;
            return Verdict::Seen;
        }
        let importance = u64::from(observation.importance.max(1));
        let fresh = own.iter().filter(|at| !line.contains(at)).count() as u128;
        let mut power = 65_536;
        for _ in 1..self.k {
            power = power * line.len() as u128 / 512;
        }
        let gain = u128::from(importance * (self.seen + 1) * lines * 512 * 100) * 65_536;
        let cost = u128::from(self.cost_percent * self.weight * self.k * (self.new + 1));
        if gain >= cost * fresh * power {
            line.extend(own);
        }
        self.weight += importance;
        self.new += 1;
        Verdict::New
    }

    fn occupied(&self) -> u64 {
        self.lines.iter().map(|line| line.len() as u64).sum()
    }
}

pub struct Aging {
    k: usize,
    full_bits: u64,
    /// The active half and the warm half of each cache line.
    lines: Vec<(BTreeSet<u64>, BTreeSet<u64>)>,
}

impl Aging {
    pub fn new(spec: &Parameters, memory_bits: u64) -> Self {
        Aging {
            k: spec.number("k") as usize,
            full_bits: spec.number("fill") * 255 / 100,
            lines: vec![Default::default(); (memory_bits / CACHE_LINE_BITS) as usize],
        }
    }
}

impl Oracle for Aging {
    fn observe(&mut self, key: Fingerprint, _: Generator) -> Verdict {
        let mut probes = key.probes();
        let line = probes.next_below(self.lines.len() as u64) as usize;
        let (active, warm) = &mut self.lines[line];
        let mut own = Vec::new();
        while own.len() < self.k {
            let word = probes.next_bits();
            own.extend([48, 32, 16, 0].map(|shift| reduce((word >> shift) << 48, 255)));
        }
        own.truncate(self.k);
        if own.iter().all(|at| active.contains(at)) {
            return Verdict::Seen;
        }
        let was_warm = own.iter().all(|at| warm.contains(at));
        if active.len() as u64 > self.full_bits {
            *warm = std::mem::take(active);
        }
        active.extend(own);
        verdict(was_warm)
    }

    fn occupied(&self) -> u64 {
        let lines = self.lines.iter();
        lines
            .map(|(active, warm)| (active.len() + warm.len()) as u64)
            .sum()
    }
}

/// `recent` and `word`: lists of values, the first rank first.
pub struct RankedLists {
    values: u64,
    room: usize,
    insert: usize,
    climbs: bool,
    lists: Vec<Vec<u64>>,
}

impl RankedLists {
    fn new(bits: u64, list_bits: u64, memory_bits: u64) -> Self {
        RankedLists {
            values: (1 << bits) - 1,
            room: (list_bits / bits) as usize,
            insert: 0,
            climbs: false,
            lists: vec![Vec::new(); (memory_bits / list_bits) as usize],
        }
    }

    pub fn recent(spec: &Parameters, memory_bits: u64) -> Self {
        let lists = RankedLists::new(spec.number("bits"), CACHE_LINE_BITS, memory_bits);
        RankedLists {
            insert: spec.number("insert") as usize * lists.room / 8,
            ..lists
        }
    }

    pub fn word(spec: &Parameters, memory_bits: u64) -> Self {
        let lists = RankedLists::new(spec.number("bits"), 64, memory_bits);
        RankedLists {
            insert: (spec.number("insert") as usize).min(lists.room - 1),
            climbs: spec.is("hit", "up"),
            ..lists
        }
    }
}

impl Oracle for RankedLists {
    fn observe(&mut self, key: Fingerprint, _: Generator) -> Verdict {
        let mut probes = key.probes();
        let list = probes.next_below(self.lists.len() as u64) as usize;
        let list = &mut self.lists[list];
        let value = probes.next_below(self.values);
        let rank = list.iter().position(|&held| held == value);
        match rank {
            Some(rank) => {
                list.remove(rank);
                let new_rank = if self.climbs { rank.max(1) - 1 } else { 0 };
                list.insert(new_rank, value);
            }
            None => {
                list.truncate(self.room - 1);
                list.insert(self.insert.min(list.len()), value);
            }
        }
        verdict(rank.is_some())
    }

    fn occupied(&self) -> u64 {
        self.lists.iter().map(|list| list.len() as u64).sum()
    }
}
