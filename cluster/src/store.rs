//! A store on Redis Cluster, Valkey, or one Redis.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::time::{SystemTime, UNIX_EPOCH};

use dedupstore::sites::{Operation, SiteFailure, SiteVerdict, Traffic};
use dedupstore::{Fingerprint, KeyHasher};
use redis::Value;

use crate::address::ClusterAddress;
use crate::batch::Batch;
use crate::counters::Counters;
use crate::durability::{Acknowledgement, Degrade};
use crate::error::ClusterError;
use crate::layout::{
    CreateOptions, Layout, Recording, RedisKey, counter_key, generation_key, layout_keys,
};
use crate::node::Access;
use crate::router::{Extras, Routed, Router, RouterCounts, text};
use crate::slices::Slices;

/// A store on Redis Cluster, Valkey, or one Redis: a client of it.
///
/// Any number of clients, on any machines, may use a store at the same time.
pub struct ClusterStore {
    pub(crate) address: ClusterAddress,
    pub(crate) layout: Layout,
    pub(crate) slices: Slices,
    pub(crate) traffic: Vec<Traffic>,
    pub(crate) counters: Counters,
    /// What of the counters the store knows.
    pub(crate) flushed: Counters,
    acknowledgement: Option<Acknowledgement>,
    degrade: Degrade,
}

impl ClusterStore {
    /// Creates a store and connects to it.
    pub fn create(
        address: &ClusterAddress,
        access: Access,
        options: &CreateOptions,
    ) -> Result<Self, ClusterError> {
        let random = RandomState::new().build_hasher().finish();
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let layout = Layout::of(options, random, now.map_or(0, |it| it.as_secs()))?;
        let router = Router::connect(access, &address.host, address.port)?;
        let slices = Slices::new(
            router,
            &address.name,
            layout.id,
            layout.plan()?,
            layout.window,
        );
        let mut store = ClusterStore::new(address.clone(), layout, slices);
        store.record_layout()?;
        match store.create_slices() {
            Ok(()) => Ok(store),
            Err(error) => {
                // Nobody can have used them: without all headers, the store is incomplete.
                store.remove();
                Err(error)
            }
        }
    }

    /// Connects to an existing store.
    pub fn open(address: &ClusterAddress, access: Access) -> Result<Self, ClusterError> {
        let mut router = Router::connect(access, &address.host, address.port)?;
        let layout = recorded_layout(&mut router, address)?;
        let slices = Slices::new(
            router,
            &address.name,
            layout.id,
            layout.plan()?,
            layout.window,
        );
        let mut store = ClusterStore::new(address.clone(), layout, slices);
        store.check_types()?;
        Ok(store)
    }

    fn new(address: ClusterAddress, layout: Layout, slices: Slices) -> Self {
        ClusterStore {
            traffic: vec![Traffic::default(); slices.plan.sites()],
            address,
            layout,
            slices,
            counters: Counters::default(),
            flushed: Counters::default(),
            acknowledgement: None,
            degrade: Degrade::default(),
        }
    }

    /// Returns the address, whose text form has no password.
    pub fn address(&self) -> &ClusterAddress {
        &self.address
    }

    /// Returns what is recorded about the store.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Returns the hasher of its keys.
    pub fn hasher(&self) -> KeyHasher {
        KeyHasher::new(self.layout.seed)
    }

    /// Returns the slices, as the engine's seam to sites. Only for a Bloom filter without a window.
    pub fn into_slices(self) -> Result<Slices, ClusterError> {
        match self.layout.window.is_none() && self.layout.filter.descriptor().name == "bloom" {
            true => Ok(self.slices),
            false => Err(ClusterError::Impossible(
                "only the slices of a Bloom filter without a window are sites".to_owned(),
            )),
        }
    }

    /// Returns the messages about keys that each slice has received from this client.
    pub fn traffic(&self) -> &[Traffic] {
        &self.traffic
    }

    /// Returns the messages to nodes of this client.
    pub fn router_counts(&self) -> RouterCounts {
        self.slices.router.counts
    }

