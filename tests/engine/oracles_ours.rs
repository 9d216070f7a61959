//! The filters beside those of the literature, each against a naive twin that keeps its
//! keys in plain collections; and against the rates that theory or measurement promises.
//!
//! A twin shares nothing with its filter but the numbers that a fingerprint and a
//! generator yield: no packing, no masks, no registers.

use std::collections::{BTreeMap, BTreeSet};

use dedupstore::fingerprint::{Fingerprint, KeyHasher, reduce};
use dedupstore::lab::{NoClock, Simulation, StreamSpec};
use dedupstore::rng::Generator;
use dedupstore::{FilterSpec, Observation, SeenSet, Verdict};
use proptest::prelude::*;

const SEED: u64 = 9;

/// What the filter should say and how many cells it should use.
trait Twin {
    fn observe(&mut self, fingerprint: Fingerprint) -> Verdict;
    fn occupied(&self) -> usize;
}

/// Runs a filter and its twin over keys that repeat; they must agree at every one.
fn agree(spec: &str, memory_bits: u64, mut twin: impl Twin, keys: &[u16]) {
    let spec: FilterSpec = spec.parse().expect("a filter");
    let mut set = SeenSet::in_memory(&spec, memory_bits, SEED).expect("small");
    for (i, key) in keys.iter().enumerate() {
        let fingerprint = set.hasher().fingerprint(&key.to_le_bytes());
        let verdict = set.observe_one(Observation::from(fingerprint));
        assert_eq!(verdict, twin.observe(fingerprint), "{spec}, key {i}");
        let occupied = set.registers().occupied();
        assert_eq!(occupied, twin.occupied() as u64, "{spec}, key {i}");
    }
}

fn verdict(seen: bool) -> Verdict {
    match seen {
        true => Verdict::Seen,
        false => Verdict::New,
    }
}

/// Numbers of nine bits from the top of words of 64, seven to a word.
fn nines(count: u64, mut word: impl FnMut() -> u64) -> Vec<u64> {
    let mut pieces = Vec::new();
    while (pieces.len() as u64) < count {
        let bits = word();
        pieces.extend((0..7).map(|i| bits >> (55 - 9 * i) & 511));
    }
    pieces.truncate(count as usize);
    pieces
}

struct BlockedTwin {
    k: u64,
    cap: u64,
    lines: Vec<BTreeSet<u64>>,
    generator: Generator,
}

impl Twin for BlockedTwin {
    fn observe(&mut self, fingerprint: Fingerprint) -> Verdict {
        let generator = self.generator;
        self.generator = generator.ahead(self.k.div_ceil(7));
        let mut probes = fingerprint.probes();
        let line = probes.next_below(self.lines.len() as u64) as usize;
        let line = &mut self.lines[line];
        let own = nines(self.k, || probes.next_bits());
        if own.iter().all(|at| line.contains(at)) {
            return Verdict::Seen;
        }
        if line.len() as u64 > self.cap * 512 / 100 {
            let mut index = 0;
            let mut draw = || {
                index += 1;
                generator.draw(index - 1)
            };
            for at in nines(self.k, &mut draw) {
                line.remove(&at);
            }
        }
        line.extend(own);
        Verdict::New
    }

    fn occupied(&self) -> usize {
        self.lines.iter().map(BTreeSet::len).sum()
    }
}

struct SlotTwin {
    values: u64,
    words: u64,
    slots_a_word: u64,
    slots: BTreeMap<(u64, u64), u64>,
}

impl Twin for SlotTwin {
    fn observe(&mut self, fingerprint: Fingerprint) -> Verdict {
        let mut probes = fingerprint.probes();
        let slot = (
            probes.next_below(self.words),
            probes.next_below(self.slots_a_word),
        );
        let value = probes.next_below(self.values);
        verdict(self.slots.insert(slot, value) == Some(value))
    }

    fn occupied(&self) -> usize {
        self.slots.len()
    }
}

/// `recent` and `word`: lists, the first rank first.
struct RankedTwin {
    bits: u32,
    room: usize,
    insert: usize,
    climbs: bool,
    lists: Vec<Vec<u64>>,
}

impl Twin for RankedTwin {
    fn observe(&mut self, fingerprint: Fingerprint) -> Verdict {
        let mut probes = fingerprint.probes();
        let list = probes.next_below(self.lists.len() as u64) as usize;
        let list = &mut self.lists[list];
        let value = probes.next_below((1 << self.bits) - 1);
        let place = list.iter().position(|&held| held == value);
        match place {
            Some(place) => {
                list.remove(place);
                let up = if self.climbs { place.max(1) - 1 } else { 0 };
                list.insert(up, value);
            }
            None => {
                list.truncate(self.room - 1);
                list.insert(self.insert.min(list.len()), value);
            }
        }
        verdict(place.is_some())
    }

