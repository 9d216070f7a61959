//! Watches a small filter: how each key changes its cells, and why verdicts are wrong.
//!
//! Every cell is compared before and after each key, so a filter need only describe its
//! [layout](crate::filter::CellLayout) and its [evidence](crate::filter::Evidence). The time per
//! key is proportional to the number of cells, so the filter must be small.

mod reason;

use std::collections::{HashMap, VecDeque};
use std::hash::BuildHasherDefault;
use std::sync::Arc;

pub use reason::Reason;

use super::window_truth::WindowTruth;
use crate::filter::{CellLayout, Evidence, FilterSpec, Observation, Requirement, Verdict};
use crate::fingerprint::{Fingerprint, IdentityHasher};
use crate::seen_set::{CreateError, SeenSet, SeenSetBuilder};

/// The number of latest keys that are kept.
const RECENT_KEYS: usize = 40;
/// The number of latest mistakes of each kind that are kept.
const KEPT_MISTAKES: usize = 100;
/// The number of bytes of a key that are kept for display.
const KEPT_KEY_BYTES: usize = 240;
/// The greatest number of cells that can be watched.
pub const MAX_CELLS: u64 = 1 << 16;

/// A key and the verdict about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObservedKey {
    /// Its position in the stream, from 1.
    pub position: u64,
    /// Its first bytes.
    pub key: Vec<u8>,
    /// Its fingerprint.
    pub fingerprint: Fingerprint,
    /// The verdict of the filter.
    pub verdict: Verdict,
    /// Whether it is the first occurrence of the key. For a filter with a window: whether the
    /// filter had not delivered the key within its span.
    pub is_first: bool,
}

/// A wrong verdict.
#[derive(Clone, Debug)]
pub struct Mistake {
    /// The key.
    pub observed: Arc<ObservedKey>,
    /// Why the verdict was wrong.
    pub reason: Reason,
}

/// The wrong verdicts of one kind: their number, and the latest.
#[derive(Clone, Debug, Default)]
pub struct Mistakes {
    count: u64,
    latest: VecDeque<Mistake>,
}

impl Mistakes {
    /// The number of all wrong verdicts.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The kept mistakes, latest first.
    pub fn latest(&self) -> impl Iterator<Item = &Mistake> {
        self.latest.iter().rev()
    }

    fn push(&mut self, mistake: Mistake) {
        self.count += 1;
        push_bounded(&mut self.latest, mistake, KEPT_MISTAKES);
    }
}

/// A cell and its latest changes.
#[derive(Clone, Debug, Default)]
pub struct WatchedCell {
    /// Its value.
    pub value: u64,
    /// The position in the stream of its last change, from 1; 0 if it never changed.
    pub changed_at: u64,
    /// The position at which its value was last lost: lowered, cleared or overwritten, not moved
    /// to another cell; 0 if none was.
    pub lost_at: u64,
    /// The latest occurrence of the key that wrote its value. It moves with the value.
    pub written_by: Option<Arc<ObservedKey>>,
}

/// What is known about an earlier occurrence of a key.
#[derive(Clone, Copy, Debug)]
struct Earlier {
    position: u64,
    /// The filter reported the key as Seen right after this occurrence.
    was_held: bool,
    /// The key has changed the state; its verdict did not rest on cells of other keys alone.
    was_stored: bool,
}

/// Why a filter cannot be watched.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InsideError {
    /// The filter cannot be created.
    #[error(transparent)]
    Create(#[from] CreateError),
    /// The filter has too many cells.
    #[error(
        "a filter of {cells} cells is too large to watch; choose a memory with at most {MAX_CELLS} cells"
    )]
    TooManyCells {
        /// The number of its cells.
        cells: u64,
    },
}

/// A filter that is watched: its cells and its mistakes.
#[derive(Debug)]
pub struct Inside {
    set: SeenSet,
    layout: CellLayout,
    position: u64,
    cells: Vec<WatchedCell>,
    /// The region when the cells were last compared.
    region: Vec<u8>,
    earlier: HashMap<u64, Earlier, BuildHasherDefault<IdentityHasher>>,
    /// The truth of a filter with a window.
    window: Option<WindowTruth>,
    /// The number of observations with `is_first`.
    distinct: u64,
    recent: VecDeque<Arc<ObservedKey>>,
    dropped: Mistakes,
    missed: Mistakes,
}

