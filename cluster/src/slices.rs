//! The slices of a store: one Redis string each, asked by `BITFIELD`.
//!
//! A slice begins with a header of 64 bits, the identifier of the store. Each request reads it, in
//! the same command that tests or sets cells. A node that has lost its memory answers with another
//! header; then the slice has failed, and its clear cells are not taken for new keys.

use std::time::Duration;

use dedupstore::Fingerprint;
use dedupstore::sites::{Operation, Request, SiteFailure, SiteGroup};
use redis::{Cmd, Value};

use crate::cell_plan::CellPlan;
use crate::durability::Acknowledgement;
use crate::error::ClusterError;
use crate::generations::Generations;
use crate::layout::{HEADER_BITS, RedisKey, claim_key, slice_key};
use crate::router::{Extras, Reply, Routed, Router};
use crate::window::Window;

/// How long claims last, and whose they are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ClaimTerms {
    pub lifetime: Duration,
    /// What is recorded with a claim, so that the same owner is granted it again.
    pub owner: Option<u64>,
}

impl Default for ClaimTerms {
    fn default() -> Self {
        ClaimTerms {
            lifetime: Duration::from_secs(60),
            owner: None,
        }
    }
}

/// A request to one slice, with its answer.
#[derive(Clone, Debug)]
pub(crate) struct SliceRequest {
    pub site: usize,
    pub operation: Operation,
    /// Offsets in bits, and values.
    pub cells: Vec<(u64, u64)>,
    /// For each cell, whether it had its value before. Empty if the slice failed.
    pub matched: Vec<bool>,
    pub outcome: Result<(), SiteFailure>,
    pub acknowledged: bool,
    /// With a window, for how many keys cells were set in a message after the one that tested them.
    pub sets: u64,
}

impl SliceRequest {
    pub fn new(site: usize, operation: Operation) -> Self {
        SliceRequest {
            site,
            operation,
            cells: Vec::new(),
            matched: Vec::new(),
            outcome: Ok(()),
            acknowledged: false,
            sets: 0,
        }
    }
}

/// The slices of a store, on the nodes of a cluster. It implements the engine's [`SiteGroup`], so
/// that a [`SlicedFilter`](dedupstore::sites::SlicedFilter) can use it.
pub struct Slices {
    pub(crate) router: Router,
    pub(crate) name: String,
    pub(crate) keys: Vec<RedisKey>,
    pub(crate) plan: CellPlan,
    pub(crate) id: u64,
    pub(crate) cell_type: String,
    pub(crate) claims: ClaimTerms,
    /// The generations of the slices, if the store has a window.
    pub(crate) generations: Option<Generations>,
    /// A refusal that has not been reported yet.
    error: Option<ClusterError>,
}

impl Slices {
    pub(crate) fn new(
        router: Router,
        name: &str,
        id: u64,
        plan: CellPlan,
        window: Option<Window>,
    ) -> Self {
        let sites = plan.sites() as u64;
        Slices {
            router,
            name: name.to_owned(),
            keys: (0..sites)
                .map(|site| slice_key(name, site, sites))
                .collect(),
            plan,
            id,
            cell_type: format!("u{}", plan.cell_bits()),
            generations: window.map(|window| Generations::new(window, plan.sites())),
            claims: ClaimTerms::default(),
            error: None,
        }
    }