    /// Returns the verdicts of this client so far.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Sets what must hold a recorded key before it counts as recorded, and what to do about keys
    /// for which that is not confirmed. By default the memory of the node is enough.
    pub fn set_acknowledgement(&mut self, wait: Option<Acknowledgement>, degrade: Degrade) {
        self.acknowledgement = wait;
        self.degrade = degrade;
    }

    /// Sets how long to wait for the answers to a batch.
    pub fn set_answer_timeout(&mut self, timeout: std::time::Duration) {
        self.slices.router.access_mut().answer_timeout = timeout;
    }

    fn record_layout(&mut self) -> Result<(), ClusterError> {
        let keys = layout_keys(&self.address.name);
        match recorded_layout(&mut self.slices.router, &self.address) {
            Err(ClusterError::NotFound { .. }) => {}
            Err(error) => return Err(error),
            Ok(_) => {
                let name = self.address.name.clone();
                return Err(ClusterError::Exists { name });
            }
        }
        self.check_types()?;
        let json = self.layout.to_json();
        for (index, key) in keys.iter().enumerate() {
            let command = redis::cmd("SET")
                .arg(&key.text)
                .arg(&json)
                .arg("NX")
                .clone();
            let reply = self.slices.send([(key.slot, command)], None).pop();
            self.slices.check()?;
            match reply.and_then(|reply| reply.value) {
                Some(Value::Okay) => {}
                // Another process creates a store of this name at the same time.
                Some(_) if index == 0 => {
                    let name = self.address.name.clone();
                    return Err(ClusterError::Exists { name });
                }
                Some(_) => {}
                None => {
                    self.remove();
                    return Err(self.unreachable(key.slot));
                }
            }
        }
        Ok(())
    }

    fn unreachable(&self, slot: u16) -> ClusterError {
        ClusterError::Connect {
            node: self.slices.router.owner(slot),
            reason: "it does not answer, and a store is created on all nodes".to_owned(),
        }
    }

    /// Fails if a key of a slice is there and holds something else than a string.
    fn check_types(&mut self) -> Result<(), ClusterError> {
        let keys = self.slices.keys.clone();
        let commands = keys
            .iter()
            .map(|key| (key.slot, redis::cmd("TYPE").arg(&key.text).clone()));
        let replies = self.slices.send(commands, None);
        self.slices.check()?;
        for (key, reply) in keys.into_iter().zip(replies) {
            let found = reply.value.as_ref().map(text).unwrap_or_default();
            if !matches!(found.as_str(), "" | "none" | "string") {
                let article = if found == "hash" || found == "list" {
                    "a"
                } else {
                    "a value of type"
                };
                return Err(ClusterError::InTheWay {
                    key: key.text,
                    found: format!("it holds {article} {found}, and a slice is a string"),
                });
            }
        }
        Ok(())
    }

    fn create_slices(&mut self) -> Result<(), ClusterError> {
        let sites = self.slices.plan.sites();
        let exists = |key: &RedisKey| (key.slot, redis::cmd("EXISTS").arg(&key.text).clone());
        let commands: Vec<_> = self.slices.keys.iter().map(exists).collect();
        let replies = self.slices.send(commands, None);
        for (site, reply) in replies.into_iter().enumerate() {
            if reply.value == Some(Value::Int(1)) {
                return Err(ClusterError::InTheWay {
                    key: self.slices.keys[site].text.clone(),
                    found: "it holds a string that no store of this name has recorded".to_owned(),
                });
            }
        }
        for step in [Slices::prepare, Slices::mark] {
            let commands: Vec<_> = (0..sites).map(|site| step(&self.slices, site)).collect();
            // One node after the other reserves much memory, so this may take longer than a batch.
            for command in commands {
                let slot = command.0;
                let reply = self.slices.send([command], None).pop();
                self.slices.check()?;
                if reply.is_none_or(|reply| reply.value.is_none()) {
                    return Err(self.unreachable(slot));
                }
            }
        }
        Ok(())
    }

