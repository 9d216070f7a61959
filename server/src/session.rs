//! A client's session: its protocol, its rights, and the replies it waits for.
//!
//! Requests that arrive together are a round. Each has a slot for its reply. When the stores have
//! answered all of them, the replies are written in order, and the next round begins. A session
//! therefore holds at most one round of replies, however much a client sends.

use crate::batch::{Answer, FAILED, FULL, Information, Outcome, YES};
use crate::mutant::{Mutant, planted};
use crate::resp::reply::{self, Protocol};

/// How the results of a slot become replies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// A reply per key: many requests with one key each.
    Singles,
    /// One array of all keys.
    Array,
    /// The number of keys whose outcome is [`YES`].
    Sum,
}

/// Whether outcomes are booleans or integers in RESP3: RedisBloom's are booleans.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flavor {
    Boolean,
    Integer,
}

#[derive(Debug)]
enum Slot {
    /// A part of the text.
    Text { from: usize, to: usize },
    /// Results of keys.
    Keys {
        shape: Shape,
        flavor: Flavor,
        protocol: Protocol,
        from: usize,
        count: usize,
    },
    /// An answer that has arrived, or not yet.
    Answer {
        protocol: Protocol,
        answer: Option<Answer>,
    },
    /// BF.INFO with one field.
    Field { name: InformationField, at: u32 },
    /// WAITAOF: the number of stores that must still sync, and the first error.
    Synced { waiting: u32, error: Option<String> },
}

/// A field of BF.INFO.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InformationField {
    Capacity,
    Size,
    Filters,
    Items,
    Expansion,
}

/// The state of a client.
#[derive(Debug, Default)]
pub struct Session {
    pub protocol: Protocol,
    pub authenticated: bool,
    pub name: Vec<u8>,
    /// Whether the connection closes after the replies.
    pub closing: bool,
    /// Whether it has claims that end with it.
    pub owns_claims: bool,
    /// Requests between MULTI and EXEC; None outside.
    pub transaction: Option<Transaction>,
    slots: Vec<Slot>,
    text: Vec<u8>,
    outcomes: Vec<Outcome>,
    failure: Option<String>,
    /// The number of answers that have not arrived.
    outstanding: usize,
    /// The number of requests of the round.
    pub requests: usize,
    /// About how large the replies will be.
    expected_bytes: usize,
}

/// Requests that EXEC carries out.
#[derive(Debug, Default)]
pub struct Transaction {
    /// The requests, as arrays of bulk strings.
    pub bytes: Vec<u8>,
    pub count: usize,
    /// Whether one of them was refused.
    pub refused: bool,
}

/// Where the results of keys go.
#[derive(Clone, Copy, Debug)]
pub struct KeySlot {
    pub slot: u32,
    /// Whether they continue the slot of the request before.
    pub continued: bool,
}

/// An answer other than outcomes may take so many bytes.
const ANSWER_BYTES: usize = 8 << 10;

impl Session {
    /// Starts a session of a client that must authenticate first, or need not.
    pub fn new(authenticated: bool) -> Self {
        Session {
            authenticated,
            ..Session::default()
        }
    }

    /// Returns whether a round waits for its answers.
    pub fn is_waiting(&self) -> bool {
        self.outstanding > 0
    }

    /// Returns whether a round has replies.
    pub fn has_replies(&self) -> bool {
        !self.slots.is_empty()
    }

    /// Returns about how large the replies of the round will be.
    pub fn expected_bytes(&self) -> usize {
        self.expected_bytes + self.text.len()
    }

    /// Adds a reply that is known at once.
    pub fn reply(&mut self, write: impl FnOnce(&mut Vec<u8>, Protocol)) {
        let from = self.text.len();
        write(&mut self.text, self.protocol);
        let to = self.text.len();
        match self.slots.last_mut() {
            Some(Slot::Text { to: end, .. }) => *end = to,
            _ => self.slots.push(Slot::Text { from, to }),
        }
    }

    /// Adds an error.
    pub fn error(&mut self, text: &str) {
        self.reply(|output, _| reply::error(output, text));
    }

    /// Adds a slot for the results of keys, or continues the slot `last`, if that is the last one and
    /// has the same form.
    pub fn keys(
        &mut self,
        shape: Shape,
        flavor: Flavor,
        count: usize,
        last: Option<u32>,
    ) -> KeySlot {
        let from = self.outcomes.len();
        self.outcomes.resize(from + count, FAILED);
        self.expected_bytes += 8 * count;
        let protocol = self.protocol;
        if shape == Shape::Singles
            && last.is_some_and(|last| last as usize + 1 == self.slots.len())
            && let Some(Slot::Keys {
                shape: Shape::Singles,
                flavor: last_flavor,
                protocol: last_protocol,
                count: last_count,
                ..
            }) = self.slots.last_mut()
            && (*last_flavor, *last_protocol) == (flavor, protocol)
        {
            *last_count += count;
            return KeySlot {
                slot: self.last_slot(),
                continued: true,
            };
        }
        self.slots.push(Slot::Keys {
            shape,
            flavor,
            protocol,
            from,
            count,
        });
        KeySlot {
            slot: self.last_slot(),
            continued: false,
        }
    }