    /// Fails if a node refused a request since the last call.
    pub fn check(&mut self) -> Result<(), ClusterError> {
        match self.error.take() {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }

    /// Sends commands about keys and returns the answers.
    pub(crate) fn send(
        &mut self,
        commands: impl IntoIterator<Item = (u16, Cmd)>,
        wait: Option<Acknowledgement>,
    ) -> Vec<Reply> {
        self.send_with(commands, Extras { wait, times: false })
    }

    /// Sends commands about keys and returns the answers with the clocks of the nodes.
    pub(crate) fn send_timed(
        &mut self,
        commands: impl IntoIterator<Item = (u16, Cmd)>,
        wait: Option<Acknowledgement>,
    ) -> Vec<Reply> {
        self.send_with(commands, Extras { wait, times: true })
    }

    fn send_with(
        &mut self,
        commands: impl IntoIterator<Item = (u16, Cmd)>,
        extras: Extras,
    ) -> Vec<Reply> {
        let pack = |(slot, command): (u16, Cmd)| Routed {
            slot,
            packed: command.get_packed_command(),
        };
        let routed: Vec<Routed> = commands.into_iter().map(pack).collect();
        let replies = self.router.exchange(&routed, extras);
        if let Some(error) = self.router.take_error() {
            self.error.get_or_insert(error);
        }
        replies
    }

    /// Sends all requests, one message per node, and records the answers.
    pub(crate) fn exchange_cells(
        &mut self,
        requests: &mut [SliceRequest],
        wait: Option<Acknowledgement>,
    ) {
        let wait = wait.filter(|_| requests.iter().any(|it| it.operation != Operation::Test));
        if self.generations.is_some() {
            return self.exchange_in_window(requests, wait);
        }
        let commands: Vec<(u16, Cmd)> = requests.iter().map(|it| self.command(it)).collect();
        let replies = self.send(commands, wait);
        for (request, reply) in requests.iter_mut().zip(replies) {
            request.acknowledged = reply.acknowledged || wait.is_none();
            request.matched.clear();
            request.outcome = match reply.value {
                None => Err(SiteFailure::Unavailable),
                Some(value) => self.read(&value, request),
            };
            if request.outcome.is_err() {
                request.matched.clear();
            }
        }
    }

    fn command(&self, request: &SliceRequest) -> (u16, Cmd) {
        let key = &self.keys[request.site];
        let mut command = redis::cmd("BITFIELD");
        command.arg(&key.text).arg("GET").arg("i64").arg(0);
        for &(offset, value) in &request.cells {
            let offset = HEADER_BITS + offset;
            match request.operation {
                Operation::Test => {
                    command.arg("GET").arg(&self.cell_type).arg(offset);
                }
                Operation::Set | Operation::TestAndSet => {
                    let set = command.arg("SET").arg(&self.cell_type);
                    set.arg(offset).arg(value);
                }
            }
        }
        (key.slot, command)
    }

    /// Reads an answer: the header, and the values that cells had.
    fn read(&self, answer: &Value, request: &mut SliceRequest) -> Result<(), SiteFailure> {
        let Value::Array(values) = answer else {
            return Err(SiteFailure::Unavailable);
        };
        let Some((Value::Int(header), values)) = values.split_first() else {
            return Err(SiteFailure::Unavailable);
        };
        if *header != self.id as i64 {
            return Err(SiteFailure::Empty);
        }
        let cells = request.cells.iter().zip(values);
        let matched = cells.map(|((_, value), found)| *found == Value::Int(*value as i64));
        request.matched.extend(matched);
        match request.matched.len() == request.cells.len() {
            true => Ok(()),
            false => Err(SiteFailure::Unavailable),
        }
    }

    /// Returns whether each slice answers and has its header.
    pub(crate) fn states(&mut self) -> Vec<Result<(), SiteFailure>> {
        let request = |site| SliceRequest::new(site, Operation::Test);
        let mut requests: Vec<SliceRequest> = (0..self.plan.sites()).map(request).collect();
        self.exchange_cells(&mut requests, None);
        requests.into_iter().map(|it| it.outcome).collect()
    }

    /// Gives a slice its full length; the content stays. It stays failed until [`mark`](Self::mark).
    pub(crate) fn prepare(&self, site: usize) -> (u16, Cmd) {
        if self.generations.is_some() {
            // There is only the header; the generations come later.
            let key = &self.keys[site];
            return (key.slot, redis::cmd("EXISTS").arg(&key.text).clone());
        }
        let bits = self.plan.site_bits(site) + HEADER_BITS;
        let last_byte = bits.div_ceil(8);
        let key = &self.keys[site];
        // One byte behind the cells: it is never used, so what is there is not overwritten.
        let mut command = redis::cmd("SETRANGE");
        command.arg(&key.text).arg(last_byte).arg(&b"\0"[..]);
        (key.slot, command)
    }

    /// Writes the header of a slice: from now on it is believed.
    pub(crate) fn mark(&self, site: usize) -> (u16, Cmd) {
        let key = &self.keys[site];
        let mut command = redis::cmd("BITFIELD");
        command
            .arg(&key.text)
            .arg("SET")
            .arg("i64")
            .arg(0)
            .arg(self.id);
        (key.slot, command)
    }

    /// Claims a key at a slice. The answer is OK, or nil if another producer holds the claim.
    pub(crate) fn claim_command(&self, site: usize, key: Fingerprint) -> (u16, Cmd) {
        let claim = claim_key(&self.name, self.keys[site].slot, key.0);
        let mut command = redis::cmd("SET");
        let owner = self.claims.owner.unwrap_or(1);
        let command = command.arg(&claim.text).arg(owner).arg("NX").arg("PX");
        (claim.slot, command.arg(self.claim_milliseconds()).clone())
    }

    /// Asks for the owner of a claim at a slice.
    pub(crate) fn owner_command(&self, site: usize, key: Fingerprint) -> (u16, Cmd) {
        let claim = claim_key(&self.name, self.keys[site].slot, key.0);
        (claim.slot, redis::cmd("GET").arg(&claim.text).clone())
    }

    /// Lets a claim at a slice last longer.
    pub(crate) fn renewal_command(&self, site: usize, key: Fingerprint) -> (u16, Cmd) {
        let claim = claim_key(&self.name, self.keys[site].slot, key.0);
        let mut command = redis::cmd("PEXPIRE");
        command.arg(&claim.text).arg(self.claim_milliseconds());
        (claim.slot, command)
    }

    fn claim_milliseconds(&self) -> u64 {
        (self.claims.lifetime.as_millis() as u64).max(1)
    }

    /// Gives up a claim at a slice.
    pub(crate) fn release_command(&self, site: usize, key: Fingerprint) -> (u16, Cmd) {
        let claim = claim_key(&self.name, self.keys[site].slot, key.0);
        (claim.slot, redis::cmd("DEL").arg(&claim.text).clone())
    }
}

/// Only for a Bloom filter: a position is a bit.
impl SiteGroup for Slices {
    fn site_count(&self) -> usize {
        self.plan.sites()
    }

