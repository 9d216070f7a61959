//! Every filter against an oracle: the same algorithm in the simplest form, over vectors and sets,
//! without packing, masks or registers. Verdicts and loads must agree for every observation.
//!
//! An oracle shares with its filter only the numbers that a fingerprint and a generator yield.

mod bits;
mod cache_lines;
mod counters;
mod fingerprint_tables;
mod growing;
mod importance;
mod keys;
mod rows;
mod windows;

use std::ops::RangeInclusive;

use dedupstore::filter::Value;
use dedupstore::rng::Generator;
use dedupstore::{
    AnyFilter, FilterSpec, Fingerprint, KeyHasher, Observation, Registers, SeenSetBuilder, Verdict,
    registry,
};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;

use crate::arbitrary::{any_gap, any_importance, any_spec_of, any_start, next_tick};

const SEED: u64 = 7;
const CASES: u32 = 150;

/// A filter in its simplest form.
trait Oracle {
    /// Decides and updates; `draws` are the random numbers of this observation.
    fn observe(&mut self, key: Fingerprint, draws: Generator) -> Verdict;

    /// The same with the time of the observation.
    fn observe_at(&mut self, key: Fingerprint, _tick: u32, draws: Generator) -> Verdict {
        self.observe(key, draws)
    }

    /// The same with the time and the importance of the observation.
    fn observe_in_full(&mut self, observation: Observation, draws: Generator) -> Verdict {
        self.observe_at(observation.fingerprint, observation.tick, draws)
    }

    /// Returns the number of draws that an observation consumes.
    fn draws(&self) -> u64 {
        0
    }

    /// Returns the number of cells in use.
    fn occupied(&self) -> u64;

    /// Returns the range of the number of cells in use, if it depends on when cells that have left
    /// a window are emptied.
    fn occupied_range(&self) -> RangeInclusive<u64> {
        self.occupied()..=self.occupied()
    }
}

/// Whether a filter has an oracle.
pub fn has_oracle(filter: &FilterSpec) -> bool {
    oracle(filter, 1 << 16).is_some()
}

/// Returns the oracle of a filter that can be built in this memory; None if it has none.
fn oracle(filter: &FilterSpec, memory_bits: u64) -> Option<Box<dyn Oracle>> {
    let spec = Parameters(filter);
    let k = spec.number("k");
    Some(match filter.descriptor().name {
        "bloom" => Box::new(bits::Bloom(match spec.is("layout", "partitioned") {
            true => bits::Partitions::separate(k, memory_bits),
            false => bits::Partitions::shared(k, memory_bits),
        })),
        "bsbf" => Box::new(bits::Bsbf(bits::Partitions::separate(k, memory_bits))),
        "bsbfsd" => Box::new(bits::Bsbfsd(bits::Partitions::separate(k, memory_bits))),
        "rlbsbf" => Box::new(bits::Rlbsbf(bits::Partitions::separate(k, memory_bits))),
        "rsbf" => Box::new(bits::Rsbf::new(
            bits::Partitions::separate(k, memory_bits),
            spec.is("reading", "printed")
                .then(|| spec.number("threshold")),
        )),
        "stable" => Box::new(counters::Stable::new(&spec, memory_bits)),
        "counting" => Box::new(counters::Counting::new(&spec, memory_bits)),
        "quotient" => Box::new(fingerprint_tables::Quotient::new(&spec, memory_bits)),
        "blocked" => Box::new(cache_lines::Blocked::new(&spec, memory_bits)),
        "split" => Box::new(cache_lines::Blocked::split(&spec, memory_bits)),
        "aging" => Box::new(cache_lines::Aging::new(&spec, memory_bits)),
        "recent" => Box::new(cache_lines::RankedLists::recent(&spec, memory_bits)),
        "word" => Box::new(cache_lines::RankedLists::word(&spec, memory_bits)),
        "slot" => Box::new(rows::Slots::new(&spec, memory_bits)),
        "sqf" => Box::new(rows::Sqf::new(&spec, memory_bits)),
        "dsqf" => Box::new(rows::Dsqf::new(&spec, memory_bits)),
        "buffer" => keys::buffer(&spec, memory_bits),
        "fpbuffer" => Box::new(keys::WithFalsePositives {
            q_millionths: spec.number("q"),
            buffer: keys::buffer(&spec, memory_bits),
        }),
        "window" => Box::new(windows::Timers::new(filter, memory_bits)),
        "apbf" => Box::new(windows::AgePartitioned::new(filter, memory_bits)),
        "stamped" => Box::new(windows::Stamped::new(filter, memory_bits)),
        "admit" => Box::new(cache_lines::Admit::new(&spec, memory_bits)),
        "reinsert" => Box::new(importance::Reinsert::new(filter, memory_bits)),
        "ibf" => Box::new(importance::Ibf::new(filter, memory_bits)),
        "growing" => growing::oracle(filter, memory_bits),
        _ => return None,
    })
}

