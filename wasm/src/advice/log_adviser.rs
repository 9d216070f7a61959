//! Reads a log and recommends a filter for it.

use dedupstore::FilterSpec;
use dedupstore::advise::{self, Confidence, MemorySearch, Question, Sample};
use dedupstore::lab::{Sampling, Truth};

use super::{Advice, AdviceRequirements, EnoughForBounds, Estimate, Preference};
use crate::key_choice::KeyChoice;
use crate::line_feed::{KeyedLine, LineFeed};
use crate::setting_error::create_error;

/// The seed of the fingerprints. It selects the keys of the sample; the command line uses
/// the same.
const SEED: u64 = 0;

/// Filters that meet any requirement in enough memory. If the recommended one does not meet the
/// requirements, these and it are tried in more memory.
const MEET_REQUIREMENTS: [&str; 2] = ["bloom:k=7", dedupstore::filter::DEFAULT_FILTER];

/// What is known of a log.
pub struct LogAdviser {
    feed: LineFeed,
    truth: Truth,
    sample: Sample,
}

impl LogAdviser {
    pub fn new(key: &KeyChoice, part: Sampling) -> Result<Self, String> {
        Ok(LogAdviser {
            feed: LineFeed::new(key, SEED, part),
            truth: Truth::for_fingerprints(),
            sample: Sample::default(),
        })
    }

    pub fn feed(&mut self, chunk: &[u8]) -> Result<(), String> {
        let (truth, sample) = (&mut self.truth, &mut self.sample);
        let fed = self.feed.feed(chunk, |keyed| record(truth, sample, &keyed));
        fed.map_err(|error| error.to_string())
    }

    pub fn finish(&mut self) {
        let (truth, sample) = (&mut self.truth, &mut self.sample);
        self.feed.finish(|keyed| record(truth, sample, &keyed));
    }

    pub fn is_complete(&self) -> bool {
        self.feed.is_complete()
    }

    pub fn count(&self) -> u64 {
        self.sample.stream_count()
    }

    pub fn lines_without_key(&self) -> u64 {
        self.feed.lines_without_key()
    }

    /// The error is a sentence for the page's user.
    pub fn advise(&self, requirements: &AdviceRequirements) -> Result<Advice, String> {
        let distinct = self.truth.distinct() * self.feed.sampling().one_key_in();
        let question = Question {
            distinct: Some(distinct),
            max_fpr: requirements.max_fpr,
            max_fnr: requirements.max_fnr,
            cost_fp: requirements.cost_fp,
            cost_fn: requirements.cost_fn,
            preference: requirements.prefer.into(),
            sample: Some(&self.sample),
            weighted: self.feed.has_importance(),
            ..Question::of_memory(requirements.memory_bits as u64)
        };
        let advice = advise::advise(&question).map_err(|error| create_error(&error))?;
        let enough = match advice.keeps_bounds || question.weighted {
            true => None,
            false => self.enough_for(requirements, &advice.choice.filter)?,
        };
        Ok(Advice {
            enough,
            ..Advice::new(advice)
        })
    }

    /// Returns the least memory in which one of a few filters meets the requirements.
    fn enough_for(
        &self,
        requirements: &AdviceRequirements,
        recommended: &FilterSpec,
    ) -> Result<Option<EnoughForBounds>, String> {
        let search = MemorySearch::new(&self.sample, SEED);
        let is_within = |rate: f64, bound: Option<f64>| bound.is_none_or(|bound| rate <= bound);
        let mut least: Option<EnoughForBounds> = None;
        let others = MEET_REQUIREMENTS.into_iter().map(str::to_owned);
        for filter in std::iter::once(recommended.to_string()).chain(others) {
            let spec: FilterSpec = filter.parse().map_err(|error| format!("{error}"))?;
            let found = search.least_where(&spec, |found| {
                is_within(found.fpr, requirements.max_fpr)
                    && is_within(found.fnr, requirements.max_fnr)
            });
            let Some(found) = found.map_err(|error| create_error(&error))? else {
                continue;
            };
            let memory_bits = (found.memory_bits * self.feed.sampling().one_key_in()) as f64;
            if least.as_ref().is_none_or(|it| memory_bits < it.memory_bits) {
                least = Some(EnoughForBounds {
                    filter,
                    memory_bits,
                });
            }
        }
        Ok(least)
    }
}

fn record(truth: &mut Truth, sample: &mut Sample, keyed: &KeyedLine<'_>) {
    truth.is_first(keyed.fingerprint.0);
    sample.record_next(keyed.observation());
}

impl Advice {
    fn new(advice: advise::Advice) -> Self {
        let all = std::iter::once(&advice.choice).chain(&advice.runners_up);
        Advice {
            estimates: all.map(Estimate::new).collect(),
            keeps_bounds: advice.keeps_bounds,
            enough: None,
            reason: advice.reason,
            papers: advice.papers,
            certainty: certainty(advice.confidence),
            observations: match advice.confidence {
                Confidence::Measured { observations, .. } => Some(observations),
                Confidence::Assumed { .. } => None,
            },
        }
    }
}

impl Estimate {
    fn new(estimate: &advise::Estimate) -> Self {
        Estimate {
            filter: estimate.filter.to_string(),
            fpr: estimate.fpr,
            fnr: estimate.fnr,
            cost: estimate.cost,
        }
    }
}

impl From<Preference> for advise::Preference {
    fn from(preference: Preference) -> Self {
        match preference {
            Preference::Balanced => advise::Preference::Balanced,
            Preference::NoDrops => advise::Preference::NoDrops,
            Preference::NoRepeats => advise::Preference::NoRepeats,
        }
    }
}

fn certainty(confidence: Confidence) -> &'static str {
    match confidence {
        Confidence::Assumed { .. } => {
            "the log is too short to measure this; it follows from theory"
        }
        Confidence::Measured {
            ahead,
            standard_error,
            ..
        } if ahead > 2.0 * standard_error => "it was the best of those tried",
        Confidence::Measured {
            ahead,
            standard_error,
            ..
        } if ahead > standard_error => "it was probably the best of those tried",
        Confidence::Measured { .. } => "the second may be as good",
    }
}