    /// Deletes the slices and the layout, as far as their nodes answer.
    fn remove(&mut self) {
        let keys = layout_keys(&self.address.name).into_iter().rev();
        let keys = self.slices.keys.clone().into_iter().chain(keys);
        let commands = keys.map(|key| (key.slot, redis::cmd("DEL").arg(&key.text).clone()));
        self.slices.send(commands, None);
        // The error that is reported is the first one.
        let _ = self.slices.check();
    }

    /// Adds the counts of this client to those of the store, and ends.
    pub fn close(mut self) {
        self.flush_counters(true);
    }

    /// Deletes the store: its slices, counters and layout.
    pub fn delete(mut self) -> Result<(), ClusterError> {
        let key = counter_key(&self.address.name);
        let mut keys = vec![key];
        if self.slices.generations.is_some() {
            // Learns the clocks of the nodes.
            self.slices.states();
            for site in 0..self.slices.plan.sites() {
                let live = self.slices.live_generations(site);
                keys.extend(
                    live.into_iter()
                        .map(|step| generation_key(&self.slices.keys[site], step)),
                );
            }
        }
        let delete = |key: RedisKey| (key.slot, redis::cmd("DEL").arg(&key.text).clone());
        self.slices.send(keys.into_iter().map(delete), None);
        self.remove();
        self.slices.check()
    }

    /// Observes keys in their order: decides, and records those that are New. The verdicts are those
    /// of the engine's simulation of sites.
    pub fn observe_batch(
        &mut self,
        keys: &[Fingerprint],
        verdicts: &mut Vec<SiteVerdict>,
    ) -> Result<(), ClusterError> {
        match self.layout.recording {
            Recording::Atomic => self.test_and_set(keys, verdicts)?,
            Recording::Claim => self.observe_claimed(keys, verdicts)?,
        }
        self.counters.count(verdicts);
        self.flush_counters(false);
        Ok(())
    }

    /// Observes keys again whose verdict was Unknown. Unless it still is, the verdict is New, even
    /// if the key is found: the earlier attempt may have recorded it without an answer. So a key
    /// that is observed until it is not Unknown any more gets at least one New.
    pub fn retry_batch(
        &mut self,
        keys: &[Fingerprint],
        verdicts: &mut Vec<SiteVerdict>,
    ) -> Result<(), ClusterError> {
        self.observe_batch(keys, verdicts)?;
        for verdict in verdicts {
            if verdict.is_seen() {
                *verdict = SiteVerdict::New;
            }
        }
        Ok(())
    }

    /// Looks keys up without recording them.
    pub fn contains_batch(
        &mut self,
        keys: &[Fingerprint],
        verdicts: &mut Vec<SiteVerdict>,
    ) -> Result<(), ClusterError> {
        let batch = self.ask(keys, Operation::Test)?;
        verdicts.clear();
        verdicts.extend(
            batch
                .tallies()
                .map(|(tally, _)| self.layout.rule.decide(tally)),
        );
        Ok(())
    }

    /// Sends one request per slice for all keys.
    pub(crate) fn ask(
        &mut self,
        keys: &[Fingerprint],
        operation: Operation,
    ) -> Result<Batch, ClusterError> {
        let mut batch = Batch::new(&self.slices.plan, keys.iter().copied(), operation);
        batch.exchange(&mut self.slices, self.acknowledgement, &mut self.traffic);
        self.slices.check()?;
        Ok(batch)
    }

    /// Tests and sets the cells of all keys.
    pub(crate) fn test_and_set(
        &mut self,
        keys: &[Fingerprint],
        verdicts: &mut Vec<SiteVerdict>,
    ) -> Result<(), ClusterError> {
        let batch = self.ask(keys, Operation::TestAndSet)?;
        verdicts.clear();
        for (tally, acknowledged) in batch.tallies() {
            let verdict = self.layout.rule.decide(tally);
            verdicts.push(self.degraded(verdict, acknowledged || tally.failed > 0));
        }
        Ok(())
    }

    /// Returns the verdict of a key for which copies were not confirmed.
    pub(crate) fn degraded(&mut self, verdict: SiteVerdict, acknowledged: bool) -> SiteVerdict {
        if acknowledged || !verdict.is_new() {
            return verdict;
        }
        self.counters.unacknowledged += 1;
        match self.degrade {
            Degrade::Unknown => SiteVerdict::Unknown,
            Degrade::Count => verdict,
        }
    }

