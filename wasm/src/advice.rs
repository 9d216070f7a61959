//! The adviser over a log that comes in chunks: what `dedupstore advise LOG` does.

use dedupstore::advise::{self, Estimate, Preference, Question, Sample, Sureness};
use dedupstore::lab::Truth;
use wasm_bindgen::prelude::*;

use crate::key::KeyChoice;
use crate::line_feed::{Keyed, LineFeed};
use crate::sampling::LogPart;

/// The seed of the fingerprints, as on the command line: it decides which keys are sampled.
const SEED: u64 = 0;

/// A log as far as an adviser knows it.
#[wasm_bindgen]
pub struct Adviser {
    feed: LineFeed,
    truth: Truth,
    sample: Sample,
}

#[wasm_bindgen]
impl Adviser {
    /// Knows nothing yet.
    #[wasm_bindgen(constructor)]
    pub fn new(key: &KeyChoice, part: &LogPart) -> Adviser {
        Adviser {
            feed: LineFeed::new(key, SEED, part.sampling),
            truth: Truth::for_fingerprints(),
            sample: Sample::default(),
        }
    }

    /// The next bytes of the log.
    pub fn feed(&mut self, chunk: &[u8]) -> Result<(), JsError> {
        let (truth, sample) = (&mut self.truth, &mut self.sample);
        Ok(self.feed.feed(chunk, |keyed| meet(truth, sample, &keyed))?)
    }

    /// The log has ended.
    pub fn finish(&mut self) {
        let (truth, sample) = (&mut self.truth, &mut self.sample);
        self.feed.finish(|keyed| meet(truth, sample, &keyed));
    }

    /// Whether no more of the log is wanted.
    #[wasm_bindgen(getter, js_name = isOver)]
    pub fn is_over(&self) -> bool {
        self.feed.is_over()
    }

    /// How many keys there are to go by.
    #[wasm_bindgen(getter)]
    pub fn count(&self) -> f64 {
        self.sample.stream_count() as f64
    }

    /// Lines left out, for want of a key.
    #[wasm_bindgen(getter, js_name = withoutKey)]
    pub fn without_key(&self) -> f64 {
        self.feed.without_key() as f64
    }

    /// The answer for a memory and what is wanted of it.
    pub fn advise(&self, wish: &Wish) -> Result<AdviceGiven, JsError> {
        let distinct = self.truth.distinct() * self.feed.sampling().one_key_in();
        let question = Question {
            distinct: Some(wish.expect.map_or(distinct, |expected| expected as u64)),
            max_fpr: wish.max_fpr,
            max_fnr: wish.max_fnr,
            cost_fp: wish.cost_fp,
            cost_fn: wish.cost_fn,
            preference: wish.preference,
            sample: Some(&self.sample),
            ..Question::of_memory(wish.memory_bits)
        };
        let advice = advise::advise(&question)?;
        let all = std::iter::once(&advice.choice).chain(&advice.runners_up);
        Ok(AdviceGiven {
            estimates: all.map(EstimateGiven::of).collect(),
            keeps_bounds: advice.keeps_bounds,
            reason: advice.reason,
            papers: advice.papers,
            sureness: in_words(advice.sureness).to_owned(),
            observations: match advice.sureness {
                Sureness::Measured { observations, .. } => Some(observations as f64),
                Sureness::Assumed { .. } => None,
            },
            distinct: distinct as f64,
            least_fpr: advice.least_fpr,
        })
    }
}

fn meet(truth: &mut Truth, sample: &mut Sample, keyed: &Keyed<'_>) {
    truth.is_first(keyed.fingerprint.0);
    sample.record(keyed.fingerprint);
}

/// How far a choice is to be trusted, in words.
fn in_words(sureness: Sureness) -> &'static str {
    match sureness {
        Sureness::Assumed { .. } => "the log says too little to measure it; theory says so",
        Sureness::Measured {
            ahead,
            standard_error,
            ..
        } if ahead > 2.0 * standard_error => "it is the best of those tried",
        Sureness::Measured {
            ahead,
            standard_error,
            ..
        } if ahead > standard_error => "it is probably the best of those tried",
        Sureness::Measured { .. } => "the next one may be as good",
    }
}

