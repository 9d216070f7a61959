//! A small filter behind glass: its cells, a key's cells, its mistakes.

use std::collections::VecDeque;

use dedupstore::filter::Place;
use dedupstore::lab::{self, Arrived, Mistakes};
use dedupstore::{Fingerprint, Verdict};
use wasm_bindgen::prelude::*;

use crate::key::{KeyChoice, shown};
use crate::line_feed::LineFeed;
use crate::sampling::LogPart;

/// A filter that is looked at line by line.
#[wasm_bindgen]
pub struct Inside {
    inside: lab::Inside,
    lines: LineFeed,
    /// Keys that were fed and have not come yet.
    waiting: VecDeque<Vec<u8>>,
}

#[wasm_bindgen]
impl Inside {
    /// An empty filter, by its text form. Fails with a sentence for people.
    #[wasm_bindgen(constructor)]
    pub fn new(
        filter: &str,
        memory_bits: f64,
        seed: f64,
        key: &KeyChoice,
        part: &LogPart,
    ) -> Result<Inside, JsError> {
        let spec = filter.parse()?;
        Ok(Inside {
            inside: lab::Inside::new(&spec, memory_bits as u64, seed as u64)?,
            lines: LineFeed::new(key, seed as u64, part.sampling),
            waiting: VecDeque::new(),
        })
    }

    /// The next bytes of the log; their keys wait.
    pub fn feed(&mut self, chunk: &[u8]) -> Result<(), JsError> {
        let waiting = &mut self.waiting;
        Ok(self
            .lines
            .feed(chunk, |keyed| waiting.push_back(keyed.key.to_vec()))?)
    }

    /// The log has ended: what follows the last newline is a line too.
    pub fn finish(&mut self) {
        let waiting = &mut self.waiting;
        self.lines
            .finish(|keyed| waiting.push_back(keyed.key.to_vec()));
    }

    /// Whether no more of the log is wanted.
    #[wasm_bindgen(getter, js_name = isOver)]
    pub fn is_over(&self) -> bool {
        self.lines.is_over()
    }

    /// Lines left out so far, for want of a key.
    #[wasm_bindgen(getter, js_name = withoutKey)]
    pub fn without_key(&self) -> f64 {
        self.lines.without_key() as f64
    }

    /// Lets so many waiting keys come, or all there are; says how many came.
    pub fn advance(&mut self, most: u32) -> u32 {
        let mut came = 0;
        while came < most {
            let Some(key) = self.waiting.pop_front() else {
                break;
            };
            self.inside.push_key(&key);
            came += 1;
        }
        came
    }

    /// How many keys have come.
    #[wasm_bindgen(getter)]
    pub fn position(&self) -> f64 {
        self.inside.position() as f64
    }

    /// How many different ones.
    #[wasm_bindgen(getter)]
    pub fn distinct(&self) -> f64 {
        self.inside.distinct() as f64
    }

    /// The share of cells in use.
    #[wasm_bindgen(getter)]
    pub fn load(&self) -> f64 {
        self.inside.set().load()
    }

    /// What a cell is called.
    #[wasm_bindgen(getter)]
    pub fn cell(&self) -> String {
        self.inside.anatomy().cell.to_owned()
    }

    /// What cells that belong together are called.
    #[wasm_bindgen(getter)]
    pub fn row(&self) -> String {
        self.inside.anatomy().row.to_owned()
    }

    /// How many cells belong together.
    #[wasm_bindgen(getter, js_name = rowCells)]
    pub fn row_cells(&self) -> f64 {
        self.inside.anatomy().row_cells as f64
    }

    /// The largest value of a cell.
    #[wasm_bindgen(getter)]
    pub fn most(&self) -> u64 {
        self.inside.anatomy().most
    }

    /// What each cell holds.
    pub fn values(&self) -> Vec<u64> {
        self.inside.cells().iter().map(|cell| cell.value).collect()
    }

    /// Where in the stream each cell last lost something, counted from 1; 0 if it never did.
    #[wasm_bindgen(js_name = lostAt)]
    pub fn lost_at(&self) -> Vec<f64> {
        let cells = self.inside.cells().iter();
        cells.map(|cell| cell.lost_at as f64).collect()
    }

    /// Where the key came that left what each cell holds, counted from 1; 0 if it is empty.
    #[wasm_bindgen(js_name = leftAt)]
    pub fn left_at(&self) -> Vec<f64> {
        let position = |key: &Arrived| key.position as f64;
        let cells = self.inside.cells().iter();
        cells
            .map(|cell| cell.left_by.as_deref().map_or(0.0, position))
            .collect()
    }

    /// The latest keys, the last first.
    pub fn recent(&self, most: usize) -> Vec<ArrivedKey> {
        let recent = self.inside.recent().take(most);
        recent.map(|arrived| ArrivedKey::of(arrived)).collect()
    }

    /// New keys taken for repeats.
    #[wasm_bindgen(getter)]
    pub fn dropped(&self) -> f64 {
        self.inside.dropped().count() as f64
    }

    /// Repeats taken for new.
    #[wasm_bindgen(getter)]
    pub fn missed(&self) -> f64 {
        self.inside.missed().count() as f64
    }

