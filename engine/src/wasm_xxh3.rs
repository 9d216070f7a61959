//! XXH3 of keys of common lengths without 128-bit products, for WebAssembly.
//!
//! WebAssembly has no 128-bit product and calls a function for each; the hash of a URL needs four.
//! Here each is computed inline by four 64-bit products. The hashes equal those of the xxhash-rust
//! crate; a test compares them for every length.

use xxhash_rust::const_xxh3::const_custom_default_secret;

const LOW: u64 = u32::MAX as u64;
const LENGTH_FACTOR: u64 = 0x9e37_79b1_85eb_ca87;
const LAST_FACTOR: u64 = 0x1656_6791_9e37_79f9;
/// The secret words for each sixteen bytes of a key, before the seed is added.
const SECRET: [(u64, u64); 8] = secret();

const fn secret() -> [(u64, u64); 8] {
    let bytes = const_custom_default_secret(0);
    let (chunks, _) = bytes.as_chunks::<8>();
    let mut words = [(0, 0); 8];
    let mut at = 0;
    while at < words.len() {
        let (first, second) = (chunks[2 * at], chunks[2 * at + 1]);
        words[at] = (u64::from_le_bytes(first), u64::from_le_bytes(second));
        at += 1;
    }
    words
}

/// Returns the hash of a key of 17 to 128 bytes; None for other lengths.
#[inline]
pub(crate) fn hash(key: &[u8], seed: u64) -> Option<u64> {
    if !(17..=128).contains(&key.len()) {
        return None;
    }
    let mut sum = (key.len() as u64).wrapping_mul(LENGTH_FACTOR);
    // Sixteen bytes from each end, once per 32 bytes.
    for (pair, secret) in SECRET
        .chunks_exact(2)
        .enumerate()
        .take(key.len().div_ceil(32))
    {
        let from_start = &key[16 * pair..];
        let to_end = &key[..key.len() - 16 * pair];
        let mixed = [
            mix(from_start.first_chunk()?, secret[0], seed),
            mix(to_end.last_chunk()?, secret[1], seed),
        ];
        sum = sum.wrapping_add(mixed[0]).wrapping_add(mixed[1]);
    }
    sum ^= sum >> 37;
    sum = sum.wrapping_mul(LAST_FACTOR);
    Some(sum ^ (sum >> 32))
}

#[inline(always)]
fn mix(bytes: &[u8; 16], secret: (u64, u64), seed: u64) -> u64 {
    let both = u128::from_le_bytes(*bytes);
    multiply_and_fold(
        both as u64 ^ secret.0.wrapping_add(seed),
        (both >> 64) as u64 ^ secret.1.wrapping_sub(seed),
    )
}

/// Returns the XOR of both halves of a 128-bit product.
#[inline(always)]
fn multiply_and_fold(a: u64, b: u64) -> u64 {
    let (a_low, a_high, b_low, b_high) = (a & LOW, a >> 32, b & LOW, b >> 32);
    // None of these overflows: (2³² − 1)² + 2 (2³² − 1) is 2⁶⁴ − 1.
    let low = a_low * b_low;
    let middle = a_high * b_low + (low >> 32);
    let other_middle = a_low * b_high + (middle & LOW);
    let high = a_high * b_high + (middle >> 32) + (other_middle >> 32);
    (other_middle << 32 | low & LOW) ^ high
}

#[cfg(test)]
mod tests {
    use xxhash_rust::xxh3::xxh3_64_with_seed;

    use super::*;
    use crate::rng::Generator;

    #[test]
    fn hashes_agree_with_the_crate() {
        let noise = Generator::from_state(7);
        for seed in [0, 1, 42, 1 << 32, u64::MAX, noise.draw(0)] {
            for length in 0..200usize {
                let drawn: Vec<u8> = (0..length as u64).map(|i| noise.draw(i) as u8).collect();
                for key in [drawn, vec![0; length], vec![0xff; length]] {
                    let expected = (17..=128)
                        .contains(&length)
                        .then(|| xxh3_64_with_seed(&key, seed));
                    assert_eq!(hash(&key, seed), expected, "{length} bytes, seed {seed}");
                }
            }
        }
    }

    #[test]
    fn the_folded_product_is_correct() {
        let noise = Generator::from_state(9);
        let edges = [0, 1, LOW, LOW + 1, u64::MAX - LOW, u64::MAX - 1, u64::MAX];
        let pairs = edges.iter().flat_map(|&a| edges.map(|b| (a, b)));
        let drawn = (0..2000).map(|i| (noise.draw(2 * i), noise.draw(2 * i + 1)));
        for (a, b) in pairs.chain(drawn) {
            let product = u128::from(a) * u128::from(b);
            let expected = product as u64 ^ (product >> 64) as u64;
            assert_eq!(multiply_and_fold(a, b), expected, "{a} × {b}");
        }
    }
}
