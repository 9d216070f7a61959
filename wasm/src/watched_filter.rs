//! A small filter that the page shows cell by cell: its cells, the cells of a key, and its
//! mistakes.

use std::collections::VecDeque;

use dedupstore::filter::EvidenceCell;
use dedupstore::lab::{self, Mistakes};
use dedupstore::{Fingerprint, Verdict};
use js_sys::{BigUint64Array, Float64Array};
use serde::Serialize;
use serde_wasm_bindgen::preserve;
use tsify::{Ts, Tsify};
use wasm_bindgen::prelude::*;

use crate::js_error;
use crate::key_choice::{KeyChoice, KeySpec};
use crate::line_feed::LineFeed;
use crate::log_part::LogPart;
use crate::setting_error::inside_error;

/// A small filter whose cells and mistakes are recorded line by line.
#[wasm_bindgen]
pub struct WatchedFilter {
    inside: lab::Inside,
    lines: LineFeed,
    /// Keys that were read and not observed yet, with their importance.
    pending: VecDeque<(Vec<u8>, u16)>,
}

/// The state of a watched filter. Positions count lines from 1.
#[derive(Serialize, Tsify)]
#[serde(rename_all = "camelCase")]
#[tsify(missing_as_null)]
pub struct WatchedState {
    /// Lines observed.
    pub position: u64,
    /// Distinct keys among them.
    pub distinct: u64,
    /// The share of cells in use.
    pub load: f64,
    /// How the cells are laid out.
    pub cells: CellLayout,
    /// The value of each cell.
    #[serde(with = "preserve")]
    #[tsify(type = "BigUint64Array")]
    pub values: BigUint64Array,
    /// The position of the key that wrote each cell's value; 0 if the cell is empty.
    #[serde(with = "preserve")]
    #[tsify(type = "Float64Array")]
    pub written_at: Float64Array,
    /// The position at which each cell last lost a value; 0 if it never did.
    #[serde(with = "preserve")]
    #[tsify(type = "Float64Array")]
    pub lost_at: Float64Array,
    /// The latest keys, newest first.
    pub recent: Vec<ObservedKey>,
    /// New keys reported Seen.
    pub false_positives: MistakeList,
    /// Repeats reported New.
    pub false_negatives: MistakeList,
    /// The cells of the selected key; null if none is selected.
    pub selected: Option<KeyEvidence>,
}

/// How the cells of a filter are laid out.
#[derive(Serialize, Tsify)]
#[serde(rename_all = "camelCase")]
pub struct CellLayout {
    /// The name of a cell: "bit".
    pub name: &'static str,
    /// The number of cells that belong together.
    pub row_cells: u64,
    /// The largest value of a cell.
    pub max_value: f64,
}

/// A key that was observed.
#[derive(Serialize, Tsify)]
#[serde(rename_all = "camelCase")]
pub struct ObservedKey {
    /// Identifies the key in calls.
    pub id: String,
    /// The key, cut if it is long.
    pub key: String,
    /// Its position in the log.
    pub position: u64,
    /// The filter's verdict.
    #[tsify(type = "'new' | 'seen'")]
    pub verdict: &'static str,
    /// Whether the verdict is correct.
    pub is_correct: bool,
}

/// The wrong verdicts of one kind.
#[derive(Serialize, Tsify)]
pub struct MistakeList {
    /// The number of all mistakes.
    pub count: u64,
    /// The latest ones, newest first.
    pub latest: Vec<Mistake>,
}

/// A wrong verdict.
#[derive(Serialize, Tsify)]
pub struct Mistake {
    /// The key.
    pub observed: ObservedKey,
    /// Why the filter was wrong, in words.
    pub reason: String,
}

/// What the filter holds of a key.
#[derive(Serialize, Tsify)]
#[tsify(missing_as_null)]
pub struct KeyEvidence {
    /// Identifies the key in calls.
    pub id: String,
    /// The verdict if the key came now.
    #[tsify(type = "'new' | 'seen'")]
    pub verdict: &'static str,
    /// Why, in words.
    pub reason: String,
    /// The cells that the filter checks for this key.
    pub cells: Vec<CellDetails>,
}

/// One cell.
#[derive(Serialize, Tsify)]
#[serde(rename_all = "camelCase")]
#[tsify(missing_as_null)]
pub struct CellDetails {
    /// The number of the cell.
    pub index: u64,
    /// The value in words.
    pub value: String,
    /// Whether the value matches the key.
    pub matches: bool,
    /// The position of the last change; 0 if the cell never changed.
    pub changed_at: u64,
    /// The key that wrote the value; null if the cell is empty.
    pub written_by: Option<String>,
}

#[wasm_bindgen]
impl WatchedFilter {
    /// Creates an empty filter from its text form. The error is a sentence for the page's
    /// user.
    #[wasm_bindgen(constructor)]
    pub fn new(
        filter: &str,
        memory_bits: f64,
        seed: f64,
        key: Ts<KeySpec>,
        part: Ts<LogPart>,
    ) -> Result<WatchedFilter, JsError> {
        let key = KeyChoice::new(&key.to_rust()?).map_err(js_error)?;
        let inside = lab::Inside::new(&filter.parse()?, memory_bits as u64, seed as u64);
        Ok(WatchedFilter {
            inside: inside.map_err(|error| js_error(inside_error(&error)))?,
            lines: LineFeed::new(&key, seed as u64, part.to_rust()?.into()),
            pending: VecDeque::new(),
        })
    }

