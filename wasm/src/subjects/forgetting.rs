//! What exact windows of several spans forget.

use std::collections::HashMap;

use dedupstore::Fingerprint;
use dedupstore_view::span;

use super::results::WindowSpan;

const MINUTE: u64 = 60;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;
/// The spans that are always measured.
const SPANS: [u64; 8] = [
    MINUTE,
    10 * MINUTE,
    HOUR,
    6 * HOUR,
    DAY,
    7 * DAY,
    30 * DAY,
    180 * DAY,
];
const MEASURED: usize = SPANS.len() + 1;

/// Counts the repeats that a window without errors forgets, for several spans at once. A window
/// delivers a key if it has not delivered it within its span.
pub struct Forgetting {
    /// The last one is the chosen span.
    seconds: [u64; MEASURED],
    /// When the window of each span last delivered a key.
    delivered: HashMap<u64, [u32; MEASURED]>,
    again: [u64; MEASURED],
    repeats: u64,
    first: Option<u32>,
    /// A late line counts at the newest time.
    newest: u32,
}

impl Forgetting {
    /// Creates counts for a span, besides the usual ones.
    pub fn with(span_seconds: u64) -> Self {
        let mut seconds = [span_seconds; MEASURED];
        seconds[..SPANS.len()].copy_from_slice(&SPANS);
        Forgetting {
            seconds,
            delivered: HashMap::new(),
            again: [0; MEASURED],
            repeats: 0,
            first: None,
            newest: 0,
        }
    }

    pub fn record(&mut self, key: Fingerprint, tick: u32) {
        self.first.get_or_insert(tick);
        self.newest = self.newest.max(tick);
        let now = self.newest;
        let mut is_first = false;
        let delivered = self.delivered.entry(key.0).or_insert_with(|| {
            is_first = true;
            [now; MEASURED]
        });
        if is_first {
            return;
        }
        self.repeats += 1;
        let spans = delivered.iter_mut().zip(&self.seconds).zip(&mut self.again);
        for ((delivered, &seconds), again) in spans {
            if u64::from(now - *delivered) >= seconds {
                *again += 1;
                *delivered = now;
            }
        }
    }

    /// The time from the first line to the latest.
    pub fn duration_seconds(&self) -> u64 {
        let first = self.first.unwrap_or(self.newest);
        u64::from(self.newest.saturating_sub(first))
    }

    pub fn repeats(&self) -> u64 {
        self.repeats
    }

    /// Returns what each window forgets, the shortest first, and the index of the chosen one. Those
    /// that are longer than the log are left out.
    pub fn spans(&self) -> (Vec<WindowSpan>, usize) {
        let chosen = self.seconds[MEASURED - 1];
        let is_shown = |seconds: u64| seconds == chosen || seconds < self.duration_seconds();
        let mut spans: Vec<WindowSpan> = (self.seconds.iter().zip(&self.again))
            .filter(|(seconds, _)| is_shown(**seconds))
            .map(|(&seconds, &again)| WindowSpan {
                span: span(seconds),
                seconds,
                again,
                share: (self.repeats > 0).then(|| again as f64 / self.repeats as f64),
            })
            .collect();
        spans.sort_by_key(|it| it.seconds);
        spans.dedup_by_key(|it| it.seconds);
        let index = spans.iter().position(|it| it.seconds == chosen);
        (spans, index.unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_counts_from_the_last_delivery() {
        let mut forgetting = Forgetting::with(100);
        // Delivered at 0, 100 and 250; the others are within 100 seconds of a delivery.
        for tick in [0, 60, 99, 100, 199, 250, 240] {
            forgetting.record(Fingerprint(7), 1000 + tick);
        }
        forgetting.record(Fingerprint(8), 1100);
        assert_eq!(forgetting.repeats(), 6);
        assert_eq!(forgetting.duration_seconds(), 250);
        let (spans, chosen) = forgetting.spans();
        // A window of a minute is measured, too. It delivers at 0, 60 and 199.
        let counts: Vec<_> = spans.iter().map(|it| (it.seconds, it.again)).collect();
        assert_eq!((counts, chosen), (vec![(60, 2), (100, 2)], 1));
    }
}
