//! A batch of keys as one request per slice, and what was found for each key.

use dedupstore::Fingerprint;
use dedupstore::sites::{Operation, Tally, Traffic};

use crate::cell_plan::CellPlan;
use crate::durability::Acknowledgement;
use crate::slices::{SliceRequest, Slices};

/// A batch of keys as one request per slice.
pub(crate) struct Batch {
    pub requests: Vec<SliceRequest>,
    /// For each key and each of its cells, the request and the index in it.
    places: Vec<(usize, usize)>,
    cells_per_key: usize,
}

impl Batch {
    /// Returns requests for the cells of all keys, in the order of the keys.
    pub fn new(
        plan: &CellPlan,
        keys: impl IntoIterator<Item = Fingerprint>,
        operation: Operation,
    ) -> Self {
        let mut request_of: Vec<Option<usize>> = vec![None; plan.sites()];
        let mut batch = Batch {
            requests: Vec::new(),
            places: Vec::new(),
            cells_per_key: plan.cells_per_key(),
        };
        for key in keys {
            plan.for_each_cell(key, |cell| {
                let request = *request_of[cell.site].get_or_insert_with(|| {
                    let request = SliceRequest::new(cell.site, operation);
                    batch.requests.push(request);
                    batch.requests.len() - 1
                });
                let cells = &mut batch.requests[request].cells;
                batch.places.push((request, cells.len()));
                cells.push((cell.offset_bits, cell.value));
            });
        }
        batch
    }

    /// Sends the requests, waits for the answers, and counts the messages of each slice.
    pub fn exchange(
        &mut self,
        slices: &mut Slices,
        wait: Option<Acknowledgement>,
        traffic: &mut [Traffic],
    ) {
        slices.exchange_cells(&mut self.requests, wait);
        // A message is one request about one key to one slice, as in the engine.
        let mut asked: Vec<(usize, usize)> = Vec::with_capacity(self.cells_per_key);
        for places in self.places.chunks(self.cells_per_key) {
            asked.clear();
            for &(request, _) in places {
                match asked.iter_mut().find(|(it, _)| *it == request) {
                    Some((_, cells)) => *cells += 1,
                    None => asked.push((request, 1)),
                }
            }
            for &(request, cells) in &asked {
                let request = &self.requests[request];
                let bits = slices.plan.site_bits(request.site);
                let answered = request.outcome.is_ok();
                traffic[request.site].count(request.operation, cells, bits, answered);
            }
        }
        // With a window, keys that are set have been tested in a message before.
        let observed = |it: &&SliceRequest| it.operation == Operation::TestAndSet;
        for request in self.requests.iter().filter(observed) {
            let (bits, answered) = (slices.plan.site_bits(request.site), request.outcome.is_ok());
            for _ in 0..request.sets {
                let traffic = &mut traffic[request.site];
                traffic.count(Operation::Set, self.cells_per_key, bits, answered);
            }
        }
    }

    /// Returns, for each key, what was found, and whether all of its slices acknowledged.
    pub fn tallies(&self) -> impl Iterator<Item = (Tally, bool)> + '_ {
        self.places.chunks(self.cells_per_key).map(|places| {
            let (mut tally, mut acknowledged) = (Tally::default(), true);
            for &(request, index) in places {
                let request = &self.requests[request];
                match request.outcome {
                    Ok(()) => tally.count(request.matched[index]),
                    Err(_) => tally.failed += 1,
                }
                acknowledged &= request.acknowledged;
            }
            (tally, acknowledged)
        })
    }

    /// Returns which slices failed.
    pub fn failed(&self, sites: usize) -> Vec<bool> {
        let mut failed = vec![false; sites];
        for request in &self.requests {
            failed[request.site] |= request.outcome.is_err();
        }
        failed
    }
}
