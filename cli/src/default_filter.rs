//! What the help says about the default filter.
//!
//! Names and sizes come from the engine. The numbers of keys are constants, because clap builds
//! the help on every start; the tests below compute them by filling the filter.

use dedupstore::{DEFAULT_FILTER, DEFAULT_MEMORY, FilterSpec};

const MILLION: u64 = 1_000_000;

/// The number of distinct keys at which the chance to drop a new key passes 1 in 100,000.
const KEYS_AT_1_IN_100_000: u64 = 12 * MILLION;
/// The number of distinct keys at which the chance to drop a new key passes 1 in 1,000.
const KEYS_AT_1_IN_1_000: u64 = 32 * MILLION;
/// The number of distinct keys up to which fewer than 1 repeat in 100,000 passes.
const KEYS_BEFORE_REPEATS_PASS: u64 = 100 * MILLION;

/// Describes the default filter and its error rates.
pub fn description() -> String {
    format!(
        "The default filter is {DEFAULT_FILTER} in {DEFAULT_MEMORY} of memory. The chance that it \
         drops a new key passes 1 in 100,000 at {} million distinct keys and 1 in 1,000 at {} \
         million. It forgets keys only in cache lines that are more than {} % full: up to {} \
         million distinct keys, it lets fewer than 1 repeat in 100,000 through.",
        KEYS_AT_1_IN_100_000 / MILLION,
        KEYS_AT_1_IN_1_000 / MILLION,
        cap_percent(),
        KEYS_BEFORE_REPEATS_PASS / MILLION,
    )
}

/// Returns the load, in percent, above which a cache line of the default filter forgets.
fn cap_percent() -> String {
    let cap = DEFAULT_FILTER.parse::<FilterSpec>().ok().and_then(|spec| {
        let mut values = spec.values();
        let found = values.find(|(parameter, _)| parameter.name == "cap");
        found.map(|(_, value)| value.to_string())
    });
    cap.unwrap_or_else(|| "100".to_owned())
}

#[cfg(test)]
mod tests {
    use dedupstore::{SeenSet, Verdict};

    use super::*;

    /// Rates depend on the memory per key alone, so a part of the memory shows them.
    const PART: u64 = 64;

    fn key(number: u64) -> [u8; 8] {
        number.to_le_bytes()
    }

    #[test]
    fn the_numbers_of_keys_are_those_of_the_filter() {
        let builder = SeenSet::builder(DEFAULT_FILTER).expect("a filter");
        let memory_bits = DEFAULT_MEMORY.bits() / PART;
        let mut set = builder.memory_bits(memory_bits).build().expect("memory");
        let mut passed = |chance: f64| {
            let mut keys = set.registers().new_count() + set.registers().seen_count();
            while set.false_positive_rate() < chance {
                for number in keys..keys + 1000 {
                    set.observe(key(number));
                }
                keys += 1000;
            }
            (keys * PART + MILLION / 2) / MILLION * MILLION
        };
        assert_eq!(passed(1e-5), KEYS_AT_1_IN_100_000);
        assert_eq!(passed(1e-3), KEYS_AT_1_IN_1_000);

        let keys = KEYS_BEFORE_REPEATS_PASS / PART;
        let known = set.registers().new_count() + set.registers().seen_count();
        for number in known..keys {
            set.observe(key(number));
        }
        let missed = (0..keys).filter(|&number| set.contains(key(number)) == Verdict::New);
        assert!((missed.count() as f64) < 1e-5 * keys as f64);
    }
}
