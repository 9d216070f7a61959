//! The cells with the least costs: how the schemes `min` and `min-priority` choose.
//!
//! The cost of a cell is its importance, or the sum of importance and priority. The first cells
//! stand in the [list](super::least_list), the others in the [index](super::minimum_index): each
//! cell from which the scheme deletes is in exactly one of them. A deletion takes cells from the
//! list. To fill it, the mark passes groups of 16 cells in the order of costs and numbers; which
//! groups have cells of the present cost is what the index knows.

use super::Registers;
use super::importance_cells::{ImportanceCells, Index, Scheme};
use super::index_levels::children;
use super::least_list::{CAPACITY, LeastList};
use super::minimum_index::{Costs, FANOUT, MinimumIndex, NEVER};
use crate::bytes::{read_u16, read_u32, write_u32};
use crate::region::Region;

impl ImportanceCells {
    /// Returns what a deletion from each of 16 cells costs; [`NEVER`] where there is no cell, or
    /// none from which the scheme deletes.
    #[inline(always)]
    fn costs(&self, region: &[u8], group: u64) -> Costs {
        let cells = children::<FANOUT>(group, self.cells());
        let count = (cells.end - cells.start) as usize;
        let at = self.importance_at + 2 * cells.start as usize;
        let importances = self.importances(&region[at..at + 2 * count]);
        if self.scheme() != Scheme::MinimumPriority {
            let values = self.counters.values_of(region, cells.start, count);
            return std::array::from_fn(|i| {
                let is_in_use = (i < count) & (values[i] != 0);
                importances[i] | if is_in_use { 0 } else { NEVER }
            });
        }
        let mut costs = [NEVER; FANOUT as usize];
        let at = self.priority_at + 4 * cells.start as usize;
        let priorities = region[at..at + 4 * count].chunks_exact(4);
        for ((cost, importance), priority) in costs.iter_mut().zip(importances).zip(priorities) {
            *cost = self.with_priority(importance, read_u32(priority, 0));
        }
        costs
    }

    /// Returns up to 16 numbers for importance, and 0 where there is none.
    #[inline(always)]
    fn importances(&self, bytes: &[u8]) -> Costs {
        // A whole group, of known length, is read with vector instructions.
        if let Ok(bytes) = <&[u8; 2 * FANOUT as usize]>::try_from(bytes) {
            return std::array::from_fn(|i| read_u16(bytes, 2 * i).into());
        }
        let mut all = [0; FANOUT as usize];
        for (one, bytes) in all.iter_mut().zip(bytes.chunks_exact(2)) {
            *one = read_u16(bytes, 0).into();
        }
        all
    }

    /// Returns what a deletion from a cell with this importance and priority costs.
    #[inline(always)]
    fn with_priority(&self, importance: u32, priority: u32) -> u32 {
        importance.saturating_add(priority).min(self.keys.most())
    }

    /// Returns the key of a cell with this value and importance in the list of the least; None if
    /// nothing is deleted from it.
    #[inline(always)]
    pub fn key(&self, region: &[u8], cell: u64, (value, importance): (u32, u16)) -> Option<u64> {
        let importance = u32::from(importance);
        let cost = match self.scheme() {
            Scheme::MinimumPriority => {
                let priority = read_u32(region, self.priority_at + 4 * cell as usize);
                self.with_priority(importance, priority)
            }
            _ if value == 0 => return None,
            _ => importance,
        };
        Some(self.keys.key(cost, cell))
    }

    /// Returns the cell of a key.
    #[inline(always)]
    pub fn cell_of(&self, key: u64) -> u64 {
        self.keys.cost_and_cell(key).1
    }

    /// Whether registers that were read from a file are possible.
    pub fn accepts(&self, registers: &Registers) -> bool {
        match self.index() {
            Index::Minimum(_) => LeastList::is_valid(registers, self.keys, self.cells()),
            Index::None | Index::Weighted(_) => true,
        }
    }