impl Inside {
    /// Creates an empty filter to watch.
    pub fn new(spec: &FilterSpec, memory_bits: u64, seed: u64) -> Result<Self, InsideError> {
        let set = SeenSetBuilder::new(spec)
            .memory_bits(memory_bits)
            .seed(seed)
            .build()?;
        let count = set.filter().cells();
        if count > MAX_CELLS {
            return Err(InsideError::TooManyCells { cells: count });
        }
        let window = set.filter().window().copied().map(WindowTruth::new);
        Ok(Inside {
            layout: set.filter().cell_layout(),
            position: 0,
            cells: vec![WatchedCell::default(); count as usize],
            region: set.region().to_vec(),
            set,
            earlier: HashMap::default(),
            window,
            distinct: 0,
            recent: VecDeque::new(),
            dropped: Mistakes::default(),
            missed: Mistakes::default(),
        })
    }

    /// Observes a key. Its time is its position in the stream, from 0.
    pub fn push_key(&mut self, key: &[u8]) {
        self.push_weighted(key, 0);
    }

    /// Observes a key with its importance. Its time is its position in the stream, from 0.
    pub fn push_weighted(&mut self, key: &[u8], importance: u16) {
        let tick = u32::try_from(self.position).unwrap_or(u32::MAX);
        self.push_observation(key, tick, importance);
    }

    /// Observes a key with its time.
    pub fn push_key_at(&mut self, key: &[u8], tick: u32) {
        self.push_observation(key, tick, 0);
    }

    fn push_observation(&mut self, key: &[u8], tick: u32, importance: u16) {
        let fingerprint = self.set.hasher().fingerprint(key);
        let before = self.evidence_at(fingerprint, tick);
        let verdict = self.set.observe_one(Observation {
            tick,
            importance,
            ..fingerprint.into()
        });
        self.position += 1;
        let earlier = self.earlier.get(&fingerprint.0).copied();
        let is_first = match &mut self.window {
            Some(window) => window.is_new(fingerprint.0, tick, verdict),
            None => earlier.is_none(),
        };
        self.distinct += u64::from(is_first);
        let observed = Arc::new(ObservedKey {
            position: self.position,
            key: key[..key.len().min(KEPT_KEY_BYTES)].to_vec(),
            fingerprint,
            verdict,
            is_first,
        });
        match (verdict, earlier) {
            (Verdict::Seen, _) if is_first => self.dropped.push(Mistake {
                reason: self.why_dropped(&before),
                observed: observed.clone(),
            }),
            (Verdict::New, Some(earlier)) if !is_first => self.missed.push(Mistake {
                reason: self.why_missed(&before, earlier),
                observed: observed.clone(),
            }),
            _ => {}
        }
        self.compare_cells(&observed, before.required);
        self.remember(&observed, earlier);
        push_bounded(&mut self.recent, observed, RECENT_KEYS);
    }

    fn why_dropped(&self, before: &Evidence) -> Reason {
        match before.required {
            _ if before.verdict() == Verdict::New => Reason::Random,
            required => match required.fingerprint() {
                Some(value) => Reason::SameValue {
                    value,
                    other: self.written_by(before),
                    position: self.position,
                },
                None => Reason::SetByOthers {
                    cells: before.closest().map_or(0, |(_, of)| of),
                },
            },
        }
    }

    /// Returns the key that wrote the matching value.
    fn written_by(&self, evidence: &Evidence) -> Option<Arc<ObservedKey>> {
        let cell = evidence.proof()?.first()?;
        self.cells[cell.index as usize].written_by.clone()
    }

    fn why_missed(&self, before: &Evidence, earlier: Earlier) -> Reason {
        let lines = self.position - earlier.position;
        let (lacking, of) = before.closest().unwrap_or((0, 0));
        match before.required {
            _ if !earlier.was_held => Reason::NotKept { lines },
            _ if !earlier.was_stored => Reason::NeverStored { lines },
            Requirement::InWindow(_) if lacking == 0 => Reason::CellsOverwritten { lines },
            Requirement::NonZero | Requirement::InWindow(_) => {
                Reason::CellsLost { lacking, of, lines }
            }
            _ => Reason::ValueLost { lines },
        }
    }

