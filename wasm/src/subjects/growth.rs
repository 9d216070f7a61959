//! A filter that grows inside a reserve, beside Bloom filters in a small memory and in the whole
//! reserve.

use dedupstore::filter::Growth as Grown;
use dedupstore::lab::{NoClock, Simulation, Truth};
use dedupstore::{FilterSpec, SeenSet};

use super::results::{GrowthPoint, GrowthResult};
use crate::line_feed::KeyedLine;
use crate::setting_error::create_error;

/// The first point. Each later one has twice the lines.
const FIRST_LINES: u64 = 512;

/// The first part of the growing filter is half of the small memory, but not smaller than this.
const LEAST_FIRST_PART: u64 = 4096;

/// The filters of the simulation, in their order.
const GROWING: usize = 0;
const SMALL: usize = 1;
const LARGE: usize = 2;

/// The three filters, and how they filled.
pub struct Growth {
    simulation: Simulation,
    filter: FilterSpec,
    small_bits: u64,
    reserve_bits: u64,
    one_key_in: u64,
    lines: u64,
    next_point: u64,
    points: Vec<GrowthPoint>,
}

impl Growth {
    pub fn new(
        fpr: f64,
        reserve: f64,
        seed: u64,
        memory_bits: u64,
        one_key_in: u64,
    ) -> Result<Self, String> {
        let parse = |text: &str| -> Result<FilterSpec, String> {
            text.parse().map_err(|error| format!("{error}"))
        };
        let part = (memory_bits / 2).max(LEAST_FIRST_PART);
        let filter = parse(&format!("growing:fpr={fpr},part={part}"))?;
        let fixed = parse("bloom")?;
        let reserve_bits = (memory_bits as f64 * reserve) as u64;
        let mut simulation = Simulation::new(seed, Truth::for_fingerprints());
        // In the order of the constants above.
        let filters = [
            (&filter, reserve_bits),
            (&fixed, memory_bits),
            (&fixed, reserve_bits),
        ];
        for (spec, bits) in filters {
            let added = simulation.add_filter(spec, bits);
            added.map_err(|error| create_error(&error))?;
        }
        Ok(Growth {
            simulation,
            filter,
            small_bits: memory_bits,
            reserve_bits,
            one_key_in,
            lines: 0,
            next_point: FIRST_LINES,
            points: Vec::new(),
        })
    }

    pub fn observe(&mut self, keyed: &KeyedLine<'_>) {
        self.simulation
            .push_fingerprint(keyed.fingerprint, &NoClock);
        self.lines += 1;
        if self.lines == self.next_point {
            self.next_point *= 2;
            self.record_point();
        }
    }

    pub fn finish(&mut self) {
        if self.points.last().is_none_or(|it| it.lines < self.lines) {
            self.record_point();
        }
    }

    pub fn results(&self) -> GrowthResult {
        GrowthResult {
            filter: self.filter.to_string(),
            small_bits: self.small_bits * self.one_key_in,
            reserve_bits: self.reserve_bits * self.one_key_in,
            points: self.points.clone(),
            keys_left: self
                .grown()
                .map_or(0.0, |it| (it.keys_left * self.one_key_in as f64).floor()),
        }
    }

    fn grown(&self) -> Option<Grown> {
        let set: &SeenSet = self.simulation.runs()[GROWING].set();
        set.filter().growth(set.registers())
    }

    fn record_point(&mut self) {
        self.simulation.flush(&NoClock);
        let grown = self.grown();
        let board = |filter: usize| self.simulation.runs()[filter].scoreboard();
        self.points.push(GrowthPoint {
            lines: self.lines,
            distinct: self.simulation.distinct(),
            used_bytes: grown.map_or(0, |it| it.used_bytes) * self.one_key_in,
            parts: grown.map_or(0, |it| it.parts),
            growing_false_positives: board(GROWING).now().false_positives,
            growing_fpr: board(GROWING).fpr(),
            small_fpr: board(SMALL).fpr(),
            large_fpr: board(LARGE).fpr(),
        });
    }
}