    /// The latest of the new keys taken for repeats, the last first.
    #[wasm_bindgen(js_name = latestDropped)]
    pub fn latest_dropped(&self) -> Vec<MistakeRow> {
        self.latest(self.inside.dropped())
    }

    /// The latest of the repeats taken for new, the last first.
    #[wasm_bindgen(js_name = latestMissed)]
    pub fn latest_missed(&self) -> Vec<MistakeRow> {
        self.latest(self.inside.missed())
    }

    /// A cell in words: what it holds, since when, by whom.
    #[wasm_bindgen(js_name = cellLook)]
    pub fn cell_look(&self, index: usize) -> Option<CellLook> {
        let cell = self.inside.cells().get(index)?;
        Some(self.look_at_cell(index as u64, cell.value, cell.value > 0))
    }

    /// What decides about a key now, by its number as [`ArrivedKey`] has it.
    #[wasm_bindgen(js_name = lookAt)]
    pub fn look_at(&self, id: &str) -> Result<KeyLook, JsError> {
        let number = u64::from_str_radix(id, 16)?;
        let evidence = self.inside.evidence(Fingerprint(number));
        let cell = |cell: &Place| {
            self.look_at_cell(
                cell.index,
                cell.value,
                evidence.wanted.is_met_by(cell.value),
            )
        };
        Ok(KeyLook {
            verdict: in_a_word(evidence.verdict()).to_owned(),
            because: evidence.in_words(self.inside.anatomy()),
            cells: evidence.cells().map(cell).collect(),
        })
    }
}

impl Inside {
    fn look_at_cell(&self, index: u64, value: u64, is_met: bool) -> CellLook {
        let watched = &self.inside.cells()[index as usize];
        let left_by = watched.left_by.as_deref();
        CellLook {
            index: index as f64,
            value: self.inside.anatomy().value_in_words(value),
            is_met,
            changed_at: watched.changed_at as f64,
            left_at: left_by.map(|key| key.position as f64),
            left_by: left_by.map(|key| shown(&key.key)),
        }
    }

    fn latest(&self, mistakes: &Mistakes) -> Vec<MistakeRow> {
        let rows = mistakes.latest().map(|mistake| MistakeRow {
            arrived: ArrivedKey::of(&mistake.arrived),
            reason: mistake.reason.in_words(self.inside.anatomy()),
        });
        rows.collect()
    }
}

fn in_a_word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::New => "new",
        Verdict::Seen => "seen",
    }
}

/// A key that came.
#[wasm_bindgen(getter_with_clone)]
#[derive(Clone)]
pub struct ArrivedKey {
    /// What it is asked for by.
    #[wasm_bindgen(readonly)]
    pub id: String,
    /// For people; cut where it is long.
    #[wasm_bindgen(readonly)]
    pub key: String,
    /// Which in the stream, from 1.
    #[wasm_bindgen(readonly)]
    pub position: f64,
    /// What the filter said: `new` or `seen`.
    #[wasm_bindgen(readonly)]
    pub verdict: String,
    /// Whether that was right.
    #[wasm_bindgen(readonly, js_name = isRight)]
    pub is_right: bool,
}

impl ArrivedKey {
    fn of(arrived: &Arrived) -> Self {
        ArrivedKey {
            id: format!("{:016x}", arrived.fingerprint.0),
            key: shown(&arrived.key),
            position: arrived.position as f64,
            verdict: in_a_word(arrived.verdict).to_owned(),
            is_right: arrived.is_first == (arrived.verdict == Verdict::New),
        }
    }
}

/// A wrong verdict.
#[wasm_bindgen(getter_with_clone)]
pub struct MistakeRow {
    /// On which key.
    #[wasm_bindgen(readonly)]
    pub arrived: ArrivedKey,
    /// Why, in words.
    #[wasm_bindgen(readonly)]
    pub reason: String,
}

/// What decides about a key.
#[wasm_bindgen(getter_with_clone)]
pub struct KeyLook {
    /// What the filter would say now: `new` or `seen`.
    #[wasm_bindgen(readonly)]
    pub verdict: String,
    /// Why, in words.
    #[wasm_bindgen(readonly)]
    pub because: String,
    /// The cells looked at.
    #[wasm_bindgen(readonly)]
    pub cells: Vec<CellLook>,
}

/// A cell that is looked at for a key.
#[wasm_bindgen(getter_with_clone)]
#[derive(Clone)]
pub struct CellLook {
    /// Which of all.
    #[wasm_bindgen(readonly)]
    pub index: f64,
    /// What it holds.
    #[wasm_bindgen(readonly)]
    pub value: String,
    /// Whether that is what is wanted.
    #[wasm_bindgen(readonly, js_name = isMet)]
    pub is_met: bool,
    /// Where in the stream it changed last; 0 if it never did.
    #[wasm_bindgen(readonly, js_name = changedAt)]
    pub changed_at: f64,
    /// Where the key came that left what it holds.
    #[wasm_bindgen(readonly, js_name = leftAt)]
    pub left_at: Option<f64>,
    /// That key.
    #[wasm_bindgen(readonly, js_name = leftBy)]
    pub left_by: Option<String>,
}
