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
//! times, in turn, and the memory in use grows in small steps. Only the last level, half of the
//! reserve, makes up for the differences, so that all slices are full at the same time.

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
/// How much higher the rate of a level may be than that of the one before.
const RATE_GROWTH: f64 = 1.25;

/// A part of a growing filter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Part {
    /// The first row: a cache line, or a cell if a key's cells are anywhere in the part.
    pub first_row: u64,
    /// The number of rows.
    pub rows: u64,
    /// The number of cells that each key sets. It is not larger in a higher level.
    pub k: u32,
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

/// A part of which only place and rate are known.
#[derive(Clone, Copy, Debug)]
struct Place {
    first_row: u64,
    rows: u64,
    rate: f64,
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
        let place = |level: u64| Place {
            first_row: level * size,
            rows: size,
            rate,
        };
        let places: Vec<Place> = (0..levels).map(place).collect();
        Self::of(spec, row_cells, 1, &places)
    }

    /// Divides the reserve into levels that double, and each level into slices. The last level is
    /// half of the reserve, and is divided so that all slices can take the same number of keys.
    pub fn doubling(spec: &FilterSpec, reserve: Reserve) -> Self {
        let Reserve {
            rows, row_cells, ..
        } = reserve;
        let wanted = match spec.integer("part") {
            0 => FIRST_LEVEL_CELLS,
            part => part,
        };
        let first = (wanted / row_cells).clamp(1, rows);
        let lower_rows = rows / 2;
        let lower_levels = (1..MAX_LEVELS)
            .take_while(|levels| u128::from(first) * ((1 << levels) - 1) <= lower_rows.into())
            .last()
            .unwrap_or(0);
        let first = if lower_levels == 0 { rows } else { first };
        let slices = (1..=MAX_SLICES.ilog2())
            .map(|log2| 1 << log2)
            .take_while(|slices| first * row_cells / slices >= MIN_SLICE_CELLS)
            .last()
            .unwrap_or(1);
        let weight = |level: u64| libm::pow(RATE_GROWTH, level as f64);
        let weights: f64 = (0..=lower_levels).map(weight).sum();
        let rate = |level: u64| wanted_rate(spec) * weight(level) / weights;
        let lower = lower_levels * slices;
        let mut boundaries = Vec::new();
        if lower > 0 {
            let size = |part: u64| libm::exp2(part as f64 / slices as f64) - 1.0;
            let boundary = |part: u64| (lower_rows as f64 * size(part) / size(lower)) as u64;
            boundaries.extend((0..lower).map(boundary));
            boundaries.push(lower_rows);
        } else {
            boundaries.push(0);
        }
        let places = |boundaries: &[u64]| -> Vec<Place> {
            let pairs = boundaries.windows(2).zip(0..);
            let place = |(pair, part): (&[u64], u64)| Place {
                first_row: pair[0],
                rows: pair[1] - pair[0],
                rate: rate(part / slices),
            };
            pairs.map(place).collect()
        };
        let below = Self::of(spec, row_cells, slices, &places(&boundaries));
        let start = boundaries[lower as usize];
        let last_shape = shape(1, row_cells, (rows - start).div_ceil(slices));
        let last = last_shape.with_k_of(spec, rate(lower_levels));
        let keys_per_row = last.keys_for(rate(lower_levels)) * row_cells as f64 / last.cells;
        let keys_below = |slice: u64| below.parts_of(slice).map(|part| part.keys).sum::<f64>();
        let all_below: f64 = (0..slices).map(keys_below).sum();
        let all = (rows - start) as f64 * keys_per_row + all_below;
        let mut end = start as f64;
        for slice in 0..slices {
            end += (all / slices as f64 - keys_below(slice)) / keys_per_row;
            boundaries.push(match lower {
                0 => rows * (slice + 1) / slices,
                _ if slice + 1 == slices => rows,
                _ => end as u64,
            });
        }
        Self::of(spec, row_cells, slices, &places(&boundaries))
    }

    fn of(spec: &FilterSpec, row_cells: u64, slices: u64, places: &[Place]) -> Self {
        let by_density = spec.is_choice("by", "density");
        let levels = places.len() as u64 / slices;
        // A smaller part has a lower rate and needs a larger k; a lookup relies on it.
        let mut ks = vec![1; levels as usize];
        let mut k = 1;
        for (level, k_of_level) in ks.iter_mut().enumerate().rev() {
            let of_level = &places[level * slices as usize..(level + 1) * slices as usize];
            let rows: u64 = of_level.iter().map(|place| place.rows).sum();
            let average = shape(1, row_cells, rows.div_ceil(slices));
            k = average.with_k_of(spec, of_level[0].rate).k.max(k);
            *k_of_level = k;
        }
        let part = |(at, place): (usize, &Place)| {
            let k = ks[at / slices as usize];
            let shape = shape(k, row_cells, place.rows);
            let keys = shape.keys_for(place.rate);
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
                first_row: place.first_row,
                rows: place.rows,
                k,
                threshold: (threshold as u64).max(1),
                keys,
                rate: place.rate,
            }
        };
        GrowthPlan {
            row_cells,
            by_density,
            slices_log2: slices.ilog2(),
            levels,
            parts: places.iter().enumerate().map(part).collect(),
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
        shape(part.k, self.row_cells, part.rows)
    }
}

impl BloomCells {
    /// Returns the same cells with the k of the spec, or the best one if the spec has none.
    fn with_k_of(self, spec: &FilterSpec, rate: f64) -> Self {
        match spec.integer("k") as u32 {
            0 => self.with_best_k(rate),
            k => BloomCells { k, ..self },
        }
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
                let keys = |slice| plan.parts_of(slice).map(|part| part.keys).sum::<f64>();
                for slice in 0..plan.slices() {
                    assert!(plan.parts_of(slice).is_sorted_by(|a, b| a.k >= b.k));
                    assert!((keys(slice) / keys(0) - 1.0).abs() < 0.05 || bits < 1 << 18);
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
        assert_eq!((plan.parts[0].k, plan.levels, plan.slices()), (4, 20, 1));
        let z = 14_300.0 * 0.02f64.powf(0.25);
        assert!(plan.parts.iter().all(|it| it.threshold == z.ceil() as u64));
        let by_keys = spec.with("by", "cardinality").expect("a choice");
        let plan = GrowthPlan::equal(&by_keys, reserve(20 * 14_300, 1));
        assert_eq!(plan.parts[0].threshold, 1687);
    }
}
