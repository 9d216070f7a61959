//! What every filter must do that can take a key out.

use dedupstore::filter::{Evidence, FilterSpec, LoggedObservations};
use dedupstore::{AnyFilter, Fingerprint, KeyHasher, Observation, Verdict, registry};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;

use crate::arbitrary::{any_memory_bits, any_spec_of, any_stream};
use crate::conformance::{FilterState, TrackedRegion};

/// Runs a property over the filters that can take a key out, with any parameters.
fn for_each_forgetting_filter(
    cases: u32,
    property: impl Fn(&FilterSpec, FilterState, Vec<(Observation, bool)>) -> Result<(), TestCaseError>,
) {
    let mut able = 0;
    for descriptor in registry() {
        let defaults = FilterSpec::with_defaults(descriptor);
        let filter = AnyFilter::build(&defaults, 1 << 20).expect("fits");
        if !filter.can_forget() {
            continue;
        }
        able += 1;
        let stream = any_stream(0..400);
        let forgets = proptest::collection::vec(proptest::bool::weighted(0.25), 400);
        let inputs = (any_spec_of(descriptor), any_memory_bits(), stream, forgets);
        let mut runner = TestRunner::new(ProptestConfig::with_cases(cases));
        let result = runner.run(&inputs, |(spec, memory_bits, stream, forgets)| {
            let Ok(state) = FilterState::new(&spec, memory_bits) else {
                return Ok(());
            };
            property(&spec, state, stream.into_iter().zip(forgets).collect())
        });
        result.unwrap_or_else(|failure| panic!("{}: {failure}", descriptor.name));
    }
    assert!(able > 0);
}

impl FilterState {
    fn forget(&mut self, fingerprint: Fingerprint) -> Verdict {
        let forgotten = self
            .filter
            .forget(&mut self.region[..], &mut self.registers, fingerprint);
        forgotten.expect("it can")
    }
}

/// Returns which keys cannot be told apart: those of one row with the same fingerprint. None if
/// the filter stores no fingerprints.
fn identity(evidence: &Evidence) -> Option<(u64, u64)> {
    Some((evidence.row, evidence.required.fingerprint()?))
}

/// A filter that stores fingerprints takes out one of them and nothing else. Counters may stay
/// above 0 because of other keys; their oracle is `counting_forgets_like_its_oracle`.
#[test]
fn a_key_taken_out_is_new_and_other_fingerprints_stay() {
    let hasher = KeyHasher::new(3);
    let keys: Vec<Fingerprint> = (0..400u64)
        .map(|key| hasher.fingerprint(&key.to_le_bytes()))
        .collect();
    for_each_forgetting_filter(60, |spec, mut state, steps| {
        for (at, (observation, forget)) in steps.into_iter().enumerate() {
            if !forget {
                state.observe(observation);
                continue;
            }
            let key = observation.fingerprint;
            let there = state.contains(key);
            let before = state.clone();
            let counts = |state: &FilterState| {
                let registers = &state.registers;
                (registers.observations(), registers.new_count())
            };
            prop_assert_eq!(state.forget(key), there, "{}", spec);
            prop_assert_eq!(counts(&state), counts(&before));
            let counted = before.registers.forgotten() + u64::from(there.is_seen());
            prop_assert_eq!(state.registers.forgotten(), counted);
            prop_assert_eq!(
                state.registers.occupied(),
                state.filter.recount(&state.region),
                "{}",
                spec
            );
            if there.is_new() {
                prop_assert_eq!(state.digest(), before.digest(), "{}", spec);
                continue;
            }
            let taken_out = before.evidence(key);
            let Some(fingerprint) = identity(&taken_out) else {
                continue;
            };
            prop_assert_eq!(state.contains(key), Verdict::New, "{}", spec);
            // Checking every key at every step would take too long.
            for other in keys.iter().skip(at % 7).step_by(7) {
                if identity(&before.evidence(*other)) != Some(fingerprint) {
                    let (was, is) = (before.contains(*other), state.contains(*other));
                    prop_assert_eq!(was, is, "{}", spec);
                }
            }
        }
        Ok(())
    });
}

#[test]
fn replaying_a_log_with_forgotten_keys_restores_the_state() {
    for_each_forgetting_filter(60, |spec, fresh, steps| {
        let (mut original, mut replayed) = (fresh.clone(), fresh);
        let clock = original.filter.tick_clock().copied();
        for (observation, forget) in steps {
            let key = observation.fingerprint;
            let mut logged = LoggedObservations::default();
            if forget {
                if original.forget(key).is_seen() {
                    logged.forgotten.push(key);
                }
            } else {
                let clock = clock.map(|clock| clock.step_of(observation.tick));
                logged.step = clock.map(|step| step.max(original.registers.clock()));
                let verdict = original.observe(observation);
                let skip = verdict.is_seen() && original.filter.seen_leaves_state_unchanged();
                match skip {
                    true => logged.skipped_after = 1,
                    false => {
                        logged.observations.push(key.into());
                        logged.skipped_before.push(0);
                    }
                }
            }
            let FilterState {
                filter,
                region,
                registers,
            } = &mut replayed;
            filter.replay(&mut region[..], registers, &logged, &mut Vec::new());
        }
        prop_assert_eq!(replayed.digest(), original.digest(), "{}", spec);
        Ok(())
    });
}

/// A checkpoint copies only declared changes.
#[test]
fn every_change_of_forgetting_is_declared() {
    for_each_forgetting_filter(30, |spec, mut state, steps| {
        for (observation, forget) in steps {
            if !forget {
                state.observe(observation);
                continue;
            }
            let before = state.region.clone();
            let FilterState {
                filter,
                region,
                registers,
            } = &mut state;
            let mut tracked = TrackedRegion {
                bytes: region,
                declared: Vec::new(),
            };
            let forgotten = filter.forget(&mut tracked, registers, observation.fingerprint);
            forgotten.expect("it can");
            let declared = tracked.declared;
            for (at, (old, new)) in before.iter().zip(&state.region).enumerate() {
                let is_declared = declared.iter().any(|range| range.contains(&at));
                prop_assert!(old == new || is_declared, "{}", spec);
            }
        }
        Ok(())
    });
}

/// The evidence is what `contains` decides by, also after keys were taken out.
#[test]
fn a_verdict_follows_from_the_evidence_after_forgetting() {
    for_each_forgetting_filter(30, |spec, mut state, steps| {
        for &(observation, forget) in &steps {
            match forget {
                true => state.forget(observation.fingerprint),
                false => state.observe(observation),
            };
        }
        let values = state.filter.cell_values(&state.region);
        let in_use = values.iter().filter(|&&value| value != 0).count() as u64;
        prop_assert_eq!(in_use, state.registers.occupied(), "{}", spec);
        for (observation, forget) in steps {
            let key = observation.fingerprint;
            let verdict = state.contains(key);
            prop_assert_eq!(state.evidence(key).verdict(), verdict, "{}", spec);
            let FilterState {
                filter,
                region,
                registers,
            } = &state;
            if !forget && !filter.may_have_forgotten(region, registers, key) {
                prop_assert_eq!(verdict, Verdict::Seen, "{}", spec);
            }
        }
        Ok(())
    });
}