    /// Returns which slices fail, and why.
    pub fn failures(&mut self) -> Result<Vec<(usize, SiteFailure)>, ClusterError> {
        let states = self.slices.states();
        self.slices.check()?;
        let failed = states.into_iter().enumerate();
        Ok(failed
            .filter_map(|(site, it)| Some((site, it.err()?)))
            .collect())
    }

    /// Returns what about the servers endangers the store, one sentence each. A managed Redis may
    /// not tell; then there is none.
    pub fn warnings(&mut self) -> Vec<String> {
        let mut found: HashMap<String, Vec<String>> = HashMap::new();
        let is_cluster = self.slices.router.is_cluster;
        for node in self.slices.router.nodes() {
            // A Redis that is no cluster has settings of clusters as well.
            let settings = SETTINGS.into_iter();
            let settings = settings.filter(|(name, _)| is_cluster || !name.starts_with("cluster"));
            for (setting, wrong) in settings {
                let command = redis::cmd("CONFIG").arg("GET").arg(setting).clone();
                let Ok(Value::Array(values)) = self.slices.router.ask(&node, &command) else {
                    continue;
                };
                let value = values.get(1).map(text).unwrap_or_default();
                if value.starts_with(wrong) {
                    let nodes = found.entry(format!("{setting} {value}")).or_default();
                    nodes.push(node.name());
                }
            }
        }
        let mut warnings: Vec<String> = found
            .into_iter()
            .map(|(setting, nodes)| warning(&setting, &nodes.join(", ")))
            .collect();
        warnings.sort();
        warnings
    }
}

/// Settings of a server, and how values begin that endanger a store.
const SETTINGS: [(&str, &str); 2] = [
    ("cluster-require-full-coverage", "yes"),
    ("maxmemory-policy", "allkeys"),
];

fn warning(setting: &str, nodes: &str) -> String {
    match setting.starts_with("cluster") {
        true => format!(
            "{nodes}: {setting}: if one node fails, all nodes stop answering, and with them every \
             slice; to change that: redis-cli --cluster call HOST:PORT CONFIG SET \
             cluster-require-full-coverage no"
        ),
        false => format!(
            "{nodes}: {setting}: Redis may delete slices when its memory is full; use noeviction \
             or a volatile- policy"
        ),
    }
}

/// Reads the layout of a store from the first copy that answers.
fn recorded_layout(router: &mut Router, address: &ClusterAddress) -> Result<Layout, ClusterError> {
    let keys = layout_keys(&address.name);
    let request = |key: &RedisKey| Routed {
        slot: key.slot,
        packed: redis::cmd("GET").arg(&key.text).get_packed_command(),
    };
    let requests: Vec<Routed> = keys.iter().map(request).collect();
    let replies = router.exchange(&requests, Extras::default());
    let in_the_way = |key: &str| ClusterError::InTheWay {
        key: key.to_owned(),
        found: "it holds no string, and the layout of a store is one".to_owned(),
    };
    if let Some(error) = router.take_error() {
        return Err(match error {
            ClusterError::Refused { reason, .. } if reason.contains("WRONGTYPE") => {
                let missing = replies.iter().position(|reply| reply.value.is_none());
                in_the_way(&keys[missing.unwrap_or(0)].text)
            }
            error => error,
        });
    }
    let answered = replies.iter().filter_map(|reply| reply.value.as_ref());
    if answered.clone().count() == 0 {
        return Err(ClusterError::Connect {
            node: address.node(),
            reason: "no node with the layout of the store answers".to_owned(),
        });
    }
    for (key, reply) in keys.iter().zip(&replies) {
        if let Some(Value::BulkString(bytes)) = &reply.value {
            let layout = Layout::parse(&String::from_utf8_lossy(bytes));
            return layout.map_err(|reason| ClusterError::Layout {
                key: key.text.clone(),
                reason,
            });
        }
    }
    Err(ClusterError::NotFound {
        name: address.name.clone(),
        node: address.node(),
    })
}
