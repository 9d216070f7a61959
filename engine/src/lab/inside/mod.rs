//! A small filter behind glass: what each key does to its cells, and why it errs.
//!
//! Every cell is compared before and after a key comes, so any filter can be watched
//! without telling anything of itself but its [anatomy](crate::filter::Anatomy) and its
//! [evidence](crate::filter::Evidence). That takes time for every cell there is; the
//! filter is meant to be of a size that can be looked at.

mod reason;

use std::collections::{HashMap, VecDeque};
use std::hash::BuildHasherDefault;
use std::sync::Arc;

pub use reason::Reason;

use super::truth::AlreadyHashed;
use crate::filter::{Anatomy, Evidence, FilterSpec, Verdict, Wanted};
use crate::fingerprint::Fingerprint;
use crate::seen_set::{CreateError, SeenSet};

/// How many of the latest keys are kept for looking at.
const RECENT_KEYS: usize = 40;
/// How many of the latest mistakes of each kind are kept.
const KEPT_MISTAKES: usize = 100;
/// As much of a key as is kept for people.
const KEPT_KEY_BYTES: usize = 240;
/// More cells than this are not looked at one by one.
pub const MOST_CELLS: u64 = 1 << 16;

/// A key that came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arrived {
    /// Which in the stream, from 1.
    pub position: u64,
    /// Its first bytes.
    pub key: Vec<u8>,
    /// All of it, to the filter.
    pub fingerprint: Fingerprint,
    /// What the filter said.
    pub verdict: Verdict,
    /// Whether it really came for the first time.
    pub is_first: bool,
}

/// A wrong verdict.
#[derive(Clone, Debug)]
pub struct Mistake {
    /// On which key.
    pub arrived: Arc<Arrived>,
    /// How it came about.
    pub reason: Reason,
}

/// The wrong verdicts of a kind: how many, and the latest.
#[derive(Clone, Debug, Default)]
pub struct Mistakes {
    count: u64,
    latest: VecDeque<Mistake>,
}

impl Mistakes {
    /// All there were.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Those that are kept, the latest first.
    pub fn latest(&self) -> impl Iterator<Item = &Mistake> {
        self.latest.iter().rev()
    }

    fn push(&mut self, mistake: Mistake) {
        self.count += 1;
        push_bounded(&mut self.latest, mistake, KEPT_MISTAKES);
    }
}

/// A cell and its last change.
#[derive(Clone, Debug, Default)]
pub struct WatchedCell {
    /// What it holds.
    pub value: u64,
    /// Where in the stream it changed last, counted from 1; 0 if it never did.
    pub changed_at: u64,
    /// Where something that it held was last lost: lowered, cleared or overwritten, not
    /// moved elsewhere; 0 if nothing was.
    pub lost_at: u64,
    /// The key that left there what it holds, as it came last. A value that moves takes it
    /// along.
    pub left_by: Option<Arc<Arrived>>,
}

/// What is known of a key that came before.
#[derive(Clone, Copy, Debug)]
struct Met {
    last: u64,
    /// The filter held it after it came last.
    was_held: bool,
    /// It has left something of its own, not only gone by cells of others.
    left_something: bool,
}

/// Why a small filter is not to be watched.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InsideError {
    /// There is no such filter.
    #[error(transparent)]
    Create(#[from] CreateError),
    /// It has too many cells to look at.
    #[error("{cells} cells are too many to look at; {MOST_CELLS} are the most")]
    TooManyCells {
        /// How many it has.
        cells: u64,
    },
}

/// A filter, its cells' history and its mistakes.
#[derive(Debug)]
pub struct Inside {
    set: SeenSet,
    anatomy: Anatomy,
    position: u64,
    cells: Vec<WatchedCell>,
    /// The region as it was when the cells were last compared.
    region: Vec<u8>,
    met: HashMap<u64, Met, BuildHasherDefault<AlreadyHashed>>,
    recent: VecDeque<Arc<Arrived>>,
    dropped: Mistakes,
    missed: Mistakes,
}

impl Inside {
    /// An empty filter to be watched.
    pub fn new(spec: &FilterSpec, memory_bits: u64, seed: u64) -> Result<Self, InsideError> {
        let set = SeenSet::in_memory(spec, memory_bits, seed)?;
        let count = set.filter().cells();
        if count > MOST_CELLS {
            return Err(InsideError::TooManyCells { cells: count });
        }
        Ok(Inside {
            anatomy: set.filter().anatomy(),
            position: 0,
            cells: vec![WatchedCell::default(); count as usize],
            region: set.region().to_vec(),
            set,
            met: HashMap::default(),
            recent: VecDeque::new(),
            dropped: Mistakes::default(),
            missed: Mistakes::default(),
        })
    }

