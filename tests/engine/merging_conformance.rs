//! What every filter must do whose states can be united.

use dedupstore::filter::{FilterSpec, Requirement, filters_that_merge};
use dedupstore::{Observation, Verdict, registry};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;

use crate::arbitrary::{any_memory_bits, any_spec_of, any_stream};
use crate::conformance::FilterState;

/// Runs a property over the filters that can be united, with any parameters: two states, their
/// union, and the observations of both.
fn for_each_union(
    cases: u32,
    property: impl Fn(
        &FilterSpec,
        [&FilterState; 2],
        FilterState,
        &[Observation],
    ) -> Result<(), TestCaseError>,
) {
    for descriptor in registry() {
        if !filters_that_merge().contains(&descriptor.name) {
            continue;
        }
        let streams = (any_stream(0..400), any_stream(0..400));
        let inputs = (any_spec_of(descriptor), any_memory_bits(), streams);
        let mut runner = TestRunner::new(ProptestConfig::with_cases(cases));
        let result = runner.run(&inputs, |(spec, memory_bits, (first, second))| {
            let Ok(fresh) = FilterState::new(&spec, memory_bits) else {
                return Ok(());
            };
            let (mut one, mut other) = (fresh.clone(), fresh);
            one.observe_batch(&first);
            other.observe_batch(&second);
            let mut union = one.clone();
            let FilterState {
                filter,
                region,
                registers,
            } = &mut union;
            let before = one.digest();
            let united = filter.merge(region, registers, &other.region, &other.registers);
            if united.is_err() {
                // Some parameters exclude a union; then nothing changes.
                prop_assert_eq!(union.digest(), before);
                return Ok(());
            }
            let keys = [first, second].concat();
            property(&spec, [&one, &other], union, &keys)
        });
        result.unwrap_or_else(|failure| panic!("{}: {failure}", descriptor.name));
    }
}

/// Returns whether a filter with a window would still report a key as Seen when its clock stands
/// where that of the union stands.
fn is_seen_by(state: &FilterState, union: &FilterState, key: &Observation) -> bool {
    let tick = match state.filter.tick_clock() {
        Some(clock) => union.registers.clock().saturating_mul(clock.step()),
        None => 0,
    };
    let tick = u32::try_from(tick).unwrap_or(u32::MAX);
    let moved = Observation { tick, ..*key };
    state.contains_at(moved).is_seen()
}

/// Bits, counters and timers: the union keeps every key of either filter. A table of fingerprints
/// may have no place for all of them, and then has none left.
#[test]
fn a_key_of_either_filter_is_seen_by_their_union() {
    for_each_union(60, |spec, parts, union, keys| {
        for key in keys {
            let expected = parts.iter().any(|part| is_seen_by(part, &union, key));
            if !expected || union.contains(key.fingerprint).is_seen() {
                continue;
            }
            let evidence = union.evidence(key.fingerprint);
            let stores_fingerprints = evidence.required.fingerprint().is_some();
            prop_assert!(stores_fingerprints, "{} lost a key", spec);
            let is_used = |value: u64| match evidence.required {
                Requirement::Stamped { stamp_bits, .. } => value & ((1 << stamp_bits) - 1) != 0,
                _ => value != 0,
            };
            // A buffer has one row, of which the evidence is a part.
            let all_in_use = match evidence.links.is_empty() {
                true => evidence.cells().all(|cell| is_used(cell.value)),
                false => union.registers.occupied() == union.filter.cells(),
            };
            prop_assert!(all_in_use, "{} lost a key although there was room", spec);
        }
        Ok(())
    });
}

#[test]
fn the_counts_of_a_union_are_exact_and_it_continues() {
    for_each_union(60, |spec, parts, mut union, keys| {
        let sum =
            |count: fn(&FilterState) -> u64| parts.iter().map(|part| count(part)).sum::<u64>();
        let observations = sum(|state| state.registers.observations());
        prop_assert_eq!(union.registers.observations(), observations);
        let new = sum(|state| state.registers.new_count());
        prop_assert_eq!(union.registers.new_count(), new);
        for part in 0..2 {
            let recounted = union.filter.recount(&union.region);
            prop_assert_eq!(union.registers.occupied(), recounted, "{}", spec);
            let rate = union.filter.false_positive_rate(&union.registers);
            prop_assert!((0.0..=1.0).contains(&rate), "{}: {}", spec, rate);
            let verdicts = union.observe_batch(&keys[..keys.len() * part / 2]);
            prop_assert_eq!(verdicts.len(), keys.len() * part / 2);
        }
        // It is a state like any other: what was just observed is found.
        if let Some(last) = keys.last() {
            union.observe(*last);
            let evidence = union.evidence(last.fingerprint);
            prop_assert_eq!(
                evidence.verdict(),
                union.contains(last.fingerprint),
                "{}",
                spec
            );
        }
        Ok(())
    });
}

/// The union with an empty filter is the filter itself, up to the order in which its cells lie.
#[test]
fn the_union_with_an_empty_filter_answers_the_same() {
    for_each_union(40, |spec, [one, _], _, keys| {
        let mut union = one.clone();
        let empty = FilterState {
            region: vec![0; one.region.len()],
            registers: dedupstore::Registers::new(7),
            filter: one.filter.clone(),
        };
        let FilterState {
            filter,
            region,
            registers,
        } = &mut union;
        filter
            .merge(region, registers, &empty.region, &empty.registers)
            .expect("united before");
        for key in keys {
            let verdict = |state: &FilterState| -> Verdict { state.contains(key.fingerprint) };
            prop_assert_eq!(verdict(&union), verdict(one), "{}", spec);
        }
        Ok(())
    });
}
