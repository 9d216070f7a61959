//! The requests of one round: the bits of several keys, grouped by site.

use std::collections::BTreeSet;
use std::ops::Range;

use super::slice_plan::SiteBit;
use super::{Operation, Request, SiteVerdict, Tally};

/// Requests to sites, at most one per site, in the order in which sites were first needed.
///
/// Requests are kept after a round, so that their memory is reused.
#[derive(Clone, Debug)]
pub(super) struct Round {
    operation: Operation,
    requests: Vec<Request>,
    /// For each request, the number of positions of each key: one message each.
    positions_per_key: Vec<Vec<u32>>,
    used: usize,
    /// The request of each site, if it is below `used` and of this site.
    request_of: Vec<usize>,
    /// The request and the index of each bit, in the order of the keys.
    places: Vec<(usize, usize)>,
    /// The number of keys.
    keys: usize,
    /// For each request, the number of its last key.
    last_key: Vec<usize>,
}

/// A request with the sizes of its messages.
pub(super) struct Sent<'a> {
    pub request: &'a Request,
    pub positions_per_key: &'a [u32],
}

impl Round {
    pub fn new(sites: usize) -> Self {
        Round {
            operation: Operation::Test,
            requests: Vec::new(),
            positions_per_key: Vec::new(),
            used: 0,
            request_of: vec![usize::MAX; sites],
            places: Vec::new(),
            keys: 0,
            last_key: Vec::new(),
        }
    }

    /// Forgets the requests and starts new ones.
    pub fn start(&mut self, operation: Operation) {
        self.operation = operation;
        self.used = 0;
        self.places.clear();
        self.keys = 0;
    }

    /// Adds the bits of a key.
    pub fn add_key(&mut self, bits: impl Iterator<Item = SiteBit>) {
        self.keys += 1;
        for bit in bits {
            let index = self.request_index(bit.site);
            let request = &mut self.requests[index];
            self.places.push((index, request.positions.len()));
            request.positions.push(bit.position);
            let sizes = &mut self.positions_per_key[index];
            match sizes.last_mut() {
                Some(size) if self.last_key[index] == self.keys => *size += 1,
                _ => sizes.push(1),
            }
            self.last_key[index] = self.keys;
        }
    }

    fn request_index(&mut self, site: usize) -> usize {
        let known = self.request_of[site];
        if known < self.used && self.requests[known].site == site {
            return known;
        }
        let index = self.used;
        if index == self.requests.len() {
            self.requests.push(Request::new(site, self.operation));
            self.positions_per_key.push(Vec::new());
            self.last_key.push(0);
        }
        let request = &mut self.requests[index];
        request.site = site;
        request.operation = self.operation;
        request.positions.clear();
        request.was_set.clear();
        request.outcome = Ok(());
        self.positions_per_key[index].clear();
        self.last_key[index] = 0;
        self.request_of[site] = index;
        self.used += 1;
        index
    }

    /// Returns the number of requests.
    pub fn len(&self) -> usize {
        self.used
    }

    pub fn requests_mut(&mut self, range: Range<usize>) -> &mut [Request] {
        &mut self.requests[range]
    }

    /// Changes what the requests from `first` on do.
    pub fn change_operation(&mut self, first: usize, operation: Operation) {
        for request in &mut self.requests[first..self.used] {
            request.operation = operation;
        }
    }

    pub fn sent(&self, range: Range<usize>) -> impl Iterator<Item = Sent<'_>> {
        range.map(|index| Sent {
            request: &self.requests[index],
            positions_per_key: &self.positions_per_key[index],
        })
    }

    /// Returns what some requests of a round for a single key have found.
    pub fn tally_of(&self, range: Range<usize>) -> Tally {
        let mut tally = Tally::default();
        for request in &self.requests[range] {
            match request.outcome {
                Ok(()) => request.was_set.iter().for_each(|&set| tally.count(set)),
                Err(_) => tally.failed += request.positions.len() as u32,
            }
        }
        tally
    }

    /// Returns what was found for each key. All keys must have k bits.
    pub fn tallies(&self, k: u32) -> impl Iterator<Item = Tally> {
        self.places.chunks(k as usize).map(|places| {
            let mut tally = Tally::default();
            for &(request, index) in places {
                match self.requests[request].outcome {
                    Ok(()) => tally.count(self.requests[request].was_set[index]),
                    Err(_) => tally.failed += 1,
                }
            }
            tally
        })
    }

    /// Decides about the keys of a round of tests as if each New key had been recorded before the
    /// next one was tested. All keys must have k bits.
    pub fn decide_in_order(
        &self,
        k: u32,
        decide: impl Fn(Tally) -> SiteVerdict,
        verdicts: &mut Vec<SiteVerdict>,
    ) {
        let mut recorded: BTreeSet<(usize, u64)> = BTreeSet::new();
        for (places, mut tally) in self.places.chunks(k as usize).zip(self.tallies(k)) {
            let live = places.iter().filter_map(|&(request, index)| {
                let request = &self.requests[request];
                let bit = (request.site, *request.positions.get(index)?);
                (!*request.was_set.get(index)?).then_some(bit)
            });
            for bit in live.clone() {
                if recorded.contains(&bit) {
                    tally.clear -= 1;
                    tally.set += 1;
                }
            }
            let verdict = decide(tally);
            if verdict.is_new() {
                recorded.extend(live);
            }
            verdicts.push(verdict);
        }
    }
}
