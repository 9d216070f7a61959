//! What an inspection of a store shows.

use serde::Serialize;

use super::error::Damage;
use super::format::superblock::{Superblock, VERSION};
use super::log_extent::LogExtent;
use super::replay::TornTail;
use super::window_inspection::WindowInspection;
use crate::audit::{AuditReport, AuditedFilter, Estimate};
use crate::filter::{AnyFilter, FilterSpec, Growth, Registers, filters_that_merge};
use crate::fingerprint::HashScheme;
use crate::lines::RecordedKey;
use crate::theory::{
    CurrentRates, Forecast, GapHistogram, LongRun, SteadyState, current_rates, forecast, long_run,
    proportional_forecast, rates_at_load,
};

/// A description of a store. Counts, load and rates are those of the last checkpoint, unless it
/// is [`exact`](Inspection::exact); the live counts tell what the log adds.
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
    /// How callers find the key of a line: the text of a [`KeyRule`](crate::lines::KeyRule).
    /// None if the store does not record it.
    pub key: Option<String>,
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
    /// The sequence number of the last checkpoint: the number of observations in it, and of keys
    /// taken out.
    pub checkpointed_sequence: u64,
    /// The sequence number known to be durable; None if the mark is not readable.
    pub durable_sequence: Option<u64>,
    /// The sequence number that the last checkpoint and the log reach.
    pub log_sequence: u64,
    /// The size of each log.
    pub log_bytes: u64,
    /// How much of the current log is in use.
    pub log_used_bytes: u64,
    /// Where a crash tore the log, if it did. Opening the store removes the torn frame.
    pub torn_tail: Option<TornTail>,
    /// Damage in the log or the audit, if any. Only `verify` checks everything.
    pub damage: Option<String>,
    /// Whether counts, load and rates include the log: it was replayed, or there is nothing in
    /// it. Otherwise they are those of the last checkpoint.
    pub exact: bool,
    /// The number of observations in the last checkpoint and the log.
    pub live_observations: u64,
    /// The number of them reported as New; None if only replaying the log can tell.
    pub live_new: Option<u64>,
    /// The number of them reported as Seen; None if only replaying the log can tell.
    pub live_seen: Option<u64>,
    /// The number of keys taken out, in the last checkpoint and the log.
    pub forgotten: u64,
    /// The share of cells in use with the log; None if only replaying it can tell.
    pub live_load: Option<f64>,
    /// The probability that the next new key is reported as Seen; None if only replaying the log
    /// can tell.
    pub live_estimated_fpr: Option<f64>,
    /// The number of observations.
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
    /// The window of the filter, with the log if the live counts are known; None if the filter has
    /// no window.
    pub window: Option<WindowInspection>,
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
    /// How far the filter has grown inside the memory that is reserved for it; None if it uses all of
    /// it from the start.
    pub growth: Option<GrowthInspection>,
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
    /// The number of distinct keys that would explain the verdicts or, in a merged store, the
    /// load.
    pub predicted_distinct: Option<u64>,
    /// The name of the formula.
    pub predicted_by: Option<&'static str>,
}

impl Inspection {
    /// Takes the live figures of an exact inspection of the same store. All other figures stay
    /// those of the last checkpoint.
    pub fn set_live(&mut self, exact: &Inspection) {
        self.live_observations = exact.live_observations;
        self.log_sequence = self.log_sequence.max(exact.log_sequence);
        self.forgotten = exact.forgotten;
        self.live_new = exact.live_new;
        self.live_seen = exact.live_seen;
        self.live_load = exact.live_load;
        self.live_estimated_fpr = exact.live_estimated_fpr;
        self.window.clone_from(&exact.window);
    }
}

/// How far a filter has grown, and when its reserve will be full.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct GrowthInspection {
    /// What is used and what is reserved.
    #[serde(flatten)]
    pub growth: Growth,
    /// The number of observations until the reserve is full, if the share of new keys stays the
    /// same; None before the first new key.
    pub observations_left: Option<u64>,
    /// The number of seconds until then, at the mean rate since the store was created; None if no
    /// time has passed.
    pub seconds_left: Option<u64>,
}

impl GrowthInspection {
    fn of(filter: &AnyFilter, registers: &Registers, age_seconds: u64) -> Option<Self> {
        let growth = filter.growth(registers)?;
        let new = registers.new_count();
        let rounds = growth.keys_left / new as f64;
        let times = |count: u64| (new > 0).then_some((rounds * count as f64) as u64);
        Some(GrowthInspection {
            growth,
            observations_left: times(registers.observations()),
            seconds_left: times(age_seconds).filter(|_| age_seconds > 0),
        })
    }
}

/// How far the load may be below the predicted one, if all New verdicts were about different
/// keys: a share of it, and a number of cells.
const LOAD_TOLERANCE: (f64, f64) = (0.02, 32.0);

/// Predicts the present error rates. Merged stores have counted a key as New in each of them; if
/// the load shows that, it tells the number of distinct keys instead of the counts.
fn predicted_rates(
    spec: &FilterSpec,
    filter: &AnyFilter,
    memory_bits: u64,
    registers: &Registers,
    gaps: Option<&GapHistogram>,
) -> Option<CurrentRates> {
    let observations = registers.observations();
    let new = registers.new_count();
    let by_counts = current_rates(spec, memory_bits, observations, new, gaps)?;
    let (load, cells) = (filter.load(registers), filter.cells() as f64);
    let tolerance = (LOAD_TOLERANCE.0 * by_counts.load).max(LOAD_TOLERANCE.1 / cells);
    let may_be_merged = filters_that_merge().contains(&spec.descriptor().name);
    match may_be_merged && by_counts.load - load > tolerance {
        true => rates_at_load(spec, memory_bits, observations, load, gaps),
        false => Some(by_counts),
    }
}

