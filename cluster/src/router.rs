//! Sends requests to the nodes that own their hash slots.
//!
//! All requests of a batch to one node are one message. The messages to all nodes are sent before
//! the first answer is read, so the nodes work at the same time. A node that does not answer fails
//! its own requests and no others. Redirections (`MOVED`, `ASK`) are followed, so slots may move
//! between nodes while requests are under way.
//!
//! A request is repeated only if it was certainly not carried out: if the node answered with an
//! error, or if there was no connection.

use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, Instant};

use redis::{ServerError, ServerErrorKind, Value};

use crate::durability::Acknowledgement;
use crate::error::ClusterError;
use crate::node::{Access, Node, is_temporary, reason_of};
use crate::topology::{NodeAddress, Topology};

/// How often a request is redirected before its node counts as failed.
const MOST_ATTEMPTS: u32 = 32;
/// How long a node that could not be reached is left alone.
const REST: Duration = Duration::from_millis(500);
/// The shortest time between two questions for the topology.
const REFRESH: Duration = Duration::from_millis(200);

/// A request about one key.
#[derive(Clone, Debug)]
pub(crate) struct Routed {
    /// The hash slot of the key.
    pub slot: u16,
    /// The packed command.
    pub packed: Vec<u8>,
}

/// What became of a request.
#[derive(Clone, Debug)]
pub(crate) struct Reply {
    /// The answer; None if the node failed.
    pub value: Option<Value>,
    /// Whether the node confirmed what was asked for by [`Acknowledgement`].
    pub acknowledged: bool,
    /// The clock of the node before and after it, in milliseconds since 1970, if that was asked for.
    pub times: (u64, u64),
}

/// What each message asks for besides its requests.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Extras {
    /// That copies are confirmed.
    pub wait: Option<Acknowledgement>,
    /// The clock of the node, before and after the requests.
    pub times: bool,
}

/// Counts of what was sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RouterCounts {
    /// Messages to nodes; each carries all requests of a batch for its node.
    pub messages: u64,
    /// Requests that were redirected to another node.
    pub redirections: u64,
    /// Requests whose node failed.
    pub failed: u64,
}

/// Where a request goes next.
#[derive(Clone, Debug)]
struct Destination {
    request: usize,
    node: NodeAddress,
    /// Whether the slot is being moved to the node, so that it must be told to answer.
    asking: bool,
}

/// Connections to the nodes of a cluster, or to one Redis that is no cluster.
pub(crate) struct Router {
    access: Access,
    seed: NodeAddress,
    /// Whether the nodes are a cluster.
    pub is_cluster: bool,
    topology: Topology,
    nodes: HashMap<NodeAddress, Node>,
    /// Nodes that could not be reached, and when to try again.
    resting: HashMap<NodeAddress, Instant>,
    is_stale: bool,
    refreshed: Instant,
    pub counts: RouterCounts,
    /// Whether a request of the last batch was redirected.
    pub redirected: bool,
    /// A refusal of the last batch.
    error: Option<ClusterError>,
}

impl Router {
    /// Connects to a node and asks it for the others.
    pub fn connect(access: Access, host: &str, port: u16) -> Result<Self, ClusterError> {
        let seed = NodeAddress {
            host: host.to_owned(),
            port,
        };
        let mut node = access.connect(host, port)?;
        let information = node.call(redis::cmd("INFO").arg("cluster"), access.answer_timeout);
        let information = information.map_err(|error| refusal(&node.name, &error))?;
        let is_cluster = text(&information).contains("cluster_enabled:1");
        let mut router = Router {
            topology: Topology::single(seed.clone()),
            nodes: HashMap::from([(seed.clone(), node)]),
            access,
            seed,
            is_cluster,
            resting: HashMap::new(),
            is_stale: false,
            refreshed: Instant::now(),
            counts: RouterCounts::default(),
            redirected: false,
            error: None,
        };
        if is_cluster && !router.refresh() {
            return Err(ClusterError::Refused {
                node: router.seed.name(),
                reason: "no valid list of its hash slots".to_owned(),
                hint: "; check it with redis-cli --cluster check",
            });
        }
        Ok(router)
    }