    /// Reads the next bytes of the log. Their keys become pending.
    pub fn feed(&mut self, chunk: &[u8]) -> Result<(), JsError> {
        let pending = &mut self.pending;
        Ok(self
            .lines
            .feed(chunk, |keyed| pending.push_back(keyed.owned()))?)
    }

    /// Ends the log. Text after the last newline is a line too.
    pub fn finish(&mut self) {
        let pending = &mut self.pending;
        self.lines.finish(|keyed| pending.push_back(keyed.owned()));
    }

    /// Whether the requested part of the log has been read.
    #[wasm_bindgen(getter, js_name = isComplete)]
    pub fn is_complete(&self) -> bool {
        self.lines.is_complete()
    }

    /// Lines read so far that have no key.
    #[wasm_bindgen(getter, js_name = linesWithoutKey)]
    pub fn lines_without_key(&self) -> f64 {
        self.lines.lines_without_key() as f64
    }

    /// Observes up to `limit` pending keys; returns how many.
    pub fn advance(&mut self, limit: u32) -> u32 {
        let mut observed = 0;
        while observed < limit {
            let Some((key, importance)) = self.pending.pop_front() else {
                break;
            };
            self.inside.push_weighted(&key, importance);
            observed += 1;
        }
        observed
    }

    /// Lines observed.
    #[wasm_bindgen(getter)]
    pub fn position(&self) -> f64 {
        self.inside.position() as f64
    }

    /// Returns the state, with up to `recent` of the latest keys. `selected` is the id of a
    /// key.
    pub fn state(
        &self,
        recent: usize,
        selected: Option<String>,
    ) -> Result<Ts<WatchedState>, JsError> {
        let inside = &self.inside;
        let layout = inside.cell_layout();
        let cells = inside.cells();
        let values: Vec<u64> = cells.iter().map(|cell| cell.value).collect();
        let position = |key: &lab::ObservedKey| key.position as f64;
        let written_at: Vec<f64> = cells
            .iter()
            .map(|cell| cell.written_by.as_deref().map_or(0.0, position))
            .collect();
        let lost_at: Vec<f64> = cells.iter().map(|cell| cell.lost_at as f64).collect();
        let state = WatchedState {
            position: inside.position(),
            distinct: inside.distinct(),
            load: inside.set().load(),
            cells: CellLayout {
                name: layout.cell,
                row_cells: layout.row_cells,
                max_value: layout.max_value as f64,
            },
            values: BigUint64Array::from(&values[..]),
            written_at: Float64Array::from(&written_at[..]),
            lost_at: Float64Array::from(&lost_at[..]),
            recent: inside
                .recent()
                .take(recent)
                .map(|observed| ObservedKey::new(observed, &self.lines))
                .collect(),
            false_positives: self.mistakes(inside.dropped()),
            false_negatives: self.mistakes(inside.missed()),
            selected: selected.map(|id| self.evidence(id)).transpose()?,
        };
        Ok(state.into_ts()?)
    }

    /// Returns one cell; undefined if there is no such cell.
    #[wasm_bindgen(js_name = cellDetails)]
    pub fn cell_details(&self, index: usize) -> Result<Option<Ts<CellDetails>>, JsError> {
        let cell = self.inside.cells().get(index);
        let details = cell.map(|cell| self.details(index as u64, cell.value, cell.value > 0));
        Ok(details.map(|it| it.into_ts()).transpose()?)
    }
}

impl WatchedFilter {
    fn evidence(&self, id: String) -> Result<KeyEvidence, JsError> {
        let evidence = self
            .inside
            .evidence(Fingerprint(u64::from_str_radix(&id, 16)?));
        let details = |cell: &EvidenceCell| {
            self.details(
                cell.index,
                cell.value,
                evidence.required.is_met_by(cell.value),
            )
        };
        Ok(KeyEvidence {
            id,
            verdict: verdict_name(evidence.verdict()),
            reason: evidence.in_words(self.inside.cell_layout()),
            cells: evidence.cells().map(details).collect(),
        })
    }

    fn details(&self, index: u64, value: u64, matches: bool) -> CellDetails {
        let watched = &self.inside.cells()[index as usize];
        CellDetails {
            index,
            value: self.inside.cell_layout().value_in_words(value),
            matches,
            changed_at: watched.changed_at,
            written_by: watched
                .written_by
                .as_deref()
                .map(|key| self.lines.shown_key(&key.key)),
        }
    }

    fn mistakes(&self, mistakes: &Mistakes) -> MistakeList {
        let latest = mistakes.latest().map(|mistake| Mistake {
            observed: ObservedKey::new(&mistake.observed, &self.lines),
            reason: mistake.reason.in_words(self.inside.cell_layout()),
        });
        MistakeList {
            count: mistakes.count(),
            latest: latest.collect(),
        }
    }
}

impl ObservedKey {
    fn new(observed: &lab::ObservedKey, lines: &LineFeed) -> Self {
        ObservedKey {
            id: format!("{:016x}", observed.fingerprint.0),
            key: lines.shown_key(&observed.key),
            position: observed.position,
            verdict: verdict_name(observed.verdict),
            is_correct: observed.is_first == (observed.verdict == Verdict::New),
        }
    }
}

fn verdict_name(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::New => "new",
        Verdict::Seen => "seen",
    }
}
