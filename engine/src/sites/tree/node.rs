//! The nodes of a tree: bits on one site or several, or timers in this process.

use crate::sites::traffic::position_bits;
use crate::sites::{Operation, Request, SiteFailure, SiteGroup, Traffic};

/// A node of a tree.
///
/// A node has cells, and a key has k positions among them. A cell is a bit, or it holds the time at
/// which it was last set. A key is at the node if all its cells are set and none is too old. Its
/// time is then the least of the times in its cells: the key was delivered at that time or earlier.
pub trait TreeNode {
    /// Whether cells hold times.
    const HOLDS_TIMES: bool;

    /// Returns the time of a key; None if it is not at this node.
    fn test(&mut self, positions: &[u64], now: u64) -> Result<Option<u64>, SiteFailure>;

    /// Sets the cells of a key to a time, unless they have a later one.
    fn set(&mut self, positions: &[u64], time: u64) -> Result<(), SiteFailure>;

    /// Does both without requests of others in between.
    fn test_and_set(&mut self, positions: &[u64], now: u64) -> Result<Option<u64>, SiteFailure>;

    /// Returns the messages that the node has received.
    fn traffic(&self) -> Traffic;
}

/// A node whose cells are bits, on one site or in slices of consecutive bits. Slices of bits
/// ("vertical") hold the same filter as one site, so they change no verdict.
#[derive(Clone, Debug)]
pub struct BitNode<G> {
    sites: G,
    /// The number of bits of each site except the last, which may have fewer.
    slice_bits: u64,
    round: Vec<Request>,
    traffic: Traffic,
}

impl<G: SiteGroup> BitNode<G> {
    /// Creates a node on these sites. Each has the bits of the first, except that the last may have
    /// fewer.
    pub fn new(sites: G) -> Self {
        BitNode {
            slice_bits: sites.site_bits(0).max(1),
            sites,
            round: Vec::new(),
            traffic: Traffic::default(),
        }
    }

    /// Returns the sites.
    pub fn sites(&self) -> &G {
        &self.sites
    }

    /// Returns the sites, for example to let one fail.
    pub fn sites_mut(&mut self) -> &mut G {
        &mut self.sites
    }

    /// Sends one request to each site that has a bit of the key. Returns whether all bits were set.
    fn exchange(&mut self, operation: Operation, positions: &[u64]) -> Result<bool, SiteFailure> {
        self.round.clear();
        for &position in positions {
            let site = (position / self.slice_bits) as usize;
            let offset = position % self.slice_bits;
            match self.round.iter_mut().find(|request| request.site == site) {
                Some(request) => request.positions.push(offset),
                None => self.round.push(Request {
                    positions: vec![offset],
                    ..Request::new(site, operation)
                }),
            }
        }
        self.sites.exchange(&mut self.round);
        let mut outcome = Ok(true);
        for request in &self.round {
            let site_bits = self.sites.site_bits(request.site);
            let answered = request.outcome.is_ok();
            (self.traffic).count(operation, request.positions.len(), site_bits, answered);
            let all_set = request.was_set.iter().all(|&was_set| was_set);
            outcome = outcome.and_then(|so_far| request.outcome.map(|()| so_far && all_set));
        }
        outcome
    }
}

impl<G: SiteGroup> TreeNode for BitNode<G> {
    const HOLDS_TIMES: bool = false;

    fn test(&mut self, positions: &[u64], _: u64) -> Result<Option<u64>, SiteFailure> {
        let found = self.exchange(Operation::Test, positions)?;
        Ok(found.then_some(0))
    }

    fn set(&mut self, positions: &[u64], _: u64) -> Result<(), SiteFailure> {
        self.exchange(Operation::Set, positions).map(|_| ())
    }

    fn test_and_set(&mut self, positions: &[u64], _: u64) -> Result<Option<u64>, SiteFailure> {
        let found = self.exchange(Operation::TestAndSet, positions)?;
        Ok(found.then_some(0))
    }

    fn traffic(&self) -> Traffic {
        self.traffic
    }
}

/// A node whose cells hold times.
#[derive(Clone, Debug)]
pub struct TimerNode {
    /// The time plus one; 0 in an empty cell.
    cells: Vec<u64>,
    span: u64,
    traffic: Traffic,
}

impl TimerNode {
    /// Creates a node with empty cells. A key is remembered for `span` units of time.
    pub fn new(cells: u64, span: u64) -> Self {
        TimerNode {
            cells: vec![0; cells as usize],
            span,
            traffic: Traffic::default(),
        }
    }

    fn count(&mut self, operation: Operation, positions: usize) {
        let cells = self.cells.len() as u64;
        self.traffic.count(operation, positions, cells, true);
        if operation != Operation::Test {
            // A set carries its age in the window.
            let ages = self.span.saturating_add(1);
            self.traffic.bits += u64::from(position_bits(ages));
        }
    }

    fn least(&self, positions: &[u64], now: u64) -> Option<u64> {
        let cells = positions.iter().map(|&at| self.cells[at as usize]);
        let least = cells.min().unwrap_or(0);
        (least > 0 && (now + 1).saturating_sub(least) < self.span).then(|| least - 1)
    }

    fn raise(&mut self, positions: &[u64], time: u64) {
        for &position in positions {
            let cell = &mut self.cells[position as usize];
            *cell = (*cell).max(time + 1);
        }
    }
}

impl TreeNode for TimerNode {
    const HOLDS_TIMES: bool = true;

    fn test(&mut self, positions: &[u64], now: u64) -> Result<Option<u64>, SiteFailure> {
        self.count(Operation::Test, positions.len());
        Ok(self.least(positions, now))
    }

    fn set(&mut self, positions: &[u64], time: u64) -> Result<(), SiteFailure> {
        self.count(Operation::Set, positions.len());
        self.raise(positions, time);
        Ok(())
    }

    fn test_and_set(&mut self, positions: &[u64], now: u64) -> Result<Option<u64>, SiteFailure> {
        self.count(Operation::TestAndSet, positions.len());
        let found = self.least(positions, now);
        if found.is_none() {
            self.raise(positions, now);
        }
        Ok(found)
    }

    fn traffic(&self) -> Traffic {
        self.traffic
    }
}
