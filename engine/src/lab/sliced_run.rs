//! A Bloom filter on many sites, compared with exact truth.

use serde::Serialize;

use super::scoreboard::{Scoreboard, share};
use super::simulation::Simulation;
use crate::filter::{Observation, Verdict};
use crate::fingerprint::reduce;
use crate::rng::Generator;
use crate::sites::{
    BitSite, FailureRule, SitePrediction, SitePrimitive, SiteVerdict, SlicedFilter, Slicing,
    SlicingError, Testing, Traffic, fairness,
};

/// A Bloom filter on many sites, some of which have failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SliceSettings {
    /// How the filter is divided.
    pub slicing: Slicing,
    /// The number of bits per key.
    pub k: u32,
    /// The bits of all sites.
    pub memory_bits: u64,
    /// The number of sites that have failed from the start. The seed chooses them.
    pub failed: u64,
    /// What is decided if sites have failed.
    pub rule: FailureRule,
    /// How several sites are tested.
    pub testing: Testing,
    /// How a key is tested and recorded.
    pub primitive: SitePrimitive,
}

impl SliceSettings {
    /// Returns a filter without failed sites, with parallel tests.
    pub fn new(slicing: Slicing, k: u32, memory_bits: u64) -> Self {
        SliceSettings {
            slicing,
            k,
            memory_bits,
            failed: 0,
            rule: FailureRule::Seen,
            testing: Testing::default(),
            primitive: SitePrimitive::default(),
        }
    }

    /// Creates the filter, empty.
    pub fn build(&self, seed: u64) -> Result<SlicedFilter<Vec<BitSite>>, SlicingError> {
        let mut filter = SlicedFilter::in_process(self.slicing, self.k, self.memory_bits)?;
        filter.set_rule(self.rule);
        filter.set_testing(self.testing);
        filter.set_primitive(self.primitive);
        let sites = filter.sites_mut();
        for site in failed_sites(sites.len(), self.failed, seed) {
            sites[site].fail();
        }
        Ok(filter)
    }
}

/// Chooses `failed` of the sites at random.
fn failed_sites(sites: usize, failed: u64, seed: u64) -> Vec<usize> {
    let mut order: Vec<usize> = (0..sites).collect();
    let generator = Generator::from_seed(seed);
    let failed = (failed as usize).min(sites);
    for i in 0..failed {
        let left = (sites - i) as u64;
        order.swap(i, i + reduce(generator.draw(i as u64), left) as usize);
    }
    order.truncate(failed);
    order
}

/// A filter on many sites in a simulation, and its results.
#[derive(Clone, Debug)]
pub struct SlicedRun {
    settings: SliceSettings,
    filter: SlicedFilter<Vec<BitSite>>,
    scoreboard: Scoreboard,
    unknown: u64,
}

impl SlicedRun {
    /// Creates an empty run.
    pub fn new(settings: SliceSettings, seed: u64) -> Result<Self, SlicingError> {
        Ok(SlicedRun {
            filter: settings.build(seed)?,
            settings,
            scoreboard: Scoreboard::default(),
            unknown: 0,
        })
    }

    /// Observes keys, each with the information whether it is a first occurrence. A key that is
    /// Unknown is neither a false positive nor a false negative.
    pub(super) fn observe(&mut self, observations: &[Observation], first: &[bool]) {
        for (observation, &first) in observations.iter().zip(first) {
            let verdict = match self.filter.observe(observation.fingerprint) {
                SiteVerdict::New => Verdict::New,
                SiteVerdict::Seen => Verdict::Seen,
                SiteVerdict::Unknown => {
                    self.unknown += 1;
                    Verdict::seen_if(!first)
                }
            };
            let is_point = self.scoreboard.until_next_point() == 1;
            let occupied = match is_point {
                true => self.filter.sites().iter().map(BitSite::set_bits).sum(),
                false => self.scoreboard.now().occupied,
            };
            self.scoreboard.score(&[verdict], &[first], occupied);
        }
    }

    /// The settings.
    pub fn settings(&self) -> &SliceSettings {
        &self.settings
    }

    /// The filter with its sites.
    pub fn filter(&self) -> &SlicedFilter<Vec<BitSite>> {
        &self.filter
    }

    /// The counts of wrong verdicts.
    pub fn scoreboard(&self) -> &Scoreboard {
        &self.scoreboard
    }

