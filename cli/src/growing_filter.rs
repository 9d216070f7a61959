//! Chooses a filter that grows inside a reserve, for `create --grow-to`.

use dedupstore::filter::{Registers, SpecError};
use dedupstore::{AnyFilter, FilterSpec};

use crate::error::Failure;
use crate::filter_choice::Choice;
use crate::table::{grouped, percent};
use crate::value_parsers::show_bits;

/// The first table has about this many bytes: small, but not so small that it doubles all the time.
const FIRST_BYTES: u64 = 64 << 10;
/// A table is full at this load, so its error is this share of 2^−bits.
const FULL: f64 = 0.95;
/// The most bits of a remainder, and the most doublings: the others are for `grow`.
const MAX_BITS: u64 = 32;
const MAX_DOUBLINGS: u64 = 16;

/// Chooses a filter that grows to at most so much memory, and then has at most this false positive
/// rate.
///
/// The choice is `quotient`. Against `growing`, a Bloom filter that opens larger and larger parts, it
/// holds more keys in the same reserve at the same rate, reads two cache lines per key instead of one
/// per part, can take keys out and be merged, and its limit can be raised.
pub fn up_to(memory_bits: u64, rate: f64) -> Result<Choice, Failure> {
    let usage = |error: &dyn std::fmt::Display| Failure::Usage(error.to_string());
    let bits = (1..=MAX_BITS).find(|&bits| FULL / f64::exp2(bits as f64) <= rate);
    let bits = bits.ok_or_else(|| {
        Failure::Usage(format!(
            "no filter that grows has a false positive rate of {rate}"
        ))
    })?;
    let doublings = (memory_bits / 8 / FIRST_BYTES).checked_ilog2().unwrap_or(0);
    let doublings = u64::from(doublings).clamp(1, MAX_DOUBLINGS);
    let text = format!("quotient:bits={bits},doublings={doublings}");
    let filter: FilterSpec = text.parse().map_err(|error: SpecError| usage(&error))?;
    let built = AnyFilter::build(&filter, memory_bits).map_err(|error| usage(&error))?;
    let growth = built.growth(&Registers::new(0));
    let (keys, first, full) = growth.map_or((0.0, 0, 0.0), |growth| {
        (
            growth.keys_left,
            growth.used_bytes,
            growth.full_fpr.unwrap_or(0.0),
        )
    });
    let reason = format!(
        "{filter} grows from {} to {} of memory: room for {} distinct keys, and then its false positive \
         rate is {}; it has no false negatives before that",
        show_bits(first * 8),
        show_bits(8 * built.region_bytes() as u64),
        grouped(keys as u64),
        percent(Some(full)),
    );
    Ok(Choice {
        filter,
        memory_bits,
        reason,
    })
}
