//! The commands of Redis's sets. The set is approximate: a new key may count as one that is there.

use super::{Context, Flow, OpenStore, bloom};
use crate::batch::Kind;
use crate::resp::Arguments;
use crate::resp::reply;
use crate::session::{Flavor, Shape};
use crate::stores::Wanted;

/// `SADD store key…`
pub fn add(context: &mut Context<'_>, arguments: Arguments<'_>) -> Flow {
    match context.store(arguments.get(1), Wanted::Created(None)) {
        OpenStore::Open(store) => {
            // One key per request is as frequent as BF.ADD, and has the same form.
            let shape = match arguments.len() {
                3 => Shape::Singles,
                _ => Shape::Sum,
            };
            let keys = arguments.from(2);
            context.push_keys(store, Kind::Observe, shape, Flavor::Integer, keys)
        }
        OpenStore::Flow(flow) => flow,
        OpenStore::Absent => Flow::Next,
    }
}

/// `SISMEMBER store key`
pub fn is_member(context: &mut Context<'_>, arguments: Arguments<'_>) -> Flow {
    bloom::look_up(context, arguments, Shape::Singles, Flavor::Integer)
}

/// `SMISMEMBER store key…`
pub fn are_members(context: &mut Context<'_>, arguments: Arguments<'_>) -> Flow {
    bloom::look_up(context, arguments, Shape::Array, Flavor::Integer)
}

/// `DEDUP.FORGET store key…`: takes keys out; per key, whether it was there.
pub fn forget(context: &mut Context<'_>, arguments: Arguments<'_>) -> Flow {
    match context.store(arguments.get(1), Wanted::Existing) {
        OpenStore::Open(store) => {
            let keys = arguments.from(2);
            context.push_keys(store, Kind::Forget, Shape::Array, Flavor::Integer, keys)
        }
        OpenStore::Flow(flow) => flow,
        OpenStore::Absent => {
            context.session.reply(|output, _| {
                reply::array(output, arguments.len() - 2);
                (2..arguments.len()).for_each(|_| reply::integer(output, 0));
            });
            Flow::Next
        }
    }
}
