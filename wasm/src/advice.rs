//! Advice for a log: the same as `dedupstore advise LOG`.

use dedupstore::advise::{self, Confidence, Question, Sample};
use dedupstore::lab::Truth;
use serde::{Deserialize, Serialize};
use tsify::{Ts, Tsify};
use wasm_bindgen::prelude::*;

use crate::js_error;
use crate::key_choice::{KeyChoice, KeySpec};
use crate::line_feed::{KeyedLine, LineFeed};
use crate::log_part::LogPart;
use crate::setting_error::create_error;

/// The seed of the fingerprints. It selects the keys of the sample; the command line uses
/// the same.
const SEED: u64 = 0;

/// Reads a log and recommends a filter for it.
#[wasm_bindgen]
pub struct Adviser {
    feed: LineFeed,
    truth: Truth,
    sample: Sample,
}

/// What a filter must achieve. Rates are shares, not percentages.
#[derive(Deserialize, Tsify)]
#[serde(rename_all = "camelCase")]
#[tsify(missing_as_null)]
pub struct AdviceRequirements {
    /// The memory of the filter.
    pub memory_bits: f64,
    /// The highest acceptable FPR; null for any.
    pub max_fpr: Option<f64>,
    /// The highest acceptable FNR; null for any.
    pub max_fnr: Option<f64>,
    /// The cost of a false positive.
    pub cost_fp: f64,
    /// The cost of a false negative.
    pub cost_fn: f64,
    /// Which errors to avoid.
    pub prefer: Preference,
}

/// Which errors to avoid, in the words of the command line.
#[derive(Clone, Copy, Deserialize, Tsify)]
#[serde(rename_all = "kebab-case")]
pub enum Preference {
    /// Compare by cost.
    Balanced,
    /// Avoid false positives.
    NoDrops,
    /// Avoid false negatives.
    NoRepeats,
}

/// A recommendation.
#[derive(Serialize, Tsify)]
#[serde(rename_all = "camelCase")]
#[tsify(missing_as_null)]
pub struct Advice {
    /// The recommended filter, then the runners-up, best first.
    pub estimates: Vec<Estimate>,
    /// Whether the recommended filter is expected to meet the requirements.
    pub keeps_bounds: bool,
    /// Why it is recommended: a clause without a full stop.
    pub reason: String,
    /// A note on the filters of the papers; null if there is none.
    pub papers: Option<String>,
    /// How certain the recommendation is: a clause without a full stop.
    pub certainty: &'static str,
    /// The number of lines on which the filters were tried; null if only formulas were used.
    pub observations: Option<u64>,
}

/// What to expect of a filter.
#[derive(Serialize, Tsify)]
pub struct Estimate {
    /// The filter in its text form.
    pub filter: String,
    /// The expected FPR.
    pub fpr: f64,
    /// The expected FNR.
    pub fnr: f64,
    /// The expected cost of errors per line.
    pub cost: f64,
}

#[wasm_bindgen]
impl Adviser {
    /// Creates an adviser for a part of a log.
    #[wasm_bindgen(constructor)]
    pub fn new(key: Ts<KeySpec>, part: Ts<LogPart>) -> Result<Adviser, JsError> {
        let key = KeyChoice::new(&key.to_rust()?).map_err(js_error)?;
        Ok(Adviser {
            feed: LineFeed::new(&key, SEED, part.to_rust()?.into()),
            truth: Truth::for_fingerprints(),
            sample: Sample::default(),
        })
    }

    /// Reads the next bytes of the log.
    pub fn feed(&mut self, chunk: &[u8]) -> Result<(), JsError> {
        let (truth, sample) = (&mut self.truth, &mut self.sample);
        Ok(self
            .feed
            .feed(chunk, |keyed| record(truth, sample, &keyed))?)
    }

    /// Ends the log. Text after the last newline is a line too.
    pub fn finish(&mut self) {
        let (truth, sample) = (&mut self.truth, &mut self.sample);
        self.feed.finish(|keyed| record(truth, sample, &keyed));
    }

    /// Whether the requested part of the log has been read.
    #[wasm_bindgen(getter, js_name = isComplete)]
    pub fn is_complete(&self) -> bool {
        self.feed.is_complete()
    }

    /// Lines with a key.
    #[wasm_bindgen(getter)]
    pub fn count(&self) -> f64 {
        self.sample.stream_count() as f64
    }

    /// Lines read so far that have no key.
    #[wasm_bindgen(getter, js_name = linesWithoutKey)]
    pub fn lines_without_key(&self) -> f64 {
        self.feed.lines_without_key() as f64
    }

    /// Tries filters on a sample of the log and recommends one.
    pub fn advise(&self, requirements: Ts<AdviceRequirements>) -> Result<Ts<Advice>, JsError> {
        let requirements = requirements.to_rust()?;
        let distinct = self.truth.distinct() * self.feed.sampling().one_key_in();
        let question = Question {
            distinct: Some(distinct),
            max_fpr: requirements.max_fpr,
            max_fnr: requirements.max_fnr,
            cost_fp: requirements.cost_fp,
            cost_fn: requirements.cost_fn,
            preference: requirements.prefer.into(),
            sample: Some(&self.sample),
            ..Question::of_memory(requirements.memory_bits as u64)
        };
        let advice = advise::advise(&question).map_err(|error| js_error(create_error(&error)))?;
        Ok(Advice::new(advice).into_ts()?)
    }
}

fn record(truth: &mut Truth, sample: &mut Sample, keyed: &KeyedLine<'_>) {
    truth.is_first(keyed.fingerprint.0);
    sample.record(keyed.fingerprint);
}

impl Advice {
    fn new(advice: advise::Advice) -> Self {
        let all = std::iter::once(&advice.choice).chain(&advice.runners_up);
        Advice {
            estimates: all.map(Estimate::new).collect(),
            keeps_bounds: advice.keeps_bounds,
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
