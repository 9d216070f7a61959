//! Which node serves which hash slots.

use redis::Value;

use crate::address::node_name;
use crate::hash_slot::SLOTS;

/// The address of a node.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct NodeAddress {
    pub host: String,
    pub port: u16,
}

impl NodeAddress {
    pub fn name(&self) -> String {
        node_name(&self.host, self.port)
    }

    /// Parses `host:port`, as in a redirection. An empty host is that of the node that answered.
    pub fn parse(text: &str, asked: &NodeAddress) -> Option<Self> {
        let (host, port) = text.rsplit_once(':')?;
        let host = match host {
            "" => &asked.host,
            host => host,
        };
        Some(NodeAddress {
            host: host.to_owned(),
            port: port.parse().ok()?,
        })
    }
}

/// The owner of each hash slot.
#[derive(Clone, Debug)]
pub(crate) struct Topology {
    /// The masters.
    pub nodes: Vec<NodeAddress>,
    /// The index of the owner of each slot.
    owners: Vec<Option<u16>>,
}

impl Topology {
    /// Returns a topology in which one node has all slots: a Redis that is no cluster.
    pub fn single(node: NodeAddress) -> Self {
        Topology {
            nodes: vec![node],
            owners: vec![Some(0); usize::from(SLOTS)],
        }
    }

    /// Reads the answer to `CLUSTER SLOTS` of a node. None if it has another form.
    pub fn parse(answer: &Value, asked: &NodeAddress) -> Option<Self> {
        let mut topology = Topology {
            nodes: Vec::new(),
            owners: vec![None; usize::from(SLOTS)],
        };
        let ranges = array(answer)?;
        // More than this, only a hostile node sends: each range costs time for the nodes before it.
        if ranges.len() > usize::from(SLOTS) {
            return None;
        }
        for range in ranges {
            let [Value::Int(first), Value::Int(last), master, ..] = array(range)? else {
                return None;
            };
            let [host, Value::Int(port), ..] = array(master)? else {
                return None;
            };
            let host = match host {
                Value::BulkString(host) => String::from_utf8(host.clone()).ok()?,
                // A node that does not know its own address.
                _ => String::new(),
            };
            let node = NodeAddress {
                host: match host.as_str() {
                    "" | "?" => asked.host.clone(),
                    _ => host,
                },
                port: u16::try_from(*port).ok()?,
            };
            let owner = topology.index_of(node);
            let range = usize::try_from(*first).ok()?..=usize::try_from(*last).ok()?;
            topology.owners.get_mut(range)?.fill(Some(owner));
        }
        Some(topology)
    }

    fn index_of(&mut self, node: NodeAddress) -> u16 {
        let index = match self.nodes.iter().position(|it| *it == node) {
            Some(index) => index,
            None => {
                self.nodes.push(node);
                self.nodes.len() - 1
            }
        };
        // There are no more nodes than slots.
        index as u16
    }

    /// Returns the owner of a slot.
    pub fn owner(&self, slot: u16) -> Option<&NodeAddress> {
        let index = self.owners.get(usize::from(slot)).copied().flatten()?;
        self.nodes.get(usize::from(index))
    }

    /// Records that a slot has moved to a node.
    pub fn set_owner(&mut self, slot: u16, node: NodeAddress) {
        let index = self.index_of(node);
        if let Some(owner) = self.owners.get_mut(usize::from(slot)) {
            *owner = Some(index);
        }
    }
}

fn array(value: &Value) -> Option<&[Value]> {
    match value {
        Value::Array(values) => Some(values),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(host: &str, port: u16) -> NodeAddress {
        NodeAddress {
            host: host.to_owned(),
            port,
        }
    }

    fn range(first: i64, last: i64, host: &str, port: i64) -> Value {
        let master = vec![Value::BulkString(host.into()), Value::Int(port)];
        let master = Value::Array(master);
        Value::Array(vec![Value::Int(first), Value::Int(last), master])
    }

    #[test]
    fn slots_have_the_owners_of_the_answer() {
        let asked = node("seed", 1);
        let answer = Value::Array(vec![range(0, 99, "a", 7000), range(100, 16_383, "", 7001)]);
        let mut topology = Topology::parse(&answer, &asked).expect("valid");
        assert_eq!(topology.owner(99), Some(&node("a", 7000)));
        assert_eq!(topology.owner(100), Some(&node("seed", 7001)));
        topology.set_owner(100, node("b", 7002));
        assert_eq!(topology.owner(100), Some(&node("b", 7002)));
        assert_eq!(topology.owner(101), Some(&node("seed", 7001)));
    }

    #[test]
    fn other_answers_are_refused() {
        let asked = node("seed", 1);
        for answer in [
            Value::Nil,
            Value::Array(vec![Value::Int(1)]),
            Value::Array(vec![range(0, 16_384, "a", 7000)]),
            Value::Array(vec![range(-1, 5, "a", 7000)]),
            Value::Array(vec![range(0, 5, "a", 70_000)]),
            Value::Array(vec![range(0, 5, "a", 7000); 16_385]),
        ] {
            assert!(Topology::parse(&answer, &asked).is_none(), "{answer:?}");
        }
        assert_eq!(NodeAddress::parse(":5", &asked), Some(node("seed", 5)));
        assert_eq!(NodeAddress::parse("nonsense", &asked), None);
    }
}