/// What an inspection is made from.
pub struct Inspected<'a> {
    pub extent: &'a LogExtent,
    pub spec: &'a FilterSpec,
    pub filter: &'a AuditedFilter,
    /// The counts, of the last checkpoint or with the log.
    pub registers: &'a Registers,
    /// The audit's report at the same time.
    pub audit: Option<AuditReport>,
    pub audit_damage: Option<Damage>,
    pub checkpoint_unfinished: bool,
    pub unix_seconds: u64,
}

impl Inspected<'_> {
    /// Returns the description.
    pub fn describe(self) -> Inspection {
        let (extent, registers) = (self.extent, self.registers);
        let Superblock {
            parameters, layout, ..
        } = &extent.superblock;
        let superblock = &extent.superblock;
        let filter = self.filter.filter();
        let exact = registers.sequence() >= extent.reached;
        let live_new = match exact {
            true => Some(registers.new_count()),
            false => extent.new,
        };
        let reached = extent.reached.max(registers.sequence());
        let forgotten = extent.forgotten.max(registers.forgotten());
        let live_observations = reached.saturating_sub(forgotten);
        let audit = self.audit;
        let gaps = audit.as_ref();
        let gaps = gaps.and_then(|audit| GapHistogram::of_octaves(&audit.gaps));
        let rates = predicted_rates(
            self.spec,
            filter,
            parameters.memory_bits,
            registers,
            gaps.as_ref(),
        );
        let (steady_state, only_fills) = match long_run(self.spec, parameters.memory_bits) {
            // How full a window becomes depends on the keys per second.
            _ if self.filter.filter().tick_clock().is_some() => (None, None),
            LongRun::Settles(state) => (Some(state), Some(false)),
            LongRun::OnlyFills => (None, Some(true)),
            LongRun::Unknown => (None, None),
        };
        let damage = extent.damage.as_ref().or(self.audit_damage.as_ref());
        let counted_at = match registers.sequence() > superblock.log.sequence {
            true => self.unix_seconds,
            false => superblock.unix_seconds,
        };
        let age = counted_at.saturating_sub(parameters.created_unix_seconds);
        let hexadecimal = superblock.store_id.iter().map(|byte| format!("{byte:02x}"));
        Inspection {
            format_version: VERSION,
            id: hexadecimal.collect(),
            filter: self.spec.to_string(),
            hash_scheme: HashScheme::default().name(),
            seed: parameters.seed,
            normalization: RecordedKey::normalization_name(&parameters.normalization).to_owned(),
            key: RecordedKey::rule_text(&parameters.normalization).map(str::to_owned),
            memory_bits: parameters.memory_bits,
            region_bytes: layout.region_bytes,
            disk_bytes: layout.disk_bytes(),
            created_unix_seconds: parameters.created_unix_seconds,
            generation: superblock.generation,
            checkpoint_unix_seconds: superblock.unix_seconds,
            checkpoint_age_seconds: self.unix_seconds.saturating_sub(superblock.unix_seconds),
            checkpoint_unfinished: self.checkpoint_unfinished,
            checkpointed_sequence: superblock.log.sequence,
            durable_sequence: extent.durable,
            log_sequence: reached,
            log_bytes: layout.log_bytes,
            log_used_bytes: extent.used,
            torn_tail: extent.torn,
            damage: damage.map(Damage::to_string),
            exact,
            live_observations,
            live_new,
            live_seen: live_new.map(|new| live_observations.saturating_sub(new)),
            forgotten,
            live_load: exact.then(|| filter.load(registers)),
            live_estimated_fpr: exact.then(|| filter.false_positive_rate(registers)),
            observations: registers.observations(),
            new: registers.new_count(),
            seen: registers.seen_count(),
            load: filter.load(registers),
            estimated_fpr: filter.false_positive_rate(registers),
            max_fpr: superblock.max_fpr,
            window: WindowInspection::of(filter, registers, parameters, self.unix_seconds),
            audited_fpr: audit.as_ref().and_then(|audit| audit.fpr),
            audited_fnr: audit.as_ref().and_then(|audit| audit.fnr),
            distinct_estimate: audit.as_ref().map(|audit| audit.distinct.value),
            audit,
            forecast: filter.comfortable_load().and_then(|comfortable| {
                let load = filter.load(registers);
                let count = registers.observations();
                match filter.load_is_proportional() {
                    true => proportional_forecast(load, comfortable, count, age),
                    false => forecast(load, comfortable, count, age),
                }
            }),
            growth: GrowthInspection::of(filter, registers, age),
            steady_state,
            only_fills,
            predicted_fpr: rates.as_ref().map(|it| it.fpr),
            predicted_fnr: rates.as_ref().map(|it| it.fnr),
            predicted_load: rates.as_ref().map(|it| it.load),
            predicted_distinct: rates.as_ref().map(|it| it.distinct),
            predicted_by: rates.map(|it| it.by),
        }
    }
}