    /// Returns where a slot's results begin among the outcomes, and how many there are.
    pub fn outcomes_of(&mut self, slot: u32) -> &mut [Outcome] {
        match self.slots.get(slot as usize) {
            Some(&Slot::Keys { from, count, .. }) => &mut self.outcomes[from..from + count],
            _ => &mut [],
        }
    }

    /// Adds a slot for an answer.
    pub fn answer(&mut self) -> u32 {
        self.expected_bytes += ANSWER_BYTES;
        self.slots.push(Slot::Answer {
            protocol: self.protocol,
            answer: None,
        });
        self.last_slot()
    }

    /// Adds a slot for one field of the answer in the slot before, which is not shown itself.
    pub fn field_of_last(&mut self, name: InformationField) {
        let at = self.last_slot();
        self.slots.push(Slot::Field { name, at });
    }

    /// Adds a slot that waits until so many stores are synced.
    pub fn synced(&mut self, stores: u32) -> u32 {
        self.slots.push(Slot::Synced {
            waiting: stores,
            error: None,
        });
        self.last_slot()
    }

    fn last_slot(&self) -> u32 {
        (self.slots.len() - 1) as u32
    }

    /// Notes that an answer will arrive.
    pub fn await_answer(&mut self) {
        self.outstanding += 1;
    }

    /// Notes that an answer has arrived, and why keys have failed.
    pub fn arrived(&mut self, failure: Option<&str>) {
        self.outstanding = match planted(Mutant::AnsweredByFirstStore) {
            true => 0,
            false => self.outstanding.saturating_sub(1),
        };
        if let Some(failure) = failure {
            self.failure.get_or_insert_with(|| failure.to_owned());
        }
    }

    /// Stores an answer.
    pub fn set_answer(&mut self, slot: u32, new: Answer) {
        match self.slots.get_mut(slot as usize) {
            Some(Slot::Answer { answer, .. }) => *answer = Some(new),
            Some(Slot::Synced { waiting, error }) => {
                *waiting = waiting.saturating_sub(1);
                if let Answer::Error(text) = new {
                    error.get_or_insert(text);
                }
            }
            _ => {}
        }
    }

    /// Writes the replies of the round, and ends it.
    pub fn finish_round(&mut self, output: &mut Vec<u8>) {
        let failure = self.failure.take();
        let failure = failure.as_deref().unwrap_or("the store has failed");
        let slots = std::mem::take(&mut self.slots);
        for (at, slot) in slots.iter().enumerate() {
            match slot {
                Slot::Text { from, to } => output.extend_from_slice(&self.text[*from..*to]),
                &Slot::Keys {
                    shape,
                    flavor,
                    protocol,
                    from,
                    count,
                } => {
                    let outcomes = &self.outcomes[from..from + count];
                    write_outcomes(output, outcomes, shape, flavor, protocol, failure);
                }
                // Shown by the next slot.
                Slot::Answer { .. } if matches!(slots.get(at + 1), Some(Slot::Field { .. })) => {}
                Slot::Answer { protocol, answer } => {
                    write_answer(output, answer.as_ref(), *protocol)
                }
                Slot::Field { name, at } => {
                    if let Some(Slot::Answer { protocol, answer }) = slots.get(*at as usize) {
                        write_field(output, answer.as_ref(), *name, *protocol);
                    }
                }
                Slot::Synced { error, .. } => match error {
                    Some(error) => reply::error(output, error),
                    None => {
                        reply::array(output, 2);
                        reply::integer(output, 1);
                        reply::integer(output, 0);
                    }
                },
            }
        }
        self.slots = slots;
        self.slots.clear();
        self.text.clear();
        self.outcomes.clear();
        (self.requests, self.expected_bytes) = (0, 0);
        // A client that sends small requests after a large one should not hold its memory.
        self.slots.shrink_to(1 << 10);
        self.text.shrink_to(1 << 14);
        self.outcomes.shrink_to(1 << 16);
    }
}

