//! Commands about stores as a whole, and about the server.

use super::{Context, Flow, OpenStore, no_keys};
use crate::batch::Other;
use crate::resp::Arguments;
use crate::resp::reply;
use crate::stores::Wanted;

/// `EXISTS store…`: how many of them exist.
pub fn exists(context: &mut Context<'_>, arguments: Arguments<'_>) -> Flow {
    let stores = &context.stores;
    let count = arguments.from(1).filter(|name| stores.exists(name)).count();
    context
        .session
        .reply(|output, _| reply::integer(output, count as i64));
    Flow::Next
}

/// `DEL store…`: deletes stores, if the server allows that; how many were deleted.
pub fn delete(context: &mut Context<'_>, arguments: Arguments<'_>) -> Flow {
    if !context.settings.allow_delete {
        return error(
            context,
            "ERR DEL deletes stores; start the server with --allow-delete",
        );
    }
    // One store after the other: the request is tried again until none is left.
    for name in arguments.from(1) {
        match context.store(name, Wanted::Existing) {
            OpenStore::Absent => {}
            OpenStore::Flow(flow) => return flow,
            OpenStore::Open(store) => {
                if let Some(served) = context.stores.get(store) {
                    served.close(true);
                }
                context.park(store, true);
                return Flow::Park;
            }
        }
    }
    let deleted = std::mem::take(&mut context.parking.deleted);
    context
        .session
        .reply(|output, _| reply::integer(output, deleted));
    Flow::Next
}

/// `EXPIRE store seconds`
pub fn expire(context: &mut Context<'_>, _: Arguments<'_>) -> Flow {
    let text = "ERR stores do not expire; keys of a store do, if it was created with a window: \
                BF.RESERVE store error_rate capacity WINDOW seconds";
    error(context, text)
}

/// `WAITAOF numlocal numreplicas timeout`: waits until all that was recorded is synced.
pub fn wait_until_durable(context: &mut Context<'_>, arguments: Arguments<'_>) -> Flow {
    let number = |text: &[u8]| std::str::from_utf8(text).ok()?.parse::<u64>().ok();
    if arguments.from(1).any(|text| number(text).is_none()) {
        return error(context, "ERR value is not an integer or out of range");
    }
    if number(arguments.get(1)).is_some_and(|local| local > 1) {
        return error(
            context,
            "ERR value is out of range, must be between 0 and 1",
        );
    }
    let stores = context.stores.open();
    let slot = context.session.synced(stores.len() as u32);
    for store in stores {
        context.push_other_into(store, Other::Sync, no_keys(), slot);
    }
    Flow::Next
}

/// `SHUTDOWN [SAVE | NOSAVE]`: answers what is under way, closes all stores and ends the server.
pub fn shut_down(context: &mut Context<'_>, _: Arguments<'_>) -> Flow {
    *context.stop = true;
    context.session.closing = true;
    Flow::Next
}

fn error(context: &mut Context<'_>, text: &str) -> Flow {
    context.session.error(text);
    Flow::Next
}