    /// Moves the mark up until the list has so many cells, is full, or holds all.
    #[inline(always)]
    pub fn fill_list<R: Region + ?Sized>(
        &self,
        region: &mut R,
        registers: &mut Registers,
        index: &MinimumIndex,
        count: usize,
    ) {
        let list = &mut LeastList(registers);
        while list.len() < count.min(CAPACITY) && list.mark() != u64::MAX {
            let (cost, from) = self.keys.cost_and_cell(list.mark());
            match index.next(region.bytes(), from / FANOUT, cost) {
                Some(group) => self.pass_group(region, list, index, group),
                None => {
                    // There is no such cost any more. The bounds say which one may be the next: none, or
                    // a higher one. In a damaged index they may say another one. The search ends
                    // there, because going through all costs would take minutes.
                    let least = index.least(region.bytes());
                    let is_next = cost < least && least <= self.keys.most();
                    list.set_mark(match is_next {
                        true => self.keys.key(least, 0),
                        false => u64::MAX,
                    });
                }
            }
        }
    }

    /// Moves the mark behind a group, and appends its cells of this cost to the list.
    #[inline(always)]
    fn pass_group<R: Region + ?Sized>(
        &self,
        region: &mut R,
        list: &mut LeastList<'_>,
        index: &MinimumIndex,
        group: u64,
    ) {
        let mark = list.mark();
        let (least, _) = self.keys.cost_and_cell(mark);
        let mut behind = self.keys.key(least, (group + 1) * FANOUT);
        let mut bound = NEVER;
        let costs = self.costs(region.bytes(), group);
        for (&cost, cell) in costs.iter().zip(group * FANOUT..) {
            let key = self.keys.key(cost, cell);
            if cost == NEVER || key < mark {
                // It is in the list already.
                continue;
            }
            if key < behind && !list.append(key) {
                behind = key;
            }
            if key >= behind {
                bound = bound.min(cost);
            }
        }
        index.set(region, group, bound);
        list.set_mark(behind);
    }

    /// Puts a cell where it belongs by its key: into the list or into the index.
    #[inline(always)]
    pub fn put<R: Region + ?Sized>(
        &self,
        region: &mut R,
        registers: &mut Registers,
        index: &MinimumIndex,
        key: u64,
    ) {
        let list = &mut LeastList(registers);
        let into_index = match key < list.mark() {
            true => list.insert(key),
            false => Some(key),
        };
        if let Some(key) = into_index {
            let (cost, cell) = self.keys.cost_and_cell(key);
            index.lower(region, cell / FANOUT, cost);
        }
    }

    /// Raises the priority of a cell: it is chosen later next time. Returns its key.
    #[inline(always)]
    pub fn raise_priority<R: Region + ?Sized>(&self, region: &mut R, cell: u64, by: u32) -> u64 {
        let at = self.priority_at + 4 * cell as usize;
        let bytes = region.bytes_mut(at..at + 4);
        let raised = read_u32(bytes, 0).saturating_add(by);
        write_u32(bytes, 0, raised);
        let importance = self.importance(region.bytes(), cell);
        self.keys
            .key(self.with_priority(importance.into(), raised), cell)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filter::{AnyFilter, FilterSpec, Observation};
    use crate::fingerprint::Fingerprint;
    use crate::rng::Generator;

    /// Whoever forges a state can make its checksums right.
    #[test]
    fn every_search_ends_in_a_region_of_any_bytes() {
        let draws = Generator::from_seed(3);
        for scheme in ["min", "min-priority"] {
            let spec: FilterSpec = format!("ibf:delete={scheme}").parse().expect("a spec");
            let filter = AnyFilter::build(&spec, 1 << 16).expect("a filter");
            let bytes = 0..filter.region_bytes() as u64;
            let mut region: Vec<u8> = bytes.map(|at| draws.draw(at) as u8).collect();
            let mut registers = Registers::new(5);
            for key in 0..100 {
                let observation = Observation {
                    fingerprint: Fingerprint(draws.draw(1 << 40 | key)),
                    tick: 0,
                    importance: key as u16,
                };
                filter.observe(&mut region[..], &mut registers, observation);
            }
        }
    }
}