fn write_outcomes(
    output: &mut Vec<u8>,
    outcomes: &[Outcome],
    shape: Shape,
    flavor: Flavor,
    protocol: Protocol,
    failure: &str,
) {
    let protocol = match flavor {
        Flavor::Boolean => protocol,
        Flavor::Integer => Protocol::Two,
    };
    let failed = outcomes.contains(&FAILED);
    match shape {
        Shape::Singles => {}
        Shape::Array | Shape::Sum if failed => {
            return reply::error(output, &format!("ERR {failure}"));
        }
        Shape::Array => reply::array(output, outcomes.len()),
        Shape::Sum => {
            if outcomes.contains(&FULL) {
                return reply::error(output, IS_FULL);
            }
            let yes = outcomes.iter().filter(|&&outcome| outcome == YES);
            return reply::integer(output, yes.count() as i64);
        }
    }
    for &outcome in outcomes {
        match outcome {
            FULL => reply::error(output, IS_FULL),
            FAILED => reply::error(output, &format!("ERR {failure}")),
            outcome => reply::boolean(output, protocol, outcome == YES),
        }
    }
}

/// RedisBloom's error.
pub const IS_FULL: &str = "ERR non scaling filter is full";

fn write_answer(output: &mut Vec<u8>, answer: Option<&Answer>, protocol: Protocol) {
    match answer {
        None | Some(Answer::Inspect { .. }) => reply::error(output, "ERR no answer"),
        Some(Answer::Error(text)) => reply::error(output, text),
        Some(Answer::Done) => reply::simple(output, "OK"),
        Some(Answer::Integer(value)) => reply::integer(output, *value),
        Some(Answer::Integers(values)) => {
            reply::array(output, values.len());
            values.iter().for_each(|&it| reply::integer(output, it));
        }
        Some(Answer::Bytes(bytes)) => reply::bulk(output, bytes),
        Some(Answer::Map(pairs)) => {
            reply::map(output, protocol, pairs.len());
            for (name, value) in pairs {
                reply::bulk(output, name.as_bytes());
                reply::bulk(output, value.as_bytes());
            }
        }
        Some(Answer::Information(information)) => {
            reply::map(output, protocol, FIELDS.len());
            for (name, field) in FIELDS {
                reply::simple(output, name);
                write_value(output, information, field, protocol);
            }
        }
    }
}

const FIELDS: [(&str, InformationField); 5] = [
    ("Capacity", InformationField::Capacity),
    ("Size", InformationField::Size),
    ("Number of filters", InformationField::Filters),
    ("Number of items inserted", InformationField::Items),
    ("Expansion rate", InformationField::Expansion),
];

fn write_field(
    output: &mut Vec<u8>,
    answer: Option<&Answer>,
    field: InformationField,
    protocol: Protocol,
) {
    match answer {
        Some(Answer::Information(information)) => {
            reply::array(output, 1);
            write_value(output, information, field, protocol);
        }
        other => write_answer(output, other, protocol),
    }
}

fn write_value(
    output: &mut Vec<u8>,
    information: &Information,
    field: InformationField,
    protocol: Protocol,
) {
    match field {
        InformationField::Capacity => reply::integer(output, information.capacity),
        InformationField::Size => reply::integer(output, information.size),
        InformationField::Filters => reply::integer(output, 1),
        InformationField::Items => reply::integer(output, information.items),
        InformationField::Expansion => match information.expansion {
            Some(rate) => reply::integer(output, rate),
            None => reply::null(output, protocol),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::NO;

    #[test]
    fn replies_keep_the_order_of_the_requests() {
        let mut session = Session::default();
        let first = session.keys(Shape::Singles, Flavor::Boolean, 1, None);
        let second = session.keys(Shape::Singles, Flavor::Boolean, 1, Some(first.slot));
        assert!(!first.continued && second.continued && first.slot == second.slot);
        session.reply(|output, _| reply::simple(output, "PONG"));
        let array = session.keys(Shape::Array, Flavor::Boolean, 2, None);
        let sum = session.keys(Shape::Sum, Flavor::Integer, 3, None);
        let answer = session.answer();
        session
            .outcomes_of(sum.slot)
            .copy_from_slice(&[YES, NO, YES]);
        session.outcomes_of(first.slot).copy_from_slice(&[YES, NO]);
        session.outcomes_of(array.slot).copy_from_slice(&[NO, FULL]);
        session.set_answer(answer, Answer::Integer(9));
        let mut output = Vec::new();
        session.finish_round(&mut output);
        let expected =
            ":1\r\n:0\r\n+PONG\r\n*2\r\n:0\r\n-ERR non scaling filter is full\r\n:2\r\n:9\r\n";
        assert_eq!(String::from_utf8(output).expect("text"), expected);
        assert!(!session.has_replies());
    }

    #[test]
    fn a_failed_store_is_an_error_per_request() {
        let mut session = Session::default();
        session.keys(Shape::Singles, Flavor::Boolean, 2, None);
        session.keys(Shape::Array, Flavor::Boolean, 2, None);
        session.await_answer();
        session.arrived(Some("disk full"));
        let mut output = Vec::new();
        session.finish_round(&mut output);
        let text = String::from_utf8(output).expect("text");
        assert_eq!(text, "-ERR disk full\r\n".repeat(3));
    }
}
