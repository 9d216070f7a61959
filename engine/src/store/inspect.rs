//! What a store says of itself, without reading its region.
//!
//! Beside a running writer the end of the log moves while it is looked at: a frame half
//! written looks torn. So what looks torn or damaged is looked at again, and only what
//! looks the same twice is reported.

use std::time::Duration;

use serde::Serialize;

use super::error::{Damage, StoreError};
use super::examination::is_zero;
use super::image::read_part;
use super::layout::SUPERBLOCK_BYTES;
use super::mark::Mark;
use super::medium::{Medium, StoreFile};
use super::origin::filter_of;
use super::replay::{TornTail, replay};
use super::snapshot::{ATTEMPTS, newest_superblock_soon};
use super::superblock::{Superblock, VERSION};
use crate::audit::{AuditReport, AuditedFilter, Estimate};
use crate::filter::Recorded;
use crate::fingerprint::HashScheme;
use crate::theory::{Forecast, GapHistogram, forecast, standing};

/// What there is to say of a store. Counts, load and rates are those of the last
/// checkpoint; sequence numbers say how much more the log holds.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Inspection {
    /// The version of its format.
    pub format_version: u32,
    /// Its identity, in hexadecimal.
    pub id: String,
    /// Its filter, in its text form.
    pub filter: String,
    /// How its keys are hashed.
    pub hash_scheme: &'static str,
    /// The seed of its hash and of its choices.
    pub seed: u64,
    /// How keys were changed before they were hashed.
    pub normalization: String,
    /// The memory it was given.
    pub memory_bits: u64,
    /// The memory its filter uses.
    pub region_bytes: u64,
    /// All its files together.
    pub disk_bytes: u64,
    /// When it was made.
    pub created_unix_seconds: u64,
    /// How many checkpoints were taken.
    pub generation: u64,
    /// When the last one was.
    pub checkpoint_unix_seconds: u64,
    /// How long ago that is.
    pub checkpoint_age_seconds: u64,
    /// Whether another is under way, or was cut off.
    pub checkpoint_unfinished: bool,
    /// Observations in the last checkpoint.
    pub checkpointed_sequence: u64,
    /// Observations known to be durable; nothing if the mark is not readable.
    pub durable_sequence: Option<u64>,
    /// Observations in the last checkpoint and the log.
    pub log_sequence: u64,
    /// The size of each log.
    pub log_bytes: u64,
    /// How much of the current one is in use.
    pub log_used_bytes: u64,
    /// Where a crash tore the log; opening the store sees to it.
    pub torn_tail: Option<TornTail>,
    /// Damage in the log, if there is any; `verify` looks for more.
    pub damage: Option<String>,
    /// Observations in the last checkpoint.
    pub observations: u64,
    /// Of which New.
    pub new: u64,
    /// Of which Seen.
    pub seen: u64,
    /// The share of cells in use.
    pub load: f64,
    /// The chance that a key never met would be taken for Seen.
    pub estimated_fpr: f64,
    /// New keys taken for Seen, as found by the audit; nothing if there is none.
    pub audited_fpr: Option<Estimate>,
    /// Repeats taken for New, as found by the audit.
    pub audited_fnr: Option<Estimate>,
    /// How many distinct keys were met, as estimated from the audit.
    pub distinct_estimate: Option<f64>,
    /// All that the audit has found.
    pub audit: Option<AuditReport>,
    /// When the filter will be too full at the present rate; nothing if its load settles.
    pub forecast: Option<Forecast>,
    /// What theory says of the next new key being taken for Seen, from the counts and from how
    /// far back the audit found repeats; as if they were uniform picks where it found none.
    pub predicted_fpr: Option<f64>,
    /// The same of the next repeat being taken for New.
    pub predicted_fnr: Option<f64>,
    /// The share of cells in use that theory expects.
    pub predicted_load: Option<f64>,
    /// The distinct keys that explain the verdicts.
    pub predicted_distinct: Option<u64>,
    /// The formula.
    pub predicted_by: Option<&'static str>,
}

/// Inspects a store on any medium, beside a writer or not. Reads only.
pub fn inspect_on(medium: &impl Medium) -> Result<Inspection, StoreError> {
    let look = look_twice(medium)?;
    let superblock = &look.superblock;
    let (spec, filter) = filter_of(superblock)?;
    let (parameters, registers) = (&superblock.parameters, &superblock.registers);
    let other = StoreFile::image(superblock.generation + 1);
    let now = medium.unix_seconds();
    let (audit, audit_damage) = read_audit(medium, superblock, &filter)?;
    let damage = look.damage.as_ref().or(audit_damage.as_ref());
    let gaps = audit.as_ref();
    let gaps = gaps.and_then(|audit| GapHistogram::of_octaves(&audit.gaps));
    let standing = standing(
        &spec,
        parameters.memory_bits,
        registers.observations(),
        registers.new_count(),
        gaps.as_ref(),
    );
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
        durable_sequence: look.durable,
        log_sequence: look.reached,
        log_bytes: superblock.layout.log_bytes,
        log_used_bytes: look.used,
        torn_tail: look.torn,
        damage: damage.map(Damage::to_string),
        observations: registers.observations(),
        new: registers.new_count(),
        seen: registers.seen_count(),
        load: filter.filter().load(registers),
        estimated_fpr: filter.filter().drop_chance(registers),
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
        predicted_fpr: standing.as_ref().map(|it| it.fpr),
        predicted_fnr: standing.as_ref().map(|it| it.fnr),
        predicted_load: standing.as_ref().map(|it| it.load),
        predicted_distinct: standing.as_ref().map(|it| it.distinct),
        predicted_by: standing.map(|it| it.by),
    })
}

/// What the audit in an image has found. A writer may have overtaken us: then there is
/// nothing to say, and nothing wrong.
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
            let overtaken = newest_superblock_soon(medium)? != *superblock;
            Ok((None, (!overtaken).then_some(damage)))
        }
        Err(error) => Err(error),
    }
}

/// The newest superblock, and how far the log goes.
#[derive(Clone, Debug, PartialEq)]
struct Look {
    superblock: Superblock,
    durable: Option<u64>,
    reached: u64,
    used: u64,
    torn: Option<TornTail>,
    damage: Option<Damage>,
}

fn look_twice(medium: &impl Medium) -> Result<Look, StoreError> {
    let mut before = look(medium)?;
    for attempt in 1..ATTEMPTS {
        if before.torn.is_none() && before.damage.is_none() {
            return Ok(before);
        }
        medium.pause(Duration::from_millis(10) * attempt);
        let again = look(medium)?;
        if again == before {
            return Ok(again);
        }
        before = again;
    }
    // It moves and moves: a writer is at work, and all is well.
    Ok(Look {
        torn: None,
        damage: None,
        ..before
    })
}

fn look(medium: &impl Medium) -> Result<Look, StoreError> {
    let superblock = newest_superblock_soon(medium)?;
    let Superblock {
        store_id,
        layout,
        log,
        ..
    } = &superblock;
    let slots = Mark::slots(medium, store_id)?;
    let mark = slots.into_iter().flatten().max_by_key(|mark| mark.turn);
    let mut reached = log.sequence;
    let count = |recorded: &Recorded| reached += recorded.count();
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
    Ok(Look {
        durable: mark.map(|mark| mark.sequence),
        reached,
        used,
        torn,
        damage,
        superblock,
    })
}