    /// Returns the results so far.
    pub fn summary(&self, stream: &str) -> SlicedSummary {
        let end = self.scoreboard.now();
        let settings = &self.settings;
        let mut total = Traffic::default();
        self.filter.traffic().iter().for_each(|it| total.add(it));
        let tests: Vec<u64> = self.filter.traffic().iter().map(|it| it.tests).collect();
        let prediction = SitePrediction::new(*self.filter.plan(), settings.failed, settings.rule)
            .over_stream(end.distinct);
        // This rule drops keys whose bits are not all set, and test-and-set has then set them.
        let is_x_of_k = matches!(settings.rule, FailureRule::XOfK { .. });
        let predictable = !is_x_of_k || settings.primitive != SitePrimitive::TestAndSet;
        SlicedSummary {
            schema: 1,
            filter: format!("bloom:k={}", settings.k),
            slices: settings.slicing.to_string(),
            sites: tests.len(),
            failed: settings.failed,
            rule: settings.rule.to_string(),
            testing: settings.testing.to_string(),
            primitive: settings.primitive.to_string(),
            memory_bits: settings.memory_bits,
            stream: stream.to_owned(),
            count: end.position,
            distinct: end.distinct,
            repeats: end.repeats(),
            fp: end.false_positives,
            false_negatives: end.false_negatives,
            unknown: self.unknown,
            fpr: self.scoreboard.fpr(),
            fnr: self.scoreboard.fnr(),
            fpr_n: share(end.false_positives, end.position),
            fnr_n: share(end.false_negatives, end.position),
            predicted_fpr: predictable.then_some(prediction.false_positive),
            predicted_fnr: predictable.then_some(prediction.false_negative),
            load: self.filter.load(),
            messages_test: share(total.tests, end.position),
            messages_set: share(total.sets, end.position),
            messages_claim: share(total.claims, end.position),
            unanswered: share(total.unanswered, end.position),
            bits: share(total.bits, end.position),
            fairness: fairness(&tests),
            hottest: tests
                .iter()
                .max()
                .and_then(|&most| share(most, total.tests)),
        }
    }
}

/// The result of one filter on many sites. The field names are the keys of the JSON form.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SlicedSummary {
    /// The version of the JSON form.
    pub schema: u32,
    /// The filter, in its text form.
    pub filter: String,
    /// How it is divided, in its text form.
    pub slices: String,
    /// The number of sites.
    pub sites: usize,
    /// The number of failed sites.
    pub failed: u64,
    /// The rule for failed sites.
    pub rule: String,
    /// How sites are tested: `parallel` or `pipelined`.
    pub testing: String,
    /// How a key is recorded: `test-then-set`, `test-and-set` or `claim`.
    pub primitive: String,
    /// The memory of all sites.
    pub memory_bits: u64,
    /// The text form of the stream, or the name of a log.
    pub stream: String,
    /// The number of observations.
    pub count: u64,
    /// The number of first occurrences.
    pub distinct: u64,
    /// The number of repeats.
    pub repeats: u64,
    /// First occurrences reported Seen.
    pub fp: u64,
    /// Repeats reported New.
    #[serde(rename = "fn")]
    pub false_negatives: u64,
    /// Observations reported Unknown, which are not errors.
    pub unknown: u64,
    /// `fp` ÷ `distinct`.
    pub fpr: Option<f64>,
    /// `fn` ÷ `repeats`.
    pub fnr: Option<f64>,
    /// `fp` ÷ `count`.
    pub fpr_n: Option<f64>,
    /// `fn` ÷ `count`.
    pub fnr_n: Option<f64>,
    /// The predicted `fpr`. None if there is no formula: `x-of-k` with
    /// `test-and-set`.
    pub predicted_fpr: Option<f64>,
    /// The predicted `fnr`.
    pub predicted_fnr: Option<f64>,
    /// The share of set bits at the end, over all sites; failed sites have none.
    pub load: f64,
    /// Messages per observation that test a key.
    pub messages_test: Option<f64>,
    /// Messages per observation that only set bits.
    pub messages_set: Option<f64>,
    /// Messages per observation that claim or release a key.
    pub messages_claim: Option<f64>,
    /// Messages per observation without an answer, included in the others.
    pub unanswered: Option<f64>,
    /// The size of tests and sets, in bits per observation.
    pub bits: Option<f64>,
    /// Jain's fairness of the tests per site: 1 if all sites have the same number.
    pub fairness: Option<f64>,
    /// The share of all tests that the busiest site receives.
    pub hottest: Option<f64>,
}

/// Lets sliced filters observe keys, given which of them are first occurrences.
pub(super) type ObserveSliced = fn(&mut [SlicedRun], &[Observation], &[bool]);

fn observe_all(runs: &mut [SlicedRun], observations: &[Observation], first: &[bool]) {
    for run in runs {
        run.observe(observations, first);
    }
}

impl Simulation {
    /// Adds a filter on many sites.
    pub fn add_sliced(&mut self, settings: SliceSettings) -> Result<(), SlicingError> {
        let seed = self.hasher().seed();
        self.sliced.push(SlicedRun::new(settings, seed)?);
        self.observe_sliced = Some(observe_all);
        Ok(())
    }

    /// The filters on many sites and their results, in the order in which they were added.
    pub fn sliced_runs(&self) -> &[SlicedRun] {
        &self.sliced
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failed_sites_are_chosen_once_and_by_the_seed() {
        for (sites, failed) in [(40, 0), (40, 8), (40, 40), (1, 5)] {
            let mut chosen = failed_sites(sites, failed, 3);
            assert_eq!(chosen, failed_sites(sites, failed, 3));
            chosen.sort_unstable();
            chosen.dedup();
            assert_eq!(chosen.len(), (failed as usize).min(sites));
            assert!(chosen.iter().all(|&site| site < sites));
        }
        assert_ne!(failed_sites(40, 8, 3), failed_sites(40, 8, 4));
    }
}
