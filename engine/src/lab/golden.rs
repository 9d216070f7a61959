//! Golden states: every filter must reach the same state on every target.
//!
//! Each filter runs with its [first defaults](golden_spec), and with each parameter at its minimum,
//! its maximum (limited here) and each of its words; in a small, an odd and a larger memory; over
//! the same stream. If it has a window, also with a short one by each clock; if it needs times,
//! the stream has times that advance, stand still, come late and jump; if it needs importance, each
//! key has one. The native tests, and the
//! browser tests through WebAssembly, compare the digests of region and
//! registers with a file.

use std::fmt;

use super::stream::StreamSpec;
use crate::filter::{
    AnyFilter, Descriptor, FilterSpec, Kind, Observation, Value, registry, state_digest,
};
use crate::fingerprint::Fingerprint;
use crate::rng::Generator;
use crate::seen_set::SeenSetBuilder;

const SEED: u64 = 20_061;
const OBSERVATIONS: u64 = 4000;
const MEMORIES_BITS: [u64; 3] = [256, 10_007, 1 << 17];
/// The greatest parameter value used here, so that filters fit into the smaller memories.
const MAX_VALUE: u64 = 32;
/// The span of a window that passes several times, and those of the other clocks.
const SHORT_WINDOWS: [(&str, &str); 3] = [
    ("seconds", "70000"),
    ("count", "700"),
    ("deliveries", "400"),
];

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
        for spec in variations(descriptor)
            .into_iter()
            .chain(short_windows(descriptor))
        {
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

/// Returns a filter with a short window by each clock, and by steps of several lengths; nothing if
/// it has no window.
fn short_windows(descriptor: &'static Descriptor) -> Vec<FilterSpec> {
    let defaults = FilterSpec::with_defaults(descriptor);
    let windows = SHORT_WINDOWS.iter().flat_map(|(clock, span)| {
        ["0", "1", "100"].map(|step| {
            let spec = defaults.with("clock", clock).ok()?;
            spec.with("span", span).ok()?.with("step", step).ok()
        })
    });
    windows.flatten().collect()
}

/// Returns the time of an observation: about five minutes after the one before, the same, an hour
/// too early, or ten hours later.
fn golden_tick(newest: &mut u32, draw: u64) -> u32 {
    *newest += match draw % 256 {
        0 => 36_000,
        1..128 => (draw >> 32) as u32 % 600,
        _ => 0,
    };
    match draw >> 8 & 15 {
        0 => newest.saturating_sub((draw >> 40) as u32 % 7200),
        _ => *newest,
    }
}

/// Returns the importance of a key: from 1 to 50, and 0 or above 50 for a few.
pub fn golden_importance(fingerprint: Fingerprint) -> u16 {
    (fingerprint.0 >> 32) as u16 % 54
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
    let (needs, draws) = (set.filter().needs(), Generator::from_seed(SEED));
    let mut newest = 0;
    for index in 0.. {
        let Some((key, _)) = stream.next_key() else {
            break;
        };
        let fingerprint = set.hasher().fingerprint(key);
        set.observe_one(Observation {
            tick: match needs.tick {
                true => golden_tick(&mut newest, draws.draw(index)),
                false => 0,
            },
            importance: match needs.importance {
                true => golden_importance(fingerprint),
                false => 0,
            },
            fingerprint,
        });
    }
    Some(GoldenState {
        filter: spec.to_string(),
        memory_bits,
        digest: state_digest(set.region(), set.registers()),
    })
}
