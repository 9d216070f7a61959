//! Any region and any registers under every filter.

use dedupstore::filter::presets;
use dedupstore::{AnyFilter, FilterSpec, Fingerprint, Observation, Registers, registry};

/// The memory of the filters, in bits.
const MEMORY_BITS: [u64; 4] = [64, 1000, 4096, 16384];

/// The number of bytes of an input before the registers.
const HEAD_BYTES: usize = 10;

fn spec(index: u8) -> Option<FilterSpec> {
    let filters = registry();
    match filters.get(usize::from(index)) {
        Some(descriptor) => Some(FilterSpec::with_defaults(descriptor)),
        None => {
            let presets = presets();
            let at = (usize::from(index) - filters.len()) % presets.len().max(1);
            presets
                .get(at)
                .and_then(|it| FilterSpec::with_preset(it).ok())
        }
    }
}

/// The filter, its memory and a key; then registers and region.
pub fn run(input: &[u8]) {
    let Some((head, state)) = input.split_first_chunk::<HEAD_BYTES>() else {
        return;
    };
    let Some(spec) = spec(head[0]) else {
        return;
    };
    let memory_bits = MEMORY_BITS[usize::from(head[1]) % MEMORY_BITS.len()];
    let Ok(filter) = AnyFilter::build(&spec, memory_bits) else {
        return;
    };
    let mut words = [0; Registers::BYTES];
    let length = state.len().min(words.len());
    words[..length].copy_from_slice(&state[..length]);
    let mut region = vec![0; filter.region_bytes()];
    let bytes = state.get(words.len()..).unwrap_or_default();
    let length = bytes.len().min(region.len());
    region[..length].copy_from_slice(&bytes[..length]);
    let mut registers = Registers::from_bytes(&words);
    // A store refuses others when it is opened.
    if !filter.accepts(&registers) {
        return;
    }
    let key = u64::from_le_bytes([
        head[2], head[3], head[4], head[5], head[6], head[7], head[8], head[9],
    ]);
    let key = match filter.requires_numeric_keys() {
        true => Fingerprint(key % 64),
        false => Fingerprint(key),
    };
    exercise(&filter, &mut region, &mut registers, key);
}

fn exercise(filter: &AnyFilter, region: &mut [u8], registers: &mut Registers, key: Fingerprint) {
    let _ = (
        filter.load(registers),
        filter.false_positive_rate(registers),
    );
    let _ = (filter.recount(region), filter.used_bytes(registers));
    let verdict = filter.contains(region, registers, key);
    let evidence = filter.evidence(region, registers, key);
    assert_eq!(
        evidence.verdict(),
        verdict,
        "{}: {evidence:?}",
        filter.name()
    );
    let _ = evidence.in_words(&filter.cell_layout());
    let _ = filter.may_have_forgotten(region, registers, key);
    let _ = filter.cell_values(region);
    let (mut other_region, mut other_registers) = (region.to_vec(), registers.clone());
    for step in 0..4u32 {
        let observation = Observation {
            fingerprint: Fingerprint(key.0 ^ u64::from(step % 2)),
            tick: (key.0 >> 32) as u32 ^ step,
            importance: key.0 as u16,
        };
        filter.observe(region, registers, observation);
    }
    if filter.can_forget() {
        let _ = filter.forget(region, registers, key);
    }
    let observations = [Observation::from(key); 3];
    let mut verdicts = [dedupstore::Verdict::New; 3];
    filter.observe_batch(
        &mut other_region[..],
        &mut other_registers,
        &observations,
        &mut verdicts,
    );
}

/// Returns states that the filters themselves made.
pub fn seeds() -> Vec<Vec<u8>> {
    let mut seeds = Vec::new();
    for index in 0..(registry().len() + presets().len()) as u8 {
        for memory in [1, 2, 3] {
            let Some(spec) = spec(index) else { continue };
            let Ok(filter) = AnyFilter::build(&spec, MEMORY_BITS[usize::from(memory)]) else {
                continue;
            };
            if filter.region_bytes() > 4096 {
                continue;
            }
            let mut region = vec![0; filter.region_bytes()];
            let mut registers = Registers::new(5);
            for key in 0..60u64 {
                let fingerprint = match filter.requires_numeric_keys() {
                    true => Fingerprint(key % 40),
                    false => Fingerprint((key % 40).wrapping_mul(0x9e37_79b9_7f4a_7c15)),
                };
                let observation = Observation {
                    fingerprint,
                    tick: 1_700_000_000 + key as u32 * 30,
                    importance: key as u16,
                };
                filter.observe(&mut region[..], &mut registers, observation);
            }
            let head = [index, memory, 1, 2, 3, 4, 5, 6, 7, 8];
            seeds.push([&head[..], &registers.to_bytes(), &region].concat());
        }
    }
    seeds
}
