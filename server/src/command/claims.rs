//! Claims: `DEDUP.CLAIM`, `DEDUP.COMMIT`, `DEDUP.ABORT`; and the commands for hashed keys.
//!
//! The hashed forms are for clients that hash keys themselves, with the seed that `DEDUP.OPEN`
//! tells: 16 bytes per key, in one bulk string. Their claims end when the connection closes.

use dedupstore::{Fingerprint, Observation};

use super::{Context, Flow, OpenStore, no_keys};
use crate::batch::{Kind, Other, ReplyTo, TicketEncoding};
use crate::resp::Arguments;
use crate::session::{Flavor, Shape};
use crate::stores::Wanted;

/// The bytes of a hashed key: the fingerprint, the time, the importance, and two zeros; all
/// little-endian.
pub const HASHED_KEY_BYTES: usize = 16;
/// The bytes of a ticket.
pub const TICKET_BYTES: usize = 8;

/// Writes a hashed key.
pub fn encode_hashed(bytes: &mut Vec<u8>, key: &Observation) {
    bytes.extend_from_slice(&key.fingerprint.0.to_le_bytes());
    bytes.extend_from_slice(&key.tick.to_le_bytes());
    bytes.extend_from_slice(&key.importance.to_le_bytes());
    bytes.extend_from_slice(&[0, 0]);
}

fn decode_hashed(bytes: &[u8; HASHED_KEY_BYTES]) -> Observation {
    let [f0, f1, f2, f3, f4, f5, f6, f7, t0, t1, t2, t3, i0, i1, _, _] = *bytes;
    Observation {
        fingerprint: Fingerprint(u64::from_le_bytes([f0, f1, f2, f3, f4, f5, f6, f7])),
        tick: u32::from_le_bytes([t0, t1, t2, t3]),
        importance: u16::from_le_bytes([i0, i1]),
    }
}

/// `DEDUP.CLAIM store key…`: per key a ticket, 0 if the key was seen, −1 if it is claimed.
pub fn claim(context: &mut Context<'_>, arguments: Arguments<'_>) -> Flow {
    match context.store(arguments.get(1), Wanted::Created(None)) {
        OpenStore::Open(store) => {
            let claim = Other::Claim {
                owner: None,
                encoding: TicketEncoding::Integers,
            };
            context.push_other(store, claim, arguments.from(2))
        }
        OpenStore::Flow(flow) => flow,
        OpenStore::Absent => Flow::Next,
    }
}

/// `DEDUP.COMMIT store ticket…`: per ticket, whether there was such a claim.
pub fn commit(context: &mut Context<'_>, arguments: Arguments<'_>) -> Flow {
    with_tickets(context, arguments, Other::Commit)
}

/// `DEDUP.ABORT store ticket…`: per ticket, whether there was such a claim.
pub fn abort(context: &mut Context<'_>, arguments: Arguments<'_>) -> Flow {
    with_tickets(context, arguments, Other::Abort)
}

fn with_tickets(
    context: &mut Context<'_>,
    arguments: Arguments<'_>,
    other: fn(Vec<u64>) -> Other,
) -> Flow {
    let number = |text: &[u8]| std::str::from_utf8(text).ok()?.parse().ok();
    let tickets: Option<Vec<u64>> = arguments.from(2).map(number).collect();
    match tickets {
        Some(tickets) => finish(context, arguments, other(tickets)),
        None => error(context, "ERR a ticket is a positive integer"),
    }
}

fn finish(context: &mut Context<'_>, arguments: Arguments<'_>, other: Other) -> Flow {
    match context.store(arguments.get(1), Wanted::Existing) {
        OpenStore::Open(store) => context.push_other(store, other, no_keys()),
        OpenStore::Flow(flow) => flow,
        OpenStore::Absent => error(context, "ERR not found"),
    }
}