/// The parameters of a spec.
struct Parameters<'a>(&'a FilterSpec);

impl Parameters<'_> {
    fn value(&self, name: &str) -> Option<Value> {
        let mut values = self.0.values();
        values.find_map(|(parameter, value)| (parameter.name == name).then_some(value))
    }

    /// Returns an integer, or a decimal in millionths; 0 if there is no such parameter.
    fn number(&self, name: &str) -> u64 {
        match self.value(name) {
            Some(Value::Integer(number) | Value::Decimal(number)) => number,
            _ => 0,
        }
    }

    fn is(&self, name: &str, word: &str) -> bool {
        self.value(name)
            .is_some_and(|value| value.to_string() == word)
    }
}

fn verdict(seen: bool) -> Verdict {
    match seen {
        true => Verdict::Seen,
        false => Verdict::New,
    }
}

/// Returns the first `count` positions of a key, each below `range`.
fn positions(key: Fingerprint, count: u64, range: u64) -> Vec<usize> {
    let mut probes = key.probes();
    (0..count)
        .map(|_| probes.next_below(range) as usize)
        .collect()
}

/// Runs a filter and its oracle over the same keys. Filters that cannot be built are skipped.
fn assert_agree(
    spec: &FilterSpec,
    memory_bits: u64,
    keys: &[Observation],
) -> Result<(), TestCaseError> {
    let Ok(filter) = AnyFilter::build(spec, memory_bits) else {
        return Ok(());
    };
    let mut oracle = oracle(spec, memory_bits).expect("an oracle");
    let mut region = vec![0; filter.region_bytes()];
    let mut registers = Registers::new(SEED);
    let mut generator = Generator::from_seed(SEED);
    for (i, &key) in keys.iter().enumerate() {
        let expected = oracle.observe_in_full(key, generator);
        generator = generator.ahead(oracle.draws());
        let found = filter.observe(&mut region[..], &mut registers, key);
        prop_assert_eq!(
            found,
            expected,
            "{} in {} bits: key {}",
            spec,
            memory_bits,
            i
        );
        let (occupied, expected) = (registers.occupied(), oracle.occupied_range());
        prop_assert!(
            expected.contains(&occupied),
            "{} in {} bits: load after key {}: {}, expected {:?}",
            spec,
            memory_bits,
            i,
            occupied,
            expected
        );
    }
    Ok(())
}

/// Generates keys that repeat, at short and long gaps, with times and importance.
fn any_keys() -> impl Strategy<Value = Vec<Observation>> {
    let keys = (1u64..2000).prop_flat_map(|universe| {
        proptest::collection::vec((0..universe, any_gap(), any_importance()), 0..900)
    });
    (any_start(), keys).prop_map(|(start, keys)| {
        let hasher = KeyHasher::new(5);
        let mut newest = start;
        let key = |(number, gap, importance): (u64, i64, u16)| Observation {
            tick: next_tick(&mut newest, gap),
            importance,
            ..hasher.fingerprint(&number.to_le_bytes()).into()
        };
        keys.into_iter().map(key).collect()
    })
}