    fn occupied(&self) -> usize {
        self.lists.iter().map(Vec::len).sum()
    }
}

struct AgingTwin {
    k: usize,
    fill: u64,
    /// The active half and the warm half of each line.
    lines: Vec<(BTreeSet<u64>, BTreeSet<u64>)>,
}

impl Twin for AgingTwin {
    fn observe(&mut self, fingerprint: Fingerprint) -> Verdict {
        let mut probes = fingerprint.probes();
        let line = probes.next_below(self.lines.len() as u64) as usize;
        let (active, warm) = &mut self.lines[line];
        let mut own = Vec::new();
        while own.len() < self.k {
            let bits = probes.next_bits();
            own.extend([48, 32, 16, 0].map(|shift| reduce((bits >> shift) << 48, 255)));
        }
        own.truncate(self.k);
        if own.iter().all(|at| active.contains(at)) {
            return Verdict::Seen;
        }
        let was_warm = own.iter().all(|at| warm.contains(at));
        if active.len() as u64 > self.fill * 255 / 100 {
            *warm = std::mem::take(active);
        }
        active.extend(own);
        verdict(was_warm)
    }

    fn occupied(&self) -> usize {
        let halves = self.lines.iter();
        halves.map(|(active, warm)| active.len() + warm.len()).sum()
    }
}

struct CountingTwin {
    k: u64,
    most: u32,
    counters: Vec<u32>,
}

impl CountingTwin {
    fn positions(&self, fingerprint: Fingerprint) -> Vec<usize> {
        let mut probes = fingerprint.probes();
        let cells = self.counters.len() as u64;
        let position = |_| probes.next_below(cells) as usize;
        (0..self.k).map(position).collect()
    }

    fn forget(&mut self, fingerprint: Fingerprint) {
        let positions = self.positions(fingerprint);
        if positions.iter().all(|&at| self.counters[at] > 0) {
            for at in positions {
                if self.counters[at] < self.most {
                    self.counters[at] = self.counters[at].saturating_sub(1);
                }
            }
        }
    }
}

impl Twin for CountingTwin {
    fn observe(&mut self, fingerprint: Fingerprint) -> Verdict {
        let positions = self.positions(fingerprint);
        let seen = positions.iter().all(|&at| self.counters[at] > 0);
        if !seen {
            for at in positions {
                self.counters[at] = self.most.min(self.counters[at] + 1);
            }
        }
        verdict(seen)
    }

    fn occupied(&self) -> usize {
        self.counters.iter().filter(|&&count| count > 0).count()
    }
}

fn keys() -> impl Strategy<Value = Vec<u16>> {
    (1u16..3000).prop_flat_map(|most| proptest::collection::vec(0..most, 0..1500))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn blocked(k in 1u64..20, cap in 1u64..=100, lines in 1u64..6, keys in keys()) {
        let twin = BlockedTwin {
            k,
            cap,
            lines: vec![BTreeSet::new(); lines as usize],
            generator: Generator::from_seed(SEED),
        };
        agree(&format!("blocked:k={k},cap={cap}"), lines * 512 + 100, twin, &keys);
    }

    #[test]
    fn slot(values in prop_oneof![1u64..20, 1u64..65_535], words in 1u64..30, keys in keys()) {
        // The most digits to the base values + 1 that 64 bits can hold.
        let fits = |digits: &u32| u128::from(values + 1).pow(*digits) <= 1 << 64;
        let twin = SlotTwin {
            values,
            words,
            slots_a_word: (1..=64).take_while(fits).count() as u64,
            slots: BTreeMap::new(),
        };
        agree(&format!("slot:values={values}"), words * 64 + 9, twin, &keys);
    }

    #[test]
    fn recent(bits in 4u32..=32, insert in 0usize..8, lines in 1u64..6, keys in keys()) {
        let room = 512 / bits as usize;
        let twin = RankedTwin {
            bits,
            room,
            insert: insert * room / 8,
            climbs: false,
            lists: vec![Vec::new(); lines as usize],
        };
        agree(&format!("recent:bits={bits},insert={insert}"), lines * 512 + 7, twin, &keys);
    }

    #[test]
    fn word(bits in 2u32..=32, insert in 0usize..12, climbs: bool, words in 1u64..30, keys in keys()) {
        let room = 64 / bits as usize;
        let twin = RankedTwin {
            bits,
            room,
            insert: insert.min(room - 1),
            climbs,
            lists: vec![Vec::new(); words as usize],
        };
        let hit = if climbs { "up" } else { "front" };
        let spec = format!("word:bits={bits},insert={insert},hit={hit}");
        agree(&spec, words * 64 + 7, twin, &keys);
    }

    #[test]
    fn aging(k in 1usize..12, fill in 1u64..100, lines in 1u64..6, keys in keys()) {
        let twin = AgingTwin { k, fill, lines: vec![Default::default(); lines as usize] };
        agree(&format!("aging:k={k},fill={fill}"), lines * 512 + 7, twin, &keys);
    }

    #[test]
    fn counting(k in 1u64..9, bits in 2u32..6, cells in 64u64..900, keys in keys()) {
        let twin = CountingTwin { k, most: (1 << bits) - 1, counters: vec![0; cells as usize] };
        agree(&format!("counting:k={k},bits={bits}"), cells * u64::from(bits), twin, &keys);
    }

    /// Any key may be forgotten here, even one that was never met: the twin does the same.
    #[test]
    fn counting_forgets(
        k in 1u64..9, bits in 2u32..6, cells in 64u64..900,
        steps in proptest::collection::vec((0u16..200, any::<bool>()), 0..800),
    ) {
        let mut twin = CountingTwin { k, most: (1 << bits) - 1, counters: vec![0; cells as usize] };
        let spec: FilterSpec = format!("counting:k={k},bits={bits}").parse().expect("a filter");
        let mut set = SeenSet::in_memory(&spec, cells * u64::from(bits), SEED).expect("small");
        for (key, forget) in steps {
            let key = key.to_le_bytes();
            let fingerprint = set.hasher().fingerprint(&key);
            if forget {
                let before = set.contains(&key);
                prop_assert_eq!(set.forget(&key), Ok(before));
                twin.forget(fingerprint);
            } else {
                prop_assert_eq!(set.observe(&key), twin.observe(fingerprint));
            }
            prop_assert_eq!(set.registers().occupied(), twin.occupied() as u64);
            prop_assert_eq!(set.filter().recount(set.region()), twin.occupied() as u64);
        }
    }
}

