//! A memory to begin with for a log of which only the first lines are known.

use dedupstore::KeyHasher;
use dedupstore::lab::Truth;

use crate::key_choice::KeyChoice;
use crate::log_examination::complete_lines;

/// A Bloom filter with the best k drops about 1 % of new keys.
const BITS_PER_KEY: f64 = 10.0;
/// The range of the page's slider.
const MIN_BYTES: f64 = 1024.0;
const MAX_BYTES: f64 = 67_108_864.0;

/// Returns about ten bits per distinct key, rounded to a step of the page's slider.
pub fn suggested_bits(choice: &KeyChoice, head: &[u8], total_bytes: f64) -> f64 {
    let keys = estimated_keys(choice, head, total_bytes);
    8.0 * slider_step(keys * BITS_PER_KEY / 8.0)
}

/// Estimates the number of distinct keys of the whole log. The number of distinct keys grows with a
/// power of the number of lines (Heaps' law); both halves of the first lines show which.
fn estimated_keys(choice: &KeyChoice, head: &[u8], total_bytes: f64) -> f64 {
    let (mut reader, hasher) = (choice.reader(), KeyHasher::new(0));
    let mut truth = Truth::for_fingerprints();
    let lines = complete_lines(head).count();
    let mut half = 0;
    for (index, line) in complete_lines(head).enumerate() {
        if index == lines / 2 {
            half = truth.distinct();
        }
        if let Some(key) = reader.key(line) {
            truth.is_first(hasher.fingerprint(key).0);
        }
    }
    let distinct = truth.distinct().max(1) as f64;
    let exponent = (distinct / half.max(1) as f64).log2().clamp(0.0, 1.0);
    let factor = total_bytes / head.len().max(1) as f64;
    distinct * factor.max(1.0).powf(exponent)
}

/// Returns the nearest step: a power of two or 1.5 times one.
fn slider_step(bytes: f64) -> f64 {
    let power = bytes.clamp(MIN_BYTES, MAX_BYTES).log2();
    let whole = power.floor().exp2();
    let steps = [whole, 1.5 * whole, 2.0 * whole];
    let distance = |step: &f64| (step.log2() - power).abs();
    let nearest = steps
        .into_iter()
        .min_by(|a, b| distance(a).total_cmp(&distance(b)));
    nearest.unwrap_or(whole).min(MAX_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key_choice::{KeyPart, KeySpec};

    fn suggested_bytes(log: &str, head_bytes: usize) -> f64 {
        let whole_line = KeySpec {
            part: KeyPart::Line,
            normalize: false,
            importance: None,
        };
        let choice = KeyChoice::new(&whole_line).expect("a valid key");
        suggested_bits(&choice, &log.as_bytes()[..head_bytes], log.len() as f64) / 8.0
    }

    #[test]
    fn ten_bits_per_distinct_key_at_a_step_of_the_slider() {
        let few = "a\nb\n".repeat(4000);
        assert_eq!(suggested_bytes(&few, few.len()), 1024.0);
        // 100,000 keys of 7 bytes; 125,000 bytes of memory.
        let all_new: String = (0..100_000).map(|i| format!("{i:06}\n")).collect();
        assert_eq!(suggested_bytes(&all_new, all_new.len()), 131_072.0);
        assert_eq!(suggested_bytes(&all_new, 70_000), 131_072.0);
        // No new key in the second half: the rest is taken to have none either.
        let repeats: String = (0..100_000).map(|i| format!("{:06}\n", i % 2000)).collect();
        assert_eq!(suggested_bytes(&repeats, 70_000), 2048.0);
    }

    #[test]
    fn steps_are_powers_of_two_and_half_steps() {
        assert_eq!(slider_step(9043.75), 8192.0);
        assert_eq!(slider_step(11_000.0), 12_288.0);
        assert_eq!(slider_step(1e12), MAX_BYTES);
        assert_eq!(slider_step(0.0), MIN_BYTES);
    }
}
