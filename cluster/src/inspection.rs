//! The present state of a store: slices, nodes, fill, messages, failures.

use dedupstore::sites::SiteFailure;
use redis::Value;

use crate::counters::Counters;
use crate::error::ClusterError;
use crate::layout::{HEADER_BITS, Layout, RedisKey, generation_key};
use crate::store::ClusterStore;
use crate::window::Window;

/// How many bytes of a slice are read to estimate its fill, in pieces.
const SAMPLE_PIECES: u64 = 4;
const PIECE_BYTES: u64 = 16 << 10;

/// The present state of a store.
#[derive(Clone, Debug)]
pub struct Inspection {
    /// What is recorded about the store.
    pub layout: Layout,
    /// Whether the nodes are a cluster.
    pub is_cluster: bool,
    /// The addresses of the nodes that own hash slots.
    pub nodes: Vec<String>,
    /// The slices.
    pub slices: Vec<SliceReport>,
    /// The counts of all clients; None if they cannot be read.
    pub counters: Option<Counters>,
}

/// The present state of a slice.
#[derive(Clone, Debug)]
pub struct SliceReport {
    /// The Redis key.
    pub key: String,
    /// The node that owns it.
    pub node: String,
    /// Its size.
    pub bytes: u64,
    /// Why it has failed, if it has.
    pub failure: Option<SiteFailure>,
    /// The share of its cells that are in use, from a sample. None if it has failed.
    pub fill: Option<f64>,
    /// The chance that a new key is dropped, from the same sample.
    pub false_positive_rate: Option<f64>,
}

impl Inspection {
    /// Returns the share of cells in use, over the slices that answer.
    pub fn fill(&self) -> Option<f64> {
        let fills: Vec<f64> = self.slices.iter().filter_map(|slice| slice.fill).collect();
        (!fills.is_empty()).then(|| fills.iter().sum::<f64>() / fills.len() as f64)
    }

    /// Returns the chance that a new key is dropped: the mean of the slices that answer.
    pub fn false_positive_rate(&self) -> Option<f64> {
        let rates = self.slices.iter().filter_map(|it| it.false_positive_rate);
        let rates: Vec<f64> = rates.collect();
        (!rates.is_empty()).then(|| rates.iter().sum::<f64>() / rates.len() as f64)
    }
}

impl ClusterStore {
    /// Returns the present state. Reads a sample of each slice.
    pub fn inspect(&mut self) -> Result<Inspection, ClusterError> {
        self.slices.router.refresh();
        let states = self.slices.states();
        self.slices.check()?;
        let mut slices = Vec::with_capacity(states.len());
        for (site, state) in states.into_iter().enumerate() {
            let key = self.slices.keys[site].clone();
            let fills = match state {
                Ok(()) => self.sampled_fills(site)?,
                Err(_) => Vec::new(),
            };
            let rate = |fill: &f64| {
                let per_cell = fill / self.slices.plan.values() as f64;
                per_cell.powi(self.slices.plan.cells_per_key() as i32)
            };
            let is_known = !fills.is_empty();
            let bytes = (self.slices.plan.site_bits(site) + HEADER_BITS).div_ceil(8) + 1;
            slices.push(SliceReport {
                node: self.slices.router.owner(key.slot),
                bytes: bytes * self.layout.window.map_or(1, Window::generations),
                failure: state.err(),
                fill: is_known.then(|| fills.iter().sum::<f64>() / fills.len() as f64),
                // A key is dropped if one of the generations seems to have it.
                false_positive_rate: is_known
                    .then(|| 1.0 - fills.iter().map(|fill| 1.0 - rate(fill)).product::<f64>()),
                key: key.text,
            });
        }
        Ok(Inspection {
            layout: self.layout.clone(),
            is_cluster: self.slices.router.is_cluster,
            nodes: self
                .slices
                .router
                .nodes()
                .iter()
                .map(|it| it.name())
                .collect(),
            slices,
            counters: self.recorded_counters(),
        })
    }

    /// Estimates the share of cells that are in use: of a slice, or of each of its generations. Empty
    /// if its node does not answer.
    fn sampled_fills(&mut self, site: usize) -> Result<Vec<f64>, ClusterError> {
        let slice = self.slices.keys[site].clone();
        let (keys, header_bits) = match self.layout.window {
            None => (vec![slice], HEADER_BITS),
            Some(_) => {
                let live = self.slices.live_generations(site).into_iter();
                (live.map(|step| generation_key(&slice, step)).collect(), 0)
            }
        };
        let fills = keys
            .iter()
            .map(|key| self.sampled_fill(key, site, header_bits));
        let fills: Result<Vec<Option<f64>>, ClusterError> = fills.collect();
        Ok(fills?
            .into_iter()
            .collect::<Option<Vec<f64>>>()
            .unwrap_or_default())
    }

    /// Estimates the share of the cells behind a header that are in use.
    fn sampled_fill(
        &mut self,
        key: &RedisKey,
        site: usize,
        header_bits: u64,
    ) -> Result<Option<f64>, ClusterError> {
        let cell_bits = u64::from(self.slices.plan.cell_bits());
        let cells = self.slices.plan.site_bits(site) / cell_bits;
        // A multiple of 8 cells begins at a byte.
        let piece_cells = (PIECE_BYTES * 8 / cell_bits) & !7;
        let pieces = match cells <= SAMPLE_PIECES * piece_cells {
            true => vec![(0, cells)],
            false => (0..SAMPLE_PIECES)
                .map(|piece| {
                    (
                        ((cells - piece_cells) / (SAMPLE_PIECES - 1) * piece) & !7,
                        piece_cells,
                    )
                })
                .collect(),
        };
        let (mut used, mut counted) = (0, 0);
        for (first, count) in pieces {
            let start = (header_bits + first * cell_bits) / 8;
            let end = (header_bits + (first + count) * cell_bits).div_ceil(8);
            let mut command = redis::cmd("GETRANGE");
            command.arg(&key.text).arg(start).arg(end - 1);
            let reply = self.slices.send([(key.slot, command)], None).pop();
            self.slices.check()?;
            let Some(Value::BulkString(bytes)) = reply.and_then(|reply| reply.value) else {
                return Ok(None);
            };
            used += used_cells(&bytes, cell_bits as usize, count as usize);
            counted += count;
        }
        Ok((counted > 0).then(|| used as f64 / counted as f64))
    }
}

/// Counts cells that are not zero. Redis numbers bits from the highest of a byte.
fn used_cells(bytes: &[u8], cell_bits: usize, count: usize) -> u64 {
    if cell_bits == 1 {
        return bytes.iter().map(|byte| u64::from(byte.count_ones())).sum();
    }
    let bit = |at: usize| {
        bytes
            .get(at / 8)
            .is_some_and(|byte| byte & (0x80 >> (at % 8)) != 0)
    };
    let is_used = |cell: &usize| (cell * cell_bits..(cell + 1) * cell_bits).any(bit);
    (0..count).filter(is_used).count() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_in_use_are_counted() {
        assert_eq!(used_cells(&[0b1010_0000, 1], 1, 16), 3);
        assert_eq!(used_cells(&[0, 0, 0, 1, 0xff, 0], 16, 3), 2);
        assert_eq!(used_cells(&[0b0010_0100, 0], 3, 5), 2);
    }
}
