//! Why a verdict was wrong, in a sentence a person would say.

use std::sync::Arc;

use super::Arrived;
use crate::filter::Anatomy;

/// How a mistake came about. Lines are counted back from the mistake to when the key had
/// come last.
#[derive(Clone, Debug)]
pub enum Reason {
    /// A new key whose cells were all in use already.
    SetByOthers {
        /// How many they are.
        cells: usize,
    },
    /// A new key that is the same as another one to the filter.
    SameValue {
        /// What both leave.
        value: u64,
        /// The other one.
        other: Option<Arc<Arrived>>,
        /// Where the new key came.
        position: u64,
    },
    /// A new key that was not held and is called Seen all the same.
    ByLot,
    /// A repeat some of whose cells are empty again.
    CellsLost {
        /// How many are.
        lacking: usize,
        /// Of how many.
        of: usize,
        /// How long since it came.
        lines: u64,
    },
    /// A repeat whose value is not there any more.
    ValueLost {
        /// How long since it came.
        lines: u64,
    },
    /// A repeat that the filter did not hold even right after it came.
    NotKept {
        /// How long since it came.
        lines: u64,
    },
    /// A repeat that was taken for seen from the first, by cells of others that changed.
    WentByOthers {
        /// How long since it came.
        lines: u64,
    },
}

impl Reason {
    /// The sentence, without a capital or a stop.
    pub fn in_words(&self, anatomy: &Anatomy) -> String {
        let Anatomy {
            cell,
            content,
            row,
            loss,
            ..
        } = anatomy;
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
                let value = anatomy.value_in_words(*value);
                let other = match other {
                    Some(other) => format!(
                        "{}, which came {}",
                        String::from_utf8_lossy(&other.key),
                        before(position - other.position)
                    ),
                    None => "a key before it".to_owned(),
                };
                format!("its {content} {value} equals that of a key in the same {row}: {other}")
            }
            Reason::ByLot => {
                "it was not held; this filter calls some keys that it does not hold seen, by lot"
                    .to_owned()
            }
            Reason::CellsLost { lacking, of, lines } => {
                let which = match (lacking, of) {
                    (_, 1) => format!("its {cell} was"),
                    (2, 2) => format!("both of its {cell}s were"),
                    (1, _) => format!("1 of its {of} {cell}s was"),
                    _ if lacking == of => format!("all of its {of} {cell}s were"),
                    _ => format!("{lacking} of its {of} {cell}s were"),
                };
                format!("{which} {loss} since it came, {}", before(*lines))
            }
            Reason::ValueLost { lines } => {
                format!("it was {loss} since it came, {}", before(*lines))
            }
            Reason::NotKept { lines } => {
                format!("nothing of it was kept when it came, {}", before(*lines))
            }
            Reason::WentByOthers { lines } => format!(
                "it was taken for seen when it came, {}, and left nothing of its own; what others \
                 had left in its place is gone",
                before(*lines)
            ),
        }
    }
}

fn before(lines: u64) -> String {
    match lines {
        1 => "1 line before".to_owned(),
        _ => format!("{} lines before", grouped(lines)),
    }
}

/// A number with its thousands apart.
fn grouped(number: u64) -> String {
    match number / 1000 {
        0 => number.to_string(),
        thousands => format!("{},{:03}", grouped(thousands), number % 1000),
    }
}
