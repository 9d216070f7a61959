//! Where the parts of a growing filter are, how large they are, and when each is full.
//!
//! Everything is computed when the filter is built, from the parameters and the reserve, so that
//! an observation compares whole numbers. Two plans exist.
//!
//! **Equal parts**, as in Koloniari et al., 2011: each has the same size. Without tightening each
//! may reach the wanted rate P, and L parts together reach 1 − (1 − P)^L.
//!
//! **Doubling parts**: each level is twice as large as the one before, and the rates P_i of the
//! levels grow by a quarter from level to level, so that their sum is P. A larger part may have a
//! higher rate, because that is where most of the memory is. The keys are divided among slices,
//! which grow independently of one another, as the paper proposes. The parts of slice s are
//! 2^(s/S) times as large as those of slice 0, so the slices open their next parts at different
//! times, in turn, and the memory in use grows in small steps.

use super::bloom_rate::BloomCells;
use super::{BuildError, FilterSpec};

/// The largest number of slices. Their counts are kept in the registers.
pub(super) const MAX_SLICES: u64 = 16;
/// The largest number of levels.
pub(super) const MAX_LEVELS: u64 = 32;
/// A slice of the first level is not smaller than this.
const MIN_SLICE_CELLS: u64 = 4096;
/// The size of the first level if none is given, in cells: 64 KiB of bits.
const FIRST_LEVEL_CELLS: u64 = 1 << 19;
/// The number of equal parts if their size is not given.
const EQUAL_PARTS: u64 = 8;
/// How much larger a level is than the one before.
const GROWTH: f64 = 2.0;
/// How much higher the rate of a level may be than that of the one before.
const RATE_GROWTH: f64 = 1.25;

/// A part of a growing filter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Part {
    /// The first row: a cache line, or a cell if a key's cells are anywhere in the part.
    pub first_row: u64,
    /// The number of rows.
    pub rows: u64,
    /// The part is full if it has so many set cells, or keys.
    pub threshold: u64,
    /// The number of keys that fill it, on average.
    pub keys: f64,
    /// The false positive rate of the part when it is full.
    pub rate: f64,
}

/// How the reserve is divided.
#[derive(Clone, Debug)]
pub(super) struct GrowthPlan {
    /// The number of cells that each key sets in a part.
    pub k: u32,
    /// The number of cells of a row: those of a cache line, or 1.
    pub row_cells: u64,
    pub by_density: bool,
    /// The number of slices is a power of two.
    pub slices_log2: u32,
    pub levels: u64,
    /// The parts of the first level by slice, then those of the second, and so on. A slice opens
    /// them in this order.
    pub parts: Box<[Part]>,
}

/// What a plan is made from.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reserve {
    pub rows: u64,
    pub row_cells: u64,
    /// The largest number of parts.
    pub most_parts: u64,
}

impl GrowthPlan {
    /// Divides the reserve into equal parts.
    pub fn equal(spec: &FilterSpec, reserve: Reserve) -> Self {
        let Reserve {
            rows, row_cells, ..
        } = reserve;
        let wanted = match spec.integer("part") {
            0 => rows / EQUAL_PARTS,
            part => part / row_cells,
        };
        let size = wanted.clamp(1, rows);
        let levels = (rows / size).min(reserve.most_parts);
        let rate = match is_tightened(spec) {
            true => wanted_rate(spec) / levels as f64,
            false => wanted_rate(spec),
        };
        let places = (0..levels).map(|level| (level * size, size, rate));
        Self::of(spec, row_cells, 1, places.collect())
    }

    /// Divides the reserve into levels that double, and each level into slices.
    pub fn doubling(spec: &FilterSpec, reserve: Reserve) -> Self {
        let Reserve {
            rows, row_cells, ..
        } = reserve;
        let wanted = match spec.integer("part") {
            0 => FIRST_LEVEL_CELLS,
            part => part,
        };
        let first = (wanted / row_cells).clamp(1, rows);
        let most =
            libm::log2(rows as f64 * (GROWTH - 1.0) / first as f64 + 1.0) / libm::log2(GROWTH);
        let levels = (most as u64).clamp(1, MAX_LEVELS);
        let slices = (1..=MAX_SLICES.ilog2())
            .map(|log2| 1 << log2)
            .take_while(|slices| first * row_cells / slices >= MIN_SLICE_CELLS)
            .last()
            .unwrap_or(1);
        let parts = levels * slices;
        // The size of all parts before one, as a share of all.
        let size = |part: f64| libm::pow(GROWTH, part / slices as f64) - 1.0;
        let boundary = |part: u64| match part {
            _ if part == parts => rows,
            _ => (rows as f64 * size(part as f64) / size(parts as f64)) as u64,
        };
        let weight = |level: u64| libm::pow(RATE_GROWTH, level as f64);
        let weights: f64 = (0..levels).map(weight).sum();
        let places = (0..parts).map(|part| {
            let rate = wanted_rate(spec) * weight(part / slices) / weights;
            (boundary(part), boundary(part + 1) - boundary(part), rate)
        });
        Self::of(spec, row_cells, slices, places.collect())
    }