    fn site_bits(&self, site: usize) -> u64 {
        self.plan.site_bits(site)
    }

    fn exchange(&mut self, round: &mut [Request]) {
        let request = |it: &Request| SliceRequest {
            cells: it.positions.iter().map(|&position| (position, 1)).collect(),
            ..SliceRequest::new(it.site, it.operation)
        };
        let mut requests: Vec<SliceRequest> = round.iter().map(request).collect();
        self.exchange_cells(&mut requests, None);
        for (request, answered) in round.iter_mut().zip(requests) {
            request.outcome = answered.outcome;
            request.was_set = match request.operation {
                Operation::Set => Vec::new(),
                Operation::Test | Operation::TestAndSet => answered.matched,
            };
        }
    }

    fn claim(&mut self, site: usize, key: Fingerprint) -> Result<bool, SiteFailure> {
        let command = self.claim_command(site, key);
        match self
            .send([command], None)
            .pop()
            .and_then(|reply| reply.value)
        {
            Some(value) => Ok(value == Value::Okay),
            None => Err(SiteFailure::Unavailable),
        }
    }

    fn release(&mut self, site: usize, key: Fingerprint) -> Result<(), SiteFailure> {
        let command = self.release_command(site, key);
        match self
            .send([command], None)
            .pop()
            .and_then(|reply| reply.value)
        {
            Some(_) => Ok(()),
            None => Err(SiteFailure::Unavailable),
        }
    }
}
