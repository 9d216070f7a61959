//! How large a filter must be, by formula.
//!
//! A Bloom filter of k bits a key in m bits, with n distinct keys in it, takes a new key for
//! one met with a chance of (1 − e^(−k·n/m))^k. Solved for m that is −k·n / ln(1 − p^(1/k)).

use dedupstore::FilterSpec;

use crate::error::Failure;
use crate::quantity;
use crate::table::{grouped, percent};

/// The share of new keys dropped that is aimed at where none is named.
pub const DEFAULT_FPR: f64 = 0.001;
/// More bits a key than this cost more time than they save memory.
const LARGEST_K: u64 = 20;
/// A k that needs no more than this times the least memory is as good, and faster.
const WORTH: f64 = 1.05;

/// What to make.
pub struct Choice {
    pub filter: FilterSpec,
    pub memory_bits: u64,
    pub why: String,
}

/// A filter for so many distinct keys: in the memory given, or in as much as the share of new
/// keys dropped asks for. An adviser that knows more filters goes here.
pub fn choose(distinct: u64, fpr: f64, memory_bits: Option<u64>) -> Result<Choice, Failure> {
    let n = distinct.max(1) as f64;
    let needed = |k: u64| bits_needed(n, fpr, k);
    let (k, memory_bits) = match memory_bits {
        Some(bits) => {
            let chance = |k: &u64| drop_chance(n, bits as f64, *k);
            let best = (1..=LARGEST_K).min_by(|a, b| chance(a).total_cmp(&chance(b)));
            (best.unwrap_or(4), bits)
        }
        None => {
            let least = (1..=LARGEST_K).map(needed).fold(f64::INFINITY, f64::min);
            let k = (1..=LARGEST_K).find(|&k| needed(k) <= WORTH * least);
            let k = k.unwrap_or(4);
            // Whole blocks of 8 KiB, which a store works in anyway.
            let bytes = (needed(k) / 8.0).ceil() as u64;
            (k, 8 * bytes.next_multiple_of(8 << 10))
        }
    };
    let filter: FilterSpec = format!("bloom:k={k}")
        .parse()
        .map_err(|error| Failure::Usage(format!("bloom:k={k}: {error}")))?;
    let chance = drop_chance(n, memory_bits as f64, k);
    let why = format!(
        "{filter} in {}: with {} distinct keys in it, it takes {} of new keys for seen, and never \
         lets a repeat through",
        quantity::show_bits(memory_bits),
        grouped(distinct),
        percent(Some(chance)),
    );
    Ok(Choice {
        filter,
        memory_bits,
        why,
    })
}

fn bits_needed(n: f64, fpr: f64, k: u64) -> f64 {
    let k = k as f64;
    -k * n / (1.0 - fpr.powf(1.0 / k)).ln()
}

fn drop_chance(n: f64, bits: f64, k: u64) -> f64 {
    let k = k as f64;
    (1.0 - (-k * n / bits).exp()).powf(k)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_asked_for_is_kept_and_little_is_wasted() {
        for distinct in [100_000, 1_000_000, 100_000_000] {
            for fpr in [0.1, 0.01, 0.001, 1e-6] {
                let choice = choose(distinct, fpr, None).expect("chosen");
                let k: u64 = choice.filter.to_string()[8..]
                    .split(',')
                    .next()
                    .and_then(|k| k.parse().ok())
                    .expect("a number");
                let chance = drop_chance(distinct as f64, choice.memory_bits as f64, k);
                assert!(chance <= fpr * (1.0 + 1e-9), "{distinct} {fpr}: {chance}");
                let ideal = -(distinct as f64) * fpr.ln() / std::f64::consts::LN_2.powi(2);
                let limit = 1.06 * ideal + f64::from((8 * 8) << 10);
                assert!((choice.memory_bits as f64) < limit, "{distinct} {fpr}");
            }
        }
    }

    #[test]
    fn a_memory_given_gets_the_best_k() {
        let choice = choose(1_000_000, DEFAULT_FPR, Some(10_000_000)).expect("chosen");
        assert!(choice.filter.to_string().starts_with("bloom:k=7,"));
        assert_eq!(choice.memory_bits, 10_000_000);
    }
}