    fn compare_cells(&mut self, observed: &Arc<ObservedKey>, required: Requirement) {
        if self.region == self.set.region() {
            return;
        }
        self.region.copy_from_slice(self.set.region());
        let values = self.set.filter().cell_values(&self.region);
        let pairs = self.cells.iter().zip(&values).enumerate();
        let changed = pairs.filter(|(_, (cell, value))| cell.value != **value);
        let changed: Vec<(usize, WatchedCell)> =
            changed.map(|(i, (cell, _))| (i, cell.clone())).collect();
        for (i, old) in &changed {
            let value = values[*i];
            // The cell that the value moved from, if any; and whether the old value moved away.
            let source = changed.iter().find(|(_, other)| other.value == value);
            let moved_away = changed.iter().any(|(other, _)| values[*other] == old.value);
            let (written_by, is_loss) = match (required, source) {
                (Requirement::InWindow(_), _) => (Some(observed.clone()), value == 0),
                (Requirement::NonZero, _) if value < old.value => (old.written_by.clone(), true),
                (Requirement::NonZero, _) => (Some(observed.clone()), false),
                (_, Some((_, source))) => (source.written_by.clone(), !moved_away),
                (_, None) => (Some(observed.clone()), !moved_away),
            };
            let is_loss = is_loss && old.value > 0;
            self.cells[*i] = WatchedCell {
                value,
                changed_at: observed.position,
                lost_at: if is_loss {
                    observed.position
                } else {
                    old.lost_at
                },
                written_by: written_by.filter(|_| value > 0),
            };
        }
    }

    fn remember(&mut self, observed: &Arc<ObservedKey>, earlier: Option<Earlier>) {
        let after = self.evidence(observed.fingerprint);
        let is_new = observed.verdict == Verdict::New;
        let is_stored = is_new || !self.set.filter().seen_leaves_state_unchanged();
        let now = Earlier {
            position: self.position,
            was_held: after.verdict() == Verdict::Seen,
            was_stored: is_stored || earlier.is_some_and(|earlier| earlier.was_stored),
        };
        self.earlier.insert(observed.fingerprint.0, now);
        // A value may overwrite an equal value of another row, which is no change of the cell. If
        // a repeat renews its value, the latest occurrence counts.
        if let (Some(_), Some([cell])) = (after.required.fingerprint(), after.proof()) {
            let written_by = &mut self.cells[cell.index as usize].written_by;
            let is_own = |key: &Arc<ObservedKey>| key.fingerprint == observed.fingerprint;
            if is_new || (is_stored && written_by.as_ref().is_some_and(is_own)) {
                *written_by = Some(observed.clone());
            }
        }
    }

    /// The filter that is watched.
    pub fn set(&self) -> &SeenSet {
        &self.set
    }

    /// The layout of its cells.
    pub fn cell_layout(&self) -> &CellLayout {
        &self.layout
    }

    /// The number of observed keys.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// The number of distinct keys. For a filter with a window: of occurrences of keys that it had
    /// not delivered within its span.
    pub fn distinct(&self) -> u64 {
        self.distinct
    }

    /// The cells in their present state.
    pub fn cells(&self) -> &[WatchedCell] {
        &self.cells
    }

    /// The latest keys, latest first.
    pub fn recent(&self) -> impl Iterator<Item = &Arc<ObservedKey>> {
        self.recent.iter().rev()
    }

    /// False positives: new keys reported Seen.
    pub fn dropped(&self) -> &Mistakes {
        &self.dropped
    }

    /// False negatives: repeats reported New.
    pub fn missed(&self) -> &Mistakes {
        &self.missed
    }

    /// Returns the cells that decide about a key at a time.
    fn evidence_at(&self, fingerprint: Fingerprint, tick: u32) -> Evidence {
        let (filter, registers) = (self.set.filter(), self.set.registers());
        filter.evidence_at(self.set.region(), registers, fingerprint, tick)
    }

    /// Returns the cells that decide about a key now.
    pub fn evidence(&self, fingerprint: Fingerprint) -> Evidence {
        self.set
            .filter()
            .evidence(self.set.region(), self.set.registers(), fingerprint)
    }
}

fn push_bounded<T>(queue: &mut VecDeque<T>, item: T, max: usize) {
    if queue.len() == max {
        queue.pop_front();
    }
    queue.push_back(item);
}