/// `DEDUP.HADD store keys`: per key, whether it is new, as in `BF.MADD`.
pub fn add_hashed(context: &mut Context<'_>, arguments: Arguments<'_>) -> Flow {
    let (keys, []) = arguments.get(2).as_chunks() else {
        return error(context, NOT_HASHED);
    };
    match context.store(arguments.get(1), Wanted::Created(None)) {
        OpenStore::Open(store) => push_array(context, store, Kind::Observe, keys),
        OpenStore::Flow(flow) => flow,
        OpenStore::Absent => Flow::Next,
    }
}

/// `DEDUP.HCLAIM store keys`: a bulk string with eight bytes per key, as in `DEDUP.CLAIM`.
pub fn claim_hashed(context: &mut Context<'_>, arguments: Arguments<'_>) -> Flow {
    let (keys, []) = arguments.get(2).as_chunks() else {
        return error(context, NOT_HASHED);
    };
    match context.store(arguments.get(1), Wanted::Created(None)) {
        OpenStore::Open(store) => {
            context.session.owns_claims = true;
            let claim = Other::Claim {
                owner: Some(context.serial),
                encoding: TicketEncoding::Bytes,
            };
            let slot = context.session.answer();
            push_hashed(context, store, Kind::Other(claim), slot, keys)
        }
        OpenStore::Flow(flow) => flow,
        OpenStore::Absent => Flow::Next,
    }
}

/// `DEDUP.HCOMMIT store tickets`: as `DEDUP.COMMIT`, with eight bytes per ticket.
pub fn commit_hashed(context: &mut Context<'_>, arguments: Arguments<'_>) -> Flow {
    let (tickets, []) = arguments.get(2).as_chunks::<TICKET_BYTES>() else {
        return error(context, "ERR expected 8 bytes per ticket");
    };
    let tickets = tickets.iter().map(|bytes| u64::from_le_bytes(*bytes));
    finish(context, arguments, Other::Commit(tickets.collect()))
}

/// `DEDUP.HEXISTS store keys`: per key, whether it was seen.
pub fn exist_hashed(context: &mut Context<'_>, arguments: Arguments<'_>) -> Flow {
    let (keys, []) = arguments.get(2).as_chunks() else {
        return error(context, NOT_HASHED);
    };
    match context.store(arguments.get(1), Wanted::Existing) {
        OpenStore::Open(store) => push_array(context, store, Kind::Contains, keys),
        OpenStore::Flow(flow) => flow,
        OpenStore::Absent => error(context, "ERR not found"),
    }
}

/// Adds an operation that is answered with an array of one integer per key.
fn push_array(
    context: &mut Context<'_>,
    store: usize,
    kind: Kind,
    keys: &[[u8; HASHED_KEY_BYTES]],
) -> Flow {
    let session = &mut context.session;
    let slot = session.keys(Shape::Array, Flavor::Integer, keys.len(), None);
    push_hashed(context, store, kind, slot.slot, keys)
}

const NOT_HASHED: &str = "ERR expected 16 bytes per key";

fn push_hashed(
    context: &mut Context<'_>,
    store: usize,
    kind: Kind,
    slot: u32,
    keys: &[[u8; HASHED_KEY_BYTES]],
) -> Flow {
    let reply = ReplyTo {
        connection: context.connection,
        serial: context.serial,
        slot,
    };
    if let Some(store) = context.stores.get(store) {
        store.push(reply, kind, keys.len());
        context.session.await_answer();
        store.batch.keys.extend(keys.iter().map(decode_hashed));
        let is_full = store.is_full();
        context.stores.any_full |= is_full;
    }
    Flow::Next
}

fn error(context: &mut Context<'_>, text: &str) -> Flow {
    context.session.error(text);
    Flow::Next
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashed_keys_survive_the_wire() {
        let key = Observation {
            fingerprint: Fingerprint(0x0123_4567_89ab_cdef),
            tick: 0xdead_beef,
            importance: 0x1234,
        };
        let mut bytes = Vec::new();
        encode_hashed(&mut bytes, &key);
        let bytes: &[u8; HASHED_KEY_BYTES] = bytes.as_slice().try_into().expect("16 bytes");
        assert_eq!(decode_hashed(bytes), key);
    }
}