/// Filters without an oracle are reported by the test of the registry.
#[test]
fn every_filter_agrees_with_its_oracle() {
    for descriptor in registry() {
        if !has_oracle(&FilterSpec::with_defaults(descriptor)) {
            continue;
        }
        let memory = prop_oneof![64u64..600, 600u64..4000];
        let mut runner = TestRunner::new(ProptestConfig::with_cases(CASES));
        let inputs = (any_spec_of(descriptor), memory, any_keys());
        let result = runner.run(&inputs, |(spec, memory_bits, keys)| {
            assert_agree(&spec, memory_bits, &keys)
        });
        result.unwrap_or_else(|failure| panic!("{}: {failure}", descriptor.name));
    }
}

/// Generates the parameters of a window whose span the streams of [`any_keys`] cross often.
fn any_window() -> impl Strategy<Value = String> {
    (prop_oneof![1u64..60, 60u64..600], 0u64..40, 0usize..3).prop_map(|(span, step, clock)| {
        let clock = ["seconds", "count", "deliveries"][clock];
        format!("span={span},step={step},clock={clock}")
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4 * CASES))]

    #[test]
    fn timers_forget_like_their_oracle(
        k in 1u64..10, equal in 1u64..4, blocked: bool, window in any_window(),
        bits in 512u64..6000, keys in any_keys(),
    ) {
        let layout = if blocked { "blocked" } else { "shared" };
        let equal = equal.min(k);
        let spec = format!("window:k={k},{window},layout={layout},equal={equal}");
        assert_agree(&spec.parse().expect("a filter"), bits, &keys)?;
    }

    #[test]
    fn slices_are_retired_like_their_oracle(
        k in 1u64..10, window in any_window(), bits in 512u64..6000, keys in any_keys(),
    ) {
        let spec = format!("apbf:k={k},{window}");
        assert_agree(&spec.parse().expect("a filter"), bits, &keys)?;
    }

    #[test]
    fn stamped_fingerprints_are_forgotten_like_their_oracle(
        fingerprint in 4u64..20, window in any_window(), bits in 512u64..6000, keys in any_keys(),
    ) {
        let spec = format!("stamped:bits={fingerprint},{window}");
        assert_agree(&spec.parse().expect("a filter"), bits, &keys)?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(CASES))]

    #[test]
    fn parts_are_opened_like_those_of_their_oracle(
        rate in 1u64..400, k in 0u64..8, by: bool, tighten: bool, blocked: bool,
        part in 0u64..12_000, bits in 600u64..60_000, keys in any_keys(),
    ) {
        let spec = growing_spec(rate, k, by, tighten, blocked, part);
        assert_agree(&spec.parse().expect("a filter"), bits, &keys)?;
    }

    #[test]
    fn parts_with_a_window_are_dropped_like_those_of_their_oracle(
        rate in 1u64..400, k in 0u64..8, by: bool, tighten: bool, blocked: bool,
        part in 0u64..1000, window in any_window(), bits in 2600u64..20_000, keys in any_keys(),
    ) {
        let spec = growing_spec(rate, k, by, tighten, blocked, part);
        let spec = format!("{spec},{window}");
        assert_agree(&spec.parse().expect("a filter"), bits, &keys)?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20))]

    /// With several units, of which one is guessed first.
    #[test]
    fn large_importance_aware_filters_agree_with_their_oracle(
        delete in 0usize..5, p in 0u64..8, insert: bool, by: bool, weight: bool, priority in 0u64..9,
        cells in 30_000u64..70_000, keys in any_keys(),
    ) {
        let (delete, bits_per_cell) = [
            ("probabilistic-p", 21), ("probabilistic", 21), ("probabilistic-val", 14), ("min", 22),
            ("min-priority", 54),
        ][delete];
        let insert = if insert { "max" } else { "importance" };
        let by = if by { "one" } else { "zero" };
        let weight = if weight { "cumulative" } else { "current" };
        let spec = format!(
            "ibf:insert={insert},delete={delete},by={by},weight={weight},p={p},priority={priority}"
        );
        let keys = &keys[..keys.len().min(30)];
        assert_agree(&spec.parse().expect("a filter"), bits_per_cell * cells, keys)?;
    }
}

