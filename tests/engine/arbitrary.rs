//! Random filters, memories and streams for property tests.

use std::ops::Range;

use dedupstore::filter::{Descriptor, Kind, Value};
use dedupstore::{FilterSpec, KeyHasher, Observation, registry};
use proptest::prelude::*;

/// Generates any filter of the registry with any values of its parameters.
pub fn any_spec() -> impl Strategy<Value = FilterSpec> {
    (0..registry().len()).prop_flat_map(|index| any_spec_of(registry()[index]))
}

/// Generates one filter with any values of its parameters.
pub fn any_spec_of(descriptor: &'static Descriptor) -> impl Strategy<Value = FilterSpec> {
    let numbers = proptest::collection::vec(any::<u64>(), descriptor.parameters.len());
    numbers.prop_map(move |numbers| {
        let mut spec = FilterSpec::with_defaults(descriptor);
        let mut span: Option<u64> = None;
        for (parameter, number) in descriptor.parameters.iter().zip(numbers) {
            let mut value = value_of(&parameter.kind, number);
            match (parameter.name, span, value.parse::<u64>()) {
                ("span", _, Ok(units)) => span = Some(units),
                // A step is at most as long as its span.
                ("step", Some(span), Ok(units)) => value = (units % (span + 1)).to_string(),
                _ => {}
            }
            spec = spec.with(parameter.name, &value).expect("within its range");
        }
        spec
    })
}

/// Returns an allowed value. Small integers are more likely, but every value is possible.
fn value_of(kind: &Kind, number: u64) -> String {
    match *kind {
        Kind::Integer { min, max, .. } => {
            let span = if number.is_multiple_of(4) {
                max - min
            } else {
                (max - min).min(8)
            };
            (min + (number >> 8) % (span + 1)).to_string()
        }
        Kind::Decimal {
            min_millionths,
            max_millionths,
            ..
        } => {
            let span = max_millionths - min_millionths;
            Value::Decimal(min_millionths + number % (span + 1)).to_string()
        }
        Kind::Choice { options } => options[number as usize % options.len()].to_owned(),
    }
}

/// Generates keys that repeat, at short and long gaps, with times and importance.
pub fn any_stream(length: Range<usize>) -> impl Strategy<Value = Vec<Observation>> {
    let keys = proptest::collection::vec((0u64..400, any_gap(), any_importance()), length);
    (any_start(), keys).prop_map(|(start, keys)| {
        let hasher = KeyHasher::new(3);
        let mut newest = start;
        let observation = |(key, gap, importance): (u64, i64, u16)| Observation {
            fingerprint: hasher.fingerprint(&key.to_le_bytes()),
            tick: next_tick(&mut newest, gap),
            importance,
        };
        keys.into_iter().map(observation).collect()
    })
}

/// Generates an importance: mostly in the usual range from 1 to 50, sometimes none, sometimes any.
pub fn any_importance() -> impl Strategy<Value = u16> {
    prop_oneof![8 => 1u16..=50, 1 => Just(0u16), 1 => any::<u16>()]
}

/// Generates the time of the first observation: none, or a usual one.
pub fn any_start() -> impl Strategy<Value = u32> {
    prop_oneof![Just(0u32), 1_700_000_000u32..1_800_000_000]
}

/// Generates the distance of a time from the newest so far: time stands still, advances, or jumps
/// forward; a negative distance is a late observation.
pub fn any_gap() -> impl Strategy<Value = i64> {
    prop_oneof![
        8 => Just(0i64),
        8 => 0i64..4,
        4 => -60i64..0,
        2 => 0i64..200,
        1 => 0i64..1 << 31,
    ]
}

/// Returns the time of the next observation, and moves the newest time if it is later.
pub fn next_tick(newest: &mut u32, gap: i64) -> u32 {
    let tick = (i64::from(*newest) + gap).clamp(0, u32::MAX.into()) as u32;
    *newest = tick.max(*newest);
    tick
}

/// Generates memory sizes from the smallest to a few kilobytes.
pub fn any_memory_bits() -> impl Strategy<Value = u64> {
    prop_oneof![64u64..300, 300u64..20_000, Just(65_536)]
}