    /// Returns the masters.
    pub fn nodes(&self) -> Vec<NodeAddress> {
        self.topology.nodes.clone()
    }

    /// Returns the name of the owner of a slot.
    pub fn owner(&self, slot: u16) -> String {
        let owner = self.topology.owner(slot);
        owner.map_or_else(|| "no node".to_owned(), NodeAddress::name)
    }

    /// Returns how nodes are reached.
    pub fn access_mut(&mut self) -> &mut Access {
        &mut self.access
    }

    /// Returns the refusal of a request of the last batch, if there is one.
    pub fn take_error(&mut self) -> Option<ClusterError> {
        self.error.take()
    }

    /// Asks one master a question that is about no key.
    pub fn ask(&mut self, node: &NodeAddress, command: &redis::Cmd) -> Result<Value, ClusterError> {
        let timeout = self.access.answer_timeout;
        let unavailable = || ClusterError::Connect {
            node: node.name(),
            reason: "it does not answer".to_owned(),
        };
        let connection = self.connection(node).ok_or_else(unavailable)?;
        let answer = connection.call(command, timeout);
        answer.map_err(|error| refusal(&node.name(), &error))
    }

    /// Sends requests and waits for all answers, which are in the order of the requests.
    pub fn exchange(&mut self, requests: &[Routed], extras: Extras) -> Vec<Reply> {
        let failed = Reply {
            value: None,
            acknowledged: false,
            times: (0, 0),
        };
        let mut replies = vec![failed; requests.len()];
        self.redirected = false;
        self.error = None;
        if self.is_stale {
            self.refresh_if_due();
        }
        let owners = |router: &Self, requests_left: &mut dyn Iterator<Item = usize>| {
            let destination = |request: usize| {
                let node = router.topology.owner(requests[request].slot)?.clone();
                Some(Destination {
                    request,
                    node,
                    asking: false,
                })
            };
            requests_left.filter_map(destination).collect::<Vec<_>>()
        };
        let mut left = owners(self, &mut (0..requests.len()));
        for attempt in 0..MOST_ATTEMPTS {
            if left.is_empty() {
                break;
            }
            if attempt > 1 {
                std::thread::sleep(Duration::from_millis(u64::from(attempt)));
            }
            let mut again = Vec::new();
            let mut not_sent = Vec::new();
            self.send_all(
                requests,
                left,
                extras,
                &mut replies,
                &mut again,
                &mut not_sent,
            );
            if !not_sent.is_empty() && self.refresh_if_due() {
                // Another node may own these slots by now.
                let before: HashMap<usize, NodeAddress> = not_sent.into_iter().collect();
                let moved = owners(self, &mut before.keys().copied());
                again.extend(
                    moved
                        .into_iter()
                        .filter(|it| it.node != before[&it.request]),
                );
            }
            left = again;
        }
        let failed = replies.iter().filter(|reply| reply.value.is_none()).count();
        self.counts.failed += failed as u64;
        replies
    }

    /// Sends each node its requests and reads the answers. Requests to be redirected are added to
    /// `again`, those that were not sent to `not_sent`.
    fn send_all(
        &mut self,
        requests: &[Routed],
        destinations: Vec<Destination>,
        extras: Extras,
        replies: &mut [Reply],
        again: &mut Vec<Destination>,
        not_sent: &mut Vec<(usize, NodeAddress)>,
    ) {
        let mut by_node: BTreeMap<NodeAddress, Vec<Destination>> = BTreeMap::new();
        for destination in destinations {
            let group = by_node.entry(destination.node.clone()).or_default();
            group.push(destination);
        }
        let deadline = Instant::now() + self.access.answer_timeout;
        let mut sent = Vec::new();
        for (node, group) in by_node {
            let mut packed = Vec::new();
            let time = || redis::cmd("TIME").get_packed_command();
            if extras.times {
                packed.extend(time());
            }
            for destination in &group {
                if destination.asking {
                    redis::cmd("ASKING").write_packed_command(&mut packed);
                }
                packed.extend_from_slice(&requests[destination.request].packed);
            }
            if extras.times {
                packed.extend(time());
            }
            if let Some(wait) = extras.wait {
                wait.command().write_packed_command(&mut packed);
            }
            let Some(connection) = self.connection(&node) else {
                not_sent.extend(group.iter().map(|it| (it.request, node.clone())));
                continue;
            };
            let outcome = connection.send(&packed);
            self.counts.messages += 1;
            match outcome {
                Ok(()) => sent.push((node, group)),
                Err(_) => self.lose(&node),
            }
        }
        for (node, group) in sent {
            if self
                .receive(&node, &group, extras, deadline, replies, again)
                .is_none()
            {
                self.lose(&node);
            }
        }
    }