/// With counters that do not fill up, forgetting all keys that were New leaves nothing.
#[test]
fn what_is_forgotten_leaves_no_trace() {
    let spec: FilterSpec = "counting:bits=8".parse().expect("a filter");
    let mut set = SeenSet::in_memory(&spec, 80_000, SEED).expect("small");
    let keys: Vec<[u8; 4]> = (0..2000u32).map(u32::to_le_bytes).collect();
    let new: Vec<_> = keys
        .iter()
        .filter(|key| set.observe(*key) == Verdict::New)
        .collect();
    let (gone, kept) = new.split_at(1000);
    for key in gone {
        assert_eq!(set.forget(*key), Ok(Verdict::Seen));
    }
    assert!(kept.iter().all(|key| set.contains(*key) == Verdict::Seen));
    for key in kept {
        assert_eq!(set.forget(*key), Ok(Verdict::Seen));
    }
    assert!(set.region().iter().all(|&byte| byte == 0));
    assert_eq!(set.load(), 0.0);
}

#[test]
fn filters_that_cannot_forget_say_which_can() {
    let spec: FilterSpec = "bloom".parse().expect("a filter");
    let mut set = SeenSet::in_memory(&spec, 8000, SEED).expect("small");
    let error = set.forget(b"a").expect_err("it cannot");
    assert_eq!(
        error.to_string(),
        "bloom cannot forget a key; these can: counting"
    );
}

/// The two rates of a filter on a million keys.
fn rates(stream: &str, filter: &str, memory_bits: u64) -> (f64, f64) {
    let stream: StreamSpec = stream.parse().expect("a stream");
    let mut keys = stream.open(1_000_000, 1);
    let mut simulation = Simulation::new(1, keys.truth());
    let spec = filter.parse().expect("a filter");
    simulation.enter(&spec, memory_bits).expect("small");
    while let Some((key, number)) = keys.next_key() {
        simulation.push_numbered(key, number, &NoClock);
    }
    simulation.flush(&NoClock);
    let board = simulation.contestants()[0].board();
    let both = board.fpr().zip(board.fnr());
    both.expect("both kinds of keys came")
}

/// The mean over a filling of n keys into lines of 512 bits, if keys fall into lines at
/// random, of the chance that a new one finds its k bits set.
fn blocked_theory(k: i32, keys_a_line: f64) -> f64 {
    let steps = 400;
    let at = |mean: f64| -> f64 {
        let mut share = (-mean).exp();
        let mut chance = 0.0;
        for keys in 0..400 {
            let clear = (1.0f64 - 1.0 / 512.0).powi(k * keys);
            chance += share * (1.0 - clear).powi(k);
            share *= mean / f64::from(keys + 1);
        }
        chance
    };
    let filling = (0..steps).map(|i| at(keys_a_line * (f64::from(i) + 0.5) / f64::from(steps)));
    filling.sum::<f64>() / f64::from(steps)
}

