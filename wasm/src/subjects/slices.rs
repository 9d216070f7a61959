//! A Bloom filter that is divided among machines, some of which have failed.

use dedupstore::lab::{NoClock, Simulation, SliceSettings, SlicedSummary, Truth};
use dedupstore::sites::{FailureRule, Slicing};

use super::results::{SliceOutcome, SlicesResult};
use crate::line_feed::KeyedLine;

/// The filter, divided in several ways.
pub struct Slices {
    simulation: Simulation,
}

impl Slices {
    pub fn new(
        slices: &[String],
        k: u32,
        failed: u64,
        rule: &str,
        seed: u64,
        memory_bits: u64,
    ) -> Result<Self, String> {
        let rule: FailureRule = rule.parse().map_err(|error| format!("{error}"))?;
        let mut simulation = Simulation::new(seed, Truth::for_fingerprints());
        for text in slices {
            let slicing: Slicing = text.parse().map_err(|error| format!("{error}"))?;
            let settings = SliceSettings {
                failed,
                rule,
                ..SliceSettings::new(slicing, k, memory_bits)
            };
            let added = simulation.add_sliced(settings);
            added.map_err(|error| error.to_string())?;
        }
        Ok(Slices { simulation })
    }

    pub fn observe(&mut self, keyed: &KeyedLine<'_>) {
        self.simulation
            .push_fingerprint(keyed.fingerprint, &NoClock);
    }

    pub fn finish(&mut self) {
        self.simulation.flush(&NoClock);
    }

    pub fn results(&self) -> SlicesResult {
        let runs = self.simulation.sliced_runs().iter();
        SlicesResult {
            outcomes: runs.map(|run| outcome(run.summary("log"))).collect(),
        }
    }
}

fn outcome(summary: SlicedSummary) -> SliceOutcome {
    SliceOutcome {
        slices: summary.slices,
        sites: summary.sites,
        failed: summary.failed,
        count: summary.count,
        distinct: summary.distinct,
        repeats: summary.repeats,
        false_positives: summary.fp,
        false_negatives: summary.false_negatives,
        unknown: summary.unknown,
        fpr: summary.fpr,
        fnr: summary.fnr,
        predicted_fpr: summary.predicted_fpr,
        predicted_fnr: summary.predicted_fnr,
        messages_test: summary.messages_test,
        messages_set: summary.messages_set,
        hottest: summary.hottest,
    }
}
