//! Inspecting a store without reading its region.
//!
//! While a writer runs, the end of the log moves and a frame that is half written looks torn.
//! So a log that looks torn or damaged is read again, and reported only if it looks the same
//! twice.

use std::time::Duration;

use serde::Serialize;

use super::error::{Damage, StoreError};
use super::format::image::read_part;
use super::format::layout::SUPERBLOCK_BYTES;
use super::format::mark::Mark;
use super::format::superblock::{Superblock, VERSION};
use super::medium::{Medium, StoreFile};
use super::newest_image::filter_of;
use super::replay::{TornTail, replay};
use super::snapshot::{ATTEMPTS, newest_superblock_with_retries};
use super::verify::is_zero;
use crate::audit::{AuditReport, AuditedFilter, Estimate};
use crate::filter::LoggedObservations;
use crate::fingerprint::HashScheme;
use crate::theory::{
    Forecast, GapHistogram, LongRun, SteadyState, current_rates, forecast, long_run,
};

/// A description of a store. Counts, load and rates are those of the last checkpoint; the
/// sequence numbers tell how much more the log holds.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Inspection {
    /// The format version.
    pub format_version: u32,
    /// The identity of the store, in hexadecimal.
    pub id: String,
    /// The filter, in its text form.
    pub filter: String,
    /// The name of the hash scheme.
    pub hash_scheme: &'static str,
    /// The seed of the hash and of the filter's random choices.
    pub seed: u64,
    /// How callers change keys before they hash them; empty if they do not.
    pub normalization: String,
    /// The memory of the filter, as chosen at creation.
    pub memory_bits: u64,
    /// The size of the region: the bytes that the filter and the audit use.
    pub region_bytes: u64,
    /// The size of all files together.
    pub disk_bytes: u64,
    /// When the store was created, in seconds since 1970.
    pub created_unix_seconds: u64,
    /// The number of checkpoints taken.
    pub generation: u64,
    /// When the last checkpoint was taken, in seconds since 1970.
    pub checkpoint_unix_seconds: u64,
    /// The time since the last checkpoint.
    pub checkpoint_age_seconds: u64,
    /// Whether a checkpoint is under way or was interrupted.
    pub checkpoint_unfinished: bool,
    /// The number of observations in the last checkpoint.
    pub checkpointed_sequence: u64,
    /// The number of observations known to be durable; None if the mark is not readable.
    pub durable_sequence: Option<u64>,
    /// The number of observations in the last checkpoint and the log.
    pub log_sequence: u64,
    /// The size of each log.
    pub log_bytes: u64,
    /// How much of the current log is in use.
    pub log_used_bytes: u64,
    /// Where a crash tore the log, if it did. Opening the store removes the torn frame.
    pub torn_tail: Option<TornTail>,
    /// Damage in the log or the audit, if any. Only `verify` checks everything.
    pub damage: Option<String>,
    /// The number of observations in the last checkpoint.
    pub observations: u64,
    /// The number of observations reported as New.
    pub new: u64,
    /// The number of observations reported as Seen.
    pub seen: u64,
    /// The share of cells in use.
    pub load: f64,
    /// The probability that the next new key is reported as Seen.
    pub estimated_fpr: f64,
    /// The limit of the false positive rate that was set at creation; None without a limit.
    pub max_fpr: Option<f64>,
    /// The false positive rate that the audit measured; None without an audit.
    pub audited_fpr: Option<Estimate>,
    /// The false negative rate that the audit measured; None without an audit.
    pub audited_fnr: Option<Estimate>,
    /// The number of distinct keys, estimated from the audit.
    pub distinct_estimate: Option<f64>,
    /// The complete report of the audit.
    pub audit: Option<AuditReport>,
    /// When the filter will be too full at the present rate; None if it has no recommended load,
    /// or before the first observation.
    pub forecast: Option<Forecast>,
    /// The state in which the filter settles if new keys never end. A stream with repeats settles
    /// at this load or below. None if it only fills, or if there is no formula.
    pub steady_state: Option<SteadyState>,
    /// Whether the filter only fills, so that in the end every new key is reported as Seen. None
    /// if there is no formula.
    pub only_fills: Option<bool>,
    /// The false positive rate that theory predicts for the next new key, from the counts and
    /// from the gaps between repeats that the audit found. Without such gaps, theory assumes
    /// that repeats are uniform picks.
    pub predicted_fpr: Option<f64>,
    /// The false negative rate that theory predicts for the next repeat.
    pub predicted_fnr: Option<f64>,
    /// The share of cells in use that theory predicts.
    pub predicted_load: Option<f64>,
    /// The number of distinct keys that would explain the verdicts.
    pub predicted_distinct: Option<u64>,
    /// The name of the formula.
    pub predicted_by: Option<&'static str>,
}

