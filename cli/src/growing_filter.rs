//! Chooses a filter that grows inside a reserve, for `create --grow-to`.

use dedupstore::filter::{BuildError, Registers, SpecError};
use dedupstore::{AnyFilter, FilterSpec};

use crate::error::Failure;
use crate::filter_choice::Choice;
use crate::table::{grouped, percent};
use crate::value_parsers::show_bits;

/// The first table has about this many bytes: small, but not so small that it doubles all the time.
const FIRST_BYTES: u64 = 64 << 10;
/// The most bits of a remainder, and the most doublings: the others are for `grow`.
const MAX_BITS: u64 = 32;
const MAX_DOUBLINGS: u64 = 16;
/// The fewest and the most bits of the longest remainder.
const LONGEST: std::ops::RangeInclusive<u64> = 12..=56;

/// Chooses a filter that grows to at most so much memory, and then has at most this false positive
/// rate.
///
/// The choice is `quotient`. Against `growing`, a Bloom filter that opens larger and larger parts, it
/// uses less memory at every number of keys, reads one or two cache lines per key instead of one per part,
/// can take keys out and be merged, and its limit can be raised.
pub fn up_to(memory_bits: u64, rate: f64) -> Result<Choice, Failure> {
    let usage = |error: &dyn std::fmt::Display| Failure::Usage(error.to_string());
    let doublings = (memory_bits / 8 / FIRST_BYTES).checked_ilog2().unwrap_or(0);
    let doublings = u64::from(doublings).clamp(1, MAX_DOUBLINGS);
    let widths = widths(memory_bits, doublings, rate).map_err(|error| usage(&error))?;
    let (bits, longest) = widths.ok_or_else(|| {
        Failure::Usage(format!(
            "no filter that grows has a false positive rate of {rate}"
        ))
    })?;
    let filter = spec(bits, doublings, longest).map_err(|error| usage(&error))?;
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

fn spec(bits: u64, doublings: u64, longest: u64) -> Result<FilterSpec, SpecError> {
    format!("quotient:bits={bits},doublings={doublings},longest={longest}").parse()
}

/// Returns the bits of a remainder in the last table, and the most in smaller ones, with which a full
/// table has at most this false positive rate. The sum of both is the least: a slot takes as much in
/// small tables, and the longer fingerprints are there, the shorter they can be at the end.
fn widths(memory_bits: u64, doublings: u64, rate: f64) -> Result<Option<(u64, u64)>, BuildError> {
    let mut best: Option<(u64, (u64, u64))> = None;
    for bits in 1..=MAX_BITS {
        let most = (bits + doublings).clamp(*LONGEST.start(), *LONGEST.end());
        for longest in bits.max(*LONGEST.start())..=most {
            // Fingerprints of several lengths take a bit more per slot.
            let cost = bits + longest + 2 * u64::from(longest < bits + doublings);
            if best.is_some_and(|(least, (_, shortest))| (least, shortest) <= (cost, longest)) {
                continue;
            }
            let Ok(filter) = spec(bits, doublings, longest) else {
                continue;
            };
            let built = AnyFilter::build(&filter, memory_bits)?;
            let full = built.growth(&Registers::new(0)).and_then(|it| it.full_fpr);
            if full.is_some_and(|full| full <= rate) {
                best = Some((cost, (bits, longest)));
            }
        }
    }
    Ok(best.map(|(_, widths)| widths))
}
