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
        for (parameter, number) in descriptor.parameters.iter().zip(numbers) {
            let value = value_of(&parameter.kind, number);
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

/// Generates keys that repeat, at short and long gaps.
pub fn any_stream(length: Range<usize>) -> impl Strategy<Value = Vec<Observation>> {
    let keys = proptest::collection::vec((0u64..400, any::<u32>(), any::<u16>()), length);
    keys.prop_map(|keys| {
        let hasher = KeyHasher::new(3);
        let observation = |(key, tick, importance): (u64, u32, u16)| Observation {
            fingerprint: hasher.fingerprint(&key.to_le_bytes()),
            tick,
            importance,
        };
        keys.into_iter().map(observation).collect()
    })
}

/// Generates memory sizes from the smallest to a few kilobytes.
pub fn any_memory_bits() -> impl Strategy<Value = u64> {
    prop_oneof![64u64..300, 300u64..20_000, Just(65_536)]
}