/// Inspects a store on a medium. Reads only; a writer may have the store open.
pub fn inspect_on(medium: &impl Medium) -> Result<Inspection, StoreError> {
    let extent = read_extent_until_stable(medium)?;
    let superblock = &extent.superblock;
    let (spec, filter) = filter_of(superblock)?;
    let (parameters, registers) = (&superblock.parameters, &superblock.registers);
    let other = StoreFile::image(superblock.generation + 1);
    let now = medium.unix_seconds();
    let (audit, audit_damage) = read_audit(medium, superblock, &filter)?;
    let damage = extent.damage.as_ref().or(audit_damage.as_ref());
    let gaps = audit.as_ref();
    let gaps = gaps.and_then(|audit| GapHistogram::of_octaves(&audit.gaps));
    let rates = current_rates(
        &spec,
        parameters.memory_bits,
        registers.observations(),
        registers.new_count(),
        gaps.as_ref(),
    );
    let (steady_state, only_fills) = match long_run(&spec, parameters.memory_bits) {
        LongRun::Settles(state) => (Some(state), Some(false)),
        LongRun::OnlyFills => (None, Some(true)),
        LongRun::Unknown => (None, None),
    };
    let hexadecimal = superblock.store_id.iter().map(|byte| format!("{byte:02x}"));
    Ok(Inspection {
        format_version: VERSION,
        id: hexadecimal.collect(),
        filter: spec.to_string(),
        hash_scheme: HashScheme::default().name(),
        seed: parameters.seed,
        normalization: parameters.normalization.clone(),
        memory_bits: parameters.memory_bits,
        region_bytes: superblock.layout.region_bytes,
        disk_bytes: superblock.layout.disk_bytes(),
        created_unix_seconds: parameters.created_unix_seconds,
        generation: superblock.generation,
        checkpoint_unix_seconds: superblock.unix_seconds,
        checkpoint_age_seconds: now.saturating_sub(superblock.unix_seconds),
        checkpoint_unfinished: superblock.generation > 0
            && is_zero(medium, other, 0, SUPERBLOCK_BYTES as usize)?,
        checkpointed_sequence: superblock.log.sequence,
        durable_sequence: extent.durable,
        log_sequence: extent.reached,
        log_bytes: superblock.layout.log_bytes,
        log_used_bytes: extent.used,
        torn_tail: extent.torn,
        damage: damage.map(Damage::to_string),
        observations: registers.observations(),
        new: registers.new_count(),
        seen: registers.seen_count(),
        load: filter.filter().load(registers),
        estimated_fpr: filter.filter().false_positive_rate(registers),
        max_fpr: superblock.max_fpr,
        audited_fpr: audit.as_ref().and_then(|audit| audit.fpr),
        audited_fnr: audit.as_ref().and_then(|audit| audit.fnr),
        distinct_estimate: audit.as_ref().map(|audit| audit.distinct.value),
        audit,
        forecast: filter.filter().comfortable_load().and_then(|comfortable| {
            let load = filter.filter().load(registers);
            let age = superblock
                .unix_seconds
                .saturating_sub(parameters.created_unix_seconds);
            forecast(load, comfortable, registers.observations(), age)
        }),
        steady_state,
        only_fills,
        predicted_fpr: rates.as_ref().map(|it| it.fpr),
        predicted_fnr: rates.as_ref().map(|it| it.fnr),
        predicted_load: rates.as_ref().map(|it| it.load),
        predicted_distinct: rates.as_ref().map(|it| it.distinct),
        predicted_by: rates.map(|it| it.by),
    })
}

/// Reads the audit of an image. Returns neither a report nor damage if a writer has replaced the
/// image meanwhile.
fn read_audit(
    medium: &impl Medium,
    superblock: &Superblock,
    filter: &AuditedFilter,
) -> Result<(Option<AuditReport>, Option<Damage>), StoreError> {
    let Some(range) = filter.audit_range() else {
        return Ok((None, None));
    };
    match read_part(medium, superblock, range) {
        Ok(bytes) => Ok((filter.report_of_audit(&bytes, &superblock.registers), None)),
        Err(StoreError::Corrupt(damage)) => {
            let replaced = newest_superblock_with_retries(medium)? != *superblock;
            Ok((None, (!replaced).then_some(damage)))
        }
        Err(error) => Err(error),
    }
}

/// The newest superblock and the extent of the log.
#[derive(Clone, Debug, PartialEq)]
struct LogExtent {
    superblock: Superblock,
    durable: Option<u64>,
    reached: u64,
    used: u64,
    torn: Option<TornTail>,
    damage: Option<Damage>,
}

fn read_extent_until_stable(medium: &impl Medium) -> Result<LogExtent, StoreError> {
    let mut before = read_extent(medium)?;
    for attempt in 1..ATTEMPTS {
        if before.torn.is_none() && before.damage.is_none() {
            return Ok(before);
        }
        medium.pause(Duration::from_millis(10) * attempt);
        let again = read_extent(medium)?;
        if again == before {
            return Ok(again);
        }
        before = again;
    }
    // The log changed every time: a writer is active, and nothing is damaged.
    Ok(LogExtent {
        torn: None,
        damage: None,
        ..before
    })
}

fn read_extent(medium: &impl Medium) -> Result<LogExtent, StoreError> {
    let superblock = newest_superblock_with_retries(medium)?;
    let Superblock {
        store_id,
        layout,
        log,
        ..
    } = &superblock;
    let mark = Mark::newest(medium, store_id)?;
    let mut reached = log.sequence;
    let count = |recorded: &LoggedObservations| reached += recorded.count();
    let found = replay(
        medium,
        store_id,
        layout,
        *log,
        &mark.unwrap_or_default(),
        count,
    );
    let (used, torn, damage) = match found {
        Ok(replayed) => (replayed.end.offset, replayed.torn, None),
        Err(StoreError::Corrupt(damage)) => (damage.offset, None, Some(damage)),
        Err(error) => return Err(error),
    };
    Ok(LogExtent {
        durable: mark.map(|mark| mark.sequence),
        reached,
        used,
        torn,
        damage,
        superblock,
    })
}