    /// `places` are the first row, the number of rows and the rate of each part.
    fn of(spec: &FilterSpec, row_cells: u64, slices: u64, places: Vec<(u64, u64, f64)>) -> Self {
        let by_density = spec.is_choice("by", "density");
        let k = match (spec.integer("k") as u32, places.last()) {
            (0, Some(&(_, rows, rate))) => shape(1, row_cells, rows).with_best_k(rate).k,
            (k, _) => k,
        };
        let part = |&(first_row, rows, rate): &(u64, u64, f64)| {
            let shape = shape(k, row_cells, rows);
            let keys = shape.keys_for(rate);
            let exact = match by_density {
                true => shape.set_cells(keys),
                false => keys,
            };
            // The key that reaches the threshold may set k cells. As printed, it is counted only
            // afterwards; with tightening the rate must not be exceeded.
            let threshold = match (is_tightened(spec), by_density) {
                (false, _) => libm::ceil(exact),
                (true, true) => exact - f64::from(k),
                (true, false) => exact,
            };
            Part {
                first_row,
                rows,
                threshold: (threshold as u64).max(1),
                keys,
                rate,
            }
        };
        GrowthPlan {
            k,
            row_cells,
            by_density,
            slices_log2: slices.ilog2(),
            levels: places.len() as u64 / slices,
            parts: places.iter().map(part).collect(),
        }
    }

    pub fn slices(&self) -> u64 {
        1 << self.slices_log2
    }

    /// Returns the parts of a slice, by level.
    pub fn parts_of(&self, slice: u64) -> impl Iterator<Item = &Part> {
        let slices = 1 << self.slices_log2;
        self.parts.iter().skip(slice as usize).step_by(slices)
    }

    /// Returns the number of rows of all parts.
    pub fn rows(&self) -> u64 {
        self.parts
            .last()
            .map_or(0, |last| last.first_row + last.rows)
    }

    /// Returns the shape of a part's cells.
    pub fn shape(&self, part: &Part) -> BloomCells {
        shape(self.k, self.row_cells, part.rows)
    }
}

fn shape(k: u32, row_cells: u64, rows: u64) -> BloomCells {
    let cells = (rows * row_cells) as f64;
    BloomCells {
        k,
        cells,
        row_cells: match row_cells {
            1 => cells,
            _ => row_cells as f64,
        },
    }
}

fn is_tightened(spec: &FilterSpec) -> bool {
    spec.is_choice("tighten", "on")
}

fn wanted_rate(spec: &FilterSpec) -> f64 {
    spec.millionths("fpr") as f64 / 1e6
}

/// Returns the error of a reserve that is too small.
pub(super) fn too_small(spec: &FilterSpec, memory_bits: u64, minimum_bits: u64) -> BuildError {
    BuildError::TooSmall {
        filter: spec.to_string(),
        memory_bits,
        minimum_bits,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reserve(bits: u64, row_cells: u64) -> Reserve {
        Reserve {
            rows: bits / row_cells,
            row_cells,
            most_parts: MAX_LEVELS,
        }
    }

    #[test]
    fn parts_fill_the_reserve_and_rates_add_up_to_the_wanted_one() {
        let spec: FilterSpec = "growing:fpr=0.001".parse().expect("a filter");
        for bits in [512, 1000, 5000, 1 << 16, 1 << 20, 1 << 31, 1 << 43] {
            for row_cells in [1, 512] {
                if bits < row_cells {
                    continue;
                }
                let plan = GrowthPlan::doubling(&spec, reserve(bits, row_cells));
                assert_eq!(plan.rows(), bits / row_cells);
                assert_eq!(plan.parts.len() as u64, plan.levels * plan.slices());
                let mut next = 0;
                for part in &plan.parts {
                    assert_eq!(part.first_row, next);
                    assert!(part.rows > 0 && part.threshold > 0);
                    next += part.rows;
                }
                for slice in 0..plan.slices() {
                    let sum: f64 = plan.parts_of(slice).map(|part| part.rate).sum();
                    assert!((sum - 0.001).abs() < 1e-9);
                }
            }
        }
    }

    #[test]
    fn as_printed_each_part_has_the_thresholds_of_the_paper() {
        let spec = "growing:fpr=0.02,k=4,tighten=off,part=14300,layout=shared";
        let spec: FilterSpec = spec.parse().expect("a filter");
        let plan = GrowthPlan::equal(&spec, reserve(20 * 14_300, 1));
        assert_eq!((plan.k, plan.levels, plan.slices()), (4, 20, 1));
        let z = 14_300.0 * 0.02f64.powf(0.25);
        assert!(plan.parts.iter().all(|it| it.threshold == z.ceil() as u64));
        let by_keys = spec.with("by", "cardinality").expect("a choice");
        let plan = GrowthPlan::equal(&by_keys, reserve(20 * 14_300, 1));
        assert_eq!(plan.parts[0].threshold, 1687);
    }
}