/// What an adviser is asked.
#[wasm_bindgen]
pub struct Wish {
    memory_bits: u64,
    expect: Option<f64>,
    max_fpr: Option<f64>,
    max_fnr: Option<f64>,
    cost_fp: f64,
    cost_fn: f64,
    preference: Preference,
}

#[wasm_bindgen]
impl Wish {
    /// The preference is one of the command line's words: balanced, no-drops, no-repeats.
    #[wasm_bindgen(constructor)]
    pub fn new(memory_bits: f64, preference: &str) -> Result<Wish, JsError> {
        let known = Preference::NAMES
            .iter()
            .find(|(name, _)| *name == preference);
        let Some((_, preference)) = known else {
            let names = Preference::NAMES.map(|(name, _)| name).join(", ");
            return Err(JsError::new(&format!(
                "expected one of {names}; found `{preference}`"
            )));
        };
        Ok(Wish {
            memory_bits: memory_bits as u64,
            expect: None,
            max_fpr: None,
            max_fnr: None,
            cost_fp: 1.0,
            cost_fn: 1.0,
            preference: *preference,
        })
    }

    /// How many distinct keys will come, where that is not as many as the log has.
    pub fn expect(&mut self, distinct: f64) {
        self.expect = Some(distinct);
    }

    /// The most of the new keys that may be dropped, and of the repeats that may pass.
    pub fn bear(&mut self, max_fpr: Option<f64>, max_fnr: Option<f64>) {
        self.max_fpr = max_fpr;
        self.max_fnr = max_fnr;
    }

    /// What a dropped new key costs, and a repeat that passes.
    pub fn costs(&mut self, cost_fp: f64, cost_fn: f64) {
        self.cost_fp = cost_fp;
        self.cost_fn = cost_fn;
    }
}

/// What an adviser answers.
#[wasm_bindgen(getter_with_clone)]
pub struct AdviceGiven {
    /// The choice, and after it the runners-up, best first.
    #[wasm_bindgen(readonly)]
    pub estimates: Vec<EstimateGiven>,
    /// Whether the bounds asked for are kept, as far as can be told.
    #[wasm_bindgen(readonly, js_name = keepsBounds)]
    pub keeps_bounds: bool,
    /// Why, in one sentence.
    #[wasm_bindgen(readonly)]
    pub reason: String,
    /// What there is to say of the papers' filters.
    #[wasm_bindgen(readonly)]
    pub papers: Option<String>,
    /// How sure it is, in words.
    #[wasm_bindgen(readonly)]
    pub sureness: String,
    /// Over how many lines the filters were tried, if they were.
    #[wasm_bindgen(readonly)]
    pub observations: Option<f64>,
    /// Distinct keys of the log.
    #[wasm_bindgen(readonly)]
    pub distinct: f64,
    /// The least FPR of any filter that misses no repeat.
    #[wasm_bindgen(readonly, js_name = leastFpr)]
    pub least_fpr: Option<f64>,
}

/// What is expected of a filter.
#[wasm_bindgen(getter_with_clone)]
#[derive(Clone)]
pub struct EstimateGiven {
    /// Its text form.
    #[wasm_bindgen(readonly)]
    pub filter: String,
    /// New keys dropped, as a share of them.
    #[wasm_bindgen(readonly)]
    pub fpr: f64,
    /// Repeats missed, as a share of them.
    #[wasm_bindgen(readonly)]
    pub fnr: f64,
    /// What its errors cost a line.
    #[wasm_bindgen(readonly)]
    pub cost: f64,
}

impl EstimateGiven {
    fn of(estimate: &Estimate) -> Self {
        EstimateGiven {
            filter: estimate.filter.to_string(),
            fpr: estimate.fpr,
            fnr: estimate.fnr,
            cost: estimate.cost,
        }
    }
}
