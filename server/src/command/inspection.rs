//! Commands that describe stores and the server.

use std::sync::atomic::Ordering;

use super::session::REDIS_VERSION;
use super::{Context, Flow, OpenStore, no_keys};
use crate::batch::Other;
use crate::resp::Arguments;
use crate::resp::reply;
use crate::stores::Wanted;

/// `DEDUP.OPEN store [NOCREATE]`: what a client needs to hash keys itself, as JSON.
pub fn open(context: &mut Context<'_>, arguments: Arguments<'_>) -> Flow {
    let wanted = match arguments.get(2).eq_ignore_ascii_case(b"NOCREATE") {
        true => Wanted::Existing,
        false => Wanted::Created(None),
    };
    of_store(context, arguments, wanted, Other::Describe)
}

/// `DEDUP.INSPECT store [JSON]`: the report of `dedupstore inspect`.
pub fn inspect(context: &mut Context<'_>, arguments: Arguments<'_>) -> Flow {
    let json = arguments.get(2).eq_ignore_ascii_case(b"JSON");
    of_store(
        context,
        arguments,
        Wanted::Existing,
        Other::Inspect { json },
    )
}

/// `DEDUP.CHECKPOINT store`: begins a checkpoint. The generation that `DEDUP.OPEN` tells grows when it
/// is complete.
pub fn checkpoint(context: &mut Context<'_>, arguments: Arguments<'_>) -> Flow {
    of_store(context, arguments, Wanted::Existing, Other::Checkpoint)
}

fn of_store(
    context: &mut Context<'_>,
    arguments: Arguments<'_>,
    wanted: Wanted,
    other: Other,
) -> Flow {
    match context.store(arguments.get(1), wanted) {
        OpenStore::Open(store) => context.push_other(store, other, no_keys()),
        OpenStore::Flow(flow) => flow,
        OpenStore::Absent => {
            context.session.error("ERR not found");
            Flow::Next
        }
    }
}

/// `DEDUP.EXPLAIN store key`: the cells that decide about a key.
pub fn explain(context: &mut Context<'_>, arguments: Arguments<'_>) -> Flow {
    match context.store(arguments.get(1), Wanted::Existing) {
        OpenStore::Open(store) => context.push_other(store, Other::Explain, arguments.from(2)),
        OpenStore::Flow(flow) => flow,
        OpenStore::Absent => {
            context.session.error("ERR not found");
            Flow::Next
        }
    }
}

/// `INFO [section]`: the state of the server, in the form of Redis.
pub fn server(context: &mut Context<'_>, arguments: Arguments<'_>) -> Flow {
    let text = information(context, arguments.get(1));
    context
        .session
        .reply(|output, _| reply::bulk(output, text.as_bytes()));
    Flow::Next
}

fn information(context: &Context<'_>, section: &[u8]) -> String {
    let counters = context.counters;
    let count = |count: &std::sync::atomic::AtomicU64| count.load(Ordering::Relaxed);
    let stores = counters.open_stores();
    let claims: u64 = stores.iter().map(|(_, live)| live.claims).sum();
    let unsynced: u64 = stores
        .iter()
        .map(|(_, it)| it.sequence - it.durable.min(it.sequence))
        .sum();
    let mut keyspace = String::new();
    for (name, live) in &stores {
        keyspace += &format!(
            "store_{}:keys={},observations={},load={:.6},false_positive_rate={:.3e}\r\n",
            name.escape_default(),
            live.new - live.forgotten.min(live.new),
            live.observations,
            live.load,
            live.false_positive_rate,
        );
    }
    let sections = [
        (
            "Server",
            format!(
                "redis_version:{REDIS_VERSION}\r\nredis_mode:standalone\r\n\
                 dedupstore_version:{}\r\nprocess_id:{}\r\nuptime_in_seconds:{}\r\n",
                env!("CARGO_PKG_VERSION"),
                std::process::id(),
                counters.started.elapsed().as_secs(),
            ),
        ),
        (
            "Clients",
            format!(
                "connected_clients:{}\r\nmaxclients:{}\r\nbuffered_bytes:{}\r\n",
                count(&counters.connections),
                context.settings.limits.clients,
                count(&counters.buffered_bytes),
            ),
        ),
        (
            "Persistence",
            format!(
                "loading:0\r\naof_enabled:1\r\nclaims:{claims}\r\nunsynced_observations:{unsynced}\r\n"
            ),
        ),
        (
            "Stats",
            format!(
                "total_connections_received:{}\r\ntotal_commands_processed:{}\r\n\
                 rejected_connections:{}\r\nkeys_processed:{}\r\nbatches:{}\r\n\
                 protocol_errors:{}\r\ntotal_net_input_bytes:{}\r\ntotal_net_output_bytes:{}\r\n",
                count(&counters.accepted),
                count(&counters.commands),
                count(&counters.rejected),
                count(&counters.keys),
                count(&counters.batches),
                count(&counters.protocol_errors),
                count(&counters.read_bytes),
                count(&counters.written_bytes),
            ),
        ),
        ("Keyspace", keyspace),
    ];
    let everything = ["", "all", "default", "everything"];
    let section = String::from_utf8_lossy(section).to_lowercase();
    let wanted = sections
        .into_iter()
        .filter(|(name, _)| everything.contains(&&*section) || name.to_lowercase() == section);
    wanted
        .map(|(name, text)| format!("# {name}\r\n{text}\r\n"))
        .collect()
}
