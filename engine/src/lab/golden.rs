//! Golden states: every filter must reach the same state on every target.
//!
//! Each filter runs with its [first defaults](golden_spec), and with each parameter at its minimum, its maximum (limited
//! here) and each of its words; in a small, an odd and a larger memory; over the same stream. The
//! native tests, and the browser tests through WebAssembly, compare the digests of region and
//! registers with a file.

use std::fmt;

use super::stream::StreamSpec;
use crate::filter::{AnyFilter, Descriptor, FilterSpec, Kind, Value, registry, state_digest};
use crate::seen_set::SeenSetBuilder;

const SEED: u64 = 20_061;
const OBSERVATIONS: u64 = 4000;
const MEMORIES_BITS: [u64; 3] = [256, 10_007, 1 << 17];
/// The greatest parameter value used here, so that filters fit into the smaller memories.
const MAX_VALUE: u64 = 32;

/// The state of a filter after the golden stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GoldenState {
    /// The filter, in its text form.
    pub filter: String,
    /// The memory of the filter.
    pub memory_bits: u64,
    /// The [`state_digest`].
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

/// Computes the golden states of every filter in the registry.
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

/// Returns the filter whose states and stores are golden: the defaults at the time when they were
/// recorded. A default may change, but golden files never do.
pub fn golden_spec(descriptor: &'static Descriptor) -> FilterSpec {
    let defaults = FilterSpec::with_defaults(descriptor);
    let recorded = match descriptor.name {
        "blocked" => "blocked:k=4,cap=70",
        _ => return defaults,
    };
    recorded.parse().unwrap_or(defaults)
}

/// Returns a [golden filter](golden_spec), and the same with each parameter at its extremes.
pub(crate) fn variations(descriptor: &'static Descriptor) -> Vec<FilterSpec> {
    let defaults = golden_spec(descriptor);
    let mut specs = vec![defaults.clone()];
    for parameter in descriptor.parameters {
        let values: Vec<String> = match parameter.kind {
            Kind::Integer { min, max, .. } => vec![min.to_string(), max.min(MAX_VALUE).to_string()],
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
    let mut distinct: Vec<FilterSpec> = Vec::new();
    for spec in specs {
        if !distinct.contains(&spec) {
            distinct.push(spec);
        }
    }
    distinct
}

fn golden_state(spec: &FilterSpec, memory_bits: u64) -> Option<GoldenState> {
    let mut set = SeenSetBuilder::new(spec)
        .memory_bits(memory_bits)
        .seed(SEED)
        .build()
        .ok()?;
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
