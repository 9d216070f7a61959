//! What a filter becomes if new keys never end: it settles, or it only fills.
//!
//! A filter settles if it forgets as fast as it learns. If every observation brings a new key, it
//! settles where an insertion clears as many cells as it sets. Repeats set fewer cells, so a
//! stream with repeats settles at this load or below.
//!
//! - **Bits that insertions clear.** A new key has a clear bit, so it sets (1 − L)/(1 − L^k) of the
//!   bits of a partition. BSBF clears L of them, RLBSBF L², RSBF L of those of a key that is
//!   inserted at random: L = 1/2. With k = 1, BSBF and RLBSBF never clear more than they set.
//! - **Cache lines with a cap.** Up to the cap an insertion sets a bits. Above it, it clears kL and
//!   sets some more: the line goes down by d. So the number of set bits is uniform from cap − d to
//!   cap + a. If d is not positive, the line goes on to the load at which both balance.
//! - **Rows of signatures.** A signature with probability p is stored at the rate p if it is not
//!   there, and evicted at the rate η: it is there with probability p/(p + η). The sum over all
//!   signatures is the number of buckets, which gives η.
//! - **Others.** Their formula, after far more keys than cells.

use serde::Serialize;

use super::power::power;
use super::quotient;
use super::workload::Workload;
use super::{CACHE_LINE_BITS, predict};
use crate::filter::{AnyFilter, CappedLines, FilterSpec, Places};

/// What a filter becomes if new keys never end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LongRun {
    /// It forgets as fast as it learns.
    Settles(SteadyState),
    /// It only fills: in the end every new key is reported as Seen.
    OnlyFills,
    /// There is no formula for the filter.
    Unknown,
}

/// The state in which a filter settles.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct SteadyState {
    /// The share of cells in use.
    pub load: f64,
    /// The probability that a new key is reported as Seen.
    pub fpr: f64,
}

/// A filter that drops at least this share of the new keys in the end counts as full.
const ALL_DROPPED: f64 = 0.95;
/// The number of keys per cell after which formulas are evaluated.
const KEYS_PER_CELL: u64 = 256;

/// Returns what a filter becomes if new keys never end. For a window that is measured in seconds,
/// one key comes per second. Returns Unknown if the filter cannot be
/// built in this memory.
pub fn long_run(spec: &FilterSpec, memory_bits: u64) -> LongRun {
    let Ok(filter) = AnyFilter::build(spec, memory_bits) else {
        return LongRun::Unknown;
    };
    let state = match &filter {
        AnyFilter::Bloom(_) => return LongRun::OnlyFills,
        #[cfg(feature = "all-filters")]
        AnyFilter::Counting(_) | AnyFilter::Bsbfsd(_) => return LongRun::OnlyFills,
        // Its reserve fills; with a window it settles.
        #[cfg(feature = "all-filters")]
        AnyFilter::Growing(_) if filter.window().is_none() => return LongRun::OnlyFills,
        #[cfg(feature = "all-filters")]
        AnyFilter::Bsbf(it) => cleared(it.k().into(), |load| load),
        AnyFilter::Rlbsbf(it) => cleared(it.k().into(), |load| load * load),
        #[cfg(feature = "all-filters")]
        AnyFilter::Rsbf(it) => all_of(0.5 + it.load_above_half(), it.k().into()),
        AnyFilter::Blocked(it) => capped_lines(it),
        #[cfg(feature = "all-filters")]
        AnyFilter::Split(it) => capped_lines(it),
        #[cfg(feature = "all-filters")]
        AnyFilter::Sqf(it) if !filter.requires_numeric_keys() => {
            let rows = quotient::Rows::new(it.rows() as f64, it.k() as f64, it.remainder_bits());
            signatures(&rows)
        }
        #[cfg(feature = "all-filters")]
        AnyFilter::Dsqf(it) => {
            let rows = quotient::Rows::new(it.rows().into(), it.k().into(), it.remainder_bits());
            signatures(&rows)
        }
        _ => {
            let keys = filter.cells().saturating_mul(KEYS_PER_CELL);
            let workload = Workload::uniform(keys, keys).coarse();
            let Some(prediction) = predict(spec, memory_bits, &workload) else {
                return LongRun::Unknown;
            };
            let end = prediction.end();
            SteadyState {
                load: end.load,
                fpr: end.fpr,
            }
        }
    };
    match state.fpr < ALL_DROPPED {
        true => LongRun::Settles(state),
        false => LongRun::OnlyFills,
    }
}

/// A key has k bits, each of which is set with the probability `load`.
fn all_of(load: f64, k: f64) -> SteadyState {
    SteadyState {
        load,
        fpr: power(load, k),
    }
}

/// Bits that insertions clear: `clears` is the share of set bits that an insertion clears.
fn cleared(k: f64, clears: impl Fn(f64) -> f64) -> SteadyState {
    all_of(balanced_load(k, clears), k)
}

/// Returns the load at which clearing balances setting: clears(L)·(1 − L^k) = 1 − L.
pub(super) fn balanced_load(k: f64, clears: impl Fn(f64) -> f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..60 {
        let load = (low + high) / 2.0;
        match clears(load) * (1.0 - power(load, k)) < 1.0 - load {
            true => low = load,
            false => high = load,
        }
    }
    high
}

fn capped_lines<P: Places>(filter: &CappedLines<P>) -> SteadyState {
    let cap_bits = CACHE_LINE_BITS * f64::from(filter.cap_percent()) / 100.0;
    capped(filter.k().into(), libm::floor(cap_bits))
}

/// Cache lines that clear bits above a number of set bits.
fn capped(k: f64, cap_bits: f64) -> SteadyState {
    if cap_bits >= CACHE_LINE_BITS {
        return all_of(1.0, k);
    }
    let cap = cap_bits / CACHE_LINE_BITS;
    let rises = k * (1.0 - cap) / (1.0 - power(cap, k));
    // Some of the bits to set are among those that were cleared before.
    let sets = rises + (k - rises) * k / CACHE_LINE_BITS;
    let falls = k * cap - sets;
    if falls <= 0.0 {
        return all_of(balanced_load(k, |load| load), k);
    }
    let (low, high) = (
        (cap_bits - falls) / CACHE_LINE_BITS,
        (cap_bits + rises) / CACHE_LINE_BITS,
    );
    SteadyState {
        load: (low + high) / 2.0,
        // The mean of L^k between the two.
        fpr: (power(high, k + 1.0) - power(low, k + 1.0)) / ((k + 1.0) * (high - low)),
    }
}

/// Rows of k buckets with signatures.
fn signatures(rows: &quotient::Rows) -> SteadyState {
    let kinds = rows.signatures();
    let all: f64 = kinds.iter().map(|(count, _)| count).sum();
    let buckets = rows.buckets();
    if all <= buckets {
        return SteadyState {
            load: all / buckets,
            fpr: 1.0,
        };
    }
    let held = |eviction: f64| -> f64 {
        let held = kinds.iter().map(|(count, p)| count * p / (p + eviction));
        held.sum()
    };
    // As a power of two, because the probabilities differ by many orders of magnitude.
    let (mut low, mut high) = (-200.0, 200.0);
    for _ in 0..80 {
        let middle = (low + high) / 2.0;
        match held(libm::exp2(middle)) > buckets {
            true => low = middle,
            false => high = middle,
        }
    }
    let eviction = libm::exp2(high);
    let found = kinds
        .iter()
        .map(|(count, p)| count * p * p / (p + eviction));
    SteadyState {
        load: 1.0,
        fpr: found.sum(),
    }
}
