//! Runs of a filter on many sites, and what is measured in them.

use super::RunError;
use crate::fingerprint::KeyHasher;
use crate::lab::clock::NoClock;
use crate::lab::gap_meter::GapMeter;
use crate::lab::simulation::Simulation;
use crate::lab::sliced_run::SliceSettings;
use crate::lab::stream::{Stream, StreamSpec};
use crate::sites::{FailureRule, Slicing, Testing};

use super::outcome::Outcome;

/// A Bloom filter on many sites.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SliceContender {
    /// How it is divided. For [`SliceExperiment::Smallest`] the number of slices does not matter.
    pub slicing: Slicing,
    /// The bits per key.
    pub k: u32,
    /// The number of failed sites.
    pub failed: u64,
    /// The rule for failed sites.
    pub rule: FailureRule,
    /// How sites are tested.
    pub testing: Testing,
    /// What is done.
    pub experiment: SliceExperiment,
}

/// What is done with a filter on many sites.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SliceExperiment {
    /// The stream is observed.
    Stream,
    /// The stream fills the filter, and then as many other keys are tested. Only these count.
    Full,
    /// The smallest number of slices is searched for which the false positive rate of a full filter
    /// is at most this percentage.
    Smallest {
        /// The false positive rate in percent.
        most_percent: f64,
    },
}

/// A quantity that only a filter on many sites has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SiteMetric {
    /// Jain's fairness of the tests per site, in percent.
    Fairness,
    /// The share of tests at the busiest site, in percent.
    Hottest,
    /// Messages per observation that test.
    TestMessages,
    /// Messages per observation that only set.
    SetMessages,
    /// The result of [`SliceExperiment::Smallest`].
    Slices,
}

impl SiteMetric {
    /// Returns the name with its unit.
    pub const fn name(self) -> &'static str {
        match self {
            SiteMetric::Fairness => "fairness %",
            SiteMetric::Hottest => "hottest site %",
            SiteMetric::TestMessages => "test messages",
            SiteMetric::SetMessages => "set messages",
            SiteMetric::Slices => "slices",
        }
    }
}

/// What was counted at the sites.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SiteOutcome {
    observations: f64,
    test_messages: f64,
    set_messages: f64,
    rounds: f64,
    fairness: f64,
    hottest: f64,
    slices: Option<u64>,
}

impl SiteOutcome {
    pub(super) fn value(&self, metric: SiteMetric) -> Option<f64> {
        let mean = |sum: f64, count: f64| (count > 0.0).then(|| sum / count);
        match metric {
            SiteMetric::Fairness => mean(100.0 * self.fairness, self.rounds),
            SiteMetric::Hottest => mean(100.0 * self.hottest, self.rounds),
            SiteMetric::TestMessages => mean(self.test_messages, self.observations),
            SiteMetric::SetMessages => mean(self.set_messages, self.observations),
            SiteMetric::Slices => self.slices.map(|slices| slices as f64),
        }
    }
}

/// The most slices that are tried.
const MOST_SLICES: u64 = 256;

impl SliceContender {
    fn settings(&self, memory_bits: u64) -> SliceSettings {
        SliceSettings {
            failed: self.failed,
            rule: self.rule,
            testing: self.testing,
            ..SliceSettings::new(self.slicing, self.k, memory_bits)
        }
    }

    /// Executes the experiment with the seeds 1 to `rounds`.
    pub(super) fn execute(
        &self,
        stream: StreamSpec,
        count: u64,
        memory_bits: u64,
        rounds: u64,
    ) -> Result<Outcome, RunError> {
        let SliceExperiment::Smallest { most_percent } = self.experiment else {
            let mut outcome = Outcome::default();
            for seed in 1..=rounds {
                self.observe(stream.open(count, seed), memory_bits, seed, &mut outcome)?;
            }
            return Ok(outcome);
        };
        let (mut too_few, mut enough) = (self.failed, MOST_SLICES);
        while enough - too_few > 1 {
            let slices = (too_few + enough) / 2;
            let full = SliceContender {
                slicing: match self.slicing {
                    Slicing::Vertical { .. } => Slicing::Vertical { slices },
                    _ => Slicing::Horizontal { slices },
                },
                experiment: SliceExperiment::Full,
                ..*self
            };
            let found = full.execute(stream, count, memory_bits, rounds)?;
            let most = found.distinct as f64 * most_percent / 100.0;
            match found.false_positives as f64 <= most {
                true => enough = slices,
                false => too_few = slices,
            }
        }
        let mut outcome = Outcome::default();
        outcome.sites.slices = (enough < MOST_SLICES).then_some(enough);
        Ok(outcome)
    }

    fn observe(
        &self,
        mut keys: Stream,
        memory_bits: u64,
        seed: u64,
        outcome: &mut Outcome,
    ) -> Result<(), RunError> {
        let settings = self.settings(memory_bits);
        if self.experiment == SliceExperiment::Full {
            let mut filter = settings.build(seed)?;
            let hasher = KeyHasher::new(seed);
            let mut count = 0;
            while let Some((key, _)) = keys.next_key() {
                filter.observe(hasher.fingerprint(key));
                count += 1;
            }
            for number in 0..count {
                // Keys of a stream are decimal numbers.
                let fresh = format!("fresh {number}");
                let verdict = filter.test(hasher.fingerprint(fresh.as_bytes()));
                outcome.false_positives += u64::from(verdict.is_seen());
            }
            outcome.distinct += count;
            return Ok(());
        }
        let mut simulation =
            Simulation::for_stream(&keys, seed).with_gap_meter(GapMeter::bounded(1));
        simulation.add_sliced(settings)?;
        while let Some((key, number)) = keys.next_key() {
            simulation.push_numbered(key, number, &NoClock);
        }
        simulation.flush(&NoClock);
        for run in simulation.sliced_runs() {
            outcome.add(run.scoreboard());
            let summary = run.summary("");
            let count = summary.count as f64;
            let sites = &mut outcome.sites;
            sites.observations += count;
            sites.test_messages += summary.messages_test.unwrap_or(0.0) * count;
            sites.set_messages += summary.messages_set.unwrap_or(0.0) * count;
            sites.rounds += 1.0;
            sites.fairness += summary.fairness.unwrap_or(0.0);
            sites.hottest += summary.hottest.unwrap_or(0.0);
        }
        Ok(())
    }
}