    /// Reads the answers of a node. None if the connection breaks.
    fn receive(
        &mut self,
        node: &NodeAddress,
        group: &[Destination],
        extras: Extras,
        deadline: Instant,
        replies: &mut [Reply],
        again: &mut Vec<Destination>,
    ) -> Option<()> {
        let mut connection = self.nodes.remove(node)?;
        let mut answered = Vec::with_capacity(group.len());
        let time = |router: &mut Self, connection: &mut Node| -> Option<u64> {
            if !extras.times {
                return Some(0);
            }
            let answer = connection.receive(deadline).ok()?;
            match milliseconds(&answer) {
                Some(time) => Some(time),
                None => {
                    router.note(no_time(node, &answer));
                    Some(0)
                }
            }
        };
        let before = time(self, &mut connection)?;
        for destination in group {
            if destination.asking {
                connection.receive(deadline).ok()?;
            }
            match connection.receive(deadline).ok()? {
                Value::ServerError(error) => {
                    again.extend(self.redirect(node, destination, &error));
                }
                value => {
                    replies[destination.request].value = Some(value);
                    answered.push(destination.request);
                }
            }
        }
        let after = time(self, &mut connection)?;
        for &request in &answered {
            replies[request].times = (before, after);
        }
        if let Some(wait) = extras.wait {
            let answer = connection.receive(deadline + wait.timeout).ok()?;
            match wait.is_given_by(&answer) {
                Ok(acknowledged) => {
                    for request in answered {
                        replies[request].acknowledged = acknowledged;
                    }
                }
                Err(reason) => self.note(ClusterError::Refused {
                    node: node.name(),
                    reason,
                    hint: wait.hint(),
                }),
            }
        }
        self.nodes.insert(node.clone(), connection);
        Some(())
    }

    /// Decides what to do about an error of a node. Returns where the request goes next, if it is
    /// repeated.
    fn redirect(
        &mut self,
        node: &NodeAddress,
        destination: &Destination,
        error: &ServerError,
    ) -> Option<Destination> {
        let request = destination.request;
        match error.kind() {
            Some(kind @ (ServerErrorKind::Moved | ServerErrorKind::Ask)) => {
                let mut words = error.details()?.split_ascii_whitespace();
                let slot: u16 = words.next()?.parse().ok()?;
                let target = NodeAddress::parse(words.next()?, node)?;
                self.counts.redirections += 1;
                self.redirected = true;
                let asking = kind == ServerErrorKind::Ask;
                if !asking {
                    self.topology.set_owner(slot, target.clone());
                }
                Some(Destination {
                    request,
                    node: target,
                    asking,
                })
            }
            Some(ServerErrorKind::TryAgain) => Some(destination.clone()),
            _ if is_temporary(error) => {
                self.is_stale = true;
                None
            }
            _ => {
                self.note(refusal(&node.name(), &error.clone().into()));
                None
            }
        }
    }

    fn note(&mut self, error: ClusterError) {
        self.error.get_or_insert(error);
    }

