//! How far a filter has grown, for `dedupstore inspect`.

use dedupstore::store::GrowthInspection;

use crate::numbers::{duration, grouped, percent, show_bits};

/// Says what is reserved, what is used, and when the reserve will be full.
pub(crate) fn growth_rows(inspected: &GrowthInspection, name: &str) -> Vec<(&'static str, String)> {
    let bytes = |bytes: u64| show_bits(bytes.saturating_mul(8));
    let growth = &inspected.growth;
    let used = format!(
        "{} of the {} that are reserved",
        bytes(growth.used_bytes),
        bytes(growth.reserved_bytes)
    );
    let keys = grouped(growth.keys_left as u64);
    let full = match (inspected.observations_left, inspected.seconds_left) {
        _ if growth.keys_left < 1.0 => {
            format!("the reserve is full; to raise the limit: dedupstore grow {name} --memory SIZE")
        }
        (None, _) => format!("full after about {keys} keys"),
        (Some(left), None) => {
            format!(
                "full after about {keys} more keys, {} observations",
                grouped(left)
            )
        }
        (Some(left), Some(seconds)) => format!(
            "full after about {keys} more keys, {} observations, in {} at this rate",
            grouped(left),
            duration(seconds)
        ),
    };
    let mut rows = vec![("used", used), ("reserve", full)];
    if let Some(rate) = growth.full_fpr {
        rows.push(("when full", format!("FPR {}", percent(Some(rate)))));
    }
    rows
}