fn growing_spec(
    rate: u64,
    k: u64,
    by_keys: bool,
    tighten: bool,
    blocked: bool,
    part: u64,
) -> String {
    let by = if by_keys { "cardinality" } else { "density" };
    let tighten = if tighten { "on" } else { "off" };
    let layout = if blocked { "blocked" } else { "shared" };
    let rate = f64::from(rate as u32) / 1000.0;
    format!("growing:fpr={rate},k={k},by={by},tighten={tighten},part={part},layout={layout}")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(CASES))]

    /// Short runs of bits are cleared by one write; the boundary is at 57 bits.
    #[test]
    fn stable_lowers_runs_of_any_length(
        k in 1u64..6, p in 50u64..64, max in 1u64..3, bits in 130u64..600, keys in any_keys(),
    ) {
        let spec = format!("stable:k={k},p={p},max={max}").parse().expect("a filter");
        assert_agree(&spec, bits, &keys)?;
    }

    /// Fingerprints far apart, and many with the same quotient: runs of hundreds of slots.
    #[test]
    fn quotient_forgets_like_a_set(
        bits in 1u64..20, doublings in 0u64..6, longest in 12u64..30, memory in 1500u64..30_000,
        steps in proptest::collection::vec((any::<u64>(), 0u64..4, any::<bool>()), 0..1200),
    ) {
        let spec = format!("quotient:bits={bits},doublings={doublings},longest={longest}");
        let spec: FilterSpec = spec.parse().expect("a filter");
        let Ok(filter) = AnyFilter::build(&spec, memory) else { return Ok(()) };
        let mut oracle = fingerprint_tables::Quotient::new(&Parameters(&spec), memory);
        let (mut region, mut registers) = (vec![0; filter.region_bytes()], Registers::new(SEED));
        let mut known = Vec::new();
        for (number, kind, forget) in steps {
            let key = Fingerprint(match kind {
                0 => number,
                1 => (3 << 62) | (number >> 20),
                _ => ((number % 3) << 62) | (number >> 9),
            });
            if forget && !known.is_empty() {
                let key = known[number as usize % known.len()];
                let expected = oracle.forget(key);
                prop_assert_eq!(filter.forget(&mut region[..], &mut registers, key), Ok(expected));
                prop_assert_eq!(filter.contains(&region, &registers, key), Verdict::New);
            }
            let expected = oracle.observe(key, Generator::from_seed(0));
            let found = filter.observe(&mut region[..], &mut registers, key.into());
            prop_assert_eq!(found, expected);
            prop_assert_eq!(registers.occupied(), oracle.occupied());
            known.push(key);
        }
        prop_assert_eq!(filter.recount(&region), oracle.occupied());
        for key in known {
            prop_assert_eq!(filter.contains(&region, &registers, key), oracle.contains(key));
        }
        let used = filter.used_bytes(&registers);
        prop_assert!(region[used..].iter().all(|&byte| byte == 0));
    }

    /// A merged filter holds what either held, whichever was merged into the other. If all
    /// fingerprints are equally long, it is, byte for byte, the filter that observed the keys of both,
    /// in any order.
    #[test]
    fn quotient_merges_like_a_set(
        bits in 1u64..20, doublings in 0u64..6, longest in 12u64..30, memory in 1500u64..30_000,
        steps in proptest::collection::vec((any::<u64>(), 0u64..4, 0u64..3), 0..1000),
    ) {
        let spec = format!("quotient:bits={bits},doublings={doublings},longest={longest}");
        let spec: FilterSpec = spec.parse().expect("a filter");
        let Ok(filter) = AnyFilter::build(&spec, memory) else { return Ok(()) };
        let fresh = || (vec![0; filter.region_bytes()], Registers::new(SEED));
        let oracle = || fingerprint_tables::Quotient::new(&Parameters(&spec), memory);
        let mut states = [fresh(), fresh(), fresh()];
        let mut oracles = [oracle(), oracle(), oracle()];
        let keys: Vec<(Fingerprint, u64)> = steps.into_iter().map(|(number, kind, which)| {
            (Fingerprint(if kind == 0 { number } else { ((number % 3) << 62) | (number >> 9) }), which)
        }).collect();
        let mut all_recorded = true;
        for reversed in [false, true] {
            let mut keys = keys.clone();
            if reversed {
                keys.reverse();
            }
            for (key, which) in keys {
                // Keys of kind 2 are in both; the third filter observes all, in reverse.
                let mut observe = |index: usize| {
                    let (region, registers) = &mut states[index];
                    filter.observe(&mut region[..], registers, key.into());
                    oracles[index].observe(key, Generator::from_seed(0));
                    all_recorded &= oracles[index].contains(key) == Verdict::Seen;
                };
                match (reversed, which) {
                    (true, _) => observe(2),
                    (false, 2) => [0, 1].into_iter().for_each(observe),
                    (false, which) => observe(which as usize),
                }
            }
        }
        let union: std::collections::BTreeSet<_> =
            oracles[0].held.union(&oracles[1].held).copied().collect();
        let [(mut region, mut registers), (other, other_registers), (all, all_registers)] = states;
        let is_uniform = oracles[0].is_uniform();
        let before = region.clone();
        let (mut reversed, mut reversed_registers) = (other.clone(), other_registers.clone());
        let reversed_result =
            filter.merge(&mut reversed, &mut reversed_registers, &region, &registers);
        match filter.merge(&mut region, &mut registers, &other, &other_registers) {
            Ok(()) => {
                prop_assert_eq!(reversed_result, Ok(()));
                prop_assert!(region == reversed);
                prop_assert_eq!(registers.own(), reversed_registers.own());
                prop_assert_eq!(registers.occupied(), filter.recount(&region));
                if is_uniform {
                    prop_assert_eq!(registers.occupied(), union.len() as u64);
                }
                for (key, _) in &keys {
                    let held = oracles[0].contains(*key).is_seen() || oracles[1].contains(*key).is_seen();
                    prop_assert_eq!(filter.contains(&region, &registers, *key).is_seen(), held);
                }
                if all_recorded && is_uniform {
                    prop_assert!(region == all);
                    prop_assert_eq!(registers.own(), all_registers.own());
                }
            }
            Err(_) => {
                prop_assert!(region == before && !(all_recorded && is_uniform));
            }
        }
    }

    /// Any key may be removed here, also one that never occurred: the oracle does the same.
    #[test]
    fn counting_forgets_like_its_oracle(
        k in 1u64..9, bits in 2u64..6, cells in 64u64..900,
        steps in proptest::collection::vec((0u16..200, any::<bool>()), 0..800),
    ) {
        let spec: FilterSpec = format!("counting:k={k},bits={bits}").parse().expect("a filter");
        let mut oracle = counters::Counting::new(&Parameters(&spec), cells * bits);
        let set = SeenSetBuilder::new(&spec).memory_bits(cells * bits).seed(SEED);
        let mut set = set.build().expect("small");
        for (key, forget) in steps {
            let key = key.to_le_bytes();
            let fingerprint = set.hasher().fingerprint(&key);
            if forget {
                let before = set.contains(key);
                prop_assert_eq!(set.forget(key), Ok(before));
                oracle.forget(fingerprint);
            } else {
                let expected = oracle.observe(fingerprint, Generator::from_seed(0));
                prop_assert_eq!(set.observe(key), expected);
            }
            prop_assert_eq!(set.registers().occupied(), oracle.occupied());
            prop_assert_eq!(set.filter().recount(set.region()), oracle.occupied());
        }
    }
}