    /// A key comes.
    pub fn push_key(&mut self, key: &[u8]) {
        let fingerprint = self.set.hasher().fingerprint(key);
        let before = self.evidence(fingerprint);
        let verdict = self.set.observe_one(fingerprint.into());
        self.position += 1;
        let met = self.met.get(&fingerprint.0).copied();
        let arrived = Arc::new(Arrived {
            position: self.position,
            key: key[..key.len().min(KEPT_KEY_BYTES)].to_vec(),
            fingerprint,
            verdict,
            is_first: met.is_none(),
        });
        match (met, verdict) {
            (None, Verdict::Seen) => self.dropped.push(Mistake {
                reason: self.why_dropped(&before),
                arrived: arrived.clone(),
            }),
            (Some(met), Verdict::New) => self.missed.push(Mistake {
                reason: self.why_missed(&before, met),
                arrived: arrived.clone(),
            }),
            _ => {}
        }
        self.compare_cells(&arrived, before.wanted);
        self.remember(&arrived, met);
        push_bounded(&mut self.recent, arrived, RECENT_KEYS);
    }

    fn why_dropped(&self, before: &Evidence) -> Reason {
        match before.wanted {
            _ if before.verdict() == Verdict::New => Reason::ByLot,
            Wanted::Exactly(value) => Reason::SameValue {
                value,
                other: self.left_by(before),
                position: self.position,
            },
            Wanted::InUse => Reason::SetByOthers {
                cells: before.nearest().map_or(0, |(_, of)| of),
            },
        }
    }

    /// The key that left the value that speaks for another.
    fn left_by(&self, evidence: &Evidence) -> Option<Arc<Arrived>> {
        let cell = evidence.proof()?.first()?;
        self.cells[cell.index as usize].left_by.clone()
    }

    fn why_missed(&self, before: &Evidence, met: Met) -> Reason {
        let lines = self.position - met.last;
        let (lacking, of) = before.nearest().unwrap_or((0, 0));
        match before.wanted {
            _ if !met.was_held => Reason::NotKept { lines },
            _ if !met.left_something => Reason::WentByOthers { lines },
            Wanted::InUse => Reason::CellsLost { lacking, of, lines },
            Wanted::Exactly(_) => Reason::ValueLost { lines },
        }
    }

    fn compare_cells(&mut self, arrived: &Arc<Arrived>, wanted: Wanted) {
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
            // Where the value was, if it only moved; and whether what was here moved away.
            let source = changed.iter().find(|(_, other)| other.value == value);
            let moved_away = changed.iter().any(|(other, _)| values[*other] == old.value);
            let (left_by, is_loss) = match (wanted, source) {
                (Wanted::InUse, _) if value < old.value => (old.left_by.clone(), true),
                (Wanted::InUse, _) => (Some(arrived.clone()), false),
                (_, Some((_, source))) => (source.left_by.clone(), !moved_away),
                (_, None) => (Some(arrived.clone()), !moved_away),
            };
            let is_loss = is_loss && old.value > 0;
            self.cells[*i] = WatchedCell {
                value,
                changed_at: arrived.position,
                lost_at: if is_loss {
                    arrived.position
                } else {
                    old.lost_at
                },
                left_by: left_by.filter(|_| value > 0),
            };
        }
    }

    fn remember(&mut self, arrived: &Arc<Arrived>, met: Option<Met>) {
        let after = self.evidence(arrived.fingerprint);
        let is_new = arrived.verdict == Verdict::New;
        let leaves_something = is_new || !self.set.filter().seen_leaves_no_trace();
        let met = Met {
            last: self.position,
            was_held: after.verdict() == Verdict::Seen,
            left_something: leaves_something || met.is_some_and(|met| met.left_something),
        };
        self.met.insert(arrived.fingerprint.0, met);
        // A value may be written over one that is the same and belonged to another row; and
        // where a repeat is renewed, it is the latest that counts.
        if let (Wanted::Exactly(_), Some([cell])) = (after.wanted, after.proof()) {
            let left_by = &mut self.cells[cell.index as usize].left_by;
            let is_own = |key: &Arc<Arrived>| key.fingerprint == arrived.fingerprint;
            if is_new || (leaves_something && left_by.as_ref().is_some_and(is_own)) {
                *left_by = Some(arrived.clone());
            }
        }
    }

    /// The filter that is watched.
    pub fn set(&self) -> &SeenSet {
        &self.set
    }

    /// What its cells are.
    pub fn anatomy(&self) -> &Anatomy {
        &self.anatomy
    }

    /// How many keys have come.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// How many different ones.
    pub fn distinct(&self) -> u64 {
        self.met.len() as u64
    }

    /// The cells as they are now.
    pub fn cells(&self) -> &[WatchedCell] {
        &self.cells
    }

    /// The latest keys, the last first.
    pub fn recent(&self) -> impl Iterator<Item = &Arc<Arrived>> {
        self.recent.iter().rev()
    }

    /// New keys taken for repeats.
    pub fn dropped(&self) -> &Mistakes {
        &self.dropped
    }

    /// Repeats taken for new.
    pub fn missed(&self) -> &Mistakes {
        &self.missed
    }

    /// What decides about a key now.
    pub fn evidence(&self, fingerprint: Fingerprint) -> Evidence {
        self.set.filter().evidence(self.set.region(), fingerprint)
    }
}

fn push_bounded<T>(queue: &mut VecDeque<T>, item: T, most: usize) {
    if queue.len() == most {
        queue.pop_front();
    }
    queue.push_back(item);
}
