//! Explains why a verdict was wrong.

use std::sync::Arc;

use super::ObservedKey;
use crate::filter::CellLayout;

/// The cause of a mistake. `lines` is the distance from the previous occurrence of the key.
#[derive(Clone, Debug)]
pub enum Reason {
    /// A new key whose cells were all set by other keys.
    SetByOthers {
        /// The number of its cells.
        cells: usize,
    },
    /// A new key with the same stored value as another key.
    SameValue {
        /// The value.
        value: u64,
        /// The other key, if known.
        other: Option<Arc<ObservedKey>>,
        /// The position of the new key.
        position: u64,
    },
    /// A new key that is not stored, and that the filter reports as Seen at random.
    Random,
    /// A repeat with cells that were cleared.
    CellsLost {
        /// The number of cleared cells.
        lacking: usize,
        /// The number of its cells.
        of: usize,
        /// Lines since its previous occurrence.
        lines: u64,
    },
    /// A repeat of whose cells too few are still equal.
    CellsOverwritten {
        /// Lines since its previous occurrence.
        lines: u64,
    },
    /// A repeat whose value was overwritten or evicted.
    ValueLost {
        /// Lines since its previous occurrence.
        lines: u64,
    },
    /// A repeat that the filter did not store at its previous occurrence.
    NotKept {
        /// Lines since its previous occurrence.
        lines: u64,
    },
    /// A repeat that was reported Seen from the start because of cells of other keys, which have
    /// changed since.
    NeverStored {
        /// Lines since its previous occurrence.
        lines: u64,
    },
}

impl Reason {
    /// Returns a sentence without capital letter and full stop.
    pub fn in_words(&self, layout: &CellLayout) -> String {
        let CellLayout {
            cell,
            content,
            row,
            loss,
            ..
        } = layout;
        match self {
            Reason::SetByOthers { cells: 1 } => {
                format!("its {cell} had been set by another key")
            }
            Reason::SetByOthers { cells: 2 } => {
                format!("both of its {cell}s had been set by other keys")
            }
            Reason::SetByOthers { cells } => {
                format!("its {cells} {cell}s had all been set by other keys")
            }
            Reason::SameValue {
                value,
                other,
                position,
            } => {
                let value = layout.value_in_words(*value);
                let other = match other {
                    Some(other) => format!(
                        "{}, which occurred {}",
                        String::from_utf8_lossy(&other.key),
                        earlier(position - other.position)
                    ),
                    None => "an earlier key".to_owned(),
                };
                format!("its {content} {value} equals that of a key in the same {row}: {other}")
            }
            Reason::Random => {
                "it was not stored; this filter reports some keys as seen at random".to_owned()
            }
            Reason::CellsLost { lacking, of, lines } => {
                let which = match (lacking, of) {
                    (_, 1) => format!("its {cell} was"),
                    (2, 2) => format!("both of its {cell}s were"),
                    (1, _) => format!("1 of its {of} {cell}s was"),
                    _ if lacking == of => format!("all of its {of} {cell}s were"),
                    _ => format!("{lacking} of its {of} {cell}s were"),
                };
                format!("{which} {loss} since it occurred {}", earlier(*lines))
            }
            Reason::CellsOverwritten { lines } => format!(
                "too few of its {cell}s are equal, because newer keys have set the others since it \
                 occurred {}",
                earlier(*lines)
            ),
            Reason::ValueLost { lines } => {
                format!("it was {loss} since it occurred {}", earlier(*lines))
            }
            Reason::NotKept { lines } => {
                format!("it was not stored when it occurred {}", earlier(*lines))
            }
            Reason::NeverStored { lines } => format!(
                "when it occurred {}, cells of other keys made it look seen, so it was not stored; \
                 those cells have changed since",
                earlier(*lines)
            ),
        }
    }
}

fn earlier(lines: u64) -> String {
    match lines {
        1 => "1 line earlier".to_owned(),
        _ => format!("{} lines earlier", grouped(lines)),
    }
}

/// Formats a number with commas between thousands.
fn grouped(number: u64) -> String {
    match number / 1000 {
        0 => number.to_string(),
        thousands => format!("{},{:03}", grouped(thousands), number % 1000),
    }
}