    /// Returns a connection to a node; None if it cannot be reached.
    fn connection(&mut self, node: &NodeAddress) -> Option<&mut Node> {
        if self.nodes.get_mut(node).is_some_and(Node::is_usable) {
            return self.nodes.get_mut(node);
        }
        self.nodes.remove(node);
        if self
            .resting
            .get(node)
            .is_some_and(|until| Instant::now() < *until)
        {
            return None;
        }
        match self.access.connect(&node.host, node.port) {
            Ok(connection) => {
                self.resting.remove(node);
                Some(self.nodes.entry(node.clone()).or_insert(connection))
            }
            Err(error) => {
                if let ClusterError::Login { .. } = error {
                    self.note(error);
                }
                self.lose(node);
                None
            }
        }
    }

    /// Forgets a connection that broke, and leaves its node alone for a while.
    fn lose(&mut self, node: &NodeAddress) {
        self.nodes.remove(node);
        self.resting.insert(node.clone(), Instant::now() + REST);
        self.is_stale = true;
    }

    fn refresh_if_due(&mut self) -> bool {
        self.is_cluster && self.refreshed.elapsed() >= REFRESH && self.refresh()
    }

    /// Asks the nodes, one after the other, for the owners of the slots.
    pub fn refresh(&mut self) -> bool {
        self.refreshed = Instant::now();
        let known = self.topology.nodes.iter().chain([&self.seed]).cloned();
        let known: Vec<NodeAddress> = known.collect();
        let timeout = self.access.answer_timeout;
        for node in known {
            let Some(connection) = self.connection(&node) else {
                continue;
            };
            let answer = connection.call(redis::cmd("CLUSTER").arg("SLOTS"), timeout);
            let topology = answer.ok().and_then(|it| Topology::parse(&it, &node));
            match topology {
                Some(topology) if !topology.nodes.is_empty() => {
                    self.topology = topology;
                    // A node that owns nothing any more is not waited for.
                    let nodes = &self.topology.nodes;
                    self.resting.retain(|node, _| nodes.contains(node));
                    self.is_stale = !self.resting.is_empty();
                    return true;
                }
                _ => {}
            }
        }
        false
    }
}

/// Returns the text of an answer.
pub(crate) fn text(value: &Value) -> String {
    match value {
        Value::BulkString(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        Value::SimpleString(text) | Value::VerbatimString { text, .. } => text.clone(),
        _ => String::new(),
    }
}

/// Returns the time in an answer to `TIME`, in milliseconds since 1970.
pub(crate) fn milliseconds(answer: &Value) -> Option<u64> {
    let Value::Array(parts) = answer else {
        return None;
    };
    let part = |index: usize| text(parts.get(index)?).parse::<u64>().ok();
    Some(part(0)?.saturating_mul(1000) + part(1)? / 1000)
}

fn no_time(node: &NodeAddress, answer: &Value) -> ClusterError {
    match answer {
        Value::ServerError(error) => refusal(&node.name(), &error.clone().into()),
        _ => ClusterError::Refused {
            node: node.name(),
            reason: "no valid time to TIME".to_owned(),
            hint: "",
        },
    }
}

fn refusal(node: &str, error: &redis::RedisError) -> ClusterError {
    let reason = reason_of(error);
    let node = node.to_owned();
    if error.is_io_error() {
        return ClusterError::Connect { node, reason };
    }
    if reason.contains("NOAUTH") || reason.contains("WRONGPASS") {
        return ClusterError::Login { node, reason };
    }
    let hint = match error.code() {
        Some("OOM") => "; its memory is full: raise maxmemory, or add nodes and move slots to them",
        Some("NOPERM") => {
            "; the user needs the commands BITFIELD, SET, GET, DEL, SETRANGE, STRLEN, BITCOUNT, \
             GETRANGE, TYPE, EXISTS, PEXPIRE, PEXPIREAT, HINCRBY, HGETALL, TIME, INFO, CLUSTER and \
             WAIT on the keys dds:*"
        }
        Some("MISCONF") => "; it cannot write its snapshot, and so refuses to change anything",
        _ => "",
    };
    ClusterError::Refused { node, reason, hint }
}
