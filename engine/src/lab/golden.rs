//! States that must come out the same on every target, for every filter there is.
//!
//! For each filter: its defaults, and each parameter at its least, its most (within
//! reason) and each of its words; each in a small, an odd and a larger memory; each fed
//! the same stream. The digest of region and registers is compared with a file of golden
//! values by the native tests and, from WebAssembly, by the browser tests.

use std::fmt;

use super::stream::StreamSpec;
use crate::filter::{AnyFilter, Descriptor, FilterSpec, Kind, Value, registry, state_digest};
use crate::seen_set::SeenSet;

const SEED: u64 = 20_061;
const OBSERVATIONS: u64 = 4000;
const MEMORIES_BITS: [u64; 3] = [256, 10_007, 1 << 17];
/// The most a parameter is set to here, so that the smaller memories can take it.
const MOST: u64 = 32;

/// A filter's state after the golden stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GoldenState {
    /// The filter, in its text form.
    pub filter: String,
    /// The memory it was given.
    pub memory_bits: u64,
    /// See [`state_digest`].
    pub digest: u64,
}

impl fmt::Display for GoldenState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} {} {:016x}",
            self.filter, self.memory_bits, self.digest
        )
    }
}

/// The golden states of every filter in the registry.
pub fn golden_states() -> Vec<GoldenState> {
    let mut states = Vec::new();
    for descriptor in registry() {
        for spec in variations(descriptor) {
            for memory_bits in MEMORIES_BITS {
                if AnyFilter::build(&spec, memory_bits).is_ok() {
                    states.extend(golden_state(&spec, memory_bits));
                }
            }
        }
    }
    states
}

/// A filter's defaults, and each of its parameters at its extremes.
pub(crate) fn variations(descriptor: &'static Descriptor) -> Vec<FilterSpec> {
    let defaults = FilterSpec::with_defaults(descriptor);
    let mut specs = vec![defaults.clone()];
    for parameter in descriptor.parameters {
        let values: Vec<String> = match parameter.kind {
            Kind::Integer { min, max, .. } => vec![min.to_string(), max.min(MOST).to_string()],
            Kind::Decimal {
                min_millionths,
                max_millionths,
                ..
            } => [min_millionths, max_millionths]
                .map(|millionths| Value::Decimal(millionths).to_string())
                .to_vec(),
            Kind::Choice { options } => options.iter().map(|&word| word.to_owned()).collect(),
        };
        for value in values {
            specs.extend(defaults.with(parameter.name, &value).ok());
        }
    }
    let mut known: Vec<FilterSpec> = Vec::new();
    for spec in specs {
        if !known.contains(&spec) {
            known.push(spec);
        }
    }
    known
}

fn golden_state(spec: &FilterSpec, memory_bits: u64) -> Option<GoldenState> {
    let mut set = SeenSet::in_memory(spec, memory_bits, SEED).ok()?;
    let mut stream = StreamSpec::Shuffle {
        distinct_percent: 60.0,
    }
    .open(OBSERVATIONS, SEED);
    while let Some((key, _)) = stream.next_key() {
        set.observe(key);
    }
    Some(GoldenState {
        filter: spec.to_string(),
        memory_bits,
        digest: state_digest(set.region(), set.registers()),
    })
}
