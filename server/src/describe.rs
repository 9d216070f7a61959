//! Descriptions of an open store.

use dedupstore::Fingerprint;
use dedupstore::filter::Registers;
use dedupstore::theory::current_rates;
use serde_json::json;

use crate::concurrency::Store;

/// The false positive rate up to which a store counts as not full, if it records none.
const DEFAULT_LIMIT: f64 = 0.01;

/// Returns the number of keys that a store holds before its false positive rate is above its limit,
/// or 1 %; by theory, or one key per ten bits if there is no formula.
pub fn capacity(store: &Store) -> i64 {
    let parameters = store.parameters();
    let (spec, bits) = (store.spec(), parameters.memory_bits);
    let empty = Registers::new(0);
    if let Some(growth) = store.filter().growth(&empty) {
        return growth.keys_left as i64;
    }
    let limit = store.max_fpr().unwrap_or(DEFAULT_LIMIT);
    let rate = |keys: u64| current_rates(spec, bits, keys, keys, None).map(|rates| rates.fpr);
    if rate(1).is_none() {
        return (bits / 10) as i64;
    }
    let (mut enough, mut too_many) = (0, bits.max(1));
    while too_many - enough > 1 + enough / 1000 {
        let middle = enough + (too_many - enough) / 2;
        match rate(middle) {
            Some(rate) if rate <= limit => enough = middle,
            _ => too_many = middle,
        }
    }
    enough as i64
}

/// Returns what a client needs to hash keys for the store, and its counters, as a JSON object.
pub fn as_json(store: &Store) -> String {
    let parameters = store.parameters();
    let audit = store.audit();
    let estimate = |value: Option<dedupstore::audit::Estimate>| {
        value.map(|it| json!({"value": it.value, "low": it.low, "high": it.high}))
    };
    let registers = store.registers().to_bytes();
    let registers: String = registers.iter().map(|byte| format!("{byte:02x}")).collect();
    json!({
        "schema": 1,
        "filter": parameters.filter,
        "memory_bits": parameters.memory_bits,
        "seed": parameters.seed,
        "key": parameters.normalization,
        "created_unix_seconds": parameters.created_unix_seconds,
        "max_fpr": store.max_fpr(),
        "registers": registers,
        "generation": store.generation(),
        "checkpoint_unix_seconds": store.checkpoint_unix_seconds(),
        "sequence": store.sequence(),
        "durable_sequence": store.durable_sequence(),
        "recovered": store.recovery().replayed,
        "audited_fpr": estimate(audit.as_ref().and_then(|audit| audit.fpr)),
        "audited_fnr": estimate(audit.as_ref().and_then(|audit| audit.fnr)),
    })
    .to_string()
}

/// Returns the verdict about a key and the cells that decide it.
pub fn evidence(store: &Store, fingerprint: Fingerprint) -> Vec<(&'static str, String)> {
    let filter = store.filter();
    let evidence = filter.evidence(store.filter_region(), store.registers(), fingerprint);
    let cell = |cell: &dedupstore::filter::EvidenceCell| {
        format!("{} {} = {}", cell.meaning, cell.index, cell.value)
    };
    let cells: Vec<_> = evidence.cells().map(cell).collect();
    let verdict = match evidence.verdict().is_seen() {
        true => "seen",
        false => "new",
    };
    vec![
        ("verdict", verdict.to_owned()),
        ("fingerprint", format!("{:016x}", fingerprint.0)),
        ("filter", store.spec().to_string()),
        (
            "false_positive_rate",
            store.false_positive_rate().to_string(),
        ),
        ("cells", cells.join(", ")),
    ]
}