/// At 8 and 16 bits for each of 600,000 distinct keys no line reaches the cap: the rate of
/// drops is theory's and no repeat is missed. The standard error at 16 bits is 5 % of the
/// rate, at 8 bits 1.6 %; three of them are allowed. At 4 bits the cap is met by few lines.
#[test]
fn blocked_follows_its_formula_and_misses_next_to_nothing() {
    let distinct = 600_000u64;
    for (bits, tolerance) in [(8, 0.05), (16, 0.16)] {
        let (fpr, fnr) = rates("shuffle:60", "blocked", distinct * bits);
        let theory = blocked_theory(4, 512.0 / bits as f64);
        assert!(
            (fpr / theory - 1.0).abs() < tolerance,
            "{bits}: {fpr}, {theory}"
        );
        assert_eq!(fnr, 0.0, "{bits} bits");
    }
    for (stream, distinct) in [("shuffle:15", 150_000), ("shuffle:60", 600_000)] {
        let (fpr, fnr) = rates(stream, "blocked", distinct * 4);
        assert!((0.0435..0.047).contains(&fpr), "{stream}: {fpr}");
        assert!(fnr < 0.001, "{stream}: {fnr}");
    }
}

/// An independent simulator measured 56 % of repeats missed, to two digits, where at most
/// a tenth of new keys is dropped.
#[test]
fn slot_holds_its_bound_with_a_bit_a_key() {
    let (fpr, fnr) = rates("uniform:15", "slot:values=7", 150_000);
    assert!(fpr < 0.1, "{fpr}");
    assert!((fnr - 0.56).abs() < 0.006, "{fnr}");
    for values in [3, 10, 100] {
        let (fpr, _) = rates("shuffle:60", &format!("slot:values={values}"), 60_000);
        // The table is full almost from the start: the bound is nearly reached, not passed.
        let bound = 1.0 / f64::from(values);
        assert!(fpr < bound * 1.01 && fpr > bound * 0.9, "{values}: {fpr}");
    }
}

/// Each has a bound on the share of new keys dropped, and far from enough memory.
#[test]
fn bounds_hold_where_memory_is_short() {
    for (filter, bound) in [
        ("blocked", 0.71f64.powi(4)),
        ("recent", 42.0 / 4095.0),
        ("word", 8.0 / 255.0),
        ("aging", 1.0 - (1.0 - 0.52f64.powi(6)).powi(2)),
    ] {
        let (fpr, _) = rates("shuffle:60", filter, 300_000);
        // Four standard errors of a rate over 600,000 first occurrences.
        let error = 4.0 * (bound / 600_000.0f64).sqrt();
        assert!(fpr < bound + error, "{filter}: {fpr}, {bound}");
        assert!(fpr > bound / 3.0, "{filter}: {fpr} is far below {bound}");
    }
}

/// Keys repeat among the last 40,000 new ones and then no more, 16 bits for each of those.
/// A line of `recent` sees 32 of them on average and has room for 42; a Bloom filter would
/// be full. The shares are counted over the second half of a million keys.
#[test]
fn recent_follows_a_stream_that_drifts() {
    let window = 40_000u64;
    let mut measured = BTreeMap::new();
    for filter in ["recent", "stable", "rlbsbf"] {
        let spec: FilterSpec = filter.parse().expect("a filter");
        let mut set = SeenSet::in_memory(&spec, window * 16, SEED).expect("small");
        let mut fresh = 0u64;
        let (mut dropped, mut missed, mut new, mut repeats) = (0, 0, 0, 0);
        for i in 0..1_000_000u64 {
            let draw = KeyHasher::new(5).fingerprint(&i.to_le_bytes()).0;
            let is_new = fresh < window || draw % 10 < 3;
            let key = match is_new {
                true => fresh,
                false => fresh - 1 - reduce(draw, window),
            };
            fresh += u64::from(is_new);
            let seen = set.observe(&key.to_le_bytes()) == Verdict::Seen;
            if i >= 500_000 {
                new += u64::from(is_new);
                repeats += u64::from(!is_new);
                dropped += u64::from(is_new && seen);
                missed += u64::from(!is_new && !seen);
            }
        }
        let share = |count: u64, of: u64| count as f64 / of as f64;
        measured.insert(filter, (share(dropped, new), share(missed, repeats)));
    }
    let sum = |filter: &str| measured[filter].0 + measured[filter].1;
    // 42 values of 4095, and four standard errors over 150,000 new keys.
    assert!(
        measured["recent"].0 < 42.0 / 4095.0 + 0.00105,
        "{measured:?}"
    );
    assert!(
        3.0 * sum("recent") < sum("stable").min(sum("rlbsbf")),
        "{measured:?}"
    );
}
